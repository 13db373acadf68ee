"""Robust fits: means and scatter that a few rows far away do not decide."""

from classwise.densities.robust.determinant import RobustGaussians, fit_determinant
from classwise.densities.robust.problem import LabeledRows, RobustProblem
from classwise.densities.robust.student_em import LARGEST_DEGREES, LEAST_DEGREES, StudentFit, fit_student

__all__ = [
    "LARGEST_DEGREES",
    "LEAST_DEGREES",
    "LabeledRows",
    "RobustGaussians",
    "RobustProblem",
    "StudentFit",
    "fit_determinant",
    "fit_student",
]
