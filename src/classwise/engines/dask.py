"""Rows of Dask: workers summarize their partitions, and small statistics meet in a tree."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from classwise.engines.engine import AddedColumns, S, total
from classwise.errors import ClasswiseError
from classwise.rows.roles import ArrayChunk, Chunk
from classwise.rows.sampling import PLACES

# This many statistics are added by one task.
FAN = 8


def is_dask(rows: Any) -> bool:
    """Whether rows are a DataFrame or an Array of Dask; which need not be installed."""
    return type(rows).__module__.partition(".")[0].startswith("dask") and hasattr(rows, "__dask_graph__")


@dataclass(frozen=True, eq=False)
class DaskArrays:
    """Rows as Arrays: X (n, p), y (n,) and perhaps weights (n,), in blocks of the same rows."""

    X: Any
    y: Any
    weights: Any = None

    def parts(self) -> list[tuple[Any, ...]]:
        """The blocks of all of them, side by side."""
        whole = self.X.rechunk({1: -1})
        given = [other for other in (self.y, self.weights) if other is not None]
        for other in given:
            if not is_dask(other) or other.shape[0] != whole.shape[0]:
                raise ClasswiseError("X is an Array of Dask: y and weights must be such too, of as many rows.")
        blocks = [whole.to_delayed().ravel(), *(o.rechunk({0: whole.chunks[0]}).to_delayed().ravel() for o in given)]
        return list(zip(*blocks, strict=True))


class DaskEngine:
    """A chunk is a partition: only what partitions add up to travels, and a lost worker's are done again."""

    def numbering(self, count: Callable[[Any], int]) -> "DaskEngine":
        return self  # partitions are chunks, and have numbers of their own

    def names(self, rows: Any) -> list[str]:
        if not hasattr(rows, "map_partitions"):
            raise ClasswiseError("target names a column, and an Array's columns have no names; give X and y.")
        return [str(name) for name in rows.columns]

    def select(self, rows: Any, columns: Sequence[str], numbered: bool = False) -> Any:
        return rows[list(columns)]

    def first(self, rows: Any, columns: Sequence[str], count: int) -> Any:
        """The first rows."""
        return None if isinstance(rows, DaskArrays) else rows[list(columns)].get_partition(0).compute().head(count)

    def gather(self, summarize: Callable[[Any], S], rows: Any, size: int) -> S:
        """rows: a DataFrame, or DaskArrays."""
        if isinstance(rows, DaskArrays):
            return _tree(summarize, rows.parts())
        return _tree(summarize, [(part,) for part in rows.to_delayed()])

    def apply(self, answer: AddedColumns, rows: Any, size: int) -> Any:
        """A DataFrame of Dask."""
        keys = list(answer.carried.values())
        meta = rows._meta[keys].assign(**answer.empty)
        return rows.map_partitions(_answered, answer, keys, meta=meta)


def _answered(partition: Any, answer: AddedColumns, keys: list[str]) -> Any:
    return partition[keys].assign(**answer.columns(Chunk(partition)))


def _tree(summarize: Callable[..., S], parts: Sequence[tuple[Any, ...]]) -> S:
    from dask.delayed import delayed

    level = [delayed(_numbered)(summarize, i, *part) for i, part in enumerate(parts)]
    while len(level) > 1:
        level = [delayed(total)(level[i : i + FAN]) for i in range(0, len(level), FAN)]
    whole: S = level[0].compute()
    return whole


def _numbered(summarize: Callable[..., S], number: int, *part: Any) -> S:
    try:
        return summarize(ArrayChunk(*part) if len(part) > 1 else Chunk(part[0], number << PLACES))
    except ClasswiseError as problem:
        raise ClasswiseError(f"Partition {number}: {problem}") from problem
