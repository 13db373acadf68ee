"""How features vary together: structures, sharing and shrinkage."""

from classwise.covariance.completion import Completion, complete, refuse_never_seen
from classwise.covariance.divisors import ESTIMATES, Divisor
from classwise.covariance.recipe import Recipe, overall_deviation
from classwise.covariance.sharing import Average, Blend, Sharing, read_sharing
from classwise.covariance.shrinkage import Fixed, OracleApproximating, Shrinkage, read_shrinkage
from classwise.covariance.structures import (
    STRUCTURES,
    Covariance,
    DiagonalCovariance,
    FullCovariance,
    SphericalCovariance,
)

__all__ = [
    "ESTIMATES",
    "STRUCTURES",
    "Average",
    "Blend",
    "Completion",
    "Covariance",
    "DiagonalCovariance",
    "Divisor",
    "Fixed",
    "FullCovariance",
    "OracleApproximating",
    "Recipe",
    "Sharing",
    "Shrinkage",
    "SphericalCovariance",
    "complete",
    "overall_deviation",
    "read_sharing",
    "read_shrinkage",
    "refuse_never_seen",
]
