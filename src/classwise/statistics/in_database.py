"""Statistics by class, computed by a database: rows stay where they are, and sums come back.

    n,  r = sum(x - c),  Q = sum((x - c)(x - c)')       of each class, about a center c
    weight n,  mean c + r / n,  scatter Q - r r' / n

The first rows give a center for all classes. Where the mean of a class turns out to be so many deviations away that the
difference would lose digits, a second pass is made about the means themselves. Levels are counted by GROUP BY, one
column after the other.

That is for complete rows of numbers and levels, without weights. Of anything else the rows are read.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from classwise import limits
from classwise.arrays import Array, Codes, Labels, spread, two_sum
from classwise.rows.databases import Query, answered
from classwise.rows.roles import Chunk, Counted, Roles, as_frame
from classwise.rows.schema import Schema
from classwise.rows.texts import SAMPLE, quoted
from classwise.statistics.by_class import ClassStatistics
from classwise.statistics.counts import Counts, LevelCounts
from classwise.statistics.gaps import Gaps, Numbers
from classwise.statistics.moments import Moments
from classwise.statistics.parts import LEVELS, NUMBERS
from classwise.statistics.scatter import DiagonalScatter, FullScatter, Scatter
from classwise.statistics.statistic import Statistic

# From a chunk, by the roles of its columns, to its statistics.
Summary = Callable[[Chunk, Roles], ClassStatistics | None]


@dataclass(frozen=True, eq=False)
class DatabaseStatistics:
    """statistics: of the rows that have a label; rows: how many there are; unlabeled: how many have none."""

    statistics: ClassStatistics
    rows: int
    unlabeled: int


def summarize_in_database(
    query: Query, roles: Roles, form: type[Scatter], summarize: Summary
) -> DatabaseStatistics | None:
    """The statistics of all rows of a query; None where its rows have to be read, or that is faster."""
    glance = _glance(query, roles, summarize)
    if glance is None or not _sums_inside(query, glance.schema, form):
        return None
    schema, numbers = glance.schema, NumbersQuery(query, roles, glance.schema.numbers, form)
    found = _moments(numbers, _center(glance))
    if found is None:
        return None
    labels, moments = found
    parts: dict[str, Statistic] = {NUMBERS.name: Numbers(moments, Gaps.empty(len(schema.numbers)))}
    if schema.levels:
        counts = [_level_counts(query, roles, roles.features[j], labels, summarize) for j in schema.levels]
        parts[LEVELS.name] = Counts(tuple(counts))
    rows, labeled = numbers.count(), int(moments.weight.sum())
    return DatabaseStatistics(
        ClassStatistics(labels, moments.weight[:, 0], labeled, schema, parts), rows, rows - labeled
    )


def _glance(query: Query, roles: Roles, summarize: Summary) -> ClassStatistics | None:
    """The statistics of the first rows; None where not all columns are numbers and levels as they stand."""
    if roles.weights is not None or roles.groups is not None or roles.texts or query.missing is not None:
        return None
    first = next(query.first(SAMPLE).batches(roles.needed, SAMPLE), None)
    if first is None or not len(first) or not _is_plain(first.schema.field(roles.target).type):
        return None
    glance = summarize(Chunk(first), roles)
    if glance is None or any(column.conversion is not None for column in glance.schema):
        return None
    places = glance.schema.places
    return glance if sorted(places["gaussian"] + places["levels"]) == places["all"] else None


def _center(glance: ClassStatistics) -> Array:
    """The mean over all classes; (p,)."""
    weight = glance.weight / glance.weight.sum()
    return np.asarray(weight @ np.where(glance.moments.weight > 0, glance.moments.mean, 0.0))


def _is_plain(kind: Any) -> bool:
    """Whether labels are text or whole numbers: of these a database and Python have the same."""
    return str(kind) in ("string", "large_string", "string_view") or str(kind).startswith(("int", "uint"))


def _sums_inside(query: Query, schema: Schema, form: type[Scatter]) -> bool:
    """Whether the sums are computed there: as the query says, or where that is likely to be faster."""
    if query.inside is not None:
        return query.inside
    return query.is_remote and _sum_count(len(schema.numbers), form) <= limits.DATABASE_SUMS


def _sum_count(width: int, form: type[Scatter]) -> int:
    return width + len(_pairs(width, form))


def _pairs(width: int, form: type[Scatter]) -> list[tuple[int, int]]:
    """Which products of columns are summed."""
    if form is DiagonalScatter:
        return [(j, j) for j in range(width)]
    return [(i, j) for i in range(width) for j in range(i, width)]


# Numbers --------------------------------------------------------------------------------------------------------------


def _moments(numbers: "NumbersQuery", center: Array) -> tuple[Labels, Moments] | None:
    """Sorted labels, and weight, mean and scatter of each; None where values are missing, or are no numbers."""
    sums = numbers.sums(center)
    moments = None if sums is None else sums.moments(center)
    if sums is None or moments is None:
        return None
    away = np.abs(moments.mean - center)
    if (away**2 * moments.weight <= limits.DATABASE_AWAY * _squares(moments)).all():
        return sums.labels, moments
    again = numbers.sums(moments.mean, sums)
    found = None if again is None else again.moments(moments.mean)
    return None if again is None or found is None else (again.labels, found)


def _squares(moments: Moments) -> Array:
    """The sum of squares of each column, by class if that is known; (g, p) or (p,)."""
    if isinstance(moments.scatter, FullScatter):
        return np.asarray(np.einsum("kii->ki", moments.scatter.values))
    return moments.scatter.values if isinstance(moments.scatter, DiagonalScatter) else moments.scatter.values.diagonal()


@dataclass(frozen=True, eq=False)
class NumbersQuery:
    """The columns of numbers of a query, and the statements that sum them in the database."""

    query: Query
    roles: Roles
    numbers: Sequence[int]
    form: type[Scatter]

    @property
    def target(self) -> str:
        return quoted(str(self.roles.target))

    def count(self) -> int:
        """How many rows there are, with a label or without."""
        return int(answered(self.query, f"SELECT COUNT(*) AS n FROM {self.query.relation}").column("n")[0].as_py())

    def sums(self, center: Array, known: "QueriedSums | None" = None) -> "QueriedSums | None":
        """About a center (p,), or that of each class (g, p), of which sums are known; None where there are no rows."""
        table = answered(self.query, self._text(center, known))
        if not len(table):
            return None
        import pyarrow as pa

        labels, codes = Counted.of(as_frame(pa.table({str(self.roles.target): table["y"]})), self.roles).coded()
        return QueriedSums(table, labels, codes, len(self.numbers), self.form)

    def _text(self, center: Array, known: "QueriedSums | None") -> str:
        width = len(self.numbers)
        centers = [f"c.m{j}" for j in range(width)] if known else [_double(of) for of in center.tolist()]
        away = [f"(b.x{j} - {of})" for j, of in enumerate(centers)]
        whole = " + ".join(f"b.x{j}" for j in range(width)) or "1"
        sums = [f"SUM({of}) AS r{j}" for j, of in enumerate(away)]
        sums += [f"SUM({away[i]} * {away[j]}) AS s{i}_{j}" for i, j in _pairs(width, self.form)]
        columns = ", ".join(["b.y AS y", "MAX(b.t) AS t", "COUNT(*) AS n", f"COUNT({whole}) AS k", *sums])
        joined = "" if known is None else f" JOIN {known.values(center)} ON c.t = b.t"
        return f"SELECT {columns} FROM {self._rows()} AS b{joined} GROUP BY b.y"

    def _rows(self) -> str:
        """y, t, x0, x1, ...: the label, the same as text, and the numbers of each row that has a label."""
        names = [quoted(self.roles.features[j]) for j in self.numbers]
        numbers = [f"CAST({name} AS DOUBLE PRECISION) AS x{i}" for i, name in enumerate(names)]
        columns = ", ".join([f"{self.target} AS y", f"CAST({self.target} AS VARCHAR) AS t", *numbers])
        return f"(SELECT {columns} FROM {self.query.relation} WHERE {self.target} IS NOT NULL)"


def _double(value: float) -> str:
    return f"CAST({float(value)!r} AS DOUBLE PRECISION)"


@dataclass(frozen=True, eq=False)
class QueriedSums:
    """The result, a row for each class; codes: which of the labels."""

    table: Any
    labels: Labels
    codes: Codes
    width: int
    form: type[Scatter]

    def _column(self, name: str) -> Array:
        """By class; (g,)."""
        values = np.array(self.table.column(name).to_pylist(), dtype=np.float64)  # NULL becomes NaN
        return spread(values, self.codes, len(self.labels))

    def _columns(self, names: Sequence[str]) -> Array:
        """(g, len(names))."""
        return np.stack([self._column(name) for name in names], axis=1) if names else np.zeros((len(self.labels), 0))

    def moments(self, center: Array) -> Moments | None:
        """Weight, mean and scatter; None where values are missing, or are no numbers."""
        weight, pairs = self._column("n")[:, None], _pairs(self.width, self.form)
        away = self._columns([f"r{j}" for j in range(self.width)])
        products = self._columns([f"s{i}_{j}" for i, j in pairs])
        if (self._column("k")[:, None] != weight).any() or not np.isfinite(products).all():
            return None
        rows, columns = (np.array([pair[side] for pair in pairs], dtype=np.intp) for side in (0, 1))
        products -= away[:, rows] * away[:, columns] / weight
        scatter = _scatter(products, rows, columns, self.width, self.form)
        return Moments(weight, *two_sum(np.broadcast_to(center, away.shape), away / weight), scatter)

    def values(self, centers: Array) -> str:
        """A table c of the label of each class as text, t, and its center (g, p), m0, m1, ..."""
        texts = ["'" + text.replace("'", "''") + "'" for text in self.table.column("t").to_pylist()]
        rows = [
            ", ".join([text, *map(_double, of)]) for text, of in zip(texts, centers[self.codes].tolist(), strict=True)
        ]
        names = ", ".join(["t", *(f"m{j}" for j in range(self.width))])
        return f"(VALUES {', '.join(f'({row})' for row in rows)}) AS c({names})"


def _scatter(products: Array, rows: Codes, columns: Codes, width: int, form: type[Scatter]) -> Scatter:
    if form is DiagonalScatter:
        return form(products)
    whole = np.zeros((len(products), width, width))
    whole[:, rows, columns] = whole[:, columns, rows] = products
    return form(whole if form is FullScatter else whole.sum(axis=0))


# Levels ---------------------------------------------------------------------------------------------------------------


def _level_counts(query: Query, roles: Roles, name: str, labels: Labels, summarize: Summary) -> LevelCounts:
    """The counts of a column, from a table of its levels by class."""
    target, column = quoted(str(roles.target)), quoted(name)
    text = f"SELECT {target}, {column}, COUNT(*) AS cw_count FROM {query.relation} WHERE {target} IS NOT NULL"
    table = answered(query, f"{text} GROUP BY {target}, {column}")
    table = table.rename_columns([str(roles.target), name, "cw_count"])
    summary = summarize(Chunk(table), Roles(roles.target, (name,), "cw_count"))
    assert summary is not None
    assert summary.labels.tolist() == labels.tolist()
    (counts,) = summary.part_of(LEVELS).columns
    assert counts is not None
    return counts
