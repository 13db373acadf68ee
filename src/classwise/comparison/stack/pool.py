"""A pool of members: their posteriors, each raised to a power that suits it, averaged, and raised to a power again.

    P(k | x) ~ (sum over members i of w_i P_i(k | x)^b_i / Z_i(x))^b

Powers and weights are those under which the classes of rows held out are most probable, given a little that is believed
before: powers are about 1, and weights about equal, which is worth one row. The weights are found by EM, which climbs
the concave log likelihood of a mixture with fixed components.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from classwise.arrays import Array, Codes
from classwise.selection import OutOfFold
from classwise.storage import stored

# The deviation of a power's logarithm from 0, as believed before rows are seen: a member's, and the pool's.
OF_MEMBERS = 0.5
OF_POOL = 0.2

# How many rows' worth equal weights are.
PSEUDO_ROWS = 1.0

# EM ends when no weight moves by more than this, or after so many steps; smaller weights than the last are none.
NEAR = 1e-7
MOST_STEPS = 2000
FEW_STEPS = 100
NEGLIGIBLE = 1e-4


@stored("Pool")
@dataclass(frozen=True, eq=False)
class Pool:
    """weights (k,), that sum to one; powers (k,): of the members; power: of their average."""

    weights: Array
    powers: Array
    power: float

    def _is_sound(self) -> bool:
        positive = bool((self.weights >= 0).all() and (self.powers > 0).all()) and self.power > 0
        shaped = self.weights.ndim == 1 and self.weights.shape == self.powers.shape
        return positive and shaped and abs(float(self.weights.sum()) - 1) < 1e-9

    @property
    def used(self) -> Codes:
        """The members that have weight."""
        return np.flatnonzero(self.weights)

    def __call__(self, members: Sequence[Array | None]) -> Array:
        """Log posteriors of the pool, from those of the members that have weight; (n, g) each -> (n, g)."""
        return normalized(self.power * self.averaged(members))

    def averaged(self, members: Sequence[Array | None]) -> Array:
        """The same without the power of the pool."""
        used = [(i, members[i]) for i in self.used]
        parts = [np.log(self.weights[i]) + normalized(self.powers[i] * own) for i, own in used if own is not None]
        # Not by the largest: a class that no member has seen is -inf in all of them, and stays so.
        return np.asarray(np.logaddexp.reduce(parts))


def normalized(scores: Array) -> Array:
    """Log posteriors that sum to one, in each row; (n, g)."""
    scores = scores - scores.max(axis=1, keepdims=True)
    return np.asarray(scores - np.log(np.exp(scores).sum(axis=1, keepdims=True)))


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Log posteriors of rows under members that had not seen them (n, g) each, with classes, folds and weights (n,)."""

    members: Sequence[Array]
    codes: Codes
    folds: Codes
    weights: Array

    def stack(self, powers: Array | None = None, near: Array | None = None) -> Pool:
        """Powers, unless they are given, and weights, by all rows; near (k,): weights to start from."""
        powers = self.powers() if powers is None else powers
        weights = mixture_weights(self._own(powers), self.weights, near=near)
        average = Pool(weights, powers, 1.0).averaged(self.members)
        return Pool(weights, powers, self._power(average, OF_POOL))

    def pick(self, powers: Array | None = None) -> Pool:
        """The one member with the least log loss."""
        powers = self.powers() if powers is None else powers
        mean = self.weights @ np.log(np.maximum(self._own(powers), 1e-300))
        return Pool(np.eye(len(powers))[int(np.argmax(mean))], powers, 1.0)

    def powers(self) -> Array:
        """The power of each member; (k,)."""
        return np.array([self._power(member, OF_MEMBERS) for member in self.members])

    def powers_by_fold(self) -> Array:
        """The power of each member by the rows of all folds but one; (folds, k)."""
        fits = [self._of(member, OF_MEMBERS).fit_by_fold()[1] for member in self.members]
        return np.array([[calibration.power for calibration in of_member] for of_member in fits]).T

    def log_loss(self, pool: Pool) -> float:
        """The mean of -log P(own class)."""
        own = pool(self.members)[np.arange(len(self.codes)), self.codes]
        return -float(self.weights @ own / self.weights.sum())

    def without_member(self, member: int) -> "HeldOut":
        others = [own for i, own in enumerate(self.members) if i != member]
        return HeldOut(others, self.codes, self.folds, self.weights)

    def of_rows(self, rows: Codes) -> "HeldOut":
        """Some of the rows."""
        members = [member[rows] for member in self.members]
        return HeldOut(members, self.codes[rows], self.folds[rows], self.weights[rows])

    def _own(self, powers: Array) -> Array:
        """What each member, with its power, gives to each row's own class; (n, k)."""
        rows = np.arange(len(self.codes))
        pairs = zip(powers, self.members, strict=True)
        return np.exp(np.column_stack([normalized(power * own)[rows, self.codes] for power, own in pairs]))

    def _power(self, log_posterior: Array, deviation: float) -> float:
        return self._of(log_posterior, deviation).fit().power

    def _of(self, log_posterior: Array, deviation: float) -> OutOfFold:
        return OutOfFold(log_posterior, self.codes, self.folds, self.weights, deviation)


def mixture_weights(own: Array, weights: Array, pseudo: float = PSEUDO_ROWS, near: Array | None = None) -> Array:
    """The most probable weights w (k,) of a mixture with fixed components, by EM.

        sum over rows of weight log sum_i w_i own_i + pseudo / k sum_i log w_i

    own (n, k): the probability of each row under each component; weights (n,): of the rows; near (k,): the weights for
    nearly the same rows, from where few steps are enough.

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
        if done:
            break
    mixing[mixing < NEGLIGIBLE] = 0.0
    return np.asarray(mixing / mixing.sum())
