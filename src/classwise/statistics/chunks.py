"""Rows to statistics: the first half of every fit."""

import numpy as np
from scipy.special import gammaln

from classwise.arrays import Array, Codes
from classwise.engines import Engine, MemoryEngine
from classwise.errors import ClasswiseError
from classwise.limits import CHUNK_SIZE, COPY_SIZE, chunk_rows
from classwise.rows.checks import refuse_unsuitable
from classwise.rows.labels import code_labels
from classwise.rows.table import Table
from classwise.statistics.by_class import ClassStatistics
from classwise.statistics.columnwise import gather_from_columns, suits_columns
from classwise.statistics.counts import Counts, LevelCounts, gather_counts
from classwise.statistics.gaps import Gaps, Numbers
from classwise.statistics.moments import Moments, gather_columns, gather_moments
from classwise.statistics.quartics import Quartics
from classwise.statistics.scatter import FullScatter, Scatter
from classwise.statistics.statistic import Statistic

# A number with at most this many distinct values may be taken for a category, where its family is to be chosen.
FEW_VALUES = 32

MISSING = {"integrate": True, "level": True, "error": False}


def summarize_table(
    table: Table,
    form: type[Scatter],
    engine: Engine | None = None,
    allow_missing: bool = True,
    quartics: bool = False,
) -> ClassStatistics:
    """The statistics of a table, gathered by an engine."""
    engine = engine or MemoryEngine()
    size = chunk_rows(len(table.schema), COPY_SIZE if table.is_copied else CHUNK_SIZE)
    gathered = engine.gather(lambda chunk: summarize_chunk(chunk, form, allow_missing, quartics), table, size)
    return gathered.compact()


def summarize_chunk(
    chunk: Table, form: type[Scatter], allow_missing: bool = True, quartics: bool = False
) -> ClassStatistics:
    """The statistics of one chunk; what no density can take is an error that names its column."""
    chunk = chunk.weighted()
    if chunk.labels is None:
        raise ClasswiseError("y is missing: a statistic by class needs a label for every row.")
    labels, codes = code_labels(chunk.labels) if len(chunk) else (chunk.labels, np.zeros(0, dtype=np.intp))
    weight = np.bincount(codes, chunk.weights, minlength=len(labels)).astype(np.float64)
    parts = _parts(chunk, codes, len(labels), form, allow_missing)
    if quartics and chunk.schema.positions("gaussian"):
        parts["quartics"] = _gather_quartics(chunk, codes, len(labels))
    return ClassStatistics(labels, weight, len(chunk), chunk.schema, parts)


def _parts(chunk: Table, codes: Codes, count: int, form: type[Scatter], allow_missing: bool) -> dict[str, Statistic]:
    schema, weights = chunk.schema, chunk.weights
    if schema.positions("lognormal", "poisson", "binomial") or (schema.levels and not allow_missing):
        refuse_unsuitable(chunk, allow_missing)
    parts: dict[str, Statistic] = {"numbers": _gather_numbers(chunk, codes, count, form, allow_missing)}
    if schema.logs:
        parts["logs"] = gather_columns(_logs(chunk.block(schema.logs)), codes, count, weights)
    if schema.levels:
        classes = codes.astype(np.intp)
        columns = (gather_counts(chunk.codes(j), chunk.levels[j], classes, count, weights) for j in schema.levels)
        parts["levels"] = Counts(tuple(columns))
    if schema.candidates:
        numbers = chunk.block(schema.candidates)
        parts["factorials"] = gather_columns(_log_factorials(numbers), codes, count, weights)
        parts["values"] = Counts(tuple(_gather_values(x, codes, count, weights) for x in numbers.T), FEW_VALUES)
    return parts


def _gather_numbers(chunk: Table, codes: Codes, count: int, form: type[Scatter], allow_missing: bool) -> Numbers:
    columns = chunk.schema.numbers
    if not len(chunk):
        return Numbers(Moments.empty(count, len(columns), form), Gaps.empty(len(columns)))
    # NaN and infinity travel to the sums, so looking there spares a pass over the rows.
    with np.errstate(all="ignore"):
        moments = _gather_moments(chunk, codes, count, form)
    if np.isfinite(moments.scatter.pooled_diagonal()).all():
        return Numbers(moments, Gaps.empty(len(columns)))
    refuse_unsuitable(chunk, allow_missing)
    numbers = chunk.block(columns)
    if not np.isnan(numbers).any():
        raise ClasswiseError("X has a scatter beyond what float64 can hold; rescale its columns.")
    return Numbers.gather(np.asarray(numbers, dtype=np.float64), codes, count, chunk.weights, form)


def _gather_moments(chunk: Table, codes: Codes, count: int, form: type[Scatter]) -> Moments:
    places = chunk.schema.numbers
    columns = chunk.columns(places) if suits_columns(len(places), count) else None
    if columns:
        return gather_from_columns(columns, codes, count, chunk.weights, form)
    return gather_moments(chunk.block(places), codes, count, chunk.weights, form)


def _gather_quartics(chunk: Table, codes: Codes, count: int) -> Quartics:
    """Of the rows that have all their numbers."""
    rows = np.asarray(chunk.block(chunk.schema.positions("gaussian")), dtype=np.float64)
    complete = np.flatnonzero(~np.isnan(rows).any(axis=1))
    weights = None if chunk.weights is None else chunk.weights[complete]
    numbers = Numbers.gather(rows[complete], codes[complete], count, weights, FullScatter)
    return Quartics.gather(rows[complete], codes[complete], weights, numbers.moments)


def _logs(numbers: Array) -> Array:
    """log x, NaN where there is none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(numbers > 0, np.log(numbers), np.nan)


def _log_factorials(numbers: Array) -> Array:
    """log x!, NaN where x is not a count."""
    is_count = (numbers >= 0) & (numbers == np.floor(numbers))
    return np.where(is_count, gammaln(np.where(is_count, numbers, 0.0) + 1), np.nan)


def _gather_values(column: Array, codes: Codes, count: int, weights: Array | None) -> LevelCounts | None:
    """The counts of the distinct values of a column of numbers, unless there are too many."""
    present = ~np.isnan(column)
    # A look at the first rows spares most columns the sorting.
    if len(np.unique(column[:1000][present[:1000]])) > FEW_VALUES:
        return None
    values, positions = np.unique(column[present], return_inverse=True)
    if len(values) > FEW_VALUES:
        return None
    all_positions = np.full(len(column), len(values))
    all_positions[present] = positions.reshape(-1)
    return gather_counts(all_positions, values.astype(np.float64), codes, count, weights)
