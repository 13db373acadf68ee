"""Bayesian logistic regression as an estimator: learning from tables and sources, beliefs, answers, options."""

from classwise.estimators.logistic.columns import warn_of_imputed as warn_of_imputed
from classwise.estimators.logistic.estimator import BayesianLogistic as BayesianLogistic
