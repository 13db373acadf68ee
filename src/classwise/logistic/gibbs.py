"""Exact draws of the weights by Gibbs' sampler, and diagnostics that say whether to trust them.

R-hat      the deviation over all halves of chains, over that within them; above 1.01 they have not met (Gelman et al.)
ESS        N / (1 + 2 sum of autocorrelations), summed in pairs until one is negative (Geyer 1992, Vehtari et al. 2021)
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from classwise.arrays import Array, Codes, log_sum_exp
from classwise.errors import MissingExtraError
from classwise.logistic.likelihood import Likelihood, Logit
from classwise.logistic.posterior import Draws, Laplace
from classwise.storage import stored

CHAINS = 4


@stored("ChainDiagnostics", loose=("effective_size", "r_hat"))
class Diagnostics(NamedTuple):
    """Of each weight (r, q): the number of independent draws that the draws count as, and R-hat."""

    effective_size: Array
    r_hat: Array


def diagnose_chains(values: Array) -> Diagnostics:
    """Of draws (chains, draws, r, q).

    >>> draws = np.random.default_rng(0).normal(size=(4, 500, 1, 1))
    >>> d = diagnose_chains(draws)
    >>> bool(d.r_hat[0, 0] < 1.01), bool(d.effective_size[0, 0] > 1500)
    (True, True)
    """
    half = values.shape[1] // 2
    halves = np.concatenate([values[:, :half], values[:, half : 2 * half]])
    within, total = _variances(halves)
    return Diagnostics(_effective_size(halves, within, total), np.sqrt(total / within))


def _variances(halves: Array) -> tuple[Array, Array]:
    """Within chains, and over all: W and (n - 1) / n W + var of means."""
    length = halves.shape[1]
    within = halves.var(axis=1, ddof=1).mean(axis=0)
    return within, (length - 1) / length * within + halves.mean(axis=1).var(axis=0, ddof=1)


def _effective_size(halves: Array, within: Array, total: Array) -> Array:
    chains, length = halves.shape[:2]
    correlation = 1 - (within - _autocovariance(halves).mean(axis=0)) / total
    correlation[0] = 1.0
    pairs = correlation[: length // 2 * 2].reshape(length // 2, 2, *within.shape).sum(axis=1)
    # Sums of neighbors are positive and fall, as long as they are not noise.
    positive = np.cumprod(pairs > 0, axis=0)
    falling = np.minimum.accumulate(np.where(positive, pairs, 0.0), axis=0)
    time = np.maximum(-1 + 2 * falling.sum(axis=0), 1 / np.log10(chains * length))
    return chains * length / time


def _autocovariance(halves: Array) -> Array:
    """At each lag, of each chain, with divisor n - 1, so that lag 0 is the variance within; (chains, draws, r, q)."""
    length = halves.shape[1]
    centered = halves - halves.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(centered, n=2 * length, axis=1)
    return np.fft.irfft(np.abs(spectrum) ** 2, axis=1)[:, :length] / (length - 1)


# ----------------------------------------------------------------------------------------------------------------------
# Exact draws of the weights, to judge Gaussians by: Gibbs' sampler with Pólya-Gamma variables (Polson et al. 2013).
#
# Given ω_i ~ PG(w_i, score_i), the weights are Gaussian, exactly:
#
#     V | ω ~ N(A^-1 b, A^-1),   A = Z diag(ω) Z' + T,   b = Z κ,   κ_i = w_i ([label is the second] - 1/2)
#
# With more classes, each in turn has a score against the others, s_k - log sum over l ≠ k of e^s_l, and is drawn
# given theirs (Holmes and Held 2006). The mean over classes, which no row tells of, is drawn from its prior at each
# round.


@dataclass(frozen=True, eq=False)
class Chain:
    """What draws depend on: columns (q, n), codes (n,), weights of rows (n,), precision (q,), 0 where it is flat."""

    columns: Array
    codes: Codes
    weights: Array
    precision: Array
    likelihood: Likelihood


def draw_chains(chain: Chain, beliefs: Laplace, count: int, generator: np.random.Generator) -> Draws:
    """At least so many draws, in chains that start apart, where a Gaussian says; half of each chain is thrown away."""
    starts = beliefs.sample(CHAINS, generator)
    each = -(-count // CHAINS)
    pairs = zip(starts, generator.spawn(CHAINS), strict=True)
    return Draws(np.stack([draw_chain(chain, start, each, each, own) for start, own in pairs]))


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
        rest = log_sum_exp(np.delete(scores, k, axis=0))
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
