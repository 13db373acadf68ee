"""Rows in memory: a pool of threads over cache-sized chunks, with BLAS held to one thread while ours work."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import local
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from classwise.engines.engine import S, total
from classwise.kernels import BLAS, OURS
from classwise.rows.table import Table

T = TypeVar("T")
R = TypeVar("R")


class MemoryEngine:
    """Chunks are views of the rows, bounded by the table alone: the numbers do not depend on the number of cores."""

    def gather(self, summarize: Callable[[Table], S], rows: Table, size: int) -> S:
        chunks = rows.chunks(size)
        if len(chunks) == 1:
            return summarize(chunks[0])
        if OURS.working:
            return total(map(summarize, chunks))
        with threads(len(chunks)) as pool:
            return total(pool.map(summarize, chunks))

    def apply(self, function: Callable[[Table], NDArray[Any]], rows: Table, size: int) -> NDArray[Any]:
        """function(chunk) -> (..., m), side by side: (..., n)."""
        first, *others = rows.chunks(size)
        if not others:
            return function(first)
        if OURS.working:
            return np.concatenate([function(chunk) for chunk in (first, *others)], axis=-1)
        with threads(len(others)) as pool:
            # Not before BLAS is held to one thread: its others would go on spinning for a while, in the way of ours.
            result = function(first)
            whole = np.empty((*result.shape[:-1], len(rows)), dtype=result.dtype)
            whole[..., :size] = result

            def work(position: int) -> None:
                start = position * size
                whole[..., start : start + size] = function(others[position - 1])

            for _ in pool.map(work, range(1, len(others) + 1)):
                pass
        return whole


def in_threads(function: Callable[[T], R], tasks: Sequence[T], step: Callable[[], None] = lambda: None) -> list[R]:
    """function of each task, in their order, several at a time; step is called as each is done.

    What is not begun when the caller is interrupted never is, and no thread is left behind.
    """
    if len(tasks) < 2 or OURS.working:
        return one_by_one(function, tasks, step)
    results = []
    with threads(len(tasks)) as pool:
        for result in pool.map(function, tasks):
            results.append(result)
            step()
    return results


def one_by_one(function: Callable[[T], R], tasks: Sequence[T], step: Callable[[], None] = lambda: None) -> list[R]:
    """The same in this thread alone."""
    results = []
    for task in tasks:
        results.append(function(task))
        step()
    return results


class Kept(local):
    """The pool that this thread keeps while much of its work is short: to start threads takes as long as such work."""

    pool: ThreadPoolExecutor | None = None


KEPT = Kept()


@contextmanager
def kept_threads() -> Iterator[None]:
    """Keep one pool of threads for everything inside."""
    if KEPT.pool is not None or OURS.working:
        yield
        return
    with BLAS.held() as allowed, threads(allowed) as pool:
        KEPT.pool = pool
        try:
            yield
        finally:
            KEPT.pool = None


@contextmanager
def threads(tasks: int) -> Iterator[ThreadPoolExecutor]:
    """A pool of as many threads as BLAS may use, with BLAS itself held to one."""
    if KEPT.pool is not None:
        yield KEPT.pool
        return
    with BLAS.held() as allowed:
        pool = ThreadPoolExecutor(min(allowed, tasks), initializer=OURS.begin)
        try:
            yield pool
        finally:
            pool.shutdown(cancel_futures=True)
