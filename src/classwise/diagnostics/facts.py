"""What a diagnosis has found, decided once: every sentence is derived from these facts, so that no two disagree. What
became of models on held-out rows is part of it: who did better, and which classes they mistake.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Self, TypeAlias

import numpy as np

from classwise.classifier.evaluation import DEVIATIONS, Evaluation
from classwise.diagnostics.advice import FEW, ILL, LEVEL, NEGLIGIBLE, NOTABLE, WEAK
from classwise.diagnostics.equality import Equality
from classwise.diagnostics.normality import MILD_KURTOSIS, Normality, rejected
from classwise.diagnostics.overlap import Overlap
from classwise.diagnostics.spectrum import Spectrum
from classwise.errors import ClasswiseError

# Held-out rows --------------------------------------------------------------------------------------------------------


# A difference of log loss below this does not matter, and is not reported.
WORTH = 0.01


class Result(NamedTuple):
    """The best model of a kind: its log loss, and the standard error of that."""

    name: str
    loss: float
    error: float

    def beats(self, other: "Result | None") -> bool:
        """Whether it is better by more than chance and by enough to matter."""
        return other is not None and other.loss - self.loss > max(WORTH, float(np.hypot(self.error, other.error)))


class Mistaken(NamedTuple):
    """The share of the rows of two classes that a model takes for the other class, its standard error, their weight."""

    share: float
    error: float
    weight: float


@dataclass(frozen=True, eq=False)
class Outcome:
    """Evaluations by the name of a model, as `compare` calls them; the first is the model that was chosen."""

    evaluations: Mapping[str, Evaluation]

    @classmethod
    def read(cls, held_out: Mapping[str, Evaluation] | None) -> Self | None:
        """None where there is nothing to read."""
        if held_out is None:
            return None
        if not (isinstance(held_out, Mapping) and all(isinstance(e, Evaluation) for e in held_out.values())):
            raise ClasswiseError(
                "held_out is a mapping of names of models to their evaluations on held-out rows, such as "
                "`comparison.evaluations` or {'LDA': m.evaluate(X_test, y_test)}."
            )
        return cls(held_out) if held_out else None

    @property
    def winner(self) -> str:
        return next(iter(self.evaluations))

    def best(self, *kinds: str) -> Result | None:
        """The best model of these kinds: "LDA" is LDA, and LDA shrunk in whatever way."""
        results = [_result(name, e) for name, e in self.evaluations.items() if any(is_of(name, kind) for kind in kinds)]
        return min(results, key=lambda result: result.loss, default=None)

    def preferred(self, *kinds: str) -> Result | None:
        """The winner, if it is of these kinds, or else the best of them."""
        own = any(is_of(self.winner, kind) for kind in kinds)
        return _result(self.winner, self.evaluations[self.winner]) if own else self.best(*kinds)

    def mistaken(self, first: Any, second: Any, name: str | None = None) -> Mistaken | None:
        """The rows of two classes that a model, the winner unless named, takes for the other of them."""
        evaluation = self.evaluations[name or self.winner]
        labels = evaluation.labels.tolist()
        if first not in labels or second not in labels:
            return None
        pair = [labels.index(first), labels.index(second)]
        weight = float(evaluation.support[pair].sum())
        if weight <= 0:
            return None
        confused = evaluation.confusion[np.ix_(pair, pair)]
        mistaken = float(confused[0, 1] + confused[1, 0])
        share = mistaken / weight
        # Of few rows none may be mistaken by chance alone: one more is allowed for.
        return Mistaken(share, float(np.sqrt(max(share * (1 - share), 1 / weight) / weight)), mistaken)


def is_of(name: str, kind: str) -> bool:
    """Whether a model is of a kind; "plain LDA" is LDA as it is.

    >>> is_of("LDA, OAS", "LDA"), is_of("diagonal LDA", "LDA"), is_of("LDA, OAS", "plain LDA")
    (True, False, False)
    """
    return name == kind.removeprefix("plain ") or name.startswith(f"{kind},")


def _result(name: str, evaluation: Evaluation) -> Result:
    interval = evaluation.log_loss_interval
    error = (interval.high - evaluation.log_loss) / DEVIATIONS
    return Result(name, evaluation.log_loss, error if np.isfinite(error) else 0.0)


# All facts ------------------------------------------------------------------------------------------------------------


# "costly": they differ, but by less than estimating one for each class costs. "unclear": no difference shows, and none
# could. "unknown": not even two classes have a covariance with an inverse.
Covariances: TypeAlias = Literal["differ", "costly", "alike", "unclear", "unknown"]

# "singular": even the shared covariance has no inverse.
Rows: TypeAlias = Literal["enough", "few for own", "few for shared", "singular"]


@dataclass(frozen=True, eq=False)
class NumberFacts:
    """Of the columns of numbers. few: classes with few rows for a covariance of their own.

    heavy, light, lopsided: how classes deviate from Gaussians, by so much that it matters; mild: by less. blind: whose
    rows could not show it. follow: names of columns that follow from others.
    """

    equality: Equality | None
    tests: tuple[Normality, ...]
    pooled: Spectrum
    own: tuple[Spectrum, ...]
    follow: tuple[str, ...] = ()

    @property
    def covariances(self) -> Covariances:
        box = self.equality
        if box is None:
            return "unknown"
        if box.p_value >= LEVEL:
            return "unclear" if box.power < WEAK else "alike"
        if box.difference < NEGLIGIBLE:
            return "alike"
        return "costly" if box.difference <= box.cost else "differ"

    @property
    def rows(self) -> Rows:
        if not self.pooled.is_regular:
            return "singular"
        if self.pooled.rows_per_parameter < FEW:
            return "few for shared"
        return "few for own" if self.few else "enough"

    @property
    def few(self) -> list[Any]:
        return [s.label for s in self.own if not s.is_regular or s.rows_per_parameter < FEW]

    @property
    def strong(self) -> list[Normality]:
        """The classes that are so far from Gaussian that it matters."""
        return [test for test in rejected(self.tests) if not test.is_mild]

    @property
    def heavy(self) -> list[Any]:
        return [test.label for test in self.strong if test.ratio > 1 + MILD_KURTOSIS]

    @property
    def light(self) -> list[Any]:
        return [test.label for test in self.strong if test.ratio < 1 - MILD_KURTOSIS]

    @property
    def lopsided(self) -> list[Any]:
        return [test.label for test in self.strong if abs(test.ratio - 1) <= MILD_KURTOSIS]

    @property
    def mild(self) -> list[Any]:
        return [test.label for test in rejected(self.tests) if test.is_mild]

    @property
    def is_gaussian(self) -> bool:
        """Whether every class could be tested, and is near enough to a Gaussian."""
        return not self.strong and not any(test.is_blind for test in self.tests)

    @property
    def repeats(self) -> bool:
        """Whether columns say much the same."""
        return self.pooled.condition > ILL or self.pooled.effective_rank < self.pooled.features / 2

    @property
    def are_unrelated(self) -> bool:
        """Whether columns hardly vary together, in no class."""
        return self.pooled.features > 1 and all(s.dependence < NEGLIGIBLE for s in (self.pooled, *self.own))

    @property
    def vary_together(self) -> bool:
        return self.pooled.features > 1 and self.pooled.dependence >= NOTABLE

    @property
    def suited(self) -> tuple[str, ...]:
        """The kinds of models that fit all this: what every sentence advises."""
        if self.rows in ("singular", "few for shared"):
            return ("RDA",)
        by_covariances: dict[Covariances, tuple[str, ...]] = {
            "alike": ("LDA",),
            "costly": ("RDA",),
            "differ": ("QDA", "RDA") if self.rows == "enough" and self.is_gaussian else ("RDA",),
            "unclear": ("LDA", "RDA"),
            "unknown": ("LDA",),
        }
        return by_covariances[self.covariances]


@dataclass(frozen=True, eq=False)
class Facts:
    """All that advice is derived from. numbers: None where no column of numbers could be looked at."""

    pairs: Sequence[Overlap]
    numbers: NumberFacts | None
    outcome: Outcome | None

    @property
    def are_together(self) -> bool:
        """Whether several columns of numbers were looked at together."""
        return self.numbers is not None and self.numbers.pooled.features > 1
