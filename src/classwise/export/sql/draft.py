"""A draft of a query: steps that compute columns from those of the step before, and the score of each class so far."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import IntEnum, auto
from typing import Any, NamedTuple, Protocol

import numpy as np
from sqlglot import exp

from classwise.arrays import Array, Labels
from classwise.errors import ClasswiseError
from classwise.export.sql.arithmetic import (
    IMPOSSIBLE,
    Expression,
    case,
    column,
    double,
    is_null,
    log,
    number,
    shifted,
    total,
)
from classwise.export.sql.dialects import FARTHEST, NEAREST, Dialect, converted
from classwise.rows.schema import Conversion

# What the table is called within the first step, so that its columns are never taken for anything else: SQLite reads
# a quoted name that is no column as text.
SOURCE = "t"


class Step(IntEnum):
    """The steps in order; a query has those that it needs."""

    GIVEN = auto()  # columns of the table: numbers about an origin, levels as codes
    GUARDED = auto()  # the same within the range that can be computed with
    DERIVED = auto()  # logarithms; whether a row can be scored at all
    UNITS = auto()  # numbers in standard units, as members of a stack see them
    TRANSFORMED = auto()  # these, to Yeo-Johnson powers
    SEEN = auto()  # these, where none is missing; one-hot columns
    TREES = auto()  # what the trees of a forest say, added up
    PAIRS = auto()  # log densities of one-dependence, by lists
    FIRST_SUM = auto()  # what goes into the units of a network's first layer
    FIRST_UNIT = auto()  # what comes out of them
    SECOND_SUM = auto()  # the same of the second layer
    SECOND_UNIT = auto()
    FILLED = auto()  # what is missing, at its expectation given the rest, in a class
    WHITE = auto()  # coordinates in which a class is a unit sphere
    DISTANCE = auto()  # squared distances, where a logarithm is to follow
    DEVIATION = auto()  # of a score whose weights are averaged over
    CENTER = auto()  # about which points of it lie, and how close
    ENDS = auto()  # from where to where
    POINT = auto()
    SPOT = auto()
    WEIGHED = auto()  # the points, with their weights
    AVERAGED = auto()  # sums over them
    LEVEL_PART = auto()  # the score with each level of a parent, of those that the row may have
    LEVEL_TOP = auto()  # the largest of these
    PART = auto()  # the components of a mixture, or the parents of one-dependence
    PART_TOP = auto()  # the largest of these
    MEMBER = auto()  # the same as SCORE, of each member of a stack
    MEMBER_BEST = auto()
    MEMBER_LEVEL = auto()  # to the member's power, about the best
    MEMBER_TOTAL = auto()
    MEMBER_LOG = auto()  # log posterior
    PRODUCT = auto()  # the same of the product of the members
    PRODUCT_BEST = auto()
    PRODUCT_LEVEL = auto()
    PRODUCT_TOTAL = auto()
    PRODUCT_LOG = auto()
    TOP = auto()  # the largest log weight + log posterior over the members
    SCORE = auto()  # log prior + log density of each class, up to a common term
    PEAK = auto()  # the largest
    BEST = auto()  # the same, NULL where it says nothing
    LEVEL = auto()  # scores about the best, ties made equal; log p(x)
    CALIBRATED = auto()  # these to a power
    CALIBRATED_BEST = auto()
    CALIBRATED_LEVEL = auto()
    WEIGHT = auto()  # exp
    TOTAL = auto()
    POSTERIOR = auto()
    COST = auto()  # expected costs of each decision
    LEAST = auto()  # the least of them
    EQUALS = auto()  # posteriors of the decisions that cost no more
    LIKELIEST = auto()  # the largest of these


class Written(NamedTuple):
    """A part of a query. recursive: whether it asks itself; materialized: whether it is to be made once."""

    name: str
    text: Any
    recursive: bool = False
    materialized: bool = False


class Walking(Protocol):
    """What takes rows through trees, points or pairs. sums: the columns that it adds; reads: those it looks at;
    is_numbered: whether rows are numbered, to distinguish them.
    """

    @property
    def is_numbered(self) -> bool: ...

    @property
    def sums(self) -> Sequence[str]: ...

    @property
    def reads(self) -> Sequence[str]: ...

    def steps(self, source: str, kept: Sequence[str], name: str, dialect: str) -> list[Written]:
        """Parts of a query, of which the last has the columns kept of the source, and the sums."""
        ...


@dataclass(eq=False)
class Steps:
    """Columns by step, each with its expression, in terms of columns of earlier steps; walks: what makes those of some
    steps instead, such as TREES.
    """

    dialect: Dialect
    columns: dict[Step, dict[str, Expression]] = field(default_factory=dict)
    walks: dict[Step, list[Walking]] = field(default_factory=dict)

    def define(self, step: Step, name: str, expression: Expression) -> str:
        """A column of a step; its name."""
        self.columns.setdefault(step, {})[name] = expression
        return name

    def query(self, table: exp.Table, result: list[Expression]) -> exp.Select:
        """WITH the steps one after the other SELECT result."""
        carried, names = self._carried(result), self._names(table)
        source: Expression = exp.alias_(table, SOURCE, table=True)
        parts: list[Written] = []
        for step, name in names.items():
            if step in self.walks:
                parts = self._walked(self.walks[step], parts, carried[step], name)
                source = exp.to_table(parts[-1].name)
                continue
            own = [exp.alias_(expression, alias, copy=False) for alias, expression in self.columns[step].items()]
            select = exp.Select(expressions=[*map(column, carried[step]), *own]).from_(source, copy=False)
            self._check_width(select)
            parts.append(Written(name, self.dialect.fenced(select)))
            source = exp.to_table(name)
        query = exp.Select(expressions=result).from_(source, copy=False)
        kept, recursive = self.dialect.fence == "materialized", any(part.recursive for part in parts) or None
        for part in parts:
            once = True if (kept and not part.recursive) or part.materialized else None
            query = query.with_(part.name, as_=part.text, recursive=recursive, materialized=once, copy=False)
        return query

    def _walked(self, walks: Sequence[Walking], parts: list[Written], carried: list[str], name: str) -> list[Written]:
        """The parts of a query, and those that take rows through trees, points or pairs, one after the other."""
        for i, walk in enumerate(walks):
            later = [column for other in walks[i + 1 :] for column in other.reads]
            before = [column for other in walks[:i] for column in other.sums]
            kept = [*dict.fromkeys([*carried, *later, *before])]
            written = walk.steps(parts[-1].name, kept, f"{name}{i or ''}", self.dialect.name)
            # Where rows are numbered, and that is asked for several times, it has to be done once.
            parts[-1] = parts[-1]._replace(materialized=walk.is_numbered and written[0].materialized)
            parts += [part._replace(text=exp.Literal(this=part.text, is_string=False)) for part in written]
        return parts

    def _carried(self, result: list[Expression]) -> dict[Step, list[str]]:
        """What each step takes over from the one before, because a later one needs it."""
        order = [name for step in sorted(self.columns) for name in self.columns[step]]
        carried, needed = {}, _names_in(result)
        for step in sorted(self.columns, reverse=True):
            needed -= set(self.columns[step])
            carried[step] = [name for name in order if name in needed]
            needed |= _names_in(self.columns[step].values())
        return carried

    def _names(self, table: exp.Table) -> dict[Step, str]:
        """What steps are called: nothing that the table is called too."""
        prefix = "cw_"
        while table.name.lower().startswith(prefix):
            prefix += "_"
        return {step: prefix + step.name.lower() for step in sorted(self.columns)}

    def _check_width(self, select: exp.Select) -> None:
        most, count = self.dialect.most_columns, len(select.expressions)
        if most is not None and count > most:
            raise ClasswiseError(
                f"The query has a step of {count} columns, and {self.dialect.name} allows no more than {most}; use a "
                "model of fewer columns or classes, one that shares its covariance (share=1), or another dialect."
            )


def _names_in(expressions: Iterable[Expression]) -> set[str]:
    """The columns of the query itself that occur; those of the table have the table's name before them."""
    found = [node for expression in expressions for node in expression.find_all(exp.Column, exp.Literal)]
    read = {name for node in found if isinstance(node, exp.Literal) for name in node.meta.get("columns", ())}
    return read | {node.name for node in found if isinstance(node, exp.Column) and not node.table}


