"""Bayes' rule and decisions in an ONNX graph; and the scores of logistic regression, which softmax makes posteriors of.

Ties are decided as in Python: scores that differ from the largest by rounding are made equal to it, and the first class
of largest score is predicted. A row that Python refuses with an error has NaN for probabilities, and a label that no
class has.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np

from classwise.arrays import TIE, Labels
from classwise.classifier.bayes import BayesClassifier, Calibration
from classwise.classifier.decision import Policy
from classwise.comparison.stack.stack_model import PooledClassifier
from classwise.errors import ClasswiseError
from classwise.export.linear import LinearFormula, linear_scores, weight_average
from classwise.export.onnx_graph.averages import averaged_scores, needs_average
from classwise.export.onnx_graph.densities import scores
from classwise.export.onnx_graph.graph import Graph, Tensor
from classwise.export.onnx_graph.input_rows import GraphRows
from classwise.export.onnx_graph.mixtures import log_sum_exp
from classwise.export.onnx_graph.stacks import stack_scores
from classwise.export.onnx_graph.trees import forest_mean
from classwise.forest.forest import Forest
from classwise.logistic import LogisticClassifier

# Logistic regression --------------------------------------------------------------------------------------------------
#
# Two classes have the scores -s / 2 and s / 2, of which softmax is the logit of s: what is infinite shows in both.


def logistic_scores(classifier: LogisticClassifier, rows: GraphRows) -> Tensor:
    """Scores of which softmax is P(k | x); (n, g)."""
    scores = _scores(classifier, rows)
    return scores + np.array([classifier.shift]) if classifier.shift else scores


def _scores(classifier: LogisticClassifier, rows: GraphRows) -> Tensor:
    if needs_average(classifier):
        return averaged_scores(classifier, *_entries(weight_average(classifier).entries, rows))
    scores = linear_scores(classifier)
    entries, order = _entries(scores, rows)
    score = entries @ scores.slopes.T[order] + scores.constants[None]
    if len(scores.slopes) > 1:
        return score
    if scores.variance is not None:
        away = entries @ scores.variance.slopes[order] + scores.variance.offsets[None]
        v = away.squared().sum(1, keep=True)
        # As in Python, a row so far away that its variance is infinite has no answer.
        score = (v < np.inf).where(score / (v * (np.pi / 8) + 1.0).sqrt(), np.nan)
    return score @ np.array([[-0.5, 0.5]])


def _entries(scores: LinearFormula, rows: GraphRows) -> tuple[Tensor, list[int]]:
    """y (n, q'), numbers first, and which entry each of its columns is; 0 where a value is missing."""
    graph, parts = rows.graph, []
    order = list(scores.numbers)
    if order:
        values = rows.part(scores.source[order].tolist()).numbers()
        parts.append(values.is_nan().where(0.0, values - scores.mean[None, order]))
    for j, entries in scores.categories.items():
        parts.append(graph.constant(scores.by_level(entries)).take(rows.part([j]).codes(0), 0))
        order += entries
    return graph.concat(parts), order


# Bayes' rule ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class GraphPosterior:
    """P(k | x) in a graph.

    probabilities (n, g); code (n,) of the most probable class; scorable (n, 1): whether the row has a score; evidence
    (n, 1): log p(x), where the graph is whole.
    """

    graph: Graph
    probabilities: Tensor
    code: Tensor
    scorable: Tensor
    evidence: Tensor | None = None


@singledispatch
def posterior(classifier: Any, rows: GraphRows) -> GraphPosterior:
    """P(k | x), in the graph of the rows."""
    raise ClasswiseError(f"A {type(classifier).__name__} cannot be exported to ONNX; score its rows in Python.")


@posterior.register
def _(classifier: BayesClassifier, rows: GraphRows) -> GraphPosterior:
    return _normalized(scores(classifier.density, rows) + classifier.log_prior.T, rows, classifier.calibration)


@posterior.register
def _(classifier: LogisticClassifier, rows: GraphRows) -> GraphPosterior:
    return _normalized(logistic_scores(classifier, rows), rows)


@posterior.register
def _(classifier: Forest, rows: GraphRows) -> GraphPosterior:
    joint = forest_mean(classifier.trees, classifier.of_leaves, rows).log() * classifier.power
    return _normalized(joint if classifier.shift is None else joint + classifier.shift[None], rows)


@posterior.register
def _(classifier: PooledClassifier, rows: GraphRows) -> GraphPosterior:
    return _normalized(stack_scores(classifier, rows), rows)


def _normalized(joint: Tensor, rows: GraphRows, calibration: Calibration | None = None) -> GraphPosterior:
    """exp of the scores (n, g), over their sum."""
    scorable = scorable_rows(joint, rows.graph.refusals)
    leveled, leading = _level(scorable.where(joint, 0.0))
    if calibration is not None:
        leveled, leading = _level(_calibrated(leveled, calibration))
    odds = (leveled - leveled.max(1)).exp()
    evidence = log_sum_exp(scorable.where(joint, 0.0), 1) if rows.graph.whole else None
    return GraphPosterior(rows.graph, odds / odds.sum(1, keep=True), leading.first(), scorable, evidence)


def scorable_rows(joint: Tensor, refusals: Sequence[Tensor]) -> Tensor:
    """Which rows have a score: none of theirs is NaN, the largest is finite, nothing refuses them; (n, g) -> (n, 1)."""
    best = joint.max(1)
    scorable = (best > -np.inf) & (best < np.inf)
    for condition in (joint.is_nan(), *refusals):
        scorable = scorable & ~condition.any(1).widen(1)
    return scorable


def _level(joint: Tensor) -> tuple[Tensor, Tensor]:
    """Scores with ties made equal, and which classes lead; (n, g) each."""
    best = joint.max(1)
    leading = joint >= best - TIE
    return leading.where(best, joint), leading


def _calibrated(joint: Tensor, calibration: Calibration) -> Tensor:
    powered = joint * calibration.power
    return powered + np.array([calibration.shift]) if calibration.shift else powered


# What is predicted ----------------------------------------------------------------------------------------------------


def decided(of: GraphPosterior, policy: Policy) -> Tensor:
    """The class of least expected cost, of equals the most probable; g where it is better not to decide; (n,)."""
    expected = of.probabilities @ policy.costs
    equals = ~(expected > expected.min(1) + policy.rounding)
    code = equals.where(of.probabilities, -1.0).first_largest()
    dear, unsure = expected.of_rows(code) > policy.refusing, of.probabilities.of_rows(code) < policy.least_posterior
    return (dear | unsure).squeeze(1).where(np.array(len(policy.costs)), code)


def label_values(labels: Sequence[Any]) -> Labels:
    """Labels as ONNX has them: whole numbers (yes and no as 1 and 0), or text; numbers mixed with text become text.

    >>> label_values([False, True]), label_values([0, 1, "reject"])
    (array([0, 1]), array(['0', '1', 'reject'], dtype=object))
    """
    labels = [label.item() if isinstance(label, np.generic) else label for label in labels]
    other = [label for label in labels if not isinstance(label, (str, bool, int, float))]
    if other:
        raise ClasswiseError(
            f"The label {other[0]!r} is a {type(other[0]).__name__}, and ONNX has labels of text or whole numbers; fit "
            "on labels that are."
        )
    is_text = any(isinstance(label, str) for label in labels)
    beyond = [] if is_text else [label for label in labels if not (label % 1 == 0 and -(2**63) <= label < 2**63)]
    if beyond:
        raise ClasswiseError(f"The label {beyond[0]!r} is no 64-bit integer; fit on text instead.")
    values = [str(label) if is_text else int(label) for label in labels]
    if len(set(values)) < len(values):
        raise ClasswiseError(
            f"Of the labels {values} two are the same in ONNX; give another reject_label or novel_label."
        )
    return np.array(values, dtype=object if is_text else np.int64)


def unscorable_label(values: Labels) -> Any:
    """The label of rows that have no score: -1 or "", or what else is no label.

    >>> unscorable_label(np.array([0, 1])), unscorable_label(np.array(["", "a"], dtype=object))
    (-1, 'unscorable')
    """
    candidates: tuple[Any, ...] = ("", "unscorable", "(unscorable)") if values.dtype == object else (-1, -2, -3)
    return next(label for label in candidates if label not in values.tolist())
