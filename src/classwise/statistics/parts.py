"""The parts of a statistic by class: what each summarizes, of which columns, and how it is gathered from a chunk.

A part knows its own arithmetic (`Statistic`). What is left to say of it stands here, once, in the table `PARTS`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
from scipy.special import gammaln

from classwise import limits
from classwise.arrays import Array, Codes
from classwise.errors import ClasswiseError
from classwise.rows.schema import Schema
from classwise.rows.sparse import SparseRows
from classwise.rows.table import Table, refuse_unsuitable
from classwise.statistics.bins import Histograms, gather_bins
from classwise.statistics.columnwise import gather_from_columns, suits_columns
from classwise.statistics.counts import Counts, LevelCounts, gather_counts
from classwise.statistics.gaps import Gaps, Numbers
from classwise.statistics.moments import Moments, gather_columns, gather_moments
from classwise.statistics.pairs import PairCounts
from classwise.statistics.places import Sketches
from classwise.statistics.quartics import Quartics
from classwise.statistics.scatter import DiagonalScatter, FullScatter, Scatter
from classwise.statistics.statistic import Statistic
from classwise.statistics.sums import Sums, sparse_moments, sparse_sums
from classwise.statistics.trees import LeafCounts

S = TypeVar("S", bound=Statistic)


@dataclass(frozen=True, eq=False)
class Gathering:
    """A chunk of rows, none of weight zero, with the class of each (m,), and how it is to be summarized."""

    chunk: Table
    codes: Codes
    count: int
    form: type[Scatter]
    allow_missing: bool

    @cached_property
    def candidates(self) -> Array:
        """The columns whose family is yet to be chosen; (m, c)."""
        return self.chunk.block(self.chunk.schema.candidates)


@dataclass(frozen=True, eq=False)
class Part(Generic[S]):
    """name: in files; kind: its class; place: which columns of a schema it summarizes, as `Schema.places` calls them.

    gather: from a chunk that has such columns; None for what is gathered elsewhere, and only on request.
    """

    name: str
    kind: type[S]
    place: str
    gather: Callable[[Gathering], S] | None = None

    def columns(self, schema: Schema) -> list[int]:
        """The columns that it summarizes."""
        return schema.places[self.place]

    def is_wanted(self, schema: Schema) -> bool:
        """Numbers are always there, even of no columns: they hold how scatter is gathered."""
        return self.kind is Numbers or bool(self.columns(schema))

    def is_sound(self, part: Statistic, count: int, schema: Schema) -> bool:
        """Whether a part is what it should be: of `count` classes, and of the right columns."""
        columns = self.columns(schema)
        own = schema.columns if len(columns) == len(schema) else [schema.columns[j] for j in columns]
        return isinstance(part, self.kind) and part.is_of(count, own)


def gather_parts(gathering: Gathering, quartics: bool = False) -> dict[str, Statistic]:
    """All that the schema of a chunk needs; what no density can take is an error that names its column."""
    chunk, schema = gathering.chunk, gathering.chunk.schema
    # Sparse rows are looked at as they are read.
    if schema.places["ranged"] or (schema.places["levels"] and not gathering.allow_missing):
        refuse_unsuitable(chunk, gathering.allow_missing)
    parts = {part.name: part.gather(gathering) for part in PARTS if part.gather and part.is_wanted(schema)}
    if quartics and QUARTICS.columns(schema):
        parts[QUARTICS.name] = _gather_quartics(gathering)
    return parts


def parts_fit(count: int, schema: Schema, parts: Mapping[str, Statistic]) -> bool:
    """Whether parts fit together as they do when rows were summarized, of `count` classes; for files."""
    kinds = {part.name: part for part in PARTS}
    needed = {part.name for part in PARTS if part.gather and part.is_wanted(schema)}
    whole = needed <= set(parts) <= set(kinds)
    return whole and all(kinds[name].is_sound(part, count, schema) for name, part in parts.items())


# ----------------------------------------------------------------------------------------------------------------------
# How each is gathered.


def _gather_numbers(gathering: Gathering) -> Numbers:
    chunk, codes, count, form = gathering.chunk, gathering.codes, gathering.count, gathering.form
    columns = chunk.schema.places["numbers"]
    if not len(codes):
        return Numbers(Moments.empty(count, len(columns), form), Gaps.empty(len(columns)))
    if isinstance(chunk.source, SparseRows):
        return _gather_sparse_numbers(gathering, len(columns))
    complete = _gather_complete(chunk, codes, count, form)
    if complete is not None:
        return complete
    refuse_unsuitable(chunk, gathering.allow_missing)
    numbers = chunk.block(columns)
    if not np.isnan(numbers).any():
        raise ClasswiseError("X has a scatter beyond what float64 can hold; rescale its columns.")
    return Numbers.gather(np.asarray(numbers, dtype=np.float64), codes, count, chunk.weights, form)


def _gather_sparse_numbers(of: Gathering, features: int) -> Numbers:
    """Of Gaussian columns: column by column, whatever form of scatter is requested. No value is missing."""
    if not features:
        return Numbers(Moments.empty(of.count, 0, of.form), Gaps.empty(0))
    if of.form is not DiagonalScatter:
        raise ClasswiseError(
            "Of a sparse matrix only diagonal scatter can be held; give scatter='diagonal', or X.toarray()."
        )
    return Numbers(sparse_moments(of.chunk.rows, of.codes, of.count, of.chunk.weights), Gaps.empty(features))


def _gather_complete(chunk: Table, codes: Codes, count: int, form: type[Scatter]) -> Numbers | None:
    """The moments of rows that have all their numbers; None where some are missing, or infinite."""
    columns = chunk.schema.places["numbers"]
    moments = _gather_moments(chunk, columns, codes, count, form)
    return Numbers(moments, Gaps.empty(len(columns))) if moments.are_finite else None  # spares a pass over the rows


def _gather_moments(chunk: Table, places: list[int], codes: Codes, count: int, form: type[Scatter]) -> Moments:
    columns = chunk.columns(places)
    if columns and suits_columns(columns, count):
        return gather_from_columns(columns, codes, count, chunk.weights, form)
    return gather_moments(chunk.block(places), codes, count, chunk.weights, form)


def _gather_logs(of: Gathering) -> Moments:
    """log x, of those that have one."""
    numbers = of.chunk.block(of.chunk.schema.logs)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(numbers > 0, np.log(numbers), np.nan)
    return gather_columns(logs, of.codes, of.count, of.chunk.weights)


def _gather_factorials(of: Gathering) -> Moments:
    """log x!, where x is a count."""
    numbers = of.candidates
    is_count = (numbers >= 0) & (numbers == np.floor(numbers))
    logs = np.where(is_count, gammaln(np.where(is_count, numbers, 0.0) + 1), np.nan)
    return gather_columns(logs, of.codes, of.count, of.chunk.weights)


def _gather_levels(of: Gathering) -> Counts:
    chunk, classes = of.chunk, of.codes.astype(np.intp)
    levels = chunk.schema.levels
    return Counts(
        tuple(gather_counts(chunk.codes(j), chunk.levels[j], classes, of.count, chunk.weights) for j in levels)
    )


def _gather_sums(of: Gathering) -> Sums:
    sums = sparse_sums(of.chunk.rows, of.codes, of.count, of.chunk.weights)
    if not np.isfinite(sums).all():
        raise ClasswiseError("X contains infinity, or sums beyond what float64 can hold; put other values there.")
    return Sums(sums)


def _gather_bins(of: Gathering) -> Histograms:
    numbers = np.asarray(of.chunk.block(of.chunk.schema.places["kernel"]), dtype=np.float64)
    return Histograms(tuple(gather_bins(column, of.codes, of.count, of.chunk.weights) for column in numbers.T))


def _gather_values(of: Gathering) -> Counts:
    return Counts(tuple(_count_values(column, of) for column in of.candidates.T), limits.MOST_VALUES)


def _count_values(column: Array, of: Gathering) -> LevelCounts | None:
    """The counts of the distinct values of a column of numbers, unless there are too many."""
    present = ~np.isnan(column)
    # A look at the first rows spares most columns the sorting.
    if len(np.unique(column[:1000][present[:1000]])) > limits.MOST_VALUES:
        return None
    values, positions = np.unique(column[present], return_inverse=True)
    if len(values) > limits.MOST_VALUES:
        return None
    all_positions = np.full(len(column), len(values))
    all_positions[present] = positions.reshape(-1)
    return gather_counts(all_positions, values.astype(np.float64), of.codes, of.count, of.chunk.weights)


def _gather_quartics(of: Gathering) -> Quartics:
    """Of the rows that have all their numbers."""
    rows = np.asarray(of.chunk.block(QUARTICS.columns(of.chunk.schema)), dtype=np.float64)
    complete = np.flatnonzero(~np.isnan(rows).any(axis=1))
    weights = None if of.chunk.weights is None else of.chunk.weights[complete]
    numbers = Numbers.gather(rows[complete], of.codes[complete], of.count, weights, FullScatter)
    return Quartics.gather(rows[complete], of.codes[complete], weights, numbers.moments)


# ----------------------------------------------------------------------------------------------------------------------
# The table.


NUMBERS = Part("numbers", Numbers, "numbers", _gather_numbers)
LOGS = Part("logs", Moments, "logs", _gather_logs)
LEVELS = Part("levels", Counts, "levels", _gather_levels)
SUMS = Part("sums", Sums, "sums", _gather_sums)
BINS = Part("bins", Histograms, "kernel", _gather_bins)
FACTORIALS = Part("factorials", Moments, "candidates", _gather_factorials)
VALUES = Part("values", Counts, "candidates", _gather_values)
QUARTICS = Part("quartics", Quartics, "gaussian")
SKETCHES = Part("sketches", Sketches, "all")
PAIRS = Part("pairs", PairCounts, "all")
LEAVES = Part("leaves", LeafCounts, "all")

PARTS: tuple[Part[Any], ...] = (
    *(NUMBERS, LOGS, LEVELS, SUMS, BINS, FACTORIALS, VALUES),
    *(QUARTICS, SKETCHES, PAIRS, LEAVES),
)
