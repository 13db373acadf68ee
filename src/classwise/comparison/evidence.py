"""How many parameters a model has, and how probable it makes all rows and labels: exactly, or as BIC has it."""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import gammaln

from classwise.arrays import Array
from classwise.comparison.trial import Trial
from classwise.densities import Gaussian
from classwise.estimators import is_complete
from classwise.statistics import ClassStatistics


def described(trial: Trial, fitted: Any, total: ClassStatistics) -> Trial:
    """With free parameters and evidence of the model of all rows, as far as their statistics tell."""
    density = fitted.classifier_.density
    trial = replace(trial, statistics=total, free_parameters=density.free_parameters + len(total.labels) - 1)
    exact = fitted.model_.log_evidence
    if exact is not None:
        counted = fitted.priors is None or (isinstance(fitted.priors, str) and fitted.priors == "empirical")
        evidence = exact + (_dirichlet(total.weight) if counted else _of_labels(fitted, total))
        return replace(trial, log_evidence=float(evidence), evidence="exact")
    if isinstance(density, Gaussian) and is_complete(fitted.statistics_):
        return by_bic(trial, fitted, density.log_likelihood(fitted.statistics_.moments))
    return trial


def by_bic(trial: Trial, fitted: Any, log_likelihood: float) -> Trial:
    """With the evidence as BIC has it (Schwarz 1978), from the log likelihood of the rows, given their labels.

    log p(rows, labels) ~ log likelihood - free parameters / 2 log n
    """
    assert trial.statistics is not None
    assert trial.free_parameters is not None
    weight = float(trial.statistics.weight.sum())
    likelihood = log_likelihood + _of_labels(fitted, trial.statistics)
    evidence = float(likelihood - trial.free_parameters / 2 * np.log(weight))
    return replace(trial, log_evidence=evidence, evidence="BIC")


def _of_labels(fitted: Any, total: ClassStatistics) -> float:
    """log p(labels), under the class priors of the model."""
    priors = fitted.classifier_.priors
    return float(total.weight @ np.log(priors, where=priors > 0, out=np.zeros(len(priors))))


def _dirichlet(weight: Array) -> float:
    """log p(labels), with the class priors integrated out under a uniform prior."""
    return float(gammaln(len(weight)) - gammaln(weight.sum() + len(weight)) + gammaln(weight + 1).sum())
