"""Axes that classes have in common: the rotation D under which their scatters have the greatest likelihood.

Along the axes, scatter S_k has the squares s_kj = (D' S_k D)_jj, and variances v_kj follow from them (spectra.py). What
is left of the likelihood is to be made small:

    F(D) = sum_kj n_k log v_kj;   dF = sum_kj ds_kj / v_kj, because the variances are already the best

With D (I - K/2)^-1 (I + K/2), K skew (Cayley), every rotation near D is a point of a plane, in which a quasi-Newton
method (L-BFGS) walks. Own variances make these the common principal components of Flury (1984). F may have several
minima: axes of the pooled scatter, of the columns and of the classes are starts.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import minimize

from classwise.arrays import Array, Codes
from classwise.covariance.spectra import SpectrumModel

# This many of the starts are followed, those of the greatest likelihood; the best of them is followed to its end.
FOLLOWED = 4
FIRST_STEPS = 60
FEW_STEPS = 10
MOST_STEPS = 500

# The plane is laid anew at the rotation found, so often at most, until that gains less than this of F.
MOST_PLANES = 20
LITTLE = 1e-13

# Newton's method goes on where F itself has no more digits: its steps, the pairs of axes that it is for, the angle by
# which the gradient is differentiated, and what is left to gain for each row where it ends.
MOST_NEWTON = 8
MOST_PAIRS = 200
SMALL_ANGLE = 1e-5
ENDED = 1e-28

# Where two axes are alike, any rotation of them does: what keeps their curvature from zero, for each row.
LEAST_CURVATURE = 1e-3


def common_axes(scatters: Array, weight: Array, spectrum: SpectrumModel, near: Array | None = None) -> Array:
    """D, one axis in each column, from scatters (g, p, p) and weights (g, 1); (p, p).

    near: axes that are good already, from which a few steps suffice.
    """
    if near is not None and len(near) > 1:
        return _in_plane(RotatedScatters(scatters, weight, spectrum, near), FEW_STEPS).axes
    starts = sorted(
        (RotatedScatters(scatters, weight, spectrum, axes) for axes in _starts(scatters, weight)), key=_height
    )
    if scatters.shape[1] == 1:
        return starts[0].axes
    begun = min((_in_plane(start, FIRST_STEPS) for start in starts[:FOLLOWED]), key=_height)
    return _polished(_descended(begun)).axes


def _starts(scatters: Array, weight: Array) -> list[Array]:
    total = np.trace(scatters, axis1=1, axis2=2)[:, None, None]
    mixed = [scatters.sum(axis=0), (scatters * weight[:, :, None] / total).sum(axis=0), *scatters]
    return [np.eye(scatters.shape[1]), *(np.linalg.eigh(matrix).eigenvectors for matrix in mixed)]


@dataclass(frozen=True, eq=False)
class RotatedScatters:
    """Scatters, seen along some axes."""

    scatters: Array
    weight: Array
    spectrum: SpectrumModel
    axes: Array

    def along(self, axes: Array) -> "RotatedScatters":
        """The same along others."""
        return RotatedScatters(self.scatters, self.weight, self.spectrum, axes)

    def rotated(self, angles: Array) -> "RotatedScatters":
        """The same along axes rotated by an angle for each pair."""
        return self.along(self.axes @ _cayley(angles, self)[1])

    @cached_property
    def sides(self) -> Array:
        """S_k D; (g, p, p)."""
        return np.asarray(self.scatters @ self.axes)

    @cached_property
    def squares(self) -> Array:
        """s; (g, p)."""
        return np.asarray((self.axes * self.sides).sum(axis=1))

    @cached_property
    def variances(self) -> Array:
        """v; (g, p)."""
        return self.spectrum.variances(self.squares, self.weight)

    @cached_property
    def height(self) -> float:
        """F."""
        return float((self.weight * np.log(self.variances)).sum())

    @cached_property
    def slope(self) -> Array:
        """D' dF/dD, the derivative by D where D may be any matrix; (p, p)."""
        return 2 * np.asarray(self.axes.T @ (self.sides / self.variances[:, None, :]).sum(axis=0))

    @cached_property
    def gradient(self) -> Array:
        """By the angles of all pairs of axes (i, j), i < j."""
        return (self.slope - self.slope.T)[self.pairs]

    @cached_property
    def pairs(self) -> tuple[Codes, Codes]:
        return np.triu_indices(len(self.axes), 1)

    @cached_property
    def curvature(self) -> Array:
        """Of F by the angle of each pair, with the variances as they are."""
        first, second = self.pairs
        rates = 1 / self.variances
        found = 2 * ((self.squares[:, first] - self.squares[:, second]) * (rates[:, second] - rates[:, first])).sum(0)
        return np.maximum(found, LEAST_CURVATURE * self.weight.sum())


def _height(rotated: RotatedScatters) -> float:
    return rotated.height


def _descended(here: RotatedScatters) -> RotatedScatters:
    """Where F is least, near a start."""
    for _ in range(MOST_PLANES):
        before, here = here, _in_plane(here, MOST_STEPS)
        if before.height - here.height <= LITTLE * abs(here.height):
            break
    return here


def _in_plane(center: RotatedScatters, steps: int) -> RotatedScatters:
    """The least F among rotations near a center, after `steps` steps, or the center; in units of its curvature."""
    unit = 1 / np.sqrt(center.curvature)

    def height_and_gradient(angles: Array) -> tuple[float, Array]:
        inverse, rotation = _cayley(angles * unit, center)
        there = center.along(center.axes @ rotation)
        slope = inverse.T @ (rotation @ there.slope) @ (np.eye(len(rotation)) + rotation).T / 2
        return there.height - center.height, (slope - slope.T)[center.pairs] * unit

    options = {"maxiter": steps, "maxfun": 2 * steps}
    found = minimize(height_and_gradient, np.zeros(len(unit)), jac=True, method="L-BFGS-B", options=options)
    there = center.rotated(found.x * unit)
    return there if there.height <= center.height else center


def _polished(here: RotatedScatters) -> RotatedScatters:
    """Newton's steps, as long as the gradient gets smaller."""
    if len(here.pairs[0]) > MOST_PAIRS:
        return here
    for _ in range(MOST_NEWTON):
        there = here.rotated(-_solved(here))
        if not _steepness(there) < _steepness(here):
            break
        here = there
        if _steepness(here) <= ENDED * here.weight.sum():
            break
    return here


def _solved(here: RotatedScatters) -> Array:
    """H^-1 g, with the second derivatives H from differences of the gradient g."""
    unit = 1 / np.sqrt(here.curvature)
    steps = SMALL_ANGLE * np.diag(unit)
    ahead, back = (np.array([here.rotated(sign * step).gradient for step in steps]) for sign in (1, -1))
    second = (ahead - back) * unit / (2 * SMALL_ANGLE)
    return unit * np.linalg.lstsq((second + second.T) / 2, unit * here.gradient, rcond=1e-9)[0]


def _steepness(rotated: RotatedScatters) -> float:
    return float((rotated.gradient**2 / rotated.curvature).sum())


def _cayley(angles: Array, here: RotatedScatters) -> tuple[Array, Array]:
    """(I - K/2)^-1, and the rotation (I - K/2)^-1 (I + K/2), for the angles of all pairs of axes."""
    half, one = np.zeros(here.axes.shape), np.eye(len(here.axes))
    half[here.pairs] = angles / 2
    half -= half.T
    inverse = np.asarray(np.linalg.inv(one - half), dtype=np.float64)
    return inverse, np.asarray(inverse @ (one + half))
