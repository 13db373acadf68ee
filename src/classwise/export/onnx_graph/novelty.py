"""Novel rows in an ONNX graph: those that are less probable, or farther from every class, than ordinary rows are.

What a row is compared with depends on which of its values are missing, and is looked up by that pattern. It is NaN
where the pattern is not known.
"""

from functools import singledispatch

import numpy as np

from classwise.errors import ClasswiseError
from classwise.export.novelty import DistanceRule, EvidenceRule
from classwise.export.onnx_graph.bayes_rule import GraphPosterior
from classwise.export.onnx_graph.densities import squared_distances
from classwise.export.onnx_graph.graph import Tensor
from classwise.export.onnx_graph.input_rows import GraphRows

# Sums of 1, 2, 4, ... for more columns are no whole numbers of 64 bits.
WIDEST = 62


@singledispatch
def is_novel(rule: EvidenceRule | DistanceRule, of: GraphPosterior, rows: GraphRows) -> tuple[Tensor, Tensor]:
    """Whether each row is novel, and whether that is known; (n, 1) each."""
    raise ClasswiseError(f"Novelty by a {type(rule).__name__} cannot be exported to ONNX; look for it in Python.")


@is_novel.register
def _(rule: DistanceRule, of: GraphPosterior, rows: GraphRows) -> tuple[Tensor, Tensor]:
    numbers = rows.part(rule.columns.tolist())
    there = (~numbers.numbers().is_nan()).cast(np.int64).sum(1)
    nearest = squared_distances(rule.density, numbers).min(1)
    most = of.graph.constant(rule.most).take(there, 0).widen(1)
    return nearest > most, of.scorable


@is_novel.register
def _(rule: EvidenceRule, of: GraphPosterior, rows: GraphRows) -> tuple[Tensor, Tensor]:
    graph, width = of.graph, rule.present.shape[1]
    gone = graph.concat([_is_missing(rows, j) for j in range(width)]).cast(np.int64)
    weights = np.array([1 << j for j in range(width)] if width <= WIDEST else range(1, width + 1), dtype=np.int64)
    lacking = (~rule.present).sum(axis=1)
    usable = (lacking <= min(rule.gaps, 1)) | (width <= WIDEST)
    codes = (~rule.present[usable]).astype(np.int64) @ weights
    places = dict(zip(codes.tolist(), range(len(codes)), strict=True))
    place = graph.lookup((gone * weights[None]).sum(1), places, len(codes))
    threshold = graph.constant(np.append(rule.thresholds[usable], np.nan)).take(place, 0).widen(1)
    count = gone.sum(1, keep=True)
    if width > WIDEST:  # the sums of several numbers may be those of others
        threshold = (count > np.array(1)).where(np.nan, threshold)
    threshold = count.equals(np.array(width)).where(-np.inf, threshold)
    assert of.evidence is not None
    return of.evidence < threshold, ~threshold.is_nan()


def _is_missing(rows: GraphRows, j: int) -> Tensor:
    """Whether a column has no value; (n, 1)."""
    one = rows.part([j])
    if rows.has_levels(j):
        return one.codes(0).equals(np.array(rows.level_count(j) + 1)).widen(1)
    return one.numbers().is_nan()
