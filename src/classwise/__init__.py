"""classwise: classify by modeling each class.

1. A statistic is a summary you can add.
2. A density is what a statistic lets us believe about a class.
3. A classifier is a prior and one density per class; a decision is a posterior and a cost.
4. An engine maps a function over chunks of rows, and adds the results (to learn) or keeps them (to predict).
"""

from classwise import datasets
from classwise.comparison import AutoClassifier, Comparison, compare
from classwise.covariance import NormalInverseWishart
from classwise.diagnostics import Diagnosis, diagnose
from classwise.errors import (
    ClasswiseError,
    DegenerateColumnWarning,
    IgnoredColumnWarning,
    MissingExtraError,
    MissingLabelWarning,
    NotAvailableError,
    SingularCovarianceError,
    SingularRowWarning,
    StatisticsError,
    StoredFileError,
    UnscorableError,
)
from classwise.estimators import LDA, QDA, RDA, Decision, GaussianClassifier, NaiveBayes, NearestMean
from classwise.evaluation import Evaluation
from classwise.statistics import ClassStatistics
from classwise.storage import load
from classwise.summarize import summarize

__version__ = "0.1.0"

__all__ = [
    "LDA",
    "QDA",
    "RDA",
    "AutoClassifier",
    "ClassStatistics",
    "ClasswiseError",
    "Comparison",
    "Decision",
    "DegenerateColumnWarning",
    "Diagnosis",
    "Evaluation",
    "GaussianClassifier",
    "IgnoredColumnWarning",
    "MissingExtraError",
    "MissingLabelWarning",
    "NaiveBayes",
    "NearestMean",
    "NormalInverseWishart",
    "NotAvailableError",
    "SingularCovarianceError",
    "SingularRowWarning",
    "StatisticsError",
    "StoredFileError",
    "UnscorableError",
    "compare",
    "datasets",
    "diagnose",
    "load",
    "summarize",
]
