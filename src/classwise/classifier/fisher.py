"""What one covariance for all classes makes possible: Fisher's directions, and linear classification functions.

Directions are the projections in which class means lie furthest apart, measured in within-class spread.
"""

from dataclasses import dataclass

import numpy as np

from classwise.arrays import Array, finite
from classwise.classifier.bayes import BayesClassifier
from classwise.densities import Gaussian


@dataclass(frozen=True, eq=False)
class FisherProjection:
    """(x - center) @ directions, with directions (p, r), r = min(g - 1, p), the most telling first.

    Within a class the projected rows have covariance I.
    ratios (r,): each direction's share of the between-class variance. means (g, r): the class means, projected.
    """

    center: Array
    directions: Array
    ratios: Array
    means: Array

    def __call__(self, rows: Array) -> Array:
        return finite((rows - self.center) @ self.directions)

    def first(self, count: int | None) -> "FisherProjection":
        """The first directions alone; all of them for None."""
        if count is None:
            return self
        return FisherProjection(self.center, self.directions[:, :count], self.ratios[:count], self.means[:, :count])


def overall_mean(means: Array, priors: Array) -> Array:
    """The sum over classes of prior_k m_k, computed so that rounding does not move means that are equal; (p,)."""
    return np.asarray(means[0] + priors @ (means - means[0]))


def fisher_projection(gaussian: Gaussian, priors: Array) -> FisherProjection:
    """The generalized eigenvectors of between-class against within-class covariance.

    Whitening by the shared covariance turns them into the principal axes of the class means.
    """
    means, covariance = gaussian.means, gaussian.covariance
    center = overall_mean(means, priors)
    whitened = np.sqrt(priors)[:, None] * covariance.whiten(means - center, 0)
    _, lengths, axes = np.linalg.svd(whitened, full_matrices=False)
    rank = min(len(means) - 1, means.shape[1])
    directions = covariance.project(axes[:rank].T, 0)
    squares = lengths[:rank] ** 2
    total = squares.sum()
    # A direction has no sign of its own: the largest coefficient is made positive.
    signs = np.sign(directions[np.abs(directions).argmax(axis=0), np.arange(rank)])
    directions = directions * signs
    return FisherProjection(center, directions, squares / total if total else squares, (means - center) @ directions)


def reduced(gaussian: Gaussian, priors: Array, rank: int) -> Gaussian:
    """The means moved into the space of the first directions: what lies across it no longer tells classes apart.

    Of directions D with D'C D = I the part of a mean within their space is C D D'(m - center). Hastie and Tibshirani
    (1996): it is maximum likelihood for means that lie in a space of this rank.
    """
    projection = fisher_projection(gaussian, priors)
    directions, covariance = projection.directions[:, :rank], gaussian.covariance.matrices()[0]
    return Gaussian(projection.center + projection.means[:, :rank] @ (covariance @ directions).T, gaussian.covariance)


def linear_functions(gaussian: Gaussian, model: BayesClassifier) -> tuple[Array, Array]:
    """w_k = C^-1 (m_k - center) (g, p) and w_k0 (g,): log P(k | x) is w_k'x + w_k0, up to a term that classes share.

        w_k0 = log prior_k - 1/2 (m_k - center)' C^-1 (m_k - center) - w_k' center

    Of a calibrated model, the power times both, and the shift.
    """
    center = overall_mean(gaussian.means, model.priors)
    whitened = gaussian.covariance.whiten(gaussian.means - center, 0)
    weights = gaussian.covariance.project(whitened.T, 0).T
    constants = model.log_prior[:, 0] - 0.5 * (whitened**2).sum(axis=1) - weights @ center
    if model.calibration is None:
        return weights, constants
    return model.calibration.power * weights, model.calibration(constants[:, None])[:, 0]
