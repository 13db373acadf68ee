"""The family of models in a comparison, by name, and how they become candidates; and logistic regression."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from classwise import limits
from classwise.arrays import Array
from classwise.classifier.bayes import BayesClassifier
from classwise.classifier.plan import Fit
from classwise.comparison.candidates import Candidate, HeldOut, Size
from classwise.comparison.trial import Trial, described
from classwise.estimators import (
    LDA,
    QDA,
    RDA,
    BayesianLogistic,
    GaussianClassifier,
    NaiveBayes,
    NearestMean,
    SummaryEstimator,
    Tuned,
)
from classwise.estimators.plans import adopted, open_choices, plan_of, tuned
from classwise.rows.schema import Families
from classwise.selection import first_pass
from classwise.selection.crossing import Crossing
from classwise.selection.first_pass import Reading
from classwise.statistics import DiagonalScatter

# With more classes than this, averaging over the weights of softmax needs a sample for each row.
QUICKLY_AVERAGED = 4


def family(numbers: int, missing: bool) -> dict[str, SummaryEstimator]:
    """The distinct members for this many columns of numbers; missing: whether values are missing."""
    members = dict(_naive(numbers, missing))
    if numbers:
        members |= dict(_joint()) if numbers > 1 else dict(_alone())
        members |= dict(_separate(numbers))
    return members


def _joint() -> Iterator[tuple[str, SummaryEstimator]]:
    """Members with covariances between columns."""
    yield "LDA", LDA()
    yield "LDA, OAS", LDA(shrink="oas")
    yield "LDA, OAS, standardized", LDA(shrink="oas", standardize=True)
    yield "LDA, Ledoit-Wolf", LDA(shrink="ledoit-wolf")
    yield "QDA", QDA()
    yield "QDA, OAS", QDA(shrink="oas")
    yield "QDA, OAS, standardized", QDA(shrink="oas", standardize=True)
    yield "RDA", RDA()
    yield "RDA, standardized", RDA(standardize=True)
    yield "LDA, Student-t", LDA(estimate="bayes")
    yield "QDA, Student-t", QDA(estimate="bayes")
    yield "QDA, Student-t, evidence", QDA(estimate="bayes", prior="evidence")
    yield "QDA, Student-t, loo", QDA(estimate="bayes", prior="loo")


def _alone() -> Iterator[tuple[str, SummaryEstimator]]:
    """Members for a single column of numbers, for which all structures are the same."""
    yield "LDA", LDA()
    yield "QDA", QDA()
    yield "LDA, Student-t", LDA(estimate="bayes")
    yield "RDA", RDA(shrink=0.0)


def _separate(numbers: int) -> Iterator[tuple[str, SummaryEstimator]]:
    """Members without covariances between columns."""
    if numbers > 1:
        yield "diagonal LDA", GaussianClassifier(structure="diagonal", share=1.0)
        yield "diagonal LDA, Student-t", GaussianClassifier(structure="diagonal", share=1.0, estimate="bayes")
        yield "spherical QDA", GaussianClassifier(structure="spherical")
        yield "spherical QDA, standardized", GaussianClassifier(structure="spherical", standardize=True)
        yield "nearest mean", NearestMean()
        yield "nearest mean, standardized", NearestMean(standardize=True)


def _naive(numbers: int, missing: bool) -> Iterator[tuple[str, SummaryEstimator]]:
    """Naive Bayes members, which model each column independently."""
    yield "naive Bayes", NaiveBayes()
    if numbers:
        yield "naive Bayes, best families", NaiveBayes(families="best")
        yield "naive Bayes, Student-t", NaiveBayes(estimate="bayes")
        yield "naive Bayes, Student-t, loo", NaiveBayes(estimate="bayes", prior="loo")
    if missing:
        yield "naive Bayes, missing as a level", NaiveBayes(missing="level")


def logistic_models(classes: int, families: Families) -> dict[str, BayesianLogistic]:
    """Logistic regression, with the most probable weights and averaged over their posterior."""
    # It treats counts as numbers, so that families of counts are dropped.
    given = {} if isinstance(families, str) else families
    levels: Families = {key: name for key, name in given.items() if name in ("categorical", "bernoulli")} or "auto"
    models = {"logistic": BayesianLogistic(predictive="plugin", families=levels)}
    if classes <= QUICKLY_AVERAGED:
        models["logistic, averaged"] = BayesianLogistic(families=levels)
    return models


# Members as candidates ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FamilyMember(Candidate):
    """An estimator that learns from statistics. tuned: its options, chosen for each fold on the others; whole: the
    model of all rows, from which EM for missing values starts in every fold.

    With a stream, its options are chosen on a sample, and its covariances are those of all rows.
    """

    role = "family"
    in_threads = True
    takes_device = True

    tuned: Tuned | None = None
    whole: Fit | None = None

    def reading(self, families: Any) -> Reading:
        own = self.model.families
        is_auto = isinstance(own, str) and own == "auto"  # it follows the families of the comparison
        return super().reading(families) if is_auto else Reading(own, self._needs_full)

    def refusal(self, size: Size) -> str:
        if not self._needs_full or size.covariances <= first_pass.MOST_BYTES:
            return ""
        return f"Covariances by fold and class would take {size.covariances / 1e9:.1f} GB."

    def seconds(self, size: Size) -> float:
        if size.is_streamed or self.is_given:  # a stream is read in any case
            return 0.0
        searched = limits.FAMILY_SEARCHES if open_choices(self.model) else 1
        seconds = limits.FAMILY_SECONDS * searched * size.rows * size.columns * size.classes
        return seconds + (self._gap_seconds(size, searched) if self._needs_full else 0.0)

    def _gap_seconds(self, size: Size, searched: int) -> float:
        """Seconds of EM for missing values, in every fold and for all rows, and more if options are chosen."""
        if not size.gaps:
            return 0.0
        covariances = 1 if self.model.share == 1 else size.classes
        once = limits.GAP_SECONDS + limits.GAP_GROUP_SECONDS * size.gaps * size.numbers**2
        once += limits.GAP_COVARIANCE_SECONDS * covariances * size.numbers**3
        return (size.folds + 1) * once * (limits.GAP_SEARCHES if searched > 1 else 1)

    @property
    def is_in_pieces(self) -> bool:
        """Not where a grid is searched: then most of the time goes to passes over the rows."""
        is_searched = isinstance(self.model, GaussianClassifier) and "cv" in (self.model.share, self.model.shrink)
        return not self.is_given and not is_searched

    @property
    def _needs_full(self) -> bool:
        """Whether it models covariances between columns."""
        return isinstance(self.model, GaussianClassifier) and plan_of(self.model).form is not DiagonalScatter

    def prepared(self, crossing: Crossing, X: Any) -> "FamilyMember":
        choices = tuned(self.model, crossing)
        # A model that cannot be fitted to all rows fails here, before any fold is tried.
        return replace(self, tuned=choices, whole=plan_of(choices.plain).roughly().fit(crossing.statistics.total()))

    def fit(self, held: HeldOut) -> Any:
        assert self.tuned is not None
        assert self.whole is not None
        return held.fold.fit(plan_of(self.tuned.by_fold[held.number]).starting_at(self.whole.model.completion))

    def log_posterior(self, fitted: Any, held: HeldOut) -> Array:
        return held.fold.log_posterior(fitted)

    def described(self, trial: Trial, crossing: Crossing) -> tuple[Trial, Any]:
        assert self.whole is not None
        trial = described(replace(trial, tuned=self.tuned), self.whole)
        return trial, None if trial.evidence else self.whole

    def own_log_density(self, whole: Any, held: HeldOut) -> Array:
        log_density = whole.apply(BayesClassifier.log_density, held.fold.read(whole))
        own = np.searchsorted(whole.labels, held.fold.crossing.labels[held.codes])
        return np.asarray(log_density[np.minimum(own, len(log_density) - 1), np.arange(len(own))])

    @staticmethod
    def fitted(trial: Trial) -> Any:
        """The model of all rows, with the options chosen in its trial."""
        assert trial.tuned is not None
        assert trial.statistics is not None
        model = clone(trial.model)
        model.set_params(calibrate="temperature" if trial.uses_power else None)
        return adopted(model, trial.tuned, trial.calibration if trial.uses_power else None, trial.statistics)
