"""Gathering: the statistics of rows wherever they are, by whichever engine is near them."""

from classwise.gathering.columns import Roles, level_columns
from classwise.gathering.learner import Counted, Learner, Tally, as_arrow, as_frame, count_rows, read_weights
from classwise.gathering.numbered import Chunk, numbered
from classwise.gathering.passes import Passes
from classwise.gathering.verbs import open_rows, summarize, warn_of_unlabeled

__all__ = [
    "Chunk",
    "Counted",
    "Learner",
    "Passes",
    "Roles",
    "Tally",
    "as_arrow",
    "as_frame",
    "count_rows",
    "level_columns",
    "numbered",
    "open_rows",
    "read_weights",
    "summarize",
    "warn_of_unlabeled",
]
