"""The discriminative twin: P(label | x) itself is modeled, and the weights of its scores have a posterior.

score = V z;  P(label | score) by logit, probit or softmax;  V ~ N(0, 1 / precision);  predict by averaging over V
"""

from classwise.logistic.approach import Near, approach_mode, refine
from classwise.logistic.classifier import PREDICTIVES, LogisticClassifier
from classwise.logistic.design import Design, is_direct, make_design, spread_of_numbers
from classwise.logistic.evidence import Groups, best_values, first_values, log_evidence, most_probable
from classwise.logistic.gathering import Model
from classwise.logistic.gibbs import Chain, Diagnostics, diagnose_chains, draw_chain
from classwise.logistic.likelihood import Likelihood, Logit, Probit, Softmax
from classwise.logistic.newton import Mode, Point, find_mode, settled
from classwise.logistic.posterior import Draws, Laplace, Posterior, refuse_flat
from classwise.logistic.variational import Nearest, nearest_gaussian

__all__ = [
    "PREDICTIVES",
    "Chain",
    "Design",
    "Diagnostics",
    "Draws",
    "Groups",
    "Laplace",
    "Likelihood",
    "LogisticClassifier",
    "Logit",
    "Mode",
    "Model",
    "Near",
    "Nearest",
    "Point",
    "Posterior",
    "Probit",
    "Softmax",
    "approach_mode",
    "best_values",
    "diagnose_chains",
    "draw_chain",
    "find_mode",
    "first_values",
    "is_direct",
    "log_evidence",
    "make_design",
    "most_probable",
    "nearest_gaussian",
    "refine",
    "refuse_flat",
    "settled",
    "spread_of_numbers",
]
