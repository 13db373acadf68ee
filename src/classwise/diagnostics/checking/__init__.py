"""Does the model look like the data? Samples of the model beside the rows, class by class and column by column."""

from classwise.diagnostics.checking.check import PredictiveCheck, check
from classwise.diagnostics.checking.report import CheckLine, CheckTable, Histogram

__all__ = ["CheckLine", "CheckTable", "Histogram", "PredictiveCheck", "check"]
