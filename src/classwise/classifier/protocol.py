"""What every classifier can be asked, however it was learned: Bayes' rule, logistic regression and a stack alike.

Answers, pictures, exports and the server stand on this protocol. Rows are matrices (m, p) as tables make them:
categories as positions among their levels, -1 or NaN where a value is missing. Results are class-major, (g, m).
"""

from collections.abc import Callable
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array, Codes, Labels
from classwise.engines import MemoryEngine
from classwise.errors import UnscorableError
from classwise.rows.schema import Schema
from classwise.rows.table import INTEGRATE, Table, refuse_unscorable, refuse_unsuitable


class Classifier(Protocol):
    """Labels, and the posterior of each for rows."""

    @property
    def labels(self) -> Labels:
        """The labels, sorted; (g,)."""
        ...

    def log_posterior(self, rows: Array) -> Array:
        """log P(k | x); (m, p) -> (g, m)."""
        ...

    def posterior(self, rows: Array) -> Array:
        """P(k | x); (m, p) -> (g, m)."""
        ...

    def announced(self, rows: Array) -> Array:
        """log P(k | x) up to a term that all classes share: what decisions need; (m, p) -> (g, m)."""
        ...

    def decide(self, rows: Array) -> Codes:
        """The most probable class, the first of equals; (m, p) -> (m,)."""
        ...

    def observing(self) -> Self:
        """The classifier for rows with gaps, where that is another one."""
        ...

    def chunk_rows(self, copied: bool) -> int:
        """How many rows to score at once; copied: whether a chunk is first put together column by column."""
        ...


class FittedModel(Protocol):
    """A classifier, and the columns that its rows have."""

    @property
    def classifier(self) -> Any:
        """A Classifier."""
        ...

    @property
    def schema(self) -> Schema: ...

    @property
    def levels(self) -> dict[int, Labels]:
        """The levels of each column that has some, by position."""
        ...

    @property
    def notes(self) -> dict[int, str]:
        """What there is to know of a column, by position."""
        ...

    @property
    def missing(self) -> Array:
        """The share of rows without a value in each column; (p,)."""
        ...


C = TypeVar("C", bound=Classifier)


def score(
    function: Callable[[C, Array], NDArray[Any]],
    classifier: C,
    table: Table,
    *,
    strict: bool = False,
    smoothing: float = 1.0,
    remedy: str = INTEGRATE,
) -> NDArray[Any]:
    """function(classifier, rows) of every chunk, side by side; where values are missing, of what is left.

    strict: missing values are refused, and remedy says what else to do with them. smoothing: 0 where a level never seen
    has probability zero.
    """

    def score_chunk(chunk: Table) -> NDArray[Any]:
        if strict and (chunk.levels or remedy != INTEGRATE):
            refuse_unsuitable(chunk, allow_missing=False, remedy=remedy)
        rows = chunk.rows
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                return function(classifier, rows)
        except UnscorableError:
            refuse_unsuitable(chunk, allow_missing=not strict)
        return score_with_gaps(chunk, rows)

    def score_with_gaps(chunk: Table, rows: Array) -> NDArray[Any]:
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                return function(classifier.observing(), np.asarray(rows, dtype=np.float64))
        except UnscorableError:
            if smoothing == 0:
                refuse_unscorable(chunk)
        raise UnscorableError(
            "Some rows have probability zero, or lie too far from every class to be scored in float64."
        )

    return MemoryEngine().apply(score_chunk, table, classifier.chunk_rows(table.is_copied))
