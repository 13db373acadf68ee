"""The Gaussian nearest to the posterior of the weights: q = N(μ, Σ) of least KL(q | posterior), or of largest bound

    log evidence >= bound = -E loss - 1/2 (μ'T μ + tr T Σ) + 1/2 log|T| + 1/2 log|Σ| + d/2,   T = diag precision

for d weights (of a flat prior: + 1/2 log 2π each, no log T). E is over q. By Bonnet and Price, E ∇loss and E ∇²loss are
the derivatives by μ and, but for a factor of 2, by Σ. So the bound is largest where

    E ∇loss + T μ = 0   and   Λ = T + E ∇²loss,   Λ = Σ^-1.

Both averages are sums over rows: a Curvature. The loss is convex, so there is one top (Challis and Barber 2013). It is
walked to by Newton's steps, shortened (Khan and Rue 2023):

    Λ' = Λ + rho (T + E ∇²loss - Λ),   μ' = μ - rho Λ'^-1 (E ∇loss + T μ)

With rho = 1 they would go to and fro: a wider Gaussian sees more curvature, and is narrower next. So rho is 1/2, and is
halved while the bound falls. Mean and width drift together, slowly; so, once steps are short, the walk goes on from the
mixture of the last steps, with shares that sum to 1, for which the step is shortest (Anderson 1965).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky

from classwise.arrays import Array
from classwise.errors import ClasswiseError
from classwise.logistic.evidence import log_scale
from classwise.logistic.likelihood import Likelihood
from classwise.logistic.newton import Expansion, mixture
from classwise.logistic.posterior import Laplace
from classwise.statistics import Curvature

# Lengths of steps, in deviations of the posterior: of the last; of the last where averages are not exact, if steps no
# longer fall; up to which what they change in the bound may be less than the error of averages, so that they are taken
# as they are; and up to which steps are mixed.
TOLERANCE = 1e-6
ROUGH = 1e-2
NEAR = 0.2
MIXED = 1.0
MOST_STEPS = 400
PATIENCE = 15
MOST_HALVINGS = 12
DAMPED = 0.5

# Steps that are remembered, and how many numbers they may take.
MEMORY = 6
ROOM = 1 << 27

# Gathers loss, gradient and curvature of all rows, averaged over a Gaussian.
Averages = Callable[[Laplace], Curvature]


class Nearest(NamedTuple):
    """The nearest Gaussian, its bound on the log evidence, and how many times the rows were gone through."""

    beliefs: Laplace
    bound: float
    passes: int


class Reached(NamedTuple):
    """Where a step leads to, as coordinates (μ, Λ), and the step itself, whitened; flat (d + d²,) each."""

    reached: Array
    step: Array


@dataclass(frozen=True, eq=False)
class Approximation:
    """A Gaussian; its mean with the averages over it; the precision of the prior (r, q)."""

    beliefs: Laplace
    point: Expansion
    precision: Array

    @cached_property
    def bound(self) -> float:
        spread = 0.5 * float((self.precision.ravel() * (self.beliefs.root**2).sum(axis=1)).sum())
        entropy = 0.5 * self.precision.size - np.log(self.beliefs.factor.diagonal()).sum()
        return float(log_scale(self.precision) - self.point.objective(self.precision) - spread + entropy)

    def moved(self, rho: float) -> Laplace:
        """The Gaussian after a part of Newton's step."""
        own = _precision(self.beliefs)
        try:
            factor = cholesky(own + rho * (self.point.hessian(self.precision) - own), lower=True)
        except LinAlgError:  # by rounding, where nothing holds some weights
            raise _not_found() from None
        change = -rho * cho_solve((factor, True), self.point.gradient(self.precision).ravel())
        return Laplace(self.beliefs.mean + change.reshape(self.beliefs.mean.shape), factor)

    def whiten(self, change: Array) -> Array:
        """A small change of (μ, Λ) in coordinates whose squares sum to twice its KL from here; (d + d²,)."""
        size, root = self.precision.size, self.beliefs.root
        spread = root.T @ change[size:].reshape(size, size) @ root
        return np.concatenate([self.beliefs.factor.T @ change[:size], np.sqrt(0.5) * spread.ravel()])


