"""Statistics by class: the labels, and the moments of the rows under each. All that a fit keeps of the rows."""

from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, Self

import numpy as np

from classwise.arrays import EPS, Array, Labels
from classwise.errors import StatisticsError, column_name
from classwise.statistics.labels import union_labels
from classwise.statistics.moments import Moments
from classwise.statistics.scatter import SCATTERS, Scatter
from classwise.storage import Record, stored, write

# What a subtraction leaves may be off by this much of what was there.
ROUNDING = 1e-9

# How the labels of a file are typed: by the kind of their NumPy array.
LABEL_KINDS: dict[str, type] = {"b": bool, "i": np.int64, "u": np.uint64, "f": np.float64, "U": str, "O": object}


@stored("statistics")
@dataclass(frozen=True, eq=False, repr=False)
class ClassStatistics:
    """Weight, mean and scatter of each class. `+` merges, `-` removes, the empty one is the identity of `+`.

    labels (g,) sorted; features: the column names, or None where the rows had none.

    >>> import classwise as cw
    >>> morning = cw.summarize([[1.0], [2.0], [9.0]], ["a", "a", "b"])
    >>> evening = cw.summarize([[3.0], [5.0]], ["a", "c"])
    >>> day = morning + evening
    >>> day
    ClassStatistics(3 classes, 1 feature, weight 5, full scatter)
    >>> day.labels.tolist(), day.weight.tolist(), day.mean.ravel().tolist()
    (['a', 'b', 'c'], [3.0, 1.0, 1.0], [2.0, 9.0, 5.0])
    >>> (day - evening).mean.ravel().tolist()
    [1.5, 9.0]
    """

    labels: Labels
    moments: Moments
    features: tuple[str, ...] | None = None

    @classmethod
    def empty(cls, features: int, form: type[Scatter], names: tuple[str, ...] | None = None) -> Self:
        """The statistic of no rows."""
        return cls(np.empty(0, dtype=np.int64), Moments.empty(0, features, form), names)

    @property
    def weight(self) -> Array:
        """n_k; (g,)."""
        return self.moments.weight

    @property
    def mean(self) -> Array:
        """m_k; (g, p)."""
        return self.moments.mean

    @property
    def scatter(self) -> Array:
        """S_k: (g, p, p) full, (p, p) pooled over the classes, or (g, p) diagonal."""
        return self.moments.scatter.values

    @property
    def n_features(self) -> int:
        """The number of features p."""
        return self.mean.shape[1]

    def label(self, k: int) -> Any:
        """The label of a class as a Python object, for messages."""
        return self.labels[k : k + 1].tolist()[0]

    def name(self, column: int) -> str:
        """What messages call a column."""
        return column_name(self.features, column)

    def __repr__(self) -> str:
        g, p = self.mean.shape
        classes, features = ("class" if g == 1 else "classes"), ("feature" if p == 1 else "features")
        form = self.moments.scatter.name
        return f"ClassStatistics({g} {classes}, {p} {features}, weight {self.weight.sum():.6g}, {form} scatter)"

    def __add__(self, other: Self) -> Self:
        """The statistic of both sets of rows."""
        if not isinstance(other, ClassStatistics):
            return NotImplemented
        self._check_columns(other)
        labels = union_labels(self.labels, other.labels)
        return type(self)(labels, self._aligned(labels) + other._aligned(labels), self.features or other.features)

    def __radd__(self, other: int) -> Self:
        """0 + s, so that `sum(parts)` merges them."""
        return self if other == 0 else NotImplemented

    def __sub__(self, other: Self) -> Self:
        """Remove rows that were added before. Taking more than is there is an error."""
        if not isinstance(other, ClassStatistics):
            return NotImplemented
        self._check_columns(other)
        self._check_labels_known(other)
        taken = other._aligned(self.labels)
        _check_weights(self, taken)
        gone = self.weight - taken.weight <= ROUNDING * self.weight
        # A class whose rows are all taken leaves exactly nothing, not a weight of 1e-17.
        taken = replace(taken, weight=np.where(gone, self.weight, taken.weight))
        remainder = self.moments - taken
        _check_remainder(self, taken, remainder, gone)
        kept = np.flatnonzero(~gone)
        return type(self)(self.labels[kept], remainder.select(kept), self.features)

    def denoised(self) -> Self:
        """Features that vary by no more than the rounding of their mean set to constant."""
        return replace(self, moments=self.moments.denoised())

    def scaled(self, scale: Array) -> Self:
        """The statistic of the rows times `scale` (p,)."""
        return replace(self, moments=self.moments.scaled(scale))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the statistic to one file, which `classwise.load` reads."""
        arrays = {"weight": self.weight, "mean": self.mean, "rest": self.moments.rest, "scatter": self.scatter}
        facts = {"scatter": self.moments.scatter.name, "features": self.features, "labels": _describe(self.labels)}
        write(path, Record("statistics", arrays, facts))

    @classmethod
    def from_record(cls, record: Record) -> Self:
        form = SCATTERS[record.facts["scatter"]]
        weight, mean, rest, scatter = (record.arrays[name] for name in ("weight", "mean", "rest", "scatter"))
        moments = Moments(weight, mean, rest, form(scatter))
        labels: Labels = np.array(record.facts["labels"]["values"], dtype=LABEL_KINDS[record.facts["labels"]["kind"]])
        features = record.facts["features"]
        _check_shapes(labels, moments, features)
        return cls(labels, moments, None if features is None else tuple(features))

    def _aligned(self, labels: Labels) -> Moments:
        if len(labels) == len(self.labels):  # labels holds all of ours, so they are the same
            return self.moments
        return self.moments.regroup(np.searchsorted(labels, self.labels), len(labels))

    def _check_columns(self, other: "ClassStatistics") -> None:
        if self.n_features != other.n_features:
            raise StatisticsError(
                f"Statistics of {self.n_features} and of {other.n_features} features cannot be combined."
            )
        if self.features and other.features and self.features != other.features:
            ours, theirs = next((a, b) for a, b in zip(self.features, other.features, strict=True) if a != b)
            raise StatisticsError(f"The columns differ: '{ours}' stands where the other statistic has '{theirs}'.")

    def _check_labels_known(self, other: "ClassStatistics") -> None:
        unknown = sorted(set(other.labels.tolist()) - set(self.labels.tolist()))
        if unknown:
            raise StatisticsError(f"Class {unknown[0]!r} cannot be subtracted: the statistic has no rows of it.")


def _check_weights(statistics: ClassStatistics, taken: Moments) -> None:
    lacking = np.flatnonzero(taken.weight - statistics.weight > ROUNDING * statistics.weight)
    if len(lacking):
        k = lacking[0]
        label, there, asked = statistics.label(k), statistics.weight[k], taken.weight[k]
        raise StatisticsError(f"Class {label!r} has weight {there:g}, so weight {asked:g} cannot be subtracted.")


def _check_remainder(statistics: ClassStatistics, taken: Moments, remainder: Moments, gone: Any) -> None:
    """What remains must be a scatter: no negative direction, and nothing at all where the class is gone."""
    before = statistics.moments
    scale = np.sqrt(before.scatter.pooled_diagonal())
    # Means are known to rounding of their own size; below that, scatter is noise.
    noise = 8 * EPS * np.abs(before.mean).max(axis=0, initial=0.0) * np.sqrt(before.weight.sum())
    scale = np.maximum(scale, np.maximum(noise / np.sqrt(ROUNDING), np.finfo(np.float64).tiny ** 0.5))
    moved = np.abs(before.minus(taken))[gone] * np.sqrt(before.weight[gone])[:, None] > np.sqrt(ROUNDING) * scale
    if remainder.scatter.scaled(1 / scale).lowest() < -ROUNDING or moved.any():
        raise StatisticsError(
            "Subtracting leaves a scatter that is not positive: those rows were never part of this statistic."
        )


def _describe(labels: Labels) -> dict[str, Any]:
    """Labels as JSON: what kind they are, and their values."""
    values = labels.tolist()
    if not all(isinstance(value, (str, int, float)) for value in values):
        kind = type(values[0]).__name__
        raise StatisticsError(f"Labels of type {kind} cannot be stored; use strings, integers or booleans.")
    return {"kind": labels.dtype.kind, "values": values}


def _check_shapes(labels: Labels, moments: Moments, features: list[str] | None) -> None:
    count, columns = moments.mean.shape
    fit = (
        labels.shape == moments.weight.shape == (count,)
        and moments.rest.shape == moments.mean.shape
        and moments.scatter.values.shape == moments.scatter.shape(count, columns)
        and (features is None or len(features) == columns)
        and all(a.dtype == np.float64 for a in (moments.weight, moments.mean, moments.rest, moments.scatter.values))
    )
    if not fit:
        raise StatisticsError("its arrays do not fit together.")
