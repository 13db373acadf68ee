"""Columns that say nothing about the class: they never vary, or they are not looked at."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from classwise.arrays import Array, Codes
from classwise.densities.density import Density
from classwise.storage import stored


@stored("Constant", loose=("values",))
@dataclass(frozen=True, eq=False)
class Constant(Density):
    """The same values (p,) in every class, which a sample repeats; a row's density does not depend on them."""

    values: Array
    classes: int

    def _is_sound(self) -> bool:
        return self.values.ndim == 1

    @property
    def count(self) -> int:
        return self.classes

    @property
    def n_features(self) -> int:
        return len(self.values)

    @property
    def width(self) -> int:
        return self.n_features

    @property
    def free_parameters(self) -> int:
        return 0

    def relative(self, rows: Array, offset: Array) -> Array:
        return np.repeat(offset, len(rows), axis=1)

    def common(self, rows: Array) -> float:
        return 0.0

    def observed(self, rows: Array, offset: Array) -> Array:
        return self.relative(rows, offset)

    def shares(self, row: Array, first: int, second: int) -> Array:
        return np.zeros(self.n_features)

    def parameters(self) -> list[dict[Any, Array]]:
        return [{}] * self.n_features

    def sample(self, codes: Codes, generator: np.random.Generator) -> Array:
        return np.tile(self.values, (len(codes), 1))
