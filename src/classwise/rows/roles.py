"""Roles of columns, by name, and chunks of rows by role: what is learned from, labels, weights, groups."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array, Codes, Labels, unmasked
from classwise.errors import ClasswiseError, MissingLabelWarning
from classwise.rows.codes import code_labels, code_series, sort_labels
from classwise.rows.files import no_such_column
from classwise.rows.frames import made_dense, open_frame, read_labels
from classwise.rows.schema import Conversion
from classwise.rows.sources import Source, open_source


@dataclass(frozen=True)
class Roles:
    """target: holds the labels, where rows have any; features: are learned from, or answered; weights: holds the
    weights, where rows have any; groups: which rows stay in one fold, where some do.

    texts: the columns of text that hold dates or numbers, so that all chunks agree; None, where a chunk is all rows.
    """

    target: str | None
    features: tuple[str, ...]
    weights: str | None = None
    groups: str | None = None
    texts: Mapping[str, Conversion] | None = None

    @classmethod
    def read(
        cls, names: Sequence[str], target: Any, columns: Any, weights: Any, where: str, groups: Any = None
    ) -> "Roles":
        """Roles by the names that were given; all columns without another role are learned from, unless some are named.

        >>> Roles.read(["a", "b", "y"], "y", None, None, "the table").features
        ('a', 'b')
        """
        chosen = [columns] if isinstance(columns, str) else columns
        others = [("target", target), ("weights", weights), ("groups", groups)]
        given = [(option, name) for option, name in others if name is not None]
        for option, name in [*given, *(("columns", name) for name in chosen or ())]:
            if not isinstance(name, str):
                raise ClasswiseError(f"{option}={name!r} is not the name of a column.")
            if name not in names:
                raise ClasswiseError(no_such_column(name, names, where))
        features = tuple(name for name in (chosen or names) if name not in (target, weights, groups))
        if not features:
            raise ClasswiseError(f"No column of {where} is left to learn from.")
        return cls(target, features, weights, groups)

    @property
    def needed(self) -> list[str]:
        """All columns that have a role."""
        others = (self.target, self.weights, self.groups)
        return [*self.features, *(name for name in others if name is not None)]


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some of the rows, as a table of any library; first: the number of the first of them.

    Numbers identify rows, and are the same whenever the rows are read again: in a stream they count from 0, in a
    cluster each partition has a range of its own.
    """

    table: Any
    first: int = 0

    def __len__(self) -> int:
        return len(self.table)

    @property
    def frame(self) -> "nw.DataFrame[Any]":
        return as_frame(self.table)

    def counted(self, roles: Roles) -> "Counted":
        """The rows that count, by the roles of the columns."""
        return Counted.of(self.frame, roles, self.first)


@dataclass(frozen=True, eq=False)
class ArrayChunk:
    """Some of the rows as arrays: X (m, p), y (m,) and perhaps weights (m,)."""

    X: Any
    y: Any
    weights: Any = None

    def counted(self, roles: Any = None) -> "CountedArrays":
        """The rows that count; arrays have no names, and need no roles."""
        labels, missing = read_labels(np.ravel(self.y))
        counts = np.ones(len(labels), dtype=bool) if missing is None else ~missing
        unlabeled = len(labels) - int(np.count_nonzero(counts))
        if self.weights is not None:
            counts &= np.asarray(unmasked(self.weights)) != 0
        return CountedArrays(self, labels, counts, unlabeled)


@dataclass(frozen=True, eq=False)
class CountedArrays:
    """The rows of arrays that count: those with a label, and with some weight. As Counted."""

    chunk: ArrayChunk
    all_labels: Labels
    counts: NDArray[np.bool_]
    unlabeled: int

    def __len__(self) -> int:
        return int(np.count_nonzero(self.counts))

    @property
    def rows(self) -> int:
        return len(self.counts)

    @property
    def weights(self) -> Array | None:
        return None if self.chunk.weights is None else self.chunk.weights[self.counts]

    def labels(self) -> tuple[Labels, None]:
        return self.all_labels[self.counts], None

    def source(self) -> Source:
        return open_source(self.chunk.X[self.counts])


