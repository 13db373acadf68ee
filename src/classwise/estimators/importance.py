"""Importance: how much the log loss rises if a model does not see a column.

    importance_j = mean over rows of  log P(y | x) - log P(y | x without x_j)

Models that integrate missing values out give P(y | all other columns) exactly. For other models the values of the
column are shuffled among the rows, several times.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from html import escape
from math import ceil, log10
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals as nw
import numpy as np

from classwise import limits
from classwise.arrays import Array, slices
from classwise.engines.memory import in_threads
from classwise.engines.progress import progress
from classwise.rows.table import Table
from classwise.tabular import Tabular, count_text, data_frame, html_table

if TYPE_CHECKING:
    from classwise.estimators.answers import Answers

# The most rows in a chunk that is scored without each column.
ROWS_AT_ONCE = 4096

# Smaller log probabilities are raised to that of the smallest normal float64, so that every log loss is finite.
LEAST_LOG = float(np.log(np.finfo(np.float64).tiny))


def own_losses(logs: Array, codes: Any) -> Array:
    """-log P(own class | x) of each row, from log posteriors (g, m) and the classes (m,); (m,)."""
    return -np.maximum(logs[codes, np.arange(len(codes))], LEAST_LOG)


@dataclass(frozen=True, eq=False)
class LossSums:
    """Sums over rows, which add up. weight; losses; rises (r, p): increases of the loss without each column, shuffled r
    times or integrated out once; squares (p,): squares of each row's mean increase.
    """

    weight: float
    losses: float
    rises: Array
    squares: Array

    @classmethod
    def of(cls, base: Array, without: Iterable[Sequence[Array]], weights: Array) -> "LossSums":
        """base (m,): losses of rows; without: for each column, the losses without it, one array (m,) per shuffle."""
        rises, squares = [], []
        for losses in without:
            up = np.array(losses) - base
            rises.append(up @ weights)
            squares.append(weights @ up.mean(axis=0) ** 2)
        return cls(float(weights.sum()), float(weights @ base), np.array(rises).T, np.array(squares))

    def __add__(self, other: "LossSums") -> "LossSums":
        sums = (self.weight + other.weight, self.losses + other.losses)
        return LossSums(*sums, self.rises + other.rises, self.squares + other.squares)

    @property
    def means(self) -> Array:
        """The mean increase of the loss without each column; (p,)."""
        return np.asarray(self.rises.mean(axis=0) / self.weight)

    @property
    def errors(self) -> Array:
        """Standard errors of the means, from the variance over rows and the variance over shuffles; (p,)."""
        if self.weight <= 1:
            return np.full(len(self.squares), np.nan)
        over_rows = np.maximum(self.squares / self.weight - self.means**2, 0.0) / (self.weight - 1)
        times = len(self.rises)
        over_shuffles = (self.rises / self.weight).var(axis=0, ddof=1) / times if times > 1 else 0.0
        return np.asarray(np.sqrt(over_rows + over_shuffles))


def loss_sums(model: "Answers", table: Table, repeats: int, seed: int) -> LossSums:
    """The sums for the rows of a table, chunk by chunk: each column is integrated out or shuffled."""
    codes, weights = model._codes_of(table), np.ones(len(table)) if table.weights is None else table.weights
    base = own_losses(model._apply(lambda classifier, rows: classifier.log_posterior(rows), table), codes)
    orders, exact = shuffles(len(table), repeats, seed), model._integrates
    blank = np.array([-1.0 if j in table.levels else np.nan for j in range(len(table.schema))])
    classifier: Any = model._classifier
    parts = slices(len(table), min(classifier.chunk_rows(table.is_copied), ROWS_AT_ONCE))

    def without(part: slice) -> Iterator[list[Array]]:
        rows = np.array(table.take(part).rows, dtype=np.float64)
        shuffled = [] if exact else [table.take(order[part]).rows for order in orders]
        logs = (
            ([log] for log in classifier.log_posteriors_without(rows, blank))
            if exact
            else shuffled_logs(rows, shuffled)
        )
        for of_column in logs:
            yield _stepped(bar, [own_losses(log, codes[part]) for log in of_column])

    def shuffled_logs(rows: Array, shuffled: list[Array]) -> Iterator[list[Array]]:
        for j in range(rows.shape[1]):
            own, logs = rows[:, j].copy(), []
            for other in shuffled:
                rows[:, j] = other[:, j]
                logs.append(classifier.observing().log_posterior(rows))
            rows[:, j] = own
            yield logs

    def summed(part: slice) -> LossSums:
        with np.errstate(all="ignore"):
            return LossSums.of(base[part], without(part), weights[part])

    with progress("Importance", len(parts) * len(blank)) as bar:
        return reduce(add, in_threads(summed, parts))


def shuffled_sums(
    log_posterior: Callable[[Any], Array], X: Any, codes: Any, weights: Array, repeats: int, seed: int
) -> LossSums:
    """The same for any model, by shuffling columns of the caller's table; log_posterior: from a table to (n, g)."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    base = own_losses(log_posterior(X).T, codes)
    orders = shuffles(len(codes), repeats, seed)

    def without(j: int) -> list[Array]:
        return [own_losses(log_posterior(_shuffled(frame, j, order)).T, codes) for order in orders]

    width = frame.shape[1] if hasattr(frame, "shape") else len(X[0])
    with progress("Importance", width) as bar:
        return LossSums.of(base, (_stepped(bar, without(j)) for j in range(width)), weights)


