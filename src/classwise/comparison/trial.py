"""The trial of one model: how good its probabilities are for rows that it had not seen, and its evidence."""

from collections.abc import Callable
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

# What a trial has for a kind where the model was given by the caller.
GIVEN = "given"

# What models can be ranked by: sums over rows, which are divided by their weight. "cost" is the fourth.
SUMS: dict[str, Callable[[Evaluation], float]] = {
    "log_loss": lambda rows: rows.losses,
    "error": lambda rows: rows.weight - float(np.trace(rows.confusion)),
    "brier": lambda rows: rows.scores,
}


@stored("Trial", loose=("log_posterior", "log_evidence"))
@dataclass(frozen=True, eq=False, repr=False)
class Trial:
    """What became of a model.

    kind: its role in words, for tables: "family", "logistic", "reference", "stack" or "given".
    reason: why it could not be fitted, or "". log_posterior (n, g): of rows held out, as the model has them. as_is,
    calibrated: their evaluations by fold, without and with the temperature; that of a fold was fitted on the others.
    statistics: of all rows, as the model needs them. trained: the model of all rows, where statistics would not do to
    make it later. evidence: "exact", "BIC", or "" where there is none. costs, calibrated_costs: what the
    decisions of least expected cost did cost, by fold, where costs were given. is_late: whether it was left out because
    it would have taken too long; seconds are then what it was expected to take.
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
        """Whether the caller brought it along: what it is called then says nothing of what it is."""
        return self.kind == GIVEN

    @property
    def title(self) -> str:
        """The name that people read."""
        return self.name if self.is_given else plain(self.name)

    @property
    def group(self) -> str:
        """The kind of model that a short answer has one line for; one that was given is a kind of its own."""
        return f"{GIVEN}: {self.name}" if self.is_given else kind_of(self.name)

    @property
    def is_stack(self) -> bool:
        """Whether it is many models, weighed by how well they do."""
        return isinstance(self.trained, AutoClassifier)

    @property
    def may_win(self) -> bool:
        """Whether it can be had, fitted on all rows: references are yardsticks, and cannot."""
        return self.tuned is not None or self.trained is not None

    @property
    def final(self) -> tuple[Evaluation, ...]:
        """By fold, with the temperature if that helps."""
        return self.calibrated if self.uses_power else self.as_is

    @cached_property
    def uses_power(self) -> bool:
        """Whether rows held out are better off with the temperatures of other folds; few rows may not be."""
        return bool(self.calibrated) and merged(self.calibrated).log_loss < merged(self.as_is).log_loss

    @property
    def power(self) -> float | None:
        """The power that suits its posteriors, fitted on all rows held out: one over the temperature."""
        return None if self.calibration is None else self.calibration.power

    @property
    def temperature(self) -> float | None:
        """The temperature that suits its posteriors: above 1 where the model was too sure."""
        return None if self.power is None else 1 / self.power

    def __repr__(self) -> str:
        outcome = self.reason or f"log loss {self.estimate('log_loss').value:.4g}"
        return f"Trial({self.name!r}: {outcome})"

    def estimate(self, measure: str, calibrated: bool | None = None) -> Estimate:
        """A measure ("error", "log_loss", "brier", "calibration_error", "cost") with its interval over folds.

        calibrated: with the temperature or without; None for whichever is better.
        """
        if measure == "cost":
            return over_folds(self._sums("cost"), _mean)
        parts = self.final if calibrated is None else self.calibrated if calibrated else self.as_is
        return over_folds(parts, lambda e: float(getattr(e, measure)))

    @property
    def accuracy_interval(self) -> tuple[float, float]:
        """95 %: Wilson's, or that of the folds where they differ more than chance would make rows differ, as groups
        do.
        """
        error, wilson = self.estimate("error"), merged(self.final).accuracy_interval
        return max(min(wilson.low, 1 - error.high), 0.0), min(max(wilson.high, 1 - error.low), 1.0)

    def above(self, other: "Trial", by: str = "log_loss") -> Estimate:
        """How much larger the log loss, or another measure, is than another's, by fold and so in pairs."""
        pairs = zip(self._sums(by), other._sums(by), strict=True)
        return over_folds([np.array([mine[0] - theirs[0], mine[1]]) for mine, theirs in pairs], _mean)

    def _sums(self, by: str) -> list[Array]:
        """The sum over the rows of each fold, and their weight."""
        paid = self.calibrated_costs if self.uses_power else self.costs
        sums = paid if by == "cost" else [SUMS[by](part) for part in self.final]
        return [np.array([value, part.weight]) for value, part in zip(sums, self.final, strict=True)]

    def failed(self, problem: Exception | str, seconds: float = 0.0) -> "Trial":
        """Not fitted, and why: the first line of an error."""
        said = str(problem).strip().split("\n")[0] or type(problem).__name__
        return replace(self, reason=said, tuned=None, trained=None, statistics=None, seconds=seconds)


def simplicity(trial: Trial) -> float:
    """Fewer parameters are simpler; a model that does not count them is the least simple."""
    return np.inf if trial.free_parameters is None else float(trial.free_parameters)


def _mean(sums: Array) -> float:
    return float(sums[0] / sums[1])


# How many parameters it has, and how probable it makes all rows and labels: exactly, or as BIC has it -----------------


def described(trial: Trial, fit: Fit) -> Trial:
    """With free parameters and evidence of the model of all rows, as far as their statistics tell."""
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
    """With the evidence as BIC has it (Schwarz 1978), from the log likelihood of the rows, given their labels.

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
