"""Learning weights from rows wherever they are: each pass adds up what chunks of them say.

A first pass has told what the columns hold, and which classes there are. Rows that are few are then held in memory. Of
more, some are drawn to begin with, and then all are gone through as those of a table would be.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from classwise.arrays import Array
from classwise.engines import BLAS, MemoryEngine
from classwise.errors import ClasswiseError
from classwise.estimators.logistic.columns import Reading, known_levels
from classwise.estimators.logistic.drawing import Chances, Drawing, Drawn
from classwise.estimators.logistic.learning import ROWS_PER_WEIGHT, Rows, TableRows
from classwise.gathering import Passes
from classwise.logistic import Laplace, Model
from classwise.statistics import ClassStatistics, Curvature

# No more values than this are held in memory: rows times columns.
MOST_VALUES = 20_000_000

# So many rows are drawn, or more where there are many weights.
DRAWN_ROWS = 100_000

# What is asked of a chunk, once it is in memory, at some weights, or averaged over them.
Verb = Callable[[TableRows, Any], Curvature]


@dataclass(frozen=True, eq=False)
class Sum:
    """What chunks add up to; None, of chunks without a row that counts."""

    value: Curvature | None = None

    def __add__(self, other: "Sum") -> "Sum":
        if self.value is None or other.value is None:
            return other if self.value is None else self
        return Sum(self.value + other.value)


@dataclass(frozen=True, eq=False)
class Gathering:
    """A chunk of rows to what it adds. Small, and sent to the workers."""

    reading: Reading
    model: Model
    verb: Verb
    at: Any

    def __call__(self, chunk: Any) -> Sum:
        table = self.reading(chunk)
        if table is None:
            return Sum()
        with BLAS.held():  # see learn
            return Sum(self.verb(TableRows(table, self.model, MemoryEngine()), self.at))


@dataclass(frozen=True, eq=False)
class SourceRows:
    """Rows that are read anew in each pass. statistics: of all of them."""

    passes: Passes
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
        total = self.passes.gather(Gathering(self.reading, self.model, verb, at), rows=self.model.least_rows) or Sum()
        if total.value is None:
            raise changed(0.0, self.weight)
        self.refuse_changed(total.value.weight)
        return total.value

    def fewer(self) -> Iterator[TableRows]:
        r, q = self.model.shape
        count = min(max(DRAWN_ROWS, ROWS_PER_WEIGHT * r * q), MOST_VALUES // len(self.reading.schema))
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
        drawn = self.passes.gather(Drawing(self.reading, chances), what) or Drawn()
        if not drawn.parts:
            raise changed(0.0, self.weight)
        return TableRows(drawn.table(self.reading), self.model, MemoryEngine())

    def refuse_changed(self, weight: float) -> None:
        """Refuse rows that weigh more or less than those of the first pass."""
        if abs(weight - self.weight) > 1e-9 * self.weight:
            raise changed(weight, self.weight)


def rows_of(passes: Passes, statistics: ClassStatistics, model: Model) -> Rows:
    """The rows of a source, as the model sees them; few of them in memory."""
    used = set(model.design.source.tolist())
    # An id has a level for every row, and no weights: its levels need not be known.
    levels = {j: names if j in used else names[:0] for j, names in known_levels(statistics).items()}
    reading = Reading(passes.roles, statistics.schema, levels, statistics.labels)
    rows = SourceRows(passes, reading, statistics, model)
    if statistics.rows * len(statistics.schema) > MOST_VALUES:
        return rows
    held = rows.drawn(Chances(1.0), "Reading")
    rows.refuse_changed(held.weight)
    return held


def changed(now: float, before: float) -> ClasswiseError:
    return ClasswiseError(
        f"The rows are not those of the first pass: they weigh {now:g}, and weighed {before:g}. Rows that are read "
        "several times must stay as they are; write them to a file, or give a function that makes the same each time."
    )
