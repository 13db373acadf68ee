"""Which classifier to trust: a comparison of many models on the same folds."""

from classwise.comparison.compare_rows import compare
from classwise.comparison.learning_curves import LearningCurve, learning_curve
from classwise.comparison.result import Comparison

__all__ = ["Comparison", "LearningCurve", "compare", "learning_curve"]
