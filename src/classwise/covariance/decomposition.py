"""Volume, shape and orientation: what classes share of their covariances (Banfield and Raftery 1993).

C_k = λ_k D_k A_k D_k'      λ_k = |C_k|^(1/p), the volume;   A_k diagonal, |A_k| = 1, the shape;   D_k a rotation

Each of the three is every class's own (V), shared (E), or trivial (I: a shape of ones, the axes of the features). 14
combinations are different (Celeux and Govaert 1995): "EII" ... "VVV". In six of them all of a covariance is shared, or
nothing. The other eight are here, each with the covariances of the greatest likelihood, from the class scatters.
"""

from abc import abstractmethod
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from classwise.arrays import Array
from classwise.covariance.axes import common_axes
from classwise.covariance.diagonal import DiagonalCovariance, SphericalCovariance
from classwise.covariance.full import FullCovariance
from classwise.covariance.overall_moments import with_overall_moments
from classwise.covariance.recipe import STRUCTURES, Blend, Divisor, Sharing
from classwise.covariance.spectra import (
    OwnSpectra,
    SharedShape,
    SharedSpectrum,
    SharedVolume,
    SpectrumModel,
    fixed_point,
)
from classwise.covariance.structures import Covariance
from classwise.errors import ClasswiseError
from classwise.statistics import ClassStatistics, Scatter

PARTS = ("volume", "shape", "orientation")
WORDS = {"V": "own", "E": "shared", "I": "trivial"}


