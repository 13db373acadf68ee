"""Which columns: a path of sets, each with its cross-validated log loss, and an honest estimate of choosing among them.

Forward adds the column that lowers the log loss most, backward takes the column away that is missed least, and best
tries all sets. The least of many log losses is too good: so the whole search is repeated without each fold, and what
it chose is scored on that fold.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb, sqrt
from typing import TypeAlias

import numpy as np

from classwise import limits
from classwise.arrays import Array
from classwise.classifier.plan import Plan
from classwise.engines.progress import progress, silent
from classwise.errors import ClasswiseError, SingularCovarianceError
from classwise.selection.column_scores import ColumnScores, column_scores
from classwise.selection.crossing import Crossing


@dataclass(frozen=True, eq=False)
class FoldLosses:
    """The sums of the losses of held-out rows in each fold (F,), and the weight of those rows (F,)."""

    by_fold: Array
    weight: Array

    @property
    def log_loss(self) -> float:
        """The mean over rows; infinite where a model cannot be fitted."""
        mean = float(self.by_fold.sum() / self.weight.sum())
        return mean if mean == mean else np.inf

    @property
    def error(self) -> float:
        """The standard error, as the mean changes when each fold is taken away (jackknife)."""
        folds = np.flatnonzero(self.weight < self.weight.sum())
        rest = (self.by_fold.sum() - self.by_fold[folds]) / (self.weight.sum() - self.weight[folds])
        return sqrt((len(rest) - 1) / len(rest) * float(((rest - rest.mean()) ** 2).sum()))

    def __sub__(self, other: "FoldLosses") -> "FoldLosses":
        return FoldLosses(self.by_fold - other.by_fold, self.weight)


@dataclass(frozen=True, eq=False)
class ColumnSet:
    """Columns by position, in the order in which they were added, and their losses."""

    columns: tuple[int, ...]
    losses: FoldLosses


# A search: from scores and the most columns of a set to sets of growing size, no two of the same.
Search: TypeAlias = Callable[[ColumnScores, int], list[ColumnSet]]


def forward(scores: ColumnScores, most: int) -> list[ColumnSet]:
    """From no column on, always the column that lowers the log loss most; of equals, the first."""
    moves, found = scores.adding(), [_scored(scores, ())]
    with progress("Adding columns", most) as bar:
        while moves.columns and len(found) <= most:
            losses = _sums(moves.losses())
            best = int(losses.sum(axis=1).argmin())
            if not np.isfinite(losses[best]).all():
                break
            columns = (*found[-1].columns, moves.columns[best])
            found.append(ColumnSet(columns, FoldLosses(losses[best], scores.weight)))
            moves = moves.after(best)
            bar.step()
    return found


def backward(scores: ColumnScores, most: int) -> list[ColumnSet]:
    """From all columns on, always without the column that is missed least; of equals, the last."""
    whole = _scored(scores, scores.columns)
    if not np.isfinite(whole.losses.log_loss):
        raise SingularCovarianceError(
            "method='backward' begins with all columns, and the model cannot be fitted to all of them in every fold; "
            "use method='forward', or drop columns."
        )
    moves, removed, left = scores.removing(), [], [whole.losses]
    with progress("Removing columns", len(scores.columns)) as bar:
        while moves.columns:
            losses = _sums(moves.losses())
            best = len(losses) - 1 - int(losses.sum(axis=1)[::-1].argmin())
            removed.append(moves.columns[best])
            left.append(FoldLosses(losses[best], scores.weight))
            moves = moves.after(best)
            bar.step()
    order = tuple(removed[::-1])
    return [ColumnSet(order[:size], left[len(order) - size]) for size in range(min(most, len(order)) + 1)]


def best_subsets(scores: ColumnScores, most: int) -> list[ColumnSet]:
    """Of all sets of each size the one with the least log loss."""
    count = sum(comb(len(scores.columns), size) for size in range(1, most + 1))
    if count > limits.MOST_SUBSETS:
        raise ClasswiseError(
            f"method='best' would try {count:,} sets of columns, and {limits.MOST_SUBSETS:,} are the most; "
            "use method='forward', or give a smaller number as most."
        )
    least: dict[int, tuple[float, tuple[int, ...]]] = {}
    for columns, loss in scores.every(most):
        if loss < least.get(len(columns), (np.inf,))[0]:
            least[len(columns)] = loss, tuple(sorted(columns))
    return [_scored(scores, ()), *(_scored(scores, least[size][1]) for size in sorted(least))]


def _sums(losses: Array) -> Array:
    """Infinite where a model cannot be fitted."""
    return np.where(np.isnan(losses), np.inf, losses)


def _scored(scores: ColumnScores, columns: Sequence[int]) -> ColumnSet:
    return ColumnSet(tuple(columns), FoldLosses(scores.by_fold(columns), scores.weight))


# Which of the sets ----------------------------------------------------------------------------------------------------


def least_loss(sets: Sequence[ColumnSet]) -> ColumnSet:
    """The set with the least log loss; of equals, the smallest."""
    return min((s for s in sets if s.columns), key=lambda s: s.losses.log_loss)


def one_error(sets: Sequence[ColumnSet]) -> ColumnSet:
    """The smallest set within one standard error of the best."""
    best = least_loss(sets)
    return next(s for s in sets if s.columns and s.losses.log_loss <= best.losses.log_loss + best.losses.error)


Rule: TypeAlias = Callable[[Sequence[ColumnSet]], ColumnSet]


@dataclass(frozen=True, eq=False)
class Nested:
    """losses: of the whole procedure, on rows that had no part in it; chosen: the columns, without each fold."""

    losses: FoldLosses
    chosen: tuple[tuple[int, ...], ...]

    def times(self, column: int) -> int:
        """In how many of the repetitions a column was chosen."""
        return sum(column in columns for columns in self.chosen)


@dataclass(frozen=True, eq=False)
class ColumnSearch:
    """A plan with nothing left to choose, rows in folds, and the columns to choose from; most: of a set."""

    plan: Plan
    crossing: Crossing
    columns: tuple[int, ...]
    search: Search
    most: int

    def sets(self, crossing: Crossing | None = None) -> list[ColumnSet]:
        """Sets of growing size; of the rows in some of the folds, if such are given."""
        scores = column_scores(self.plan, self.crossing if crossing is None else crossing, self.columns)
        found = self.search(scores, self.most)
        if len(found) < 2:
            self.plan.model(self.crossing.statistics.total().restrict(self.columns[:1]))  # says why, where it fails
            raise ClasswiseError("The model cannot be fitted to any of the columns in every fold.")
        return found

    def of(self, columns: Sequence[int]) -> FoldLosses:
        """The losses of one set."""
        scores = column_scores(self.plan, self.crossing, columns)
        return FoldLosses(scores.by_fold(columns), scores.weight)

    def nested(self, rule: Rule) -> Nested:
        """The search without each fold in turn, and the losses of what it chose on that fold."""
        count = len(self.crossing)
        scores = column_scores(self.plan, self.crossing, self.columns)
        with progress("Repeating the search without each fold", count) as bar, silent():
            chosen = []
            for fold in range(count):
                chosen.append(rule(self.sets(self.crossing.without_fold(fold))).columns)
                bar.step()
        losses = np.array([scores.by_fold(columns)[fold] for fold, columns in enumerate(chosen)])
        return Nested(FoldLosses(losses, scores.weight), tuple(chosen))
