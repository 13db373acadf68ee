"""The scikit-learn surface: thin, one idea per file."""

from classwise.estimators.answers import NegativeLogLikelihood
from classwise.estimators.base import BayesEstimator
from classwise.estimators.choosing import ChoosingEstimator, Tuned, out_of_fold
from classwise.estimators.crossing import Crossing, Fold, is_complete
from classwise.estimators.deciding import Decision
from classwise.estimators.fitted import required
from classwise.estimators.gaussian import GaussianClassifier
from classwise.estimators.logistic import BayesianLogistic
from classwise.estimators.logistic_columns import warn_of_imputed
from classwise.estimators.naive_bayes import NaiveBayes
from classwise.estimators.named import LDA, QDA, RDA, NearestMean

__all__ = [
    "LDA",
    "QDA",
    "RDA",
    "BayesEstimator",
    "BayesianLogistic",
    "ChoosingEstimator",
    "Crossing",
    "Decision",
    "Fold",
    "GaussianClassifier",
    "NaiveBayes",
    "NearestMean",
    "NegativeLogLikelihood",
    "Tuned",
    "is_complete",
    "out_of_fold",
    "required",
    "warn_of_imputed",
]
