"""Rows with gaps in an ONNX graph: distances and volumes of the columns that are there.

A missing column is made to stand alone: its variance 1, its covariances and its deviation 0. So C is the covariance of
what is there, beside an identity that adds nothing. Then, column by column, C = L D L' is eliminated:

    q   += d_j² / C_jj            d <- d - C_.j d_j / C_jj
    log|C| += log C_jj            C <- C - C_.j C_j. / C_jj
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from classwise.arrays import Array, Labels
from classwise.errors import ClasswiseError
from classwise.export.onnx_graph.graph import Graph
from classwise.export.onnx_graph.tensor import Tensor


@dataclass(frozen=True, eq=False)
class Distances:
    """squares (n, g): q of each class; half_log_det: 1/2 log|C|, (n, g) or (1, g); count (n,) or (1,): of columns."""

    squares: Tensor
    half_log_det: Tensor
    count: Tensor


def with_gaps(graph: Graph, values: Tensor, complete: Tensor, score: Callable[[Tensor], Tensor]) -> Tensor:
    """The scores of complete rows, and in place of those of rows with gaps, score(rows); (n, p), (n, g) -> (n, g).

    If no row has a gap, nothing of it is computed.
    """
    gaps = values.is_nan()

    def replaced() -> Tensor:
        places = graph.node("NonZero", gaps.any(1))
        return graph.node("ScatterND", complete, places.transpose(1, 0), score(values.take(places.squeeze(0), 0)))

    return graph.choose(gaps.any(0, 1), replaced, lambda: complete)


def marginal_distances(graph: Graph, values: Tensor, means: Array, covariances: Array) -> Distances:
    """Of each row (n, p) to the means (g, p), in the metric of the columns that are there; covariances (k, p, p)."""
    absent = values.is_nan()
    there = (~absent).cast(np.float64)
    kinds, classes, features = len(covariances), *means.shape

    def measured(covariance: Tensor, centers: Tensor) -> Sequence[Tensor]:
        away = absent.widen(1).where(0.0, values.widen(1) - centers)
        alone = absent.cast(np.float64).widen(2) * np.eye(features)
        return _eliminated(graph, covariance * there.widen(1) * there.widen(2) + alone, away, features)

    # One covariance for each class, or one for all of them: (k, g / k, p) means, (k, n, g / k) results.
    grouped = means.reshape(kinds, classes // kinds, features)
    squares, half_log_det = (of.transpose(1, 0, 2) for of in graph.each(measured, (2, 2), covariances, grouped))
    return Distances(squares.reshape(0, classes), half_log_det.squeeze(2), there.cast(np.int64).sum(1))


def _eliminated(graph: Graph, covariance: Tensor, away: Tensor, features: int) -> Sequence[Tensor]:
    """q and 1/2 log|C|; (n, p, p), (n, c, p) -> (n, c), (n, 1).

    Each step is done with the first of the columns that are left: of r columns r - 1 remain.
    """

    def step(_: Tensor, covariance: Tensor, away: Tensor, squares: Tensor, volume: Tensor) -> Sequence[Tensor]:
        pivot, distance = covariance.first_of(1).first_of(2), away.first_of(2)  # (n, 1, 1), (n, c, 1)
        own = covariance.first_of(2).but_first(1)  # (n, r - 1, 1)
        slope = covariance.first_of(1).but_first(2) / pivot  # (n, 1, r - 1)
        return (
            covariance.but_first(1).but_first(2) - own * slope,
            away.but_first(2) - distance * slope,
            squares + (distance.squared() / pivot).squeeze(2),
            volume + pivot.squeeze(2).log() * 0.5,
        )

    nothing = away.sum(2) * 0.0
    none = covariance.first_of(1).first_of(2).squeeze(2) * 0.0
    return graph.repeat(features, step, covariance, away, nothing, none)[2:]


# ----------------------------------------------------------------------------------------------------------------------
# Rows in an ONNX graph: what densities read of them, and the inputs they come from.
#
# A model of an array has one input X (n, p); a model of a table has one input (n, 1) for each column. Inside, numbers
# are
# float64, NaN where missing, and a level is its place among the levels; the place after the last is that of a level
# never
# seen, and the next that of a missing value.


class Rows(ABC):
    """Some columns of the rows, in order.

    graph: where they are; strict: whether rows with missing values are refused.
    """

    graph: Graph
    strict: bool

    @abstractmethod
    def numbers(self) -> Tensor:
        """As numbers, NaN where missing; (n, p)."""

    @abstractmethod
    def codes(self, column: int) -> Tensor:
        """A column's places among its levels; (n,)."""

    @abstractmethod
    def part(self, columns: Sequence[int]) -> "Rows":
        """Some of these columns."""


