"""What the numbers say about the choice of a model: covariances, Normality, rank and overlap, each with its advice."""

from classwise.diagnostics.diagnosis import Diagnosis, diagnose
from classwise.diagnostics.equality import Equality
from classwise.diagnostics.normality import Normality
from classwise.diagnostics.overlap import Overlap
from classwise.diagnostics.spectrum import Spectrum

__all__ = ["Diagnosis", "Equality", "Normality", "Overlap", "Spectrum", "diagnose"]
