"""Learning weights from rows wherever they are: each pass adds up what chunks of them say.

A first pass has told what the columns hold, and which classes there are. Rows that are few are then held in memory. Of
more, some are drawn to begin with, and then all are gone through as those of a table would be.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from classwise import limits
from classwise.arrays import Array
from classwise.engines import BLAS, MemoryEngine, Rows
from classwise.errors import ClasswiseError
from classwise.estimators.logistic.columns import Reading, known_levels
from classwise.estimators.logistic.drawing import Chances, Drawing
from classwise.estimators.logistic.learning import ROWS_PER_WEIGHT, CurvatureRows, TableRows
from classwise.logistic import Laplace, Model
from classwise.rows.roles import Chunk
from classwise.statistics import ClassStatistics, Curvature

# So many rows are drawn, or more where there are many weights.
DRAWN_ROWS = 100_000

# What is asked of a chunk, once it is in memory, at some weights, or averaged over them.
Verb = Callable[[TableRows, Any], Curvature]


@dataclass(frozen=True, eq=False)
class Gathering:
    """A chunk of rows to what it adds. Small, and sent to the workers."""

    reading: Reading
    model: Model
    verb: Verb
    at: Any

    def __call__(self, chunk: Chunk) -> Curvature | None:
        table = self.reading(chunk)
        if table is None:
            return None
        with BLAS.held():  # see learn
            return self.verb(TableRows(table, self.model, MemoryEngine()), self.at)


@dataclass(frozen=True, eq=False)
class SourceRows:
    """Rows that are read anew in each pass. statistics: of all of them."""

    rows: Rows
    reading: Reading
    statistics: ClassStatistics
    model: Model

    @property
    def weight(self) -> float:
        return float(self.statistics.weight.sum())

    def curvature(self, weights: Array) -> Curvature:
        return self._gathered(TableRows.curvature, weights)

    def slope(self, weights: Array) -> Curvature:
        return self._gathered(TableRows.slope, weights)

    def averaged(self, beliefs: Laplace) -> Curvature:
        return self._gathered(TableRows.averaged, beliefs)

    def _gathered(self, verb: Verb, at: Any) -> Curvature:
        gathering = Gathering(self.reading, self.model, verb, at)
        total = self.rows.gather(gathering, f"Learning, pass {self.rows.passes + 1}", self.model.least_rows)
        if total is None:
            raise changed(0.0, self.weight)
        self.refuse_changed(total.weight)
        return total

    def fewer(self) -> Iterator[TableRows]:
        r, q = self.model.shape
        count = min(max(DRAWN_ROWS, ROWS_PER_WEIGHT * r * q), limits.MOST_HELD // len(self.reading.schema))
        drawn = self.drawn(self._chances(count), "Drawing rows")
        yield from drawn.fewer()
        yield drawn

    def _chances(self, count: int) -> Chances:
        """For about so many rows. Where rows have weights, nobody knows how many are of a kind: all are alike."""
        if self.reading.roles.weights is not None:
            return Chances(count / self.statistics.rows)
        return Chances.of_kinds(self.statistics, set(self.model.design.source.tolist()), count)

    def drawn(self, chances: Chances, what: str) -> TableRows:
        """Some of the rows, in memory; what: is said of the work."""
        what = f"{what}, pass {self.rows.passes + 1}"
        drawn = self.rows.gather(Drawing(self.reading, chances), what, numbered=True)
        if drawn is None:
            raise changed(0.0, self.weight)
        return TableRows(drawn.table(self.reading), self.model, MemoryEngine())

    def refuse_changed(self, weight: float) -> None:
        """Refuse rows that weigh more or less than those of the first pass."""
        if abs(weight - self.weight) > 1e-9 * self.weight:
            raise changed(weight, self.weight)


def rows_of(source: Rows, statistics: ClassStatistics, model: Model) -> CurvatureRows:
    """The rows of a source, as the model sees them; few of them in memory."""
    used = set(model.design.source.tolist())
    # An id has a level for every row, and no weights: its levels need not be known.
    levels = {j: names if j in used else names[:0] for j, names in known_levels(statistics).items()}
    reading = Reading(source.roles, statistics.schema, levels, statistics.labels)
    rows = SourceRows(source, reading, statistics, model)
    if statistics.rows * len(statistics.schema) > limits.MOST_HELD:
        return rows
    held = rows.drawn(Chances(1.0), "Reading")
    rows.refuse_changed(held.weight)
    return held


def changed(now: float, before: float) -> ClasswiseError:
    return ClasswiseError(
        f"The rows are not those of the first pass: they weigh {now:g}, and weighed {before:g}. Rows that are read "
        "several times must stay as they are; write them to a file, or give a function that makes the same each time."
    )
