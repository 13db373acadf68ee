"""A predictive check: rows beside samples of the model, measure by measure."""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array, Codes
from classwise.classifier.bayes import BayesClassifier
from classwise.classifier.marginal import flat_blocks
from classwise.densities import Constant
from classwise.diagnostics.checking.comparing import Comparing
from classwise.diagnostics.checking.measures import Ruler
from classwise.diagnostics.checking.replicates import Replicates
from classwise.diagnostics.checking.report import CheckLine, CheckTable, Histogram, sentences, wrapped
from classwise.errors import ClasswiseError
from classwise.rows.table import Table

# An adjusted probability up to this is a surprise: the chance that a model that is right is blamed for anything.
LEVEL = 0.05

# Up to this many columns, pairs are measured unless it is said that they should not be.
MOST_PAIRED = 40

# With fewer samples, nothing could be a surprise.
FEWEST_DRAWS = 20

# Sentences that are shown; all lines are in the table.
SHOWN = 8


@dataclass(frozen=True, eq=False, repr=False)
class PredictiveCheck:
    """Measures of rows beside those of samples; prints as what does not look like the model, and what may help.

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
        """What does not look like the data, in sentences; nothing where all does."""
        return sentences(self.surprises)

    def _heading(self) -> str:
        pairs = "" if self.paired else " Pairs of columns were not looked at: pairs=True does."
        found = "none surprises" if not self.surprises else f"{len(self.surprises)} surprise"
        heading = f"{self.rows} rows beside {self.draws} samples of the model: of {len(self.lines)} measures {found}."
        return heading + pairs

    def __str__(self) -> str:
        told = self.summary()
        more = [f"{len(told) - SHOWN} more: see .table()."] if len(told) > SHOWN else []
        return "\n".join([self._heading(), wrapped([*told[:SHOWN], *more])]).rstrip()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        told = "".join(f"<li>{escape(sentence)}</li>" for sentence in self.summary()[:SHOWN])
        return f"<p>{escape(self._heading())}</p><ul>{told}</ul>"


def check(
    classifier: BayesClassifier,
    table: Table,
    codes: Codes,
    draws: int = 200,
    generator: np.random.Generator | None = None,
    pairs: bool | None = None,
) -> PredictiveCheck:
    """Of rows whose classes are codes (n,); pairs: True, False, or None for what the number of columns allows."""
    if not (isinstance(draws, (int, np.integer)) and draws >= FEWEST_DRAWS):
        raise ClasswiseError(f"draws={draws!r} is not a number of samples of at least {FEWEST_DRAWS}.")
    rows, gaps = _read(table)
    columns = _looked_at(classifier)
    paired = len(columns) <= MOST_PAIRED if pairs is None else pairs
    unseen = frozenset(j for j, levels in table.levels.items() if (rows[:, j] == len(levels)).any())
    ruler = Ruler(table.schema, columns, table.levels, unseen, paired)
    replicates = Replicates(classifier, table.schema, codes, gaps)
    comparing = Comparing(ruler, replicates, rows)
    comparing.draw(int(draws), np.random.default_rng(0) if generator is None else generator)
    labels = tuple(classifier.labels.tolist()[k] for k in comparing.own)
    return PredictiveCheck(labels, len(rows), int(draws), paired, comparing.lines(), comparing.histograms())


def _read(table: Table) -> tuple[Array, NDArray[np.bool_]]:
    """The rows, NaN where a value is missing, and where that is; (n, p), (n, p)."""
    rows = np.array(table.rows, dtype=np.float64)
    for j in table.levels:
        rows[rows[:, j] < 0, j] = np.nan
    return rows, np.isnan(rows)


def _looked_at(classifier: BayesClassifier) -> list[int]:
    """The columns that the model does not leave out."""
    blocks = [block for block in flat_blocks(classifier.density) if not isinstance(block.density, Constant)]
    return sorted(int(j) for block in blocks for j in block.columns)
