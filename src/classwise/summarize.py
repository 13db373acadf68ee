"""Rows to statistics: the first half of every fit."""

from typing import Any, Literal

import numpy as np

from classwise.arrays import BLOCK_SIZE
from classwise.engines import Engine, MemoryEngine
from classwise.errors import ClasswiseError
from classwise.options import choose
from classwise.statistics import SCATTERS, ClassStatistics, Scatter, code_labels, gather_moments
from classwise.tables import Table, read_table, refuse_not_finite

# Chunks are handed to threads; each is many cache-sized blocks long, so that handing out and merging cost little.
CHUNK_SIZE = 16 * BLOCK_SIZE

ScatterForm = Literal["full", "pooled", "diagonal"]


def summarize(X: Any, y: Any, weights: Any = None, *, scatter: ScatterForm = "full") -> ClassStatistics:
    """Weight, mean and scatter of each class, in one pass, in float64, with flat memory.

    X (n, p): an array, or a pandas, polars or Arrow table of numbers.
    y (n,): labels of any sortable kind.
    weights (n,): a weight of two is the row twice, a weight of zero is no row.
    scatter: "full" serves every model; "pooled" (LDA) and "diagonal" (naive Bayes, nearest mean) are leaner.

    >>> import classwise as cw
    >>> cw.summarize([[1.8], [2.1], [5.8], [6.7]], [0, 0, 1, 1])
    ClassStatistics(2 classes, 1 feature, weight 4, full scatter)
    """
    return summarize_table(read_table(X, y, weights), choose("scatter", scatter, SCATTERS))


def summarize_table(table: Table, form: type[Scatter], engine: Engine | None = None) -> ClassStatistics:
    """The statistics of a table, gathered by an engine."""
    engine = engine or MemoryEngine()
    return engine.gather(lambda chunk: summarize_chunk(chunk, form), table, _chunk_rows(table.rows.shape[1]))


def summarize_chunk(chunk: Table, form: type[Scatter]) -> ClassStatistics:
    """The statistics of one chunk; a row that is not finite is an error that names its column."""
    chunk = chunk.weighted()
    if chunk.labels is None:
        raise ClasswiseError("y is missing: a statistic by class needs a label for every row.")
    if not len(chunk):
        return ClassStatistics.empty(chunk.rows.shape[1], form, chunk.features)
    labels, codes = code_labels(chunk.labels)
    # NaN and infinity travel to the sums, so looking there spares a pass over the rows.
    with np.errstate(all="ignore"):
        moments = gather_moments(chunk.rows, codes, len(labels), chunk.weights, form)
    if not np.isfinite(moments.scatter.pooled_diagonal()).all():
        refuse_not_finite(chunk)
        raise ClasswiseError("X has a scatter beyond what float64 can hold; rescale its columns.")
    return ClassStatistics(labels, moments, chunk.features)


def _chunk_rows(features: int) -> int:
    # A statistic holds matrices of p²: chunks grow with them, so that merging stays a small part of the work.
    return max(CHUNK_SIZE, 8 * features * features) // features