def count_parameters(letters: str, classes: int, features: int) -> int:
    """How many numbers the covariances of a structure have: 1 of a volume, p - 1 of a shape, p (p - 1) / 2 of a turn.

    >>> count_parameters("VEV", classes=3, features=4), count_parameters("VVV", classes=3, features=4)
    (24, 30)
    """
    each = (1, features - 1, features * (features - 1) // 2)
    times = {"V": classes, "E": 1, "I": 0}
    return sum(times[letter] * numbers for letter, numbers in zip(letters, each, strict=True))


@dataclass(frozen=True)
class PartlyShared(Sharing):
    """Classes share some of volume, shape and orientation, and not all."""

    letters: str
    spectrum: SpectrumModel

    structure: ClassVar[type[Covariance]] = FullCovariance
    is_linear = False

    # Whether the axes of a shape are turned if a feature is measured in another unit.
    depends_on_units: ClassVar[bool] = False

    def combine(self, structure: type[Covariance], divisor: Divisor, statistics: ClassStatistics) -> Array:
        statistics = with_overall_moments(statistics, structure.apart)
        sums, weight = structure.sums(statistics.moments.scatter, shared=False), divisor.own(statistics)
        needed = self._needed(sums, weight)
        return self.likeliest(sums, weight) if needed is None or structure(needed).is_regular else needed

    @abstractmethod
    def likeliest(self, sums: Array, weight: Array, near: Array | None = None) -> Array:
        """The covariances of the greatest likelihood, from the scatters of the classes, and weights (g, 1).

        near: covariances of similar scatters, for a search that takes long to set out from, and to end earlier.
        """

    def _needed(self, sums: Array, weight: Array) -> Array | None:
        """Covariances that must have an inverse, or there is no greatest likelihood: by default those of each class."""
        return self.structure.divided(sums, weight)

    def weight(self, weight: Array) -> Array:
        return weight

    def constraints(self, statistics: ClassStatistics, standardized: bool) -> int:
        classes, features = len(statistics.labels), statistics.n_features
        every = count_parameters("VVV" if self.structure.correlated else "VVI", classes, features)
        units = features if standardized and self.depends_on_units else 0
        return max(every - count_parameters(self.letters, classes, features) - units, 0)


class AlongFeatures(PartlyShared):
    """VEI and EVI: the axes are those of the features."""

    structure = DiagonalCovariance

    def likeliest(self, sums: Array, weight: Array, near: Array | None = None) -> Array:
        return self.spectrum.variances(sums, weight)

    def _needed(self, sums: Array, weight: Array) -> None:
        return None


class AlongOwnAxes(PartlyShared):
    """EEV and VEV: every class has its own axes, those of its scatter, from the shortest to the longest."""

    depends_on_units = True

    def likeliest(self, sums: Array, weight: Array, near: Array | None = None) -> Array:
        squares, axes = np.linalg.eigh(sums)
        return _rotated(axes, self.spectrum.variances(np.maximum(squares, 0.0), weight))

    def _needed(self, sums: Array, weight: Array) -> Array:
        """One class must vary in all directions, and each in one."""
        squares, axes = np.linalg.eigh(sums)
        if not (squares[:, -1] > 0).all():
            return self.structure.divided(sums, weight)
        return _rotated(axes, SharedSpectrum().variances(np.maximum(squares, 0.0), weight))


class AlongCommonAxes(PartlyShared):
    """EVE and VVE: one set of axes for all classes."""

    depends_on_units = True

    def likeliest(self, sums: Array, weight: Array, near: Array | None = None) -> Array:
        start = None if near is None else np.linalg.eigh(near.sum(axis=0)).eigenvectors
        axes = common_axes(sums, weight, self.spectrum, start)
        squares = np.einsum("ij,kil,lj->kj", axes, sums, axes, optimize=True)
        return _rotated(axes[None], self.spectrum.variances(squares, weight))


class Proportional(PartlyShared):
    """VEE: λ_k C, with λ_k = tr(S_k C^-1) / (p n_k) and C in proportion to sum_k S_k / λ_k, a fixed point.

    In the logs of λ it is a convex problem, so that there is one solution.
    """

    def likeliest(self, sums: Array, weight: Array, near: Array | None = None) -> Array:
        features = sums.shape[1]

        def shared(volume: Array) -> Array:
            whole = (sums / volume).sum(axis=0)
            return np.asarray(whole * np.exp(-2 * FullCovariance(whole[None]).half_log_det[0] / features))

        def volume(shared: Array) -> Array:
            return FullCovariance.ratios(shared[None], sums)[:, :, None] / (features * weight[:, :, None])

        last = fixed_point(lambda before: volume(shared(before)), np.trace(sums, axis1=1, axis2=2)[:, None, None])
        return last * shared(last)

    def _needed(self, sums: Array, weight: Array) -> Array:
        """The classes together must vary in all directions, and each of them in one."""
        if not (np.trace(sums, axis1=1, axis2=2) > 0).all():
            return self.structure.divided(sums, weight)
        return self.structure.divided(sums.sum(axis=0, keepdims=True), weight.sum(keepdims=True))


class EqualVolume(PartlyShared):
    """EVV: λ S_k / |S_k|^(1/p), with λ = sum_k |S_k|^(1/p) / n."""

    def likeliest(self, sums: Array, weight: Array, near: Array | None = None) -> Array:
        size = np.exp(2 * FullCovariance(sums).half_log_det / sums.shape[1])[:, None, None]
        return sums / size * (size.sum() / weight.sum())


def _rotated(axes: Array, variances: Array) -> Array:
    """D_k diag(v_k) D_k'; (g, p, p), (g, p) -> (g, p, p)."""
    return np.asarray((axes * variances[:, None, :]) @ axes.transpose(0, 2, 1))


# ----------------------------------------------------------------------------------------------------------------------
# The 14 structures, by name.


@dataclass(frozen=True)
class Decomposition:
    """Three letters, and what they come to: a structure of covariances, and how classes share them.

    >>> DECOMPOSITIONS["VEV"].words
    'own volume, shared shape, own orientation'
    """

    letters: str
    structure: type[Covariance]
    sharing: Blend | PartlyShared

    def likeliest(self, scatter: Scatter, weight: Array, near: Covariance | None = None) -> Covariance:
        """The covariances of the greatest likelihood, from scatters that have inverses and weights (g, 1).

        near: as for `PartlyShared.likeliest`.
        """
        if isinstance(self.sharing, PartlyShared):
            sums, start = self.structure.sums(scatter, shared=False), None if near is None else near.matrices()
            return self.structure(self.sharing.likeliest(sums, weight, start))
        shared = self.sharing.share == 1
        divisor = weight.sum(keepdims=True) if shared else weight
        return self.structure(self.structure.divided(self.structure.sums(scatter, shared), divisor))

    @property
    def words(self) -> str:
        """The same in words, without what is trivial."""
        pairs = zip(self.letters, PARTS, strict=True)
        return ", ".join(f"{WORDS[letter]} {part}" for letter, part in pairs if letter != "I")


# From the simplest to the richest.
_FOURTEEN = (
    Decomposition("EII", SphericalCovariance, Blend(1.0)),
    Decomposition("VII", SphericalCovariance, Blend(0.0)),
    Decomposition("EEI", DiagonalCovariance, Blend(1.0)),
    Decomposition("VEI", DiagonalCovariance, AlongFeatures("VEI", SharedShape())),
    Decomposition("EVI", DiagonalCovariance, AlongFeatures("EVI", SharedVolume())),
    Decomposition("VVI", DiagonalCovariance, Blend(0.0)),
    Decomposition("EEE", FullCovariance, Blend(1.0)),
    Decomposition("VEE", FullCovariance, Proportional("VEE", SharedShape())),
    Decomposition("EVE", FullCovariance, AlongCommonAxes("EVE", SharedVolume())),
    Decomposition("VVE", FullCovariance, AlongCommonAxes("VVE", OwnSpectra())),
    Decomposition("EEV", FullCovariance, AlongOwnAxes("EEV", SharedSpectrum())),
    Decomposition("VEV", FullCovariance, AlongOwnAxes("VEV", SharedShape())),
    Decomposition("EVV", FullCovariance, EqualVolume("EVV", SharedVolume())),
    Decomposition("VVV", FullCovariance, Blend(0.0)),
)

DECOMPOSITIONS: dict[str, Decomposition] = {each.letters: each for each in _FOURTEEN}
_SPELLED = {each.words: each.letters for each in _FOURTEEN}


def read_structure(structure: Any) -> type[Covariance] | Decomposition:
    """structure: "full", "diagonal" or "spherical", three letters, or the same in words, in any order.

    >>> read_structure("shared shape, own volume").letters
    'VEI'
    """
    if isinstance(structure, str):
        found = STRUCTURES.get(structure) or DECOMPOSITIONS.get(in_letters(structure))
        if found is not None:
            return found
    raise ClasswiseError(
        f"structure={structure!r} is not an option; choose 'full', 'diagonal' or 'spherical', three letters "
        f"({', '.join(DECOMPOSITIONS)}) or words such as 'own volume, shared shape, own orientation', or leave the "
        "choice to 'bic' or 'cv'."
    )


def in_letters(structure: str) -> str:
    """Words for a structure as its three letters; anything else as it is."""
    return _SPELLED.get(_in_order(structure), structure)


def _in_order(words: str) -> str:
    """Words for parts in the order volume, shape, orientation, without those that are trivial."""
    parts = [part.strip() for part in words.split(",")]
    kept = [part for part in parts if not part.startswith(f"{WORDS['I']} ")]
    places = {f"{word} {part}": place for place, part in enumerate(PARTS) for word in WORDS.values()}
    twice = any(places.get(a) == places.get(b) for a, b in combinations(parts, 2))
    return "" if twice else ", ".join(sorted(kept, key=lambda part: places.get(part, len(PARTS))))
