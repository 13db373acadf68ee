"""The result of a selection of columns: log loss against the number of columns, the choice, and what it gains."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from classwise.errors import choose
from classwise.estimators.summary import SummaryEstimator
from classwise.rows.schema import find_column
from classwise.selection.column_search import ColumnSet, FoldLosses, Nested, Rule, least_loss, one_error
from classwise.selection.wilks import FTest, Wilks
from classwise.statistics import ClassStatistics
from classwise.tabular import Tabular, data_frame, html_table

# How to choose among sets of growing size.
RULES: dict[str, Rule] = {"best": least_loss, "simplest": one_error}

# Log losses that differ by less are equal.
ROUNDING = 1e-9

# What the F of a line tests: the column that the line adds, or all columns of the line.
STEPWISE = {"forward": True, "backward": True, "best": False}


class SelectionLine(NamedTuple):
    """A set of columns. added: the column that it has besides those of the line before, None for a set of its own;
    log_loss, standard_error: on held-out rows; wilks: Wilks' lambda of its numbers, NaN if it has other columns too; f,
    p: of the column that was added, or of all columns, None where there is none; note: "best" or "simplest".
    """

    size: int
    columns: tuple[Any, ...]
    added: Any
    log_loss: float
    standard_error: float
    wilks: float
    f: float | None
    p: float | None
    note: str


@dataclass(frozen=True, eq=False, repr=False)
class SelectionTable(Tabular):
    """A line for each number of columns. is_stepwise: whether each line adds a column to the line before."""

    lines: tuple[SelectionLine, ...]
    is_stepwise: bool

    @property
    def sides(self) -> str:  # type: ignore[override]
        return "><>>>>><"

    def cells(self) -> list[tuple[str, ...]]:
        """The table as text, header first."""
        test = "F to enter" if self.is_stepwise else "F"
        header = ("size", "columns", "log loss", "± s.e.", "Wilks' lambda", test, "p", "")
        before = (SelectionLine(0, (), None, 0.0, 0.0, 1.0, None, None, ""), *self.lines)
        return [header, *map(self._cells, before, self.lines)]

    @staticmethod
    def _cells(before: SelectionLine, line: SelectionLine) -> tuple[str, ...]:
        names = _change(before.columns, line.columns) or "none: the class shares"
        wilks = "" if line.wilks != line.wilks else f"{line.wilks:.4f}"
        f, p = ("", "") if line.f is None else (f"{line.f:.4g}", f"{line.p:.3g}")
        return str(line.size), names, f"{line.log_loss:.4f}", f"{line.standard_error:.4f}", wilks, f, p, line.note

    def records(self) -> dict[str, list[Any]]:
        """The lines as columns of plain values."""
        return {name: [getattr(line, name) for line in self.lines] for name in SelectionLine._fields}

    def frame(self, backend: str | None = None) -> Any:
        """The lines as a data frame of the named library; by default pandas, polars or pyarrow, if installed."""
        records = self.records() | {"columns": [", ".join(map(str, line.columns)) for line in self.lines]}
        return data_frame(records, backend)


@dataclass(frozen=True, eq=False, repr=False)
class ColumnSelection:
    """Which columns to use, from `select_columns`; prints as a table with sentences.

    model: the estimator, not fitted.
    method: "forward", "backward" or "best".
    rule: "best", the least log loss, or "simplest", the fewest columns within one standard error of it.
    sets: of growing size, the first without any column.
    everything: the losses with all columns; None if the model cannot be fitted to all of them.
    nested: the search repeated without each fold, by the rule; None if it was not.
    left_out: why columns were not tried, by name.
    statistics: of all rows and columns.
    """

    model: SummaryEstimator
    method: str
    rule: str
    sets: tuple[ColumnSet, ...]
    everything: FoldLosses | None
    nested: Nested | None
    left_out: Mapping[Any, str]
    statistics: ClassStatistics

    @property
    def names(self) -> Sequence[Any]:
        """All columns by name, or by position where they have none."""
        return self.statistics.features or range(self.statistics.n_features)

    @cached_property
    def chosen(self) -> ColumnSet:
        """The set that the rule chooses."""
        return RULES[self.rule](self.sets)

    @property
    def columns(self) -> list[Any]:
        """The chosen columns, by name or position, in the order of the table: `X[selection.columns]`."""
        return [self.names[j] for j in sorted(self.chosen.columns)]

    @property
    def log_loss(self) -> float:
        """Of the chosen columns on held-out rows: too good, because it was chosen as the least of many."""
        return self.chosen.losses.log_loss

    @property
    def nested_log_loss(self) -> float:
        """Of the whole procedure on rows that had no part in it; NaN if it was not repeated."""
        return np.nan if self.nested is None else self.nested.losses.log_loss

    @cached_property
    def best(self) -> Any:
        """The model, fitted on the chosen columns of all rows."""
        kept = sorted(self.chosen.columns)
        return restricted(self.model, kept, self.names).fit_statistics(self.statistics.restrict(kept))

    def choose(self, rule: str) -> "ColumnSelection":
        """The same sets under another rule, without a new search; `nested` is that of the rule it was made by.

        Parameters
        ----------
        rule : {"best", "simplest"}
            "best" chooses the least log loss, "simplest" the fewest columns within one standard error of it.

        Returns
        -------
        ColumnSelection
            The selection by that rule.
        """
        choose("rule", rule, RULES)
        return replace(self, rule=rule, nested=self.nested if rule == self.rule else None)

    # As a table -------------------------------------------------------------------------------------------------------

    def table(self) -> SelectionTable:
        """A line for each number of columns: log loss, its standard error, Wilks' lambda and its F."""
        wilks, is_stepwise = Wilks.of(self.statistics), STEPWISE[self.method]
        marks = {id(rule(self.sets)): name for name, rule in reversed(RULES.items())}
        lines = []
        for found in self.sets:
            *others, added = found.columns or (None,)
            test = None if wilks is None or added is None else _test(wilks, others, added, is_stepwise)
            lines.append(
                SelectionLine(
                    len(found.columns),
                    tuple(self.names[j] for j in found.columns),
                    self.names[added] if is_stepwise and added is not None else None,
                    found.losses.log_loss,
                    found.losses.error,
                    np.nan if wilks is None else wilks.lambda_of(found.columns),
                    None if test is None else test.f,
                    None if test is None else test.p,
                    marks.get(id(found), ""),
                )
            )
        return SelectionTable(tuple(lines), is_stepwise)

    def summary(self) -> list[str]:
        """Sentences: the choice, what it gains on rows that had no part in it, and which columns are stable."""
        lines = [self._choice(), *self._honest(), *self._stable()]
        if self.left_out:
            why = "; ".join(f"{name} ({reason})" for name, reason in self.left_out.items())
            lines.append(f"Not tried: {why}.")
        return lines

    def _choice(self) -> str:
        count, tried = len(self.columns), len(self.names) - len(self.left_out)
        rule = "the least log loss" if self.rule == "best" else "a log loss within one standard error of the least"
        has = "has" if count == 1 else "have"
        names = ", ".join(map(str, self.columns))
        return f"{count} of {tried} columns {has} {rule}, {_shown(self.chosen.losses)}: {names}."

    def _honest(self) -> list[str]:
        if self.nested is None:
            return ["This log loss was chosen as the least of many, so expect a larger one on new rows."]
        folds, losses = len(self.nested.chosen), self.nested.losses
        repeated = f"The whole selection, repeated without each of {folds} folds and scored on that fold"
        lines = [f"{repeated}, has a log loss of {_shown(losses)}."]
        if self.everything is not None:
            gain = self.everything - losses
            size = f"{abs(gain.log_loss):.4f} ± {gain.error:.4f}"
            verb = f"gains {size}" if gain.log_loss > ROUNDING else f"loses {size}"
            verb = "makes no difference" if abs(gain.log_loss) <= ROUNDING else verb
            lines.append(f"All columns have {_shown(self.everything)}; against them the selection {verb}.")
        return lines

    def _stable(self) -> list[str]:
        if self.nested is None:
            return []
        times = {self.names[j]: self.nested.times(j) for j in {j for s in self.nested.chosen for j in s}}
        ordered = sorted(times.items(), key=lambda pair: (-pair[1], list(self.names).index(pair[0])))
        counts = ", ".join(f"{name} {count}" for name, count in ordered)
        return [f"How many of the {len(self.nested.chosen)} repetitions chose a column: {counts}."]

    def __str__(self) -> str:
        return "\n".join([str(self.table()), "", *self.summary()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        table = self.table()
        return f"{html_table(table.cells(), table.sides)}<p>{escape(' '.join(self.summary()))}</p>"

    def plot(self, axes: Any = None) -> Any:
        """Draw the log loss against the number of columns, with standard errors and the choices; matplotlib axes."""
        from classwise.plot import plot_selection

        return plot_selection(self, axes=axes)


def _test(wilks: Wilks, others: Sequence[int], added: int, is_stepwise: bool) -> FTest | None:
    """Of the column added, or of all columns; None if one of them is not a number."""
    if not all(j in wilks.places for j in (*others, added)):
        return None
    return wilks.partial(others, added) if is_stepwise else wilks.overall([*others, added])


def _change(before: Sequence[Any], after: Sequence[Any]) -> str:
    """What a set has that another has not, and what it lacks.

    >>> _change(["a", "b"], ["a", "c", "d"])
    '+ c, + d, - b'
    """
    more = [f"+ {name}" for name in after if name not in before]
    return ", ".join([*more, *(f"- {name}" for name in before if name not in after)])


def _shown(losses: FoldLosses) -> str:
    return f"{losses.log_loss:.4f} ± {losses.error:.4f}"


def restricted(model: SummaryEstimator, columns: Sequence[int], names: Sequence[Any]) -> SummaryEstimator:
    """The estimator for some of the columns, not fitted: families of other columns are dropped from its options."""
    fresh: SummaryEstimator = clone(model)
    families = model.families
    if not isinstance(families, Mapping):
        return fresh
    places = {find_column(key, names, "families"): family for key, family in families.items()}
    named = not isinstance(names, range)
    kept = {names[j] if named else i: places[j] for i, j in enumerate(columns) if j in places}
    return fresh.set_params(families=kept)
