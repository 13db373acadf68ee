"""Rank: a covariance is singular relative to its features' own scale, and an error says which columns make it so."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from classwise.arrays import Array, Codes
from classwise.covariance.structures import Covariance, tolerance
from classwise.errors import SingularCovarianceError
from classwise.statistics import ClassStatistics


def refuse_singular(covariance: Covariance, statistics: ClassStatistics, remedy: str | None = None) -> Covariance:
    """The covariance itself, unless one of its matrices has no inverse: then an error explains the first of those.

    remedy: a sentence, where the options of the model are others than those of the Gaussian family.
    """
    if covariance.is_regular:
        return covariance
    deficits = [_examine(covariance, k) for k in range(len(covariance.values))]
    first = next((k for k, deficit in enumerate(deficits) if deficit.rank < statistics.n_features), 0)
    raise SingularCovarianceError(_explain(covariance, statistics, first, deficits[first], remedy))


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
    if not covariance.correlated or not len(varying):
        return Deficit(len(varying), constant, {})
    scale = np.sqrt(variances[varying])
    correlation = covariance.matrices()[k][np.ix_(varying, varying)] / np.outer(scale, scale)
    dependent = _dependencies(correlation, tolerance(len(variances)))
    named = {int(varying[j]): varying[others].tolist() for j, others in dependent.items()}
    return Deficit(len(varying) - len(named), constant, named)


def _dependencies(correlation: Array, least: float) -> dict[int, Codes]:
    """The columns that follow linearly from others, with those they follow from, by a pivoted Cholesky factor."""
    factor, pivots, rank, _ = dpstrf(correlation, tol=least)
    basis, others = pivots[:rank] - 1, pivots[rank:] - 1
    weights = solve_triangular(factor[:rank, :rank], factor[:rank, rank:])
    return {int(j): np.sort(basis[np.abs(weights[:, i]) > 1e-6]) for i, j in enumerate(others)}


def _explain(covariance: Covariance, statistics: ClassStatistics, k: int, deficit: Deficit, remedy: str | None) -> str:
    features = statistics.n_features
    own = len(covariance.values) == len(statistics.labels)
    weight = statistics.weight[k] if own else statistics.weight.sum()
    rows = f"{weight:.0f} {_plural('row', weight)}" if weight == round(weight) else f"total weight {weight:.6g}"
    size = f"{rows} and {features} {_plural('feature', features)}"
    if own:
        subject = f"Class {statistics.label(k)!r} has {size}, so its"
    else:
        subject = f"The classes share one covariance; with {size} this"
    if deficit.rank >= weight - (1 if own else len(statistics.labels)):
        # The rows are too few for any columns: that these depend on each other is not to blame.
        deficit = Deficit(deficit.rank, deficit.constant if deficit.rank else [], {})
    causes = _causes(statistics, deficit, own)
    remedies = remedy or _remedies(covariance, own, deficit)
    return f"{subject} {covariance.name} covariance has rank {deficit.rank}{causes}. {remedies}"


def _causes(statistics: ClassStatistics, deficit: Deficit, own: bool) -> str:
    causes = []
    if deficit.constant:
        names = _list(statistics, deficit.constant)
        where = "" if own else " within classes"
        causes.append(f"{names} {'does' if len(deficit.constant) == 1 else 'do'} not vary{where}")
    for column, others in sorted(deficit.dependent.items())[:3]:
        causes.append(f"{statistics.name(column)} follows linearly from {_list(statistics, others)}")
    return ": " + "; ".join(causes) if causes else ""


def _remedies(covariance: Covariance, own: bool, deficit: Deficit) -> str:
    """What would help: each remedy is named only where it does."""
    full, partly = covariance.correlated, covariance.constraints > 0
    options = {
        "share it (share=1)": own and not partly,
        "share all of it (structure='EEE')": own and partly and full,
        "share all of it (structure='EEI')": own and partly and not full,
        "restrict it (structure='diagonal')": full and deficit.rank > 0 and not deficit.constant,
        "shrink it (shrink='oas')": full and deficit.rank > 0 and not partly,
        "shrink it (structure='full', shrink='oas')": full and deficit.rank > 0 and partly,
        "shrink it (shrink=0.1)": not full and deficit.rank > 0 and not partly,
        "drop the columns named": bool(deficit.constant or deficit.dependent) and deficit.rank > 0,
        "add rows that differ": not (deficit.constant or deficit.dependent) or deficit.rank == 0,
    }
    remedies = [remedy for remedy, helps in options.items() if helps]
    sentence = " or ".join(filter(None, [", ".join(remedies[:-1]), remedies[-1]]))
    return sentence[0].upper() + sentence[1:] + "."


def _list(statistics: ClassStatistics, columns: list[int]) -> str:
    names = ", ".join(statistics.name(column) for column in columns[:5])
    return f"{names} and {len(columns) - 5} more" if len(columns) > 5 else names


def _plural(word: str, count: float) -> str:
    return word if count == 1 else word + "s"
