"""Values of an ONNX graph, with the operators of arithmetic: each use writes a node."""

from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from classwise.errors import MissingExtraError

Operand: TypeAlias = "Tensor | NDArray[Any] | np.generic | float"


class Writer(Protocol):
    """Where nodes are written."""

    def node(self, operator: str, *operands: Operand, domain: str = "", **attributes: Any) -> "Tensor":
        """What an operator makes of its operands."""
        ...


@dataclass(frozen=True, eq=False)
class Tensor:
    """A value of the graph, by its name."""

    graph: Writer
    name: str

    def __add__(self, other: Operand) -> "Tensor":
        return self.graph.node("Add", self, other)

    def __sub__(self, other: Operand) -> "Tensor":
        return self.graph.node("Sub", self, other)

    def __mul__(self, other: Operand) -> "Tensor":
        return self.graph.node("Mul", self, other)

    def __truediv__(self, other: Operand) -> "Tensor":
        return self.graph.node("Div", self, other)

    def __matmul__(self, other: Operand) -> "Tensor":
        return self.graph.node("MatMul", self, other)

    def __lt__(self, other: Operand) -> "Tensor":
        return self.graph.node("Less", self, other)

    def __gt__(self, other: Operand) -> "Tensor":
        return self.graph.node("Greater", self, other)

    def __ge__(self, other: Operand) -> "Tensor":
        return self.graph.node("GreaterOrEqual", self, other)

    def __and__(self, other: "Tensor") -> "Tensor":
        return self.graph.node("And", self, other)

    def __or__(self, other: "Tensor") -> "Tensor":
        return self.graph.node("Or", self, other)

    def __invert__(self) -> "Tensor":
        return self.graph.node("Not", self)

    def equals(self, other: Operand) -> "Tensor":
        """Where both are the same."""
        return self.graph.node("Equal", self, other)

    def is_nan(self) -> "Tensor":
        return self.graph.node("IsNaN", self)

    def floor(self) -> "Tensor":
        return self.graph.node("Floor", self)

    def log(self) -> "Tensor":
        return self.graph.node("Log", self)

    def exp(self) -> "Tensor":
        return self.graph.node("Exp", self)

    def sqrt(self) -> "Tensor":
        return self.graph.node("Sqrt", self)

    def squared(self) -> "Tensor":
        return self * self

    def where(self, yes: Operand, no: Operand) -> "Tensor":
        """yes where this condition holds, no elsewhere."""
        return self.graph.node("Where", self, yes, no)

    def cast(self, dtype: Any) -> "Tensor":
        return self.graph.node("Cast", self, to=tensor_type(dtype))

    def sum(self, axis: int, keep: bool = False) -> "Tensor":
        return self.graph.node("ReduceSum", self, np.array([axis]), keepdims=int(keep))

    def max(self, axis: int) -> "Tensor":
        """The largest, the axis kept; NaN may or may not be passed over."""
        return self.graph.node("ReduceMax", self, np.array([axis]), keepdims=1)

    def min(self, axis: int) -> "Tensor":
        """The least, the axis kept; NaN may or may not be passed over."""
        return self.graph.node("ReduceMin", self, np.array([axis]), keepdims=1)

    def any(self, *axes: int) -> "Tensor":
        """Whether any is true; of none, not. (1, ..., 1) without those axes."""
        return self.graph.node("ReduceSum", self.cast(np.int32), np.array(axes), keepdims=0).cast(np.bool_)

    def first(self) -> "Tensor":
        """The place of the first that is true; (n, g) -> (n,)."""
        return self.cast(np.int32).first_largest()

    def first_largest(self) -> "Tensor":
        """The place of the first of the largest; (n, g) -> (n,)."""
        return self.graph.node("ArgMax", self, axis=1, keepdims=0)

    def take(self, places: Operand, axis: int) -> "Tensor":
        """What stands at these places of an axis."""
        return self.graph.node("Gather", self, places, axis=axis)

    def first_of(self, axis: int) -> "Tensor":
        """The first of an axis, which is kept."""
        return self.graph.node("Slice", self, np.array([0]), np.array([1]), np.array([axis]))

    def but_first(self, axis: int) -> "Tensor":
        """All but the first of an axis."""
        return self.graph.node("Slice", self, np.array([1]), np.array([np.iinfo(np.int64).max]), np.array([axis]))

    def of_rows(self, places: "Tensor") -> "Tensor":
        """One value of each row; (n, g), (n,) -> (n, 1)."""
        return self.graph.node("GatherElements", self, places.widen(1), axis=1)

    def widen(self, axis: int) -> "Tensor":
        """With an axis of length one more."""
        return self.graph.node("Unsqueeze", self, np.array([axis]))

    def squeeze(self, axis: int) -> "Tensor":
        """Without an axis of length one."""
        return self.graph.node("Squeeze", self, np.array([axis]))

    def reshape(self, *shape: int) -> "Tensor":
        """In another shape, where 0 stands for the length that an axis has already."""
        return self.graph.node("Reshape", self, np.array(shape))

    def transpose(self, *axes: int) -> "Tensor":
        return self.graph.node("Transpose", self, perm=list(axes))


def load_onnx() -> Any:
    """The library; a MissingExtraError where there is none."""
    try:
        import onnx
    except ImportError as problem:
        raise MissingExtraError('to_onnx needs onnx: pip install "classwise[export]".') from problem
    return onnx


def tensor_type(dtype: Any) -> int:
    """ONNX's number of a type."""
    onnx = load_onnx()
    return int(onnx.TensorProto.STRING if dtype is str else onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))
