"""From rows to a mixture: several starts go a few steps, and the best goes on to the top.

The best is looked for class by class: a start may have found the clusters of one class, and missed those of another.

A start is clusters within each class, by k-means++ (Arthur and Vassilvitskii 2007) on whitened rows. A row is drawn by
its weight times its squared distance to the nearest center so far. Lots run along the rows as ordered by their distance
from the mean, so that neither the order of a table nor repeating a row, rather than weighing it twice, changes what a
seed draws.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import log
from typing import Any, NamedTuple, Self

import numpy as np

from classwise import limits
from classwise.arrays import EPS, Array, Codes, product, row_norms
from classwise.covariance import FullCovariance
from classwise.densities.em.arranged import Arranged, Complete, Gappy, metrics_of
from classwise.densities.em.expectation import Expected, MixtureParameters, PseudoRows, expect, log_prior, maximize
from classwise.densities.gaussian import Gaussian
from classwise.densities.mixture import Mixture
from classwise.engines import BLAS
from classwise.engines.progress import Deadline
from classwise.statistics import FullScatter, PooledScatter, gather_moments
from classwise.storage import stored

# A class has at most one component for every this many rows.
ROWS_PER_COMPONENT = 5

# Centers are moved to the means of the rows nearest to them so often.
MOVES = 10

# Iterations of EM for one component in each class, where rows have gaps.
COMPLETIONS = 20


def component_counts(weight: Array, components: int | Codes) -> Codes:
    """How many components each class has; fewer than asked for where it has few rows; (g,)."""
    return np.clip(weight // ROWS_PER_COMPONENT, 1, components).astype(np.intp)


def one_each(arranged: Arranged, prior: PseudoRows) -> tuple[MixtureParameters, Expected]:
    """One component for each class: the most probable, and what it is responsible for."""
    count, features = arranged.centers.shape
    owner = np.arange(count)
    at_centers = Expected(0.0, np.zeros(count), arranged.weight, np.zeros((count, features)), arranged.products)
    parameters = maximize(arranged, at_centers, prior, owner)
    if arranged.has_gaps:
        for _ in range(COMPLETIONS):
            parameters = maximize(arranged, expect(arranged, parameters), prior, owner)
    return parameters, expect(arranged, parameters)


@dataclass(frozen=True, eq=False)
class Seeding:
    """Rows, and one component for each class, in whose metric clusters are looked for."""

    arranged: Arranged
    prior: PseudoRows
    single: MixtureParameters
    expected: Expected

    @classmethod
    def of(cls, arranged: Arranged, prior: PseudoRows) -> Self:
        return cls(arranged, prior, *one_each(arranged, prior))

    def starts(self, counts: Codes, tries: int, generator: np.random.Generator) -> list[MixtureParameters]:
        """`tries` starts, with at most counts[k] components in class k."""
        by_class = [self._of_class(k, int(count), tries, generator) for k, count in enumerate(counts)]
        return [self._joined([tried[i] for tried in by_class]) for i in range(tries)]

    def _joined(self, clusters: Sequence[tuple[Array, Array]]) -> MixtureParameters:
        """Parameters from the weights and sums of clusters in each class."""
        owner = np.repeat(np.arange(len(clusters)), [len(weight) for weight, _ in clusters])
        weight, sums = (np.concatenate([of[i] for of in clusters]) for i in (0, 1))
        return maximize(self.arranged, replace(self.expected, weight=weight, sums=sums), self.prior, owner)

    def _of_class(self, k: int, count: int, tries: int, generator: np.random.Generator) -> list[tuple[Array, Array]]:
        """Weights (c,) and sums of rows (c, p) of clusters, for each try."""
        if count == 1:
            return [(self.expected.weight[[k]], self.expected.sums[[k]])] * tries
        parts = [part for part in self.arranged.parts if part.k == k]
        rows = np.vstack([self._filled(part) for part in parts])
        weights = np.concatenate([part.weights for part in parts])
        white = self.single.covariance.whiten(rows - self.single.shift[k], self.arranged.kind(k))
        order = np.argsort(row_norms(white), kind="stable")
        rows, white, weights = rows[order], white[order], weights[order]
        some = np.linspace(0, len(white) - 1, min(len(white), limits.CLUSTERED_ROWS)).astype(np.intp)
        found = [clusters(white[some], weights[some], count, generator) for _ in range(tries)]
        return [_summed(nearest(white, centers), rows, weights) for centers in found]

    def _filled(self, part: Complete | Gappy) -> Array:
        """Rows with what is missing where the class expects it; (m, p)."""
        if isinstance(part, Complete):
            return part.rows
        shift = self.single.shift[part.k]
        metrics = metrics_of(self.single.covariance, self.arranged.kind(part.k), part.gaps)
        away = (part.rows - np.append(shift, 0.0)) * part.present[part.group, 0]
        return shift + metrics.of(part.group).completed(away[:, None])[:, 0, :-1]


def clusters(rows: Array, weights: Array, count: int, generator: np.random.Generator) -> Array:
    """Centers (c, p) of clusters of rows (m, p): drawn far apart, then moved to the means of what is nearest.

    There are fewer than count where there are fewer different rows.
    """
    centers = _spread(rows, weights, count, generator)
    for _ in range(MOVES):
        weight, sums = _summed(nearest(rows, centers), rows, weights)
        moved = sums / weight[:, None]
        if moved.shape == centers.shape and np.array_equal(moved, centers):
            break
        centers = moved
    return centers


def nearest(rows: Array, centers: Array) -> Codes:
    """The position of the nearest center; (m, p), (c, p) -> (m,)."""
    return np.asarray((product(centers, rows.T) - 0.5 * row_norms(centers)[:, None]).argmax(axis=0))


def _spread(rows: Array, weights: Array, count: int, generator: np.random.Generator) -> Array:
    """Rows drawn by their weight times their squared distance to those drawn before; (c, p)."""
    chances, distance = weights, np.full(len(rows), np.inf)
    rounding = EPS * (1 + row_norms(rows))
    chosen: list[Array] = []
    while len(chosen) < count and chances.any():
        cumulative = np.cumsum(chances)
        place = np.searchsorted(cumulative, generator.random() * cumulative[-1], side="right")
        chosen.append(rows[min(int(place), len(rows) - 1)])
        distance = np.minimum(distance, row_norms(rows - chosen[-1]))
        chances = weights * np.where(distance > rounding, distance, 0.0)
    return np.array(chosen)


def _summed(codes: Codes, rows: Array, weights: Array) -> tuple[Array, Array]:
    """The weight of the rows of each code that occurs (c,), and their sums (c, p)."""
    present, codes = np.unique(codes, return_inverse=True)
    belongs = (codes == np.arange(len(present))[:, None]) * weights
    return belongs.sum(axis=1), product(belongs, rows)


# EM stops when the objective of a row gains less than this, or after this many iterations.
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
    """A mixture, how it was found, and the log-likelihood of the rows."""

    mixture: Mixture
    ascent: Ascent
    log_likelihood: float

    def bic(self, weight: float) -> float:
        """The price of the parameters less twice the log-likelihood, for rows of this weight (Schwarz 1978)."""
        return self.mixture.free_parameters * log(weight) - 2 * self.log_likelihood


@dataclass(frozen=True)
class ComponentSearch:
    """How many components a class may have, or each class (g,), how many starts are tried, and where EM stops;
    deadline: when it has to.
    """

    components: int | Codes
    starts: int = STARTS
    tolerance: float = TOLERANCE
    most: int = MOST_ITERATIONS
    deadline: Deadline = field(default_factory=Deadline)


class MixtureEM:
    """EM from given parameters, some iterations at a time."""

    def __init__(
        self, arranged: Arranged, prior: PseudoRows, start: MixtureParameters, deadline: Deadline | None = None
    ) -> None:
        self.arranged = arranged
        self.prior = prior
        self.parameters = start
        self.deadline = deadline or Deadline()
        self.path: list[float] = []
        self.converged = False

    def go(self, iterations: int, tolerance: float) -> "MixtureEM":
        """Some more iterations, unless the objective of a row gains less than tolerance before."""
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


def learn_mixture(arranged: Arranged, prior: PseudoRows, search: ComponentSearch, random_state: Any = 0) -> Learned:
    """The mixture of the best start, and how EM went from there."""
    counts = component_counts(arranged.weight, search.components)
    with BLAS.held():
        seeding = Seeding.of(arranged, prior)
        tries = search.starts if (counts > 1).any() else 1
        starts = seeding.starts(counts, tries, np.random.default_rng(random_state))
        begin = (FIRST_ITERATIONS, search.tolerance)
        runs = [MixtureEM(arranged, prior, start, search.deadline).go(*begin) for start in starts]
        best = max(runs, key=MixtureEM.height)
        if tries > 1:
            joined = MixtureEM(arranged, prior, _best_of_each(runs, best), search.deadline).go(*begin)
            best = max(best, joined, key=MixtureEM.height)
        if not best.converged:
            best.go(max(search.most - len(best.path), 0), search.tolerance)
        reached = expect(arranged, best.parameters).log_likelihood
    return Learned(as_mixture(arranged, best.parameters), best.ascent(), reached)


def learn_by_bic(arranged: Arranged, prior: PseudoRows, search: ComponentSearch, random_state: Any = 0) -> Learned:
    """The same with the numbers of components of the least BIC that is found, at most as many as the search says.

    Classes that share a covariance cannot be looked at one by one. From the best number for all of them, one after the
    other has one more or one less, as long as that helps.
    """
    weight, generator = float(arranged.weight.sum()), np.random.default_rng(random_state)
    most, tried = component_counts(arranged.weight, search.components), dict[tuple[int, ...], Learned]()

    def bic(counts: Codes) -> float:
        """Of these numbers; what has been tried is not tried again."""
        key = tuple(counts.tolist())
        if key not in tried:
            tried[key] = learn_mixture(arranged, prior, replace(search, components=counts), generator)
        return tried[key].bic(weight)

    best = min((np.minimum(most, count) for count in range(1, int(most.max()) + 1)), key=bic)
    settled = False
    while not settled:
        each = [best + sign * (np.arange(len(best)) == k) for k in range(len(best)) for sign in (1, -1)]
        before, best = best, min([best, *(one for one in each if (one >= 1).all() and (one <= most).all())], key=bic)
        settled = best is before
    return tried[tuple(best.tolist())]


def _best_of_each(runs: Sequence[MixtureEM], best: MixtureEM) -> MixtureParameters:
    """For each class the components that serve its rows best, under one covariance."""
    covariance = best.parameters.covariance
    tried = [replace(run.parameters, covariance=covariance) for run in runs]
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

    tied: one covariance for all components, or one for those of each class. prior: weak, by default.
    deadline: when EM is given up.

    >>> rows = np.array([[-3.1], [-3.0], [-2.9], [-3.2], [-2.8], [3.1], [3.0], [2.9], [3.2], [2.8], [0.1], [-0.1]])
    >>> mixture = fit_mixture(rows, np.array([0] * 10 + [1] * 2), 2, components=2)
    >>> mixture.owner, mixture.components.means.ravel().round() + 0.0
    (array([0, 0, 1]), array([-3.,  3.,  0.]))
    """
    moments = gather_moments(rows, codes, count, weights, PooledScatter if tied else FullScatter).denoised()
    whole = np.ones(len(rows)) if weights is None else weights
    arranged = Arranged.of(np.asarray(rows, dtype=np.float64), codes, whole, moments.mean, 1 if tied else count)
    search = ComponentSearch(components, deadline=deadline or Deadline())
    return learn_mixture(arranged, prior or PseudoRows.weak(moments), search, random_state).mixture
