"""The two steps of EM (Dempster, Laird and Rubin 1977): what components are responsible for, and what follows for them.

Of a row r (less the center of its class k) and the components c of that class, at m_c - center = d_c, with P = C^-1:

    score_c = log share_c + r'P d_c - d_c'P d_c / 2;   log p(x | k) = log sum_c exp score_c - r'P r / 2 + ...

A pass gathers n_c = sum of w P(c | x) and s_c = sum of w P(c | x) r. Of a row that lacks values all of this is of those
it has, and its r is completed by what component c expects, r_c = d_c + B (r[o] - d_c[o]), with the covariance of what
is missing (see `arranged`).
"""

from dataclasses import dataclass
from functools import cached_property, partial
from math import log, pi
from typing import NamedTuple, Self

import numpy as np

from classwise.arrays import Array, Codes, log_sum_exp, product, row_norms, sums_by
from classwise.covariance import Conjugate, FullCovariance
from classwise.covariance.conjugate import weak_form
from classwise.densities.em.arranged import Arranged, Complete, GapMetrics, Gappy, inverse, metrics_of
from classwise.engines import in_threads
from classwise.errors import ClasswiseError
from classwise.statistics import Moments

# Pseudo-rows in each component of a class.
ALIKE = 1.0

# ----------------------------------------------------------------------------------------------------------------------
# What is believed of a mixture before the rows: pseudo-rows, as a conjugate prior has them.
#
#     C   as after `strength` rows of covariance expected     log prior  -strength/2 (log|C| + tr C^-1 expected)
#     m_c as after kappa rows at mean                         log prior  -kappa/2 (m_c - mean)' C^-1 (m_c - mean)
#     share_c as after `alike` rows in each component         log prior  alike log share_c
#
# This is the normal-inverse-Wishart prior, as a density over C^-1 and over means in units of C: with one component for
# each class, the most probable C is then the covariance that the prior leads to expect, scale' / (nu' - p - 1), and the
# most probable means are mean'. No component can shrink to a point: there C^-1 would be infinite, and the prior zero.


@dataclass(frozen=True, eq=False)
class PseudoRows:
    """mean (p,) and kappa; scale (p, p) = strength times the expected covariance, and strength; alike."""

    mean: Array
    kappa: float
    scale: Array
    strength: float
    alike: float = ALIKE

    @classmethod
    def of(cls, prior: Conjugate) -> Self:
        """The same as a normal-inverse-Wishart of full covariances."""
        strength = float(prior.nu) - prior.features - 1
        if not strength > 0 or not prior.kappa > 0:
            raise ClasswiseError(
                f"The prior's nu={float(prior.nu):g} leads to expect no covariance of {prior.features} features, and a "
                f"mixture needs one: give nu above {prior.features + 1} and kappa above 0, or prior='weak'."
            )
        return cls(prior.means, float(prior.kappa), prior.scale[0], strength)

    @classmethod
    def weak(cls, moments: Moments) -> Self:
        """Weak, in the units of the rows whose moments by class are given; as prior="weak" elsewhere."""
        form = weak_form(moments.mean.shape[1], FullCovariance)
        return cls.of(form.of(moments).within(FullCovariance))


# ----------------------------------------------------------------------------------------------------------------------
# The two steps.


@dataclass(frozen=True, eq=False)
class MixtureParameters:
    """owner (q,): the class of each component, in order; share (q,); shift (q, p): its mean less the center of its
    class; covariance: one for all, or one for each class.
    """

    owner: Codes
    share: Array
    shift: Array
    covariance: FullCovariance

    @cached_property
    def precision(self) -> Array:
        """P = C^-1; (kinds, p, p)."""
        return inverse(self.covariance)

    def of(self, k: int) -> slice:
        """Where the components of a class stand."""
        first, last = np.searchsorted(self.owner, [k, k + 1])
        return slice(int(first), int(last))


@dataclass(frozen=True, eq=False)
class Expected:
    """What a pass gathers. log_likelihood: of all rows; by_class (g,): of each class, up to terms that are the same for
    the same covariance; weight (q,): n_c; sums (q, p): s_c; products (kinds, p, p): the sum of w r r' over all rows,
    completed.
    """

    log_likelihood: float
    by_class: Array
    weight: Array
    sums: Array
    products: Array


class Response(NamedTuple):
    """Of some rows of class k: score, their log-likelihood (of complete rows, without what `_shared` counts), n_c (c,)
    and s_c (c, p); of rows with gaps also the sum of w r r', completed (p, p).
    """

    k: int
    score: float
    weight: Array
    sums: Array
    products: Array | float = 0.0


def expect(arranged: Arranged, parameters: MixtureParameters) -> Expected:
    """One pass over the rows, at given parameters; threads share it where rows are many."""
    by_class, products = np.zeros(len(arranged.weight)), arranged.products.copy()
    weight, sums = np.zeros(len(parameters.owner)), np.zeros(parameters.shift.shape)
    run = in_threads if arranged.is_large else map
    for response in run(partial(_respond, arranged, parameters), arranged.parts):
        own = parameters.of(response.k)
        by_class[response.k] += response.score
        weight[own] += response.weight
        sums[own] += response.sums
        products[arranged.kind(response.k)] += response.products
    return Expected(float(by_class.sum()) - _shared(arranged, parameters), by_class, weight, sums, products)


