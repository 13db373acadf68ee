"""How many parameters a model has, and how probable it makes all rows and labels: exactly, or as BIC has it."""

from dataclasses import replace

import numpy as np
from scipy.special import gammaln

from classwise.arrays import Array
from classwise.classifier.plan import Fit
from classwise.comparison.trial import Trial
from classwise.densities import Gaussian
from classwise.selection.crossing import is_complete
from classwise.statistics import ClassStatistics


def described(trial: Trial, fit: Fit) -> Trial:
    """With free parameters and evidence of the model of all rows, as far as their statistics tell."""
    density, total = fit.model.classifier.density, fit.statistics
    trial = replace(trial, statistics=total, free_parameters=density.free_parameters + len(total.labels) - 1)
    exact = fit.model.log_evidence
    if exact is not None:
        priors = fit.plan.priors
        counted = priors is None or (isinstance(priors, str) and priors == "empirical")
        evidence = exact + (_dirichlet(total.weight) if counted else _of_labels(fit, total))
        return replace(trial, log_evidence=float(evidence), evidence="exact")
    if isinstance(density, Gaussian) and is_complete(total):
        return by_bic(trial, fit, density.log_likelihood(total.moments))
    return trial


def by_bic(trial: Trial, fit: Fit, log_likelihood: float) -> Trial:
    """With the evidence as BIC has it (Schwarz 1978), from the log likelihood of the rows, given their labels.

    log p(rows, labels) ~ log likelihood - free parameters / 2 log n
    """
    assert trial.statistics is not None
    assert trial.free_parameters is not None
    weight = float(trial.statistics.weight.sum())
    likelihood = log_likelihood + _of_labels(fit, trial.statistics)
    evidence = float(likelihood - trial.free_parameters / 2 * np.log(weight))
    return replace(trial, log_evidence=evidence, evidence="BIC")


def _of_labels(fit: Fit, total: ClassStatistics) -> float:
    """log p(labels), under the class priors of the model."""
    priors = fit.model.classifier.priors
    return float(total.weight @ np.log(priors, where=priors > 0, out=np.zeros(len(priors))))


def _dirichlet(weight: Array) -> float:
    """log p(labels), with the class priors integrated out under a uniform prior."""
    return float(gammaln(len(weight)) - gammaln(weight.sum() + len(weight)) + gammaln(weight + 1).sum())
