"""The section on prediction sets: how many classes it takes to hold the true one as often as you ask."""

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Codes, log_normalize
from classwise.report.page import Markup, paragraph, percent, section, table
from classwise.report.report_data import ReportData
from classwise.selection.conformal import held_out_sets

# How often sets are to hold the true class: in all, and for the table of classes.
COVERAGES = (0.8, 0.9, 0.95, 0.99)
BY_CLASS = 0.9

# Of more classes, the table is of the first.
MOST_CLASSES = 30

INTRODUCTION = (
    "A prediction set holds all classes that a row may well belong to. The more often it is to hold the true class, "
    "the more classes it takes. These sets come from held-out rows, so they show what to expect of new ones."
)
GUARANTEE = (
    "In Python, LDA, QDA, naive Bayes and related models give such sets with a guarantee: m.prediction_sets(X, "
    "coverage=0.9)."
)


def sets(study: ReportData) -> Markup:
    """How large sets are at several coverages, and how often they hold each class; nothing where rows are a stream."""
    winner, codes = study.comparison.winner, study.comparison.codes
    if winner.log_posterior is None or not len(codes):
        return ""
    logs = winner.log_posterior
    if winner.uses_power and winner.calibration is not None:
        logs = log_normalize(winner.calibration(logs.T)).T
    found = {coverage: held_out_sets(logs, codes, coverage) for coverage in COVERAGES}
    head = ["asked", "held the true class", "classes in a set", "sets of one class"]
    lines = [[percent(coverage), *_measures(held, codes)] for coverage, held in found.items()]
    return section(
        "sets",
        "Sets that hold the true class",
        paragraph(INTRODUCTION),
        table([head, *lines], ">>>>"),
        paragraph(f"By class, for {percent(BY_CLASS)}:"),
        _by_class(study, found[BY_CLASS], codes),
        paragraph(GUARANTEE, "small"),
    )


def _by_class(study: ReportData, held: NDArray[np.bool_], codes: Codes) -> Markup:
    labels = study.comparison.labels.tolist()
    head = ["class", "rows", "held the true class", "classes in a set", "sets of one class"]
    lines = []
    for k in np.unique(codes).tolist()[:MOST_CLASSES]:
        own = codes == k
        lines.append([str(labels[k]), f"{int(own.sum()):,}", *_measures(held[own], codes[own])])
    return table([head, *lines], "<>>>>")


def _measures(held: NDArray[np.bool_], codes: Codes) -> list[str]:
    """How often sets (n, g) hold the true class, how large they are, and how many have one class."""
    sizes = held.sum(axis=1)
    true = held[np.arange(len(codes)), codes]
    return [percent(float(true.mean())), f"{sizes.mean():.2f}", percent(float((sizes == 1).mean()))]
