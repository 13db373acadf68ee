"""Choosing: by evidence, and by cross-validation from statistics by fold."""

from classwise.selection.by_fold import FoldStatistics, summarize_folds
from classwise.selection.families import Choice, choose_families
from classwise.selection.folds import assign_folds

__all__ = ["Choice", "FoldStatistics", "assign_folds", "choose_families", "summarize_folds"]
