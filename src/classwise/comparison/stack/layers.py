"""Networks: layers of weights, fitted to the labels by L-BFGS with a ridge penalty.

    h_0 = z,    h_l = tanh(W_l h_(l-1) + b_l),    scores = W_L h_(L-1) + b_L,    P(k | x) = softmax_k(scores)

    sum over rows of -weight log P(own class | x)  +  ridge / 2  sum over layers of |W_l|^2

Without hidden layers this is softmax regression. Fits are computed in single precision: they end long before its
rounding matters. The mean of the scores of several networks is itself a network, whose layers lie side by side.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag
from scipy.optimize import minimize

from classwise.arrays import Array, Codes
from classwise.storage import stored

Single: TypeAlias = NDArray[np.float32]

# Fits end after so many steps, or when a step lowers the penalized loss by less than this share of it.
MOST_STEPS = 80
NEAR = 1e-7

# L-BFGS keeps so many former steps.
KEPT_STEPS = 10


@stored("NetworkLayer")
@dataclass(frozen=True, eq=False)
class Layer:
    """weights (h, q) and bias (h,), from q inputs to h outputs."""

    weights: Array
    bias: Array

    def _is_sound(self) -> bool:
        return self.weights.ndim == 2 and self.bias.shape == self.weights.shape[:1]

    def __call__(self, inputs: Array) -> Array:
        """(m, q) -> (m, h)."""
        return np.asarray(np.dot(inputs, self.weights.T) + self.bias)


def scores(layers: Sequence[Layer], inputs: Array) -> Array:
    """The scores of a network; (m, q) -> (m, g)."""
    *hidden, last = layers
    for layer in hidden:
        inputs = layer(inputs)
        np.tanh(inputs, out=inputs)
    return last(inputs)


def bagged(networks: Sequence[Sequence[Layer]]) -> tuple[Layer, ...]:
    """The network whose scores are the mean of those of several networks of one shape."""
    first, *middle, last = [list(of_layer) for of_layer in zip(*networks, strict=True)]
    joined = [Layer(np.concatenate([own.weights for own in first]), _side_by_side(first))]
    joined += [Layer(block_diag(*(own.weights for own in of_layer)), _side_by_side(of_layer)) for of_layer in middle]
    weights = np.concatenate([own.weights for own in last], axis=1) / len(last)
    return (*joined, Layer(weights, np.mean([own.bias for own in last], axis=0)))


def _side_by_side(layers: Sequence[Layer]) -> Array:
    return np.concatenate([own.bias for own in layers])


class Labeled(NamedTuple):
    """Rows to fit: inputs (n, q), one-hot classes (g, n) and weights (n,)."""

    inputs: Single
    classes: Single
    weights: Single

    @classmethod
    def of(cls, inputs: Single, codes: Codes, count: int, weights: Array) -> "Labeled":
        return cls(inputs, np.eye(count, dtype=np.float32)[:, codes], weights.astype(np.float32))

    def select(self, rows: Codes) -> "Labeled":
        """Some of the rows. Rows that stand for several weigh one on average, so that ridges mean the same."""
        weights = self.weights[rows]
        return Labeled(self.inputs[rows], self.classes[:, rows], weights / max(weights.mean(), np.float32(1)))


@dataclass(frozen=True)
class Shape:
    """sizes: the numbers of inputs, of units in each hidden layer, and of classes. A network of this shape is a vector:
    first the weights of all layers, then their biases.
    """

    sizes: tuple[int, ...]

    @cached_property
    def n_weights(self) -> int:
        return sum(fewer * more for fewer, more in zip(self.sizes[:-1], self.sizes[1:], strict=True))

    @property
    def is_convex(self) -> bool:
        """Whether there is one best fit, since there are no hidden layers."""
        return len(self.sizes) == 2

    def start(self, generator: np.random.Generator) -> Array:
        """Zeros; with hidden layers, uniform weights whose spread keeps that of the inputs (Glorot and Bengio 2010)."""
        start = np.zeros(self.n_weights + sum(self.sizes[1:]))
        if not self.is_convex:
            for weights, _ in self._parts(start):
                weights[:] = generator.uniform(-1, 1, weights.shape) * np.sqrt(6 / sum(weights.shape))
        return start

    def layers(self, vector: Array) -> tuple[Layer, ...]:
        return tuple(Layer(weights.T.copy(), bias.copy()) for weights, bias in self._parts(vector))

    def _parts(self, vector: NDArray[Any]) -> list[tuple[NDArray[Any], NDArray[Any]]]:
        """The weights (q, h) and biases (h,) of each layer, as views."""
        return [(vector[of_weights].reshape(sizes), vector[of_bias]) for of_weights, sizes, of_bias in self._places]

    @cached_property
    def _places(self) -> list[tuple[slice, tuple[int, int], slice]]:
        """Where the weights of each layer lie, their shape (q, h), and where its biases lie."""
        places, at, bias_at = [], 0, self.n_weights
        for inputs, outputs in zip(self.sizes[:-1], self.sizes[1:], strict=True):
            of_weights, of_bias = slice(at, at + inputs * outputs), slice(bias_at, bias_at + outputs)
            places.append((of_weights, (inputs, outputs), of_bias))
            at, bias_at = of_weights.stop, of_bias.stop
        return places

    def scores(self, vector: Array, inputs: Single) -> Array:
        """(m, q) -> (m, g)."""
        return self._forward(vector.astype(np.float32), inputs)[-1].astype(np.float64)

    def _forward(self, vector: Single, inputs: Single) -> list[Single]:
        """The inputs, the outputs of each hidden layer, and the scores."""
        found, parts = [inputs], self._parts(vector)
        for place, (weights, bias) in enumerate(parts, 1):
            outputs = found[-1] @ weights
            outputs += bias
            found.append(np.tanh(outputs, out=outputs) if place < len(parts) else outputs)
        return found

    def objective(self, vector: Array, rows: Labeled, ridge: float) -> tuple[float, Array]:
        """The penalized loss of labeled rows, and its gradient (by backpropagation)."""
        single = vector.astype(np.float32)
        *found, outputs = self._forward(single, rows.inputs)
        # Class by class in memory, NumPy goes through many rows at a time: that takes a fifth less than row by row.
        logs = outputs.T.copy()
        logs -= logs.max(axis=0)
        own = np.einsum("kn,kn->n", logs, rows.classes)
        posterior = np.exp(logs, out=logs)
        total = posterior.sum(axis=0)
        posterior /= total
        away = ((posterior - rows.classes) * rows.weights).T
        own -= np.log(total)
        gradient = np.empty_like(single)
        parts = list(zip(found, self._parts(single), self._parts(gradient), strict=True))
        for place, (inputs, (weights, _), (of_weights, of_bias)) in reversed(list(enumerate(parts))):
            np.matmul(inputs.T, away, out=of_weights)
            away.sum(axis=0, out=of_bias)
            if place:
                away = (away @ weights.T) * (1 - inputs**2)
        penalized = vector[: self.n_weights]
        slopes = gradient.astype(np.float64)
        slopes[: self.n_weights] += ridge * penalized
        loss = -float(np.dot(own.astype(np.float64), rows.weights))
        return loss + ridge / 2 * float(penalized @ penalized), slopes

    def fit(self, start: Array, rows: Labeled, ridge: float, check: Callable[[], None]) -> Array:
        """The network with the least penalized loss that L-BFGS finds from a start; check: called in each step."""

        def objective(vector: Array) -> tuple[float, Array]:
            check()
            return self.objective(vector, rows, ridge)

        options = {"maxiter": MOST_STEPS, "maxcor": KEPT_STEPS, "ftol": NEAR}
        return np.asarray(minimize(objective, start, jac=True, method="L-BFGS-B", options=options).x)
