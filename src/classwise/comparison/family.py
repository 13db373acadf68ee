"""The family: every member that is compared, by name; and its discriminative twin."""

from collections.abc import Iterator

from classwise.estimators import (
    LDA,
    QDA,
    RDA,
    BayesianLogistic,
    GaussianClassifier,
    NaiveBayes,
    NearestMean,
    SummaryEstimator,
)
from classwise.rows.schema import Families

# For more classes than this, averaging over the weights of softmax takes a sample for each row.
QUICKLY_AVERAGED = 4


def family(numbers: int, missing: bool) -> dict[str, SummaryEstimator]:
    """The members that differ, for so many columns of numbers; missing: whether values are missing."""
    members = dict(_naive(numbers, missing))
    if numbers:
        members |= dict(_joint()) if numbers > 1 else dict(_alone())
        members |= dict(_separate(numbers))
    return members


def _joint() -> Iterator[tuple[str, SummaryEstimator]]:
    """Covariances between columns."""
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
    """Of a single number all structures are the same."""
    yield "LDA", LDA()
    yield "QDA", QDA()
    yield "LDA, Student-t", LDA(estimate="bayes")
    yield "RDA", RDA(shrink=0.0)


def _separate(numbers: int) -> Iterator[tuple[str, SummaryEstimator]]:
    """No covariances between columns."""
    if numbers > 1:
        yield "diagonal LDA", GaussianClassifier(structure="diagonal", share=1.0)
        yield "diagonal LDA, Student-t", GaussianClassifier(structure="diagonal", share=1.0, estimate="bayes")
        yield "spherical QDA", GaussianClassifier(structure="spherical")
        yield "spherical QDA, standardized", GaussianClassifier(structure="spherical", standardize=True)
        yield "nearest mean", NearestMean()
        yield "nearest mean, standardized", NearestMean(standardize=True)


def _naive(numbers: int, missing: bool) -> Iterator[tuple[str, SummaryEstimator]]:
    """Each column by itself."""
    yield "naive Bayes", NaiveBayes()
    if numbers:
        yield "naive Bayes, best families", NaiveBayes(families="best")
        yield "naive Bayes, Student-t", NaiveBayes(estimate="bayes")
        yield "naive Bayes, Student-t, loo", NaiveBayes(estimate="bayes", prior="loo")
    if missing:
        yield "naive Bayes, missing as a level", NaiveBayes(missing="level")


def twins(classes: int, families: Families) -> dict[str, BayesianLogistic]:
    """The boundary modeled directly: with the most probable weights, and averaged over what is believed of them."""
    # Counts are numbers to it: what is said of them beyond that is of no use.
    given = {} if isinstance(families, str) else families
    levels: Families = {key: name for key, name in given.items() if name in ("categorical", "bernoulli")} or "auto"
    models = {"logistic": BayesianLogistic(predictive="plugin", families=levels)}
    if classes <= QUICKLY_AVERAGED:
        models["logistic, averaged"] = BayesianLogistic(families=levels)
    return models


def needs_full(model: SummaryEstimator) -> bool:
    """Whether a member models covariances between columns."""
    return getattr(model, "structure", "diagonal") == "full"
