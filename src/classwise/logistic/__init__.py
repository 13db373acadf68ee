"""Logistic regression: P(label | x) itself is modeled, and the weights of its scores have a posterior.

score = V z;  P(label | score) by logit, probit or softmax;  V ~ N(0, 1 / precision);  predict by averaging over V
"""

from classwise.logistic.design import Design, make_design
from classwise.logistic.evidence import PrecisionGroups
from classwise.logistic.gibbs import Chain, Diagnostics, diagnose_chains, draw_chain
from classwise.logistic.likelihood import Logit, Probit, Softmax
from classwise.logistic.logistic_classifier import LogisticClassifier
from classwise.logistic.logistic_model import (
    Coefficient,
    Coefficients,
    LogisticModel,
    linear_boundary,
    linear_explanation,
    warn_of_imputed,
)
from classwise.logistic.logistic_plan import MISSING, LogisticPlan, check_options
from classwise.logistic.newton import Expansion, HessianMetric
from classwise.logistic.posterior import Laplace
from classwise.logistic.regression import Regression
from classwise.logistic.training import TrainingRows, rows_in_memory, rows_of_source, rows_of_table
from classwise.logistic.variational import nearest_gaussian
from classwise.logistic.weights import WarmStart, learn

__all__ = [
    "MISSING",
    "Chain",
    "Coefficient",
    "Coefficients",
    "Design",
    "Diagnostics",
    "Expansion",
    "HessianMetric",
    "Laplace",
    "LogisticClassifier",
    "LogisticModel",
    "LogisticPlan",
    "Logit",
    "PrecisionGroups",
    "Probit",
    "Regression",
    "Softmax",
    "TrainingRows",
    "WarmStart",
    "check_options",
    "diagnose_chains",
    "draw_chain",
    "learn",
    "linear_boundary",
    "linear_explanation",
    "make_design",
    "nearest_gaussian",
    "rows_in_memory",
    "rows_of_source",
    "rows_of_table",
    "warn_of_imputed",
]
