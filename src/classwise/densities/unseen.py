"""Classes that are expected, and of which there are no rows yet: no density, a probability of zero everywhere."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from classwise.arrays import Array, Codes
from classwise.densities.density import Density
from classwise.errors import ClasswiseError
from classwise.storage import stored


@stored("Unseen")
@dataclass(frozen=True, eq=False)
class Unseen(Density):
    """seen: the densities of classes that have rows; places: where these stand among all classes, in order."""

    seen: Density
    places: Codes
    classes: int

    def _is_sound(self) -> bool:
        within = self.places.shape == (self.seen.count,) and bool((np.diff(self.places) > 0).all())
        return within and self.places[0] >= 0 and self.places[-1] < self.classes

    @property
    def count(self) -> int:
        return self.classes

    @property
    def n_features(self) -> int:
        return self.seen.n_features

    @property
    def width(self) -> int:
        return self.seen.width

    @property
    def free_parameters(self) -> int:
        return self.seen.free_parameters

    def relative(self, rows: Array, offset: Array) -> Array:
        return self._spread(self.seen.relative(rows, offset[self.places]), -np.inf)

    def common(self, rows: Array) -> Array | float:
        return self.seen.common(rows)

    def observed(self, rows: Array, offset: Array) -> Array:
        return self._spread(self.seen.observed(rows, offset[self.places]), -np.inf)

    def shares(self, row: Array, first: int, second: int) -> Array:
        if first not in self.places or second not in self.places:
            raise ClasswiseError("A class without rows has no density, and its log odds are not finite.")
        return self.seen.shares(row, *np.searchsorted(self.places, [first, second]).tolist())

    def parameters(self) -> list[dict[Any, Array]]:
        return [{name: self._spread(of, np.nan) for name, of in column.items()} for column in self.seen.parameters()]

    def sample(self, codes: Codes, generator: np.random.Generator) -> Array:
        return self.seen.sample(np.searchsorted(self.places, codes), generator)

    def _spread(self, values: Array, absent: float) -> Array:
        """Values of the classes that have rows (k, ...), among all; (g, ...)."""
        whole = np.full((self.classes, *values.shape[1:]), absent)
        whole[self.places] = values
        return whole
