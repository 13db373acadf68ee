"""High-dimensional discriminant analysis (Bouveyron, Girard and Schmid 2007): each class in a subspace of its own.

    C_k = Q_k diag(a_k1, ..., a_kd, b_k, ..., b_k) Q_k'

By maximum likelihood Q_k and a_kj are the first eigenvectors and eigenvalues of the covariance S_k / n_k, and b_k is
the mean of the others:  b_k = (tr S_k / n_k - sum of a_kj) / (p - d_k). Variances, noise and dimension may each be
common to all classes, and so may Q. Eigenvectors come from a scatter (p, p), or from the rows of a class (n_k, p),
whose singular vectors they are: then nothing is of size p x p.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from classwise.arrays import EPS, Array, Codes
from classwise.covariance import Completion, DiagonalCovariance, GaussianParameters, complete_by
from classwise.covariance.subspace import SubspaceCovariance
from classwise.densities.gaussian import Gaussian
from classwise.densities.numbers import NumbersFit, believe
from classwise.errors import ClasswiseError, SingularCovarianceError
from classwise.statistics import ClassStatistics, DiagonalScatter, FullScatter, PooledScatter, Scatter


class EigenSpectrum(NamedTuple):
    """Eigenvalues (r,), the largest first, and eigenvectors (p, r) of a covariance; weight: of its rows; name: of its
    class, for errors.
    """

    values: Array
    vectors: Array
    weight: float
    name: str

    @classmethod
    def of_scatter(cls, scatter: Array, weight: float, name: str) -> Self:
        values, vectors = np.linalg.eigh(scatter / weight)
        return cls(*_above_rounding(values[::-1], vectors[:, ::-1]), weight, name)

    @classmethod
    def of_rows(cls, away: Array, weights: Array, name: str) -> Self:
        """away (m, p): rows less the mean of their class."""
        weight = float(weights.sum())
        _, roots, vectors = np.linalg.svd(np.sqrt(weights / weight)[:, None] * away, full_matrices=False)
        return cls(*_above_rounding(roots**2, vectors.T), weight, name)

    @property
    def features(self) -> int:
        return len(self.vectors)

    @property
    def most(self) -> int:
        """The most directions that leave some variance for the noise."""
        return max(min(len(self.values), self.features) - 1, 0)


def _above_rounding(values: Array, vectors: Array) -> tuple[Array, Array]:
    """Only what is not rounding: rows span no more directions than there are rows."""
    rank = int((values > 10 * len(vectors) * EPS * max(values.max(initial=0.0), 0.0)).sum())
    return values[:rank], vectors[:, :rank]


# ----------------------------------------------------------------------------------------------------------------------
# How many directions: a rule for each spectrum, or for all of them together.


class Dimension(Protocol):
    """A rule for the number of directions."""

    def own(self, spectrum: EigenSpectrum) -> int:
        """Of one class."""
        ...

    def common(self, spectra: Sequence[EigenSpectrum]) -> int:
        """One number for all classes."""
        ...


def _with_directions(spectra: Sequence[EigenSpectrum]) -> tuple[list[EigenSpectrum], int]:
    """The spectra that have directions, and how many they all can have. A class of one or two rows has none, and keeps
    no other from having some.
    """
    some = [spectrum for spectrum in spectra if spectrum.most]
    return some, min((spectrum.most for spectrum in some), default=0)


@dataclass(frozen=True)
class Given:
    """A given number."""

    count: int

    def own(self, spectrum: EigenSpectrum) -> int:
        if self.count >= spectrum.features:
            raise ClasswiseError(
                f"dimension={self.count} is too much for {spectrum.features} columns: at most {spectrum.features - 1} "
                "directions leave some variance for the noise. Give a smaller dimension, or 'scree' or 'bic'."
            )
        return min(self.count, spectrum.most)

    def common(self, spectra: Sequence[EigenSpectrum]) -> int:
        return max(map(self.own, spectra))


@dataclass(frozen=True)
class Scree:
    """Cattell's scree test: the last drop between eigenvalues that is at least a part of the largest drop."""

    threshold: float

    def own(self, spectrum: EigenSpectrum) -> int:
        return self._last(spectrum.values[: spectrum.most + 1])

    def common(self, spectra: Sequence[EigenSpectrum]) -> int:
        """Of the mean of the eigenvalues."""
        some, most = _with_directions(spectra)
        values = np.array([spectrum.values[: most + 1] for spectrum in some])
        return self._last(np.average(values, axis=0, weights=[spectrum.weight for spectrum in some])) if some else 0

    def _last(self, values: Array) -> int:
        drops = -np.diff(values)
        return int(np.flatnonzero(drops >= self.threshold * drops.max())[-1]) + 1 if len(drops) else 0


