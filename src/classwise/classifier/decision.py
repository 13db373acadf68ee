"""Decisions: from a posterior and costs to a label, or to a rejection.

    expected cost of deciding for j = sum over i of P(i | x) cost(i, j)

A row gets the label of least expected cost, unless rejecting the row costs less (Chow 1970).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import EPS, Array, Codes, Labels, product
from classwise.errors import ClasswiseError


def break_ties(scores: Array, generator: np.random.Generator) -> Codes:
    """The class with the largest score; ties are broken at random; (g, m) -> (m,)."""
    lots = generator.random(scores.shape)
    lots[scores < scores.max(axis=0)] = -1
    return lots.argmax(axis=0)


def read_costs(costs: Any, labels: Labels) -> Array:
    """The matrix of costs[i, j], the cost of deciding for label j when label i is true; (g, g).

    costs: None (every error costs 1), a matrix in the order of sorted labels, or a mapping {true: {decided: cost}}.
    Pairs that a mapping leaves out cost 1 if wrong, and 0 if right. The index of a pandas frame holds the true labels,
    its columns the decisions.

    >>> read_costs({"ill": {"well": 10}}, np.array(["ill", "well"]))
    array([[ 0., 10.],
           [ 1.,  0.]])
    """
    if hasattr(costs, "iloc") and hasattr(costs, "columns"):
        costs = _as_mapping(costs)
    matrix = _of_mapping(costs, labels) if isinstance(costs, Mapping) else _of_array(costs, labels)
    for true, decided in np.argwhere(~np.isfinite(matrix))[:1]:
        raise ClasswiseError(
            f"costs must be finite numbers, and to decide for {labels[decided].item()!r} when {labels[true].item()!r} "
            f"is true costs {matrix[true, decided]}."
        )
    return matrix


def _of_mapping(costs: Mapping[Any, Any], labels: Labels) -> Array:
    matrix = 1.0 - np.eye(len(labels))
    for true, row in costs.items():
        for decided, cost in _pairs(true, row):
            place = _place("costs", true, labels), _place("costs", decided, labels)
            try:
                matrix[place] = cost
            except (TypeError, ValueError) as problem:
                raise ClasswiseError(f"costs[{true!r}][{decided!r}]={cost!r} is not a number.") from problem
    return matrix


def _of_array(costs: Any, labels: Labels) -> Array:
    size = len(labels)
    if costs is None:
        return 1.0 - np.eye(size)
    try:
        matrix = np.asarray(costs, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise ClasswiseError(
            f"costs={costs!r} is not a matrix of numbers, with a row for each true label and a column for each "
            "decision; nor is it a mapping {true: {decided: cost}}."
        ) from problem
    if matrix.shape != (size, size):
        raise ClasswiseError(f"costs has shape {matrix.shape}, and {size} classes take one of {(size, size)}.")
    return matrix


def _as_mapping(frame: Any) -> dict[Any, dict[Any, Any]]:
    if not (frame.index.is_unique and frame.columns.is_unique):
        raise ClasswiseError("costs is a frame that names a label twice; each stands for one row and one column.")
    values = frame.to_numpy().tolist()
    return {
        true: dict(zip(frame.columns.tolist(), row, strict=True)) for true, row in zip(frame.index, values, strict=True)
    }


def _pairs(true: Any, row: Any) -> Any:
    if not isinstance(row, Mapping):
        raise ClasswiseError(f"costs[{true!r}] must map decisions to their costs, not {row!r}.")
    return row.items()


def _place(what: str, label: Any, labels: Labels) -> int:
    known = labels.tolist()
    if label not in known:
        raise ClasswiseError(f"{what} names {label!r}, which is not a class; the classes are {known}.")
    return int(known.index(label))


class Decided(NamedTuple):
    """The decision of each row (m,), its expected cost (m,), and which rows are rejected (refused) (m,).

    The cost of a rejected row is that of rejecting; NaN if it was rejected for its posterior, which has no price.
    """

    codes: Codes
    cost: Array
    refused: NDArray[np.bool_]

    def without(self, refused: NDArray[np.bool_]) -> "Decided":
        """The same with more rows rejected, which has no price."""
        return Decided(self.codes, np.where(refused, np.nan, self.cost), self.refused | refused)


@dataclass(frozen=True, eq=False)
class Policy:
    """costs (g, g); refusing: the cost of rejecting a row; least_posterior: rows whose label has less are rejected."""

    costs: Array
    refusing: float = np.inf
    least_posterior: float = 0.0

    @property
    def rounding(self) -> float:
        """The difference up to which expected costs count as equal."""
        return 4 * len(self.costs) * EPS * float(np.abs(self.costs).max())

    def expected(self, posterior: Array) -> Array:
        """The expected cost of each decision; (g, m) -> (g, m)."""
        return product(self.costs.T, posterior)

    def decide(self, posterior: Array) -> Decided:
        """The decision of least expected cost; of equals the most probable, of these the first; (g, m).

        With equal costs for all errors it is therefore the most probable class, whatever the rounding.
        """
        expected = self.expected(posterior)
        equals = expected <= expected.min(axis=0) + self.rounding
        codes = np.where(equals, posterior, -1.0).argmax(axis=0)
        columns = np.arange(posterior.shape[1])
        cost = expected[codes, columns]
        dear, unsure = cost > self.refusing, posterior[codes, columns] < self.least_posterior
        return Decided(codes, np.where(unsure, np.nan, np.minimum(cost, self.refusing)), dear | unsure)


@dataclass(frozen=True, eq=False)
class RejectCurve:
    """Error against coverage, if only the rows with the highest posteriors are decided; each (n,).

    coverage: the share of rows that are decided.
    error: the share of errors among them.
    posterior: the least posterior among them.
    """

    coverage: Array
    error: Array
    posterior: Array

    def at(self, coverage: float) -> float:
        """The error if this share of the rows is decided; between two rows, that of the larger coverage."""
        place = np.searchsorted(self.coverage, coverage - 1e-12)
        return float(self.error[min(int(place), len(self.error) - 1)])

    @property
    def area(self) -> float:
        """The mean error over all coverages."""
        widths = np.diff(self.coverage, prepend=0.0)
        return float(widths @ self.error)


def reject_curve(posterior: Array, codes: Codes, weights: Array | None = None) -> RejectCurve:
    """The curve from posteriors (n, g) and classes (n,); rows with equal posteriors are decided together."""
    weights = np.ones(len(codes)) if weights is None else weights
    sure, wrong = posterior.max(axis=1), posterior.argmax(axis=1) != codes
    order = np.argsort(-sure, kind="stable")
    total, lost = np.cumsum(weights[order]), np.cumsum((weights * wrong)[order])
    last = np.append(np.diff(sure[order]) != 0, True)
    return RejectCurve(total[last] / total[-1], lost[last] / total[last], sure[order][last])
