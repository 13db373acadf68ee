"""One model tried on every fold: its posteriors of rows it had not seen, and how good they are."""

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from classwise.arrays import Array, Codes
from classwise.calibration import Calibration
from classwise.classifier import BayesClassifier
from classwise.comparison.references import Given, Reference, Twin
from classwise.densities import Gaussian
from classwise.engines import in_threads
from classwise.errors import ClasswiseError
from classwise.estimators import BayesianLogistic, ChoosingEstimator, Crossing, Fold, Tuned, is_complete, out_of_fold
from classwise.evaluation import Estimate, Evaluation, merged, over_folds
from classwise.statistics import ClassStatistics
from classwise.storage import stored


@stored("Trial", loose=("log_posterior", "log_evidence"))
@dataclass(frozen=True, eq=False, repr=False)
class Trial:
    """What became of a model.

    kind: "family", "twin", "reference" or "given". reason: why it could not be fitted, or "". log_posterior (n, g): of
    rows held out, as the model has them. as_is, calibrated: their evaluations by fold, without and with the power; the
    power that is used for a fold was fitted on the others. statistics: of all rows, as the model needs them. trained:
    the model of all rows, where statistics would not do to make it later. evidence: "exact", "BIC", or "" where there
    is none.
    """

    name: str
    kind: str
    model: Any
    reason: str = ""
    tuned: Tuned | None = None
    statistics: ClassStatistics | None = None
    trained: BayesianLogistic | None = None
    log_posterior: Array | None = None
    as_is: tuple[Evaluation, ...] = ()
    calibrated: tuple[Evaluation, ...] = ()
    calibration: Calibration | None = None
    free_parameters: int | None = None
    log_evidence: float | None = None
    evidence: str = ""
    seconds: float = 0.0

    def _is_sound(self) -> bool:
        evaluated = len(self.as_is) > 1 and len(self.calibrated) in (0, len(self.as_is))
        return bool(self.reason) or (evaluated and (self.tuned is None) == (self.statistics is None))

    @property
    def is_ours(self) -> bool:
        """Whether it is an estimator of classwise, which a comparison can hand out."""
        return self.tuned is not None or self.trained is not None

    @property
    def final(self) -> tuple[Evaluation, ...]:
        """By fold, with the power if that helps."""
        return self.calibrated if self.uses_power else self.as_is

    @cached_property
    def uses_power(self) -> bool:
        """Whether rows held out are better off with the powers of other folds; where rows are few they may not be."""
        return bool(self.calibrated) and merged(self.calibrated).log_loss < merged(self.as_is).log_loss

    @property
    def power(self) -> float | None:
        """The power that suits its posteriors, fitted on all rows held out."""
        return None if self.calibration is None else self.calibration.power

    def __repr__(self) -> str:
        outcome = self.reason or f"log loss {self.estimate('log_loss').value:.4g}"
        return f"Trial({self.name!r}: {outcome})"

    def estimate(self, measure: str, calibrated: bool | None = None) -> Estimate:
        """A measure ("error", "log_loss", "brier", "calibration_error") with its interval over folds.

        calibrated: with the power or without; None for whichever is better.
        """
        parts = self.final if calibrated is None else self.calibrated if calibrated else self.as_is
        return over_folds(parts, lambda e: float(getattr(e, measure)))

    def behind(self, other: "Trial") -> Estimate:
        """How much larger the log loss is than another's, by fold and so in pairs."""
        pairs = zip(self.final, other.final, strict=True)
        parts = [np.array([mine.losses - theirs.losses, mine.weight]) for mine, theirs in pairs]
        return over_folds(parts, lambda sums: float(sums[0] / sums[1]))


def failed(trial: Trial, problem: Exception) -> Trial:
    """Not fitted, and why: the first sentence of the error."""
    text = str(problem).strip().split("\n")[0] or type(problem).__name__
    return replace(trial, reason=text)


def try_member(trial: Trial, crossing: Crossing, calibrate: bool, step: Callable[[], None]) -> Trial:
    """A member of the family on every fold, its options chosen on the other folds."""
    start = time.perf_counter()
    model: ChoosingEstimator = trial.model
    answers = crossing.blank()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what there is to say is said when the best is fitted
        try:
            tuned = model._tune(crossing)
            folds = list(zip(crossing.each(), tuned.by_fold, strict=True))
            for (fold, _), answer in zip(folds, in_threads(_answer, folds), strict=True):
                answers[fold.rows] = answer
                step()
            trial = _described(replace(trial, tuned=tuned), crossing)
        except (ClasswiseError, np.linalg.LinAlgError) as problem:
            return failed(replace(trial, seconds=time.perf_counter() - start), problem)
    trial = evaluated(trial, answers, crossing, calibrate)
    return replace(trial, seconds=time.perf_counter() - start)


def _answer(fold_and_model: tuple[Fold, ChoosingEstimator]) -> Array:
    fold, model = fold_and_model
    return fold.log_posterior(fold.fit(model))


