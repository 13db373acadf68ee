"""2. A density is what a statistic lets us believe about a class."""

from classwise.densities.absence import Constant, Copies, Observed, Presence, Unseen
from classwise.densities.aode import OneDependence
from classwise.densities.categorical import Categorical, Levels, levels_evidence
from classwise.densities.count_data import Binomial, Poisson
from classwise.densities.density import Block, Density, Product
from classwise.densities.gaussian import Gaussian, LogNormal
from classwise.densities.kernel import Kernel
from classwise.densities.mixture import Mixture
from classwise.densities.multinomial import Complement, Multinomial
from classwise.densities.sparse import OnSparse
from classwise.densities.student import IndependentStudent, Student, predictive

__all__ = [
    "Binomial",
    "Block",
    "Categorical",
    "Complement",
    "Constant",
    "Copies",
    "Density",
    "Gaussian",
    "IndependentStudent",
    "Kernel",
    "Levels",
    "LogNormal",
    "Mixture",
    "Multinomial",
    "Observed",
    "OnSparse",
    "OneDependence",
    "Poisson",
    "Presence",
    "Product",
    "Student",
    "Unseen",
    "levels_evidence",
    "predictive",
]
