"""A fitted estimator, or a Decision, as plain values: its columns, labels and classifier, and how it decides."""

from typing import Any

import numpy as np

import classwise.export.standalone.plain_logistic
import classwise.export.standalone.plain_stacks  # noqa: F401
from classwise.arrays import Labels
from classwise.classifier.bayes import BayesClassifier, FittedModel
from classwise.comparison.stack.stack_model import PooledClassifier
from classwise.densities import Constant
from classwise.errors import ClasswiseError
from classwise.estimators import Answers, Decision
from classwise.estimators.answers import refuse_wide
from classwise.estimators.decisions import read_policy
from classwise.export.novelty import DistanceRule, EvidenceRule, novelty_rule
from classwise.export.standalone.plain import Plain, plain
from classwise.rows.conversions import Moment
from classwise.rows.schema import Column
from classwise.rows.table import INTEGRATE


def described(model: Any) -> Plain:
    """What a scorer needs to know of a fitted estimator, or of a Decision about one."""
    decision = _decision(model) if isinstance(model, Decision) else None
    inner = _within(model)
    if getattr(inner, "ties", "first") != "first":
        raise ClasswiseError(
            "ties='random' draws lots, and another program would draw others; set_params(ties='first') needs no new "
            "fit."
        )
    fitted, classifier = inner._fitted_model, inner._classifier
    refuse_wide(fitted.schema)
    columns = [_column(column, fitted.levels.get(j)) for j, column in enumerate(fitted.schema)]
    return {
        "about": " ".join(repr(model).split()),
        "labels": _labels(inner.classes_),
        "columns": columns,
        "required": _required(inner, fitted) if inner._strict else [],
        "checked": isinstance(classifier, PooledClassifier),
        "classifier": plain(classifier),
        "decision": decision,
    }


def _within(model: Any) -> Any:
    while isinstance(model, Decision):
        model = model._fitted_model()
    if not isinstance(model, Answers):
        raise ClasswiseError(
            f"{type(model).__name__} cannot be exported: give a fitted classifier of classwise, or a Decision. "
            "Of a pipeline, export the last step."
        )
    return model._fitted()


# Columns and labels ---------------------------------------------------------------------------------------------------


def _column(column: Column, levels: Labels | None) -> Plain:
    """levels: in order; rule: the values that its family can take, if not all; conversion: of text and dates."""
    if levels is not None:
        return {"name": column.name, "levels": _labels(levels)}
    rules = {"lognormal": "positive", "poisson": "count", "binomial": "count"}
    rules |= {"multinomial": "amount", "complement": "amount"}
    rule, most = rules.get(column.family.name), column.family.trials
    return {"name": column.name, "rule": rule, "most": most, "conversion": _conversion(column)}


def _conversion(column: Column) -> Plain | None:
    rule = column.conversion
    if rule is None:
        return None
    if isinstance(rule, Moment):
        return {"kind": rule.kind, "zoned": rule.zoned, "order": rule.order, "example": rule.example}
    own = {"decimal": rule.decimal, "thousands": rule.thousands, "unit": rule.unit}
    return {"kind": "written", **own, "example": rule.example}


def _labels(labels: Labels) -> list[Any]:
    values = labels.tolist()
    for value in values:
        if not isinstance(value, (str, bool, int, float)):
            raise ClasswiseError(
                f"{value!r} is a {type(value).__name__}, and exported models have labels and levels of text, numbers, "
                "yes and no; turn it into text before the fit."
            )
    return values


def _required(inner: Answers, fitted: FittedModel) -> list[int]:
    """The columns in which a missing value is refused: where there are levels, all; else those that are looked at."""
    every = list(range(len(fitted.schema)))
    classifier = inner._classifier
    if fitted.levels or inner._remedy != INTEGRATE or not isinstance(classifier, BayesClassifier):
        return every
    blocks = classifier.density.of_seen_classes().as_blocks()
    silent = {j for block in blocks if isinstance(block.density, Constant) for j in block.columns.tolist()}
    return [j for j in every if j not in silent]


# Decisions ------------------------------------------------------------------------------------------------------------


def _decision(decision: Decision) -> Plain:
    policy = read_policy(decision.costs, decision.reject, decision.classes_)
    finite = {"refusing": policy.refusing if np.isfinite(policy.refusing) else None}
    own = {"costs": policy.costs, **finite, "least_posterior": policy.least_posterior, "rounding": policy.rounding}
    labels = {"reject_label": _labels(np.array([decision.reject_label_], dtype=object))[0]}
    rule = novelty_rule(decision)
    return {**own, **labels, "novelty": None if rule is None else _novelty(decision, rule)}


def _novelty(decision: Decision, rule: EvidenceRule | DistanceRule) -> Plain:
    """law, and what it compares with: distances by the number of values, or evidence by which values are there."""
    label = _labels(np.array([decision.novel_label_], dtype=object))[0]
    if isinstance(rule, DistanceRule):
        own = {"columns": rule.columns.tolist(), "density": plain(rule.density), "most": rule.most}
        return {"law": "distance", "label": label, **own}
    pairs = zip(rule.present.tolist(), rule.thresholds.tolist(), strict=True)
    known = {"".join("01"[there] for there in row): t for row, t in pairs if np.isfinite(t)}
    return {"law": "evidence", "label": label, "thresholds": known}