def try_reference(trial: Trial, crossing: Crossing, calibrate: bool, step: Callable[[], None]) -> Trial:
    """A classifier of scikit-learn's, fitted on the rows of all other folds."""
    start = time.perf_counter()
    reference: Reference | Given = trial.model
    trial, answers = replace(trial, model=reference.model), crossing.blank()
    try:
        for fold in crossing.each():
            answers[fold.rows] = reference.log_posterior(fold)
            step()
        trial = replace(trial, free_parameters=reference.count(crossing))
    except Exception as problem:  # whatever a model of somebody else's raises is the reason why it has no row
        return failed(replace(trial, seconds=time.perf_counter() - start), problem)
    trial = evaluated(trial, answers, crossing, calibrate)
    return replace(trial, seconds=time.perf_counter() - start)


def try_twin(trial: Trial, crossing: Crossing, step: Callable[[], None]) -> Trial:
    """Logistic regression, fitted on the rows of all other folds, and on all rows.

    It is not given a power: its probabilities are fitted to labels already.
    """
    start = time.perf_counter()
    twin: Twin = trial.model
    trial, answers = replace(trial, model=twin.model), crossing.blank()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what there is to say is said when the best is asked for
        try:
            for fold in crossing.each():
                answers[fold.rows] = twin.log_posterior(fold)
                step()
            trained = twin.trained(crossing)
        except (ClasswiseError, np.linalg.LinAlgError) as problem:
            return failed(replace(trial, seconds=time.perf_counter() - start), problem)
    count = (len(crossing.labels) - 1) * trained.classifier_.design.width
    trial = replace(trial, trained=trained, free_parameters=count)
    trial = evaluated(trial, answers, crossing, calibrate=False)
    return replace(trial, seconds=time.perf_counter() - start)


def _described(trial: Trial, crossing: Crossing) -> Trial:
    """Free parameters and evidence of the model of all rows: exact where it has one, else by BIC (Schwarz 1978).

    log p(rows, labels) ~ log likelihood - free parameters / 2 log n
    """
    assert trial.tuned is not None
    total = crossing.statistics.total()
    fitted = trial.tuned.plain._roughly().fit_statistics(total)
    trial = replace(trial, statistics=total)
    labels = len(total.labels) - 1
    count = fitted.classifier_.density.free_parameters + labels
    weight = float(total.weight.sum())
    log_prior = np.log(fitted.classifier_.priors, where=fitted.classifier_.priors > 0, out=np.zeros(labels + 1))
    of_labels = float(total.weight @ log_prior)
    exact = fitted.model_.log_evidence
    if exact is not None:
        counted = isinstance(fitted.priors, str) and fitted.priors == "empirical"
        evidence = exact + (_dirichlet(total.weight) if counted else of_labels)
        return replace(trial, free_parameters=count, log_evidence=float(evidence), evidence="exact")
    likelihood = _log_likelihood(fitted, crossing) + of_labels
    return replace(
        trial, free_parameters=count, log_evidence=float(likelihood - count / 2 * np.log(weight)), evidence="BIC"
    )


def _dirichlet(weight: Array) -> float:
    """log p(labels), with the class priors integrated out under a uniform prior."""
    return float(gammaln(len(weight)) - gammaln(weight.sum() + len(weight)) + gammaln(weight + 1).sum())


def _log_likelihood(fitted: Any, crossing: Crossing) -> float:
    """The sum of log p(x | own class); of complete Gaussian rows, from statistics alone."""
    density, statistics = fitted.classifier_.density, fitted.statistics_
    if isinstance(density, Gaussian) and is_complete(statistics):
        return density.log_likelihood(statistics.moments)
    total = 0.0
    for fold in crossing.each():
        log_density = fitted._apply(BayesClassifier.log_density, fold.read(fitted))
        own = np.searchsorted(fitted.classes_, crossing.labels[crossing.codes[fold.rows]])
        values = log_density[np.minimum(own, len(log_density) - 1), np.arange(len(own))]
        weights = crossing.table.weights
        total += float(values.sum() if weights is None else values @ weights[fold.rows])
    return total


def evaluated(trial: Trial, answers: Array, crossing: Crossing, calibrate: bool) -> Trial:
    """With the evaluation of its posteriors (n, g), and of the same with a power."""
    parts = list(_told(crossing))
    as_is = tuple(_evaluations(answers, crossing, parts))
    trial = replace(trial, log_posterior=answers, as_is=as_is)
    if not calibrate:
        return trial
    calibration, by_fold = out_of_fold(answers, crossing).fit_by_fold()
    calibrated = tuple(_evaluations(answers, crossing, parts, by_fold))
    return replace(trial, calibration=calibration, calibrated=calibrated)


class _Part(NamedTuple):
    """The rows of a fold that tell something, and their weights."""

    fold: int
    rows: Codes
    weights: Array


def _told(crossing: Crossing) -> Sequence[_Part]:
    """By fold; folds without any such row are left out."""
    weights = crossing.telling
    parts = (fold.rows[weights[fold.rows] > 0] for fold in crossing.each())
    return [_Part(fold, rows, weights[rows]) for fold, rows in enumerate(parts) if len(rows)]


def _evaluations(
    answers: Array, crossing: Crossing, parts: Sequence[_Part], powers: Sequence[Calibration] | None = None
) -> list[Evaluation]:
    def evaluate(part: _Part) -> Evaluation:
        scores = answers[part.rows] if powers is None else powers[part.fold].power * answers[part.rows]
        return Evaluation.of(scores, crossing.codes[part.rows], crossing.labels, part.weights)

    return list(in_threads(evaluate, parts))
