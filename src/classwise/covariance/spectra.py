"""Variances along axes, where classes share volume or shape (Celeux and Govaert 1995).

Along axis j class k has the variance v_kj = λ_k a_kj, with a_k1 ... a_kp = 1: its volume λ_k, and its shape a_k. From
sums of squares s_kj and weights n_k, the likelihood is largest where sum_kj n_k log v_kj + s_kj / v_kj is least:

    volume, shape
    shared, shared    v_kj = sum_k s_kj / n
    own, shared       λ_k = mean_j s_kj / a_j / n_k;   a_j in proportion to sum_k s_kj / λ_k
    shared, own       v_kj = λ s_kj / G_k;   G_k = (s_k1 ... s_kp)^(1/p);   λ = sum_k G_k / n
    own, own          v_kj = s_kj / n_k

The second is solved by fixed-point steps. In the logs of λ and a it is a convex problem, so that there is one solution.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from math import inf

import numpy as np

from classwise.arrays import Array, ratio

# Steps end when volumes change by less than SETTLED, relative to themselves; or when they have not come nearer to that
# for PATIENCE steps: what is left then is rounding, of which there is more where axes differ much in length.
SETTLED, PATIENCE = 1e-14, 20
MOST_STEPS = 100_000

# With gaps, steps end when variances change by less.
FILLED = 1e-12


class SpectrumModel(ABC):
    """Which of volume and shape the classes share."""

    def variances(self, squares: Array, weight: Array) -> Array:
        """Of the greatest likelihood; squares (g, p), weight (g, 1) -> (g, p). Where there is none, S / n, with a zero.

        weight (g, p): where classes lack values in some columns; what is missing adds its own variance (EM).
        """
        if weight.shape[1] == 1:
            return self._of_whole(squares, weight)
        whole = weight.max(axis=1, keepdims=True)
        return fixed_point(
            lambda found: self._of_whole(squares + (whole - weight) * found, whole), squares / weight, FILLED
        )

    def _of_whole(self, squares: Array, weight: Array) -> Array:
        return self._likeliest(squares, weight) if self._exists(squares) else squares / weight

    def _exists(self, squares: Array) -> bool:
        """Whether the likelihood has a maximum."""
        return bool((squares > 0).all())

    @abstractmethod
    def _likeliest(self, squares: Array, weight: Array) -> Array: ...


@dataclass(frozen=True)
class SharedSpectrum(SpectrumModel):
    """One volume and one shape."""

    def _likeliest(self, squares: Array, weight: Array) -> Array:
        return np.broadcast_to(squares.sum(axis=0) / weight.sum(), squares.shape)

    def _exists(self, squares: Array) -> bool:
        return bool((squares.sum(axis=0) > 0).all())


@dataclass(frozen=True)
class SharedShape(SpectrumModel):
    """Own volumes, one shape."""

    def _likeliest(self, squares: Array, weight: Array) -> Array:
        def shape(volume: Array) -> Array:
            found = (squares / volume).sum(axis=0, keepdims=True)
            return np.asarray(found / geometric_mean(found))

        def volume(shape: Array) -> Array:
            return np.asarray((squares / shape).mean(axis=1, keepdims=True) / weight)

        last = fixed_point(lambda before: volume(shape(before)), squares.mean(axis=1, keepdims=True) / weight)
        return last * shape(last)

    def _exists(self, squares: Array) -> bool:
        return all(bool((squares.sum(axis=axis) > 0).all()) for axis in (0, 1))


@dataclass(frozen=True)
class SharedVolume(SpectrumModel):
    """One volume, own shapes."""

    def _likeliest(self, squares: Array, weight: Array) -> Array:
        size = geometric_mean(squares)
        return squares / size * (size.sum() / weight.sum())


@dataclass(frozen=True)
class OwnSpectra(SpectrumModel):
    """Own volumes and shapes."""

    def _likeliest(self, squares: Array, weight: Array) -> Array:
        return squares / weight


def fixed_point(step: Callable[[Array], Array], start: Array, settled: float = SETTLED) -> Array:
    """Where step(x) = x > 0, by one step after the other.

    >>> fixed_point(lambda x: 0.5 * (x + 2 / x), np.array([1.0]))
    array([1.41421356])
    """
    last, least, waited = start, inf, 0
    for _ in range(MOST_STEPS):
        before, last = last, step(last)
        changes = np.abs(last - before)
        if (changes <= settled * last).all() or waited == PATIENCE:
            break
        change = float(ratio(changes, last).max())
        least, waited = (change, 0) if change < least else (least, waited + 1)
    return last


def geometric_mean(values: Array) -> Array:
    """(v_1 ... v_p)^(1/p) of each row; (g, p) -> (g, 1)."""
    return np.asarray(np.exp(np.log(values).mean(axis=1, keepdims=True)))
