"""How features vary together: structures, sharing and shrinkage."""

from classwise.covariance.beliefs import check_prior, read_prior
from classwise.covariance.completion import TOLERANCE, Completion, Parameters, complete, complete_by, refuse_never_seen
from classwise.covariance.conjugate import Conjugate, NormalInverseWishart, PriorForm, log_evidence
from classwise.covariance.evidence import most_probable_form
from classwise.covariance.recipe import Recipe, overall_deviation
from classwise.covariance.sharing import ESTIMATES, Average, Blend, Divisor, Sharing, read_sharing
from classwise.covariance.shrinkage import CovarianceRule, Fixed, OracleApproximating, Shrinkage, read_shrinkage
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
    "TOLERANCE",
    "Average",
    "Blend",
    "Completion",
    "Conjugate",
    "Covariance",
    "CovarianceRule",
    "DiagonalCovariance",
    "Divisor",
    "Fixed",
    "FullCovariance",
    "NormalInverseWishart",
    "OracleApproximating",
    "Parameters",
    "PriorForm",
    "Recipe",
    "Sharing",
    "Shrinkage",
    "SphericalCovariance",
    "check_prior",
    "complete",
    "complete_by",
    "log_evidence",
    "most_probable_form",
    "overall_deviation",
    "read_prior",
    "read_sharing",
    "read_shrinkage",
    "refuse_never_seen",
]
