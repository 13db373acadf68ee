"""1. A statistic is a summary you can add."""

from classwise.statistics.by_class import ClassStatistics
from classwise.statistics.columnwise import gather_from_columns, suits_columns
from classwise.statistics.counts import Counts, LevelCounts, gather_counts, is_id
from classwise.statistics.curvature import Curvature
from classwise.statistics.gaps import Gaps, Numbers
from classwise.statistics.grouping import Groups
from classwise.statistics.learner import Counted, Learner, Tally, as_arrow, as_frame, count_rows, read_weights
from classwise.statistics.moments import Moments, gather_columns, gather_moments
from classwise.statistics.pairs import PairCounts, gather_pairs
from classwise.statistics.passes import Passes
from classwise.statistics.places import Bins, Named, Place
from classwise.statistics.quantiles import Quantiles, Sketches
from classwise.statistics.quartics import Quartics
from classwise.statistics.scatter import SCATTERS, DiagonalScatter, FullScatter, PooledScatter, Scatter
from classwise.statistics.statistic import Statistic
from classwise.statistics.summarizing import open_rows, summarize, warn_of_unlabeled

__all__ = [
    "SCATTERS",
    "Bins",
    "ClassStatistics",
    "Counted",
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
    "Passes",
    "Place",
    "PooledScatter",
    "Quantiles",
    "Quartics",
    "Scatter",
    "Sketches",
    "Statistic",
    "Tally",
    "as_arrow",
    "as_frame",
    "count_rows",
    "gather_columns",
    "gather_counts",
    "gather_from_columns",
    "gather_moments",
    "gather_pairs",
    "is_id",
    "open_rows",
    "read_weights",
    "suits_columns",
    "summarize",
    "warn_of_unlabeled",
]
