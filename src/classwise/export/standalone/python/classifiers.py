"""Classifiers: log P(k | x) of rows (n, p); (n, g)."""

from typing import Any

from classwise.export.standalone.python.densities import log_density
from classwise.export.standalone.python.numbers import array, level_ties, log_normalize, log_sum_exp

CLASSIFIERS: dict[str, Any] = {}


def log_posterior(classifier: dict[str, Any], rows: Any) -> Any:
    """log P(k | x); (n, g)."""
    return CLASSIFIERS[classifier["kind"]](classifier, rows)


def bayes(classifier: dict[str, Any], rows: Any) -> Any:
    """log prior + log density, normalized; to a power, if posteriors are calibrated."""
    scores = level_ties(log_density(classifier["density"], rows)[0] + array(classifier["log_prior"]))
    return log_normalize(level_ties(classifier["power"] * scores + array(classifier["shift"])))


def log_evidence(classifier: dict[str, Any], rows: Any) -> Any:
    """log p(x); (n,)."""
    relative, common = log_density(classifier["density"], rows)
    return log_sum_exp(level_ties(relative + array(classifier["log_prior"])), 1) + common


CLASSIFIERS.update(bayes=bayes)