def maximize(arranged: Arranged, expected: Expected, prior: PseudoRows, owner: Codes) -> MixtureParameters:
    """The most probable parameters, given what components are responsible for.

    m_c = (kappa mean + s_c) / (kappa + n_c), and (strength + n) C = scale + sum of w P(c | x) (x - m_c)(x - m_c)'
    + kappa (m_c - mean)(m_c - mean)', with the squares completed.
    """
    pulled = (prior.mean - arranged.centers)[owner]
    weight = prior.kappa + expected.weight
    shift = (prior.kappa * pulled + expected.sums) / weight[:, None]
    scatter = prior.scale + expected.products
    for kind in range(arranged.kinds):
        own = arranged.of_kind(owner, kind)
        before, after = np.sqrt(prior.kappa) * pulled[own], np.sqrt(weight[own])[:, None] * shift[own]
        scatter[kind] += before.T @ before - after.T @ after
    divisor = prior.strength + arranged.weight_of_kinds(arranged.weight)
    covariance = FullCovariance(scatter / divisor[:, None, None])
    share = expected.weight + prior.alike
    return MixtureParameters(owner, share / np.bincount(owner, share)[owner], shift, covariance)


def log_prior(arranged: Arranged, parameters: MixtureParameters, prior: PseudoRows) -> float:
    """Up to a constant; see PseudoRows."""
    covariance, total = parameters.covariance, prior.alike * float(np.log(parameters.share).sum())
    away = parameters.shift - (prior.mean - arranged.centers)[parameters.owner]
    for kind in range(arranged.kinds):
        own = arranged.of_kind(parameters.owner, kind)
        total -= prior.strength * float(covariance.half_log_det[kind])
        total -= 0.5 * float((parameters.precision[kind] * prior.scale).sum())
        total -= 0.5 * prior.kappa * float(row_norms(covariance.whiten(away[own], kind)).sum())
    return total


# Rows ---------------------------------------------------------------------------------------------------------------


def _shared(arranged: Arranged, parameters: MixtureParameters) -> float:
    """sum of w (1/2 log|2π C| + r'P r / 2) over complete rows: from their weights and products."""
    volume = parameters.covariance.half_log_det + 0.5 * parameters.shift.shape[1] * log(2 * pi)
    squares = 0.5 * float((parameters.precision * arranged.products).sum())
    return float(arranged.weight_of_kinds(arranged.complete_weight) @ volume) + squares


def _respond(arranged: Arranged, parameters: MixtureParameters, part: Complete | Gappy) -> Response:
    own, kind = parameters.of(part.k), arranged.kind(part.k)
    shift, log_share = parameters.shift[own], np.log(parameters.share[own])
    if isinstance(part, Complete):
        return _respond_complete(part, shift, log_share, parameters.precision[kind])
    return _respond_gappy(part, shift, log_share, metrics_of(parameters.covariance, kind, part.gaps))


def _respond_complete(part: Complete, shift: Array, log_share: Array, precision: Array) -> Response:
    slopes = product(shift, precision)
    scores = product(slopes, part.rows.T)
    scores += (log_share - 0.5 * np.einsum("cj,cj->c", slopes, shift))[:, None]
    total = log_sum_exp(scores)
    responsible = np.exp(scores - total) * part.weights
    return Response(part.k, float(part.weights @ total), responsible.sum(axis=1), product(responsible, part.rows))


def _respond_gappy(part: Gappy, shift: Array, log_share: Array, metrics: GapMetrics) -> Response:
    """The same for each pattern in its metric, and its rows completed: r_c = B r + around_c."""
    shift = np.column_stack([shift, np.zeros(len(shift))])
    projected = metrics.project(shift * part.present)
    slopes = metrics.slopes(projected)
    constant = log_share - 0.5 * np.einsum("bcj,cj->bc", slopes * part.present, shift)
    scores = (np.einsum("mcj,mj->mc", slopes[part.group], part.rows) + constant[part.group]).T
    total = log_sum_exp(scores)
    responsible = (np.exp(scores - total) * part.weights).T
    weight = np.add.reduceat(responsible, part.starts)[:, :, None]
    moved = metrics.completed(np.add.reduceat(responsible[:, :, None] * part.rows[:, None, :], part.starts))
    around = metrics.filled(np.zeros(moved.shape), shift.T[part.gaps].transpose(0, 2, 1) + projected.lacking)
    squares, products = _about_zero(part, metrics)
    cross = _product(moved + 0.5 * weight * around, around)
    products += cross + cross.T
    sums = (moved + weight * around).sum(axis=0)
    score = float(part.weights @ total) - squares - float(part.weight @ metrics.volume)
    return Response(part.k, score, weight.sum(axis=0)[:, 0], sums[:, :-1], products[:-1, :-1])


def _about_zero(part: Gappy, metrics: GapMetrics) -> tuple[float, Array]:
    """Of rows about the center of their class: the sum of w r'P r / 2, and that of w r r', completed, with what is left
    of what is missing; (p + 1, p + 1).
    """
    roots, of_roots, width = part.roots[:, None], metrics.of(part.root_group), part.rows.shape[1]
    projected = of_roots.project(roots)
    squares = 0.5 * float((roots * projected.ahead).sum() - (projected.lacking * projected.inside).sum())
    filled = of_roots.filled(roots, -projected.lacking)
    cells = part.gaps[:, :, None] * width + part.gaps[:, None, :]
    left = sums_by(cells.ravel(), (part.weight[:, None, None] * metrics.rest).ravel(), width**2)
    return squares, _product(filled, filled) + left.reshape(width, width)


def _product(first: Array, second: Array) -> Array:
    """The sum of outer products of vectors; (b, c, q), (b, c, q) -> (q, q)."""
    return product(first.reshape(-1, first.shape[2]).T, second.reshape(-1, second.shape[2]))
