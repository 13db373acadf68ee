"""Stacks in an ONNX graph: the columns that members make of rows, the posteriors of members, and their pool.

Q_i(k | x) = P_i(k | x)^b_i / Z_i(x)
P(k | x) ~ ((1 - share) sum over members i of w_i Q_i(k | x)  +  share product over i of Q_i(k | x)^a_i / Z(x))^b
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import singledispatch

import numpy as np

from classwise.comparison.stack.boosted_members import BoostedTrees
from classwise.comparison.stack.forest_members import Forest
from classwise.comparison.stack.network_members import Network
from classwise.comparison.stack.product import LEAST, MemberProduct
from classwise.comparison.stack.softmax import KernelLinear, Linear
from classwise.comparison.stack.stack_model import PooledClassifier
from classwise.comparison.stack.trained import Bayesian, Trained, TrainedShares
from classwise.comparison.stack.transforms import Category, Encoding
from classwise.errors import ClasswiseError
from classwise.export.onnx_graph.densities import scores
from classwise.export.onnx_graph.graph import Graph, Tensor
from classwise.export.onnx_graph.input_rows import GraphRows
from classwise.export.onnx_graph.mixtures import log_sum_exp
from classwise.export.onnx_graph.trees import forest_mean


def stack_scores(classifier: PooledClassifier, rows: GraphRows) -> Tensor:
    """Scores of which softmax is P(k | x); (n, g)."""
    pool, parts = classifier.pool.trimmed(), []
    for trained, power in zip(classifier.used.values(), pool.powers.tolist(), strict=True):
        own = member_scores(trained, rows) * power
        parts.append((own - log_sum_exp(own, 1)).widen(1))
    # Members that answer every row alike, (1, 1, g), come to as many rows as there are.
    blank = row_zeros(rows).widen(2)
    logs = rows.graph.concat([part + blank for part in parts])
    pooled = log_sum_exp(logs + np.log(pool.weights)[None, :, None], 1).squeeze(1)
    if pool.product is not None:
        pooled = _beside_product(pool.product, pooled, logs)
    pooled *= pool.power
    return pooled + classifier.shift[None] if classifier.shift.any() else pooled


def _beside_product(product: MemberProduct, mixture: Tensor, logs: Tensor) -> Tensor:
    """log((1 - share) mixture + share product); (n, g), (n, k, g) -> (n, g)."""
    own = (mixture.graph.node("Max", logs, LEAST) * product.exponents[None, :, None]).sum(1)
    parts = [mixture + float(np.log1p(-product.share)), own - log_sum_exp(own, 1) + float(np.log(product.share))]
    return log_sum_exp(mixture.graph.concat([part.widen(1) for part in parts]), 1).squeeze(1)


def row_zeros(rows: GraphRows) -> Tensor:
    """A zero for each row; (n, 1)."""
    first = rows.part([0])
    values = first.codes(0).cast(np.float64).widen(1) if rows.has_levels(0) else first.numbers()
    return values.is_nan().where(0.0, (values > 0.0).cast(np.float64) * 0.0)


# Members --------------------------------------------------------------------------------------------------------------


@singledispatch
def member_scores(trained: Trained, rows: GraphRows) -> Tensor:
    """Scores of which softmax is the posterior of a member; (n, g), or (1, g)."""
    raise ClasswiseError(
        "A stack with a classifier of your own among its members cannot be exported to ONNX; leave it out of members, "
        "or score the rows in Python."
    )


@member_scores.register
def _(trained: Bayesian, rows: GraphRows) -> Tensor:
    encoded = EncodedRows.of(trained.encoding, rows)
    return scores(trained.classifier.density, encoded) + trained.classifier.log_prior.T


@member_scores.register
def _(trained: TrainedShares, rows: GraphRows) -> Tensor:
    return rows.graph.constant(trained.sums.log_priors[None])


@member_scores.register
def _(trained: Forest, rows: GraphRows) -> Tensor:
    return forest_mean(trained.trees, trained.beliefs, rows).log()


@member_scores.register
def _(trained: BoostedTrees, rows: GraphRows) -> Tensor:
    """The sum over trees is their mean, times their number."""
    return forest_mean(trained.trees, trained.added, rows) * float(len(trained.trees)) + trained.start[None]


@member_scores.register
def _(trained: Network, rows: GraphRows) -> Tensor:
    values = EncodedRows.of(trained.encoding, rows).numbers()
    *hidden, last = trained.layers
    for layer in hidden:
        values = rows.graph.node("Tanh", values @ layer.weights.T + layer.bias[None])
    return values @ last.weights.T + last.bias[None]


@member_scores.register
def _(trained: Linear, rows: GraphRows) -> Tensor:
    values = EncodedRows.of(trained.encoding, rows).numbers() - trained.center[None]
    return values @ trained.weights.T + trained.intercept[None]


@member_scores.register
def _(trained: KernelLinear, rows: GraphRows) -> Tensor:
    """exp(-|z - c|² / width) of each landmark c."""
    features, (weights, intercept) = trained.encoding, trained._of_landmarks
    z, landmarks = EncodedRows.of(features.encoding, rows).numbers(), features.landmarks
    squares = z.squared().sum(1, keep=True) + (landmarks**2).sum(axis=1)[None] - z @ (2 * landmarks.T)
    near = rows.graph.node("Min", squares * (-1 / features.kernel_width), 0.0).exp()
    return near @ weights.T + intercept[None]


# The columns that members learn from ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class EncodedRows(GraphRows):
    """Transformed rows: numbers (n, q), if there are any, and positions (n,) of categories after them; columns: which
    of these.
    """

    graph: Graph
    values: Tensor | None
    width: int
    positions: tuple[Tensor, ...]
    columns: tuple[int, ...]
    strict: bool = True  # no value is missing

    @classmethod
    def of(cls, encoding: Encoding, rows: GraphRows) -> "EncodedRows":
        positions = [_positions(category, category.column in encoding.few, rows) for category in encoding.categories]
        numbers = _numbers(encoding, rows) if encoding.n_numbers else None
        parts = [] if numbers is None else [numbers]
        for j, cuts in enumerate(encoding.cuts):
            if len(cuts) and numbers is not None:
                parts.append((numbers.take(np.array([j]), 1) > cuts[None]).where(0.5, -0.5))
        for position, shown in zip(positions, encoding.indicators, strict=False):
            if len(shown):
                parts.append(position.widen(1).equals(shown.astype(np.int64)[None]).cast(np.float64))
        width, own = encoding.n_continuous, positions if encoding.is_plain else []
        together = rows.graph.concat(parts) if parts else None
        return cls(rows.graph, together, width, tuple(own), tuple(range(width + len(own))))

    def numbers(self) -> Tensor:
        assert self.values is not None
        return self.values if self.columns == tuple(range(self.width)) else self.values.take(np.array(self.columns), 1)

    def codes(self, column: int) -> Tensor:
        return self.positions[self.columns[column] - self.width]

    def has_levels(self, column: int) -> bool:
        return self.columns[column] >= self.width

    def part(self, columns: Sequence[int]) -> "EncodedRows":
        return replace(self, columns=tuple(self.columns[j] for j in columns))


def _numbers(encoding: Encoding, rows: GraphRows) -> Tensor:
    """(x - center) / scale, to a Yeo-Johnson power; 0 for missing values; (n, q)."""
    numbers = encoding.numbers
    values = (rows.part(numbers.columns.tolist()).numbers() - numbers.center[None]) / numbers.scale[None]
    values = values.is_nan().where(0.0, values)
    if (numbers.powers == 1).all():
        return values
    graph = rows.graph
    above, below = graph.node("Max", values, 0.0), graph.node("Max", values * -1.0, 0.0)
    transformed = _power(above, numbers.powers) - _power(below, 2 - numbers.powers)
    return graph.constant((numbers.powers == 1)[None]).where(values, transformed)


def _power(magnitude: Tensor, powers: np.ndarray) -> Tensor:
    """((1 + |z|)^a - 1) / a, and its limit log(1 + |z|) at a = 0."""
    logs, small = (magnitude + 1.0).log(), np.abs(powers) < 1e-8
    safe = np.where(small, 1.0, powers)[None]
    return magnitude.graph.constant(small[None]).where(logs, ((logs * safe).exp() - 1.0) / safe)


def _positions(category: Category, is_number: bool, rows: GraphRows) -> Tensor:
    """The position of each value among the levels of a category; -1 if it is unknown; (n,)."""
    missing = category.count if category.missing else -1
    if not is_number:
        table = [*range(category.count), *[-1] * (rows.level_count(category.column) - category.count + 1), missing]
        return rows.graph.constant(np.array(table)).take(rows.part([category.column]).codes(0), 0)
    values = rows.part([category.column]).numbers()
    cuts = np.append(category.cuts, np.inf)[None]  # never empty
    return values.is_nan().squeeze(1).where(np.array(missing), (values > cuts).cast(np.int64).sum(1))
