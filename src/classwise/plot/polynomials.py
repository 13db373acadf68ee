"""Log odds of some columns as polynomials, wherever they are: exact boundaries, whatever the other columns are.

    log P(k | x) = g_k(x) + a term that all classes share,   g_k(x) = x'A_k x + b_k'x + c_k

Gaussian columns have the quadratic part. Counts have a straight line: log p(x | k) of a Poisson is x log rate_k -
rate_k, and of a binomial x log(chance_k / (1 - chance_k)) + N log(1 - chance_k), but for terms without k. A column held
at a value adds to the constant alone, unless it varies together with a free one. Student-t and log-normal columns have
no polynomials.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from classwise.arrays import Array
from classwise.classifier.bayes import BayesClassifier
from classwise.classifier.boundary import Discriminant, discriminant
from classwise.classifier.marginal import flat_blocks
from classwise.covariance import FullCovariance
from classwise.densities import Binomial, Block, Gaussian, Poisson
from classwise.plot.moments import moments


def polynomials(
    classifier: BayesClassifier, free: Sequence[int], held: Mapping[int, float], row: Array, names: tuple[str, ...]
) -> list[Discriminant] | None:
    """One for each class, in the free columns, which names are of; None where they are not polynomials.

    row (1, p): the values that columns are held at, missing in all others.
    """
    blocks = flat_blocks(classifier.density)
    own = [block for block in blocks if np.isin(block.columns, free).any()]
    if not all(isinstance(block.density, Gaussian | Poisson | Binomial) for block in own):
        return None
    bent = {int(j) for block in own if isinstance(block.density, Gaussian) for j in block.columns}
    lines = {i: _line(own, j) for i, j in enumerate(free) if j not in bent}
    if not all(np.isfinite(line).all() for line in lines.values()):
        return None
    apart = [_log_density(block, row) for block in blocks if not bent & set(block.columns.tolist())]
    constants = classifier.log_prior[:, 0] + sum(apart)
    curves = _curves(classifier, [j for j in free if j in bent], {j: held[j] for j in held if j in bent})
    made = [_joined(curve, lines, k, float(constants[k]), names) for k, curve in enumerate(curves)]
    calibration = classifier.calibration
    return made if calibration is None else [g.calibrated(calibration, k) for k, g in enumerate(made)]


def _log_density(block: Block, row: Array) -> Array:
    """log p of what a row has in a block; (1, p) -> (g,)."""
    return block.density.observed(block.of(row), np.zeros((block.density.count, 1)))[:, 0]


def _line(own: list[Block], column: int) -> Array:
    """Constant, slope and variance of a column of counts, by class: log p at 0 and at 1 tell; (3, g)."""
    block = next(block for block in own if column in block.columns)
    place = int(np.flatnonzero(block.columns == column)[0])
    rows = np.full((2, len(block.columns)), np.nan)
    rows[:, place] = 0, 1
    zero, one = block.density.observed(rows, np.zeros((block.density.count, 1))).T
    (variance,) = block.density.parameters()[place].values()
    if isinstance(block.density, Binomial):
        variance = block.density.trials[place] * variance * (1 - variance)
    with np.errstate(invalid="ignore"):  # -inf - -inf, where a parameter is at its limit: no polynomial
        return np.stack([zero, one - zero, variance])


def _curves(classifier: BayesClassifier, free: list[int], held: dict[int, float]) -> list[Discriminant | None]:
    """The Gaussian part of each class in some columns, where others are held; None without any column."""
    count = len(classifier.labels)
    if not free:
        return [None] * count
    place = moments(classifier, [*free, *held], exact=True)
    assert place is not None
    gaussian = Gaussian(place[0], FullCovariance(place[1]))
    names, at = tuple(map(str, [*free, *held])), dict(enumerate(held.values(), start=len(free)))
    return [discriminant(gaussian, k, 0.0, names).slice(at) for k in range(count)]


def _joined(
    curve: Discriminant | None, lines: Mapping[int, Array], k: int, constant: float, names: tuple[str, ...]
) -> Discriminant:
    """The curve in its columns and straight lines in the others, which are independent of it."""
    size, straight = len(names), list(lines)
    center, linear = np.zeros(size), np.zeros(size)
    quadratic, covariance = np.zeros((size, size)), np.zeros((size, size))
    if curve is not None:
        bent = [i for i in range(size) if i not in lines]
        center[bent], linear[bent], constant = curve.center, curve.linear, constant + curve.constant
        quadratic[np.ix_(bent, bent)], covariance[np.ix_(bent, bent)] = curve.quadratic, curve.covariance
    for i in straight:
        zero, linear[i], covariance[i, i] = lines[i][:, k]
        constant += float(zero)
    return Discriminant(center, quadratic, linear, constant, covariance, names)
