"""What is believed of means and covariances before the rows: the priors that have names.

weak      worth little, in the units of the data: mean at the overall mean with kappa = 0.1, nu = p + 2, and scale
          half way between the pooled covariance within classes and its diagonal, so that C is expected there
geisser   the limiting prior |C|^-(p+1)/2, improper: it needs more rows than features (Geisser 1964)
evidence  of the weak prior's form, with kappa, nu and the size of scale that make the rows most probable
cv, loo   of the weak prior's form, with the nu and the place between covariance and diagonal under which rows held
          out (in folds, or one by one) are classified best
"""

from dataclasses import dataclass
from math import exp, log
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import digamma

from classwise.arrays import Array
from classwise.covariance.conjugate import Conjugate, Hyperparameters, NormalInverseWishart, log_evidence
from classwise.covariance.structures import Covariance, DiagonalCovariance, FullCovariance, SphericalCovariance
from classwise.errors import ClasswiseError
from classwise.statistics import ClassStatistics, Moments

KAPPA = 0.1
NAMES = ("weak", "geisser", "evidence", "cv", "loo")


@dataclass(frozen=True)
class PriorForm:
    """A prior in the units of the rows it is to serve: mean at their overall mean, nu = p - 1 + freedom.

    scale = size freedom E, where E lies between the pooled covariance within classes and its diagonal.
    """

    kappa: float
    freedom: float
    size: float
    diagonal: float

    @classmethod
    def worth(cls, rows: float, diagonal: float = 0.5) -> "PriorForm":
        """C is expected at E, and that is worth so many rows: nu = p + 1 + rows."""
        return cls(KAPPA, rows + 2, rows / (rows + 2), diagonal)

    def of(self, moments: Moments) -> Hyperparameters:
        """For these rows."""
        scale = self.size * self.freedom * expected_covariance(moments, self.diagonal)
        nu = moments.mean.shape[1] - 1 + self.freedom
        return Hyperparameters(moments.overall_mean(), self.kappa, nu, scale)


WEAK = PriorForm.worth(1.0)


def check_prior(prior: Any) -> None:
    """Refuse what is no prior, whether or not it is going to be used."""
    if not isinstance(prior, NormalInverseWishart | PriorForm) and prior not in NAMES:
        raise ClasswiseError(
            f"prior={prior!r} is not an option; choose {', '.join(map(repr, NAMES))} or a NormalInverseWishart."
        )


def read_prior(prior: Any, statistics: ClassStatistics, structure: type[Covariance], shared: bool) -> Conjugate:
    """prior: "weak", "geisser", "evidence", a NormalInverseWishart or a PriorForm."""
    if isinstance(prior, NormalInverseWishart):
        return prior.of(statistics.n_features).within(structure)
    check_prior(prior)
    if prior == "geisser":
        return limiting_prior(statistics, structure, shared)
    form = prior if isinstance(prior, PriorForm) else WEAK
    if prior == "evidence":
        form = most_probable_form(statistics, structure, shared)
    return form.of(statistics.moments).within(structure)


def expected_covariance(moments: Moments, diagonal: float = 0.5) -> Array:
    """Between the pooled covariance within classes (0) and its diagonal (1); (p, p).

    Columns that do not vary within classes have their overall variance, or 1 if they never vary.
    """
    within = moments.scatter.pooled_diagonal() / np.maximum(moments.weight.sum(axis=0), 1.0)
    overall = moments.overall_variance()
    # What is tiny beside the overall variance is rounding, or a single row in each class.
    variances = np.where(within > 1e-12 * overall, within, np.where(overall > 0, overall, 1.0))
    if moments.scatter.name == "diagonal":
        return np.diag(variances)
    pooled = moments.scatter.pooled() / float(moments.weight.sum())
    return (1 - diagonal) * np.where(np.eye(len(variances), dtype=bool), 0.0, pooled) + np.diag(variances)


def limiting_prior(statistics: ClassStatistics, structure: type[Covariance], shared: bool) -> Conjugate:
    """|C|^-(p+1)/2: no rows' worth, and each mean takes one degree of freedom."""
    count, features = statistics.moments.mean.shape
    weight = statistics.moments.weight
    rows = weight.sum(axis=0, keepdims=True) - count if shared else weight - 1
    needed = features - 1 if structure is FullCovariance else 0
    short = np.argwhere(rows <= needed)
    if len(short):
        k = int(short[0][0])
        who = "The classes together have" if shared else f"Class {statistics.label(k)!r} has"
        raise ClasswiseError(
            f"{who} weight {float(weight.sum() if shared else weight[k].min()):g}, too little for prior='geisser' with "
            f"{features} features; use prior='weak', which is proper."
        )
    taken = (count if shared else 1) * (features if structure is SphericalCovariance else 1)
    shape = (1, features, features) if structure is FullCovariance else (1, features)
    return Conjugate(structure, np.zeros(features), 0.0, -float(taken), np.zeros(shape))


