"""Logistic regression in an ONNX graph: linear scores, moderated for two classes.

Two classes have the scores -s / 2 and s / 2, of which softmax is the logit of s: what is infinite shows in both.
"""

import numpy as np

from classwise.export.linear import LinearScores, linear_scores
from classwise.export.onnx_graph.rows import Rows
from classwise.export.onnx_graph.tensor import Tensor
from classwise.logistic import LogisticClassifier


def logistic_scores(classifier: LogisticClassifier, rows: Rows) -> Tensor:
    """Scores of which softmax is P(k | x); (n, g)."""
    scores = _scores(classifier, rows)
    return scores + np.array([classifier.shift]) if classifier.shift else scores


def _scores(classifier: LogisticClassifier, rows: Rows) -> Tensor:
    scores = linear_scores(classifier, "ONNX")
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


def _entries(scores: LinearScores, rows: Rows) -> tuple[Tensor, list[int]]:
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
