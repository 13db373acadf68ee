"""Averaged one-dependence estimators (Webb, Boughton and Wang 2005): each column in turn is the parent of all others.

    p(x | k) = mean over columns i of  p(x_i | k)  product over j != i of  p(x_j | x_i, k)

So a column may depend on one other at a time, and no structure has to be searched for. Probabilities are counts that
back off to what is better known, by some pseudo-rows:

    q_b         = (n_b + 1) / (n + L)                               the level's share in all classes
    p(b | k)    = (n_kb + smoothing q_b) / (n_k + smoothing)
    p(b | a, k) = (n_kab + backoff p(b | k)) / (n_ka + backoff)     n_ka: of level a, with a value in b's column

A number is a level by the range it lies in, and is uniform within it. What is missing, or was never seen, is integrated
out exactly, as a parent too. A column of fewer than two levels says nothing, and is no parent.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array

from classwise.arrays import Array, Codes, finite, log_sum_exp
from classwise.densities.density import Density
from classwise.statistics import Bins, Named, PairCounts, Place
from classwise.statistics.pairs import placed, starts_of
from classwise.storage import stored


@stored("OneDependence")
@dataclass(frozen=True, eq=False)
class OneDependence(Density):
    """logs (L, L, g): log p(b | a, k) at [a, b, k], and log p(b | k) at [b, b, k]; L counts the levels of all columns.

    The classes lie together, since a row looks them all up at once. Two levels of one column have 0: they never meet.
    """

    columns: tuple[Place, ...]
    logs: Array

    @classmethod
    def estimate(cls, counts: PairCounts, smoothing: float, backoff: float) -> Self:
        """From counts; smoothing, backoff: pseudo-rows, above 0."""
        own, size = counts.own, counts.weight.shape[1]
        logs = np.zeros((size, size, len(own)))
        for j in range(len(counts.columns)):
            to = counts.span(j)
            overall = own[:, to].sum(axis=0)
            rate = (overall + 1) / (overall.sum() + len(overall))
            single = (own[:, to] + smoothing * rate) / (own[:, to].sum(axis=1, keepdims=True) + smoothing)
            together = counts.weight[:, :, to]
            known = together.sum(axis=2, keepdims=True)
            pairs = (together + backoff * single[:, None]) / (known + backoff)
            logs[:, to] = np.log(pairs).transpose(1, 2, 0)
            logs[to, to] = 0.0
            levels = np.arange(to.start, to.stop)
            logs[levels, levels] = np.log(single).T
        return cls(counts.columns, logs)

    def _is_sound(self) -> bool:
        size = int(self._starts[-1])
        chances = bool(self._parents) and bool((self.logs <= 1e-9).all())
        return chances and self.logs.shape[:2] == (size, size) and self.logs.shape[2] > 0

    @property
    def count(self) -> int:
        return self.logs.shape[2]

    @property
    def n_features(self) -> int:
        return len(self.columns)

    @property
    def width(self) -> int:
        return self.n_features + 2 * self.count

    @property
    def free_parameters(self) -> int:
        """Of each class: the levels of a column less one, for each level of each parent and without a parent."""
        levels = np.array([len(self.columns[j]) for j in self._parents])
        free = levels - 1
        return self.count * int(free.sum() + levels.sum() * free.sum() - levels @ free)

    @cached_property
    def _starts(self) -> Codes:
        return starts_of(self.columns)

    @cached_property
    def _parents(self) -> list[int]:
        return [j for j, column in enumerate(self.columns) if len(column) > 1]

    def _span(self, column: int) -> slice:
        return slice(int(self._starts[column]), int(self._starts[column + 1]))

    @cached_property
    def single(self) -> Array:
        """p(b | k) of each level; (g, L)."""
        return np.exp(np.diagonal(self.logs))

    # Evaluation -----------------------------------------------------------------------------------------------------

    def relative(self, rows: Array, offset: Array) -> Array:
        finite(rows)  # a missing number is for `observed`; a missing category, -1, is integrated out here too
        return self._joint(rows, offset)

    def common(self, rows: Array) -> Array | float:
        """Within its range a number is uniform."""
        total = np.zeros(len(rows))
        for j, column in enumerate(self.columns):
            if isinstance(column, Bins) and column.values is None:
                codes = column.codes(rows[:, j])
                total -= np.append(np.log(column.widths), [0.0, 0.0])[codes]
        return total

    def observed(self, rows: Array, offset: Array) -> Array:
        return self._joint(rows, offset) + self.common(rows)

    def _joint(self, rows: Array, offset: Array) -> Array:
        """log of the mean over parents, plus offset; (m, d) -> (g, m)."""
        marks = Marks.of(rows, self.columns, self._starts)
        total = np.full((len(rows), self.count), -np.inf)
        for parent in self._parents:
            np.logaddexp(total, self._given(parent, marks), out=total)
        return total.T - np.log(len(self._parents)) + offset

    def _given(self, parent: int, marks: "Marks") -> Array:
        """log p(x_i | k) + sum over j of log p(x_j | x_i, k), where i is the parent; (m, g)."""
        span = self._span(parent)
        codes = marks.places[:, parent] - span.start
        gone = np.flatnonzero(marks.places[:, parent] == len(self.logs))
        codes[gone] = 0
        scores = marks.summed(codes, self.logs[span])
        if len(gone):
            scores[gone] = self._integrated(span, marks.take(gone))
        return scores

    def _integrated(self, span: slice, marks: "Marks") -> Array:
        """log of the sum over all levels of a missing parent; (m, g)."""
        terms = []
        for level in range(span.start, span.stop):
            same = np.zeros(len(marks.places), dtype=np.intp)
            terms.append(self.logs[level, level] + marks.summed(same, self.logs[level : level + 1]))
        return log_sum_exp(np.array(terms))

    # The rest -------------------------------------------------------------------------------------------------------

    def shares(self, row: Array, first: int, second: int) -> Array:
        """What the log odds gain as columns become known one after the other: the mean of both orders, there and back.

        So they add up to the log odds. Where columns interact in pairs only, these are Shapley's values.
        """
        blank = np.array([-1.0 if isinstance(column, Named) else np.nan for column in self.columns])
        known = np.tri(self.n_features + 1, self.n_features, -1, dtype=bool)
        forth, back = (np.where(order, row, blank) for order in (known, ~known))
        gains = []
        for rows in (forth, back):
            scores = self._joint(rows, np.zeros((self.count, 1)))
            gains.append(np.diff(scores[first] - scores[second]))
        return (gains[0] - gains[1]) / 2

    def parameters(self) -> list[dict[Any, Array]]:
        spans = [self._span(j) for j in range(self.n_features)]
        named = zip(self.columns, spans, strict=True)
        return [dict(zip(column.names, self.single[:, span].T, strict=True)) for column, span in named]

    def sample(self, codes: Codes, generator: np.random.Generator) -> Array:
        parents = np.array(self._parents)[generator.integers(len(self._parents), size=len(codes))]
        levels = np.full((len(codes), self.n_features), -1)
        for i in self._parents:
            own = np.flatnonzero(parents == i)
            levels[own, i] = _drawn(self.single[codes[own], self._span(i)], generator)
            given = self._starts[i] + levels[own, i]
            for j in self._others(i):
                levels[own, j] = _drawn(np.exp(self.logs[given, self._span(j), codes[own]]), generator)
        return np.column_stack([self._valued(j, levels[:, j], generator) for j in range(self.n_features)])

    def _others(self, parent: int) -> Iterator[int]:
        return (j for j in self._parents if j != parent)

    def _valued(self, column: int, levels: Codes, generator: np.random.Generator) -> Array:
        """Values of a column's levels; of a column that is no parent, the only one there is, or none."""
        place = self.columns[column]
        if len(place) == 0:
            return np.full(len(levels), -1.0 if isinstance(place, Named) else np.nan)
        return place.draw(np.maximum(levels, 0), generator)


