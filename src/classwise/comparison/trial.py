"""What became of one model: how good its probabilities are for rows that it had not seen."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from classwise.arrays import Array
from classwise.classifier.bayes import Calibration
from classwise.classifier.evaluation import Estimate, Evaluation, merged, over_folds
from classwise.comparison.stack import AutoClassifier
from classwise.estimators import BayesianLogistic, Tuned
from classwise.statistics import ClassStatistics
from classwise.storage import stored


@stored("Trial", loose=("log_posterior", "log_evidence"))
@dataclass(frozen=True, eq=False, repr=False)
class Trial:
    """What became of a model.

    kind: its role in words, for tables: "family", "twin" (logistic regression), "reference", "stack" or "given".
    reason: why it could not be fitted, or "". log_posterior (n, g): of rows held out, as the model has them. as_is,
    calibrated: their evaluations by fold, without and with the power; the power that is used for a fold was fitted on
    the others. statistics: of all rows, as the model needs them. trained: the model of all rows, where statistics would
    not do to make it later. evidence: "exact", "BIC", or "" where there is none.
    """

    name: str
    kind: str
    model: Any
    reason: str = ""
    tuned: Tuned | None = None
    statistics: ClassStatistics | None = None
    trained: BayesianLogistic | AutoClassifier | None = None
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
    def is_stack(self) -> bool:
        """Whether it is many models, weighed by how well they do."""
        return isinstance(self.trained, AutoClassifier)

    @property
    def is_ours(self) -> bool:
        """Whether it may win: an estimator of classwise that is one model, not many."""
        return self.tuned is not None or (self.trained is not None and not self.is_stack)

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

    def failed(self, problem: Exception | str, seconds: float = 0.0) -> "Trial":
        """Not fitted, and why: the first line of an error."""
        said = str(problem).strip().split("\n")[0] or type(problem).__name__
        return replace(self, reason=said, tuned=None, trained=None, statistics=None, seconds=seconds)
