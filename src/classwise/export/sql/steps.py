"""A query as steps: each computes some columns from those of the step before, and carries what later ones need."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum, auto

from sqlglot import exp

from classwise.errors import ClasswiseError
from classwise.export.sql.arithmetic import Expression, column
from classwise.export.sql.dialects import Dialect

# What the table is called within the first step, so that its columns are never taken for anything else: SQLite reads
# a quoted name that is no column as text.
SOURCE = "t"


class Step(IntEnum):
    """The steps in order; a query has those that it needs."""

    GIVEN = auto()  # columns of the table: numbers about an origin, levels as codes
    GUARDED = auto()  # the same within the range that can be computed with
    DERIVED = auto()  # logarithms; whether a row can be scored at all
    UNITS = auto()  # numbers in standard units, as members of a stack see them
    BENT = auto()  # these, to Yeo-Johnson powers
    SEEN = auto()  # these, where none is missing; one-hot columns
    WHITE = auto()  # coordinates in which a class is a unit sphere
    DISTANCE = auto()  # squared distances, where a logarithm is to follow
    MEMBER = auto()  # the same as SCORE, of each member of a stack
    MEMBER_BEST = auto()
    MEMBER_LEVEL = auto()  # to the member's power, about the best
    MEMBER_TOTAL = auto()
    MEMBER_LOG = auto()  # log weight + log posterior
    TOP = auto()  # the largest of these over the members
    SCORE = auto()  # log prior + log density of each class, up to a common term
    PEAK = auto()  # the largest
    BEST = auto()  # the same, NULL where it says nothing
    LEVEL = auto()  # scores about the best, ties made equal
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


@dataclass(eq=False)
class Steps:
    """Columns by step, each with its expression, in terms of columns of earlier steps."""

    dialect: Dialect
    columns: dict[Step, dict[str, Expression]] = field(default_factory=dict)

    def define(self, step: Step, name: str, expression: Expression) -> str:
        """A column of a step; its name."""
        self.columns.setdefault(step, {})[name] = expression
        return name

    def query(self, table: exp.Table, result: list[Expression]) -> exp.Select:
        """WITH the steps one after the other SELECT result."""
        carried, names = self._carried(result), self._names(table)
        source: Expression = exp.alias_(table, SOURCE, table=True)
        parts: list[tuple[str, exp.Select]] = []
        for step, name in names.items():
            own = [exp.alias_(expression, alias) for alias, expression in self.columns[step].items()]
            select = exp.Select(expressions=[*map(column, carried[step]), *own]).from_(source, copy=False)
            self._check_width(select)
            parts.append((name, self.dialect.fenced(select)))
            source = exp.to_table(name)
        query = exp.Select(expressions=result).from_(source, copy=False)
        materialized = True if self.dialect.fence == "materialized" else None
        for name, select in parts:
            query = query.with_(name, as_=select, materialized=materialized, copy=False)
        return query

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
    found = (node for expression in expressions for node in expression.find_all(exp.Column))
    return {node.name for node in found if not node.table}
