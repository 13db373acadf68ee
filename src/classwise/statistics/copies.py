"""Columns that follow from others: x_j = sum of slope x_i, plus an offset, in every row.

As millimeters repeat centimeters, or a total is the sum of its parts. With T of all rows, and columns in their order,

    T = sum over all rows of w (x - m)(x - m)';    slope = T_ss^-1 T_sj;    T_js slope = T_jj, to rounding

T holds all classes, so that the same line serves each of them. It comes from merged statistics: chunks agree.
"""

from collections.abc import Callable, Iterator
from math import floor, log10
from typing import NamedTuple

import numpy as np

from classwise.arrays import EPS, Array, Codes
from classwise.kernels.sums import least_pivot
from classwise.statistics.by_class import ClassStatistics
from classwise.statistics.gaps import Numbers

# The share of a column's variance, in units of rounding, that other columns may leave unexplained: at least this, and
# for many columns as much as makes a covariance singular (see covariance.rank).
LEAST_LEFT = 100
LEFT_BY_COLUMN = 10

# Columns that plainly vary are free of each other where no column's variance, given those before it, is less than this
# share of its own: far from what a copy leaves.
LEAST_PIVOT = 1e-6

# Slopes and offsets are known to about this many digits: 1.8, not 1.7999999999999998.
DIGITS = 12

# A column has a part in another, if its slope is more than this in units of the standard deviations.
LEAST_SLOPE = 1e-6

# This many columns are named of those that another follows from.
MOST_NAMED = 3


class CopyOf(NamedTuple):
    """x = sum of slopes * columns + offset in every row; columns: their positions."""

    columns: tuple[int, ...]
    slopes: tuple[float, ...]
    offset: float

    def described(self, name: Callable[[int], str]) -> str:
        """What is said of it, given what columns are called.

        >>> names = ["'inches'", "'celsius'", "'girls'", "'boys'"]
        >>> CopyOf((0,), (1.0,), 0.0).described(names.__getitem__)
        "the same as 'inches'"
        >>> CopyOf((1,), (1.8,), 32.0).described(names.__getitem__)
        "1.8 * 'celsius' + 32"
        >>> CopyOf((2, 3), (1.0, 1.0), 0.0).described(names.__getitem__)
        "a combination of 'girls' and 'boys'"
        """
        if len(self.columns) > 1:
            *first, last = map(name, self.columns[:MOST_NAMED])
            more = len(self.columns) - MOST_NAMED
            listed = f"{', '.join([*first, last])} and {more} more" if more > 0 else f"{', '.join(first)} and {last}"
            return f"a combination of {listed}"
        (slope,), only = self.slopes, name(self.columns[0])
        if (slope, self.offset) == (1.0, 0.0):
            return f"the same as {only}"
        scaled = only if slope == 1 else f"-{only}" if slope == -1 else f"{slope:.6g} * {only}"
        return f"{scaled} {'-' if self.offset < 0 else '+'} {abs(self.offset):.6g}" if self.offset else scaled


def find_copies(statistics: ClassStatistics) -> dict[int, CopyOf]:
    """The Gaussian columns that follow from earlier ones, and are missing in just the same rows; by position.

    statistics: with the scatter of pairs of columns, full or pooled.

    >>> import classwise as cw
    >>> find_copies(cw.summarize([[1.0, 10.0, 4.0], [2.0, 20.0, 1.0], [5.0, 50.0, 7.0]], [0, 0, 1]))
    {1: CopyOf(columns=(0,), slopes=(10.0,), offset=0.0)}
    """
    if statistics.rows < 3 or _is_plainly_free(statistics):  # a line goes through any two points
        return {}
    places, gaussian = statistics.schema.numbers, set(statistics.schema.places["gaussian"])
    numbers = statistics.numbers
    mean, total = _of_all_rows(numbers)
    squares = total.diagonal()
    # What is left to rounding: of the sums, and of the values themselves.
    of_values = numbers.moments.weight.sum() * (4 * EPS * np.abs(mean)) ** 2
    known = [i for i, j in enumerate(places) if j in gaussian and squares[i] > 2 * of_values[i]]
    left = max(LEAST_LEFT, LEFT_BY_COLUMN * len(known)) * EPS + of_values / np.where(squares > 0, squares, 1.0)
    correlation = _correlation(total, np.array(known, dtype=np.intp))
    alike = _alike(numbers, correlation, left, np.array(known, dtype=np.intp))
    sources: dict[int, Codes] = {}
    for i, j in alike:
        if i not in sources and j not in sources:
            sources[j] = np.array([i])
    others = np.array([i for i in known if i not in sources], dtype=np.intp)
    for together, rows in _present_together(statistics, others):
        sources |= _combined(total, left, together, rows)
    deviation = np.sqrt(squares / statistics.weight.sum())
    found = {places[j]: _line(j, some, mean, total, deviation, places) for j, some in sources.items()}
    return dict(sorted(found.items()))


def _is_plainly_free(statistics: ClassStatistics) -> bool:
    """Whether no column can follow from others, seen at little cost: what holds in all rows holds within classes, where
    every column varies far beyond rounding, and none is nearly a combination of those before it.
    """
    if not statistics.all_vary or not (statistics.is_complete or not statistics.numbers.has_gaps):
        return False
    return least_pivot(statistics.moments.scatter.pooled()[None]) > LEAST_PIVOT


