"""1. A statistic is a summary you can add."""

from classwise.statistics.by_class import ClassStatistics
from classwise.statistics.columnwise import gather_from_columns, suits_columns
from classwise.statistics.counts import Counts, LevelCounts, gather_counts, is_id
from classwise.statistics.curvature import Curvature
from classwise.statistics.gaps import Gaps, Numbers
from classwise.statistics.moments import Moments, gather_columns, gather_moments
from classwise.statistics.pairs import PairCounts, gather_pairs
from classwise.statistics.places import Bins, Named, Place, Quantiles, Sketches
from classwise.statistics.quartics import Quartics
from classwise.statistics.scatter import SCATTERS, DiagonalScatter, FullScatter, Groups, PooledScatter, Scatter
from classwise.statistics.statistic import Statistic
from classwise.statistics.summaries import Learner, Tally, summarize, summarize_rows

__all__ = [
    "SCATTERS",
    "Bins",
    "ClassStatistics",
    "Counts",
    "Curvature",
    "DiagonalScatter",
    "FullScatter",
    "Gaps",
    "Groups",
    "Learner",
    "LevelCounts",
    "Moments",
    "Named",
    "Numbers",
    "PairCounts",
    "Place",
    "PooledScatter",
    "Quantiles",
    "Quartics",
    "Scatter",
    "Sketches",
    "Statistic",
    "Tally",
    "gather_columns",
    "gather_counts",
    "gather_from_columns",
    "gather_moments",
    "gather_pairs",
    "is_id",
    "suits_columns",
    "summarize",
    "summarize_rows",
]
