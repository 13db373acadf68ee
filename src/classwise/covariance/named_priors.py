"""Priors by name; among them the one of most evidence, which makes the rows most probable.

With that prior all those that have names are known: see `read_prior`.

Full covariances are looked at in coordinates where the prior's is the identity and a class's scatter is diagonal:

    E = L L';   L^-1 S L^-T = U diag(s) U';   u = U'L^-1 (m - prior mean)

There the posterior's scale is t I + diag(s) + b u u' for every prior: its determinant and traces take p steps.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import exp, log, pi
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import minimize

from classwise.arrays import Array
from classwise.covariance.conjugate import (
    KAPPA,
    Conjugate,
    NormalInverseWishart,
    PriorForm,
    digammas,
    expected_covariance,
    log_evidence,
    log_gammas,
    weak_form,
)
from classwise.covariance.full import FullCovariance
from classwise.covariance.structures import Covariance
from classwise.errors import ClasswiseError
from classwise.statistics import ClassStatistics


class EvidencePoint(NamedTuple):
    """Where the evidence is looked at: logs of kappa, of nu - p + 1, and of the size of scale."""

    log_kappa: float
    log_freedom: float
    log_size: float

    def form(self) -> PriorForm:
        return PriorForm(exp(self.log_kappa), exp(self.log_freedom), exp(self.log_size), 0.5)


class Evidence(ABC):
    """log p(rows | labels) as a function of the prior."""

    @abstractmethod
    def at(self, point: EvidencePoint) -> tuple[float, Array]:
        """Its value at a point, and its slope there (3,)."""


def evidence_of(statistics: ClassStatistics, structure: type[Covariance], shared: bool) -> Evidence:
    """The evidence of a structure: full covariances have a faster way."""
    plain = structure is not FullCovariance
    return PlainEvidence(statistics, structure, shared) if plain else FullEvidence.of(statistics, shared)


def most_probable_form(statistics: ClassStatistics, structure: type[Covariance], shared: bool) -> PriorForm:
    """The prior of the weak one's form under which the rows are most probable."""
    evidence = evidence_of(statistics, structure, shared)

    def loss(values: Array) -> tuple[float, Array]:
        value, slope = evidence.at(EvidencePoint(*values))
        return -value, -slope

    start = np.array([log(KAPPA), log(3.0), 0.0])
    bounds = [(log(1e-4), log(1e3)), (log(1e-2), log(1e5)), (log(1e-3), log(1e3))]
    best = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds)
    return EvidencePoint(*best.x).form()


@dataclass(frozen=True, eq=False)
class FullEvidence(Evidence):
    """Full covariances, one for each class or one for all (c of them).

    values (c, p): s; away (c, p, r): u of the r classes of each covariance; weight (c, r): theirs; half_log_det: of E.
    """

    values: Array
    away: Array
    weight: Array
    half_log_det: float

    @classmethod
    def of(cls, statistics: ClassStatistics, shared: bool) -> "FullEvidence":
        moments = statistics.moments
        root = np.linalg.cholesky(expected_covariance(moments))
        from_prior = (moments.mean - moments.overall_mean()) + moments.rest
        scatters = moments.scatter.pooled()[None] if shared else moments.scatter.by_class()
        whitening = solve_triangular(root, np.eye(len(root)), lower=True)
        values, vectors = np.linalg.eigh(whitening @ scatters @ whitening.T)
        away = whitening @ from_prior.T  # (p, g)
        away = away[None] if shared else away.T[:, :, None]
        weight = moments.weight.reshape(1, -1) if shared else moments.weight
        turned_away = np.swapaxes(vectors, 1, 2) @ away
        return cls(np.maximum(values, 0.0), turned_away, weight, float(np.log(np.diagonal(root)).sum()))

    def at(self, point: EvidencePoint) -> tuple[float, Array]:
        form, features = point.form(), self.values.shape[1]
        size, nu, kappa = form.size * form.freedom, features - 1 + form.freedom, form.kappa
        rows, count = self.weight.sum(axis=1), len(self.values)
        posterior = self._posterior(size, kappa)
        log_det = 2 * self.half_log_det + features * log(size)
        value = (log_gammas(nu + rows, features) - (nu + rows) / 2 * posterior.log_det).sum()
        value -= count * (log_gammas(np.array([nu]), features)[0] - nu / 2 * log_det)
        value += 0.5 * features * float(np.log(kappa / (kappa + self.weight)).sum() - log(pi) * rows.sum())
        of_kappa = 0.5 * features * (self.weight / (kappa + self.weight)).sum()
        of_kappa -= 0.5 * ((nu + rows) @ (posterior.squares * kappa * (self.weight / (kappa + self.weight)) ** 2)).sum()
        of_scale = 0.5 * (count * nu * features - float((nu + rows) @ posterior.traces) * size)
        of_nu = 0.5 * (digammas(nu + rows, features) - posterior.log_det).sum()
        of_nu -= 0.5 * count * (digammas(np.array([nu]), features)[0] - log_det)
        return float(value), np.array([of_kappa, of_nu * form.freedom + of_scale, of_scale])

    def _posterior(self, size: float, kappa: float) -> "PosteriorTerms":
        """Of P = size I + diag(s) + sum of b u u', with b = kappa n / (kappa + n), by Woodbury (1950)."""
        diagonal = size + self.values
        b = kappa * self.weight / (kappa + self.weight)
        scaled = self.away * np.sqrt(b)[:, None]
        inner = scaled / diagonal[:, :, None]
        small = np.eye(scaled.shape[2]) + np.swapaxes(scaled, 1, 2) @ inner
        log_det = 2 * self.half_log_det + np.log(diagonal).sum(axis=1) + np.linalg.slogdet(small)[1]
        inverse = np.linalg.inv(small)
        traces = (1 / diagonal).sum(axis=1) - np.einsum("cpr,crs,cps->c", inner, inverse, inner)
        plain = self.away / diagonal[:, :, None]
        cross = np.swapaxes(inner, 1, 2) @ self.away
        squares = np.einsum("cpr,cpr->cr", plain, self.away) - np.einsum("crk,crs,csk->ck", cross, inverse, cross)
        return PosteriorTerms(log_det, traces, squares)


