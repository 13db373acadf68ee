"""The trial of one model: how good its probabilities are on held-out rows, and its evidence."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import gammaln

from classwise.arrays import Array
from classwise.classifier.bayes import Calibration
from classwise.classifier.evaluation import Estimate, Evaluation, merged, over_folds
from classwise.classifier.plan import Fit
from classwise.comparison.names import kind_of, plain
from classwise.comparison.stack import AutoClassifier
from classwise.densities import Gaussian
from classwise.estimators import Tuned
from classwise.selection.crossing import is_complete
from classwise.statistics import ClassStatistics
from classwise.storage import stored

# The kind of a trial whose model was given by the caller.
GIVEN = "given"

# The measures to rank by, as sums over rows that are divided by their weight. "cost" is a fourth measure.
SUMS: dict[str, Callable[[Evaluation], float]] = {
    "log_loss": lambda rows: rows.losses,
    "error": lambda rows: rows.weight - float(np.trace(rows.confusion)),
    "brier": lambda rows: rows.scores,
}


@stored("Trial", loose=("log_posterior", "log_evidence"))
@dataclass(frozen=True, eq=False, repr=False)
class Trial:
    """The result of one model in a comparison.

    kind: its role, for tables: "family", "logistic", "reference", "stack" or "given".
    reason: why it could not be fitted, or "".
    log_posterior (n, g): of held-out rows, without a temperature.
    as_is, calibrated: evaluations by fold, without and with a temperature, which is fitted on the other folds.
    statistics: of all rows, from which the model can be made later.
    trained: the model of all rows, if statistics are not enough to make it.
    evidence: "exact", "BIC", or "" if there is none.
    costs, calibrated_costs: the costs of the decisions of least expected cost, by fold, if costs were given.
    is_late: whether it was left out for its time; seconds is then its expected time.
    """

    name: str
    kind: str
    model: Any
    reason: str = ""
    tuned: Tuned | None = None
    statistics: ClassStatistics | None = None
    trained: Any = None
    log_posterior: Array | None = None
    as_is: tuple[Evaluation, ...] = ()
    calibrated: tuple[Evaluation, ...] = ()
    calibration: Calibration | None = None
    free_parameters: int | None = None
    log_evidence: float | None = None
    evidence: str = ""
    seconds: float = 0.0
    costs: tuple[float, ...] = ()
    calibrated_costs: tuple[float, ...] = ()
    is_late: bool = False

    def _is_sound(self) -> bool:
        evaluated = len(self.as_is) > 1 and len(self.calibrated) in (0, len(self.as_is))
        return bool(self.reason) or (evaluated and (self.tuned is None) == (self.statistics is None))

    @property
    def is_given(self) -> bool:
        """Whether the caller gave the model. Its name then says nothing about its kind."""
        return self.kind == GIVEN

    @property
    def title(self) -> str:
        """The name in plain words."""
        return self.name if self.is_given else plain(self.name)

    @property
    def group(self) -> str:
        """The kind of the model, which has one line in the short answer; a given model is its own kind."""
        return f"{GIVEN}: {self.name}" if self.is_given else kind_of(self.name)

    @property
    def is_stack(self) -> bool:
        """Whether the model is a stack (AutoClassifier)."""
        return isinstance(self.trained, AutoClassifier)

    @property
    def may_win(self) -> bool:
        """Whether the model can be returned, fitted on all rows; references cannot."""
        return self.tuned is not None or self.trained is not None

    @property
    def final(self) -> tuple[Evaluation, ...]:
        """The evaluations by fold, with a temperature if that lowers the log loss."""
        return self.calibrated if self.uses_power else self.as_is

    @cached_property
    def uses_power(self) -> bool:
        """Whether temperatures from the other folds lower the log loss; with few rows they may not."""
        return bool(self.calibrated) and merged(self.calibrated).log_loss < merged(self.as_is).log_loss

    @property
    def power(self) -> float | None:
        """The power of the posteriors (1 / temperature), fitted on all held-out rows."""
        return None if self.calibration is None else self.calibration.power

    @property
    def temperature(self) -> float | None:
        """The temperature of the posteriors, fitted on all held-out rows; above 1 if the model is overconfident."""
        return None if self.power is None else 1 / self.power

    def __repr__(self) -> str:
        outcome = self.reason or f"log loss {self.estimate('log_loss').value:.4g}"
        return f"Trial({self.name!r}: {outcome})"

    def estimate(self, measure: str, calibrated: bool | None = None) -> Estimate:
        """A measure ("error", "log_loss", "brier", "calibration_error", "cost") with its interval over folds.

        calibrated: with or without a temperature; None for the one with the lower log loss.
        """
        if measure == "cost":
            return over_folds(self._sums("cost"), _mean)
        parts = self.final if calibrated is None else self.calibrated if calibrated else self.as_is
        return over_folds(parts, lambda e: float(getattr(e, measure)))

    @property
    def accuracy_interval(self) -> tuple[float, float]:
        """The 95 % interval of the accuracy: Wilson's, extended to the interval over folds, which is wider if folds
        vary more than chance explains, as with groups.
        """
        error, wilson = self.estimate("error"), merged(self.final).accuracy_interval
        return max(min(wilson.low, 1 - error.high), 0.0), min(max(wilson.high, 1 - error.low), 1.0)

    def above(self, other: "Trial", by: str = "log_loss") -> Estimate:
        """How much the log loss, or another measure, exceeds that of another trial, from paired differences by fold."""
        pairs = zip(self._sums(by), other._sums(by), strict=True)
        return over_folds([np.array([mine[0] - theirs[0], mine[1]]) for mine, theirs in pairs], _mean)

    def _sums(self, by: str) -> list[Array]:
        """The sum over the rows of each fold, and their weight."""
        paid = self.calibrated_costs if self.uses_power else self.costs
        sums = paid if by == "cost" else [SUMS[by](part) for part in self.final]
        return [np.array([value, part.weight]) for value, part in zip(sums, self.final, strict=True)]

    def failed(self, problem: Exception | str, seconds: float = 0.0) -> "Trial":
        """The trial as failed; the reason is the first line of the error."""
        said = str(problem).strip().split("\n")[0] or type(problem).__name__
        return replace(self, reason=said, tuned=None, trained=None, statistics=None, seconds=seconds)


def ranked(trials: Iterable[Trial], by: str) -> list[Trial]:
    """The trials of models that were fitted, best first by a measure.

    Models that are the same except for rounding stay in their order, whatever the last digits are.
    """
    fitted = [trial for trial in trials if not trial.reason]
    return sorted(fitted, key=lambda trial: float(f"{trial.estimate(by).value:.9e}"))


def simplicity(trial: Trial) -> float:
    """The number of free parameters, by which models are simpler; infinite if it is unknown."""
    return np.inf if trial.free_parameters is None else float(trial.free_parameters)


def _mean(sums: Array) -> float:
    return float(sums[0] / sums[1])


# The number of parameters, and the evidence of all rows and labels: exact, or by BIC ----------------------------------


def described(trial: Trial, fit: Fit) -> Trial:
    """The trial with the free parameters of the model of all rows, and its evidence if the statistics give it."""
    density, total = fit.model.classifier.density, fit.statistics
    trial = replace(trial, statistics=total, free_parameters=density.free_parameters + len(total.labels) - 1)
    exact = fit.model.log_evidence
    if exact is not None:
        priors = fit.plan.priors
        counted = priors is None or (isinstance(priors, str) and priors == "empirical")
        evidence = exact + (_dirichlet(total.weight) if counted else _of_labels(fit, total))
        return replace(trial, log_evidence=float(evidence), evidence="exact")
    if isinstance(density, Gaussian) and is_complete(total):
        return by_bic(trial, fit, density.log_likelihood(total.moments))
    return trial


def by_bic(trial: Trial, fit: Fit, log_likelihood: float) -> Trial:
    """The trial with its evidence by BIC (Schwarz 1978), from the log likelihood of the rows given their labels.

    log p(rows, labels) ~ log likelihood - free parameters / 2 log n
    """
    assert trial.statistics is not None
    assert trial.free_parameters is not None
    weight = float(trial.statistics.weight.sum())
    likelihood = log_likelihood + _of_labels(fit, trial.statistics)
    evidence = float(likelihood - trial.free_parameters / 2 * np.log(weight))
    return replace(trial, log_evidence=evidence, evidence="BIC")


def _of_labels(fit: Fit, total: ClassStatistics) -> float:
    """log p(labels), under the class priors of the model."""
    priors = fit.model.classifier.priors
    return float(total.weight @ np.log(priors, where=priors > 0, out=np.zeros(len(priors))))


def _dirichlet(weight: Array) -> float:
    """log p(labels), with the class priors integrated out under a uniform prior."""
    return float(gammaln(len(weight)) - gammaln(weight.sum() + len(weight)) + gammaln(weight + 1).sum())
