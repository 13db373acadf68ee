"""Boosted trees as members: each tree corrects the scores of those before it (Friedman 2001).

    log P(k | x) = start_k + sum over the trees of class k of value(leaf of x),    normalized

Trees are boosted without each fold, and predict the rows of the fold after every tree. All folds keep the same number
of trees: that with the least log loss. The member is the mean of the scores of all folds, and so again a sum over
trees; none is grown again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from threadpoolctl import threadpool_limits

from classwise import limits
from classwise.arrays import Array, Codes, log_normalize
from classwise.comparison.stack.folded_rows import FoldedRows
from classwise.comparison.stack.forest_members import OfTrees
from classwise.comparison.stack.trained import CrossValidated, Member
from classwise.engines import in_threads
from classwise.engines.memory import one_by_one
from classwise.engines.messages import Shared
from classwise.engines.workers import away, has_workers
from classwise.errors import ClasswiseError
from classwise.statistics.trees import Trees
from classwise.storage import stored

# How far a tree moves the scores (half of it took twice as long, and changed next to nothing); how many leaves a tree
# has at most, how many rows a leaf has at least, and the share of the columns that are drawn for each cut. Numbers are
# cut between so many quantiles.
RATE = 0.1
LEAVES = 16
LEAST = 5
COLUMNS = 0.5
BINS = 64

# Boosting goes on by so many rounds at a time, until the best round is that far back, or after MOST_ROUNDS.
PART = 25
MOST_ROUNDS = 300


@stored("BoostedTrees")
@dataclass(frozen=True, eq=False)
class BoostedTrees(OfTrees):
    """values (L,): what a leaf adds to the score of the class (t,) that its tree belongs to; start (g,)."""

    trees: Trees
    values: Array
    classes: Codes
    start: Array

    def _is_sound(self) -> bool:
        shaped = self.values.shape == (self.trees.n_leaves,) and self.classes.shape == (len(self.trees),)
        known = self.start.ndim == 1 and bool(((self.classes >= 0) & (self.classes < len(self.start))).all())
        return shaped and known

    @cached_property
    def added(self) -> Array:
        """What each leaf adds to the score of each class; (L, g)."""
        table = np.zeros((len(self.values), len(self.start)))
        of_leaf = np.repeat(self.classes, np.diff(self.trees.leaf_starts))
        table[np.arange(len(table)), of_leaf] = self.values
        return table

    def log_posterior(self, rows: Array, X: object = None) -> Array:
        return log_normalize(self.scores(rows).T)

    def scores(self, rows: Array) -> Array:
        """(m, p) -> (m, g)."""
        return self.start + len(self.trees) * self.trees.average(self.trees.codes(rows), self.added)


@dataclass(frozen=True, eq=False)
class Blanks:
    """Rows as boosting sees them. A level is its position, a missing one comes after the last. A missing number is
    below all others, so that a cut can set it apart; in a column without any it is at the mean. fill (p,): these.
    """

    fill: Array
    levels: dict[int, int]

    @classmethod
    def of(cls, rows: FoldedRows) -> "Blanks":
        fill = np.zeros(rows.rows.shape[1])
        for j in rows.numbers:
            values = rows.rows[:, j]
            known = values[~np.isnan(values)]
            if len(known) == len(values):
                fill[j] = known.mean()
            elif len(known):
                fill[j] = known.min() - (np.ptp(known) or 1.0)
        fill[list(rows.levels)] = list(rows.levels.values())
        return cls(fill, rows.levels)

    def __call__(self, rows: Array) -> Array:
        """(m, p) -> (m, p)."""
        values = np.where(np.isnan(rows), self.fill, rows)
        for j in self.levels:
            values[:, j] = np.where(rows[:, j] < 0, self.fill[j], rows[:, j])
        return values

    def trees(self, grown: Sequence[Any]) -> tuple[Trees, Array]:
        """Trees that scikit-learn has boosted on such rows, so that they cut rows of the table; and the values of their
        leaves.
        """
        nodes = np.concatenate([tree.nodes for tree in grown])
        is_leaf = nodes["is_leaf"].astype(bool)
        starts = np.concatenate([[0], np.cumsum([len(tree.nodes) for tree in grown])])
        column = np.where(is_leaf, -1, nodes["feature_idx"])
        levels = {j: np.arange(count) for j, count in self.levels.items()}
        trees = Trees.of(starts, column, nodes["num_threshold"], self.fill, levels)
        return trees, nodes["value"][is_leaf]


class BoostedRows(NamedTuple):
    """What boosting reads: the rows of the stack, and their values (n, p) as `Blanks` makes them."""

    rows: FoldedRows
    values: Array
    blanks: Blanks


@dataclass(eq=False)
class FoldBoosting:
    """Boosting on the rows outside a fold; scores (m, c): of the held-out rows, after the last round."""

    fold: int
    model: Any = None
    own: Codes = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    scores: Array = field(default_factory=lambda: np.zeros(0))

    def continued(self, shared: Shared[BoostedRows]) -> tuple[Self, list[Array]]:
        """After PART more rounds; and log P(k | x) of the held-out rows after each of them; (m, c)."""
        shared.value.rows.deadline.check()
        with threadpool_limits(1, user_api="openmp"):
            if self.model is None:
                self._start_on(shared.value.rows)
            self._go_on(shared.value)
        return self, list(self._answers(shared.value))

    def _start_on(self, training: FoldedRows) -> None:
        from sklearn.ensemble import HistGradientBoostingClassifier  # takes a while

        generator = np.random.default_rng([training.seed, self.fold])
        own = training.without(training.held_out[self.fold])
        if len(own) > limits.BAGGED_ROWS:
            own = np.sort(generator.choice(own, limits.BAGGED_ROWS, replace=False))
        self.own = own
        self.model = HistGradientBoostingClassifier(
            learning_rate=RATE, max_leaf_nodes=LEAVES, min_samples_leaf=LEAST, max_features=COLUMNS, max_bins=BINS,
            max_iter=0, warm_start=True, early_stopping=False, random_state=int(generator.integers(2**31)),
        )  # fmt: skip

    @property
    def present(self) -> Codes:
        """The positions of the classes that it has seen."""
        return np.asarray(self.model.classes_)

    def _go_on(self, boosted: BoostedRows) -> None:
        """Grow the trees of PART more rounds."""
        training, own = boosted.rows, self.own
        weights = training.weights[own]
        even = bool((weights == weights[0]).all())
        self.model.set_params(max_iter=self.model.max_iter + PART)
        self.model.fit(boosted.values[own], training.codes[own], None if even else weights)

    def _answers(self, boosted: BoostedRows) -> Iterator[Array]:
        last, rows = self.model._predictors[-PART:], boosted.rows.rows[boosted.rows.held_out[self.fold]]
        if len(self.model._predictors) == PART:
            self.scores = np.repeat(self._start[None], len(rows), axis=0)
        trees, values = boosted.blanks.trees([tree for of_round in last for tree in of_round])
        leaves = trees.leaves(trees.codes(rows))
        for _ in last:
            for k in self._classes:
                self.scores[:, k] += values[next(leaves)]
            yield log_normalize(self.scores, 1)

    @property
    def _classes(self) -> list[int]:
        """The class of each tree of a round: of two classes, the second alone has trees."""
        return [1] if len(self.present) == 2 else list(range(len(self.present)))

    @property
    def _start(self) -> Array:
        start = np.zeros(len(self.present))
        start[self._classes] = np.ravel(self.model._baseline_prediction)
        return start

    def kept(self, rounds: int) -> tuple[list[Any], list[int], Array]:
        """The trees of the first rounds, the class of each, and where the scores start."""
        trees = [tree for of_round in self.model._predictors[:rounds] for tree in of_round]
        return trees, self._classes * rounds, self._start


@dataclass(frozen=True, eq=False)
class BoostedMember(Member):
    """Boosted trees."""

    name: str

    def suits(self, rows: FoldedRows) -> bool:
        return len(rows) >= limits.FEWEST_BOOSTED_ROWS and rows.count <= limits.MOST_BOOSTED_CLASSES

    def cross(self, rows: FoldedRows) -> CrossValidated:
        blanks = Blanks.of(rows)
        folds = [FoldBoosting(fold) for fold, _ in rows.each()]
        folds, rounds, logs = _boost(Shared(BoostedRows(rows, blanks(rows.rows), blanks)), folds)
        return CrossValidated(logs, _mean(folds, blanks, rounds, rows.count), f"{rounds} rounds")


def _boost(shared: Shared[BoostedRows], folds: list[FoldBoosting]) -> tuple[list[FoldBoosting], int, Array]:
    """The boosted folds, the best number of rounds, and the out-of-fold log posteriors after them; (n, g)."""
    rows = shared.value.rows
    # Boosting is mostly Python: without workers, folds side by side take longer than one after the other.
    each = in_threads if has_workers() else one_by_one
    best, logs = 0, np.full((len(rows), rows.count), -np.log(rows.count))
    for done in range(0, MOST_ROUNDS, PART):
        found = [np.full((len(rows), rows.count), -np.inf) for _ in range(PART)]
        continued = each(lambda boosting: away(FoldBoosting.continued, boosting, shared), folds)
        folds = [boosting for boosting, _ in continued]
        for boosting, answers in continued:
            for of_round, own in zip(found, answers, strict=True):
                of_round[np.ix_(rows.held_out[boosting.fold], boosting.present)] = own
        least = rows.least_lost([logs, *found])
        if not least:
            break
        best, logs = done + least, found[least - 1]
    return folds, best, logs


def _mean(folds: Sequence[FoldBoosting], blanks: Blanks, rounds: int, count: int) -> BoostedTrees:
    """The mean of the scores of the folds that have seen all classes."""
    whole = [of.kept(rounds) for of in folds if len(of.present) == count]
    if not (whole and rounds):
        raise ClasswiseError("No round lowers the log loss, or no training fold has all classes.")
    trees, values = blanks.trees([tree for trees, _, _ in whole for tree in trees])
    classes = np.array([k for _, of, _ in whole for k in of], dtype=np.intp)
    return BoostedTrees(trees, values / len(whole), classes, np.mean([start for *_, start in whole], axis=0))
