"""The threshold of shrunken centroids, chosen by cross-validated log loss along a path.

Contrasts of a fold do not depend on the threshold, so that each value tried costs one pass over the rows held out.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from classwise.arrays import Array, Codes, log_sum_exp, sums_by
from classwise.classifier.plan import BlockPlan
from classwise.densities import Gaussian
from classwise.densities.blocks import refuse_constant
from classwise.densities.centroids import Shrunken
from classwise.engines import in_threads
from classwise.engines.progress import progress
from classwise.errors import ClasswiseError
from classwise.selection.choice import Choice
from classwise.selection.crossing import Crossing, Fold, selection_weights
from classwise.selection.dials import GaussianSplit
from classwise.storage import stored

# How many thresholds are tried, as in pamr: from 0 to the least that leaves no difference between classes.
TRIED = 30


@stored("ThresholdPath", loose=("by_fold",))
@dataclass(frozen=True, eq=False, repr=False)
class ThresholdPath(Choice[float]):
    """The cross-validated log loss of every threshold tried, and the best: of equals, the largest.

    thresholds, and how many columns each leaves (selected).
    """

    what = "thresholds"
    attribute = "threshold_path_"

    thresholds: tuple[float, ...]
    selected: tuple[int, ...]

    def _is_sound(self) -> bool:
        tried = len(self.thresholds)
        return self.by_fold.shape[1:] == (tried,) and len(self.selected) == tried and super()._is_sound()

    def value(self, position: int) -> float:
        return self.thresholds[position]

    def options(self, value: float) -> dict[str, Any]:
        return {"threshold": value}

    def settled(self, plan: BlockPlan, value: float) -> BlockPlan:
        return plan.learning(_numbers(plan).at(value))

    def __repr__(self) -> str:
        left = dict(zip(self.thresholds, self.selected, strict=True))[self.best]
        loss = f"log loss {self.log_loss.min():.4g}"
        return f"ThresholdPath(threshold={self.best:.4g}, columns={left}, {loss}, best of {len(self.thresholds)})"


def choose_threshold(plan: BlockPlan, crossing: Crossing) -> ThresholdPath:
    """Every threshold of a path on every fold; plan has no other choices to make."""
    total = crossing.statistics.total()
    refuse_constant(total)
    thresholds, selected = _path(plan, crossing)
    weights = selection_weights(plan.priors, crossing)

    def lose(fold: Fold) -> Array:
        return _losses(plan, crossing, fold, thresholds, weights)

    with progress("Choosing a threshold", len(crossing)) as bar:
        losses = np.array(in_threads(lose, crossing.each(), bar.step))
    return ThresholdPath(losses, sums_by(crossing.folds, weights, len(crossing)), thresholds, selected)


def _numbers(plan: BlockPlan) -> Shrunken:
    assert isinstance(plan.numbers, Shrunken)
    return plan.numbers


def _path(plan: BlockPlan, crossing: Crossing) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """The thresholds to try, by the contrasts of all rows, and how many columns each leaves."""
    total = crossing.statistics.total()
    columns = GaussianSplit.columns_of(plan.model(total).classifier.density)
    if not len(columns):  # no number varies at all: the threshold makes no difference
        return (0.0,), (0,)
    contrasts = _numbers(plan).contrasts(total.part(columns.tolist()))
    thresholds = np.linspace(0.0, contrasts.largest(), TRIED).tolist()
    return tuple(thresholds), tuple(map(contrasts.selected, thresholds))


def _losses(plan: BlockPlan, crossing: Crossing, fold: Fold, thresholds: tuple[float, ...], weights: Array) -> Array:
    """The sum of -log P(own class | x) over the rows held out, at each threshold; inf where nothing can be fitted."""
    try:
        gaussian = GaussianSplit.of(fold, plan)
        if not len(gaussian.columns):
            return np.zeros(len(thresholds))
        numbers = _numbers(plan)
        contrasts = numbers.contrasts(fold.training.part(gaussian.columns.tolist()))
    except ClasswiseError:
        return np.full(len(thresholds), np.inf)
    kept = fold.rows[weights[fold.rows] > 0]
    rows, offset = gaussian.split(np.isin(fold.rows, kept, assume_unique=True))
    codes = np.searchsorted(fold.training.labels, crossing.labels[crossing.codes[kept]])
    densities = (numbers.at(threshold).density(contrasts) for threshold in thresholds)
    return np.array([weights[kept] @ _lost(density, rows, codes, offset) for density in densities])


def _lost(density: Gaussian, rows: Array, codes: Codes, offset: Array) -> Array:
    """-log P(own class | x); (m,)."""
    score = density.observed if np.isnan(rows).any() else density.relative
    scores = score(rows, np.zeros((density.count, 1))) + offset
    return log_sum_exp(scores) - scores[codes, np.arange(len(codes))]
