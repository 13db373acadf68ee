"""From a plan with options left open to one with nothing left to choose, by rows held out."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from classwise.classifier.bayes import Calibration
from classwise.classifier.plan import BlockPlan, Plan
from classwise.covariance import is_cv
from classwise.densities.centroids import Shrunken
from classwise.densities.numbers import Believed, Estimated
from classwise.densities.undecided import Undecided
from classwise.selection.choice import Choice
from classwise.selection.crossing import Crossing
from classwise.selection.dials import choose_dials
from classwise.selection.prior_strength import choose_prior, is_open_prior
from classwise.selection.smoothing import choose_smoothing
from classwise.selection.structure_choice import choose_structure
from classwise.selection.thresholds import choose_threshold


@dataclass(frozen=True, eq=False)
class Tuning:
    """A plan by all folds, and for each fold by the others; choice: how it was chosen, if anything was."""

    plan: Plan
    by_fold: tuple[Plan, ...]
    choice: Choice[Any] | None = None


def tune(plan: Plan, crossing: Crossing) -> Tuning:
    """The dials, structure, strength of the prior, threshold or smoothing, by log loss where they are left open."""
    choice = _choose(plan, crossing)
    if choice is None:
        return Tuning(plan, (plan,) * len(crossing))
    assert isinstance(plan, BlockPlan)
    if not np.isfinite(choice.log_loss).any():
        _refuse_all(plan, choice, crossing)
    by_fold = tuple(choice.settled(plan, choice.best_without(fold)) for fold in range(len(crossing)))
    return Tuning(choice.settled(plan, choice.best), by_fold, choice)


def _refuse_all(plan: BlockPlan, choice: Choice[Any], crossing: Crossing) -> None:
    """Where nothing that was tried can be fitted in every fold, the simplest says why."""
    simplest = choice.settled(plan, choice.value(choice.log_loss.size - 1))
    for fold in crossing.each():
        fold.fit(simplest)


def _choose(plan: Plan, crossing: Crossing) -> Choice[Any] | None:
    if not isinstance(plan, BlockPlan):
        return None
    if plan.smoothing == "cv":
        return choose_smoothing(plan, crossing)
    if isinstance(plan.numbers, Estimated) and any(map(is_cv, plan.numbers.dials)):
        return choose_dials(plan, crossing)
    if isinstance(plan.numbers, Undecided) and plan.numbers.held_out:
        # Without numbers there are no covariances, and nothing to choose.
        return choose_structure(plan, crossing) if crossing.table.schema.positions("gaussian") else None
    if isinstance(plan.numbers, Believed) and is_open_prior(plan.numbers.prior):
        return choose_prior(plan, crossing)
    if isinstance(plan.numbers, Shrunken) and plan.numbers.is_open:
        return choose_threshold(plan, crossing)
    return None


def fit_temperature(tuning: Tuning, crossing: Crossing) -> Calibration:
    """The power of posteriors that suits rows held out; options that are used for a fold are chosen on the others."""
    answers = crossing.blank()
    _, *by_fold = crossing.started([tuning.plan, *tuning.by_fold])
    for fold, plan in zip(crossing.each(), by_fold, strict=True):
        answers[fold.rows] = fold.log_posterior(fold.fit(plan))
    return crossing.out_of_fold(answers).fit()
