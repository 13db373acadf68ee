"""The pool of a stack: a mixture of the members' posteriors, each with its temperature, beside a product of them; and a
temperature of the whole.

    Q_i(k | x) = P_i(k | x)^b_i / Z_i(x)
    P(k | x) ~ ((1 - share) sum over members i of w_i Q_i(k | x)  +  share product over i of Q_i(k | x)^a_i / Z(x))^b

The powers b are 1 / temperature. Powers, weights and the share maximize the probability of the classes of held-out
rows, under weak priors: powers near 1, and equal weights that count for one row. EM finds weights and share; it climbs
the concave log likelihood of a mixture with fixed components. `product` has the exponents a.

When the time limit has passed, powers that are not yet fitted stay 1, EM stops, and there is no product.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np

from classwise.arrays import Array, Codes, log_normalize
from classwise.comparison.stack.product import MemberProduct, ProductRows
from classwise.engines.progress import Deadline
from classwise.selection import OutOfFold
from classwise.storage import stored

# The prior standard deviation of the logarithm of a power: of members, and of the pool.
OF_MEMBERS = 0.5
OF_POOL = 0.2

# The pseudo-rows of the prior on equal weights.
PSEUDO_ROWS = 1.0

# EM ends when no weight moves by more than NEAR, or after MOST_STEPS (FEW_STEPS from a given start). Weights below
# NEGLIGIBLE are set to zero.
NEAR = 1e-7
MOST_STEPS = 2000
FEW_STEPS = 100
NEGLIGIBLE = 1e-4

# The product is fitted to at most about so many log posteriors (rows times classes) of each member.
PRODUCT_LOGS = 200_000


@stored("Pool")
@dataclass(frozen=True, eq=False)
class Pool:
    """weights (k,): of the members, which sum to one; powers (k,): of the members; power: of their average; product: of
    the members with weight, beside the average.
    """

    weights: Array
    powers: Array
    power: float
    product: MemberProduct | None = None

    def _is_sound(self) -> bool:
        positive = bool((self.weights >= 0).all() and (self.powers > 0).all()) and self.power > 0
        shaped = self.weights.ndim == 1 and self.weights.shape == self.powers.shape
        fits = self.product is None or self.product.exponents.shape == self.weights.shape
        return positive and shaped and fits and abs(float(self.weights.sum()) - 1) < 1e-9

    @property
    def used(self) -> Codes:
        """The positions of the members with weight."""
        return np.flatnonzero(self.weights)

    def trimmed(self) -> "Pool":
        """The same pool, of the members with weight alone."""
        return self.of_members(self.used)

    def of_members(self, members: Codes) -> "Pool":
        """Weights, powers and exponents of some members."""
        product = None if self.product is None else self.product.of_members(members)
        return Pool(self.weights[members], self.powers[members], self.power, product)

    def __call__(self, members: Sequence[Array | None]) -> Array:
        """Log posteriors of the pool, from those of the members; None for members without weight; (n, g) -> (n, g)."""
        return log_normalize(self.power * self.averaged(members), 1)

    def averaged(self, members: Sequence[Array | None]) -> Array:
        """The same without the power of the pool."""
        calibrated = self.calibrated(members)
        # logaddexp keeps -inf for a class that no member has seen.
        mixture = np.logaddexp.reduce(np.log(self.weights[self.used])[:, None, None] + calibrated)
        if self.product is None:
            return np.asarray(mixture)
        return self.product.of_members(self.used).beside(mixture, calibrated)

    def calibrated(self, members: Sequence[Array | None]) -> Array:
        """log Q_i(k | x) of the members with weight; (u, n, g)."""
        used = ((self.powers[i], members[i]) for i in self.used)
        return np.array([log_normalize(power * own, 1) for power, own in used if own is not None])


@dataclass(frozen=True, eq=False)
class MemberPosteriors:
    """Out-of-fold log posteriors of rows under each member (n, g), with classes, folds and weights (n,); deadline: by
    which the pool must be done.
    """

    members: Sequence[Array]
    codes: Codes
    folds: Codes
    weights: Array
    deadline: Deadline = field(default_factory=Deadline)

    def combined(self, combine: str, powers: Array, near: Pool | None = None) -> Pool:
        """combine: "stack" or "pick"."""
        return self.stack(powers, near) if combine == "stack" else self.pick(powers)

    def stack(self, powers: Array | None = None, near: Pool | None = None) -> Pool:
        """The pool with weights, a product, and powers unless given, fitted to all rows; near: a pool to start from, of
        which the share of the product is kept.
        """
        powers = self.powers() if powers is None else powers
        start = None if near is None else near.weights
        weights = mixture_weights(self._own(powers), self.weights, near=start, deadline=self.deadline)
        mixture = Pool(weights, powers, 1.0)
        return self._with_power(replace(mixture, product=self._product(mixture, near)))

    def _with_power(self, pool: Pool) -> Pool:
        return replace(pool, power=self._calibrated(pool.averaged(self.members), OF_POOL)[0])

    def _product(self, mixture: Pool, near: Pool | None) -> MemberProduct | None:
        """The product of the members with weight; None if it has no share, or if there is no time left.

        The share is found by EM, on products whose exponents are fitted without the fold of each row.
        """
        former = None if near is None else near.product
        if self.deadline.is_over or len(mixture.used) < 2 or (near is not None and former is None):
            return None
        some, used = self.of_rows(np.arange(0, len(self.codes), 1 + self.members[0].size // PRODUCT_LOGS)), mixture.used
        members = np.moveaxis(mixture.calibrated(some.members), 0, -1)
        rows = ProductRows.of(members, some.codes, some.weights, mixture.weights[used])
        exponents = np.zeros_like(mixture.weights)
        exponents[used] = fitted = rows.fit(None if former is None else former.exponents[used])
        share = former.share if former else some._share(mixture, rows.out_of_fold(some.folds, fitted))
        return MemberProduct(exponents, share) if share else None

    def _share(self, mixture: Pool, product: Array) -> float:
        """The share of a product (n, g) beside a mixture; 0 if it is negligible."""
        each = np.arange(len(self.codes)), self.codes
        own = np.exp(np.column_stack([mixture.averaged(self.members)[each], product[each]]))
        return min(float(mixture_weights(own, self.weights, deadline=self.deadline)[1]), 1 - NEGLIGIBLE)

    def pick(self, powers: Array | None = None) -> Pool:
        """The pool that consists of the member with the least log loss."""
        powers = self.powers() if powers is None else powers
        mean = self.weights @ np.log(np.maximum(self._own(powers), 1e-300))
        return Pool(np.eye(len(powers))[int(np.argmax(mean))], powers, 1.0)

    def powers(self) -> Array:
        """The power of each member; (k,)."""
        return self._powers[:, 0]

    def powers_by_fold(self) -> Array:
        """For each fold, the power of each member fitted to the other folds; (folds, k)."""
        return self._powers[:, 1:].T

    @cached_property
    def _powers(self) -> Array:
        return np.array([self._calibrated(member, OF_MEMBERS) for member in self.members])

    def _calibrated(self, log_posterior: Array, deviation: float) -> list[float]:
        """The power fitted to all rows, and for each fold to the other folds; 1 if there is no time left."""
        if self.deadline.is_over:
            return [1.0] * (int(self.folds.max()) + 2)
        of_all, by_fold = OutOfFold(log_posterior, self.codes, self.folds, self.weights, deviation).fit_by_fold()
        return [calibration.power for calibration in (of_all, *by_fold)]

    def log_loss(self, pool: Pool) -> float:
        """The mean of -log P(own class)."""
        own = pool(self.members)[np.arange(len(self.codes)), self.codes]
        return -float(self.weights @ own / self.weights.sum())

    def loss_without_product(self, pool: Pool) -> float:
        """The log loss of the mixture alone, to a power of its own."""
        return self.log_loss(self._with_power(replace(pool, product=None)))

    def without_member(self, member: int) -> Self:
        return replace(self, members=[own for i, own in enumerate(self.members) if i != member])

    def of_rows(self, rows: Codes) -> Self:
        """Some of the rows."""
        members = [member[rows] for member in self.members]
        return replace(
            self, members=members, codes=self.codes[rows], folds=self.folds[rows], weights=self.weights[rows]
        )

    def _own(self, powers: Array) -> Array:
        """The calibrated probability of each row's own class under each member; (n, k)."""
        rows = np.arange(len(self.codes))
        pairs = zip(powers, self.members, strict=True)
        return np.exp(np.column_stack([log_normalize(power * own, 1)[rows, self.codes] for power, own in pairs]))


