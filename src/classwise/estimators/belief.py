"""Full Bayes for columns of numbers: from statistics and a prior to the density of the next row."""

from typing import Any

import numpy as np

from classwise.covariance import (
    TOLERANCE,
    Completion,
    Conjugate,
    Covariance,
    FullCovariance,
    Parameters,
    complete_by,
    log_evidence,
    most_probable_form,
    read_prior,
    refuse_never_seen,
)
from classwise.densities import predictive
from classwise.estimators.blocks import GaussianFit
from classwise.statistics import ClassStatistics


def believe(
    statistics: ClassStatistics, structure: type[Covariance], shared: bool, prior: Any, tolerance: float = TOLERANCE
) -> GaussianFit:
    """The Student-t density of each class; rows with gaps are completed at the most probable mean and covariance.

    tolerance: where EM stops.
    """
    completion, remarks = None, []
    if structure is FullCovariance:
        refuse_never_seen(statistics, statistics.numbers.present_weight())
        if isinstance(prior, str) and prior == "evidence" and len(statistics.numbers.gaps):
            # The strength that suits the rows as a weaker prior completes them: sought once, not in every step of EM.
            weakly = complete_to_mode(statistics, shared, "weak", tolerance)
            prior = most_probable_form(weakly.statistics.denoised(), structure, shared)
        completion = complete_to_mode(statistics, shared, prior, tolerance)
        remarks = [] if completion.converged else [f"stopped EM for missing values early: {completion}"]
        statistics = completion.statistics
    elif len(statistics.numbers.gaps):
        statistics = statistics.by_column()
    statistics = statistics.denoised()
    before = read_prior(prior, statistics, structure, shared)
    density = predictive(before.updated(statistics, shared))
    # An improper prior has no evidence, and completed rows only an approximate one.
    closed = before.kappa > 0 and not (completion and completion.iterations)
    return GaussianFit(density, remarks, completion, log_evidence(before, statistics, shared) if closed else None)


def complete_to_mode(statistics: ClassStatistics, shared: bool, prior: Any, tolerance: float = TOLERANCE) -> Completion:
    """EM to the mode of the posterior, under the prior that the completed rows suggest."""

    def mode(full: ClassStatistics) -> Parameters:
        posterior = read_prior(prior, full, FullCovariance, shared).updated(full, shared)
        return Parameters(posterior.means, posterior.scale / _mode_divisor(posterior))

    return complete_by(statistics, mode, tolerance)


def _mode_divisor(posterior: Conjugate) -> Any:
    """nu + p + 2: the joint mode of mean and covariance is at mean and scale over this."""
    return np.asarray(posterior.freedom() + posterior.features + 2)[:, :, None]
