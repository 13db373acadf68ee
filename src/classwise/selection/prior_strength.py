"""The strength of a prior, chosen by how well rows are classified that were held out: in folds, or one by one."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from classwise.arrays import Array, Codes, log_sum_exp, slices, sums_by
from classwise.classifier.plan import BlockPlan
from classwise.covariance import Covariance, FullCovariance, PriorForm
from classwise.densities.blocks import refuse_constant
from classwise.densities.numbers import Believed
from classwise.engines import in_threads
from classwise.engines.progress import progress
from classwise.errors import ClasswiseError
from classwise.selection.choice import Choice
from classwise.selection.crossing import Crossing, Fold, is_complete
from classwise.selection.downdates import groups_of
from classwise.selection.predictives import Predictives, StrengthPath
from classwise.statistics import ClassStatistics
from classwise.statistics.copies import find_copies
from classwise.storage import stored

# How many rows the prior's covariance may count as, and where it may lie between the pooled one and its diagonal. At
# 0.1 rather than 0 it has an inverse even where rows are few.
ROWS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
DIAGONALS = (0.1, 0.5, 1.0)

# Of more rows than this, only about this many, at regular distances, are left out: enough to choose a strength.
ENOUGH_ROWS = 20_000

# Rows are left out in blocks of this many, which stay in cache.
BLOCK_OF_ROWS = 2048

Densities: TypeAlias = Callable[[Array, int, float], Array]

# Where numbers are missing, each prior takes a fit of its own: fewer are tried.
FEW_ROWS = (1.0, 10.0, 100.0, 1000.0)


@stored("PriorChoice", loose=("by_fold",))
@dataclass(frozen=True, eq=False, repr=False)
class PriorChoice(Choice[PriorForm]):
    """The log loss of rows held out under every prior that was tried (priors,), and the best: of equals, the last."""

    what = "priors"
    attribute = "prior_choice_"

    priors: tuple[PriorForm, ...]

    def _is_sound(self) -> bool:
        return self.by_fold.shape[1:] == (len(self.priors),) and super()._is_sound()

    def value(self, position: int) -> PriorForm:
        return self.priors[position]

    def options(self, value: PriorForm) -> dict[str, Any]:
        return {"prior": value}

    def settled(self, plan: BlockPlan, value: PriorForm) -> BlockPlan:
        return with_prior(plan, value)

    def __repr__(self) -> str:
        rows, diagonal = self.best.freedom - 2, self.best.diagonal
        best = f"counts as {rows:g} rows, {diagonal:g} of the way to the diagonal"
        return f"PriorChoice({best}, log loss {self.log_loss.min():.4g}, best of {len(self.priors)})"


def is_open_prior(prior: Any) -> bool:
    """Whether a prior is to be chosen."""
    return isinstance(prior, str) and prior in ("cv", "loo")


def with_prior(plan: BlockPlan, prior: Any) -> BlockPlan:
    """The plan under another prior."""
    assert isinstance(plan.numbers, Believed)
    return plan.learning(replace(plan.numbers, prior=prior))


def choose_prior(plan: BlockPlan, crossing: Crossing) -> PriorChoice:
    """Try priors on rows held out: one by one if the prior is "loo" and columns are complete numbers, else in folds.

    Where prior="loo" meets other columns or gaps, leaving out one row has no formula, and folds serve instead.
    """
    assert isinstance(plan.numbers, Believed)
    structure = plan.numbers.structure
    statistics = crossing.statistics.total()
    only_numbers = len(statistics.schema.positions("gaussian")) == len(statistics.schema)
    complete = is_complete(statistics.of_numbers())
    strengths = ROWS if complete else FEW_ROWS
    diagonals = DIAGONALS if structure.correlated else DIAGONALS[-1:]
    forms = tuple(PriorForm.of_strength(rows, diagonal) for diagonal in diagonals for rows in strengths)
    weights = crossing.scored_weights
    is_sampled = np.arange(len(weights)) % max(len(weights) // ENOUGH_ROWS, 1) == 0
    if plan.numbers.prior == "loo" and only_numbers and complete:
        weights = np.where(is_sampled, weights, 0.0)
        losses: Sequence[Array] | Array = _left_out(plan, crossing, forms, np.flatnonzero(weights))
    else:
        losses = _crossed(plan, crossing, forms)
    scored = np.flatnonzero(weights)
    folds, weights = crossing.folds[scored], weights[scored]
    by_fold = [sums_by(folds, weights * of_form[scored], len(crossing)) for of_form in losses]
    return PriorChoice(np.array(by_fold).T, sums_by(folds, weights, len(crossing)), forms)


def _left_out(plan: BlockPlan, crossing: Crossing, forms: tuple[PriorForm, ...], some: Codes) -> Array:
    """-log P(own class | x) of some rows without themselves, under each prior; (priors, n).

    The prior's mean and the class priors stay those of all rows.
    """
    numbers = plan.numbers
    assert isinstance(numbers, Believed)
    statistics, rows = crossing.statistics.total().denoised(), np.asarray(crossing.table.rows, dtype=np.float64)
    left_out = {*statistics.constants(), *(() if numbers.keeps_copies else find_copies(statistics))}
    refuse_constant(statistics)
    if left_out:
        kept = [j for j in range(statistics.n_features) if j not in left_out]
        statistics, rows = statistics.part(kept), rows[:, kept]
    with np.errstate(divide="ignore"):
        log_prior = np.log(plan.class_priors(statistics))[:, None, None]
    losses = np.zeros((len(forms), len(rows)))
    weights = None if crossing.table.weights is None else crossing.table.weights[some]
    tasks = [
        (which, densities, k, weight, some[own[part]])
        for which, densities in _densities(statistics, forms, numbers.structure, numbers.shared)
        for k, weight, own in groups_of(crossing.codes[some], weights)
        for part in slices(len(own), BLOCK_OF_ROWS)
    ]

    def lose(task: tuple[slice, Densities, int, float, Codes]) -> Array:
        _, densities, k, weight, own = task
        scores = densities(rows[own], k, weight) + log_prior
        return (log_sum_exp(scores) - scores[k]).T

    with progress("Choosing a prior", len(tasks)) as bar:
        for (which, _, _, _, own), lost in zip(tasks, in_threads(lose, tasks, bar.step), strict=True):
            losses[which, own] = lost
    return losses


def _densities(
    statistics: ClassStatistics, forms: tuple[PriorForm, ...], structure: type[Covariance], shared: bool
) -> Iterator[tuple[slice, "Densities"]]:
    """What gives log p(x | k) of rows without themselves (g, m, s), for some priors at a time."""
    if structure is FullCovariance and not shared:
        for start in range(0, len(forms), len(ROWS)):
            path = StrengthPath.of(statistics, np.array(ROWS), forms[start].diagonal)
            yield slice(start, start + len(ROWS)), path.log_density
        return
    for i, form in enumerate(forms):
        posterior = form.of(statistics.moments).within(structure).updated(statistics, shared)
        of_rows = form.share_of_rows(structure, statistics.n_features) / float(statistics.weight.sum())
        one = Predictives(posterior, statistics.weight, of_rows)
        yield slice(i, i + 1), one.each_density


def _crossed(plan: BlockPlan, crossing: Crossing, forms: tuple[PriorForm, ...]) -> list[Array]:
    """-log P(own class | x) of each row under a model of the other folds, for each prior; (n,) each."""
    rows = np.arange(len(crossing.codes))
    losses = [np.full(len(rows), np.inf) for _ in forms]
    plans = [with_prior(plan, form) for form in forms]
    weak = crossing.started([with_prior(plan, "weak"), plans[-1]])[:1]
    with progress("Choosing a prior", len(crossing) * len(forms)) as bar:
        for fold in crossing.each():
            codes, fold = crossing.codes[fold.rows], fold.completed(weak)
            for own, lost in zip(plans, losses, strict=True):
                lost[fold.rows] = held_out_loss(fold, own, codes)
                bar.step()
    return losses


def held_out_loss(fold: Fold, plan: BlockPlan, codes: Codes) -> Array | float:
    """-log P(own class | x) of the rows held out, inf where the plan does not serve; (m,)."""
    try:
        answer = fold.log_posterior(fold.fit(plan))
    except (ClasswiseError, np.linalg.LinAlgError):
        return np.inf
    return -answer[np.arange(len(codes)), codes]