@dataclass(frozen=True, eq=False)
class NumberRows(Rows):
    """Numbers that were made from others, such as their logarithms."""

    graph: Graph
    strict: bool
    values: Tensor

    def numbers(self) -> Tensor:
        return self.values

    def codes(self, column: int) -> Tensor:
        raise TypeError("Numbers have no levels.")

    def part(self, columns: Sequence[int]) -> "NumberRows":
        return replace(self, values=self.values.take(np.array(columns), 1))


@dataclass(frozen=True, eq=False)
class Source:
    """A column: where its values are, and the levels that they are taken for, if any.

    value: a tensor (n, 1); None where the columns stand in one matrix.
    """

    value: Tensor | None
    dtype: Any
    levels: Labels | None


@dataclass(frozen=True, eq=False)
class InputRows(Rows):
    """Columns of the inputs; matrix (n, all columns), if they came in one. missing: what text stands for no value."""

    graph: Graph
    strict: bool
    sources: tuple[Source, ...]
    columns: tuple[int, ...]
    matrix: Tensor | None
    missing: tuple[str, ...]

    def numbers(self) -> Tensor:
        values = self._together().cast(np.float64)
        if self.strict:
            self.graph.refuse(values.is_nan())
        return values

    def codes(self, column: int) -> Tensor:
        source = self.sources[self.columns[column]]
        assert source.levels is not None
        codes = self._codes(self.part([column])._together(), source.dtype, source.levels)
        if self.strict:
            self.graph.refuse(codes.equals(np.array(len(source.levels) + 1)).widen(1))
        return codes

    def part(self, columns: Sequence[int]) -> "InputRows":
        return replace(self, columns=tuple(self.columns[j] for j in columns))

    def _together(self) -> Tensor:
        """The columns side by side, as they came; (n, p)."""
        if self.matrix is not None:
            whole = self.columns == tuple(range(len(self.sources)))
            return self.matrix if whole else self.matrix.take(np.array(self.columns), 1)
        values = [self.sources[j].value for j in self.columns]
        return self.graph.concat([value for value in values if value is not None])

    def _codes(self, values: Tensor, dtype: Any, levels: Labels) -> Tensor:
        """(n, 1) -> (n,)."""
        count = len(levels)
        if dtype is str:
            places = dict(zip(levels.tolist(), range(count), strict=True)) | dict.fromkeys(self.missing, count + 1)
            return self.graph.lookup(values, places, count).squeeze(1)
        if dtype is np.int64:
            places = dict(zip((int(level) for level in levels), range(count), strict=True))
            return self.graph.lookup(values, places, count).squeeze(1)
        if dtype is np.bool_:
            return values.cast(np.float64).equals(levels.astype(np.float64)[None]).first()
        absent = values.is_nan()
        return self.graph.concat([values.equals(levels.astype(dtype)[None]), ~absent, absent]).first()


@dataclass(frozen=True)
class Layout:
    """How rows enter the graph.

    dtype: of numbers; matrix: whether they come in one input X; missing: the texts that stand for no value.
    """

    dtype: Any
    matrix: bool
    missing: tuple[str, ...]

    def column_type(self, levels: Labels | None, has_gaps: bool) -> Any:
        """The type of a column: text, whole numbers and yes/no as such, unless that type cannot say "missing"."""
        if levels is None or (levels.dtype.kind in "biu" and has_gaps) or levels.dtype.kind == "f":
            return self.dtype
        return {"b": np.bool_, "i": np.int64, "u": np.int64}.get(levels.dtype.kind, str)


def refuse_levels(name: str, levels: Labels, dtype: Any, missing: Sequence[str]) -> None:
    """An error where levels cannot be told apart in ONNX: text and numbers only, none of them the text for missing."""
    if dtype is str:
        other = [level for level in levels.tolist() if not isinstance(level, str)]
        if other:
            raise ClasswiseError(
                f"Column {name} has the level {other[0]!r}, and ONNX has no type for {type(other[0]).__name__}; fit on "
                "text or whole numbers."
            )
        clash = [text for text in missing if text in levels.tolist()]
        if clash:
            raise ClasswiseError(
                f"Column {name} has the level {clash[0]!r}, which missing={clash[0]!r} takes for no value; give "
                "another text, such as missing='<missing>'."
            )
    elif len(np.unique(levels.astype(dtype))) < len(levels):
        raise ClasswiseError(
            f"Column {name} has levels that are the same number in {np.dtype(dtype).name}; use dtype='float64'."
        )
