"""Gathering: the statistics of rows wherever they are, by whichever engine is near them."""

from classwise.gathering.columns import Roles
from classwise.gathering.learner import Learner, Tally, as_frame
from classwise.gathering.verbs import summarize

__all__ = ["Learner", "Roles", "Tally", "as_frame", "summarize"]
