"""What is left of a density when values are missing: they are integrated out."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from classwise.arrays import Array, Codes
from classwise.densities.density import Density


@dataclass(frozen=True, eq=False)
class Observed(Density):
    """The same density for rows with gaps: NaN where a number is missing."""

    whole: Density

    @property
    def count(self) -> int:
        return self.whole.count

    @property
    def n_features(self) -> int:
        return self.whole.n_features

    @property
    def width(self) -> int:
        return self.whole.width

    @property
    def free_parameters(self) -> int:
        return self.whole.free_parameters

    def relative(self, rows: Array, offset: Array) -> Array:
        return self.whole.observed(rows, offset)

    def common(self, rows: Array) -> float:
        return 0.0

    def observed(self, rows: Array, offset: Array) -> Array:
        return self.whole.observed(rows, offset)

    def shares(self, row: Array, first: int, second: int) -> Array:
        return self.whole.shares(row, first, second)

    def parameters(self) -> list[dict[Any, Array]]:
        return self.whole.parameters()

    def sample(self, codes: Codes, generator: np.random.Generator) -> Array:
        return self.whole.sample(codes, generator)
