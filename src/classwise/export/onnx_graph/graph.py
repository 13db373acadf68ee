"""An ONNX graph that is written like the formulas it computes.

Tensors have the operators of arithmetic; each use adds a node:

    graph = Graph(opset=18)
    x = graph.input("X", np.float64, 2)
    graph.output("distance", (x - center).squared().sum(1), np.float64, 1)

What is inside a branch or a loop is written by functions, whose nodes go into a graph of their own.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from classwise.errors import MissingExtraError

Operand: TypeAlias = "Tensor | NDArray[Any] | np.generic | float"


@dataclass(frozen=True, eq=False)
class Tensor:
    """A value of the graph, by its name."""

    graph: "Graph"
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


# The graph ------------------------------------------------------------------------------------------------------------

# The operators of this version are in onnxruntime since 1.14; later versions add nothing that is needed here.
OPSET = 18

# The lookup of levels is an operator of this domain, at this version since then.
ML_DOMAIN, ML_OPSET = "ai.onnx.ml", 3


class Graph:
    """Nodes, the constants they use, inputs and outputs.

    refusals: conditions (n, p) on rows; a row that meets any of them has no score. whole: whether log p(x) is asked
    for, so that what is common to all classes is not left out.
    """

    def __init__(self, opset: int = OPSET) -> None:
        self.opset = opset
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self.refusals: list[Tensor] = []
        self.whole = False
        self._onnx = load_onnx()
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._reserved: set[str] = set()
        self._count = 0
        self._domains: set[str] = {""}

    # Values -----------------------------------------------------------------------------------------------------------

    def reserve(self, *names: str) -> None:
        """Names that no value inside may have."""
        self._reserved.update(names)

    def input(self, name: str, dtype: Any, width: int) -> Tensor:
        """An input of any number of rows; (n, width)."""
        self.reserve(name)
        self.inputs.append(self._describe(name, dtype, ["N", width]))
        return Tensor(self, name)

    def output(self, name: str, value: Tensor, dtype: Any, *width: int) -> None:
        """A value that the graph hands out; (n,), or (n, width)."""
        self._nodes.append(self._onnx.helper.make_node("Identity", [value.name], [name]))
        self.outputs.append(self._describe(name, dtype, ["N", *width]))

    def constant(self, values: Any) -> Tensor:
        """Numbers, yes and no, or text, that stand in the graph."""
        array, name = np.asarray(values), self._new_name()
        if array.dtype.kind in "OU":
            texts = [text.encode() for text in array.ravel().tolist()]
            made = self._onnx.helper.make_tensor(name, tensor_type(str), array.shape, texts)
        else:
            made = self._onnx.numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)
        self._constants.append(made)
        return Tensor(self, name)

    def node(self, operator: str, *operands: Operand, domain: str = "", **attributes: Any) -> Tensor:
        """What an operator makes of its operands."""
        return self._node(operator, operands, 1, domain, attributes)[0]

    def refuse(self, *conditions: Tensor) -> None:
        """Rows that meet one of these conditions (n, p) in some column have no score."""
        self.refusals += conditions

    def concat(self, tensors: Sequence[Tensor]) -> Tensor:
        """Side by side; (n, a), (n, b), ... -> (n, a + b + ...)."""
        return tensors[0] if len(tensors) == 1 else self.node("Concat", *tensors, axis=1)

    def lookup(self, keys: Tensor, places: Mapping[Any, int], otherwise: int) -> Tensor:
        """The place of each key, text or whole number; of one that has none, otherwise."""
        kind = "keys_strings" if isinstance(next(iter(places)), str) else "keys_int64s"
        attributes = {kind: list(places), "values_int64s": list(places.values()), "default_int64": otherwise}
        return self.node("LabelEncoder", keys, domain=ML_DOMAIN, **attributes)

    # Parts that run on a condition, or several times ------------------------------------------------------------------

    def choose(self, condition: Tensor, then: Callable[[], Tensor], otherwise: Callable[[], Tensor]) -> Tensor:
        """The one or the other, of which only one is computed; condition ()."""
        yes, no = self._part(lambda: [then()], [], [None]), self._part(lambda: [otherwise()], [], [None])
        return self.node("If", condition, then_branch=yes, else_branch=no)

    def repeat(self, count: int, step: Callable[..., Sequence[Tensor]], *states: Tensor) -> list[Tensor]:
        """states = step(i, *states) for i = 0, ..., count - 1; the last states."""
        number, go_on = self._described(np.int64, []), self._described(np.bool_, [])
        described = [self._described(np.float64) for _ in states]
        inside = [Tensor(self, value.name) for value in (number, *described)]
        part = self._part(lambda: step(*inside), [number, go_on, *described], [None] * len(states), go_on)
        return self._node("Loop", (np.array(count), np.array(True), *states), len(states), "", {"body": part})

    def each(self, step: Callable[..., Sequence[Tensor]], ranks: Sequence[int], *sequences: Operand) -> list[Tensor]:
        """step(a, b, ...) for the k-th of each sequence, the results stacked, (k, ...).

        ranks: how many axes each result has, which the runtime wants to know before.
        """
        described = [self._described(np.float64) for _ in sequences]
        members = [Tensor(self, value.name) for value in described]
        part = self._part(lambda: step(*members), described, [[None] * rank for rank in ranks])
        return self._node("Scan", sequences, len(ranks), "", {"body": part, "num_scan_inputs": len(sequences)})

    # ------------------------------------------------------------------------------------------------------------------

    def model(self, name: str) -> Any:
        """The graph as a model."""
        helper = self._onnx.helper
        graph = helper.make_graph(self._nodes, name, self.inputs, self.outputs, self._constants)
        versions = {"": self.opset, ML_DOMAIN: ML_OPSET}
        opsets = [helper.make_opsetid(domain, versions[domain]) for domain in sorted(self._domains)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=helper.find_min_ir_version_for(opsets))

    def _node(
        self, operator: str, operands: Sequence[Operand], results: int, domain: str, attributes: Mapping[str, Any]
    ) -> list[Tensor]:
        self._domains.add(domain)
        tensors = [operand if isinstance(operand, Tensor) else self.constant(operand) for operand in operands]
        made = [Tensor(self, self._new_name()) for _ in range(results)]
        names = [tensor.name for tensor in tensors], [tensor.name for tensor in made]
        self._nodes.append(self._onnx.helper.make_node(operator, *names, domain=domain, **attributes))
        return made

    def _part(
        self,
        write: Callable[[], Sequence[Tensor]],
        inputs: list[Any],
        shapes: Sequence[list[None] | None],
        *passed: Any,
    ) -> Any:
        """A graph of its own, which sees the values around it; inputs that are passed on are its first outputs."""
        with self._inside() as nodes:
            # What a part hands out it must have made itself.
            first = [self.node("Identity", Tensor(self, value.name)) for value in passed]
            made = [self.node("Identity", tensor) for tensor in write()]
        outputs = [self._describe(of.name, np.float64, shape) for of, shape in zip(made, shapes, strict=True)]
        kept = [self._describe(of.name, np.bool_, []) for of in first]
        return self._onnx.helper.make_graph(nodes, self._new_name(), inputs, [*kept, *outputs])

    @contextmanager
    def _inside(self) -> Iterator[list[Any]]:
        outside, self._nodes = self._nodes, []
        try:
            yield self._nodes
        finally:
            self._nodes = outside

    def _described(self, dtype: Any, shape: list[Any] | None = None) -> Any:
        return self._describe(self._new_name(), dtype, shape)

    def _describe(self, name: str, dtype: Any, shape: list[Any] | None) -> Any:
        return self._onnx.helper.make_tensor_value_info(name, tensor_type(dtype), shape)

    def _new_name(self) -> str:
        self._count += 1
        name = f"v{self._count}"
        return self._new_name() if name in self._reserved else name
