"""Rows with gaps in an ONNX graph: distances and volumes of the columns that are there.

A missing column is made to stand alone: its variance 1, its covariances and its deviation 0. So C is the covariance of
what is there, beside an identity that adds nothing. Then, column by column, C = L D L' is eliminated:

    q   += d_j² / C_jj            d <- d - C_.j d_j / C_jj
    log|C| += log C_jj            C <- C - C_.j C_j. / C_jj
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from classwise.arrays import Array
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
