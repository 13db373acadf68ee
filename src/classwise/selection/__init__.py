"""Choosing: by evidence, and by cross-validation from statistics by fold."""

from classwise.selection.by_fold import FoldStatistics, FoldTally, summarize_folds
from classwise.selection.downdates import Downdates, groups_of
from classwise.selection.folds import assign_folds, no_more_than
from classwise.selection.path import Path
from classwise.selection.predictives import Predictives, StrengthPath
from classwise.selection.temperature import OutOfFold

__all__ = [
    "Downdates",
    "FoldStatistics",
    "FoldTally",
    "OutOfFold",
    "Path",
    "Predictives",
    "StrengthPath",
    "assign_folds",
    "groups_of",
    "no_more_than",
    "summarize_folds",
]