def mixture_weights(
    own: Array,
    weights: Array,
    pseudo: float = PSEUDO_ROWS,
    near: Array | None = None,
    deadline: Deadline | None = None,
) -> Array:
    """The most probable weights w (k,) of a mixture with fixed components, by EM.

        sum over rows of weight log sum_i w_i own_i + pseudo / k sum_i log w_i

    own (n, k): the probability of each row under each component; weights (n,): of the rows; near (k,): a start, such as
    the weights for almost the same rows, from which few steps are enough; deadline: when EM stops.

    >>> mixture_weights(np.array([[0.9, 0.5], [0.9, 0.5], [0.1, 0.5]]), np.ones(3), 0.0).round(3)
    array([0.417, 0.583])
    """
    count = own.shape[1]
    mixing = np.full(count, 1 / count) if near is None else (near + 1e-3) / (near + 1e-3).sum()
    for _ in range(MOST_STEPS if near is None else FEW_STEPS):
        responsible = mixing * ((weights / np.maximum(own @ mixing, 1e-300)) @ own) + pseudo / count
        moved = responsible / responsible.sum()
        done = np.abs(moved - mixing).max() < NEAR
        mixing = moved
        if done or (deadline is not None and deadline.is_over):
            break
    mixing[mixing < NEGLIGIBLE] = 0.0
    return np.asarray(mixing / mixing.sum())