def _line(j: int, sources: Codes, mean: Array, total: Array, deviation: Array, places: list[int]) -> CopyOf:
    """What column j is of its sources, to the digits that are known."""
    exact = deviation[j] / deviation[sources] * _slopes(total, j, sources)
    sizes = np.abs(exact) if len(sources) == 1 else np.full(len(exact), deviation[j]) / deviation[sources]
    slopes = tuple(_rounded(float(slope), float(size)) for slope, size in zip(exact, sizes, strict=True))
    parts = np.array(slopes) * mean[sources]
    size = float(max(abs(mean[j]), np.abs(parts).max(), deviation[j]))
    return CopyOf(tuple(places[i] for i in sources), slopes, _rounded(float(mean[j] - parts.sum()), size))


def _slopes(total: Array, j: int, sources: Codes) -> Array:
    """In units of the standard deviations; (s,)."""
    correlation = _correlation(total, np.array([*sources, j], dtype=np.intp))
    return np.asarray(np.linalg.solve(correlation[:-1, :-1], correlation[:-1, -1]))


def _correlation(total: Array, columns: Codes) -> Array:
    scale = np.sqrt(total.diagonal()[columns])
    correlation = total[np.ix_(columns, columns)]
    correlation /= scale
    correlation /= scale[:, None]
    return correlation


def _of_all_rows(numbers: Numbers) -> tuple[Array, Array]:
    """The mean of the values that each column has (p,), and T (p, p), of pairs that are missing in the same rows."""
    moments, gaps, mean = numbers.moments, numbers.gaps, numbers.overall_mean()
    away = ((moments.mean - mean) + moments.rest) * np.sqrt(moments.weight)
    total = moments.scatter.pooled() + away.T @ away
    if not numbers.has_gaps:
        return mean, total
    away = np.where(gaps.present, (gaps.moments.mean - mean) + gaps.moments.rest, 0.0) * np.sqrt(gaps.moments.weight)
    return mean, total + away.T @ away + gaps.moments.scatter.pooled()


def _alike(numbers: Numbers, correlation: Array, left: Array, known: Codes) -> list[tuple[int, int]]:
    """Pairs i < j of known columns whose correlation is 1 or -1, and that have the same gaps; ordered by i."""
    squared = np.square(correlation)
    near = squared >= 1 - 2 * left[known].max(initial=0.0)
    if np.count_nonzero(near) <= len(known):  # each column is like itself
        return []
    rows, columns = np.nonzero(np.triu(near, 1))
    close = 1 - squared[rows, columns] <= left[known[rows]] + left[known[columns]]
    first, second = known[rows[close]], known[columns[close]]
    present = numbers.gaps.present
    same = [bool((present[:, i] == present[:, j]).all()) for i, j in zip(first, second, strict=True)]
    return [(int(i), int(j)) for i, j, agree in zip(first, second, same, strict=True) if agree]


def _present_together(statistics: ClassStatistics, columns: Codes) -> Iterator[tuple[Codes, float]]:
    """Columns that are missing in just the same rows, at least three, and how many rows have them."""
    numbers, every = statistics.numbers, statistics.weight.sum()
    if not numbers.has_gaps:
        if len(columns) >= 3:
            yield columns, statistics.rows * float(numbers.moments.weight.sum() / every)
        return
    _, group = np.unique(numbers.gaps.present[:, columns], axis=1, return_inverse=True)
    share = numbers.present_weight().sum(axis=0) / every
    for own in (columns[group.reshape(-1) == each] for each in range(int(group.max(initial=-1)) + 1)):
        if len(own) >= 3:
            yield own, statistics.rows * float(share[own[0]])


def _combined(total: Array, left: Array, columns: Codes, rows: float) -> dict[int, Codes]:
    """Which of these columns follow from those before them, and from which.

    Where rows are few, or few of them differ, all columns after the first few follow from all of these, which says
    nothing of the columns. So of the last columns, after which no other adds anything, only those count that follow
    from some of the others, or a single one; and none where rows are few.
    """
    if rows <= len(columns):
        return {}
    correlation = _correlation(total, columns)
    try:
        if (np.linalg.cholesky(correlation).diagonal() ** 2 > left[columns]).all():
            return {}
    except np.linalg.LinAlgError:
        pass
    basis = _independent(correlation, left[columns])
    last = range(basis[-1] + 1, len(columns))
    found = {}
    for j in sorted(set(range(len(columns))) - set(basis)):
        before = columns[[i for i in basis if i < j]]
        parts = before[np.abs(_slopes(total, int(columns[j]), before)) > LEAST_SLOPE]
        if j not in last or (rows >= 2 * (len(basis) + 1) and (len(last) == 1 or len(parts) < len(basis))):
            found[int(columns[j])] = parts
    return found


def _independent(correlation: Array, left: Array) -> list[int]:
    """The columns that do not follow from those before them: Cholesky, in order, without the others."""
    rest, basis = correlation.copy(), []
    for j in range(len(rest)):
        if rest[j, j] > left[j]:
            basis.append(j)
            row = rest[j, j:] / np.sqrt(rest[j, j])
            rest[j:, j:] -= np.outer(row, row)
    return basis


def _rounded(value: float, size: float) -> float:
    """To the digits that are known of it, given the size of the numbers that it is a difference of, or a ratio.

    >>> _rounded(0.1 + 0.2, 0.3), _rounded(1e-13, 1.0)
    (0.3, 0.0)
    """
    return round(value, DIGITS - 1 - floor(log10(size))) + 0.0  # no -0
