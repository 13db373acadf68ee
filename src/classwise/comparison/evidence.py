"""How many parameters a model has, and how probable it makes all rows and labels: exactly, or as BIC has it."""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import gammaln

from classwise.arrays import Array, Codes
from classwise.classifier.bayes import BayesClassifier
from classwise.comparison.trial import Trial
from classwise.densities import Gaussian
from classwise.selection.crossing import Crossing, Fold, is_complete
from classwise.statistics import ClassStatistics


def described(trial: Trial, crossing: Crossing) -> Trial:
    """Free parameters and evidence of the model of all rows."""
    trial, fitted = summed_up(trial, crossing.statistics.total())
    return trial if trial.evidence else by_bic(trial, fitted, _log_likelihood(fitted, crossing))


def summed_up(trial: Trial, total: ClassStatistics) -> tuple[Trial, Any]:
    """With free parameters and evidence of the model of all rows, as far as statistics tell, and that model."""
    assert trial.tuned is not None
    fitted = trial.tuned.plain._plan().roughly().fit(total)
    count = fitted.model.classifier.density.free_parameters + len(total.labels) - 1
    trial = replace(trial, statistics=total, free_parameters=count)
    exact = fitted.model.log_evidence
    if exact is not None:
        priors = fitted.plan.priors
        counted = priors is None or (isinstance(priors, str) and priors == "empirical")
        evidence = exact + (_dirichlet(total.weight) if counted else _of_labels(fitted, total))
        return replace(trial, log_evidence=float(evidence), evidence="exact"), fitted
    density = fitted.model.classifier.density
    if isinstance(density, Gaussian) and is_complete(fitted.statistics):
        return by_bic(trial, fitted, density.log_likelihood(fitted.statistics.moments)), fitted
    return trial, fitted


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
    priors = fitted.model.classifier.priors
    return float(total.weight @ np.log(priors, where=priors > 0, out=np.zeros(len(priors))))


def _dirichlet(weight: Array) -> float:
    """log p(labels), with the class priors integrated out under a uniform prior."""
    return float(gammaln(len(weight)) - gammaln(weight.sum() + len(weight)) + gammaln(weight + 1).sum())


def _log_likelihood(fitted: Any, crossing: Crossing) -> float:
    """The sum of log p(x | own class) over all rows."""
    weights = crossing.table.weights
    parts = (own_densities(fitted, fold, crossing.codes[fold.rows]) for fold in crossing.each())
    pairs = zip(parts, crossing.each(), strict=True)
    return float(sum(part.sum() if weights is None else part @ weights[fold.rows] for part, fold in pairs))


def own_densities(fitted: Any, fold: Fold, codes: Codes) -> Array:
    """log p(x | own class) of the rows of a fold, whose classes are codes; (m,)."""
    log_density = fitted.apply(BayesClassifier.log_density, fold.read(fitted))
    own = np.searchsorted(fitted.labels, fold.crossing.labels[codes])
    return np.asarray(log_density[np.minimum(own, len(log_density) - 1), np.arange(len(own))])
