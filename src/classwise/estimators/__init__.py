"""The scikit-learn interface: an estimator reads its options into a plan, fits a model, and answers with it."""

from classwise.estimators.answers import Answers, check_columns, codes_among, position_among, read_generator, read_seed
from classwise.estimators.aode import AODE
from classwise.estimators.centroids import ShrunkenCentroids
from classwise.estimators.decisions import Decision, model_within
from classwise.estimators.forest import ForestClassifier
from classwise.estimators.gaussian import GaussianClassifier
from classwise.estimators.generative import GenerativeAnswers, NegativeLogLikelihood
from classwise.estimators.logistic import BayesianLogistic
from classwise.estimators.mixture import MixtureClassifier
from classwise.estimators.naive_bayes import NaiveBayes
from classwise.estimators.named import LDA, QDA, RDA, NearestMean
from classwise.estimators.robust import RobustClassifier
from classwise.estimators.subspace import HDDA
from classwise.estimators.summary import SummaryEstimator, Tuned, crosses
from classwise.logistic import warn_of_imputed

__all__ = [
    "AODE",
    "HDDA",
    "LDA",
    "QDA",
    "RDA",
    "Answers",
    "BayesianLogistic",
    "Decision",
    "ForestClassifier",
    "GaussianClassifier",
    "GenerativeAnswers",
    "MixtureClassifier",
    "NaiveBayes",
    "NearestMean",
    "NegativeLogLikelihood",
    "RobustClassifier",
    "ShrunkenCentroids",
    "SummaryEstimator",
    "Tuned",
    "check_columns",
    "codes_among",
    "crosses",
    "model_within",
    "position_among",
    "read_generator",
    "read_seed",
    "warn_of_imputed",
]
