"""What the picture is of: a model in one or two columns, or in Fisher's plane, and the rows that are drawn there.

The box depends on the table and the columns alone, so that nothing jumps while a dial is moved.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from classwise.arrays import Array
from classwise.classifier.column_view import choose_columns, read_model, usable_columns
from classwise.classifier.density_grid import find_box
from classwise.comparison import Comparison
from classwise.errors import ClasswiseError
from classwise.plot.view import View
from classwise.studio.dials import Dials, decided, fitted
from classwise.studio.fisher import FisherPlane
from classwise.studio.studio_table import StudioTable

# The box reaches around the rows that are drawn, and this many standard deviations of one model of them.
SIGMAS = (2.0,)


@dataclass(frozen=True, eq=False)
class Scene:
    """model: of all columns; view: of the columns seen; plane: Fisher's, if it is seen; table: its rows."""

    table: StudioTable
    model: Any
    view: View
    plane: FisherPlane | None

    @classmethod
    def of(cls, table: StudioTable, dials: Dials, comparison: Comparison | None = None) -> "Scene":
        """What the dials show."""
        model = fitted(dials, table.statistics, comparison)
        plane = _plane(table) if dials.fisher else None
        if plane is not None:
            seen: Any = plane.model(model)
            free = tuple(range(len(plane.names)))
        else:
            seen, _ = read_model(model)
            count = len(dials.columns) or _most(seen)
            free = choose_columns(seen, dials.columns or None, None, count)[0]
        decision = decided(dials, seen)
        return cls(table, model, View(seen, free, {}, None if decision is seen else decision), plane)

    @property
    def count(self) -> int:
        """How many columns are seen."""
        return len(self.view.free)

    @cached_property
    def points(self) -> Array:
        """The rows that are drawn, in the columns seen; (m, 1) or (m, 2)."""
        rows = self.table.drawn_rows(self.model)
        return rows[:, list(self.view.free)] if self.plane is None else self.plane.points(rows)

    def projected(self, rows: Array) -> Array:
        """Other rows of the model, in the columns seen."""
        return rows[:, list(self.view.free)] if self.plane is None else self.plane.points(rows)

    @property
    def box(self) -> Array:
        """(low, high) of each column."""
        if self.table.box is not None and self.plane is None and self.count == 2:
            return self.table.box
        return _box(self.table, self.plane is not None, tuple(self.view.names), self.view.free)


def _most(model: Any) -> int:
    """How many columns to show where none are named: two, if there are two."""
    usable = usable_columns(model)
    if not usable:
        raise ClasswiseError("No column is left that tells the classes apart: all are constant, empty or left out.")
    return min(2, len(usable))


def reference(table: StudioTable) -> Any:
    """The simplest model that keeps the units of the columns: it can always be had."""
    return fitted(Dials(structure="diagonal", share=1.0), table.statistics)


@lru_cache(8)
def _plane(table: StudioTable) -> FisherPlane:
    return FisherPlane.of(table.statistics)


@lru_cache(64)
def _box(table: StudioTable, fisher: bool, names: tuple[str, ...], free: tuple[int, ...]) -> Array:
    """Around the rows that are drawn, and the ellipses of one model of them."""
    model = reference(table)
    plane = _plane(table) if fisher else None
    rows = table.drawn_rows(model)
    points = rows[:, list(free)] if plane is None else plane.points(rows)
    seen: Any = model if plane is None else plane.model(model)
    return find_box(View(seen, free, {}, None), points, SIGMAS)
