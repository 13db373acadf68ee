"""Fisher's directions: the projections in which class means lie furthest apart, measured in within-class spread."""

from dataclasses import dataclass

import numpy as np

from classwise.arrays import Array, finite
from classwise.densities import Gaussian


@dataclass(frozen=True, eq=False)
class FisherProjection:
    """(x - center) @ directions, with directions (p, r), r = min(g - 1, p), the most telling first.

    Within a class the projected rows have covariance I.
    ratios (r,): each direction's share of the between-class variance.
    """

    center: Array
    directions: Array
    ratios: Array

    def __call__(self, rows: Array) -> Array:
        return finite((rows - self.center) @ self.directions)


def fisher_projection(gaussian: Gaussian, priors: Array) -> FisherProjection:
    """The generalized eigenvectors of between-class against within-class covariance.

    Whitening by the shared covariance turns them into the principal axes of the class means.
    """
    means, covariance = gaussian.means, gaussian.covariance
    center = means[0] + priors @ (means - means[0])
    whitened = np.sqrt(priors)[:, None] * covariance.whiten(means - center, 0)
    _, lengths, axes = np.linalg.svd(whitened, full_matrices=False)
    rank = min(len(means) - 1, means.shape[1])
    directions = covariance.project(axes[:rank].T, 0)
    squares = lengths[:rank] ** 2
    total = squares.sum()
    # A direction has no sign of its own: the largest coefficient is made positive.
    signs = np.sign(directions[np.abs(directions).argmax(axis=0), np.arange(rank)])
    return FisherProjection(center, directions * signs, squares / total if total else squares)
