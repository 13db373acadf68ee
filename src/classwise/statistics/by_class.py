"""Statistics by class: the labels, the weight of each, and the parts that summarize the columns. All a fit keeps."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from math import exp
from os import PathLike
from typing import Any, Self

import numpy as np

from classwise import limits
from classwise.arrays import Array, Codes, Labels, spread
from classwise.errors import StatisticsError, at_least
from classwise.rows.codes import is_sorted, positions, union_labels
from classwise.rows.schema import Column, Family, Schema
from classwise.statistics.bins import Histograms
from classwise.statistics.counts import Counts, LevelCounts
from classwise.statistics.gaps import Gaps, Numbers
from classwise.statistics.moments import Moments
from classwise.statistics.pairs import PairCounts
from classwise.statistics.parts import (
    BINS,
    FACTORIALS,
    LEVELS,
    LOGS,
    NUMBERS,
    PAIRS,
    PARTS,
    QUARTICS,
    SUMS,
    VALUES,
    Part,
    S,
    parts_fit,
)
from classwise.statistics.quartics import Quartics
from classwise.statistics.scatter import DiagonalScatter, Scatter
from classwise.statistics.statistic import ROUNDING, Statistic
from classwise.statistics.sums import Sums
from classwise.storage import save, stored
from classwise.tabular import html_table

NO_COLUMNS = Counts(())


@stored("ClassStatistics", kind="statistics")
@dataclass(frozen=True, eq=False, repr=False)
class ClassStatistics:
    """What each class weighs, and what its columns hold. `+` merges, `-` removes, the empty one is the identity of `+`.

    labels (g,) sorted; weight (g,); rows: how many rows were read, whatever they weigh; schema: what each column is;
    parts: the statistics of the columns, where there are any, by the names that `statistics.parts` lists.

    >>> import classwise as cw
    >>> morning = cw.summarize([[1.0], [2.0], [9.0]], ["a", "a", "b"])
    >>> evening = cw.summarize([[3.0], [5.0]], ["a", "c"])
    >>> day = morning + evening
    >>> day
    ClassStatistics(3 classes, 1 feature, weight 5, full scatter)
    >>> day.labels.tolist(), day.weight.tolist(), day.mean.ravel().tolist()
    (['a', 'b', 'c'], [3.0, 1.0, 1.0], [2.0, 9.0, 5.0])
    >>> (day - evening).mean.ravel().tolist()
    [1.5, 9.0]
    """

    labels: Labels
    weight: Array
    rows: int
    schema: Schema
    parts: Mapping[str, Statistic]

    @classmethod
    def empty(cls, features: int, form: type[Scatter], names: tuple[str, ...] | None = None) -> Self:
        """The statistic of no rows, of `features` columns of numbers."""
        numbers = Numbers(Moments.empty(0, features, form), Gaps.empty(features))
        nothing = np.empty(0, dtype=np.int64)
        return cls(nothing, np.zeros(0), 0, Schema.of_numbers(features, names=names), {NUMBERS.name: numbers})

    # What it holds ------------------------------------------------------------------------------------------------

    @property
    def gathered(self) -> Mapping[str, Statistic]:
        """The parts, or an error if they were left out of the file that this is from."""
        if not self.parts:
            raise StatisticsError(
                "This needs what was gathered from the rows, which was left out when the model was saved "
                "(statistics=False); save it with statistics, or fit again."
            )
        return self.parts

    def part_of(self, kind: Part[S]) -> S:
        """One of the parts."""
        part: Any = self.parts.get(kind.name)
        return self.gathered[kind.name] if part is None else part  # type: ignore[return-value]

    def with_part(self, kind: Part[S], part: S) -> Self:
        """The same with one part more, or another in its place."""
        return replace(self, parts={**self.parts, kind.name: part})

    @cached_property
    def numbers(self) -> Numbers:
        """The columns of numbers."""
        return self.part_of(NUMBERS)

    @cached_property
    def moments(self) -> Moments:
        """Weight, mean and scatter of the numbers, in rows where none is missing."""
        return self.numbers.moments

    @property
    def logs(self) -> Moments:
        """The same of the logarithms of columns taken for log-normal, column by column, where they are positive."""
        return self.part_of(LOGS)

    @property
    def factorials(self) -> Moments:
        """The same of log x!, of columns whose family is yet to be chosen, where they are counts."""
        return self.part_of(FACTORIALS)

    @property
    def sums(self) -> Sums:
        """The sum of each column of a sparse matrix, by class."""
        return self.part_of(SUMS)

    @property
    def bins(self) -> Histograms:
        """The weight of each bin, of columns that have a kernel density."""
        return self.part_of(BINS)

    @property
    def quartics(self) -> Quartics | None:
        """Third and fourth powers of the numbers, if they were requested."""
        return self.part_of(QUARTICS) if QUARTICS.name in self.parts else None

    @cached_property
    def levels(self) -> Counts:
        """The weight of each level, of columns taken for categories."""
        return self.part_of(LEVELS) if LEVELS.name in self.parts else NO_COLUMNS

    @property
    def values(self) -> Counts:
        """The weight of each value, of columns whose family is yet to be chosen."""
        return self.part_of(VALUES) if VALUES.name in self.parts else NO_COLUMNS

    @property
    def mean(self) -> Array:
        """m_k of the values that each column of numbers has; (g, p), NaN where a class has none."""
        if self.is_complete and self.all_seen:
            return self.moments.mean
        weight, mean = self.numbers.column_means()
        return np.where(weight > 0, mean, np.nan)

    @property
    def scatter(self) -> Array:
        """S_k: (g, p, p) full, (p, p) pooled over the classes, or (g, p) diagonal.

        Full and pooled scatter is that of the rows without gaps; what the others hold is in `numbers.gaps`.
        """
        return self.moments.scatter.values

    @property
    def pairs(self) -> PairCounts:
        """The weight of each two places of all columns."""
        if PAIRS.name not in self.gathered:
            raise StatisticsError(
                "These statistics hold no pairs of columns, which AODE needs; gather them: summarize(X, y, pairs=7)."
            )
        return self.part_of(PAIRS)

    @property
    def features(self) -> tuple[str, ...] | None:
        """The column names, or None where the rows had none."""
        return self.schema.names

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return len(self.schema)

    @cached_property
    def is_complete(self) -> bool:
        """Whether all columns are numbers, and no row lacks one."""
        numbers_alone = len(self.schema.places["numbers"]) == len(self.schema.columns)
        if not numbers_alone or LOGS.name in self.parts or self.numbers.has_gaps:
            return False
        return not np.count_nonzero(self.moments.weight != self.weight[:, None])

    @cached_property
    def all_seen(self) -> bool:
        """Whether every class has rows."""
        return all(self.weight.tolist())

    @property
    def all_valued(self) -> bool:
        """Whether every class has values in all columns of numbers."""
        return self.all_seen if self.is_complete else bool(self.moments.weight.all())

    def missing_weight(self) -> Array:
        """The weight without a value, by class and column; (g, p)."""
        if self.schema.is_sparse or self.is_complete:
            return np.zeros((len(self.labels), len(self.schema)))
        present = self.numbers.present_weight()
        if self.schema.logs or len(self.schema.numbers) < len(self.schema.columns):
            of_numbers, present = present, np.zeros((len(self.labels), len(self.schema.columns)))
            present[:, self.schema.numbers] = of_numbers
        if self.schema.logs:
            present[:, self.schema.logs] = self.logs.weight
        for j, column in zip(self.schema.levels, self.levels.columns, strict=True):
            assert column is not None
            present[:, j] = column.weight.sum(axis=1)
        missing = self.weight[:, None] - present
        return np.where(missing > 1e-9 * self.weight[:, None], missing, 0.0)

    @cached_property
    def all_vary(self) -> bool:
        """Whether every number plainly varies within some class: then none is constant, and no square underflows."""
        return self.moments.all_vary and (LOGS.name not in self.parts or self.logs.all_vary)

    def constants(self) -> dict[int, float]:
        """The columns of numbers that hold one value in all rows, to rounding, and that value, by position."""
        if self.all_vary:
            return {}
        found = _still(self.numbers.of_all(), self.schema.numbers)
        if self.schema.logs:
            found |= {j: exp(log) for j, log in _still(self.logs.of_all(), self.schema.logs).items()}
        return {j: value for j, value in sorted(found.items()) if self.schema.columns[j].family.kind == "number"}

    def label(self, k: int) -> Any:
        """The label of a class as a Python object, for messages."""
        return self.labels[k : k + 1].tolist()[0]

    def name(self, column: int) -> str:
        """What messages call a column."""
        return self.schema.name(column)

    def __repr__(self) -> str:
        g, p = len(self.labels), self.n_features
        classes, features = ("class" if g == 1 else "classes"), ("feature" if p == 1 else "features")
        form = self.moments.scatter.name if self.parts else "no"
        return f"ClassStatistics({g} {classes}, {p} {features}, weight {self.weight.sum():.6g}, {form} scatter)"

    def _repr_html_(self) -> str:
        """The weight of each class, and its means of the first columns of numbers."""
        places = self.schema.places["gaussian"][: limits.SUMMARY_LINES] if self.parts else []
        means = self.mean[:, : len(places)] if places else np.empty((len(self.labels), 0))
        names = self.features or [f"x{j}" for j in range(self.n_features)]
        header = ("class", "weight", *(f"mean of {names[j]}" for j in places))
        rows = zip(self.labels.tolist(), self.weight, means, strict=True)
        cells = [(str(label), f"{weight:.6g}", *(f"{mean:.5g}" for mean in row)) for label, weight, row in rows]
        return f"<p>{escape(repr(self))}</p>{html_table([header, *cells])}"

    # Arithmetic ---------------------------------------------------------------------------------------------------

    def __add__(self, other: Self) -> Self:
        """The statistic of both sets of rows."""
        if not isinstance(other, ClassStatistics):
            return NotImplemented
        ours, theirs = self._adapted(other.schema), other._adapted(self.schema)
        schema = ours.schema.merge(theirs.schema)
        labels = union_labels(self.labels, other.labels)
        ours, theirs = ours._aligned(labels), theirs._aligned(labels)
        shared = [name for name in ours.gathered if name in theirs.gathered]
        parts = {name: ours.parts[name] + theirs.parts[name] for name in shared}
        return type(self)(labels, ours.weight + theirs.weight, self.rows + other.rows, schema, parts)

    def __radd__(self, other: int) -> Self:
        """0 + s, so that `sum(parts)` merges them."""
        return self if other == 0 else NotImplemented

    def __sub__(self, other: Self) -> Self:
        """Remove rows that were added before. Taking more than is there is an error."""
        if not isinstance(other, ClassStatistics):
            return NotImplemented
        other = other._adapted(self.schema)
        schema = self.schema.merge(other.schema)
        self._check_labels_known(other)
        taken = other._aligned(self.labels)
        self._check_weights(taken.weight)
        left = self.weight - taken.weight
        kept = np.flatnonzero(left > ROUNDING * self.weight)
        shared = [name for name in self.gathered if name in taken.gathered]
        parts = {name: (self.parts[name] - taken.parts[name]).select(kept) for name in shared}
        rows = max(self.rows - other.rows, 0) if len(kept) else 0
        return type(self)(self.labels[kept], left[kept], rows, schema, parts).compact()

    def among(self, labels: Labels) -> Self:
        """The same with more classes, that may have no rows; labels (g,): sorted."""
        return self._aligned(union_labels(self.labels, labels))

    def compact(self) -> Self:
        """Without levels that no row has."""
        return replace(self, parts={name: part.compact() for name, part in self.parts.items()})

    def known_columns(self) -> list[Column | None]:
        """What each column is, None where no row has shown it yet."""
        if self.schema.is_sparse:
            return []
        valueless = self._valueless()
        return [None if j in valueless else column for j, column in enumerate(self.schema)]

    def select(self, kept: Codes, labels: Labels, rows: int) -> Self:
        """Only some of the classes, under other labels; rows: how many there are of them."""
        parts = {name: part.select(kept).compact() for name, part in self.parts.items()}
        return replace(self, labels=labels, weight=self.weight[kept], rows=rows, parts=parts)

    def restrict(self, columns: Sequence[int | str]) -> Self:
        """The statistic of these columns alone, by name or position.

        >>> import classwise as cw
        >>> cw.summarize([[1.0, 2.0], [2.0, 5.0], [9.0, 3.0]], ["a", "a", "b"]).restrict([1]).mean.tolist()
        [[3.5], [3.0]]
        """
        kept = self.schema.find([columns] if isinstance(columns, str) else columns)
        return self._with_schema(self.schema.restrict(kept), kept)

    def withhold(self, minimum_weight: float) -> Self:
        """The statistics without cells of less weight, so that no number in them is about only a few rows.

        Left out are classes of less weight, levels that weigh less in some class, and rows with a pattern of missing
        values that weighs less in their class. If a class then lacks only one level, another level goes with it,
        because the weight of the class would reveal it. What is left out counts as missing. Sums are no longer those
        of all rows: withhold once, before statistics leave a site, and subtract nothing afterwards.

        Parameters
        ----------
        minimum_weight : float
            The least weight of a cell. With p columns of numbers, at least p + 2.

        Returns
        -------
        ClassStatistics
            The statistics without small cells.

        Examples
        --------
        >>> import classwise as cw
        >>> rows = [["red"]] * 30 + [["blue"]] * 12 + [["pink"]] + [["red"]] * 2
        >>> cw.summarize(rows, ["a"] * 43 + ["b"] * 2).withhold(minimum_weight=10)
        ClassStatistics(1 class, 1 feature, weight 43, full scatter)
        """
        at_least("minimum_weight", minimum_weight, 0)
        kept = np.flatnonzero(self.weight >= minimum_weight)
        parts = {name: part.withheld(minimum_weight).select(kept).compact() for name, part in self.parts.items()}
        weight = self.weight[kept]
        rows = min(self.rows, round(float(weight.sum())))
        return replace(self, labels=self.labels[kept], weight=weight, rows=rows, parts=parts)

    def part(self, columns: Sequence[int]) -> Self:
        """The same, seen as part of the table: messages call columns by their places there.

        Sums of |d|⁴ are dropped if the other columns have a part in them.
        """
        schema, parts, among = self.schema.part(columns), dict(self.parts), set(columns)
        kept = [i for i, j in enumerate(self.schema.places["gaussian"]) if j in among]
        if self.quartics is not None and not self.quartics.is_whole(kept):
            del parts[QUARTICS.name]
        return replace(self, parts=parts)._with_schema(schema, columns)

    def seen_as(self, families: Mapping[int, Family]) -> Self:
        """The same rows with other families for some columns, where what was gathered of a column serves them."""
        if self.schema.is_sparse:
            return self
        changed = {j: family for j, family in families.items() if self.schema.columns[j].family != family}
        return self._with_schema(self.schema.seen_as(changed), range(len(self.schema))) if changed else self

    def all_seen_as(self, family: Family) -> Self:
        """The same rows of a sparse matrix with another family, where what was gathered serves it."""
        held = self.schema.columns[0].family
        if held == family:
            return self
        schema = self.schema.all_seen_as(family)
        # Whether a value is there is another sum than that of the values.
        if not {"gaussian", "bernoulli"}.isdisjoint({held.name, family.name}):
            raise StatisticsError(
                f"The sparse matrix was summarized as {held}, which does not hold what {family} needs; gather it with "
                f"families='{family}'."
            )
        return replace(self, schema=schema)

    def _with_schema(self, schema: Schema, source: Sequence[int]) -> Self:
        """The parts that a schema needs; source: which of our columns each of its columns is."""
        parts: dict[str, Statistic] = {}
        for kind in PARTS:
            if kind.is_wanted(schema) and (kind.gather or kind.name in self.parts):
                wanted, (held, part) = kind.columns(schema), self._held(kind)
                kept = self._pick(schema, source, wanted, held)
                assert part is not None
                parts[kind.name] = part.restrict(kept).taken_for([schema.columns[j] for j in wanted])
        return replace(self, schema=schema, parts=parts)

    def _held(self, kind: Part[Any]) -> tuple[list[int], Statistic | None]:
        """The columns that a part summarizes, and the part."""
        if kind is not LEVELS:
            return kind.columns(self.schema), self.gathered.get(kind.name)
        # Values that were counted can be levels, and a column without a single value has none yet.
        valueless, nothing = self._valueless(), LevelCounts.empty(len(self.labels))
        counted = Counts(self.levels.columns + self.values.columns + (nothing,) * len(valueless))
        return self.schema.levels + self.schema.candidates + valueless, counted

    def _pick(self, schema: Schema, source: Sequence[int], wanted: list[int], held: list[int]) -> list[int]:
        """Where the columns that a part is to have stand among those that it has."""
        places = {column: place for place, column in enumerate(held)}
        for j in wanted:
            if source[j] not in places:
                raise self._lacks(source[j], schema.columns[j].family)
        return [places[source[j]] for j in wanted]

    def _valueless(self) -> list[int]:
        """The columns, taken for numbers by default, in which no row has a value."""
        weight = self.numbers.present_weight()
        return [
            j for i, j in enumerate(self.schema.numbers) if not self.schema.columns[j].asked and not weight[:, i].any()
        ]

    def _adapted(self, schema: Schema) -> Self:
        """With columns that have no values here taken for what they are elsewhere."""
        if self.schema is schema or self.schema.is_sparse or schema.is_sparse:
            return self
        pairs = list(zip(self.schema, schema, strict=False))
        if all(ours.family == theirs.family for ours, theirs in pairs) or len(self.schema) != len(schema):
            return self
        valueless = self._valueless()
        return self.seen_as({j: pairs[j][1].family for j in valueless if pairs[j][1].family.has_levels})

    def _lacks(self, column: int, family: Family) -> StatisticsError:
        held, name = self.schema.columns[column].family, self.name(column)
        key = self.features[column] if self.features else column
        return StatisticsError(
            f"{name} was summarized as {held}, which does not hold what {family} needs; gather it with "
            + ("summarize(X, y, families='best')." if family.name == "best" else f"families={{{key!r}: '{family}'}}.")
        )

    def of_numbers(self) -> Self:
        """The statistic of the Gaussian columns alone."""
        gaussian = self.schema.places["gaussian"]
        return self if len(gaussian) == len(self.schema) else self.part(gaussian)

    def with_moments(self, moments: Moments) -> Self:
        """The same classes with other moments, and no gaps."""
        gaps = self.numbers.gaps
        none = not self.numbers.has_gaps and gaps.present.shape[1] == moments.mean.shape[1]
        numbers = Numbers(moments, gaps if none else gaps.empty(moments.mean.shape[1]))
        return self.with_part(NUMBERS, numbers)

    def by_column(self) -> Self:
        """The same with the numbers looked at one by one."""
        done = isinstance(self.moments.scatter, DiagonalScatter) and not self.numbers.has_gaps
        return self if done else self.with_moments(self.numbers.by_column())

    def denoised(self) -> Self:
        """Features that vary by no more than the rounding of their mean set to constant."""
        moments = self.moments.denoised()
        same = moments is self.moments and (self.is_complete or not self.numbers.has_gaps)
        return self if same else self.with_moments(moments)

    def scaled(self, scale: Array) -> Self:
        """The statistic of the numbers times `scale` (p,)."""
        return self.with_part(NUMBERS, self.numbers.scaled(scale))

    # Files --------------------------------------------------------------------------------------------------------

    def save(self, path: str | PathLike[str], *, source: str | Iterable[str] | None = None) -> None:
        """Write the statistic to one file, which `classwise.load` reads.

        source: the name of the table, or the names of the tables, that the rows came from.
        """
        save(self, path, source=source)

    def _outline(self) -> Self:
        """The same without what was gathered: labels, their weights and the schema are left."""
        return replace(self, parts={})

    def _is_sound(self) -> bool:
        count = len(self.labels)
        weighed = self.weight.shape == (count,) and bool((self.weight >= 0).all()) and self.rows >= 0
        return weighed and is_sorted(self.labels) and (not self.parts or parts_fit(count, self.schema, self.parts))

    def _facts(self) -> dict[str, Any]:
        """The facts for the header of a file."""
        facts = {"rows": self.rows, "weight": float(self.weight.sum()), "labels": self.labels.tolist()}
        return facts | self.schema.facts()

    # ----------------------------------------------------------------------------------------------------------------

    def _aligned(self, labels: Labels) -> Self:
        if len(labels) == len(self.labels):  # labels holds all of ours, so they are the same
            return self
        places, count = positions(self.labels, labels), len(labels)
        parts = {name: part.regroup(places, count) for name, part in self.parts.items()}
        return replace(self, labels=labels, weight=spread(self.weight, places, count), parts=parts)

    def _check_labels_known(self, other: "ClassStatistics") -> None:
        unknown = sorted(set(other.labels.tolist()) - set(self.labels.tolist()))
        if unknown:
            raise StatisticsError(f"Class {unknown[0]!r} cannot be subtracted: the statistic has no rows of it.")

    def _check_weights(self, taken: Array) -> None:
        lacking = np.flatnonzero(taken - self.weight > ROUNDING * self.weight)
        if len(lacking):
            label, there, removed = self.label(lacking[0]), self.weight[lacking[0]], taken[lacking[0]]
            raise StatisticsError(f"Class {label!r} has weight {there:g}, so weight {removed:g} cannot be subtracted.")


def _still(moments: Moments, places: list[int]) -> dict[int, float]:
    """The features that have values and do not vary, by their places in the table."""
    still = moments.constant() & (moments.weight[0] > 0)
    return {places[i]: float(moments.mean[0, i]) for i in np.flatnonzero(still)}