class LeastBic:
    """The number at the first minimum of the Bayesian information criterion, -2 log L + (numbers estimated) log n.

    The first, as in HDclassif: where rows are fewer than columns, the likelihood of the last directions, which leave
    hardly any noise, is without bounds.
    """

    def own(self, spectrum: EigenSpectrum) -> int:
        return self._first(self._criteria(spectrum))

    def common(self, spectra: Sequence[EigenSpectrum]) -> int:
        """Of the sum of the criteria."""
        some, most = _with_directions(spectra)
        return self._first(np.sum([self._criteria(spectrum)[: most + 1] for spectrum in some], axis=0)) if some else 0

    def _first(self, criteria: Array) -> int:
        """The least number from which one more makes it worse."""
        worse = np.append(np.diff(criteria) >= 0, True)
        return int(np.argmax(worse))

    def _criteria(self, spectrum: EigenSpectrum) -> Array:
        """Of 0 to the most directions, except for what is the same in all."""
        most = spectrum.most
        count, p = np.arange(most + 1), spectrum.features
        along = np.concatenate([[0.0], np.cumsum(np.log(spectrum.values[:most]))])
        rest = np.cumsum(spectrum.values[::-1])[::-1][: most + 1]
        log_det = along + (p - count) * np.log(rest / (p - count))
        numbers = count * (p - (count + 1) / 2) + count + 1
        return np.asarray(spectrum.weight * log_det + numbers * np.log(spectrum.weight))


# ----------------------------------------------------------------------------------------------------------------------
# The models: what is a class's own.


@dataclass(frozen=True)
class SubspaceModel:
    """What is a class's own, and what is common. variances: "kj" (of each class and direction), "k" (of each class) or
    "" (one). noise, dimension, directions: whether each class has its own.
    """

    variances: str
    noise: bool
    dimension: bool
    directions: bool = True

    def covariance(self, spectra: Sequence[EigenSpectrum], rule: Dimension) -> SubspaceCovariance:
        """The likeliest covariances of the model."""
        counts = self._counts(spectra, rule)
        noise = self._noise(spectra, counts)
        values = np.zeros((len(spectra), spectra[0].features, max(int(counts.max()), 1)))
        spread = np.repeat(noise[:, None], values.shape[2], axis=1)
        for k, (spectrum, d) in enumerate(zip(spectra, counts.tolist(), strict=True)):
            values[k, :, :d] = spectrum.vectors[:, :d]
            spread[k, :d] = self._variances(spectrum.values[:d])
        if not self.variances:
            spread = np.where(np.arange(values.shape[2]) < counts[:, None], self._one(spectra, counts), spread)
        return SubspaceCovariance(values, self._constraints(counts), spread=spread, noise=noise)

    def _counts(self, spectra: Sequence[EigenSpectrum], rule: Dimension) -> Codes:
        """How many directions each class has: where their number is common, fewer if its rows are too few."""
        if self.dimension:
            return np.array([rule.own(spectrum) for spectrum in spectra])
        return np.minimum(rule.common(spectra), [spectrum.most for spectrum in spectra])

    def _variances(self, values: Array) -> Array:
        return values if self.variances == "kj" or not len(values) else np.full_like(values, values.mean())

    def _one(self, spectra: Sequence[EigenSpectrum], counts: Codes) -> float:
        """The variance along all directions of all classes."""
        pairs = list(zip(spectra, counts.tolist(), strict=True))
        total = sum(spectrum.weight * d for spectrum, d in pairs)
        return float(sum(spectrum.weight * spectrum.values[:d].sum() for spectrum, d in pairs) / max(total, EPS))

    def _noise(self, spectra: Sequence[EigenSpectrum], counts: Codes) -> Array:
        weight = np.array([spectrum.weight for spectrum in spectra])
        rest = np.array([spectrum.values[d:].sum() for spectrum, d in zip(spectra, counts.tolist(), strict=True)])
        left = spectra[0].features - counts
        if not self.noise:
            rest, left = (np.full(len(weight), weight @ of / weight.sum()) for of in (rest, left))
        for spectrum, of in zip(spectra, rest.tolist(), strict=True):
            _refuse_noiseless(spectrum, of)
        return np.asarray(rest / left)

    def _constraints(self, counts: Codes) -> int:
        """How many variances, and noises, follow from the others."""
        total, classes = int(counts.sum()), int((counts > 0).sum())
        variances = {"kj": 0, "k": total - classes, "": max(total - 1, 0)}[self.variances]
        return variances + (0 if self.noise else len(counts) - 1)


