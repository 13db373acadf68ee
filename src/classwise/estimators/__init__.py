"""The scikit-learn surface: thin, one idea per file."""

from classwise.estimators.answers import NegativeLogLikelihood, read_generator, read_seed
from classwise.estimators.aode import AODE
from classwise.estimators.base import BayesEstimator, refuse_few_classes
from classwise.estimators.choosing import ChoosingEstimator, Tuned, out_of_fold
from classwise.estimators.columns import check_columns
from classwise.estimators.crossing import Crossing, Fold, is_complete
from classwise.estimators.deciding import Decision, model_within
from classwise.estimators.fitted import codes_among, position_among, required
from classwise.estimators.gaussian import GaussianClassifier
from classwise.estimators.logistic import BayesianLogistic
from classwise.estimators.mixture import MixtureClassifier
from classwise.estimators.naive_bayes import NaiveBayes
from classwise.estimators.named import LDA, QDA, RDA, NearestMean
from classwise.logistic import warn_of_imputed

__all__ = [
    "AODE",
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
    "MixtureClassifier",
    "NaiveBayes",
    "NearestMean",
    "NegativeLogLikelihood",
    "Tuned",
    "check_columns",
    "codes_among",
    "is_complete",
    "model_within",
    "out_of_fold",
    "position_among",
    "read_generator",
    "read_seed",
    "refuse_few_classes",
    "required",
    "warn_of_imputed",
]
