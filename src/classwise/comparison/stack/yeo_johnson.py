"""Yeo-Johnson powers, which make a column more Gaussian within classes (Yeo and Johnson 2000), from sums.

    f(z, a) = ((z + 1)^a - 1) / a               for z >= 0, log(z + 1) where a = 0
            = -((1 - z)^(2 - a) - 1) / (2 - a)  for z < 0, -log(1 - z) where a = 2

a = 1 leaves z as it is. The power of a column maximizes the likelihood of its rows, which are taken as Gaussian within
each class, with one variance for all classes:

    log likelihood = -n/2 log (sum over classes of the scatter of f(z, a) / n) + (a - 1) sum of sign(z) log(1 + |z|)
"""

from dataclasses import dataclass, fields
from typing import Self

import numpy as np

from classwise.arrays import Array, Codes, ratio

# The powers that are tried; a parabola through the best one and its neighbors refines it.
POWERS = np.linspace(-2.0, 4.0, 25)


def yeo_johnson(values: Array, powers: Array) -> Array:
    """f(z, a), column by column; (m, q), (q,) -> (m, q). NaN stays NaN.

    >>> yeo_johnson(np.array([[3.0, -3.0]]), np.array([0.5, 1.0]))
    array([[ 2., -3.]])
    """
    right, left = _power(np.maximum(values, 0.0), powers), _power(np.maximum(-values, 0.0), 2 - powers)
    return np.where(np.isnan(values), np.nan, right - left)


def inverse_yeo_johnson(values: Array, powers: Array) -> Array:
    """The z with the given f(z, a), or the nearest possible one; (m, q), (q,) -> (m, q)."""
    right, left = _root(np.maximum(values, 0.0), powers), _root(np.maximum(-values, 0.0), 2 - powers)
    return np.where(np.isnan(values), np.nan, right - left)


def _power(magnitude: Array, powers: Array) -> Array:
    """((1 + |z|)^a - 1) / a, and its limit log(1 + |z|) at a = 0."""
    logs = np.log1p(magnitude)
    small = np.abs(powers) < 1e-8
    safe = np.where(small, 1.0, powers)
    return np.where(small, logs, np.expm1(safe * logs) / safe)


def _root(magnitude: Array, powers: Array) -> Array:
    small = np.abs(powers) < 1e-8
    safe = np.where(small, 1.0, powers)
    # With a negative power, values stay below -1 / a; larger ones are moved just inside.
    within = np.where(safe < 0, np.minimum(magnitude, -(1 - 1e-9) / np.minimum(safe, -1e-8)), magnitude)
    return np.expm1(np.where(small, magnitude, np.log1p(safe * within) / safe))


@dataclass(frozen=True, eq=False)
class PowerSums:
    """The sums over standardized numbers that the likelihood of every power needs; they add up.

    weight (g, q): of the present values; total and square (s, g, q): of f(z, a), for the s powers that are tried;
    logs (q,): of sign(z) log(1 + |z|).
    """

    weight: Array
    total: Array
    square: Array
    logs: Array

    @classmethod
    def gather(cls, values: Array, codes: Codes, count: int, weights: Array | None = None) -> Self:
        """The sums of rows (m, q) with classes codes (m,)."""
        present = ~np.isnan(values)
        weighted = np.where(present, 1.0 if weights is None else weights[:, None], 0.0)
        filled = np.where(present, values, 0.0)
        members = np.zeros((count, len(values)))
        members[codes, np.arange(len(values))] = 1.0
        total = np.empty((len(POWERS), count, values.shape[1]))
        square = np.empty_like(total)
        for i, power in enumerate(POWERS):
            powered = yeo_johnson(filled, np.full(values.shape[1], power))
            total[i] = np.dot(members, weighted * powered)
            square[i] = np.dot(members, weighted * powered**2)
        logs = (weighted * np.sign(filled) * np.log1p(np.abs(filled))).sum(axis=0)
        return cls(np.dot(members, weighted), total, square, logs)

    def __add__(self, other: Self) -> Self:
        return type(self)(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))

    def log_likelihood(self) -> Array:
        """The log likelihood of each power that is tried; (s, q)."""
        within = (self.square - ratio(self.total**2, np.broadcast_to(self.weight, self.total.shape))).sum(axis=1)
        weight = np.maximum(self.weight.sum(axis=0), 1e-300)
        variance = np.maximum(within / weight, 1e-12)
        return np.asarray(-0.5 * weight * np.log(variance) + (POWERS[:, None] - 1) * self.logs)

    def best(self) -> Array:
        """The power of each column with the largest likelihood; (q,)."""
        values = self.log_likelihood()
        places = np.clip(values.argmax(axis=0), 1, len(POWERS) - 2)
        columns = np.arange(values.shape[1])
        low, middle, high = (values[places + step, columns] for step in (-1, 0, 1))
        curvature = low - 2 * middle + high
        step = np.where(curvature < 0, 0.5 * ratio(low - high, np.where(curvature < 0, curvature, 1.0)), 0.0)
        return np.asarray(POWERS[places] + np.clip(step, -1, 1) * (POWERS[1] - POWERS[0]))
