"""How features vary together: structures, sharing and shrinkage."""

from classwise.covariance.completion import (
    TOLERANCE,
    Completion,
    complete,
    complete_by,
)
from classwise.covariance.conjugate import Conjugate, NormalInverseWishart, PriorForm, log_evidence
from classwise.covariance.decomposition import (
    DECOMPOSITIONS,
    Decomposition,
    PartlyShared,
    count_parameters,
    in_letters,
    read_structure,
)
from classwise.covariance.diagonal import DiagonalCovariance, SphericalCovariance
from classwise.covariance.expectation import GaussianParameters
from classwise.covariance.full import FullCovariance
from classwise.covariance.named_priors import check_prior, most_probable_form, read_prior
from classwise.covariance.overall_moments import with_overall_moments
from classwise.covariance.recipe import (
    ESTIMATES,
    STRUCTURES,
    UNSHRUNK,
    Average,
    Blend,
    CovarianceRule,
    Divisor,
    Fixed,
    OracleApproximating,
    Recipe,
    Sharing,
    Shrinkage,
    is_cv,
    overall_deviation,
    read_dials,
    read_sharing,
    read_shrinkage,
)
from classwise.covariance.structure_table import StructureTable
from classwise.covariance.structures import Covariance

__all__ = [
    "DECOMPOSITIONS",
    "ESTIMATES",
    "STRUCTURES",
    "TOLERANCE",
    "UNSHRUNK",
    "Average",
    "Blend",
    "Completion",
    "Conjugate",
    "Covariance",
    "CovarianceRule",
    "Decomposition",
    "DiagonalCovariance",
    "Divisor",
    "Fixed",
    "FullCovariance",
    "GaussianParameters",
    "NormalInverseWishart",
    "OracleApproximating",
    "PartlyShared",
    "PriorForm",
    "Recipe",
    "Sharing",
    "Shrinkage",
    "SphericalCovariance",
    "StructureTable",
    "check_prior",
    "complete",
    "complete_by",
    "count_parameters",
    "in_letters",
    "is_cv",
    "log_evidence",
    "most_probable_form",
    "overall_deviation",
    "read_dials",
    "read_prior",
    "read_sharing",
    "read_shrinkage",
    "read_structure",
    "with_overall_moments",
]
