"""What would change a decision: the smallest change of one column after which a model decides otherwise.

A change of a number is measured in standard deviations of its column; another level counts as one of them. Where scores
are quadratic in a number (Gaussians, and all that is linear), the point at which two classes tie is a root of their
difference. Elsewhere the range of the column is gone through in steps, and the nearest change is bisected.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from classwise import limits
from classwise.arrays import Array, first_leader, slices
from classwise.classifier.bayes import BayesClassifier, Classifier, FittedModel
from classwise.classifier.column_view import DRAWN
from classwise.errors import UnscorableError
from classwise.rows.table import Table

# Where a quadratic function is looked for: three places of a range make one, the others try it.
PLACES = np.array([0.0, 0.5, 1.0, 0.17, 0.37, 0.71, 0.89])

# A function is quadratic where it is so to this, relative to its largest value.
QUADRATIC = 1e-9

# Steps in a range, and halvings of one of them.
STEPS, HALVINGS = 128, 50

# Another level counts as a change of this many standard deviations.
LEVEL = 1.0

# Models without densities say how far rows reach by three standard deviations to both sides; changes go less far.
DEVIATIONS, FARTHEST = 6, 2.33

# A value is shown to about these parts of a standard deviation and of the change, whichever is less.
FINENESS, FINENESS_OF_CHANGE = 0.05, 0.05


@dataclass(frozen=True)
class Flip:
    """A column, its value now, another value, and the label that the row would then have.

    bound: "at least" or "at most", where all values beyond, as far as rows reach, give that label; else "".
    """

    column: Any
    now: Any
    value: Any
    label: Any
    bound: str = ""

    def __str__(self) -> str:
        to = f"{self.bound} {shown(self.value)}".strip()
        return f"It would be {self.label} if {named(self.column)} were {to} (now {shown(self.now)})."


def shown(value: Any) -> str:
    """A value of a row, for people.

    >>> shown(None), shown(39.10000001), shown(1234567.0), shown("Biscoe")
    ('missing', '39.1', '1234567', 'Biscoe')
    """
    if value is None:
        return "missing"
    if not isinstance(value, (float, np.floating)):
        return str(value)
    number = float(value)
    return f"{number:.0f}" if abs(number) < 1e15 and number.is_integer() else f"{number:.6g}"


def named(column: Any) -> str:
    """A column by its name, or its position."""
    return column if isinstance(column, str) else f"column {column}"


@dataclass(frozen=True, eq=False)
class Reach:
    """How far rows reach in each column: lowest and highest values, and standard deviations; (p,) each.

    whole (p,): which columns hold whole numbers; counts (p,): which can hold nothing else. levels: how many a column
    has, by position.
    """

    low: Array
    high: Array
    spread: Array
    whole: NDArray[np.bool_]
    counts: NDArray[np.bool_]
    levels: dict[int, int]

    @classmethod
    def of_rows(cls, rows: Array, *kinds: Any) -> "Reach":
        """Of rows (n, p), except for one of a hundred at either end: a change should lead to a value that rows have."""
        with np.errstate(invalid="ignore"):
            low, high = np.nan_to_num(np.quantile(rows, [0.01, 0.99], axis=0))
        return cls(low, high, np.nan_to_num(np.clip(rows, low, high).std(axis=0)), *kinds)


class FoundFlip(NamedTuple):
    """distance: in standard deviations; column: by position; value: a code, for levels; label: by position."""

    distance: float
    column: int
    value: float
    label: int
    bound: str


def smallest_flip(
    classifier: Classifier, fitted: FittedModel, table: Table, shares: list[float], wanted: int | None
) -> Flip | None:
    """The smallest change that changes the decision about the one row of a table, to the class wanted if one is.

    shares: of the columns in the log odds; those with large ones are looked at first.
    """
    row = np.asarray(table.rows, dtype=np.float64)[0]
    known = classifier.observing() if np.isnan(row).any() else classifier
    order = np.argsort(-np.abs(np.nan_to_num(shares)), kind="stable").tolist()
    with np.errstate(all="ignore"):
        found = find_flip(known.decision_scores, row, _reach(classifier, fitted), wanted, order)
    if found is None:
        return None
    j, levels = found.column, table.levels.get(found.column)
    value = found.value if levels is None else levels.tolist()[int(found.value)]
    column = table.schema.names[j] if table.schema.names else j
    return Flip(column, table.shown(0)[j], value, classifier.labels.tolist()[found.label], found.bound)


def _reach(classifier: Classifier, fitted: FittedModel) -> Reach:
    """How far rows reach in each column, as the model knows it: by rows drawn from it, where it has densities."""
    counts = np.array([column.family.kind == "count" for column in fitted.schema])
    whole = counts | np.array(["Int" in column.type for column in fitted.schema])
    kinds = whole, counts, {j: len(of) for j, of in fitted.levels.items()}
    if isinstance(classifier, BayesClassifier):
        # Of very many columns fewer rows are drawn, so that they take no more memory.
        drawn = max(min(DRAWN, 2 * limits.FLIP_BLOCK // len(fitted.schema)), 200)
        return Reach.of_rows(classifier.sample(drawn, np.random.default_rng(0))[0], *kinds)
    ends = np.nan_to_num(np.asarray(fitted.reach()))  # type: ignore[attr-defined]
    low, high = ends.min(axis=0), ends.max(axis=0)
    middle, spread = (low + high) / 2, (high - low) / DEVIATIONS
    return Reach(middle - FARTHEST * spread, middle + FARTHEST * spread, spread, *kinds)


def find_flip(
    scores: Callable[[Array], Array], row: Array, reach: Reach, wanted: int | None, order: list[int]
) -> FoundFlip | None:
    """The smallest change, or None where no single column can make one.

    scores: (m, p) -> (g, m), log posteriors up to a term for each row. wanted: the class that is to be decided for;
    None: any other. order: columns, those to look at first; missing values stay missing.
    """
    search = _FlipSearch(scores, row, reach, wanted, int(first_leader(scores(row[None]))[0]))
    numbers = [j for j in order if j not in reach.levels and reach.spread[j] > 0 and np.isfinite(row[j])]
    levels = [j for j in order if j in reach.levels and 0 <= row[j] < reach.levels[j] <= limits.MOST_LEVELS]
    found = [*search.levels(levels), *search.numbers(numbers)]
    return min(found, default=None, key=lambda flip: flip.distance)


@dataclass(frozen=True, eq=False)
class _FlipSearch:
    scores: Callable[[Array], Array]
    row: Array
    reach: Reach
    wanted: int | None
    now: int

    def rows(self, columns: Any, values: Any) -> Array:
        """The row with another value in one column, for each pair; (m, p)."""
        rows = np.repeat(self.row[None], len(columns), axis=0)
        rows[np.arange(len(columns)), columns] = np.where(self.reach.counts[columns], np.round(values), values)
        return rows

    def decided(self, columns: Any, values: Any) -> NDArray[Any]:
        """The class decided for; (m,)."""
        return first_leader(self.scores(self.rows(columns, values)))

    def hits(self, codes: NDArray[Any]) -> NDArray[np.bool_]:
        return codes != self.now if self.wanted is None else codes == self.wanted

    # Levels -----------------------------------------------------------------------------------------------------------

    def levels(self, columns: list[int]) -> list[FoundFlip]:
        """Other levels: of each column the one that changes the log odds most."""
        found = []
        for j in columns:
            values, scores = self._scored_levels(j)
            if not len(values):
                continue
            codes = first_leader(scores)
            gain = np.where(self.hits(codes), scores[codes, np.arange(len(codes))] - scores[self.now], -np.inf)
            best = int(gain.argmax())
            if np.isfinite(gain[best]) or self.hits(codes)[best]:
                found.append(FoundFlip(LEVEL, j, values[best], int(codes[best]), ""))
        return found

    def _scored_levels(self, j: int) -> tuple[Array, Array]:
        """The other levels of a column (m,), and their scores (g, m).

        Without smoothing a level may have probability zero in every class: no row has it with the other values.
        """
        values = np.array([level for level in range(self.reach.levels[j]) if level != self.row[j]], dtype=float)
        if not len(values):
            return values, values[None]
        try:
            return values, self.scores(self.rows([j] * len(values), values))
        except UnscorableError:
            values = np.array([value for value in values if self._is_scorable(self.rows([j], [value]))])
        return values, self.scores(self.rows([j] * len(values), values)) if len(values) else values[None]

    def _is_scorable(self, row: Array) -> bool:
        try:
            self.scores(row)
        except UnscorableError:
            return False
        return True

    # Numbers ----------------------------------------------------------------------------------------------------------

    def numbers(self, columns: list[int]) -> list[FoundFlip]:
        """The nearest changes above and below the value of each column, within its range."""
        continuous = [j for j in columns if not self.reach.counts[j]]
        quadratic = self._quadratics(continuous[: self._most(limits.FLIP_NUMBERS)])
        others = [j for j in columns if j not in quadratic][: limits.FLIP_COLUMNS]
        ends = [end for j in quadratic for end in self._roots(j, quadratic[j])]
        ends += self._bisected([step for j in others for step in self._steps(j)])
        return [flip for j, end in ends if (flip := self._rounded(j, end)) is not None]

    def _range(self, j: int) -> tuple[float, float]:
        """The range of a column, with the value of the row."""
        return float(min(self.reach.low[j], self.row[j])), float(max(self.reach.high[j], self.row[j]))

    def _quadratics(self, columns: list[int]) -> dict[int, Array]:
        """Scores as functions of t, for columns from low (t = 0) to high (t = 1): a t² + b t + c; {j: (3, g)}."""
        found: dict[int, Array] = {}
        powers = np.vander(PLACES, 3)
        for block in slices(len(columns), self._most(limits.FLIP_BLOCK)):
            found |= self._quadratics_of(columns[block], powers)
        return found

    def _most(self, numbers: int) -> int:
        """How many columns can be looked at, each at several places, with this many numbers in all."""
        return max(numbers // (len(PLACES) * len(self.row)), 1)

    def _quadratics_of(self, columns: list[int], powers: Array) -> dict[int, Array]:
        low, high = np.array([self._range(j) for j in columns]).T
        values = low[:, None] + (high - low)[:, None] * PLACES
        scores = self.scores(self.rows(np.repeat(columns, len(PLACES)), values.ravel()))
        scores = (scores - scores[self.now]).reshape(len(scores), *values.shape)
        found = {}
        for i, j in enumerate(columns):
            of = scores[:, i].T
            if not np.isfinite(of).all():
                continue
            fit = np.linalg.solve(powers[:3], of[:3])
            far = np.abs(powers @ fit - of).max()
            # What does not change at all may be flat in parts: steps will show it.
            if far <= QUADRATIC * np.abs(of).max() and np.abs(fit[:2]).max() > QUADRATIC * np.abs(of).max():
                found[j] = fit
        return found

    def _roots(self, j: int, fit: Array) -> list[tuple[int, float]]:
        """The nearest places, above and below, just beyond which the decision changes."""
        low, high = self._range(j)
        pairs = [k for k in range(fit.shape[1]) if k != (self.now if self.wanted is None else self.wanted)]
        own = np.zeros(3) if self.wanted is None else fit[:, self.wanted]
        roots = np.concatenate([_real_roots(fit[:, k] - own) for k in pairs])
        ties = low + (high - low) * np.sort(roots[(roots >= 0) & (roots <= 1)])
        found = []
        for side, beyond in ((ties[ties >= self.row[j]], 1.0), (ties[ties <= self.row[j]][::-1], -1.0)):
            places = side + beyond * 1e-9 * self.reach.spread[j]
            if len(places):
                hits = self.hits(self.decided([j] * len(places), places))
                found += [(j, float(place)) for place in places[hits][:1]]
        return found

    def _steps(self, j: int) -> list[tuple[int, float, float]]:
        """Pairs of neighbors, the first not changing the decision and the second changing it: above and below."""
        low, high = self._range(j)
        found = []
        for end in (high, low):
            values = np.linspace(self.row[j], end, STEPS + 1)
            hits = np.flatnonzero(self.hits(self.decided([j] * len(values), values)))
            found += [(j, float(values[i - 1]), float(values[i])) for i in hits[:1].tolist() if i]
        return found

    def _bisected(self, steps: list[tuple[int, float, float]]) -> list[tuple[int, float]]:
        if not steps:
            return []
        columns = [j for j, _, _ in steps]
        before, after = np.array([ends for _, *ends in steps]).T
        for _ in range(HALVINGS):
            middle = (before + after) / 2
            hits = self.hits(self.decided(columns, middle))
            before, after = np.where(hits, before, middle), np.where(hits, middle, after)
        return list(zip(columns, after.tolist(), strict=True))

    def _rounded(self, j: int, end: float) -> FoundFlip | None:
        """With the fewest digits that still change the decision, and whether all values beyond do."""
        up = end > self.row[j]
        fine = min(FINENESS * self.reach.spread[j], FINENESS_OF_CHANGE * abs(end - self.row[j]))
        digits = 0 if self.reach.whole[j] else -round(log10(max(fine, 1e-9 * self.reach.spread[j])))
        tries = [digits] if self.reach.whole[j] else [digits + i for i in range(7)]
        for places in tries:
            unit = 10.0**-places
            value = round((ceil if up else floor)(end / unit) * unit, max(places, 0))
            code = int(self.decided([j], [value])[0])
            low, high = self._range(j)
            if self.hits(np.array([code]))[0] and value != self.row[j] and low <= value <= high:
                break
        else:
            if self.reach.whole[j]:
                return None
            value, code = end, int(self.decided([j], [end])[0])
        beyond = np.linspace(value, self._range(j)[int(up)], 9)
        bound = ("at least" if up else "at most") if (self.decided([j] * 9, beyond) == code).all() else ""
        return FoundFlip(abs(value - self.row[j]) / self.reach.spread[j], j, float(value), code, bound)


def _real_roots(coefficients: Array) -> Array:
    """Where a t² + b t + c is zero, for real t; from a formula that does not cancel."""
    a, b, c = coefficients.tolist()
    if abs(a) <= 1e-12 * max(abs(b), abs(c)):
        return np.array([-c / b]) if b else np.zeros(0)
    inside = b * b - 4 * a * c
    if inside < 0:
        return np.zeros(0)
    q = -(b + np.copysign(np.sqrt(inside), b)) / 2
    return np.array([q / a, c / q] if q else [0.0])
