"""Logistic regression as plain values: the design, what is believed of the weights, and the points to average over."""

from typing import Any

import numpy as np

from classwise.export.standalone.plain import Plain, plain
from classwise.logistic import Laplace, LogisticClassifier, Probit, Softmax
from classwise.logistic.design import NUMBER, Design
from classwise.logistic.posterior import Draws
from classwise.logistic.predictive import GRIDDED, HERMITE, POINTS, cubature, grid, hermite, lattice, legendre


@plain.register
def _(classifier: LogisticClassifier) -> Plain:
    """link: logit, probit or softmax; basis (k, r): from contrasts to scores."""
    links = {Probit: "probit", Softmax: "softmax"}
    own = {
        "kind": "logistic",
        "design": _plain_design(classifier.design),
        "link": links.get(type(classifier.likelihood), "logit"),
        "basis": classifier.likelihood.basis,
        "predictive": classifier.predictive,
        "shift": list(classifier.shift or [0.0] * len(classifier.labels)),
    }
    if classifier.predictive == "plugin":
        return own | {"weights": classifier.weights}
    return own | _plain_beliefs(classifier) | _points(classifier)


def _plain_design(design: Design) -> Plain:
    """counts: how many levels the column of each entry has; 0 for a number."""
    marked = design.level != NUMBER
    counts = [int(design.level[marked & (design.source == j)].max(initial=NUMBER)) + 1 for j in design.source.tolist()]
    own = {"source": design.source.tolist(), "level": design.level.tolist(), "counts": counts}
    numbers = {"mean": design.mean, "center": design.center, "scale": design.scale}
    return {**own, **numbers, "intercept": bool(design.intercept)}


def _plain_beliefs(classifier: LogisticClassifier) -> Plain:
    """Draws (draws, r, q); or the mean (r, q), and the covariance between contrasts (r, r, q, q)."""
    beliefs = classifier.beliefs
    if isinstance(beliefs, Draws):
        return {"draws": beliefs.flat}
    assert isinstance(beliefs, Laplace)
    r, q = beliefs.mode.shape
    return {"mode": beliefs.mode, "covariance": beliefs.covariance.reshape(r, q, r, q).transpose(0, 2, 1, 3)}


def _points(classifier: LogisticClassifier) -> Plain:
    """The points of N(0, I), and their weights, that averages over scores are taken at."""
    if isinstance(classifier.beliefs, Draws) or classifier.predictive == "moderated":
        return {}
    contrasts = classifier.likelihood.contrasts
    if isinstance(classifier.likelihood, Softmax):
        rules: dict[str, Any] = {"lattice": lattice(contrasts)}
        rules |= {"cubature": cubature(contrasts)} if 2 * contrasts**2 < POINTS else {}
        rules |= {"grid": grid(contrasts)} if contrasts <= GRIDDED else {}
    elif isinstance(classifier.likelihood, Probit):
        rules = {}
    else:
        rules = {"hermite": hermite(HERMITE), "legendre": legendre()}
    return {
        "rules": {name: {"points": points, "weights": np.ravel(weights)} for name, (points, weights) in rules.items()}
    }
