"""Small neural networks as members. One is fitted without each fold; the member is the mean of their scores."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from classwise import limits
from classwise.arrays import Array, log_normalize
from classwise.comparison.stack.fold_networks import search_ridge
from classwise.comparison.stack.folded_rows import FoldedRows
from classwise.comparison.stack.layers import Layer, scores
from classwise.comparison.stack.trained import CrossValidated, ModelRecipe, Transformed
from classwise.comparison.stack.transforms import Encoding
from classwise.errors import ClasswiseError
from classwise.storage import stored

# The ridges that are tried, strong ones first.
NETWORK_RIDGES = (20.0, 5.0, 1.2, 0.3, 0.07, 0.02, 0.005)


@stored("Network")
@dataclass(frozen=True, eq=False)
class Network(Transformed):
    """log P(k | x): the scores of layers, normalized. The inputs of the first layer are transformed rows."""

    encoding: Encoding
    layers: tuple[Layer, ...]

    def _is_sound(self) -> bool:
        inputs = [layer.weights.shape[1] for layer in self.layers]
        outputs = [self.encoding.n_encoded, *(len(layer.bias) for layer in self.layers)]
        return len(inputs) > 0 and inputs == outputs[:-1]

    def log_posterior(self, rows: Array, X: Any = None) -> Array:
        return log_normalize(scores(self.layers, self.encoding(rows)).T)


@dataclass(frozen=True, eq=False)
class NetworkRecipe(ModelRecipe):
    """is_deep: whether it has two hidden layers."""

    is_deep: bool = False

    @property
    def hidden(self) -> tuple[int, ...]:
        """The number of units in each hidden layer."""
        return limits.DEEP_NETWORK_UNITS if self.is_deep else limits.NETWORK_UNITS

    def suits(self, rows: FoldedRows) -> bool:
        return len(rows) >= limits.FEWEST_NETWORK_ROWS

    def cross(self, rows: FoldedRows, encoding: Encoding) -> CrossValidated:
        inputs, units = encoding(rows.rows).astype(np.float32), encoding.n_encoded + rows.count
        if min(len(rows), limits.BAGGED_ROWS) * units * sum(self.hidden) > limits.NETWORK_WORK:
            raise ClasswiseError("The table is so large that networks would take too long.")
        best = search_ridge(rows, inputs, self.hidden, NETWORK_RIDGES)
        return CrossValidated(best.logs, Network(encoding, best.bagged()), f"ridge of {best.ridge:.3g}")
