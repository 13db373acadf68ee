"""Categories: independent columns of levels, log p(x | k) = sum over columns of log p(level | k).

    p(level | k) = (n_level + smoothing) / (n + smoothing L)

n weighs the rows of class k that have a value in the column, L counts the levels seen in any class. With a Dirichlet
prior of `smoothing` at each level this is the posterior mean, and the predictive probability; 0 is maximum likelihood.
A level never seen has the probability of one seen only in other classes, smoothing / (n + smoothing L).
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.special import gammaln

from classwise.arrays import Array, Codes, Labels
from classwise.densities.density import Density
from classwise.rows.codes import is_sorted
from classwise.statistics import LevelCounts
from classwise.storage import stored

# Columns are looked up together as long as their combinations are no more than this: one look instead of several.
COMBINATIONS = 4096


@stored("Levels")
@dataclass(frozen=True, eq=False)
class Levels:
    """One column: the probability of each level in each class (g, L), and of a level never seen (g, 1).

    missing (g, 1): the probability of having no value; 1 where a missing value says nothing.
    within (L,): the share of a level in the group that it was pooled in; 1 for a level by itself.
    """

    names: Labels
    probability: Array
    unseen: Array
    missing: Array
    within: Array

    def _is_sound(self) -> bool:
        count, levels = self.probability.shape
        shaped = self.unseen.shape == self.missing.shape == (count, 1) and self.within.shape == (levels,)
        chances = np.concatenate([self.probability.ravel(), self.unseen.ravel(), self.missing.ravel(), self.within])
        named = len(self.names) == levels > 0 and is_sorted(self.names)
        return shaped and named and bool(((chances >= 0) & (chances < 1 + 1e-9)).all())

    @classmethod
    def estimate(cls, counts: LevelCounts, smoothing: float, missing: Array | None = None, rare: float = 0.0) -> Self:
        """From counts; missing (g,): the weight without a value, where that is a level of its own.

        rare: levels that weigh less than this over all classes share one probability, as do levels never seen.
        """
        pooled = np.flatnonzero(counts.weight.sum(axis=0) < rare)
        kept = np.setdiff1d(np.arange(len(counts.levels)), pooled)
        extra = [] if missing is None else [missing[:, None]]
        pool = [counts.weight[:, pooled].sum(axis=1, keepdims=True)] if len(pooled) else []
        weight = np.hstack([counts.weight[:, kept], *pool, *extra]) + smoothing
        total = weight.sum(axis=1, keepdims=True)
        probability = np.zeros_like(counts.weight)
        probability[:, kept] = weight[:, : len(kept)] / total
        unseen = weight[:, len(kept), None] / total if len(pooled) else smoothing / total
        probability[:, pooled] = unseen
        last = weight[:, -1:] / total if extra else np.ones_like(total)
        overall, within = counts.weight.sum(axis=0), np.ones(len(counts.levels))
        # Yes and no are levels even if neither was seen: then they share alike.
        seen = overall[pooled] if overall[pooled].any() else np.ones(len(pooled))
        within[pooled] = seen / seen.sum()
        return cls(counts.levels, probability, unseen, last, within)

    @cached_property
    def log_probability(self) -> Array:
        """log p by code: the levels, then the level never seen, then what is missing, at -1; (g, L + 2)."""
        with np.errstate(divide="ignore"):  # without smoothing, what a class never showed has probability zero
            return np.log(np.hstack([self.probability, self.unseen, self.missing]))

    @property
    def free_parameters(self) -> int:
        """Probabilities that are not given by the others: one less than there are levels, in each class."""
        pooled = self.within < 1
        levels = int((~pooled).sum()) + int(pooled.any()) + int((self.missing < 1).any())
        return len(self.probability) * (levels - 1)

    def of_values(self) -> "Levels":
        """P(level | k, not missing) = P(level | k) / (1 - P(missing | k)), where missing is a level of its own."""
        if not (self.missing < 1).any():
            return self
        there = 1 - self.missing
        ones = np.ones_like(self.missing)
        return replace(self, probability=self.probability / there, unseen=self.unseen / there, missing=ones)


@stored("Categorical")
@dataclass(frozen=True, eq=False)
class Categorical(Density):
    """Independent columns of levels."""

    columns: tuple[Levels, ...]

    @classmethod
    def of(cls, columns: Iterable[Levels]) -> Self:
        return cls(tuple(columns))

    def _is_sound(self) -> bool:
        return len({len(column.probability) for column in self.columns}) == 1

    def of_values(self) -> Density:
        return Categorical.of(column.of_values() for column in self.columns)

    @property
    def count(self) -> int:
        return len(self.columns[0].probability)

    @property
    def n_features(self) -> int:
        return len(self.columns)

    @property
    def width(self) -> int:
        return self.n_features + 2 * self.count

    @cached_property
    def _groups(self) -> list[tuple[list[int], Array]]:
        """Columns that are looked up together, and log p of every combination of their codes; (g, combinations).

        Codes count from -1, for missing; the last column of a group changes fastest.
        """
        groups: list[tuple[list[int], Array]] = []
        for j, column in enumerate(self.columns):
            table = np.roll(column.log_probability, 1, axis=1)
            if groups and groups[-1][1].shape[1] * table.shape[1] <= COMBINATIONS:
                members, joint = groups.pop()
                table = (joint[:, :, None] + table[:, None, :]).reshape(self.count, -1)
                groups.append(([*members, j], table))
            else:
                groups.append(([j], table))
        return groups

    @property
    def free_parameters(self) -> int:
        return sum(column.free_parameters for column in self.columns)

    def relative(self, rows: Array, offset: Array) -> Array:
        scores = np.repeat(offset, len(rows), axis=1)
        for members, table in self._groups:
            place = rows[:, members[0]] + 1.0
            for j in members[1:]:
                place *= self.columns[j].log_probability.shape[1]
                place += rows[:, j]
                place += 1.0
            scores += table.take(place.astype(np.intp), axis=1, mode="wrap")
        return scores

    def common(self, rows: Array) -> float:
        return 0.0

    def observed(self, rows: Array, offset: Array) -> Array:
        return self.relative(rows, offset)

    def shares(self, row: Array, first: int, second: int) -> Array:
        logs = (column.log_probability[:, int(code)] for column, code in zip(self.columns, row, strict=True))
        return np.array([of[first] - of[second] for of in logs])

    def parameters(self) -> list[dict[Any, Array]]:
        return [dict(zip(of.names.tolist(), of.probability.T, strict=True)) for of in self.columns]

    def sample(self, codes: Codes, generator: np.random.Generator) -> Array:
        rows = np.empty((len(codes), self.n_features))
        for j, column in enumerate(self.columns):
            rows[:, j] = _draw(column, codes, generator)
        return rows


def levels_evidence(counts: LevelCounts, smoothing: float) -> float:
    """log p(levels | labels) under the Dirichlet prior, probabilities integrated out."""
    weight, total = counts.weight, counts.weight.sum(axis=1)
    whole = smoothing * weight.shape[1]
    levels = (gammaln(weight + smoothing) - gammaln(smoothing)).sum(axis=1)
    return float((gammaln(whole) - gammaln(total + whole) + levels).sum())


def _draw(column: Levels, codes: Codes, generator: np.random.Generator) -> Array:
    """A level for each code, or -1 for a missing one, by inverting the cumulative probabilities."""
    is_level = (column.missing < 1).any()
    probability = np.hstack([column.probability * column.within, column.missing if is_level else 0 * column.missing])
    cumulative = (probability / probability.sum(axis=1, keepdims=True)).cumsum(axis=1)
    # The last bound is one except for rounding, and lots are below one.
    drawn = (generator.random(len(codes))[:, None] >= cumulative[codes, :-1]).sum(axis=1)
    return np.where(drawn == len(column.names), -1.0, drawn)
