"""AutoClassifier: a stack, that is, a weighted average of different kinds of models, without any tuning by hand."""

from classwise.comparison.stack.auto_classifier import AutoClassifier
from classwise.comparison.stack.members import NAMED, SETS
from classwise.comparison.stack.stacking import AutoReport, LearnedStack, learn
from classwise.comparison.stack.sums import AutoStatistics

__all__ = ["NAMED", "SETS", "AutoClassifier", "AutoReport", "AutoStatistics", "LearnedStack", "learn"]
