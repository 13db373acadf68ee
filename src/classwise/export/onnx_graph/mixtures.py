"""Densities that are sums, in an ONNX graph: mixtures over components, and averaged one-dependence over parents.

    Mixture:         log p(x | k) = log sum over the components c of class k of  share_c N(x | m_c, C_c)
    one-dependence:  log p(x | k) = log mean over columns i of  p(x_i | k)  product over j != i of  p(x_j | x_i, k)

Pairs of levels are looked up in one table. Only rows that lack a level take the sums over all levels of a parent.
"""

import numpy as np

from classwise.densities import Mixture, OneDependence
from classwise.export.onnx_graph.densities import scores
from classwise.export.onnx_graph.graph import Tensor
from classwise.export.onnx_graph.input_rows import GraphRows
from classwise.statistics import Bins


@scores.register
def _(density: Mixture, rows: GraphRows) -> Tensor:
    of_components = scores(density.components, rows) + np.log(density.share)[None]
    own = [np.flatnonzero(density.owner == k) for k in range(density.count)]
    return rows.graph.concat([log_sum_exp(of_components.take(of, 1), 1) for of in own])


def log_sum_exp(logs: Tensor, axis: int) -> Tensor:
    """log of the sum of exp(logs) along an axis, which is kept; -inf where all are."""
    peak = logs.max(axis)
    peak = (peak > -np.inf).where(peak, 0.0)
    return peak + (logs - peak).exp().sum(axis, keep=True).log()


# Averaged one-dependence ----------------------------------------------------------------------------------------------


@scores.register
def _(density: OneDependence, rows: GraphRows) -> Tensor:
    graph, size = rows.graph, len(density.logs)
    sizes = [len(column) for column in density.columns]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    columns = [_places(density, j, int(starts[j]), rows).widen(1) for j in range(len(sizes))]
    places = graph.concat(columns)  # (n, p); `size` where there is no level
    parents = [j for j, count in enumerate(sizes) if count > 1]
    complete = [_given(density, places, j) for j in parents]

    def integrated(some: Tensor, known: Tensor) -> Tensor:
        """The scores of rows some of whose levels are missing."""
        marks = graph.concat([some.take(np.array([j]), 1).equals(_span(starts, j)[None]) for j in range(len(sizes))])
        # [b, (a, k)]: of the levels a of all parents at once.
        table = density.logs.transpose(1, 0, 2).reshape(size, -1)
        sums = (marks.cast(np.float64) @ table).reshape(0, size, density.count)
        own = np.stack([density.logs[a, a] for a in range(size)])[None]
        parts = []
        for place, j in enumerate(parents):
            absent = some.take(np.array([j]), 1).equals(np.array(size)).widen(2)
            summed = log_sum_exp((sums + own).take(_span(starts, j), 1), 1)
            parts.append(absent.where(summed, known.take(np.array([place]), 1)))
        return _mean(graph.concat(parts), len(parents))

    widths = _log_widths(density, starts)
    every = graph.concat([of.widen(1) for of in complete])  # (n, parents, g)
    gaps = places.equals(np.array(size))

    def replaced() -> Tensor:
        which = graph.node("NonZero", gaps.any(1))
        taken = which.squeeze(0)
        found = integrated(places.take(taken, 0), every.take(taken, 0))
        return graph.node("ScatterND", _mean(every, len(parents)), which.transpose(1, 0), found)

    found = graph.choose(gaps.any(0, 1), replaced, lambda: _mean(every, len(parents)))
    return found - graph.constant(widths).take(places, 0).sum(1, keep=True) if graph.whole else found


def _log_widths(density: OneDependence, starts: np.ndarray) -> np.ndarray:
    """By which log p is less within the range of a number, of all levels, and of none; (L + 1,)."""
    found = np.zeros(len(density.logs) + 1)
    for j, place in enumerate(density.columns):
        if isinstance(place, Bins) and place.values is None:
            found[starts[j] : starts[j] + place.count] = np.log(place.widths)
    return found


def _span(starts: np.ndarray, column: int) -> np.ndarray:
    return np.arange(starts[column], starts[column + 1])


def _mean(of_parents: Tensor, count: int) -> Tensor:
    """log of the mean over parents; (n, parents, g) -> (n, g)."""
    return log_sum_exp(of_parents, 1).squeeze(1) - np.log(count)


def _given(density: OneDependence, places: Tensor, parent: int) -> Tensor:
    """log p of all columns, given one; where there is no level, nothing is added; (n, p) -> (n, g)."""
    size, classes = len(density.logs), density.count
    padded = np.zeros((size + 1, size + 1, classes))
    padded[:size, :size] = density.logs
    pairs = places.take(np.array([parent]), 1) * np.array(size + 1) + places
    return places.graph.constant(padded.reshape(-1, classes)).take(pairs, 0).sum(1)


def _places(density: OneDependence, column: int, start: int, rows: GraphRows) -> Tensor:
    """Where the level of a column stands among those of all; their number where there is none; (n,)."""
    place, none = density.columns[column], len(density.logs)
    if not isinstance(place, Bins):
        codes = place.codes(np.array([*range(len(place.levels) + 1), -1], dtype=np.float64))
        table = np.where(codes < 0, none, start + codes).astype(np.int64)
        return rows.graph.constant(table).take(rows.codes(column), 0)
    values = rows.part([column]).numbers()
    rows.graph.refuse(rows.graph.node("IsInf", values))
    missing = start + place.count if place.missing else none
    if not place.count:
        return values.is_nan().squeeze(1).where(np.array(missing), np.array(none))
    edges = np.append(place.edges[1:-1], np.inf)[None]  # never empty
    counted = (values >= edges).cast(np.int64).sum(1) + np.array(start)
    return values.is_nan().squeeze(1).where(np.array(missing), counted)
