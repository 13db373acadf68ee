"""An ONNX graph that is written like the formulas it computes.

Tensors have the operators of arithmetic; each use adds a node:

    graph = Graph(opset=18)
    x = graph.input("X", np.float64, 2)
    graph.output("distance", (x - center).squared().sum(1), np.float64, 1)

What is inside a branch or a loop is written by functions, whose nodes go into a graph of their own.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from classwise.export.onnx_graph.tensor import Operand, Tensor, load_onnx, tensor_type

# The operators of this version are in onnxruntime since 1.14; later versions add nothing that is needed here.
OPSET = 18

# The lookup of levels is an operator of this domain, at this version since then.
ML_DOMAIN, ML_OPSET = "ai.onnx.ml", 3


class Graph:
    """Nodes, the constants they use, inputs and outputs.

    refusals: conditions (n, p) on rows; a row that meets any of them has no score.
    """

    def __init__(self, opset: int = OPSET) -> None:
        self.opset = opset
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self.refusals: list[Tensor] = []
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