def shuffles(rows: int, repeats: int, seed: int) -> list[Any]:
    """Random permutations of the rows, (n,) each."""
    return [np.random.default_rng([seed, i]).permutation(rows) for i in range(repeats)]


def _shuffled(table: Any, j: int, order: Any) -> Any:
    """The table with one column in another order."""
    if isinstance(table, nw.DataFrame):
        column = table.get_column(table.columns[j])
        return table.with_columns(column[order].alias(column.name)).to_native()
    array = np.array(table, dtype=object if isinstance(table, (list, tuple)) else None)
    array[:, j] = array[order, j]
    return array


def _stepped(bar: Any, losses: list[Array]) -> list[Array]:
    bar.step()
    return losses


class ImportanceLine(NamedTuple):
    """A column: the increase of the log loss without it, its standard error, and its share of positive increases."""

    name: Any
    increase: float
    standard_error: float
    share: float
    note: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Importance(Tabular):
    """Which columns matter, the most important first; prints as bars.

    lines: one for each column.
    log_loss: with all columns.
    weight: of the scored rows.
    shuffles: how often each column was shuffled; 0 if it was integrated out exactly.
    held_out: whether the rows were held out in folds by `held_out_importance`.
    """

    sides = "<<>>"

    lines: tuple[ImportanceLine, ...]
    log_loss: float
    weight: float
    shuffles: int = 0
    held_out: bool = False

    @classmethod
    def of(
        cls, sums: LossSums, names: Sequence[Any], notes: dict[int, str], exact: bool, held_out: bool = False
    ) -> "Importance":
        """notes: on columns that were left out, by position; exact: whether columns were integrated out."""
        used = np.array([j not in notes for j in range(len(names))])
        means, errors = np.where(used, sums.means, 0.0), np.where(used, sums.errors, 0.0)
        gain = float(np.maximum(means, 0.0).sum())
        order = sorted(range(len(names)), key=lambda j: -means[j])
        lines = (
            ImportanceLine(
                names[j],
                float(means[j]),
                float(errors[j]),
                max(float(means[j]), 0.0) / gain if gain else 0.0,
                notes.get(j, ""),
            )
            for j in order
        )
        times = 0 if exact else len(sums.rises)
        return cls(tuple(lines), sums.losses / sums.weight, sums.weight, times, held_out)

    @property
    def names(self) -> tuple[Any, ...]:
        """The columns by name, or by position where they have none; the most important first."""
        return tuple(line.name for line in self.lines)

    @property
    def method(self) -> str:
        """ "integrated" if columns were integrated out exactly, "shuffled" if they were shuffled."""
        return "shuffled" if self.shuffles else "integrated"

    # As text ----------------------------------------------------------------------------------------------------------

    def sentences(self) -> tuple[str, str]:
        """One sentence on what the bars show, and one on how they were computed."""
        rows = f"{count_text(self.weight)} {'held-out ' if self.held_out else ''}rows"
        times = "once" if self.shuffles == 1 else f"{self.shuffles} times"
        how = f"shuffled among the rows, {times}" if self.shuffles else "integrated out exactly"
        return (
            f"How much the log loss rises without each column (with all: {self.log_loss:.4g}, {rows}).",
            f"± is one standard error. Each column was {how}.",
        )

    def text(self, most: int = limits.SUMMARY_LINES, width: int = 80) -> str:
        """Bars of the first columns, with sentences; lines of at most this width, unless names are too long."""
        first, last = self.sentences()
        more = [f"... and {len(self.lines) - most} more columns"] if len(self.lines) > most else []
        return _printable("\n".join([first, "", *self.bars(most, width), *more, "", last]))

    def bars(self, most: int = limits.SUMMARY_LINES, width: int = 80) -> list[str]:
        """A line for each of the first columns: name, bar, increase and standard error."""
        top = max((line.increase for line in self.lines), default=0.0)
        cells = [(_named(line.name), " ± ".join(self._numbers(line))) for line in self.lines[:most]]
        names, numbers = (max(map(len, column), default=0) for column in zip(*cells, strict=True))
        room = max(width - names - numbers - 5, 8)
        lengths = [round(room * max(line.increase, 0.0) / top) if top > 0 else 0 for line in self.lines]
        lines = zip(cells, lengths, self.lines, strict=False)
        return [
            _printable(f"{name:<{names}}  {'█' * size:<{room}}  {line.note or value}".rstrip())
            for (name, value), size, line in lines
        ]

    def _numbers(self, line: ImportanceLine) -> tuple[str, str]:
        """Increase and standard error, with as many digits as the largest increase needs."""
        top = max((line.increase for line in self.lines), default=0.0)
        digits = min(max(4, 2 + ceil(-log10(top))), 12) if top > 0 else 4
        value, error = (f"{round(value, digits) + 0.0:.{digits}f}" for value in line[1:3])
        return value, error

    def __str__(self) -> str:
        return self.text()

    def cells(self) -> list[tuple[str, ...]]:
        """The table as text, header first."""
        rows = [(_named(line.name), line.note, *self._numbers(line)) for line in self.lines]
        return [("column", "note", "rise of log loss", "standard error"), *rows]

    def _repr_html_(self) -> str:
        first, last = (f"<p>{escape(sentence)}</p>" for sentence in self.sentences())
        return f"{first}{html_table(self.cells(), self.sides)}{last}"

    # For code ---------------------------------------------------------------------------------------------------------

    def records(self) -> dict[str, list[Any]]:
        """The lines as columns of plain values."""
        return {name: [getattr(line, name) for line in self.lines] for name in ImportanceLine._fields}

    def frame(self, backend: str | None = None) -> Any:
        """The lines as a data frame of the named library; by default pandas, polars or pyarrow, if installed."""
        return data_frame(self.records(), backend)

    def plot(self, axes: Any = None, most: int = 15) -> Any:
        """Draw the first columns as bars with their standard errors; matplotlib axes."""
        from classwise.plot.scores import draw_importance

        return draw_importance(self.lines[:most], axes)


def _named(name: Any) -> str:
    return name if isinstance(name, str) else f"column {name}"


def _printable(text: str) -> str:
    """The text, in ASCII if standard output cannot encode it."""
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return text.replace("█", "#").replace("±", "+-")
    return text