@dataclass(frozen=True, eq=False)
class Counted:
    """The rows of a chunk that count: those with a label, and with some weight.

    counts (rows,): which of the chunk do; unlabeled: how many have no label; first: the number of the first of them.
    """

    frame: "nw.DataFrame[Any]"
    roles: Roles
    weights: Array | None
    counts: NDArray[np.bool_]
    unlabeled: int
    first: int = 0

    @classmethod
    def of(cls, frame: "nw.DataFrame[Any]", roles: Roles, first: int = 0) -> "Counted":
        """By the roles of the columns."""
        assert roles.target is not None
        labeled = _labeled(frame[roles.target])
        unlabeled = len(labeled) - int(np.count_nonzero(labeled))
        kept = frame.filter(labeled.tolist()) if unlabeled else frame
        if roles.weights is None or not len(kept):
            return cls(kept, roles, None, labeled, unlabeled, first)
        weights = read_weights(kept[roles.weights], roles.weights)
        if not weights.all():
            labeled[labeled] = weights > 0
            kept, weights = kept.filter((weights > 0).tolist()), weights[weights > 0]
        return cls(kept, roles, weights, labeled, unlabeled, first)

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

    @property
    def numbers(self) -> Codes:
        """Their numbers among all rows that count; (m,)."""
        return self.first + np.arange(len(self))

    def take(self, kept: Codes) -> "Counted":
        """Only those at these positions among them."""
        counts = np.zeros(self.rows, dtype=bool)
        counts[self.places[kept]] = True
        weights = None if self.weights is None else self.weights[kept]
        return replace(self, frame=self.frame[kept], weights=weights, counts=counts)

    def labels(self) -> tuple[Labels, Labels | None]:
        """The label of each row; of text the position among sorted names, and these names."""
        assert self.roles.target is not None
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
        return open_source(self.frame.select(list(self.roles.features)), self.roles.texts)


def _labeled(target: "nw.Series[Any]") -> NDArray[np.bool_]:
    """Which rows have a label."""
    if not target.null_count() and not target.dtype.is_float():
        return np.ones(len(target), dtype=bool)
    missing = target.is_null()
    if target.dtype.is_float():
        missing = missing | target.is_nan().fill_null(True)
    return ~np.asarray(missing.to_numpy(), dtype=bool)


def count_rows(table: Any, roles: Roles) -> int:
    """How many rows of a table count."""
    assert roles.target is not None
    needed = [roles.target] if roles.weights is None else [roles.target, roles.weights]
    return len(Counted.of(as_frame(table).select(needed), roles))


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


def warn_of_unlabeled(unlabeled: int, rows: int) -> None:
    """Say how many rows were left out, if some were."""
    if unlabeled:
        warnings.warn(f"{unlabeled} of {rows} rows have no label and were left out.", MissingLabelWarning, stacklevel=5)


def text_conversions(table: Any, columns: Sequence[str]) -> dict[str, Conversion]:
    """Those columns of a table that are text, and hold dates or numbers."""
    frame = as_frame(table)
    texts = [name for name in columns if name in frame.columns and frame.schema[name] in (nw.String, nw.Object)]
    values = open_source(frame.select(texts)).values if texts and len(frame) else None
    found = {} if values is None else {name: values.conversion(j) for j, name in enumerate(texts)}
    return {name: conversion for name, conversion in found.items() if conversion is not None}


def level_columns(families: Any) -> list[str]:
    """The columns that are to be categories, whose whole numbers are levels."""
    pairs = families.items() if isinstance(families, Mapping) else ()
    return [name for name, family in pairs if isinstance(name, str) and family in ("categorical", "bernoulli")]
