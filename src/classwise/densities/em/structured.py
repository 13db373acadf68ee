"""Mixtures whose components share volume, shape or orientation, class by class (Fraley and Raftery 2002).

Within a class, components are to EM what classes are to a classifier: from the weights, means and scatters of what they
are responsible for, a structure (covariance/decomposition.py) makes their covariances.

    responsible_c(x) = P(c | x);   n_c, m_c, S_c = weight, mean and scatter of rows, by responsible_c(x) times weight

The prior's rows (expectation.py) are divided among the components of a class. Every class may have a number of
components and a structure of its own: those of the least BIC, at the most probable parameters.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import log
from typing import NamedTuple, Self

import numpy as np

from classwise.arrays import Array, Codes, log_sum_exp, row_norms
from classwise.covariance import DECOMPOSITIONS, Covariance, Decomposition, FullCovariance, count_parameters
from classwise.densities.em.ascent import FIRST_ITERATIONS, Ascent, ComponentSearch, clusters, component_counts, nearest
from classwise.densities.em.expectation import PseudoRows
from classwise.densities.gaussian import Gaussian
from classwise.densities.mixture import Mixture
from classwise.engines import BLAS
from classwise.statistics import FullScatter
from classwise.storage import stored
from classwise.tabular import aligned

# Where a structure or a number of components is left to choose, this many are tried at most.
MOST_COMPONENTS = 5

# With one component nothing is shared with others: three structures are all there are.
ALONE = ("VII", "VVI", "VVV")

# Where many structures are tried, they set out from one start: the best for this one.
FIRST = DECOMPOSITIONS["EEE"]


class Components(NamedTuple):
    """Of one class: share (c,), means (c, p), covariance: one for all components, or one for each."""

    share: Array
    means: Array
    covariance: Covariance


@dataclass(frozen=True, eq=False)
class ClassRows:
    """The complete rows (m, p) of one class, their weights (m,), and what is believed before them."""

    rows: Array
    weights: Array
    prior: PseudoRows

    @cached_property
    def total(self) -> float:
        return float(self.weights.sum())

    def maximized(self, responsible: Array, structure: Decomposition, before: Components | None = None) -> Components:
        """The most probable parameters, given what components are responsible for (c, m); before: those until now."""
        prior, count = self.prior, len(responsible)
        weight = responsible.sum(axis=1)
        means = (prior.kappa * prior.mean + responsible @ self.rows) / (prior.kappa + weight)[:, None]
        pulled = means - prior.mean
        scatter = prior.scale / count + prior.kappa * pulled[:, :, None] * pulled[:, None, :]
        for c, own in enumerate(responsible):
            away = np.sqrt(own)[:, None] * (self.rows - means[c])
            scatter[c] += away.T @ away
        near = None if before is None else before.covariance
        covariance = structure.likeliest(FullScatter(scatter), (prior.strength / count + weight)[:, None], near)
        share = weight + prior.alike
        return Components(share / share.sum(), means, covariance)

    def responses(self, components: Components) -> tuple[float, Array]:
        """The log-likelihood of the rows, and what each component is responsible for; (c, m)."""
        gaussian = Gaussian(components.means, components.covariance)
        scores = gaussian.relative(self.rows, np.log(components.share)[:, None]) + gaussian.common(self.rows)
        total = log_sum_exp(scores)
        return float(self.weights @ total), np.exp(scores - total) * self.weights

    def log_prior(self, components: Components) -> float:
        """Up to a constant; see PseudoRows."""
        prior, covariance, count = self.prior, components.covariance, len(components.share)
        total = prior.alike * float(np.log(components.share).sum())
        for c, pulled in enumerate(components.means - prior.mean):
            k = min(c, len(covariance.values) - 1)
            total -= prior.strength / count * float(covariance.half_log_det[k])
            total -= 0.5 / count * float((covariance.precision(k) * prior.scale).sum())
            total -= 0.5 * prior.kappa * float(row_norms(covariance.whiten(pulled[None], k))[0])
        return total

    def partitions(self, count: int, tries: int, generator: np.random.Generator) -> list[Array]:
        """Clusters of rows, as weights of each row in each of them; (c, m) each.

        Of whitened rows, and in turns of rows in units of their deviations: whitening hides clusters along a line.
        """
        if count == 1:
            return [self.weights[None]]
        singles = (self.maximized(self.weights[None], DECOMPOSITIONS[name]) for name in ("VVV", "VVI"))
        scaled = [single.covariance.whiten(self.rows - single.means[0], 0) for single in singles]
        return [self._partition(scaled[i % 2], count, generator) for i in range(tries)]

    def _partition(self, scaled: Array, count: int, generator: np.random.Generator) -> Array:
        order = np.argsort(row_norms(scaled), kind="stable")
        codes = nearest(scaled, clusters(scaled[order], self.weights[order], count, generator))
        return np.asarray((codes == np.unique(codes)[:, None]) * self.weights)


class StructuredEM:
    """EM within one class, from a partition of its rows."""

    def __init__(self, rows: ClassRows, structure: Decomposition, start: Array) -> None:
        self.rows = rows
        self.structure = structure
        self.components = rows.maximized(start, structure)
        self.log_likelihood = -np.inf
        self.path: list[float] = []
        self.converged = False

    def go(self, iterations: int, tolerance: float) -> Self:
        """Some more iterations, unless the objective of a row gains less than tolerance before."""
        for _ in range(iterations):
            self.log_likelihood, responsible = self.rows.responses(self.components)
            self.path.append(self.log_likelihood + self.rows.log_prior(self.components))
            self.converged = len(self.path) > 1 and self.path[-1] - self.path[-2] <= tolerance * self.rows.total
            if self.converged:
                break
            self.components = self.rows.maximized(responsible, self.structure, self.components)
        return self

    def height(self) -> float:
        """The objective, where it was last looked at."""
        return self.path[-1]

    @property
    def parameters(self) -> int:
        """How many are free: of shares, means and covariances."""
        count, features = self.components.means.shape
        return count - 1 + count * features + count_parameters(self.structure.letters, count, features)

    @property
    def bic(self) -> float:
        return self.parameters * log(self.rows.total) - 2 * self.log_likelihood


@stored("ComponentChoice", loose=("bic",))
@dataclass(frozen=True, eq=False, repr=False)
class ComponentChoice:
    """The BIC of a class for every structure and number of components that was tried, NaN where one was not; (s, c)."""

    structures: tuple[str, ...]
    counts: tuple[int, ...]
    bic: Array

    def _is_sound(self) -> bool:
        return self.bic.shape == (len(self.structures), len(self.counts)) and bool(np.isfinite(self.bic).any())

    @property
    def best(self) -> tuple[str, int]:
        """The structure and the number of components of the least BIC."""
        row, column = divmod(int(np.nanargmin(self.bic)), len(self.counts))
        return self.structures[row], self.counts[column]

    def __repr__(self) -> str:
        rows = zip(self.structures, self.bic, strict=True)
        cells = [(name, *("" if np.isnan(value) else f"{value:.1f}" for value in values)) for name, values in rows]
        structure, count = self.best
        end = f"{structure} with {count} component{'s' if count > 1 else ''} has the least BIC."
        return "\n".join([*aligned([("BIC", *map(str, self.counts)), *cells]), end])


class Structured(NamedTuple):
    """A mixture, how EM went, and what was tried in each class."""

    mixture: Mixture
    ascent: Ascent
    choices: tuple[ComponentChoice, ...]


def learn_structured(
    classes: Sequence[ClassRows],
    structures: Sequence[Decomposition],
    counts: Sequence[Sequence[int]],
    search: ComponentSearch,
    random_state: np.random.Generator,
) -> Structured:
    """The mixture of each class by itself. counts: of components to try, for each class."""
    with BLAS.held():
        tried = [_tried(rows, structures, few, search, random_state) for rows, few in zip(classes, counts, strict=True)]
        best = [min(runs.values(), key=lambda run: run.bic) for runs in tried]
    choices = tuple(_choice(runs, structures, few) for runs, few in zip(tried, counts, strict=True))
    longest = max(len(run.path) for run in best)
    # A class that has arrived stays where it is, while others go on.
    objective = np.sum([np.pad(run.path, (0, longest - len(run.path)), mode="edge") for run in best], axis=0)
    ascent = Ascent(objective, all(run.converged for run in best))
    return Structured(_as_mixture([run.components for run in best], best), ascent, choices)


def numbers_of_components(weight: Array, most: int | Codes, is_open: bool) -> list[list[int]]:
    """How many components to try in each class: one number, or all up to the most that its rows suffice for."""
    counts = component_counts(weight, most).tolist()
    return [list(range(1, count + 1)) if is_open else [count] for count in counts]


def _tried(
    rows: ClassRows,
    structures: Sequence[Decomposition],
    counts: Sequence[int],
    search: ComponentSearch,
    generator: np.random.Generator,
) -> Mapping[tuple[str, int], StructuredEM]:
    """The best of several starts, for each structure and number of components."""
    found = {}
    for count in counts:
        starts = rows.partitions(count, search.starts, generator)
        starts = starts if len(structures) == 1 else [_best_start(rows, starts, search.tolerance)]
        few = (
            structures if count > 1 or len(structures) == 1 else [each for each in structures if each.letters in ALONE]
        )
        for structure in few:
            search.deadline.check()
            runs = [StructuredEM(rows, structure, start).go(FIRST_ITERATIONS, search.tolerance) for start in starts]
            best = max(runs, key=StructuredEM.height)
            if not best.converged:
                best.go(max(search.most - len(best.path), 0), search.tolerance)
            found[structure.letters, count] = best
    return found


def _best_start(rows: ClassRows, starts: Sequence[Array], tolerance: float) -> Array:
    """What components of one covariance are responsible for after a few steps, from the best of some partitions."""
    runs = [StructuredEM(rows, FIRST, start).go(FIRST_ITERATIONS, tolerance) for start in starts]
    return rows.responses(max(runs, key=StructuredEM.height).components)[1]


def _choice(
    runs: Mapping[tuple[str, int], StructuredEM], structures: Sequence[Decomposition], counts: Sequence[int]
) -> ComponentChoice:
    names = tuple(structure.letters for structure in structures)
    table = [[runs[name, c].bic if (name, c) in runs else np.nan for c in counts] for name in names]
    return ComponentChoice(names, tuple(counts), np.array(table))


def _as_mixture(classes: Sequence[Components], runs: Sequence[StructuredEM]) -> Mixture:
    counts = [len(each.share) for each in classes]
    owner: Codes = np.repeat(np.arange(len(classes)), counts)
    share, means = (np.concatenate([each[i] for each in classes]) for i in (0, 1))
    values = [
        np.broadcast_to(each.covariance.matrices(), (n, *each.covariance.matrices().shape[1:]))
        for each, n in zip(classes, counts, strict=True)
    ]
    covariance = FullCovariance(np.concatenate(values))
    features = means.shape[1]
    free = sum(count_parameters(run.structure.letters, n, features) for run, n in zip(runs, counts, strict=True))
    covariance = replace(covariance, constraints=covariance.free_parameters - free)
    return Mixture(owner, share, Gaussian(means, covariance), len(owner))
