"""Exact draws of the weights, to judge Gaussians by: Gibbs' sampler with Pólya-Gamma variables (Polson et al. 2013).

Given ω_i ~ PG(w_i, score_i), the weights are Gaussian, exactly:

    V | ω ~ N(A^-1 b, A^-1),   A = Z diag(ω) Z' + T,   b = Z κ,   κ_i = w_i ([label is the second] - 1/2)

With more classes, each in turn has a score against the others, s_k - log sum over l ≠ k of e^s_l, and is drawn given
theirs (Holmes and Held 2006). The mean over classes, which no row tells of, is drawn from its prior at each round.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from classwise.arrays import Array, Codes
from classwise.errors import MissingExtraError
from classwise.logistic.likelihood import Likelihood, Logit


@dataclass(frozen=True, eq=False)
class Chain:
    """What draws depend on: columns (q, n), codes (n,), weights of rows (n,), precision (q,), 0 where it is flat."""

    columns: Array
    codes: Codes
    weights: Array
    precision: Array
    likelihood: Likelihood


def draw_chain(chain: Chain, start: Array, burn: int, count: int, generator: np.random.Generator) -> Array:
    """count draws of V after `burn` that are thrown away, from a start (r, q) on; (count, r, q)."""
    advance = _advance_two if isinstance(chain.likelihood, Logit) else _advance_many
    draw = _polya_gamma()
    state = chain.likelihood.basis @ start
    kept = np.empty((count, *start.shape))
    for i in range(burn + count):
        state = advance(chain, state, draw, generator)
        if i >= burn:
            kept[i - burn] = chain.likelihood.basis.T @ state
    return kept


def _advance_two(chain: Chain, state: Array, draw: Any, generator: np.random.Generator) -> Array:
    omega = draw(chain.weights, state[0] @ chain.columns, random_state=generator)
    kappa = chain.weights * (chain.codes - 0.5)
    return _gaussian(chain, omega, kappa, generator)[None]


def _advance_many(chain: Chain, state: Array, draw: Any, generator: np.random.Generator) -> Array:
    state = state.copy()
    scores = state @ chain.columns
    for k in range(len(state)):
        others = np.delete(scores, k, axis=0)
        peak = others.max(axis=0)
        rest = peak + np.log(np.exp(others - peak).sum(axis=0))
        omega = draw(chain.weights, scores[k] - rest, random_state=generator)
        kappa = chain.weights * ((chain.codes == k) - 0.5)
        state[k] = _gaussian(chain, omega, kappa + omega * rest, generator)
        scores[k] = state[k] @ chain.columns
    return state - state.mean(axis=0) + _common(chain, len(state), generator)


def _common(chain: Chain, classes: int, generator: np.random.Generator) -> Array:
    """The mean over the classes, from its prior N(0, 1 / (g precision)); 0 where that is flat; (q,)."""
    proper = chain.precision > 0
    deviation = np.zeros(len(proper))
    deviation[proper] = 1 / np.sqrt(classes * chain.precision[proper])
    return deviation * generator.standard_normal(len(deviation))


def _gaussian(chain: Chain, omega: Array, target: Array, generator: np.random.Generator) -> Array:
    """A draw from N(A^-1 Z target, A^-1); (q,)."""
    matrix = (chain.columns * omega) @ chain.columns.T
    matrix[np.diag_indices_from(matrix)] += chain.precision
    factor = cholesky(matrix, lower=True)
    half = solve_triangular(factor, chain.columns @ target, lower=True)
    noise = generator.standard_normal(len(half))
    return np.asarray(solve_triangular(factor, half + noise, lower=True, trans="T"))


def _polya_gamma() -> Any:
    try:
        from polyagamma import random_polyagamma
    except ImportError as problem:
        raise MissingExtraError("posterior='sampled' needs polyagamma: pip install \"classwise[sample]\".") from problem
    return random_polyagamma
