"""A predictive check: do samples drawn from the model look like the rows?

Each class is measured column by column, in the rows and in many samples of the same size. A measure of the rows that
lies outside those of the samples is something the model does not reproduce.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classwise import limits
from classwise.arrays import Array, Codes, Labels
from classwise.classifier.bayes import BayesClassifier
from classwise.classifier.column_view import flat_blocks, unused_columns
from classwise.covariance import FullCovariance
from classwise.densities import Gaussian, Product, Student
from classwise.diagnostics.check_lines import CheckLine, CheckTable, Histogram, sentences, wrapped
from classwise.diagnostics.measures import (
    EVEN_SCALES,
    Measured,
    Ruler,
    adjusted_probabilities,
    surprises,
    tail_probabilities,
)
from classwise.engines.progress import progress
from classwise.errors import ClasswiseError
from classwise.rows.schema import Schema
from classwise.rows.table import Table

# An adjusted probability up to this is a surprise: the chance that a model that is right is blamed for anything.
LEVEL = 0.05

# With fewer samples, nothing could be a surprise.
FEWEST_DRAWS = 20

# Sentences that are shown; all lines are in the table.
SHOWN = 8


@dataclass(frozen=True, eq=False, repr=False)
class PredictiveCheck:
    """Measures of the rows compared with those of samples; prints what the model does not reproduce, and what may help.

    rows: how many there are; draws: how many samples; paired: whether pairs of columns were measured. histograms: by
    label and column, for plot_check.
    """

    labels: tuple[Any, ...]
    rows: int
    draws: int
    paired: bool
    lines: tuple[CheckLine, ...]
    histograms: Mapping[tuple[Any, Any], Histogram]

    @property
    def surprises(self) -> tuple[CheckLine, ...]:
        """The lines whose adjusted probability is 0.05 or less."""
        return tuple(line for line in self.lines if line.adjusted <= LEVEL)

    def table(self) -> CheckTable:
        """All lines, the most surprising first."""
        return CheckTable(self.lines)

    def summary(self) -> list[str]:
        """What the model does not reproduce, in sentences; empty if nothing surprises."""
        return sentences(self.surprises)

    def _heading(self) -> str:
        pairs = "" if self.paired else " Pairs of columns were not looked at: pairs=True does."
        found = "none surprises" if not self.surprises else f"{len(self.surprises)} surprise"
        heading = f"{self.rows} rows beside {self.draws} samples of the model: of {len(self.lines)} measures {found}."
        return heading + pairs

    def __str__(self) -> str:
        sentences = self.summary()
        more = [f"{len(sentences) - SHOWN} more: see .table()."] if len(sentences) > SHOWN else []
        return "\n".join([self._heading(), wrapped([*sentences[:SHOWN], *more])]).rstrip()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        items = "".join(f"<li>{escape(sentence)}</li>" for sentence in self.summary()[:SHOWN])
        return f"<p>{escape(self._heading())}</p><ul>{items}</ul>"


def check(
    classifier: BayesClassifier,
    table: Table,
    codes: Codes,
    draws: int = 200,
    generator: np.random.Generator | None = None,
    pairs: bool | None = None,
) -> PredictiveCheck:
    """Check rows whose classes are codes (n,). pairs: whether to measure pairs of columns; None: if columns are few."""
    if not (isinstance(draws, (int, np.integer)) and draws >= FEWEST_DRAWS):
        raise ClasswiseError(f"draws={draws!r} is not a number of samples of at least {FEWEST_DRAWS}.")
    rows, gaps = _read(table)
    unused = unused_columns(classifier.density)
    columns = [j for j in range(rows.shape[1]) if j not in unused]
    paired = len(columns) <= limits.PAIRED_COLUMNS if pairs is None else pairs
    unseen = frozenset(j for j, levels in table.levels.items() if (rows[:, j] == len(levels)).any())
    ruler = Ruler(table.schema, columns, table.levels, unseen, paired)
    replicates = Replicates(classifier, table.schema, codes, gaps)
    measured = Measurements(ruler, replicates, rows)
    measured.draw(int(draws), np.random.default_rng(0) if generator is None else generator)
    labels = tuple(classifier.labels.tolist()[k] for k in measured.own)
    return PredictiveCheck(labels, len(rows), int(draws), paired, measured.lines(), measured.histograms())


def _read(table: Table) -> tuple[Array, NDArray[np.bool_]]:
    """The rows with NaN for missing values, and which these are; (n, p), (n, p)."""
    rows = np.array(table.rows, dtype=np.float64)
    for j in table.levels:
        rows[rows[:, j] < 0, j] = np.nan
    return rows, np.isnan(rows)


# Samples that could have been the rows: the same classes, the same gaps, other values ---------------------------------

# Samples are drawn in batches of this many numbers.
BATCH = 1 << 20


@dataclass(frozen=True, eq=False)
class Replicates:
    """Draws samples of the model that could have been the rows.

    codes (n,): the class of each row; gaps (n, p): which values are missing. Each row is drawn from p(x | k) of its own
    class, as `sample` does; with estimate="bayes" that is the predictive density, row by row. Values are missing in
    the samples where they are missing in the rows.
    """

    classifier: BayesClassifier
    schema: Schema
    codes: Codes
    gaps: NDArray[np.bool_]

    def batches(self, draws: int, generator: np.random.Generator) -> Iterator[Array]:
        """`draws` samples in batches; (b, n, p) each."""
        size = max(1, BATCH // max(self.gaps.size, 1))
        for start in range(0, draws, size):
            yield self.draw(min(size, draws - start), generator)

    def steps(self, draws: int) -> int:
        """The number of batches."""
        return -(-draws // max(1, BATCH // max(self.gaps.size, 1)))

    def draw(self, count: int, generator: np.random.Generator) -> Array:
        """`count` samples; (count, n, p), NaN where the rows have gaps."""
        density = Product(tuple(flat_blocks(self.classifier.density)))
        rows = density.sample(np.tile(self.codes, count), generator).reshape(count, *self.gaps.shape)
        rounded = [j for j, c in enumerate(self.schema) if c.family.name == "gaussian" and "Int" in c.type]
        rows[:, :, rounded] = np.round(rows[:, :, rounded])  # as `sample` gives them, where a column is of integers
        rows[:, self.gaps] = np.nan
        return rows


# Histograms of a class in a column: of the rows, and of every sample --------------------------------------------------

# No more bins than this.
MOST_BINS = 30


@dataclass(frozen=True, eq=False)
class HistogramBins:
    """edges (b + 1,), ascending; values beyond the first and last edge count in the outermost bins.

    levels: the names of the bins, for a category.
    """

    edges: Array
    levels: tuple[Any, ...] | None = None

    @classmethod
    def of_levels(cls, levels: Labels, unseen: bool) -> "HistogramBins":
        """A bin for each level, and one for those never seen, if there are any."""
        names = (*levels.tolist(), *(["(never seen)"] if unseen else []))
        return cls(np.arange(len(names) + 1, dtype=np.float64) - 0.5, names)

    @classmethod
    def of_numbers(cls, values: Array, whole: bool) -> "HistogramBins":
        """Bins that cover the values (m,); one for each whole number, if these are few."""
        low, high = values.min(), values.max()
        if whole and high - low < MOST_BINS:
            return cls(np.arange(low - 0.5, high + 1))
        edges = np.histogram_bin_edges(values, "auto")
        return cls(edges if len(edges) <= MOST_BINS + 1 else np.linspace(low, high, MOST_BINS + 1))

    def shares(self, values: Array) -> Array:
        """The share of each set in each bin; (b, m) -> (b, bins)."""
        count, bins = len(values), len(self.edges) - 1
        places = np.clip(np.searchsorted(self.edges, values, side="right") - 1, 0, bins - 1)
        places += bins * np.arange(count)[:, None]
        return np.bincount(places.ravel(), minlength=count * bins).reshape(count, bins) / values.shape[1]

    def histogram(self, observed: Array, samples: Array) -> Histogram:
        """The shares of the rows, compared with those of the samples; observed (bins,), samples (draws, bins)."""
        low, middle, high = np.quantile(samples, [0.025, 0.5, 0.975], axis=0)
        edges = self.edges if self.levels is None else None
        return Histogram(edges, self.levels, observed, low, middle, high)


# Rows and samples, measured by the same ruler, class by class ---------------------------------------------------------


@dataclass(eq=False)
class Measurements:
    """Measures of rows (n, p), NaN where a value is missing, and of samples.

    samples, shares: the measures and histograms of the samples, batch by batch.
    """

    ruler: Ruler
    replicates: Replicates
    rows: Array
    samples: list[Array] = field(default_factory=list)
    shares: dict[tuple[int, int], list[Array]] = field(default_factory=dict)

    @cached_property
    def own(self) -> dict[int, Codes]:
        """The rows of each class that has some."""
        codes = self.replicates.codes
        return {int(k): np.flatnonzero(codes == k) for k in np.unique(codes)}

    @cached_property
    def observed(self) -> dict[tuple[int, Measured], float]:
        """Every measure of the rows, by class."""
        return {
            (k, key): float(value[0])
            for k, own in self.own.items()
            for key, value in self.ruler(self.rows[None, own]).items()
        }

    def draw(self, draws: int, generator: np.random.Generator) -> None:
        """Draw samples, and measure them."""
        with progress("checking", self.replicates.steps(draws)) as steps:
            for batch in self.replicates.batches(draws, generator):
                if not self.samples:
                    self.bins = self._make_bins(batch[0])
                measured = [self.ruler(batch[:, own]) for own in self.own.values()]
                self.samples.append(np.column_stack([value for part in measured for value in part.values()]))
                for (k, j), bins in self.bins.items():
                    self.shares.setdefault((k, j), []).append(bins.shares(self._present(batch, k, j)))
                steps.step()

    def lines(self) -> tuple[CheckLine, ...]:
        """One line for each measure, the most surprising first."""
        keys, samples = list(self.observed), np.vstack(self.samples)
        observed = np.array(list(self.observed.values()))
        alone = tail_probabilities(observed, samples)
        sizes = surprises(self._symmetrized(np.vstack([observed, samples])))
        adjusted = adjusted_probabilities(sizes)
        low, middle, high = np.quantile(samples, [0.025, 0.5, 0.975], axis=0)
        order = np.argsort(-sizes[0], kind="stable")
        made = zip(observed, low, middle, high, alone, adjusted, strict=True)
        lines = [self._line(key, *map(float, numbers)) for key, numbers in zip(keys, made, strict=True)]
        return tuple(lines[i] for i in order)

    def _symmetrized(self, every: Array) -> Array:
        """Measures transformed so that their distribution over samples is roughly symmetric; (sets, t) -> (sets, t)."""
        symmetrized = every.copy()
        for i, (_, key) in enumerate(self.observed):
            if key.measure in EVEN_SCALES:
                symmetrized[:, i] = EVEN_SCALES[key.measure](every[:, i])
        return symmetrized

    def _line(self, key: tuple[int, Measured], *numbers: float) -> CheckLine:
        """numbers: observed, low, middle, high, p_value, adjusted."""
        k, (columns, measure, level) = key
        schema, levels = self.ruler.schema, self.ruler.levels.get(columns[0])
        names: Any = schema.names or range(len(schema))
        shown = None if level is None or levels is None else [*levels.tolist(), "(never seen)"][level]
        how = ("together" if self._together(*columns) else "apart") if len(columns) == 2 else ""
        logarithm = len(columns) == 1 and schema.columns[columns[0]].family.name == "lognormal"
        label = self.replicates.classifier.labels.tolist()[k]
        observed, low, middle, high, p_value, adjusted = numbers
        keys = tuple(names[j] for j in columns)
        return CheckLine(label, keys, measure, shown, observed, low, middle, high, p_value, adjusted, how, logarithm)

    def _together(self, first: int, second: int) -> bool:
        """Whether the model lets two columns vary together within a class."""
        return any(
            isinstance(block.density, Gaussian | Student)
            and isinstance(block.density.covariance, FullCovariance)
            and np.isin([first, second], block.columns).all()
            for block in flat_blocks(self.replicates.classifier.density)
        )

    # Histograms -----------------------------------------------------------------------------------------------------

    def histograms(self) -> dict[tuple[Any, Any], Histogram]:
        """The histograms, by label and column."""
        schema, labels = self.ruler.schema, self.replicates.classifier.labels.tolist()
        names: Any = schema.names or range(len(schema))
        return {
            (labels[k], names[j]): bins.histogram(
                bins.shares(self._present(self.rows[None], k, j))[0], np.vstack(self.shares[k, j])
            )
            for (k, j), bins in self.bins.items()
        }

    def _present(self, sets: Array, k: int, j: int) -> Array:
        """A column of a class where it has values; (b, n, p) -> (b, m)."""
        own = self.own[k]
        return sets[:, own[~self.replicates.gaps[own, j]], j]

    def _make_bins(self, sample: Array) -> dict[tuple[int, int], HistogramBins]:
        """Bins that cover the rows and one sample (n, p)."""
        sets = np.stack([self.rows, sample])
        places = [(k, j) for k in self.own for j in self.ruler.columns if self._present(sets, k, j).size]
        return {(k, j): self._bins(j, self._present(sets, k, j).ravel()) for k, j in places}

    def _bins(self, j: int, values: Array) -> HistogramBins:
        levels = self.ruler.levels.get(j)
        if levels is not None:
            return HistogramBins.of_levels(levels, j in self.ruler.unseen)
        return HistogramBins.of_numbers(values, bool((values == np.floor(values)).all()))
