"""What the rows say about the choice of a model before it is fitted, and whether it looks like them afterwards.

First of all: what is wrong with the table. Before: covariances, Normality, rank and overlap, each with its advice.
After: samples of the model, compared with the rows.
"""

from classwise.diagnostics.advice import Claim
from classwise.diagnostics.check import PredictiveCheck, check
from classwise.diagnostics.check_lines import CheckLine, CheckTable, Histogram
from classwise.diagnostics.diagnosis import Diagnosis, diagnose
from classwise.diagnostics.equality import Equality
from classwise.diagnostics.examination import Examination, Remark, examine
from classwise.diagnostics.normality import Normality
from classwise.diagnostics.overlap import Overlap
from classwise.diagnostics.spectrum import Spectrum

__all__ = [
    "CheckLine",
    "CheckTable",
    "Claim",
    "Diagnosis",
    "Equality",
    "Examination",
    "Histogram",
    "Normality",
    "Overlap",
    "PredictiveCheck",
    "Remark",
    "Spectrum",
    "check",
    "diagnose",
    "examine",
]