def _refuse_noiseless(spectrum: EigenSpectrum, rest: float) -> None:
    if not rest > 0:
        raise SingularCovarianceError(
            f"No variance is left for the noise of {spectrum.name}, which has weight {spectrum.weight:g}: its rows are "
            "all equal, or a single one. Add rows that differ, or give all classes the same noise, as in "
            "model='AkjBQkDk'."
        )


def read_models() -> dict[str, SubspaceModel]:
    """The 14 models under the names of HDclassif: A, B, Q and D with a k are a class's own, and without are common."""
    own = {
        f"A{a}B{b}QkD{d}": SubspaceModel(a, bool(b), bool(d))
        for d in ("k", "")
        for b in ("k", "")
        for a in ("kj", "k", "")
    }
    return own | {
        "AjBQD": SubspaceModel("kj", False, False, directions=False),
        "ABQD": SubspaceModel("k", False, False, directions=False),
    }


MODELS = read_models()


# ----------------------------------------------------------------------------------------------------------------------
# From statistics, or from rows, to densities.


@dataclass(frozen=True)
class Subspaces:
    """Gaussians in subspaces. by_rows: eigenvectors come from the rows, and statistics are those of each column."""

    model: SubspaceModel
    rule: Dimension
    tol: float
    by_rows: bool = False

    is_bayes = False
    keeps_constants = False
    keeps_copies = True
    needs_quartics = False

    @property
    def form(self) -> type[Scatter]:
        if self.by_rows:
            return DiagonalScatter
        return FullScatter if self.model.directions else PooledScatter

    def joint(self, statistics: ClassStatistics) -> NumbersFit:
        completion = complete_by(statistics, self._parameters, self.tol)
        remarks = [] if completion.converged else [f"stopped EM for missing values early: {completion}"]
        full = completion.statistics
        found: Completion | None = completion if completion.iterations else None
        return NumbersFit(Gaussian(full.mean, self._covariance(full)), remarks, found)

    def _parameters(self, full: ClassStatistics) -> GaussianParameters:
        return GaussianParameters(full.mean, self._covariance(full).matrices())

    def _covariance(self, statistics: ClassStatistics) -> SubspaceCovariance:
        moments = statistics.denoised().moments
        weight = moments.weight[:, 0]
        if not self.model.directions:
            pooled = EigenSpectrum.of_scatter(moments.scatter.pooled(), float(weight.sum()), "the classes together")
            return self.model.covariance([pooled], self.rule)
        parts = zip(moments.scatter.by_class(), weight.tolist(), _names(statistics), strict=True)
        return self.model.covariance([EigenSpectrum.of_scatter(*part) for part in parts], self.rule)

    def of_rows(self, statistics: ClassStatistics, rows: Array, codes: Codes, weights: Array) -> NumbersFit:
        """The same from rows without gaps (n, p), their classes (n,) and weights (n,); statistics: of each column."""
        means = statistics.mean
        if not self.model.directions:
            pooled = EigenSpectrum.of_rows(rows - means[codes], weights, "the classes together")
            return NumbersFit(Gaussian(means, self.model.covariance([pooled], self.rule)))
        spectra = []
        for k, name in enumerate(_names(statistics)):
            own = np.flatnonzero(codes == k)
            spectra.append(EigenSpectrum.of_rows(rows[own] - means[k], weights[own], name))
        return NumbersFit(Gaussian(means, self.model.covariance(spectra, self.rule)))

    def alone(self, statistics: ClassStatistics) -> NumbersFit:
        return believe(statistics, DiagonalCovariance, False, "weak")

    def roughly(self) -> Self:
        return replace(self, tol=max(self.tol, 1e-8))

    def starting_at(self, start: Any) -> Self:
        return self

    def removal(self) -> None:
        return None


def _names(statistics: ClassStatistics) -> list[str]:
    return [f"class {label!r}" for label in statistics.labels.tolist()]
