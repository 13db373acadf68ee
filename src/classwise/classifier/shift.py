"""Prior shift: the shares of the classes have changed, and rows without labels tell how (Saerens et al. 2002).

    log p(rows) = sum over rows of log sum over classes of prior_k r_k(x),   r_k(x) = P(k | x) / old prior_k

It is concave in the priors. EM climbs it: the new prior of a class is the mean of its posteriors under the last priors.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import chi2

from classwise.arrays import Array, Labels
from classwise.storage import stored

# EM stops when no prior moves by more than this, or after so many steps.
STILL = 1e-10
MOST_STEPS = 10_000

# A prior below this is zero.
EDGE = 1e-6

# Log-likelihoods whose curvature is less than this for each row are flat.
FLAT = 1e-12

# Below this p-value the priors are taken to have shifted.
LEVEL = 0.05


@stored("PriorShift", loose=("error",))
@dataclass(frozen=True, eq=False, repr=False)
class PriorShift(Mapping[Any, float]):
    """Priors of new rows: a mapping from label to prior, which `with_priors` takes.

    estimate (g,): the most probable priors; error (g,): their standard errors as if the classes were known exactly, NaN
    for a prior of 0 or 1, infinite where classes cannot be told apart; before (g,): those of the model.
    statistic: twice the gain of log-likelihood over the old priors, chi-square with g - 1 degrees of freedom if nothing
    has shifted; p_value. The mapping holds the estimate if the shift is significant (p < 0.05), else the old priors.
    """

    labels: Labels
    estimate: Array
    error: Array
    before: Array
    statistic: float
    p_value: float

    def _is_sound(self) -> bool:
        return self.estimate.shape == self.error.shape == self.before.shape == self.labels.shape == (len(self),)

    @property
    def has_shifted(self) -> bool:
        """Whether the old priors are refuted."""
        return self.p_value < LEVEL

    @property
    def priors(self) -> Array:
        """The estimate if the priors have shifted, else the old ones; (g,)."""
        return self.estimate if self.has_shifted else self.before

    def __getitem__(self, label: Any) -> float:
        labels = self.labels.tolist()
        if label not in labels:
            raise KeyError(label)
        return float(self.priors[labels.index(label)])

    def __iter__(self) -> Any:
        return iter(self.labels.tolist())

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        rows = zip(self.labels.tolist(), self.before, self.estimate, self.error, strict=True)
        lines = [f"  {label!s}: {old:.4g} -> {_shown(new, error)}" for label, old, new, error in rows]
        verdict = "the priors have shifted" if self.has_shifted else "no shift that the rows could show"
        return "\n".join([f"PriorShift: {verdict} (chi-square {self.statistic:.4g}, p = {self.p_value:.3g})", *lines])


def _shown(prior: float, error: float) -> str:
    if np.isnan(error):
        return "0" if prior <= EDGE else f"{prior:.4g}"
    return f"{prior:.4g} ± {error:.2g}"


def estimate_shift(log_posterior: Array, labels: Labels, priors: Array) -> PriorShift:
    """From log posteriors (n, g) of new rows under the old priors (g,)."""
    known = priors > 0
    ratios = np.zeros_like(log_posterior)
    ratios[:, known] = np.exp(log_posterior[:, known]) / priors[known]
    estimate = _climb(ratios, priors)
    gain = 2 * float(np.log(ratios @ estimate).sum() - np.log(ratios @ priors).sum())
    freedom = max(int(known.sum()) - 1, 1)
    p_value = float(chi2.sf(max(gain, 0.0), freedom))
    return PriorShift(labels, estimate, _errors(ratios, estimate), priors, max(gain, 0.0), p_value)


def _climb(ratios: Array, priors: Array) -> Array:
    """EM from the old priors to the top; (g,)."""
    for _ in range(MOST_STEPS):
        joint = ratios * priors
        following = (joint / joint.sum(axis=1, keepdims=True)).mean(axis=0)
        if np.abs(following - priors).max() < STILL:
            return following
        priors = following
    return priors


def _errors(ratios: Array, priors: Array) -> Array:
    """Standard errors from the curvature, within the plane where priors sum to one; (g,).

    A prior at the edge, 0 or 1, has none: NaN. Priors that the rows cannot tell apart, of classes that look the same,
    have infinite ones.
    """
    inside = np.flatnonzero(priors > EDGE)
    errors = np.full(len(priors), np.nan)
    if len(inside) < 2:
        return errors
    scaled = ratios[:, inside] / (ratios @ priors)[:, None]
    plane = np.linalg.svd(np.ones((1, len(inside))))[2][1:].T  # directions that keep the sum
    curvatures, axes = np.linalg.eigh(plane.T @ (scaled.T @ scaled) @ plane)
    shares = (plane @ axes) ** 2
    flat = curvatures <= FLAT * len(ratios)
    variances = (shares[:, ~flat] / curvatures[~flat]).sum(axis=1)
    errors[inside] = np.where((shares[:, flat] > FLAT).any(axis=1), np.inf, np.sqrt(variances))
    return errors
