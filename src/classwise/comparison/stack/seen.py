"""A stack as pictures look at it: its columns, how far they reach, and posteriors of rows as a table has them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from classwise.arrays import Array, Labels
from classwise.comparison.stack.encoding import Encoding
from classwise.comparison.stack.member import Trained
from classwise.rows.schema import Schema

# How far from its center a column of numbers is looked at, in standard units.
REACH = 2.5


@dataclass(frozen=True, eq=False)
class StackRule:
    """score: log P(k | x) of rows as the table has them, categories as codes; (m, p) -> (m, g)."""

    score: Callable[[Array], Array]

    def log_posterior(self, rows: Array) -> Array:
        """(m, p) -> (g, m)."""
        return self.score(rows).T

    def posterior(self, rows: Array) -> Array:
        """P(k | x); (g, m)."""
        return np.exp(self.log_posterior(rows))

    def announced(self, rows: Array) -> Array:
        """The class of the largest is announced; (g, m)."""
        return self.log_posterior(rows)


@dataclass(frozen=True, eq=False)
class StackModel:
    """The columns of a stack, with the levels of those that have some."""

    schema: Schema
    levels: dict[int, Labels]
    members: Iterable[Trained]
    notes: dict[int, str] = field(default_factory=dict)

    def reach(self) -> Array:
        """How far rows reach in each column: the lowest, the middle and the highest; (3, p)."""
        places = np.array([[-1.0], [0.0], [1.0]]) * np.ones(len(self.schema))
        for j, levels in self.levels.items():
            places[:, j] = [0, 0, len(levels) - 1]
        for encoding in filter(None, (getattr(member, "encoding", None) for member in self.members)):
            _put(encoding, places)
        return places


def _put(encoding: Encoding, places: Array) -> None:
    numbers = encoding.numbers
    places[:, numbers.columns] = numbers.center + REACH * numbers.scale * np.array([[-1.0], [0.0], [1.0]])
    for category in encoding.categories:
        if category.column in encoding.few:
            places[:, category.column] = category.values[[0, len(category.values) // 2, -1]]
