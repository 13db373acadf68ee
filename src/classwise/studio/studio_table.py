"""A table as the studio holds it: statistics by fold and class of all rows, gathered once, and a sample to draw."""

import warnings
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from classwise.arrays import Array, Codes
from classwise.engines.rows import Held, Rows, open_rows
from classwise.errors import ClasswiseError
from classwise.rows.frames import make_frame
from classwise.rows.sources import Source
from classwise.selection.crossing import Crossing
from classwise.statistics import ClassStatistics
from classwise.studio.options import Opening

# Rows that are drawn, and can be explained; rows of a larger table that dials are judged by.
DRAWN = 2000
JUDGED = 20_000

# Up to this many values are held in memory, where folds can be stratified; more are read as a stream.
MOST_HELD = 2_000_000

FOLDS = 10

# At most this many classes can be distinguished by color and shape; more are a column that holds no classes.
MOST_CLASSES = 50


@dataclass(frozen=True, eq=False)
class StudioTable:
    """name: what the page calls it; source: a path, or rows in memory; held: the rows, if they are few.

    crossing: statistics by fold of all rows, and rows to judge dials by; notes: what was said while it was read;
    box: (low, high) of both columns, where the picture is not to grow with the rows.
    """

    name: str
    source: Any
    opening: Opening
    crossing: Crossing
    held: Held | None
    features: tuple[str, ...]
    notes: tuple[str, ...]
    box: Array | None = None

    @cached_property
    def statistics(self) -> ClassStatistics:
        """Of all rows."""
        return self.crossing.statistics.total()

    @property
    def labels(self) -> list[Any]:
        return list(self.statistics.labels.tolist())

    @property
    def rows(self) -> int:
        """How many rows have a label."""
        return self.statistics.rows

    @cached_property
    def drawn(self) -> Codes:
        """The rows of the crossing that are drawn: all, or a random sample; ascending."""
        count = len(self.crossing.codes)
        if count <= DRAWN:
            return np.arange(count)
        return np.sort(np.random.default_rng(0).choice(count, DRAWN, replace=False))

    @cached_property
    def drawn_codes(self) -> Codes:
        """The classes of the rows that are drawn, by position among the labels."""
        return np.searchsorted(self.statistics.labels, self.crossing.labels)[self.crossing.codes[self.drawn]]

    @cached_property
    def drawn_source(self) -> Source:
        return self.crossing.source.take(self.crossing.places[self.drawn])

    def drawn_rows(self, model: Any) -> Array:
        """The rows that are drawn, as a model reads them: categories by the position of their level; (m, p)."""
        return _read_like(self, _Key(model.model_.schema, model.model_.levels))

    def row_frame(self, model: Any, row: int) -> Any:
        """One of the rows that are drawn, as a table that the model explains."""
        known = model.model_
        return make_frame(self.drawn_rows(model)[[row]], known.schema, known.levels)

    @property
    def named(self) -> dict[str, Any]:
        """The roles of the columns, as arguments of `compare`, `examine` and `fit_source`."""
        return {"target": self.opening.target, "columns": list(self.features)}


class _Key:
    """What a model reads rows by; models of the same table that read alike share the rows."""

    def __init__(self, schema: Any, levels: dict[int, Any]) -> None:
        self.schema, self.levels = schema, levels
        families = tuple(repr(column.family) for column in schema)
        self._known = families, tuple((j, tuple(known.tolist())) for j, known in sorted(levels.items()))

    def __hash__(self) -> int:
        return hash(self._known)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self._known == other._known


@lru_cache(8)
def _read_like(table: StudioTable, key: _Key) -> Array:
    return np.asarray(table.drawn_source.read_like(key.schema, key.levels).rows, dtype=np.float64)


def open_table(name: str, source: Any, opening: Opening) -> StudioTable:
    """Read a table once; an error says in words what is wrong with it."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        rows = _opened(source, opening)
        held = rows.held(MOST_HELD)
        families = opening.read()["families"]
        if held is None:
            crossing = Crossing.read_rows(rows, FOLDS, families, True, JUDGED, 0)
        else:
            crossing = Crossing.read(
                held.X, held.y, FOLDS, families=families, weights=held.weights, quartics=True, random_state=0
            )
    _refuse_many(crossing, opening.target)
    notes = dict.fromkeys(" ".join(str(w.message).split()) for w in said if issubclass(w.category, UserWarning))
    return StudioTable(name, source, opening, crossing, held, rows.roles.features, tuple(notes))


def _opened(source: Any, opening: Opening) -> Rows:
    options = opening.read()
    columns = None
    if opening.drop:
        every = open_rows(source, target=opening.target, **options).roles.features
        columns = [column for column in every if column not in opening.drop]
        if not columns:
            raise ClasswiseError("All columns are left out; leave one in to learn from.")
    return open_rows(source, target=opening.target, columns=columns, **options)


def _refuse_many(crossing: Crossing, target: str) -> None:
    count = len(crossing.labels)
    if count > MOST_CLASSES:
        raise ClasswiseError(
            f"The column {target!r} has {count} different values, more than the {MOST_CLASSES} classes that a picture "
            "can tell apart; choose another column for the labels."
        )