# The draft: the columns of the table, what is computed from them, and the scores --------------------------------------


@dataclass(frozen=True)
class Unanswered:
    """Columns that are described jointly: a row without a score lacks more than `most` of them, but not all of them,
    unless most is 0. count: the column of the query that tells how many. Rows whose `code` is one of those `seen` have
    a score nevertheless. because: what keeps the others from it.
    """

    columns: tuple[int, ...]
    most: int
    count: str
    code: str = ""
    seen: tuple[int, ...] = ()
    because: str = (
        "These columns are described jointly, and a query that integrates all gaps out of them would be too long"
    )

    @property
    def is_so(self) -> Expression:
        """Of a row."""
        last = len(self.columns) - 1 if self.most else len(self.columns)
        first, end = (exp.Literal.number(n) for n in (self.most + 1, last))
        many = exp.Between(this=column(self.count), low=first, high=end)
        if not self.seen:
            return many
        known = exp.In(this=column(self.code), expressions=[*map(exp.Literal.number, self.seen)])
        return exp.And(this=many, expression=exp.Not(this=known))


# Whole numbers up to this are doubles, exactly.
WHOLE = 2**53


@dataclass(eq=False)
class Draft:
    """names: of the model's columns in the table. levels: of those that have some. conversions: of dates, and of text
    that holds numbers.

    scores (g): the terms of each class. constants (g): what does not depend on the row. refusals: conditions on a row
    that make it impossible to score, as it would be in Python. missing: whether each column that is read has no value.
    strict: whether rows with gaps are refused. seen: which numbers rows of the fit lacked, the most frequent first.
    unanswered: where too many gaps leave a row without a score.

    whole: whether log p(x) is asked for; then `common` are the terms that all classes share, which are left out
    otherwise. gaps: how those of some columns are integrated out, where that is known already.
    """

    dialect: Dialect
    names: Sequence[str]
    levels: dict[int, Labels]
    count: int
    conversions: Mapping[int, Conversion] = field(default_factory=dict)
    scores: list[list[Expression]] = field(init=False)
    constants: list[float] = field(init=False)
    refusals: list[Expression] = field(default_factory=list)
    missing: list[Expression] = field(default_factory=list)
    strict: bool = False
    seen: Sequence[Collection[int]] = ()
    unanswered: list[Unanswered] = field(default_factory=list)
    whole: bool = False
    common: list[Expression] = field(default_factory=list)
    gaps: dict[tuple[int, ...], Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.steps = Steps(self.dialect)
        self.scores = [[] for _ in range(self.count)]
        self.constants = [0.0] * self.count
        self._counts: dict[str, int] = {}

    def define(self, step: Step, letter: str, expression: Expression) -> str:
        """A column of a step, by a letter and the next number; its name."""
        return self.steps.define(step, self.name(letter), expression)

    def name(self, letter: str) -> str:
        """A letter and the next number."""
        place = self._counts[letter] = self._counts.get(letter, -1) + 1
        return f"{letter}{place}"

    def add(self, k: int, term: Expression) -> None:
        """A term of the score of class k."""
        self.scores[k].append(term)

    def add_common(self, term: Expression) -> None:
        """A term that all classes share."""
        if self.whole:
            self.common.append(term)

    def add_constants(self, values: Array) -> None:
        """What each class's score has in every row."""
        self.constants = [a + b for a, b in zip(self.constants, values.tolist(), strict=True)]

    def define_scores(self) -> list[str]:
        """The score of each class, as columns; their names."""
        if self.refusals:
            refused = case((_any_of(self.refusals), exp.Literal.number(0)), otherwise=exp.Literal.number(1))
            self.steps.define(Step.DERIVED, "fits", refused)
        return [self.steps.define(Step.SCORE, f"s{k}", score) for k, score in enumerate(self.take_scores())]

    def take_scores(self) -> list[Expression]:
        """The score of each class so far; the draft goes on without any."""
        taken = [
            shifted(total(terms or [number(0.0)]), max(constant, IMPOSSIBLE))
            for terms, constant in zip(self.scores, self.constants, strict=True)
        ]
        self.scores, self.constants = [[] for _ in range(self.count)], [0.0] * self.count
        return taken

    @contextmanager
    def aside(self, count: int) -> Iterator[None]:
        """Scores of so many others than the classes, to be taken; those of the classes go on afterwards."""
        before = self.scores, self.constants, self.count
        self.scores, self.constants, self.count = [[] for _ in range(count)], [0.0] * count, count
        try:
            yield
        finally:
            self.scores, self.constants, self.count = before

    # Columns of the table -------------------------------------------------------------------------------------------

    def key(self, place: int, name: str) -> str:
        """A column that is only carried along."""
        return self.steps.define(Step.GIVEN, f"k{place}", self._source(name))

    def plain(self, j: int) -> str:
        """A number as it is."""
        value = self._number(j)
        self.missing.append(is_null(column(f"x{j}")))
        return self.steps.define(Step.GIVEN, f"x{j}", self.dialect.without_nan(value, value.copy()))

    def about(self, j: int, origin: float, spread: float) -> str:
        """A number minus the origin. spread: the least standard deviation of it that matters."""
        value = shifted(self._number(j), -origin)
        self.missing.append(is_null(column(f"x{j}")))
        if not self.dialect.raises:
            return self.steps.define(Step.GIVEN, f"x{j}", self.dialect.without_nan(value, value.copy()))
        raw = self.steps.define(Step.GIVEN, f"r{j}", value)
        return self.steps.define(Step.GUARDED, f"x{j}", self._guarded(column(raw), spread))

    def refuse_infinite(self, x: str) -> str:
        """A number that was read; rows with an infinite one are refused, as in Python."""
        most = number(float(np.finfo(np.float64).max))
        self.refusals.append(exp.GT(this=exp.Abs(this=column(x)), expression=most))
        return x

    def number_of(self, j: int) -> str:
        """What a number that was read is called; it is NULL where the number is missing."""
        return f"x{j}"

    def is_missing(self, j: int) -> Expression:
        """Whether a column has no value, in a step after those that read it; it may be one that says nothing."""
        if j in self.levels:
            return exp.EQ(this=column(self.code(j)), expression=exp.Literal.number(-1))
        read = self.steps.columns.get(Step.GIVEN, {})
        if f"x{j}" in read or f"r{j}" in read:
            return is_null(column(self.number_of(j)))
        value = self._number(j)
        return is_null(column(self.steps.define(Step.GIVEN, f"h{j}", self.dialect.without_nan(value, value.copy()))))

    def count_of(self, j: int, most: float) -> str:
        """A whole number from 0 to the most there can be; a row with anything else is refused."""
        x = self.about(j, 0.0, 1.0)
        self.refusals.append(exp.LT(this=column(x), expression=number(0.0)))
        self.refusals.append(exp.NEQ(this=column(x), expression=exp.Floor(this=column(x))))
        if np.isfinite(most):
            self.refusals.append(exp.GT(this=column(x), expression=number(most)))
        return x

    def amount_of(self, j: int) -> str:
        """A number from 0 on; a row with a negative one is refused."""
        x = self.about(j, 0.0, 1.0)
        self.refusals.append(exp.LT(this=column(x), expression=number(0.0)))
        return x

    def logarithm(self, j: int, origin: float, spread: float) -> str:
        """The logarithm of a number minus the origin; a row with a number that has none is refused.

        spread: as in `about`. Logarithms need no guard: none is too large, and none too near to zero.
        """
        raw = self.plain(j)
        self.refusals.append(exp.LTE(this=column(raw), expression=number(0.0)))
        positive = case((exp.GT(this=column(raw), expression=number(0.0)), column(raw)))
        return self.steps.define(Step.DERIVED, f"l{j}", shifted(log(positive), -origin))

    def code(self, j: int) -> str:
        """The position of a level, -1 where there is none, the number of levels for one never seen."""
        levels = self.levels[j].tolist()
        value, known = self._level_value(j, levels)
        places = [exp.If(this=level, true=exp.Literal.number(i)) for i, level in enumerate(known)]
        place = exp.Case(this=value, ifs=places, default=exp.Literal.number(len(known)))
        self.missing.append(exp.EQ(this=column(f"c{j}"), expression=exp.Literal.number(-1)))
        code = case((is_null(value.copy()), exp.Literal.number(-1)), otherwise=place)
        return self.steps.define(Step.GIVEN, f"c{j}", code)

    def _level_value(self, j: int, levels: list[Any]) -> tuple[Expression, list[Expression]]:
        """A column of levels, and its levels, as things that can be compared."""
        source = self._source(self.names[j])
        if all(isinstance(level, str) for level in levels):
            for level in levels:
                check_text(level, f"a level of column {self.names[j]!r}")
            return exp.cast(source, exp.DType.TEXT), [self.dialect.literal(level) for level in levels]
        if all(isinstance(level, bool) for level in levels):
            if self.dialect.casts_to_bool:
                return exp.cast(source, exp.DType.BOOLEAN), [self.dialect.literal(level) for level in levels]
            return source, [exp.Literal.number(int(level)) for level in levels]
        if not all(isinstance(level, (int, float)) for level in levels):
            kinds = " and ".join(sorted({type(level).__name__ for level in levels}))
            raise ClasswiseError(
                f"Column {self.names[j]!r} has levels of type {kinds}, and SQL compares text, numbers, yes and no; "
                "turn it into text, and fit again."
            )
        if any(isinstance(level, int) and abs(level) > WHOLE for level in levels):
            return source, [exp.Literal.number(level) for level in levels]
        value = double(source)
        return self.dialect.without_nan(value, value.copy()), [number(level) for level in levels]

    def _number(self, j: int) -> Expression:
        return converted(self.conversions.get(j), self._source(self.names[j]), self.dialect)

    def _source(self, name: str) -> Expression:
        return exp.Column(this=exp.to_identifier(name, quoted=True), table=exp.to_identifier(SOURCE))

    def _guarded(self, value: Expression, spread: float) -> Expression:
        """Zero where products would underflow, infinity where they would overflow, NULL for NaN."""
        size, most = exp.Abs(this=value.copy()), number(_roughly(FARTHEST * spread))
        return case(
            (exp.LT(this=size, expression=number(_roughly(NEAREST * spread))), number(0.0)),
            (exp.LTE(this=size.copy(), expression=most), value),
            (exp.EQ(this=value.copy(), expression=double(exp.Literal.string("NaN"))), exp.Null()),
            (exp.GT(this=size.copy(), expression=most.copy()), self.dialect.endless(1)),
        )


def _any_of(conditions: Sequence[Expression]) -> Expression:
    return exp.or_(*conditions, copy=False, wrap=False)


def _roughly(value: float) -> float:
    """One digit is enough for a limit."""
    return float(f"{value:.0e}")


def check_text(text: str, what: str) -> None:
    """Refuse text that SQL cannot hold."""
    if "\0" in text or any(0xD800 <= ord(character) < 0xE000 for character in text):
        raise ClasswiseError(f"{text!r}, {what}, holds a character that SQL cannot write; rename it, and fit again.")


def near(center: float, spread: float) -> float:
    """A round number near the center, by the digits that the spread leaves open: short, and the same in any engine.

    >>> near(1000043.9219, 5.4), near(-0.12345, 0.003)
    (1000044.0, -0.123)
    """
    if not spread or not np.isfinite(spread):
        return float(center)
    return float(round(float(center), -int(np.floor(np.log10(spread)))))
