"""The scikit-learn surface: thin, one idea per file."""

from classwise.estimators.answers import NegativeLogLikelihood
from classwise.estimators.base import BayesEstimator
from classwise.estimators.gaussian import GaussianClassifier
from classwise.estimators.naive_bayes import NaiveBayes
from classwise.estimators.named import LDA, QDA, RDA, NearestMean

__all__ = [
    "LDA",
    "QDA",
    "RDA",
    "BayesEstimator",
    "GaussianClassifier",
    "NaiveBayes",
    "NearestMean",
    "NegativeLogLikelihood",
]
