"""Rows of Dask: workers summarize their partitions, and small statistics meet in a tree."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

from classwise.engines.protocol import S
from classwise.errors import ClasswiseError

# So many statistics are added by one task.
FAN = 8


def is_dask(rows: Any) -> bool:
    """Whether rows are a DataFrame or an Array of Dask; which need not be installed."""
    return type(rows).__module__.partition(".")[0].startswith("dask") and hasattr(rows, "__dask_graph__")


@dataclass(frozen=True, eq=False)
class DaskEngine:
    """rows: a DataFrame, or an Array (n, p). Only what partitions add up to travels; a lost worker's are done again."""

    rows: Any

    def names(self) -> list[str]:
        """The columns of a DataFrame."""
        if not hasattr(self.rows, "map_partitions"):
            raise ClasswiseError("target names a column, and an Array's columns have no names; give X and y.")
        return [str(name) for name in self.rows.columns]

    def gather(self, summarize: Callable[[Any], S], columns: Sequence[str]) -> S:
        """The sum of summarize(partition), in the order of the partitions."""
        return _tree(summarize, [(part,) for part in self.rows[list(columns)].to_delayed()])

    def gather_arrays(self, summarize: Callable[..., S], *others: Any) -> S:
        """The sum of summarize(block, ...) over blocks of rows, and of other arrays of as many rows."""
        whole = self.rows.rechunk({1: -1})
        given = [other for other in others if other is not None]
        for other in given:
            if not is_dask(other) or other.shape[0] != whole.shape[0]:
                raise ClasswiseError("X is an Array of Dask: y and weights must be such too, of as many rows.")
        blocks = [whole.to_delayed().ravel(), *(o.rechunk({0: whole.chunks[0]}).to_delayed().ravel() for o in given)]
        return _tree(summarize, list(zip(*blocks, strict=True)))

    def apply(self, function: Callable[[Any], Any], columns: Sequence[str], meta: Any) -> Any:
        """function(partition) of each, as a DataFrame of Dask. meta: an empty result, as Dask wants it."""
        return self.rows[list(columns)].map_partitions(function, meta=meta)


def _tree(summarize: Callable[..., S], parts: Sequence[tuple[Any, ...]]) -> S:
    from dask.delayed import delayed

    level = [delayed(_numbered)(summarize, i, *part) for i, part in enumerate(parts)]
    while len(level) > 1:
        level = [delayed(_sum)(level[i : i + FAN]) for i in range(0, len(level), FAN)]
    total: S = level[0].compute()
    return total


def _numbered(summarize: Callable[..., S], number: int, *part: Any) -> S:
    try:
        return summarize(*part)
    except ClasswiseError as problem:
        raise ClasswiseError(f"Partition {number}: {problem}") from problem


def _sum(parts: list[S]) -> S:
    return reduce(add, parts)
