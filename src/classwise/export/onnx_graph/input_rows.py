"""Rows in an ONNX graph: what densities read of them, and the inputs they come from.

A model of an array has one input X (n, p); a model of a table has one input (n, 1) for each column. Inside, numbers are
float64, NaN where missing, and a level is its place among the levels; the place after the last is that of a level never
seen, and the next that of a missing value.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from classwise.arrays import Labels
from classwise.errors import ClasswiseError
from classwise.export.onnx_graph.graph import Graph, Tensor


class GraphRows(ABC):
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
    def part(self, columns: Sequence[int]) -> "GraphRows":
        """Some of these columns."""

    def has_levels(self, column: int) -> bool:
        """Whether a column holds places among levels."""
        return False

    def level_count(self, column: int) -> int:
        """How many levels a column has."""
        return 0


@dataclass(frozen=True, eq=False)
class DerivedRows(GraphRows):
    """Numbers that were made from others, such as their logarithms."""

    graph: Graph
    strict: bool
    values: Tensor

    def numbers(self) -> Tensor:
        return self.values

    def codes(self, column: int) -> Tensor:
        raise TypeError("Numbers have no levels.")

    def part(self, columns: Sequence[int]) -> "DerivedRows":
        return replace(self, values=self.values.take(np.array(columns), 1))


@dataclass(frozen=True, eq=False)
class GraphColumn:
    """A column: where its values are, and the levels that they are taken for, if any.

    value: a tensor (n, 1); None where the columns stand in one matrix.
    """

    value: Tensor | None
    dtype: Any
    levels: Labels | None


@dataclass(frozen=True, eq=False)
class InputRows(GraphRows):
    """Columns of the inputs; matrix (n, all columns), if they came in one. missing: what text stands for no value."""

    graph: Graph
    strict: bool
    sources: tuple[GraphColumn, ...]
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

    def has_levels(self, column: int) -> bool:
        return self.sources[self.columns[column]].levels is not None

    def level_count(self, column: int) -> int:
        levels = self.sources[self.columns[column]].levels
        return 0 if levels is None else len(levels)

    def part(self, columns: Sequence[int]) -> "InputRows":
        return replace(self, columns=tuple(self.columns[j] for j in columns))

    def _together(self) -> Tensor:
        """The columns side by side, as they are; (n, p)."""
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
    """An error where ONNX cannot distinguish levels: text and numbers only, none of them the text for missing."""
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
