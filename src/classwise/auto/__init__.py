"""Auto: the best probabilities without tuning, as a weighted average of members that differ in kind."""

from classwise.auto.classifier import AutoClassifier
from classwise.auto.learning import MOST_ROWS, Learned, learn
from classwise.auto.members import NAMED, SETS
from classwise.auto.report import AutoReport
from classwise.auto.statistics import AutoStatistics

__all__ = ["MOST_ROWS", "NAMED", "SETS", "AutoClassifier", "AutoReport", "AutoStatistics", "Learned", "learn"]
