"""Rows and samples measured with the same ruler, class by class."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from classwise.arrays import Array, Codes
from classwise.classifier.marginal import flat_blocks
from classwise.covariance import FullCovariance
from classwise.densities import Gaussian, Student
from classwise.diagnostics.checking.measures import (
    EVEN_SCALES,
    Measured,
    Ruler,
    adjusted_probabilities,
    surprises,
    tail_probabilities,
)
from classwise.diagnostics.checking.replicates import Bins, Replicates
from classwise.diagnostics.checking.report import CheckLine, Histogram
from classwise.engines.progress import progress


@dataclass(eq=False)
class Comparing:
    """rows (n, p), NaN where a value is missing. samples, shares: what was measured of samples, batch by batch."""

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
        """Measure so many samples."""
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
        """The most surprising first."""
        keys, samples = list(self.observed), np.vstack(self.samples)
        observed = np.array(list(self.observed.values()))
        alone = tail_probabilities(observed, samples)
        sizes = surprises(self._evened(np.vstack([observed, samples])))
        adjusted = adjusted_probabilities(sizes)
        low, middle, high = np.quantile(samples, [0.025, 0.5, 0.975], axis=0)
        order = np.argsort(-sizes[0], kind="stable")
        made = zip(observed, low, middle, high, alone, adjusted, strict=True)
        lines = [self._line(key, *map(float, numbers)) for key, numbers in zip(keys, made, strict=True)]
        return tuple(lines[i] for i in order)

    def _evened(self, every: Array) -> Array:
        """On scales on which measures scatter evenly; (sets, t) -> (sets, t)."""
        evened = every.copy()
        for i, (_, key) in enumerate(self.observed):
            if key.measure in EVEN_SCALES:
                evened[:, i] = EVEN_SCALES[key.measure](every[:, i])
        return evened

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
        """By label and column."""
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

    def _make_bins(self, sample: Array) -> dict[tuple[int, int], Bins]:
        """Wide enough for the rows and for a sample (n, p)."""
        sets = np.stack([self.rows, sample])
        places = [(k, j) for k in self.own for j in self.ruler.columns if self._present(sets, k, j).size]
        return {(k, j): self._bins(j, self._present(sets, k, j).ravel()) for k, j in places}

    def _bins(self, j: int, values: Array) -> Bins:
        levels = self.ruler.levels.get(j)
        if levels is not None:
            return Bins.of_levels(levels, j in self.ruler.unseen)
        return Bins.of_numbers(values, bool((values == np.floor(values)).all()))
