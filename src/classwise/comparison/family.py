"""The family: every member that is compared, by name."""

from collections.abc import Iterator

from classwise.estimators import LDA, QDA, RDA, ChoosingEstimator, GaussianClassifier, NaiveBayes, NearestMean


def family(numbers: int, missing: bool) -> dict[str, ChoosingEstimator]:
    """The members that differ, for so many columns of numbers; missing: whether values are missing."""
    members = dict(_naive(numbers, missing))
    if numbers:
        members |= dict(_joint()) if numbers > 1 else dict(_alone())
        members |= dict(_separate(numbers))
    return members


def _joint() -> Iterator[tuple[str, ChoosingEstimator]]:
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


def _alone() -> Iterator[tuple[str, ChoosingEstimator]]:
    """Of a single number all structures are the same."""
    yield "LDA", LDA()
    yield "QDA", QDA()
    yield "LDA, Student-t", LDA(estimate="bayes")
    yield "RDA", RDA(shrink=0.0)


def _separate(numbers: int) -> Iterator[tuple[str, ChoosingEstimator]]:
    """No covariances between columns."""
    if numbers > 1:
        yield "diagonal LDA", GaussianClassifier(structure="diagonal", share=1.0)
        yield "diagonal LDA, Student-t", GaussianClassifier(structure="diagonal", share=1.0, estimate="bayes")
        yield "spherical QDA", GaussianClassifier(structure="spherical")
        yield "spherical QDA, standardized", GaussianClassifier(structure="spherical", standardize=True)
        yield "nearest mean", NearestMean()
        yield "nearest mean, standardized", NearestMean(standardize=True)


def _naive(numbers: int, missing: bool) -> Iterator[tuple[str, ChoosingEstimator]]:
    """Each column by itself."""
    yield "naive Bayes", NaiveBayes()
    if numbers:
        yield "naive Bayes, best families", NaiveBayes(families="best")
        yield "naive Bayes, Student-t", NaiveBayes(estimate="bayes")
        yield "naive Bayes, Student-t, loo", NaiveBayes(estimate="bayes", prior="loo")
    if missing:
        yield "naive Bayes, missing as a level", NaiveBayes(missing="level")


def needs_full(model: ChoosingEstimator) -> bool:
    """Whether a member models covariances between columns."""
    return getattr(model, "structure", "diagonal") == "full"
