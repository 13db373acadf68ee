"""The log-normal: log x is Gaussian, so log p(x | k) = log N(log x | m_k, v_k) - log x."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from classwise.arrays import Array, Codes
from classwise.densities.density import Density, Wrapper
from classwise.errors import UnscorableError
from classwise.storage import stored


@stored("LogNormal")
@dataclass(frozen=True, eq=False)
class LogNormal(Wrapper):
    """Positive columns whose logarithms have this density: Gaussian, or Student-t."""

    logs: Density

    @property
    def wrapped(self) -> Density:
        return self.logs

    @property
    def width(self) -> int:
        return self.n_features + self.logs.width

    def relative(self, rows: Array, offset: Array) -> Array:
        return self.logs.relative(_log(rows), offset)

    def common(self, rows: Array) -> Array:
        logs = _log(rows)
        return self.logs.common(logs) - logs.sum(axis=1)

    def observed(self, rows: Array, offset: Array) -> Array:
        logs = _log(rows)
        return self.logs.observed(logs, offset) - np.nansum(logs, axis=1)

    def shares(self, row: Array, first: int, second: int) -> Array:
        return self.logs.shares(_log(row), first, second)

    def parameters(self) -> list[dict[Any, Array]]:
        return [{f"log {name}": value for name, value in of.items()} for of in self.logs.parameters()]

    def sample(self, codes: Codes, generator: np.random.Generator) -> Array:
        return np.exp(self.logs.sample(codes, generator))


def _log(rows: Array) -> Array:
    if (rows <= 0).any():
        raise UnscorableError("Some values are not positive.")
    return np.log(rows)
