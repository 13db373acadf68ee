"""2. A density is what a statistic lets us believe about a class."""

from classwise.densities.aode import OneDependence
from classwise.densities.categorical import Categorical, Levels, levels_evidence
from classwise.densities.constant import Constant
from classwise.densities.counts import Binomial, Poisson
from classwise.densities.density import Density
from classwise.densities.gaussian import Gaussian
from classwise.densities.lognormal import LogNormal
from classwise.densities.mixture import Mixture
from classwise.densities.observed import Observed
from classwise.densities.presence import Presence
from classwise.densities.product import Block, Product
from classwise.densities.student import IndependentStudent, Student, predictive
from classwise.densities.unseen import Unseen

__all__ = [
    "Binomial",
    "Block",
    "Categorical",
    "Constant",
    "Density",
    "Gaussian",
    "IndependentStudent",
    "Levels",
    "LogNormal",
    "Mixture",
    "Observed",
    "OneDependence",
    "Poisson",
    "Presence",
    "Product",
    "Student",
    "Unseen",
    "levels_evidence",
    "predictive",
]
