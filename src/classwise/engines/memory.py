"""Rows in memory: a pool of threads over cache-sized chunks, with BLAS held to one thread while ours work."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from classwise.engines.engine import S, total
from classwise.engines.pool import LOCAL, ThreadPool, keeping
from classwise.kernels import BLAS, OURS
from classwise.rows.table import Table

T = TypeVar("T")
R = TypeVar("R")


class MemoryEngine:
    """Chunks are views of the rows, bounded by the table alone: the numbers do not depend on the number of cores."""

    def gather(self, summarize: Callable[[Table], S], rows: Table, size: int) -> S:
        return total(in_threads(summarize, rows.chunks(size)))

    def apply(self, function: Callable[[Table], NDArray[Any]], rows: Table, size: int) -> NDArray[Any]:
        """function(chunk) -> (..., m), side by side: (..., n)."""
        first, *others = rows.chunks(size)
        if not others:
            return function(first)
        with threads(len(others)) as pool:
            # Not before BLAS is held to one thread: its others would go on spinning for a while, in the way of ours.
            result = function(first)
            whole = np.empty((*result.shape[:-1], len(rows)), dtype=result.dtype)
            whole[..., :size] = result

            def work(position: int) -> None:
                start = position * size
                whole[..., start : start + size] = function(others[position - 1])

            pool.map(work, range(1, len(others) + 1))
        return whole


def in_threads(function: Callable[[T], R], tasks: Sequence[T], step: Callable[[], None] = lambda: None) -> list[R]:
    """function of each task, in their order, several at a time; step is called for each that is done.

    A task may call this for tasks of its own, which idle threads then take off it. What is not begun when the caller is
    interrupted never is, and no thread is left behind.
    """
    if len(tasks) < 2:
        return one_by_one(function, tasks, step)
    with threads(len(tasks)) as pool:
        return pool.map(function, tasks, step)


def one_by_one(function: Callable[[T], R], tasks: Sequence[T], step: Callable[[], None] = lambda: None) -> list[R]:
    """The same in this thread alone."""
    results = []
    for task in tasks:
        results.append(function(task))
        step()
    return results


@contextmanager
def kept_threads() -> Iterator[None]:
    """Keep one pool of threads for everything inside: to start threads takes as long as much of their work."""
    with BLAS.held() as allowed, threads(allowed) as pool, keeping(pool):
        yield


@contextmanager
def threads(tasks: int) -> Iterator[ThreadPool]:
    """A pool of as many threads as BLAS may use, with BLAS itself held to one; of one thread, where others of ours that
    know no pool are at work.
    """
    if LOCAL.pool is not None:
        yield LOCAL.pool
        return
    with BLAS.held() as allowed:
        pool = ThreadPool(1 if OURS.working else min(allowed, tasks))
        try:
            yield pool
        finally:
            pool.close()
