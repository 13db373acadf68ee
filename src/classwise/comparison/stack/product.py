"""The product of members: a geometric mean of their posteriors, with exponents that are fitted to held-out rows.

    G(k | x) ~ product over members i of P_i(k | x)^a_i,    where no P_i is taken to be below exp(LEAST)

It is sharper than a mixture where members agree, and an exponent may be negative: a member then corrects another one.
log G is linear in the logs of the members, so the loss is convex (McFadden 1974, the conditional logit), and Newton's
method finds its minimum in a few steps. A ridge penalty holds the exponents near the weights of the mixture.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from classwise.arrays import Array, Codes, log_normalize
from classwise.storage import stored

# The least log posterior of a member, so that one member alone does not rule a class out.
LEAST = -20.0

# The ridge penalty: half of it times the squared distance from the weights of the mixture.
RIDGE = 30.0

# Newton's method ends when a step lowers the loss by less than this share, or after so many steps; a step that raises
# the loss is halved so often at most.
NEAR = 1e-6
MOST_STEPS = 20
MOST_HALVINGS = 10


@stored("MemberProduct")
@dataclass(frozen=True, eq=False)
class MemberProduct:
    """exponents (k,): of the members; share: of the product beside the mixture, above 0 and below 1."""

    exponents: Array
    share: float

    def _is_sound(self) -> bool:
        return self.exponents.ndim == 1 and 0 < self.share < 1

    def of_members(self, members: Codes) -> "MemberProduct":
        """The same product, of some members alone."""
        return MemberProduct(self.exponents[members], self.share)

    def beside(self, mixture: Array, members: Array) -> Array:
        """log((1 - share) mixture + share G), from log posteriors; (n, g), (k, n, g) -> (n, g)."""
        own = product_of(np.moveaxis(members, 0, -1), self.exponents)
        return np.logaddexp(np.log1p(-self.share) + mixture, np.log(self.share) + own)


def product_of(members: Array, exponents: Array) -> Array:
    """log G(k | x); (n, g, k), (k,) -> (n, g)."""
    return log_normalize(np.maximum(members, LEAST) @ exponents, 1)


@dataclass(frozen=True, eq=False)
class ProductRows:
    """Rows to fit exponents to: log posteriors of the members (n, g, k), classes and weights (n,); prior (k,): the
    exponents that the ridge holds them near.
    """

    members: Array
    codes: Codes
    weights: Array
    prior: Array

    @classmethod
    def of(cls, members: Array, codes: Codes, weights: Array, prior: Array) -> Self:
        return cls(np.ascontiguousarray(np.maximum(members, LEAST)), codes, weights, prior)

    def fit(self, start: Array | None = None) -> Array:
        """The exponents with the least penalized loss; start (k,): near them, if known."""
        exponents = self.prior if start is None else start
        loss = self._loss(exponents)
        for _ in range(MOST_STEPS):
            moved, lost = self._moved(exponents, loss)
            done = loss - lost <= NEAR * abs(loss)
            exponents, loss = moved, lost
            if done:
                break
        return exponents

    def out_of_fold(self, folds: Codes, start: Array) -> Array:
        """log G of each row, with exponents that are fitted without its fold; (n, g)."""
        logs = np.empty(self.members.shape[:2])
        for fold in np.unique(folds):
            own = folds == fold
            training = ProductRows(self.members[~own], self.codes[~own], self.weights[~own], self.prior)
            logs[own] = product_of(self.members[own], training.fit(start))
        return logs

    def _moved(self, exponents: Array, loss: float) -> tuple[Array, float]:
        """The exponents after a Newton step, and their loss; unchanged where no step lowers it."""
        step = self._step(exponents)
        for halvings in range(MOST_HALVINGS):
            moved = exponents - 0.5**halvings * step
            lost = self._loss(moved)
            if lost <= loss:
                return moved, lost
        return exponents, loss

    def _loss(self, exponents: Array) -> float:
        own = product_of(self.members, exponents)[np.arange(len(self.codes)), self.codes]
        apart = exponents - self.prior
        return -float(self.weights @ own) + RIDGE / 2 * float(apart @ apart)

    def _step(self, exponents: Array) -> Array:
        """Hessian^(-1) gradient: the weighted covariance of the members' logs, and their mean less those of the own
        class, over the classes of each row.
        """
        posterior = np.exp(product_of(self.members, exponents))
        mean = np.einsum("ng,ngk->nk", posterior, self.members)
        own = self.members[np.arange(len(self.codes)), self.codes]
        flat = self.members.reshape(-1, len(exponents))
        squares = flat.T @ (flat * (posterior * self.weights[:, None]).reshape(-1, 1))
        curvature = squares - mean.T @ (mean * self.weights[:, None]) + RIDGE * np.eye(len(exponents))
        return np.linalg.solve(curvature, self.weights @ (mean - own) + RIDGE * (exponents - self.prior))
