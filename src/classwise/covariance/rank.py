"""Rank: a covariance is singular relative to its features' own scale, and an error says which columns make it so."""

from dataclasses import dataclass

import numpy as np

from classwise.arrays import EPS, Array
from classwise.covariance.structures import Covariance, FullCovariance
from classwise.errors import SingularCovarianceError
from classwise.statistics import ClassStatistics


def tolerance(features: int) -> float:
    """The least share of a feature's variance that must not be explained by the features before it."""
    return 10 * features * EPS


def refuse_singular(covariance: Covariance, statistics: ClassStatistics) -> Covariance:
    """The covariance itself, unless one of its matrices has no inverse: then an error explains the first of those."""
    if _is_regular(covariance):
        return covariance
    for k in range(len(covariance.values)):
        deficit = _examine(covariance, k)
        if deficit.rank < statistics.n_features:
            raise SingularCovarianceError(_explain(covariance, statistics, k, deficit))
    return covariance


def _is_regular(covariance: Covariance) -> bool:
    if not (covariance.variances() > 0).all():
        return False
    if not isinstance(covariance, FullCovariance):
        return True
    try:
        pivots = np.diagonal(covariance.root, axis1=1, axis2=2) ** 2
    except np.linalg.LinAlgError:
        return False
    return bool((pivots > tolerance(pivots.shape[1])).all())


@dataclass(frozen=True)
class Deficit:
    """Why a covariance has no inverse: the columns that do not vary, and those that follow from others."""

    rank: int
    constant: list[int]
    dependent: dict[int, list[int]]


def _examine(covariance: Covariance, k: int) -> Deficit:
    variances = covariance.variances()[k]
    constant = np.flatnonzero(variances <= 0).tolist()
    varying = np.flatnonzero(variances > 0)
    if not isinstance(covariance, FullCovariance):
        return Deficit(len(varying), constant, {})
    scale = np.sqrt(variances[varying])
    correlation = covariance.values[k][np.ix_(varying, varying)] / np.outer(scale, scale)
    dependent = _dependencies(correlation, tolerance(len(variances)))
    named = {int(varying[j]): varying[others].tolist() for j, others in dependent.items()}
    return Deficit(len(varying) - len(named), constant, named)


def _dependencies(correlation: Array, least: float) -> dict[int, list[int]]:
    """The columns that follow linearly from earlier ones, with those they follow from."""
    basis: list[int] = []
    dependent = {}
    for j in range(len(correlation)):
        weights = np.linalg.lstsq(correlation[np.ix_(basis, basis)], correlation[basis, j], rcond=None)[0]
        if 1 - correlation[basis, j] @ weights > least:
            basis.append(j)
        else:
            dependent[j] = [b for b, weight in zip(basis, weights, strict=True) if abs(weight) > 1e-6]
    return dependent


def _explain(covariance: Covariance, statistics: ClassStatistics, k: int, deficit: Deficit) -> str:
    features = statistics.n_features
    own = len(covariance.values) == len(statistics.labels)
    weight = statistics.weight[k] if own else statistics.weight.sum()
    rows = f"{weight:.0f} {_plural('row', weight)}" if weight == round(weight) else f"total weight {weight:.6g}"
    size = f"{rows} and {features} {_plural('feature', features)}"
    label = repr(statistics.labels[k].item()) if own else ""
    subject = f"Class {label} has {size}, so its" if own else f"The classes share one covariance; with {size} this"
    if deficit.rank >= weight - (1 if own else len(statistics.labels)):
        deficit = Deficit(deficit.rank, [], {})  # the rows are too few for any columns: these are not to blame
    causes = _causes(statistics, deficit)
    remedies = _remedies(covariance, own, deficit)
    return f"{subject} {covariance.name} covariance has rank {deficit.rank}{causes}. {remedies}"


def _causes(statistics: ClassStatistics, deficit: Deficit) -> str:
    causes = []
    if deficit.constant:
        names = _list(statistics, deficit.constant)
        causes.append(f"{names} {'does' if len(deficit.constant) == 1 else 'do'} not vary")
    for column, others in list(deficit.dependent.items())[:3]:
        causes.append(f"{statistics.name(column)} follows linearly from {_list(statistics, others)}")
    return ": " + "; ".join(causes) if causes else ""


def _remedies(covariance: Covariance, own: bool, deficit: Deficit) -> str:
    remedies = ["share it (share=1)"] if own else []
    if covariance.name == "full" and not deficit.constant:
        remedies.append("restrict it (structure='diagonal')")
    remedies.append("shrink it (shrink='oas')" if covariance.name == "full" else "shrink it (shrink=0.1)")
    remedies.append("drop the columns named" if deficit.constant or deficit.dependent else "add rows")
    sentence = ", ".join(remedies[:-1]) + " or " + remedies[-1]
    return sentence[0].upper() + sentence[1:] + "."


def _list(statistics: ClassStatistics, columns: list[int]) -> str:
    names = ", ".join(statistics.name(column) for column in columns[:5])
    return f"{names} and {len(columns) - 5} more" if len(columns) > 5 else names


def _plural(word: str, count: float) -> str:
    return word if count == 1 else word + "s"
