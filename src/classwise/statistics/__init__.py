"""1. A statistic is a summary you can add."""

from classwise.statistics.by_class import ClassStatistics
from classwise.statistics.grouping import Groups
from classwise.statistics.labels import code_labels, union_labels
from classwise.statistics.moments import Moments, gather_moments
from classwise.statistics.scatter import SCATTERS, DiagonalScatter, FullScatter, PooledScatter, Scatter

__all__ = [
    "SCATTERS",
    "ClassStatistics",
    "DiagonalScatter",
    "FullScatter",
    "Groups",
    "Moments",
    "PooledScatter",
    "Scatter",
    "code_labels",
    "gather_moments",
    "union_labels",
]
