"""Whether draws can be trusted: how many independent ones they are worth, and whether the chains agree.

R-hat      the deviation over all halves of chains, over that within them; above 1.01 they have not met (Gelman et al.)
ESS        N / (1 + 2 sum of autocorrelations), summed in pairs until one is negative (Geyer 1992, Vehtari et al. 2021)
"""

from typing import NamedTuple

import numpy as np

from classwise.arrays import Array
from classwise.storage import stored


@stored("ChainDiagnostics", loose=("effective_size", "r_hat"))
class Diagnostics(NamedTuple):
    """Of each weight (r, q): the number of independent draws that the draws are worth, and R-hat."""

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
