"""The memory engine: threads that leave no trace."""

import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import classwise as cw
from classwise.engines import BLAS, MemoryEngine
from classwise.rows.sources import read_table

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300_000, 10))
y = RNG.integers(0, 3, size=len(X))


def blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_callers_that_overlap_leave_blas_as_it_was():
    before = blas_threads()
    alone = cw.LDA().fit(X, y).predict_proba(X)
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda _: cw.LDA().fit(X, y).predict_proba(X), range(8)))
    assert blas_threads() == before
    for answer in together:
        np.testing.assert_array_equal(answer, alone)


def test_blas_is_on_one_thread_while_any_caller_is_inside():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with BLAS.held() as outer:
            with BLAS.held() as inner:
                assert set(blas_threads()) == {1}
            assert set(blas_threads()) == {1}
            assert inner == outer == max(before)
        assert blas_threads() == before


def test_limits_of_the_caller_are_respected():
    with threadpool_limits(1, user_api="blas"), BLAS.held() as allowed:
        assert allowed == 1


@pytest.mark.parametrize("verb", ["gather", "apply"])
def test_an_error_in_a_chunk_is_raised_and_leaves_no_threads(verb):
    def fail(chunk):
        if chunk.rows[0, 0] == X[200_000, 0]:
            raise RuntimeError("chunk of row 200,000")
        return cw.summarize(chunk.rows, chunk.labels) if verb == "gather" else chunk.rows[:, 0]

    before, threads = blas_threads(), threading.active_count()
    with pytest.raises(RuntimeError, match="chunk of row 200,000"):
        getattr(MemoryEngine(), verb)(fail, read_table(X, y), 1000)
    assert blas_threads() == before
    assert threading.active_count() == threads


def test_results_keep_the_order_of_the_rows():
    table = read_table(X)
    np.testing.assert_array_equal(MemoryEngine().apply(lambda chunk: chunk.rows[:, 0], table, 777), X[:, 0])
    np.testing.assert_array_equal(MemoryEngine().apply(lambda chunk: chunk.rows.T, table, 777), X.T)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::classwise.DegenerateColumnWarning")
def test_a_large_mixed_table_needs_little_memory_beside_it():
    """494,021 rows of 38 numbers and 3 text columns in 23 classes, as in the data of the KDD cup of 1999."""
    rng = np.random.default_rng(0)
    n = 494_021
    columns = {f"x{j}": rng.integers(0, 100, n) if j % 2 else rng.random(n) for j in range(38)}
    for j, size in enumerate((3, 66, 11)):
        columns[f"c{j}"] = np.array([f"level {i}" for i in range(size)], dtype=object)[rng.integers(0, size, n)]
    table = pd.DataFrame(columns)
    labels = np.array([f"class {i}" for i in range(23)], dtype=object)[rng.integers(0, 23, n)]
    tracemalloc.start()
    cw.NaiveBayes().fit(table, labels)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64e6
