"""From rows to a mixture: several starts go a few steps, and the best goes on to the top.

The best is looked for class by class: a start may have found the clusters of one class, and missed those of another.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from classwise.arrays import Array, Codes
from classwise.covariance import FullCovariance
from classwise.densities.em.arranged import Arranged
from classwise.densities.em.expectation import MixtureParameters, PseudoRows, expect, log_prior, maximize
from classwise.densities.em.starts import Seeding, component_counts
from classwise.densities.gaussian import Gaussian
from classwise.densities.mixture import Mixture
from classwise.engines import BLAS
from classwise.engines.progress import Deadline
from classwise.statistics import FullScatter, PooledScatter, gather_moments
from classwise.storage import stored

# EM stops when the objective of a row gains less than this, or after so many iterations.
TOLERANCE = 1e-6
MOST_ITERATIONS = 500

# Every start goes so far; the best goes on.
STARTS = 4
FIRST_ITERATIONS = 10


@stored("Ascent")
@dataclass(frozen=True, eq=False, repr=False)
class Ascent:
    """How EM went: the log posterior of the parameters, up to a constant, before each iteration; it never decreases."""

    objective: Array
    converged: bool

    def _is_sound(self) -> bool:
        return self.objective.ndim == 1 and len(self.objective) > 0

    @property
    def iterations(self) -> int:
        return len(self.objective)

    def __repr__(self) -> str:
        state = "converged" if self.converged else "not converged"
        return f"Ascent({state} after {self.iterations} iterations, objective {self.objective[-1]:.6g})"


class Learned(NamedTuple):
    """A mixture, and how it was found."""

    mixture: Mixture
    ascent: Ascent


@dataclass(frozen=True)
class Search:
    """How many components a class may have, how many starts are tried, and where EM stops; deadline: when it has to."""

    components: int
    starts: int = STARTS
    tolerance: float = TOLERANCE
    most: int = MOST_ITERATIONS
    deadline: Deadline = field(default_factory=Deadline)


class Climb:
    """EM from given parameters, as far as it is asked to go."""

    def __init__(
        self, arranged: Arranged, prior: PseudoRows, start: MixtureParameters, deadline: Deadline | None = None
    ) -> None:
        self.arranged = arranged
        self.prior = prior
        self.parameters = start
        self.deadline = deadline or Deadline()
        self.path: list[float] = []
        self.converged = False

    def go(self, iterations: int, tolerance: float) -> "Climb":
        """So many more iterations, unless the objective of a row gains less than tolerance before."""
        enough = tolerance * float(self.arranged.weight.sum())
        for _ in range(iterations):
            self.deadline.check()
            expected = expect(self.arranged, self.parameters)
            self.path.append(expected.log_likelihood + log_prior(self.arranged, self.parameters, self.prior))
            self.parameters = maximize(self.arranged, expected, self.prior, self.parameters.owner)
            self.converged = len(self.path) > 1 and self.path[-1] - self.path[-2] <= enough
            if self.converged:
                break
        return self

    def height(self) -> float:
        """The objective, where it was last looked at."""
        return self.path[-1]

    def ascent(self) -> Ascent:
        return Ascent(np.array(self.path), self.converged)


def learn_mixture(arranged: Arranged, prior: PseudoRows, search: Search, random_state: Any = 0) -> Learned:
    """The mixture of the best start, and how EM went from there."""
    counts = component_counts(arranged.weight, search.components)
    with BLAS.held():
        seeding = Seeding.of(arranged, prior)
        tries = search.starts if (counts > 1).any() else 1
        starts = seeding.starts(counts, tries, np.random.default_rng(random_state))
        begin = (FIRST_ITERATIONS, search.tolerance)
        climbs = [Climb(arranged, prior, start, search.deadline).go(*begin) for start in starts]
        best = max(climbs, key=Climb.height)
        if tries > 1:
            joined = Climb(arranged, prior, _best_of_each(climbs, best), search.deadline).go(*begin)
            best = max(best, joined, key=Climb.height)
        if not best.converged:
            best.go(max(search.most - len(best.path), 0), search.tolerance)
    return Learned(as_mixture(arranged, best.parameters), best.ascent())


def _best_of_each(climbs: Sequence[Climb], best: Climb) -> MixtureParameters:
    """For each class the components that serve its rows best, under one covariance."""
    covariance = best.parameters.covariance
    tried = [replace(climb.parameters, covariance=covariance) for climb in climbs]
    scores = np.array([expect(best.arranged, parameters).by_class for parameters in tried])
    chosen = [(tried[winner], tried[winner].of(k)) for k, winner in enumerate(scores.argmax(axis=0).tolist())]
    parts = [(of.owner[own], of.share[own], of.shift[own]) for of, own in chosen]
    owner, share, shift = (np.concatenate(part) for part in zip(*parts, strict=True))
    return MixtureParameters(owner, share, shift, covariance)


def as_mixture(arranged: Arranged, parameters: MixtureParameters) -> Mixture:
    """The density."""
    owner, covariance = parameters.owner, parameters.covariance
    if arranged.kinds > 1:
        covariance = FullCovariance(covariance.values[owner])
    gaussian = Gaussian(arranged.centers[owner] + parameters.shift, covariance)
    return Mixture(owner, parameters.share, gaussian, arranged.kinds)


def fit_mixture(
    rows: Array,
    codes: Codes,
    count: int,
    components: int = 3,
    weights: Array | None = None,
    random_state: Any = 0,
    *,
    tied: bool = True,
    prior: PseudoRows | None = None,
    deadline: Deadline | None = None,
) -> Mixture:
    """The mixture of complete rows (n, p) whose classes are codes (n,) in range(count), every class present.

    tied: one covariance for all components, or one for those of each class. prior: worth little, unless given.
    deadline: when EM is given up.

    >>> rows = np.array([[-3.1], [-3.0], [-2.9], [-3.2], [-2.8], [3.1], [3.0], [2.9], [3.2], [2.8], [0.1], [-0.1]])
    >>> mixture = fit_mixture(rows, np.array([0] * 10 + [1] * 2), 2, components=2)
    >>> mixture.owner, mixture.components.means.ravel().round() + 0.0
    (array([0, 0, 1]), array([-3.,  3.,  0.]))
    """
    moments = gather_moments(rows, codes, count, weights, PooledScatter if tied else FullScatter).denoised()
    whole = np.ones(len(rows)) if weights is None else weights
    arranged = Arranged.of(np.asarray(rows, dtype=np.float64), codes, whole, moments.mean, 1 if tied else count)
    search = Search(components, deadline=deadline or Deadline())
    return learn_mixture(arranged, prior or PseudoRows.weak(moments), search, random_state).mixture
