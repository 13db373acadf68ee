"""What each column of a table is, what is wrong with the table, and the remedies: one function for each check."""

from classwise.diagnostics.examination.checkup import examine
from classwise.diagnostics.examination.examination import ColumnLine, Examination, Remark

__all__ = ["ColumnLine", "Examination", "Remark", "examine"]
