"""Covariances of low rank plus noise: d directions of a class's own variance, and one variance in all others.

    C = Q diag(a) Q' + b (I - Q Q'),   Q (p, d) with orthonormal columns

    x' C^-1 x = sum over j of (q_j'x)² / a_j + |x - Q Q'x|² / b,   log|C| = sum of log a_j + (p - d) log b

Nothing here is of size p x p, so that time and memory are p d. A class with fewer directions than others has columns of
zeros in Q and b in a: they change nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np

from classwise import limits
from classwise.arrays import Array, Codes, product, row_norms
from classwise.covariance.exponents import Exponents
from classwise.covariance.full import FullCovariance
from classwise.covariance.structures import Covariance
from classwise.errors import NotAvailableError
from classwise.kernels.scores import Scores
from classwise.statistics import Scatter
from classwise.storage import stored


@stored("SubspaceCovariance")
@dataclass(frozen=True, eq=False)
class SubspaceCovariance(Covariance):
    """values (k, p, d): Q of each covariance; spread (k, d): a; noise (k,): b."""

    spread: Array = field(kw_only=True)
    noise: Array = field(kw_only=True)

    name = "subspace"
    correlated = True

    def _is_sound(self) -> bool:
        count, _, directions = self.values.shape
        shaped = self.spread.shape == (count, directions) and self.noise.shape == (count,)
        if not shaped or not (self.spread > 0).all() or not (self.noise > 0).all():
            return False
        used = self.spread != self.noise[:, None]
        products = np.swapaxes(self.values, 1, 2) @ self.values
        is_zero = ~(used[:, :, None] & used[:, None, :])
        return bool((np.abs(np.where(is_zero, 0.0, products - np.eye(directions))) < 1e-8).all())

    @property
    def _features(self) -> int:
        return self.values.shape[1]

    @cached_property
    def dimensions(self) -> Codes:
        """d of each covariance; (k,)."""
        return np.asarray(np.any(self.values, axis=1).sum(axis=1))

    # Estimating is by `densities.subspace`; what a scatter is to the likelihood is the same as for full covariances.

    @staticmethod
    def scatter_form(shared: bool) -> type[Scatter]:
        return FullCovariance.scatter_form(shared)

    @staticmethod
    def sums(scatter: Scatter, shared: bool) -> Array:
        return FullCovariance.sums(scatter, shared)

    @staticmethod
    def divided(sums: Array, divisor: Array) -> Array:
        return FullCovariance.divided(sums, divisor)

    def traces(self, matrices: Array) -> Array:
        along = np.einsum("kpd,kpq,kqd->kd", self.values, matrices, self.values)
        own = (along * (1 / self.spread - 1 / self.noise[:, None])).sum(axis=1)
        return np.asarray(own + np.trace(matrices, axis1=1, axis2=2) / self.noise)

    def _size(self) -> int:
        """Orientations, variances and noise, where each covariance has its own."""
        d = self.dimensions
        return int((d * (self._features - (d + 1) / 2)).sum() + d.sum()) + len(d)

    def restrict(self, columns: Sequence[int] | Codes) -> Self:
        """With R from the factors of the rows of Q: Q_o diag(a - b) Q_o' = U R diag(a - b) R' U' is of rank d again."""
        kept = [self._restricted(k, columns) for k in range(len(self.values))]
        values, spread = np.stack([q for q, _ in kept]), np.stack([a for _, a in kept])
        return type(self)(values, spread=spread, noise=self.noise)

    def _restricted(self, k: int, columns: Sequence[int] | Codes) -> tuple[Array, Array]:
        basis, rotation = np.linalg.qr(self.values[k][columns])
        more, vectors = np.linalg.eigh(product(rotation * (self.spread[k] - self.noise[k]), rotation.T))
        spread = self.noise[k] + more
        used = np.abs(more) > 1e-12 * self.noise[k]
        return product(basis, vectors) * used, np.where(used, spread, self.noise[k])

    def variances(self) -> Array:
        more = (self.spread - self.noise[:, None])[:, None, :]
        return np.asarray((self.values**2 * more).sum(axis=2) + self.noise[:, None])

    def matrices(self) -> Array:
        self._refuse_large()
        more = (self.spread - self.noise[:, None])[:, None, :]
        return (self.values * more) @ np.swapaxes(self.values, 1, 2) + self.noise[:, None, None] * np.eye(
            self._features
        )

    def _refuse_large(self) -> None:
        if self._features > limits.MOST_MATRIX_COLUMNS:
            raise NotAvailableError(
                f"The covariance matrices of {self._features} columns are too large: this takes at most "
                f"{limits.MOST_MATRIX_COLUMNS} columns. gaussian_.covariance has their parts: values (directions), "
                "spread (variances along them) and noise."
            )

    def shrunk(self, amount: Array) -> Self:
        level = self.variances().mean(axis=1)
        spread = (1 - amount[:, None]) * self.spread + (amount * level)[:, None]
        return replace(self, spread=spread, noise=(1 - amount) * self.noise + amount * level)

    def scaled(self, scale: Array) -> Covariance:
        return FullCovariance(self.matrices()).scaled(scale)

    @cached_property
    def half_log_det(self) -> Array:
        logs = np.log(self.spread) - np.log(self.noise)[:, None]
        return np.asarray(0.5 * (logs.sum(axis=1) + self._features * np.log(self.noise)))

    def whiten(self, rows: Array, k: int) -> Array:
        """By the symmetric root: z = x / √b + Q (1 / √a - 1 / √b) Q'x."""
        return self._changed(rows, self.spread[k] ** -0.5, self.noise[k] ** -0.5, k)

    def _changed(self, rows: Array, along: Array, elsewhere: float, k: int) -> Array:
        """Rows times `along` in the directions, and times `elsewhere` in all others."""
        rotated = product(rows, self.values[k])
        return elsewhere * (rows - product(rotated, self.values[k].T)) + product(rotated * along, self.values[k].T)

    def project(self, basis: Array, k: int) -> Array:
        if basis.shape[1] >= self._features:
            self._refuse_large()
        return self.whiten(basis.T, k).T

    def precisions(self, k: int) -> Array:
        less = 1 / self.spread[k] - 1 / self.noise[k]
        return np.asarray(product(self.values[k] ** 2, less) + 1 / self.noise[k])

    def color(self, noise: Array, k: int) -> Array:
        return self._changed(noise, self.spread[k] ** 0.5, self.noise[k] ** 0.5, k)

    def reach(self, point: Array) -> float:
        least = min(float(self.spread.min()), float(self.noise.min()))
        return float(np.sqrt(row_norms(point[None])[0] / least))

    def eigen(self) -> tuple[Array, Array]:
        values, vectors = np.linalg.eigh(self.matrices())
        return values, vectors

    def own_exponents(self, means: Array) -> Exponents:
        return OwnSubspace(means, self)

    # There is no conjugate prior ------------------------------------------------------------------------------------

    @staticmethod
    def prior_scale(matrix: Array) -> Array:
        raise _no_prior()

    @classmethod
    def log_dets(cls, scale: Array) -> Array:
        raise _no_prior()

    @classmethod
    def ratios(cls, scale: Array, change: Array) -> Array:
        raise _no_prior()

    def without(self, z: Array, d: Array, b: float) -> tuple[Array, Array]:
        raise _no_prior()


def _no_prior() -> NotAvailableError:
    return NotAvailableError("Subspace covariances have no conjugate prior; use structure='full' for estimate='bayes'.")


@dataclass(frozen=True, eq=False)
class OwnSubspace(Exponents):
    """A subspace of its own for each class; means (g, p)."""

    means: Array
    covariance: SubspaceCovariance

    @property
    def width(self) -> int:
        return 2 * self.means.shape[1] + len(self.means)

    def relative(self, rows: Array, offset: Array) -> Array:
        return np.stack([self._of_class(rows, k) for k in range(len(self.means))]) + offset

    def _of_class(self, rows: Array, k: int) -> Array:
        """The part along the directions and the rest by themselves: their difference from |x|² would cost digits."""
        away, basis = rows - self.means[k], self.covariance.values[k]
        rotated = product(away, basis)
        away -= product(rotated, basis.T)
        along = rotated / np.sqrt(self.covariance.spread[k])
        return -0.5 * (row_norms(along) + row_norms(away) / self.covariance.noise[k])

    def scores(self, origin: Array, offset: Array) -> Scores | None:
        return None

    def common(self, rows: Array) -> float:
        return 0.0
