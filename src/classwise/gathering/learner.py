"""What every engine does with a chunk of rows: part it by roles, and summarize it. Small, and sent to the workers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array, Codes, Labels, unmasked
from classwise.binning import Also
from classwise.errors import ClasswiseError
from classwise.gathering.columns import Roles
from classwise.schema import Families
from classwise.sources import ChunkPiece, Stream
from classwise.statistics import ClassStatistics, Scatter, code_labels, sort_labels
from classwise.summarizing import summarize_table
from classwise.tables import Source, Table, open_frame, open_source, read_labels
from classwise.tables.coding import code_series
from classwise.tables.frames import made_dense


@dataclass(frozen=True, eq=False)
class Tally:
    """What chunks add up to: their statistics, None without a single row to learn from; rows: how many were read;
    unlabeled: how many of them had no label.
    """

    statistics: ClassStatistics | None
    rows: int = 0
    unlabeled: int = 0

    def __add__(self, other: "Tally") -> "Tally":
        ours, theirs = self.statistics, other.statistics
        together = ours + theirs if ours is not None and theirs is not None else ours or theirs
        return Tally(together, self.rows + other.rows, self.unlabeled + other.unlabeled)


@dataclass(frozen=True, eq=False)
class Learner:
    """A chunk of rows, as a table of any library, to what it adds.

    It knows nothing of other chunks: classes and levels that only some of them have meet when the results are added.
    also: adds to the statistics of a table what else is to be gathered of it.
    """

    roles: Roles
    form: type[Scatter]
    families: Families = "auto"
    allow_missing: bool = True
    quartics: bool = False
    also: Also | None = None

    def __call__(self, chunk: Any) -> Tally:
        counted = Counted.of(as_frame(chunk), self.roles)
        if counted.unlabeled and not self.allow_missing:
            raise ClasswiseError(
                f"{self.roles.target!r} contains missing labels in {counted.unlabeled} rows; remove those rows or give "
                "them a label."
            )
        return Tally(self._summarize(counted) if len(counted) else None, counted.rows, counted.unlabeled)

    def _summarize(self, counted: "Counted") -> ClassStatistics:
        labels, names = counted.labels()
        table = counted.source().read(self.families, labels, counted.weights)
        summary = summarize_table(table, self.form, allow_missing=self.allow_missing, quartics=self.quartics)
        summary = summary if self.also is None else self.also(summary, table)
        return summary if names is None else replace(summary, labels=names[summary.labels])


@dataclass(frozen=True, eq=False)
class Counted:
    """The rows of a chunk that count: those with a label, and with some weight.

    counts (rows,): which of the chunk do; unlabeled: how many have no label.
    """

    frame: "nw.DataFrame[Any]"
    roles: Roles
    weights: Array | None
    counts: NDArray[np.bool_]
    unlabeled: int

    @classmethod
    def of(cls, frame: "nw.DataFrame[Any]", roles: Roles) -> "Counted":
        """By the roles of the columns."""
        labeled = _labeled(frame[roles.target])
        unlabeled = len(labeled) - int(np.count_nonzero(labeled))
        kept = frame.filter(labeled.tolist()) if unlabeled else frame
        if roles.weights is None or not len(kept):
            return cls(kept, roles, None, labeled, unlabeled)
        weights = read_weights(kept[roles.weights], roles.weights)
        if not weights.all():
            labeled[labeled] = weights > 0
            kept, weights = kept.filter((weights > 0).tolist()), weights[weights > 0]
        return cls(kept, roles, weights, labeled, unlabeled)

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def rows(self) -> int:
        """How many the chunk has."""
        return len(self.counts)

    @property
    def places(self) -> Codes:
        """Where they stand in the chunk; (m,)."""
        return np.flatnonzero(self.counts)

    def labels(self) -> tuple[Labels, Labels | None]:
        """The label of each row; of text the position among sorted names, and these names."""
        target = self.frame[self.roles.target]
        if target.dtype not in (nw.String, nw.Categorical, nw.Enum):
            return read_labels(target)[0], None
        coded = code_series(target)
        ordered = sort_labels(set(coded.levels))
        names = np.empty(len(ordered), dtype=object)
        names[:] = ordered
        return coded.among(names).positions(-1), names

    def coded(self) -> tuple[Labels, Codes]:
        """Sorted labels, and for each row the position of its own."""
        labels, names = self.labels()
        return code_labels(labels) if names is None else (names, labels)

    def source(self) -> Source:
        """The columns to learn from."""
        return open_source(self.frame.select(list(self.roles.features)))


def count_rows(chunk: Any, roles: Roles) -> int:
    """How many rows of a table count."""
    needed = [roles.target] if roles.weights is None else [roles.target, roles.weights]
    return len(Counted.of(as_frame(chunk).select(needed), roles))


def _labeled(target: "nw.Series[Any]") -> NDArray[np.bool_]:
    """Which rows have a label."""
    if not target.null_count() and not target.dtype.is_float():
        return np.ones(len(target), dtype=bool)
    missing = target.is_null()
    if target.dtype.is_float():
        missing = missing | target.is_nan().fill_null(True)
    return ~np.asarray(missing.to_numpy(), dtype=bool)


@dataclass(frozen=True, eq=False)
class ArrayLearner:
    """Blocks of arrays, rows, labels and perhaps weights, to what they add."""

    form: type[Scatter]
    families: Families = "auto"
    allow_missing: bool = True
    quartics: bool = False
    also: Also | None = None

    def __call__(self, X: Any, y: Any, weights: Any = None) -> Tally:
        labels, missing = read_labels(np.ravel(y))
        counted = np.ones(len(labels), dtype=bool) if missing is None else ~missing
        unlabeled = len(labels) - int(np.count_nonzero(counted))
        if weights is not None:
            counted &= np.asarray(unmasked(weights)) != 0
        if not counted.any():
            return Tally(None, len(labels), unlabeled)
        held = None if weights is None else weights[counted]
        table = open_source(X[counted]).read(self.families, labels[counted], held)
        return Tally(self.summarize(table), len(labels), unlabeled)

    def summarize(self, table: Table) -> ClassStatistics:
        """The statistics of a table."""
        summary = summarize_table(table, self.form, allow_missing=self.allow_missing, quartics=self.quartics)
        return summary if self.also is None else self.also(summary, table)


def as_frame(chunk: Any) -> "nw.DataFrame[Any]":
    """A table of any library that narwhals knows, or a record batch."""
    if hasattr(chunk, "to_struct_array") and not hasattr(chunk, "combine_chunks"):
        import pyarrow as pa

        chunk = pa.Table.from_batches([chunk])
    frame = open_frame(chunk)
    if frame is None:
        raise ClasswiseError(
            f"target names a column, and {type(chunk).__name__} has no columns with names; give a table, or X and y."
        )
    return made_dense(frame)


def sliced(table: Any) -> Stream:
    """A table in memory, as a stream of slices."""
    frame = as_frame(table)

    def slices(columns: Sequence[str] | None, rows: int) -> Iterator[Any]:
        chosen = frame if columns is None else frame.select(list(columns))
        return (chosen[start : start + rows].to_native() for start in range(0, len(chosen), rows))

    return Stream((ChunkPiece("the table", slices, list(frame.columns)),), "table")


def as_arrow(frame: "nw.DataFrame[Any]") -> Any:
    """The same as a table of pyarrow's; an index of pandas, which is no column, stays behind."""
    if not frame.implementation.is_pandas_like():
        return frame.to_arrow()
    import pyarrow as pa

    return pa.Table.from_pandas(frame.to_native(), preserve_index=False)


def read_weights(column: "nw.Series[Any]", name: str) -> Array:
    """The weights of rows, or an error that names their column."""
    try:
        weights = np.asarray(column.to_numpy(), dtype=np.float64)
    except (TypeError, ValueError):
        raise ClasswiseError(f"Weights must be numbers, and the column {name!r} holds something else.") from None
    bad = weights[~(np.isfinite(weights) & (weights >= 0))]
    if len(bad):
        raise ClasswiseError(f"Weights must be finite and not negative; the column {name!r} holds {bad[0]}.")
    return weights
