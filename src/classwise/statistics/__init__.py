"""1. A statistic is a summary you can add."""

from classwise.statistics.by_class import ClassStatistics
from classwise.statistics.counts import Counts, LevelCounts, gather_counts
from classwise.statistics.curvature import Curvature
from classwise.statistics.gaps import Gaps, Numbers
from classwise.statistics.grouping import Groups
from classwise.statistics.labels import code_labels, is_missing, is_sorted, sort_labels, union_labels
from classwise.statistics.moments import Moments, gather_columns, gather_moments
from classwise.statistics.quartics import Quartics
from classwise.statistics.scatter import SCATTERS, DiagonalScatter, FullScatter, PooledScatter, Scatter
from classwise.statistics.statistic import Statistic

__all__ = [
    "SCATTERS",
    "ClassStatistics",
    "Counts",
    "Curvature",
    "DiagonalScatter",
    "FullScatter",
    "Gaps",
    "Groups",
    "LevelCounts",
    "Moments",
    "Numbers",
    "PooledScatter",
    "Quartics",
    "Scatter",
    "Statistic",
    "code_labels",
    "gather_columns",
    "gather_counts",
    "gather_moments",
    "is_missing",
    "is_sorted",
    "sort_labels",
    "union_labels",
]
