"""3. A classifier is a prior and one density per class.

    log_joint_k(x)  = log prior_k + log p(x | k)
    log_evidence(x) = log sum_k exp log_joint_k(x)
    log_posterior_k = log_joint_k - log_evidence

Bayes' rule is written here, once. Everything is class-major, (g, m), and in logs.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from classwise.arrays import Array, Codes, Labels, finite, first_leader, level_ties, log_sum_exp
from classwise.calibration import Calibration
from classwise.densities import Density, Observed
from classwise.statistics import is_sorted
from classwise.storage import stored


@stored("BayesClassifier")
@dataclass(frozen=True, eq=False)
class BayesClassifier:
    """labels (g,) sorted; priors (g,) that sum to one; the density of each class; how sure posteriors are, if not by
    Bayes' rule alone.
    """

    labels: Labels
    priors: Array
    density: Density
    calibration: Calibration | None = None

    def _is_sound(self) -> bool:
        count, shift = len(self.labels), self.calibration.shift if self.calibration else ()
        matched = self.priors.shape == (count,) and self.density.count == count > 1 and len(shift) in (0, count)
        chances = bool((self.priors >= 0).all()) and abs(float(self.priors.sum()) - 1) < 1e-9
        return matched and chances and is_sorted(self.labels)

    @cached_property
    def log_prior(self) -> Array:
        with np.errstate(divide="ignore"):  # a prior of zero means never: log 0 = -inf
            return np.log(self.priors)[:, None]

    def log_density(self, rows: Array) -> Array:
        """log p(x | k); (m, p) -> (g, m)."""
        relative = self.density.relative(rows, np.zeros_like(self.log_prior))
        finite(relative.max(axis=0))
        return relative + finite(self.density.common(rows))

    def scores(self, rows: Array) -> Array:
        """log_joint up to a term common to all classes; (m, p) -> (g, m)."""
        return level_ties(self.density.relative(rows, self.log_prior))

    def announced(self, rows: Array) -> Array:
        """log P(k | x) up to a term common to all classes, calibrated: what decisions need; (m, p) -> (g, m)."""
        scores = self.scores(rows)
        return scores if self.calibration is None else level_ties(self.calibration(scores))

    def log_joint(self, rows: Array) -> Array:
        """log prior_k + log p(x | k); (m, p) -> (g, m)."""
        return self.scores(rows) + finite(self.density.common(rows))

    def log_evidence(self, rows: Array) -> Array:
        """log p(x); (m, p) -> (m,)."""
        return log_sum_exp(self.scores(rows)) + finite(self.density.common(rows))

    def log_posterior(self, rows: Array) -> Array:
        """log P(k | x); (m, p) -> (g, m)."""
        scores = self.announced(rows)
        # Relative to the best class the digits that posteriors depend on are all still there.
        scores -= scores.max(axis=0)
        scores -= np.log(np.exp(scores).sum(axis=0))
        return scores

    def posterior(self, rows: Array) -> Array:
        """P(k | x); (m, p) -> (g, m)."""
        scores = self.announced(rows)
        scores -= scores.max(axis=0)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=0)
        return scores

    def decide(self, rows: Array) -> Codes:
        """The most probable class, the first of equals; (m, p) -> (m,)."""
        if self.calibration is None:
            return first_leader(self.density.relative(rows, self.log_prior))
        return first_leader(self.announced(rows))

    def sample(self, count: int, generator: np.random.Generator) -> tuple[Array, Labels]:
        """Rows (count, p) and their labels (count,), drawn from the model."""
        codes = generator.choice(len(self.labels), size=count, p=self.priors)
        return self.density.sample(codes, generator), self.labels[codes]

    def with_priors(self, priors: Array) -> "BayesClassifier":
        calibration = self.calibration and self.calibration.with_priors(self.priors, priors)
        return replace(self, priors=priors, calibration=calibration)

    def calibrated(self, calibration: Calibration | None) -> "BayesClassifier":
        return replace(self, calibration=calibration)

    def observing(self) -> "BayesClassifier":
        """The same classifier for rows with gaps, whose missing values are integrated out."""
        return replace(self, density=Observed(self.density))
