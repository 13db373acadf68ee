"""The results of a check: a line for each measure, as a table, and as sentences that say what may help."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from classwise.arrays import Array
from classwise.diagnostics.advice import chance, classes, number
from classwise.tabular import Tabular, data_frame


class MeasureWording(NamedTuple):
    """above, below: what to say if the measure is larger, or smaller, in the rows; remedy_...: what may help."""

    above: str
    below: str
    remedy_above: str
    remedy_below: str


SHIFTED = "are these rows like those that the model was fitted on? If so, its prior or smoothing is too strong"
OWN = "if classes share a covariance, let each have its own (share=0, as QDA has)"
LIMITED = "it may end at a limit: a column above 0 may be 'lognormal', whole numbers 'poisson' or 'binomial(N)'"
FAR = "look at the rows farthest out, which m.leave_one_out_evidence(X, y) finds"
FEW_VALUES = "take it for 'categorical', if its values are few"

WORDING = {
    "mean": MeasureWording("is larger than in the model", "is smaller than in the model", SHIFTED, SHIFTED),
    "deviation": MeasureWording("varies more than in the model", "varies less than in the model", OWN, OWN),
    "skewness": MeasureWording(
        "is more skewed to the right than the model allows",
        "is more skewed to the left than the model allows",
        "if its values are positive, families={{{column}: 'lognormal'}} takes logarithms; else transform it",
        "transform it so that the long tail becomes shorter, by its square for example",
    ),
    "kurtosis": MeasureWording(
        "has more values far out than the model allows",
        "has fewer values far out than in the model",
        FAR,
        "it may be two groups in one class, which deserve labels of their own, or end at limits",
    ),
    "smallest": MeasureWording("stops higher than in the model", "reaches lower than the model allows", LIMITED, FAR),
    "largest": MeasureWording("reaches higher than the model allows", "stops lower than in the model", FAR, LIMITED),
    "rate": MeasureWording("is larger than in the model", "is smaller than in the model", SHIFTED, SHIFTED),
    "dispersion": MeasureWording(
        "varies more than its family can",
        "varies less than its family can",
        "take it for 'categorical' if its values are few, for 'gaussian' if not, or let families='best' choose",
        "take it for 'binomial(N)' if there is a largest number N, or for 'categorical'",
    ),
    "share of zeros": MeasureWording(
        "has more zeros than the model allows",
        "has fewer zeros than in the model",
        f"add a column that tells zeros from the rest, or {FEW_VALUES}",
        FEW_VALUES,
    ),
    "share": MeasureWording(
        "is more often {level} than in the model", "is less often {level} than in the model", SHIFTED, SHIFTED
    ),
}

# Two columns that depend on each other in another way than the model has it: together or apart, of numbers or levels.
DEPENDENT = {
    ("together", "correlation"): "if covariances are shared or shrunk, let each class have its own (QDA), or use RDA",
    ("apart", "correlation"): "the model has them independent within a class; let them share a Gaussian (LDA, QDA)",
    ("apart", "correlation ratio"): "the model has them independent within a class; leave one out, or fit a model for "
    "each level",
    ("apart", "Cramér's V"): "the model has them independent within a class; leave one out, or make one column of both",
}


def dependence(measure: str, observed: float, is_above: bool) -> str:
    """How two columns of the rows depend on each other, compared with the model.

    >>> dependence("correlation", -0.8, False), dependence("Cramér's V", 0.4, True)
    ('run against each other more than in the model', 'depend on each other more than in the model')
    """
    way = "depend on each other"
    if measure == "correlation":
        way = "rise together" if observed > 0 else "run against each other"
    more = is_above == (observed > 0 or measure != "correlation")
    return f"{way} {'more' if more else 'less'} than in the model"


# ----------------------------------------------------------------------------------------------------------------------
# The lines of a check: as a table, and as sentences.


@dataclass(frozen=True)
class CheckLine:
    """One measure of one class. columns: names (or positions) of one or two; level: of a category, if it is its share.

    observed: the measure of the rows; low, middle, high: the quantiles 0.025, 0.5 and 0.975 of the samples. p_value:
    how surprising the measure is by itself; adjusted: the same, allowing for the number of measures. how: whether the
    model takes two columns for independent ("apart") or not ("together"). of_logarithm: whether the logarithm of the
    column was measured.
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
        """The measure, with its level if it is a share."""
        return f"share of {self.level!r}" if self.measure == "share" else self.measure

    @property
    def phrase(self) -> str:
        """How the rows differ from the model."""
        if len(self.columns) == 2:
            return dependence(self.measure, self.observed, self.is_above)
        words = WORDING[self.measure]
        return (words.above if self.is_above else words.below).format(level=repr(self.level))

    @property
    def advice(self) -> str:
        """What may help."""
        if len(self.columns) == 2:
            return DEPENDENT[self.how, self.measure]
        words = WORDING[self.measure]
        return (words.remedy_above if self.is_above else words.remedy_below).format(column=repr(self.columns[0]))


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
        """The table as columns of plain values."""
        named = ("label", "measure", "observed", "low", "middle", "high", "p_value", "adjusted")
        columns = {name: [getattr(line, name) for line in self.lines] for name in named}
        columns["columns"] = [", ".join(map(str, line.columns)) for line in self.lines]
        return columns | {"level": [None if line.level is None else str(line.level) for line in self.lines]}

    def frame(self, backend: str | None = None) -> Any:
        """The same as a data frame: of pandas, polars or pyarrow, whichever is there, or of the one named."""
        return data_frame(self.records(), backend)


def _cells(line: CheckLine) -> tuple[str, ...]:
    name = ", ".join(map(str, line.columns))
    samples = f"{number(line.low)} to {number(line.high)}"
    shown = f"log {name}" if line.of_logarithm else name
    values = (number(line.observed), samples, chance(line.p_value), chance(line.adjusted))
    return (str(line.label), shown, line.what, *values)


def sentences(lines: Sequence[CheckLine]) -> list[str]:
    """The lines as sentences, the most surprising first; lines that say the same are joined."""
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
    """The numbers of the first line, with its class if there are several."""
    first = lines[0]
    where = f" in class {first.label!r}" if len({line.label for line in lines}) > 1 else ""
    return f"{first.what} {number(first.observed)}{where}, in samples {number(first.low)} to {number(first.high)}"


def _name(column: Any) -> str:
    return repr(column) if isinstance(column, str) else f"column {column}"


def wrapped(lines: Iterable[str]) -> str:
    """Sentences as a list that fits a terminal."""
    from textwrap import fill

    return "\n".join(fill(line, 100, initial_indent="- ", subsequent_indent="  ") for line in lines)
