"""What every engine does with a chunk of rows: part it by roles, and summarize it. Small, and sent to the workers."""

from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np

from classwise.arrays import Array, Codes, Labels
from classwise.errors import ClasswiseError
from classwise.gathering.columns import Roles
from classwise.schema import Families
from classwise.statistics import ClassStatistics, Scatter, code_labels, is_missing, sort_labels
from classwise.summarizing import summarize_table
from classwise.tables import open_source
from classwise.tables.coding import code_series


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
    """

    roles: Roles
    form: type[Scatter]
    families: Families = "auto"
    allow_missing: bool = True
    quartics: bool = False

    def __call__(self, chunk: Any) -> Tally:
        frame = as_frame(chunk)
        rows = len(frame)
        labeled = self._labeled(frame)
        unlabeled = rows - len(labeled)
        if unlabeled and not self.allow_missing:
            raise ClasswiseError(
                f"{self.roles.target!r} contains missing labels in {unlabeled} rows; remove those rows or give them a "
                "label."
            )
        counted, weights = self._weighted(labeled)
        return Tally(self._summarize(counted, weights) if len(counted) else None, rows, unlabeled)

    def _labeled(self, frame: "nw.DataFrame[Any]") -> "nw.DataFrame[Any]":
        """Without the rows that have no label."""
        target = frame[self.roles.target]
        missing = target.is_null()
        if target.dtype.is_float():
            missing = missing | target.is_nan().fill_null(True)
        return frame.filter(~missing) if missing.any() else frame

    def _weighted(self, frame: "nw.DataFrame[Any]") -> tuple["nw.DataFrame[Any]", Array | None]:
        """Without the rows of weight zero, and the weights of the others."""
        name = self.roles.weights
        if name is None or not len(frame):
            return frame, None
        weights = _read_weights(frame[name], name)
        if weights.all():
            return frame, weights
        return frame.filter((weights > 0).tolist()), weights[weights > 0]

    def _summarize(self, frame: "nw.DataFrame[Any]", weights: Array | None) -> ClassStatistics:
        labels, codes = _code(frame[self.roles.target])
        features = frame.select(list(self.roles.features)).to_native()
        table = open_source(features).read(self.families, codes, weights)
        summary = summarize_table(table, self.form, allow_missing=self.allow_missing, quartics=self.quartics)
        return replace(summary, labels=labels[summary.labels])


@dataclass(frozen=True, eq=False)
class ArrayLearner:
    """Blocks of arrays, rows, labels and perhaps weights, to what they add."""

    form: type[Scatter]
    families: Families = "auto"
    allow_missing: bool = True
    quartics: bool = False

    def __call__(self, X: Any, y: Any, weights: Any = None) -> Tally:
        rows, labels = np.asarray(X), np.asarray(y).ravel()
        labeled = np.array([not is_missing(label) for label in labels.tolist()], dtype=bool)
        counted = labeled if weights is None else labeled & (np.asarray(weights) != 0)
        if not counted.any():
            return Tally(None, len(rows), int((~labeled).sum()))
        held = None if weights is None else np.asarray(weights)[counted]
        table = open_source(rows[counted]).read(self.families, labels[counted], held)
        summary = summarize_table(table, self.form, allow_missing=self.allow_missing, quartics=self.quartics)
        return Tally(summary, len(rows), int((~labeled).sum()))


def as_frame(chunk: Any) -> "nw.DataFrame[Any]":
    """A table of any library that narwhals knows, or a record batch."""
    if hasattr(chunk, "to_struct_array") and not hasattr(chunk, "combine_chunks"):
        import pyarrow as pa

        chunk = pa.Table.from_batches([chunk])
    frame = nw.from_native(chunk, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        raise ClasswiseError(
            f"target names a column, and {type(chunk).__name__} has no columns with names; give a table, or X and y."
        )
    return frame


def _code(target: "nw.Series[Any]") -> tuple[Labels, Codes]:
    """Sorted labels, and for each row the position of its own."""
    if target.dtype not in (nw.String, nw.Categorical, nw.Enum):
        return code_labels(target.to_numpy())
    coded = code_series(target)
    ordered = sort_labels(set(coded.levels))
    labels = np.empty(len(ordered), dtype=object)
    labels[:] = ordered
    return labels, coded.among(labels).positions(-1)


def _read_weights(column: "nw.Series[Any]", name: str) -> Array:
    try:
        weights = np.asarray(column.to_numpy(), dtype=np.float64)
    except (TypeError, ValueError):
        raise ClasswiseError(f"Weights must be numbers, and the column {name!r} holds something else.") from None
    bad = weights[~(np.isfinite(weights) & (weights >= 0))]
    if len(bad):
        raise ClasswiseError(f"Weights must be finite and not negative; the column {name!r} holds {bad[0]}.")
    return weights
