"""Auto: the best probabilities without tuning, as a weighted average of members that differ in kind."""

from classwise.comparison.stack.classifier import AutoClassifier
from classwise.comparison.stack.learning import MOST_ROWS, Learned, learn
from classwise.comparison.stack.members import NAMED, SETS
from classwise.comparison.stack.report import AutoReport
from classwise.comparison.stack.statistics import AutoStatistics

__all__ = ["MOST_ROWS", "NAMED", "SETS", "AutoClassifier", "AutoReport", "AutoStatistics", "Learned", "learn"]