def _precision(beliefs: Laplace) -> Array:
    """Λ = L L'; (d, d)."""
    return beliefs.factor @ beliefs.factor.T


def nearest_gaussian(averages: Averages, likelihood: Likelihood, start: Laplace, precision: Array) -> Nearest:
    """From a Gaussian on; precision (r, q): of the prior, 0 where it is flat.

    A weight whose rows say nothing keeps its prior:

    >>> from classwise.logistic import Logit
    >>> nothing = Curvature.empty(1, 1, 1)
    >>> start = Laplace(np.ones((1, 1)), np.ones((1, 1)))
    >>> found = nearest_gaussian(lambda beliefs: nothing, Logit(), start, np.full((1, 1), 4.0)).beliefs
    >>> found.mean.round(5) + 0, found.covariance.round(5)
    (array([[0.]]), array([[0.25]]))
    """

    def look(beliefs: Laplace) -> Approximation:
        return Approximation(beliefs, Expansion(likelihood, beliefs.mean, averages(beliefs)), precision)

    here, passes = look(start), 1
    trials: list[Reached] = []
    lengths: list[float] = []
    while len(lengths) < MOST_STEPS:
        reached = _coordinates(here.moved(DAMPED))
        step = here.whiten(reached - _coordinates(here.beliefs))
        lengths.append(float(np.linalg.norm(step)))
        if lengths[-1] <= TOLERANCE or (lengths[-1] <= ROUGH and _stands(lengths)):
            return Nearest(here.beliefs, here.bound, passes)
        trials = [*trials, Reached(reached, step)][-_memory(precision.size) :]
        here, tried = _ascended(look, here, trials, lengths[-1])
        passes += tried
    raise _not_found()


def _coordinates(beliefs: Laplace) -> Array:
    """(μ, Λ), flat; (d + d²,)."""
    return np.concatenate([beliefs.mean.ravel(), _precision(beliefs).ravel()])


def _stands(lengths: list[float]) -> bool:
    """Whether the last steps are hardly shorter than those before: what is left is the error of averages."""
    return len(lengths) > PATIENCE and min(lengths[-PATIENCE:]) > 0.5 * min(lengths[:-PATIENCE])


def _memory(size: int) -> int:
    """How many steps of so many weights are remembered."""
    return int(np.clip(ROOM // (2 * size * size), 1, MEMORY))


def _ascended(
    look: Callable[[Laplace], Approximation], here: Approximation, trials: list[Reached], length: float
) -> tuple[Approximation, int]:
    """The first way onwards that does not lower the bound, and how many were tried."""
    for tried, beliefs in enumerate(_ways(here, trials, length), 1):
        there = look(beliefs)
        if length <= NEAR or there.bound >= here.bound:
            return there, tried
    raise _not_found()


def _ways(here: Approximation, trials: list[Reached], length: float) -> Iterator[Laplace]:
    """The mixture of steps, if they are short, and then the step itself, ever shorter."""
    if len(trials) > 1 and length <= MIXED:
        yield from _mixture(here, trials)
    for halvings in range(MOST_HALVINGS):
        yield here.moved(DAMPED / 2**halvings)


def _mixture(here: Approximation, trials: list[Reached]) -> Iterator[Laplace]:
    """The mixture of Gaussians, each after its step, for which that of the steps is shortest; none, if it is none."""
    reached, steps = (np.array(part) for part in zip(*trials, strict=True))
    mixed = mixture(reached, steps, rcond=1e-8)
    size = here.precision.size
    try:
        factor = cholesky(mixed[size:].reshape(size, size), lower=True)
    except LinAlgError:
        return
    yield Laplace(mixed[:size].reshape(here.precision.shape), factor)


def _not_found() -> ClasswiseError:
    return ClasswiseError(
        "posterior='variational' found no Gaussian that is nearest: hardly any prior holds weights that the rows leave "
        "open. Give a larger precision, or precision='evidence', or use posterior='laplace'."
    )
