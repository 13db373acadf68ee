"""Auto: the best probabilities without tuning, as a weighted average of members that differ in kind."""

from classwise.comparison.stack.auto_classifier import AutoClassifier
from classwise.comparison.stack.members import NAMED, SETS
from classwise.comparison.stack.stacking import AutoReport, LearnedStack, learn
from classwise.comparison.stack.sums import AutoStatistics

__all__ = ["NAMED", "SETS", "AutoClassifier", "AutoReport", "AutoStatistics", "LearnedStack", "learn"]
