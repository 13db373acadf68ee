"""Which classifier to trust: a comparison of many models on the same folds."""

from classwise.comparison.column_selection import ColumnSelection
from classwise.comparison.compare_rows import compare
from classwise.comparison.learning_curves import LearningCurve, learning_curve
from classwise.comparison.result import Comparison
from classwise.comparison.select_from_rows import select_columns

__all__ = ["ColumnSelection", "Comparison", "LearningCurve", "compare", "learning_curve", "select_columns"]
