"""Averages of softmax over points, in a query: the points are a table within it, which each row is joined with.

    P(k | x) = sum over points t of  w_t softmax(s(x, t))_k

Gaussian scores of more than two classes have the points of classwise: s = U (m + R t), where R R' is the covariance of
their r contrasts, along its axes. Those are found by Jacobi's rotations, a part of the query for each: of two contrasts
one is enough. Weights that were drawn are points themselves, s linear in them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

import numpy as np
from sqlglot import exp

from classwise import limits
from classwise.arrays import Array
from classwise.errors import ClasswiseError
from classwise.export.sql.arithmetic import (
    IMPOSSIBLE,
    POSSIBLE,
    Expression,
    case,
    column,
    largest,
    linear,
    log,
    minus,
    number,
    over,
    shifted,
    square,
    times,
    total,
    written,
)
from classwise.export.sql.dialects import Dialect, read_dialect
from classwise.export.sql.draft import Draft, Step, Written
from classwise.export.sql.tables import ENGINES
from classwise.logistic.predictive import GRIDDED, POINTS, TIGHT, WIDE, cubature, grid, lattice

# Rounds of rotations, by the number of contrasts; of more contrasts a query is not written.
SWEEPS = {1: 0, 2: 1, 3: 5} | dict.fromkeys(range(4, 8), 6)

# exp of less, times the weight of a point, is taken for zero: it would underflow, which ends a query in PostgreSQL.
LEAST = -600.0

# The rules, by number. Up to the variance that the last is for, no point is far from the mean.
CUBATURE, GRID, LATTICE = 0, 1, 2

NUMBER = "pn"


# The points, and what is added up over them ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PointSum:
    """points: columns of numbers, w among them; classes: the score of each class, as terms, each a product of a column
    of the row (or none) with a column of the points (or none). chosen: the column of the row that tells which points
    are its own, and of the points. turned: what finds the axes of a covariance first, and takes the largest mean off.
    """

    points: Mapping[str, Sequence[float]]
    classes: Sequence[Sequence[tuple[str | None, str | None]]]
    sums: list[str]
    reads: list[str]
    chosen: str | None = None
    turned: "Turned | None" = None
    is_numbered: ClassVar[bool] = True

    def steps(self, source: str, kept: Sequence[str], name: str, dialect: str) -> list[Written]:
        """Parts of a query, of which the last has the columns kept of the source, and the sums."""
        own = read_dialect(dialect)
        texts = {of: [repr(float(value)) for value in values] for of, values in self.points.items()}
        engine = ENGINES[dialect]
        table = Written(f"{name}_points", engine.table(texts), materialized=engine.is_recursive)
        parts = [] if self.turned is None else self.turned.parts(source, [*kept, NUMBER, *self._chosen], name, own)
        last = parts[-1].name if parts else source
        return [table, *parts, *self._summed(last, [*dict.fromkeys([*kept, NUMBER])], name, own)]

    @property
    def _chosen(self) -> list[str]:
        return [] if self.chosen is None else [self.chosen]

    def _summed(self, source: str, kept: list[str], name: str, dialect: Dialect) -> list[Written]:
        first, count = ", ".join(kept), len(self.classes)
        scores = ", ".join(f"{' + '.join(map(_term, of))} AS cs{k}" for k, of in enumerate(self.classes))
        on = "1 = 1" if self.chosen is None else f"p.{self.chosen} = d.{self.chosen}"
        columns = ", ".join(f"d.{of}" for of in kept)
        rule = "".join(f", d.{of}" for of in self._chosen)
        at = f"SELECT {columns}, p.w{rule}, {scores} FROM {source} AS d LEFT JOIN {name}_points AS p ON {on}"
        names = [f"cs{k}" for k in range(count)]
        top = f"SELECT {first}, w, {', '.join(names)}, {_text(self._peak(dialect), dialect)} AS ctop FROM {name}_at"
        odds = ", ".join(f"{_text(self._odds(of, dialect), dialect)} AS ce{k}" for k, of in enumerate(names))
        away = f"SELECT {first}, w, {odds} FROM {name}_top"
        kept_odds, whole = (between.join(f"ce{k}" for k in range(count)) for between in (", ", " + "))
        share = f"SELECT {first}, {kept_odds}, w / ({whole}) AS cw FROM {name}_odds"
        sums = ", ".join(f"SUM(cw * ce{k}) AS {of}" for k, of in enumerate(self.sums))
        summed = f"SELECT {first}, {sums} FROM {name}_share GROUP BY {first}"
        end = " OFFSET 0" if dialect.fence == "offset" else ""
        texts = {"_at": at + end, "_top": top + end, "_odds": away + end, "_share": share + end, "": summed}
        return [Written(name + of, text) for of, text in texts.items()]

    def _peak(self, dialect: Dialect) -> Expression:
        """The largest score at a point; nothing is taken off where all points are near the largest mean, which is."""
        scores = [column(f"cs{k}") for k in range(len(self.classes))]
        peak = largest(scores, dialect.ignores_nulls)
        if self.turned is None:
            return peak
        is_near = exp.LT(this=column("rule"), expression=number(LATTICE))
        return case((is_near, number(0.0)), otherwise=peak)

    def _odds(self, name: str, dialect: Dialect) -> Expression:
        away = minus(column(name), column("ctop"))
        if not dialect.raises:
            return exp.Exp(this=away)
        least = LEAST - float(np.log(np.abs(self.points["w"]).min()))
        is_nothing = exp.LTE(this=away, expression=number(least))
        return case((is_nothing, number(0.0)), otherwise=exp.Exp(this=away.copy()))


def _term(term: tuple[str | None, str | None]) -> str:
    of_row, of_point = term
    return " * ".join([*[f"d.{of_row}"] * (of_row is not None), *[f"p.{of_point}"] * (of_point is not None)])


def _text(expression: Expression, dialect: Dialect) -> str:
    return expression.sql(dialect=dialect.name)


def _add_sums(draft: Draft, average: PointSum) -> None:
    """log of the sums, as terms of the classes."""
    _refuse(draft, average)
    draft.steps.define(Step.ENDS, NUMBER, written(ENGINES[draft.dialect.name].number, ()))
    for name in average.sums:
        draft.steps.define(Step.AVERAGED, name, written("", [*average.reads, NUMBER]))
    draft.steps.walks.setdefault(Step.AVERAGED, []).append(average)
    for k, name in enumerate(average.sums):
        is_some, none = (kind(this=column(name), expression=number(0.0)) for kind in (exp.GT, exp.LTE))
        draft.add(k, case((is_some, log(column(name))), (none, number(IMPOSSIBLE))))


def _refuse(draft: Draft, average: PointSum) -> None:
    remedy = "call set_params(predictive='plugin'), which needs no new fit, or score the rows with predict."
    if draft.dialect.name not in ENGINES:
        raise ClasswiseError(
            f"Averages over the weights of several classes are written for {', '.join(ENGINES)}, and not for "
            f"{draft.dialect.name}; {remedy}"
        )
    count = sum(map(len, average.points.values()))
    if count > limits.SQL_NUMBERS:
        raise ClasswiseError(
            f"The average over the weights takes a query of {count} numbers, and more than {limits.SQL_NUMBERS} are "
            f"not written; {remedy}"
        )


# Weights that were drawn ----------------------------------------------------------------------------------------------


def add_drawn(slopes: Array, constants: Array, entries: Sequence[str], draft: Draft) -> None:
    """The mean over draws of softmax of linear scores; slopes (D, k, q') and constants (D, k) of k scores, of which one
    is that of the second class against the first; entries: what the q' columns of the row are called.
    """
    count, scores, width = slopes.shape
    points = {"w": [1 / count] * count}
    classes: list[list[tuple[str | None, str | None]]] = [] if scores > 1 else [[(entries[0], "none")]]
    if scores == 1:
        points["none"] = [0.0] * count
    for k in range(scores):
        points |= {f"w{k}_{i}": slopes[:, k, i].tolist() for i in range(width)}
        points[f"c{k}"] = constants[:, k].tolist()
        terms: list[tuple[str | None, str | None]] = [(name, f"w{k}_{i}") for i, name in enumerate(entries)]
        classes.append([*terms, (None, f"c{k}")])
    sums = [draft.name("average") for _ in classes]
    _add_sums(draft, PointSum(points, classes, sums, list(entries)))


# Gaussian scores ------------------------------------------------------------------------------------------------------


def add_softmax(basis: Array, mean: Sequence[str], covariance: Mapping[tuple[int, int], str], draft: Draft) -> None:
    """The average of softmax of scores basis @ contrasts; what their means and covariances (a <= b) are called."""
    size = len(mean)
    if size not in SWEEPS:
        raise ClasswiseError(
            f"The average over the weights of {len(basis)} classes takes the axes of a covariance of {size} contrasts "
            f"in every row, and a query has them for up to {max(SWEEPS)}; call set_params(predictive='moderated'), "
            "which needs no new fit, or score the rows with predict."
        )
    spread = draft.define(Step.DEVIATION, "spread", total([column(covariance[a, a]) for a in range(size)]))
    draft.steps.define(Step.CENTER, "rule", _chosen_rule(spread, size))
    turned = Turned(basis, list(mean), dict(covariance))
    terms: list[list[tuple[str | None, str | None]]] = [
        [(f"cm{k}", None), *((f"cr{k}_{b}", f"t{b}") for b in range(size))] for k in range(len(basis))
    ]
    sums = [draft.name("average") for _ in basis]
    reads = [*mean, *covariance.values(), "rule"]
    _add_sums(draft, PointSum(_rule_points(size), terms, sums, reads, "rule", turned))


def _chosen_rule(spread: str, size: int) -> Expression:
    """Which points, by the sum of the variances; NULL where that is infinite: as in Python, there is no answer."""
    bars = [(CUBATURE, TIGHT)] * (2 * size**2 < POINTS) + [(GRID, WIDE)] * (size <= GRIDDED) + [(LATTICE, -POSSIBLE)]
    return case(*((exp.LTE(this=column(spread), expression=number(bar)), number(rule)) for rule, bar in bars))


def _rule_points(size: int) -> dict[str, list[float]]:
    rules = {CUBATURE: cubature, GRID: grid, LATTICE: lattice}
    used = [CUBATURE] * (2 * size**2 < POINTS) + [GRID] * (size <= GRIDDED) + [LATTICE]
    found = [(rule, *rules[rule](size)) for rule in used]
    points, weights = np.concatenate([of[1] for of in found]), np.concatenate([of[2] for of in found])
    names = np.concatenate([np.full(len(of[2]), of[0]) for of in found])
    some = weights != 0
    columns = {f"t{b}": points[some, b].tolist() for b in range(size)}
    return {"rule": names[some].tolist(), "w": weights[some].tolist(), **columns}


@dataclass(frozen=True, eq=False)
class Turned:
    """The roots of a covariance in every row: axes times deviations, from the least to the largest; basis (g, r)."""

    basis: Array
    mean: list[str]
    covariance: dict[tuple[int, int], str]

    def parts(self, source: str, kept: Sequence[str], name: str, dialect: Dialect) -> list[Written]:
        """The last has cm_k, the means of the scores, and cr_kb, their roots along axis b."""
        size = len(self.mean)
        start = {_a(i, j): column(of) for (i, j), of in self.covariance.items()}
        start |= {_v(i, j): number(float(i == j)) for i in range(size) for j in range(size)}
        means = {f"cm{k}": total(linear(of, self.mean)) for k, of in enumerate(self.basis.tolist())}
        chain = Chain(source, f"{name}_turn", dialect, [*dict.fromkeys(kept)])
        chain.step(start | means)
        for pairs in rounds(size) * SWEEPS[size]:
            angles = {of: angle for n, pair in enumerate(pairs) for of, angle in _angle(n, *pair).items()}
            chain.step(angles)
            chain.step(_rotated(pairs, size), [*angles])
        top = largest([*map(column, means)], dialect.ignores_nulls)
        chain.step(_ranked(size) | {"cmtop": top})
        chain.step(_sorted(size) | {of: minus(column(of), column("cmtop")) for of in means})
        gone = [*(f"axis{i}_{j}" for i in range(size) for j in range(size)), *(f"root{j}" for j in range(size))]
        chain.step(self._roots(size), gone)
        return chain.parts

    def _roots(self, size: int) -> dict[str, Expression]:
        roots = {}
        for k, of in enumerate(self.basis.tolist()):
            for b in range(size):
                along = total(linear(of, [f"axis{a}_{b}" for a in range(size)]))
                roots[f"cr{k}_{b}"] = times(along, column(f"root{b}"))
        return roots


@dataclass(eq=False)
class Chain:
    """Parts of a query one after the other, each with columns that are made of those of the part before."""

    source: str
    name: str
    dialect: Dialect
    columns: list[str]
    parts: list[Written] = field(default_factory=list)

    def step(self, new: Mapping[str, Expression], without: Sequence[str] = ()) -> None:
        """The next part: new columns, and those there were, but for some."""
        kept = [of for of in self.columns if of not in new and of not in without]
        made = [exp.alias_(expression, of, copy=False) for of, expression in new.items()]
        source = exp.to_table(self.parts[-1].name if self.parts else self.source)
        select = exp.Select(expressions=[*map(column, kept), *made]).from_(source, copy=False)
        text = self.dialect.fenced(select).sql(dialect=self.dialect.name)
        # PostgreSQL plans parts within parts for long; one that is made once is planned once.
        is_fenced = self.dialect.fence is not None
        self.parts.append(Written(f"{self.name}{len(self.parts)}", text, materialized=is_fenced))
        self.columns = [*kept, *new]


# Jacobi's rotations ---------------------------------------------------------------------------------------------------
#
#     theta = (a_qq - a_pp) / (2 a_pq),  t = sign(theta) / (|theta| + sqrt(theta² + 1)),  c = 1 / sqrt(t² + 1),  s = t c


def _a(i: int, j: int) -> str:
    return f"a{min(i, j)}_{max(i, j)}"


def _v(i: int, j: int) -> str:
    return f"v{i}_{j}"


def rounds(size: int) -> list[list[tuple[int, int]]]:
    """All pairs of axes, by rounds in which none occurs twice: these are turned at the same time.

    >>> rounds(4)
    [[(0, 3), (1, 2)], [(1, 3), (0, 2)], [(2, 3), (0, 1)]]
    """
    last = size - 1 if size % 2 == 0 else size  # of an odd number, one is left out in each round
    found = []
    for start in range(last):
        pairs = [(start, last)] + [((start + d) % last, (start - d) % last) for d in range(1, (last + 1) // 2)]
        found.append([(min(pair), max(pair)) for pair in pairs if max(pair) < size])
    return found


def _angle(n: int, p: int, q: int) -> dict[str, Expression]:
    """The tangent of the angle that makes a_pq zero, its cosine and sine; 0 where a_pq is nothing beside the others."""
    own, other, off = (column(_a(*of)) for of in ((p, p), (q, q), (p, q)))
    size = exp.Add(this=exp.Abs(this=own), expression=exp.Abs(this=other))
    is_done = exp.LTE(this=exp.Abs(this=off), expression=times(number(1e-30), size))
    theta = over(minus(other.copy(), own.copy()), times(number(2.0), off.copy()))
    root = exp.Sqrt(this=shifted(square(theta.copy()), 1.0))
    below = exp.Add(this=exp.Abs(this=theta.copy()), expression=root)
    is_negative = exp.LT(this=theta.copy(), expression=number(0.0))
    t = case((is_done, number(0.0)), otherwise=over(case((is_negative, number(-1.0)), otherwise=number(1.0)), below))
    cosine = over(number(1.0), exp.Sqrt(this=shifted(square(t.copy()), 1.0)))
    return {f"turn_t{n}": t, f"turn_c{n}": cosine, f"turn_s{n}": times(t.copy(), cosine.copy())}


# What an axis becomes: other axes, each with its sign, and the cosine or sine that it is multiplied with.
Made: TypeAlias = list[tuple[int, int, str | None]]


def _rotated(pairs: Sequence[tuple[int, int]], size: int) -> dict[str, Expression]:
    """J'AJ and VJ, where J turns each pair (p, q): p becomes c p - s q, and q becomes s p + c q."""
    made: dict[int, Made] = {i: [(i, 1, None)] for i in range(size)}
    for n, (p, q) in enumerate(pairs):
        made[p], made[q] = [(p, 1, f"turn_c{n}"), (q, -1, f"turn_s{n}")], [(p, 1, f"turn_s{n}"), (q, 1, f"turn_c{n}")]
    moved = {_a(i, j): _of_both(made[i], made[j]) for i in range(size) for j in range(i, size)}
    for n, (p, q) in enumerate(pairs):
        change = times(column(f"turn_t{n}"), column(_a(p, q)))
        moved[_a(p, p)], moved[_a(q, q)] = (
            minus(column(_a(p, p)), change),
            exp.Add(this=column(_a(q, q)), expression=change.copy()),
        )
        moved[_a(p, q)] = number(0.0)
    turned = [j for pair in pairs for j in pair]
    return moved | {_v(i, j): _signed([(_v(i, k), *of) for k, *of in made[j]]) for i in range(size) for j in turned}


def _of_both(first: Made, second: Made) -> Expression:
    """The sum over what both are made of."""
    return _signed([(_a(i, j), s * t, a, b) for i, s, a in first for j, t, b in second])


def _signed(terms: Sequence[tuple[Any, ...]]) -> Expression:
    """name, sign, and what it is multiplied with, of each term."""
    found = []
    for name, sign, *factors in terms:
        product = column(name)
        for factor in factors:
            product = product if factor is None else times(product, column(factor))
        found.append(product if sign > 0 else times(number(-1.0), product))
    return total(found)


def _ranked(size: int) -> dict[str, Expression]:
    """How many variances are less than each; and whether its axis points backward, as classwise has it."""
    found = {}
    one, none = exp.Literal.number(1), exp.Literal.number(0)
    for b in range(size):
        less = [
            (exp.LTE if other < b else exp.LT)(this=column(_a(other, other)), expression=column(_a(b, b)))
            for other in range(size)
            if other != b
        ]
        places = [case((of, one.copy()), otherwise=none.copy()) for of in less]
        found[f"rank{b}"] = total(places) if places else none.copy()
        forward = total(linear([(i + 1) ** -0.5 for i in range(size)], [_v(i, b) for i in range(size)]))
        is_backward = exp.LT(this=forward, expression=number(0.0))
        found[f"sign{b}"] = case((is_backward, number(-1.0)), otherwise=number(1.0))
    return found


def _sorted(size: int) -> dict[str, Expression]:
    """Axes and deviations by rank."""

    def at(rank: int, values: Sequence[Expression]) -> Expression:
        where = [exp.EQ(this=column(f"rank{b}"), expression=exp.Literal.number(rank)) for b in range(size)]
        return case(*zip(where, values, strict=True))

    found = {}
    for rank in range(size):
        for i in range(size):
            signed = [times(column(f"sign{b}"), column(_v(i, b))) for b in range(size)]
            found[f"axis{i}_{rank}"] = at(rank, signed)
        found[f"root{rank}"] = at(rank, [_root(_a(b, b)) for b in range(size)])
    return found


def _root(name: str) -> Expression:
    is_some = exp.GT(this=column(name), expression=number(0.0))
    return case((is_some, exp.Sqrt(this=column(name))), otherwise=number(0.0))
