"""Methods that a model lacks, and why.

No class inherits a method in order to refuse it. A class names what it lacks (`_unavailable`), with one of the reasons
below: `hasattr` is False, tab completion does not show the method, and the error says why.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from classwise.errors import NotAvailableError

DENSITIES = ("log_joint", "log_density", "log_evidence", "sample", "nll", "check", "density_grid")
STATISTICS = ("partial_fit", "fit_statistics")
LEFT_OUT = ("leave_one_out", "leave_one_out_evidence")
SETS = ("prediction_sets", "calibrate_sets")

Reasons: TypeAlias = dict[str, str]


def _lacking(names: Sequence[str], why: str) -> Reasons:
    """The same reason for each of these methods; {model} and {name} stand for the names of the class and the method."""
    return dict.fromkeys(names, why)


# The reasons ----------------------------------------------------------------------------------------------------------

NO_SETS = _lacking(
    SETS,
    "Prediction sets come from exact posteriors of left-out rows by statistics, which {model} does not have; give LDA, "
    "QDA, NearestMean, NaiveBayes or GaussianClassifier.",
)
NO_BATCHES = _lacking(
    ("partial_fit",),
    "{model} leaves an option to cross-validation, which needs all rows twice, so it has no partial_fit. Call fit with "
    "all rows, or give the option as a number, and no calibrate.",
)
TREES = _lacking(
    DENSITIES,
    "A forest has no {name}: trees tell classes apart, and have no density of rows. LDA, QDA and NaiveBayes have one.",
)
LABELS_ALONE = _lacking(
    DENSITIES,
    "{model} has no {name}: it models the label given the row, not the row itself. LDA, QDA and NaiveBayes have it.",
)
MEMBERS = _lacking(
    (*DENSITIES, *LEFT_OUT),
    "{model} has no {name}: some members of a stack do not model the rows. LDA, QDA and NaiveBayes have it.",
)
WRAPPED = _lacking(
    (*DENSITIES, *STATISTICS, *LEFT_OUT, "calibrate_sets"),
    "A Decision has no {name}: it wraps a model. Call {name} of the model itself: decision.model_.{name}.",
)


def many_passes(by: str) -> Reasons:
    """Of models that are learned from rows; by: what goes through them many times."""
    return _lacking(
        (*STATISTICS, *LEFT_OUT),
        f"{{model}} learns from rows, which {by} goes through many times: statistics of them do not suffice, so it has "
        "no partial_fit, fit_statistics or leave_one_out. Call fit with all rows; LDA, QDA and NaiveBayes learn from "
        "statistics.",
    )


# How they are given ---------------------------------------------------------------------------------------------------


class ExplainsUnavailable:
    """A class that says why it lacks methods."""

    # What the class lacks, and why; its bases have tables of their own.
    _unavailable: ClassVar[Reasons] = {}

    if not TYPE_CHECKING:  # a type checker would take every name for one that there is

        def __getattr__(self, name: str) -> Any:
            """Called for what is not there."""
            for kind in type(self).__mro__:
                if name in kind.__dict__.get("_unavailable", ()):
                    raise unavailable(self, name, kind._unavailable)
            return object.__getattribute__(self, name)  # raises the usual error


def unavailable(model: Any, name: str, reasons: Reasons) -> NotAvailableError:
    """The error that says why a model lacks a method."""
    return NotAvailableError(reasons[name].format(model=type(model).__name__, name=name))
