"""A learning curve: what was measured, and who is ahead."""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import Any

import numpy as np

from classwise.arrays import Array
from classwise.options import choose

MEASURES = {"error": 0, "log_loss": 1}


@dataclass(frozen=True, eq=False, repr=False)
class LearningCurve:
    """Error and log loss of models on rows held out, by how many rows they learned from; prints as a table.

    names (m,): of the models; sizes (s,): of the subsets; values (2, m, s, r): error and log loss of each model, size
    and repeat, NaN where a model could not be fitted. reasons: why not, the first of each model.
    """

    names: tuple[str, ...]
    sizes: Array
    values: Array
    reasons: Mapping[str, str]

    def median(self, measure: str = "log_loss") -> Array:
        """Over repeats; NaN where a model could not be fitted every time; (m, s)."""
        return np.median(self._of(measure), axis=2)

    def spread(self, measure: str = "log_loss") -> tuple[Array, Array]:
        """The quartiles over repeats: half of them lie between; (m, s), (m, s)."""
        low, high = np.quantile(self._of(measure), [0.25, 0.75], axis=2)
        return low, high

    def leaders(self, measure: str = "log_loss") -> list[str]:
        """The model of least median at each size."""
        medians = np.where(np.isnan(self.median(measure)), np.inf, self.median(measure))
        return [self.names[best] for best in medians.argmin(axis=0)]

    def summary(self, measure: str = "log_loss") -> list[str]:
        """Which model is ahead, and from which size on."""
        pairs = zip(self.leaders(measure), self.sizes.tolist(), strict=True)
        runs = [(name, [size for _, size in run]) for name, run in groupby(pairs, lambda pair: pair[0])]
        told = f"has the least {measure.replace('_', ' ')}"
        return [f"{name} {told} {_between(sizes[0], sizes[-1])}." for name, sizes in runs]

    def plot(self, measure: str = "log_loss", axes: Any = None) -> Any:
        """Medians and quartiles against the number of rows; matplotlib axes."""
        from classwise.plot import plot_learning_curve

        return plot_learning_curve(self, measure, axes)

    def _of(self, measure: str) -> Array:
        return self.values[choose("measure", measure, MEASURES)]

    def cells(self) -> list[tuple[str, ...]]:
        """Medians as text, header first: error in percent, and log loss."""
        heads = [f"{name}: {what}" for name in self.names for what in ("error %", "log loss")]
        columns = [part for pair in zip(100 * self.median("error"), self.median(), strict=True) for part in pair]
        rows = zip(self.sizes, *columns, strict=True)
        return [("rows", *heads), *((f"{size:g}", *map(_shown, values)) for size, *values in rows)]

    def __str__(self) -> str:
        cells = self.cells()
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = ["  ".join(f"{c:>{w}}" for c, w in zip(row, widths, strict=True)) for row in cells]
        failed = [f"{name} could not always be fitted: {reason}" for name, reason in self.reasons.items()]
        return "\n".join([*lines, "", *self.summary(), *failed])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        header, *rows = self.cells()
        head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f"{table}<p>{escape(' '.join(self.summary()))}</p>"


def _between(first: int, last: int) -> str:
    return f"from {first} to {last} rows" if first < last else f"with {first} rows"


def _shown(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.3g}"
