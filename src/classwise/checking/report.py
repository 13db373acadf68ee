"""The lines of a check: as a table, and as sentences."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, NamedTuple

import narwhals as nw

from classwise.arrays import Array
from classwise.checking.words import DEPENDENT, WORDS, dependence
from classwise.diagnostics.section import chance, classes
from classwise.errors import MissingExtraError
from classwise.tabular import Tabular


@dataclass(frozen=True)
class CheckLine:
    """One measure of one class. columns: names (or positions) of one or two; level: that the measure is of, if it is.

    observed: of the rows; low, middle, high: the quantiles 0.025, 0.5 and 0.975 of the samples. p_value: how surprising
    it is by itself; adjusted: among all measures. how: "apart" or "together", where the model has two columns so.
    """

    label: Any
    columns: tuple[Any, ...]
    measure: str
    level: Any
    observed: float
    low: float
    middle: float
    high: float
    p_value: float
    adjusted: float
    how: str = ""
    of_logarithm: bool = False

    @property
    def is_above(self) -> bool:
        return self.observed > self.middle

    @property
    def what(self) -> str:
        """The measure, with the level that it is of."""
        return f"share of {self.level!r}" if self.measure == "share" else self.measure

    @property
    def phrase(self) -> str:
        """What the rows do."""
        if len(self.columns) == 2:
            return dependence(self.measure, self.observed, self.is_above)
        words = WORDS[self.measure]
        return (words.above if self.is_above else words.below).format(level=repr(self.level))

    @property
    def advice(self) -> str:
        """What may help."""
        if len(self.columns) == 2:
            return DEPENDENT[self.how, self.measure]
        words = WORDS[self.measure]
        return (words.mend_above if self.is_above else words.mend_below).format(column=repr(self.columns[0]))


class Histogram(NamedTuple):
    """A class in a column: the share of its rows in each bin, and the band that holds 95 % of the samples; (b,) each.

    edges (b + 1,): of the bins; levels (b,): instead, for a category.
    """

    edges: Array | None
    levels: tuple[Any, ...] | None
    observed: Array
    low: Array
    middle: Array
    high: Array


@dataclass(frozen=True, eq=False, repr=False)
class CheckTable(Tabular):
    """Lines, the most surprising first."""

    sides = "<<<>>>>"

    lines: tuple[CheckLine, ...]

    def cells(self) -> list[tuple[str, ...]]:
        """The table as text, header first."""
        header = ("class", "column", "measure", "rows", "samples", "p", "adjusted")
        return [header, *(_cells(line) for line in self.lines)]

    def records(self) -> dict[str, list[Any]]:
        """Columns of plain values."""
        named = ("label", "measure", "observed", "low", "middle", "high", "p_value", "adjusted")
        columns = {name: [getattr(line, name) for line in self.lines] for name in named}
        columns["columns"] = [", ".join(map(str, line.columns)) for line in self.lines]
        return columns | {"level": [None if line.level is None else str(line.level) for line in self.lines]}

    def frame(self, backend: str | None = None) -> Any:
        """The same as a data frame: of pandas, polars or pyarrow, whichever is there, or of the one named."""
        chosen: Any = backend or next((name for name in ("pandas", "polars", "pyarrow") if find_spec(name)), None)
        if chosen is None:
            raise MissingExtraError("A frame needs pandas, polars or pyarrow; .records() needs none of them.")
        return nw.from_dict(self.records(), backend=chosen).to_native()


def _cells(line: CheckLine) -> tuple[str, ...]:
    name = ", ".join(map(str, line.columns))
    samples = f"{_short(line.low)} to {_short(line.high)}"
    shown = f"log {name}" if line.of_logarithm else name
    values = (_short(line.observed), samples, chance(line.p_value), chance(line.adjusted))
    return (str(line.label), shown, line.what, *values)


def _short(value: float) -> str:
    return f"{value:.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.3g}"


def sentences(lines: Sequence[CheckLine]) -> list[str]:
    """What the lines say, the most surprising first: those of one column, and those of all pairs, are put together."""
    groups: dict[Any, list[CheckLine]] = {}
    for line in lines:
        single = len(line.columns) == 1
        key = (line.columns, line.measure, line.level, line.is_above) if single else (line.phrase, line.advice)
        groups.setdefault(key, []).append(line)
    return [_of_column(group) if len(group[0].columns) == 1 else _of_pairs(group) for group in groups.values()]


def _of_column(lines: Sequence[CheckLine]) -> str:
    first = lines[0]
    column = f"{'the logarithm of ' if first.of_logarithm else ''}{_name(first.columns[0])}"
    return f"In {_where(lines)} {column} {first.phrase}: {_numbers(lines)} ({first.advice})."


def _of_pairs(lines: Sequence[CheckLine]) -> str:
    first, count = lines[0], len({line.columns for line in lines})
    pair = " and ".join(map(_name, first.columns))
    if count == 1:
        return f"In {_where(lines)} {pair} {first.phrase}: {_numbers(lines)} ({first.advice})."
    return (
        f"In {_where(lines)} {count} pairs of columns {first.phrase}, most {pair}: {_numbers(lines)} ({first.advice})."
    )


def _where(lines: Sequence[CheckLine]) -> str:
    return classes(sorted({line.label for line in lines}, key=str))


def _numbers(lines: Sequence[CheckLine]) -> str:
    """Of the first line, with its class where there are several."""
    first = lines[0]
    where = f" in class {first.label!r}" if len({line.label for line in lines}) > 1 else ""
    return f"{first.what} {_short(first.observed)}{where}, in samples {_short(first.low)} to {_short(first.high)}"


def _name(column: Any) -> str:
    return repr(column) if isinstance(column, str) else f"column {column}"


def wrapped(lines: Iterable[str]) -> str:
    """Sentences as a list that fits a terminal."""
    from textwrap import fill

    return "\n".join(fill(line, 100, initial_indent="- ", subsequent_indent="  ") for line in lines)