@dataclass(frozen=True, eq=False)
class Marks:
    """Which levels rows have: places (m, d) among the levels of all columns, their number L where there is none.

    known (m, d): 1 where there is a level, else 0.
    """

    places: Codes
    known: Array
    size: int

    @classmethod
    def of(cls, rows: Array, columns: tuple[Place, ...], starts: Codes) -> Self:
        size = int(starts[-1])
        places = placed(rows, columns, starts).T.astype(np.int32, order="C")
        return cls(places, (places < size).astype(np.float64), size)

    def take(self, rows: Codes) -> "Marks":
        return Marks(self.places[rows], self.known[rows], self.size)

    def summed(self, codes: Codes, table: Array) -> Array:
        """The sum over a row's levels b of table[codes, b]; codes (m,), table (l, L, g) -> (m, g).

        A sparse matrix of marks times the table: nothing is copied, and the table of one parent stays in cache.
        """
        length, width = self.places.shape
        cells = codes[:, None].astype(np.int32) * np.int32(self.size) + np.minimum(self.places, self.size - 1)
        ends = np.arange(0, length * width + 1, width, dtype=np.int32)
        shape = (length, len(table) * self.size)
        marks = csr_array((self.known.ravel(), cells.ravel(), ends), shape=shape, copy=False)
        return np.asarray(marks @ table.reshape(shape[1], -1))


def _drawn(probabilities: Array, generator: np.random.Generator) -> Codes:
    """A level for each row of probabilities (m, l)."""
    cumulative = probabilities.cumsum(axis=1)
    lots = generator.random(len(cumulative)) * cumulative[:, -1]
    return (lots[:, None] >= cumulative[:, :-1]).sum(axis=1)