class Point(NamedTuple):
    """Where the evidence is looked at: logs of kappa, of nu - p + 1, and of the size of scale."""

    log_kappa: float
    log_freedom: float
    log_size: float

    def form(self) -> PriorForm:
        return PriorForm(exp(self.log_kappa), exp(self.log_freedom), exp(self.log_size), 0.5)


def evidence_and_slope(
    point: Point, statistics: ClassStatistics, structure: type[Covariance], shared: bool
) -> tuple[float, Array]:
    """log evidence at a point, and its slope there (3,)."""
    hyper = point.form().of(statistics.moments)
    prior = hyper.within(structure)
    posterior = prior.updated(statistics, shared)
    value = log_evidence(prior, statistics, shared)
    return value, _slope(prior, posterior, statistics, hyper)


def _slope(prior: Conjugate, posterior: Conjugate, statistics: ClassStatistics, hyper: Hyperparameters) -> Array:
    moments, structure = statistics.moments, prior.structure
    weight, kappa = moments.weight, posterior.kappa
    count, features = len(posterior.scale), prior.features
    away = (moments.mean - prior.means) + moments.rest
    # d/d kappa of kappa n / (kappa + n) is (n / (kappa + n))², and log(kappa / kappa') has its own slope.
    moved = type(moments.scatter).between(prior.kappa * (weight / kappa) ** 2, away)
    shared = count < len(weight)
    ones = np.ones((1, 1)) if shared else np.ones((len(weight), 1))
    change = structure.pooled(moved, ones) if shared else structure.own(moved, ones)
    of_means = 0.5 * float(np.broadcast_to(1 - prior.kappa / kappa, moments.mean.shape).sum())
    of_kappa = of_means - _half_trace(posterior, change)
    of_scale = count * _half_trace(prior, prior.scale) - _half_trace(
        posterior, np.broadcast_to(prior.scale, posterior.scale.shape)
    )
    freedom = hyper.nu - features + 1
    of_nu = _slope_in_nu(posterior) - count * _slope_in_nu(prior)
    return np.array([of_kappa, of_nu * freedom + of_scale, of_scale])


def _half_trace(of: Conjugate, change: Array) -> float:
    """1/2 nu tr(scale^-1 change), summed: minus the slope of the log normalizer when scale changes."""
    nu = of.freedom()
    if of.structure is FullCovariance:
        return 0.5 * float(nu[:, 0] @ np.trace(np.linalg.solve(of.scale, change), axis1=1, axis2=2))
    if of.structure is DiagonalCovariance:
        return 0.5 * float((nu * change / of.scale).sum())
    return 0.5 * float(nu[:, 0] @ (change.mean(axis=1) / of.scale.mean(axis=1)))


def _slope_in_nu(of: Conjugate) -> float:
    """The slope of the log normalizer in nu, summed over the covariances; of a prior, of one."""
    nu = of.freedom()
    if of.structure is FullCovariance:
        steps = np.arange(of.features)
        return 0.5 * float(digamma((nu - steps) / 2).sum() - 2 * FullCovariance(of.scale).half_log_det.sum())
    if of.structure is DiagonalCovariance:
        nu = np.broadcast_to(nu, of.scale.shape)
        return 0.5 * float((digamma(nu / 2) - np.log(of.scale)).sum())
    return 0.5 * float((digamma(nu[:, 0] / 2) - np.log(of.features * of.scale[:, 0])).sum())


def most_probable_form(statistics: ClassStatistics, structure: type[Covariance], shared: bool) -> PriorForm:
    """The prior of the weak one's form under which the rows are most probable."""

    def loss(values: Array) -> tuple[float, Array]:
        value, slope = evidence_and_slope(Point(*values), statistics, structure, shared)
        return -value, -slope

    start = np.array([log(KAPPA), log(3.0), 0.0])
    bounds = [(log(1e-4), log(1e3)), (log(1e-2), log(1e5)), (log(1e-3), log(1e3))]
    best = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds)
    return Point(*best.x).form()
