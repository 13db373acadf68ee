"""The rows on which members are cross-validated: in memory, each with its class and its fold."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self, TypeAlias

import numpy as np

from classwise import limits
from classwise.arrays import Array, Codes, Labels, sums_by
from classwise.engines import in_threads
from classwise.engines.progress import Deadline

# The largest log loss of a row when options of a member are compared, so that a few rows do not decide.
MOST_LOST = 36.0

# From a fold and its held-out rows to their posteriors under each option: the positions of the classes that the other
# folds have (c,), and log P(k | x) of these classes (m, c).
FoldAnswers: TypeAlias = Callable[[int, Codes], Iterable[tuple[Codes, Array]]]


@dataclass(frozen=True, eq=False)
class FoldedRows:
    """rows (n, p) with categories as codes; levels: the number of levels of each category; labels (g,); codes, folds
    and weights (n,); places (n,): the positions of the rows in the caller's table; deadline: by which all members must
    be done; it is checked between folds and passes, and within long steps.
    """

    rows: Array
    levels: dict[int, int]
    labels: Labels
    codes: Codes
    folds: Codes
    weights: Array
    places: Codes
    seed: int = 0
    deadline: Deadline = field(default_factory=Deadline)

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def count(self) -> int:
        """The number of classes."""
        return len(self.labels)

    @property
    def numbers(self) -> list[int]:
        """The columns of numbers."""
        return [j for j in range(self.rows.shape[1]) if j not in self.levels]

    # Folds ----------------------------------------------------------------------------------------------------------

    @cached_property
    def n_folds(self) -> int:
        return int(self.folds.max()) + 1

    @cached_property
    def held_out(self) -> tuple[Codes, ...]:
        """The rows of each fold."""
        return tuple(np.flatnonzero(self.folds == fold) for fold in range(self.n_folds))

    def each(self) -> Iterator[tuple[int, Codes]]:
        """The folds that hold a row, and their rows."""
        for fold, rows in enumerate(self.held_out):
            if len(rows):
                self.deadline.check()
                yield fold, rows

    def without(self, rows: Codes) -> Codes:
        """The positions of all rows except some."""
        return np.setdiff1d(np.arange(len(self)), rows, assume_unique=True)

    @cached_property
    def class_weight(self) -> Array:
        """The weight of each class in each fold; (folds, g)."""
        pairs = self.folds * self.count + self.codes
        return sums_by(pairs, self.weights, self.n_folds * self.count).reshape(self.n_folds, self.count)

    def training_weight(self, fold: int) -> Array:
        """The weight of each class outside a fold; weights that are only rounding errors are set to 0; (g,)."""
        weight = self.class_weight.sum(axis=0) - self.class_weight[fold]
        return np.where(weight > 1e-9 * self.class_weight.sum(axis=0), weight, 0.0)

    # Losses ---------------------------------------------------------------------------------------------------------

    @cached_property
    def scored_weights(self) -> Array:
        """The weight of each row in out-of-fold losses: its own, or 0 if no other fold has its class; (n,)."""
        elsewhere = self.class_weight.sum(axis=0) - self.class_weight > 0
        return self.weights * elsewhere[self.folds, self.codes]

    def out_of_fold(self, options: int, answers: FoldAnswers, several: Any = in_threads) -> tuple[int, Array]:
        """The best option by out-of-fold log loss, and its log posteriors of all rows; -inf for a class that the other
        folds lack; (n, g). several: how folds are gone through, side by side or one by one.
        """
        found = [np.full((len(self), self.count), -np.inf) for _ in range(options)]

        def answer(fold: int) -> None:
            self.deadline.check()
            rows = self.held_out[fold]
            for logs, (present, of_fold) in zip(found, answers(fold, rows), strict=True):
                logs[np.ix_(rows, present)] = of_fold

        several(answer, [fold for fold, rows in enumerate(self.held_out) if len(rows)])
        best = self.least_lost(found)
        return best, found[best]

    def least_lost(self, found: Sequence[Array]) -> int:
        """The position of the log posteriors (n, g) with the least log loss; the first of equals."""
        rows = np.flatnonzero(self.scored_weights)
        own = (np.maximum(logs[rows, self.codes[rows]], -MOST_LOST) for logs in found)
        return int(np.argmax([self.scored_weights[rows] @ logs for logs in own]))

    # Fewer rows -----------------------------------------------------------------------------------------------------

    @property
    def stride(self) -> int:
        """The step between rows of a subsample that is large enough to choose options."""
        return max(len(self) // limits.ENOUGH_ROWS, 1)

    def thinned(self) -> Self:
        """At most MOST_TRIED rows, evenly spaced within each class; their weights make up for the dropped rows."""
        if len(self) <= limits.MOST_TRIED:
            return self
        kept, weights = [], self.weights.copy()
        for k in range(self.count):
            own = np.flatnonzero(self.codes == k)
            count = min(max(round(limits.MOST_TRIED * len(own) / len(self)), limits.FEWEST_KEPT), len(own))
            taken = own[np.linspace(0, len(own) - 1, count).astype(np.intp)]
            weights[taken] *= weights[own].sum() / weights[taken].sum()
            kept.append(taken)
        rows = np.sort(np.concatenate(kept))
        return replace(
            self,
            rows=self.rows[rows],
            codes=self.codes[rows],
            folds=np.unique(self.folds[rows], return_inverse=True)[1],
            weights=weights[rows],
            places=self.places[rows],
        )
