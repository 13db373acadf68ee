"""What other packages ask of an estimator of statistics, beside its public methods: its plan, and what is left to
choose.

A user never needs these, so they are not methods that `dir` shows.
"""

from typing import Any, TypeVar

from classwise.classifier.bayes import Calibration
from classwise.classifier.plan import Plan
from classwise.estimators.summary import SummaryEstimator, Tuned
from classwise.selection.crossing import Crossing
from classwise.statistics import ClassStatistics

M = TypeVar("M", bound=SummaryEstimator)


def plan_of(model: SummaryEstimator) -> Plan:
    """The options, checked: which statistics to gather, and how to make a model of them."""
    return model._plan()


def open_choices(model: SummaryEstimator) -> dict[str, Any]:
    """The options that are left to held-out rows, with their values; calibrate is not among them."""
    return model._open_choices()


def left_to_rows(model: SummaryEstimator) -> dict[str, Any]:
    """The same, and calibrate."""
    return model._left_to_rows()


def tuned(model: SummaryEstimator, crossing: Crossing) -> Tuned:
    """The model with all open choices made on the folds of a crossing, except the temperature."""
    return model._tune(crossing)


def adopted(model: M, choices: Tuned, calibration: Calibration | None, statistics: ClassStatistics) -> M:
    """The model itself, fitted to statistics with the options that were chosen."""
    return model._adopt(choices, calibration, statistics)
