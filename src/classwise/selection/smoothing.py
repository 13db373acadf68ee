"""The smoothing of counts, chosen by how well rows are classified that were held out in folds."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from classwise.arrays import sums_by
from classwise.classifier.plan import BlockPlan
from classwise.engines.progress import progress
from classwise.selection.choice import Choice
from classwise.selection.crossing import Crossing
from classwise.selection.prior_strength import held_out_loss
from classwise.storage import stored

# The pseudo-counts that are tried; of equals, more is simpler.
TRIED = tuple(10.0 ** (half / 2) for half in range(-8, 5))


@stored("SmoothingChoice", loose=("by_fold",))
@dataclass(frozen=True, eq=False, repr=False)
class SmoothingChoice(Choice[float]):
    """The log loss of rows held out under every smoothing that was tried, and the best: of equals, the largest."""

    what = "smoothings"
    attribute = "smoothing_choice_"

    tried: tuple[float, ...]

    def _is_sound(self) -> bool:
        return self.by_fold.shape[1:] == (len(self.tried),) and super()._is_sound()

    def value(self, position: int) -> float:
        return self.tried[position]

    def options(self, value: float) -> dict[str, Any]:
        return {"smoothing": value}

    def settled(self, plan: BlockPlan, value: float) -> BlockPlan:
        return replace(plan, smoothing=value)

    def __repr__(self) -> str:
        return f"SmoothingChoice({self.best:.3g}, log loss {self.log_loss.min():.4g}, best of {len(self.tried)})"


def choose_smoothing(plan: BlockPlan, crossing: Crossing) -> SmoothingChoice:
    """Try every smoothing on rows held out."""
    weights, scored = crossing.scored_weights, np.flatnonzero(crossing.scored_weights)
    losses = np.full((len(TRIED), len(weights)), np.inf)
    plans = [replace(plan, smoothing=value) for value in TRIED]
    with progress("Choosing a smoothing", len(crossing) * len(plans)) as bar:
        for fold in crossing.each():
            for own, lost in zip(plans, losses, strict=True):
                lost[fold.rows] = held_out_loss(fold, own, crossing.codes[fold.rows])
                bar.step()
    folds, kept = crossing.folds[scored], weights[scored]
    by_fold = [sums_by(folds, kept * of[scored], len(crossing)) for of in losses]
    return SmoothingChoice(np.array(by_fold).T, sums_by(folds, kept, len(crossing)), TRIED)