class PosteriorTerms(NamedTuple):
    """log|P| (c,), tr P^-1 E (c,), and u'P^-1 u of each class (c, r)."""

    log_det: Array
    traces: Array
    squares: Array


@dataclass(frozen=True, eq=False)
class PlainEvidence(Evidence):
    """Covariances of any structure."""

    statistics: ClassStatistics
    structure: type[Covariance]
    shared: bool

    def at(self, point: EvidencePoint) -> tuple[float, Array]:
        form = point.form()
        prior = form.of(self.statistics.moments).within(self.structure)
        posterior = prior.updated(self.statistics, self.shared)
        value = log_evidence(prior, self.statistics, self.shared)
        return value, _slope(prior, posterior, self.statistics, form.freedom)


def _slope(prior: Conjugate, posterior: Conjugate, statistics: ClassStatistics, freedom: float) -> Array:
    moments, structure = statistics.moments, prior.structure
    weight, kappa = moments.weight, posterior.kappa
    count = len(posterior.scale)
    away = (moments.mean - prior.means) + moments.rest
    # d/d kappa of kappa n / (kappa + n) is (n / (kappa + n))², and log(kappa / kappa') has its own slope.
    moved = type(moments.scatter).between(prior.kappa * (weight / kappa) ** 2, away)
    change = structure.sums(moved, shared=count < len(weight))
    of_means = 0.5 * float(np.broadcast_to(1 - prior.kappa / kappa, moments.mean.shape).sum())
    of_kappa = of_means - posterior.half_trace(change)
    everywhere = np.broadcast_to(prior.scale, posterior.scale.shape)
    of_scale = count * prior.half_trace(prior.scale) - posterior.half_trace(everywhere)
    of_nu = posterior.slope_in_nu() - count * prior.slope_in_nu()
    return np.array([of_kappa, of_nu * freedom + of_scale, of_scale])


# ----------------------------------------------------------------------------------------------------------------------
# Priors by name.

NAMES = ("weak", "geisser", "evidence", "cv", "loo")


def check_prior(prior: Any) -> None:
    """Refuse what is no prior, whether or not it is going to be used."""
    is_name = isinstance(prior, str) and prior in NAMES
    if not is_name and not isinstance(prior, (NormalInverseWishart, PriorForm)):
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
    form = prior if isinstance(prior, PriorForm) else weak_form(statistics.n_features, structure)
    if prior == "evidence":
        form = most_probable_form(statistics, structure, shared)
    return form.of(statistics.moments).within(structure)


def limiting_prior(statistics: ClassStatistics, structure: type[Covariance], shared: bool) -> Conjugate:
    """|C|^-(p+1)/2: it counts as no rows, and each mean takes one degree of freedom."""
    count, features = statistics.moments.mean.shape
    weight = statistics.moments.weight
    rows = weight.sum(axis=0, keepdims=True) - count if shared else weight - 1
    short = np.argwhere(rows <= structure.dimension(features) - 1)
    if len(short):
        k = int(short[0][0])
        who = "The classes together have" if shared else f"Class {statistics.label(k)!r} has"
        raise ClasswiseError(
            f"{who} weight {float(weight.sum() if shared else weight[k].min()):g}, too little for prior='geisser' with "
            f"{features} features; use prior='weak', which is proper."
        )
    taken = (count if shared else 1) * structure.values_per_row(features)
    nothing = structure.prior_scale(np.zeros((features, features)))
    return Conjugate(structure, np.zeros(features), 0.0, -float(taken), nothing)
