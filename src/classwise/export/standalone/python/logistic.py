"""Logistic regression: probabilities from scores, at the most probable weights, or averaged over what is believed.

Of two classes with one score s ~ N(m, v); of more, with correlated contrasts of scores.
"""

import math
from typing import Any

import numpy as np

from classwise.export.standalone.python.classifiers import CLASSIFIERS
from classwise.export.standalone.python.numbers import UnscorableError, array, log_normalize, log_sum_exp

# Deviations of the score up to which each rule serves; how far and how close the points of the second one are; and
# between which scores the third one has points.
NARROW, VAST = 1.0, 30.0
FARTHEST, CLOSE = 9.0, 0.6
ENDS = 40.0

# The total variance of contrasts up to which few points do, and up to which a grid does.
TIGHT, WIDE = 0.1, 8.0


def logistic(classifier: dict[str, Any], rows: Any) -> Any:
    """log P(k | x), and the shift of other priors."""
    logs = PREDICTIVES[classifier["predictive"]](classifier, _columns(classifier["design"], rows))
    if not np.isfinite(np.sum(logs)):
        raise UnscorableError("Some rows hold infinity, or lie too far from the others to be scored.")
    shift = array(classifier["shift"])
    return log_normalize(logs + shift) if shift.any() else logs


def _columns(design: dict[str, Any], rows: Any) -> Any:
    """z = (x - center) / scale of numbers, and of levels as yes or no; the mean where one is missing; (n, q)."""
    parts = []
    for j, level, count in zip(design["source"], design["level"], design["counts"]):
        x = rows[:, j]
        parts.append(x if level < 0 else np.where((x >= 0) & (x < count), x == level, np.nan))
    mean, center = array(design["mean"]), array(design["center"])
    values = np.stack(parts, axis=1)
    z = (np.where(np.isnan(values), mean, values) - center) / array(design["scale"])
    return np.hstack([z, np.ones((len(z), 1))]) if design["intercept"] else z


def _log_probabilities(link: str, scores: Any) -> Any:
    """log P(k | s); (n, k) -> (n, g)."""
    if link == "softmax":
        return log_normalize(scores)
    own = _log_expit if link == "logit" else _log_ndtr
    return np.hstack([own(-scores), own(scores)])


def _log_expit(x: Any) -> Any:
    return -np.logaddexp(0.0, -x)


def _erfcx(x: float) -> float:
    """exp(x²) erfc(x), for x >= 0."""
    if x < 25:
        return math.exp(x * x) * math.erfc(x)
    y = 1 / (2 * x * x)
    return (1 - y + 3 * y**2 - 15 * y**3 + 105 * y**4) / (x * math.sqrt(math.pi))


def _log_tail(x: float) -> float:
    """log of the normal distribution function."""
    if x > 0:
        return math.log1p(-0.5 * math.erfc(x / math.sqrt(2)))
    return math.log(0.5 * _erfcx(-x / math.sqrt(2))) - 0.5 * x * x


def _log_ndtr(x: Any) -> Any:
    return array([_log_tail(value) for value in np.ravel(x).tolist()]).reshape(np.shape(x))


# Averages over the weights --------------------------------------------------------------------------------------------


def _plugin(classifier: dict[str, Any], columns: Any) -> Any:
    return _log_probabilities(classifier["link"], columns @ array(classifier["weights"]).T)


def _scores(classifier: dict[str, Any], columns: Any) -> tuple[Any, Any]:
    """Mean (n, r) and covariance (n, r, r) of the contrasts of scores."""
    blocks = array(classifier["covariance"])
    return columns @ array(classifier["mode"]).T, np.einsum("nq,abqs,ns->nab", columns, blocks, columns, optimize=True)


def _integrated(classifier: dict[str, Any], columns: Any) -> Any:
    basis, link = array(classifier["basis"]), classifier["link"]
    if "draws" in classifier:
        scores = (columns @ draw.T @ basis.T for draw in array(classifier["draws"]))
        return log_sum_exp(np.array([_log_probabilities(link, s) for s in scores]), 0) - np.log(
            len(classifier["draws"])
        )
    mean, covariance = _scores(classifier, columns)
    if link == "softmax":
        return _log_average_of_many(classifier, mean, covariance)
    variance = np.maximum(covariance[:, :, 0], 0.0)
    if link == "probit":
        return _log_probabilities(link, mean / np.sqrt(1 + variance))
    return _log_average_of_two(classifier["rules"], mean[:, 0], np.sqrt(variance[:, 0]))


def _moderated(classifier: dict[str, Any], columns: Any) -> Any:
    """MacKay's approximation: scores by how well they are known; of more classes, of each pair."""
    mean, covariance = _scores(classifier, columns)
    if classifier["link"] != "softmax":
        factor = np.pi / 8 if classifier["link"] == "logit" else 1.0
        return _log_probabilities(classifier["link"], mean / np.sqrt(1 + factor * covariance[:, :, 0]))
    basis = array(classifier["basis"])
    scores, full = mean @ basis.T, basis @ covariance @ basis.T
    own = np.diagonal(full, axis1=1, axis2=2)
    variance = np.maximum(own[:, :, None] + own[:, None, :] - 2 * full, 0.0)
    differences = (scores[:, :, None] - scores[:, None, :]) / np.sqrt(1 + np.pi * variance / 8)
    return log_normalize(-log_sum_exp(-differences, 2))


PREDICTIVES = {"plugin": _plugin, "integrated": _integrated, "moderated": _moderated}

# Two classes ----------------------------------------------------------------------------------------------------------


def _log_average_of_two(rules: dict[str, Any], mean: Any, deviation: Any) -> Any:
    """Of the less probable class first, whose digits are those that matter."""
    rare = np.array([_log_rare(rules, -abs(m), d) for m, d in zip(mean.tolist(), deviation.tolist())])
    common = np.log1p(-np.exp(rare))
    return np.where(mean[:, None] > 0, np.stack([rare, common], axis=1), np.stack([common, rare], axis=1))


def _log_rare(rules: dict[str, Any], m: float, d: float) -> float:
    """log E 1 / (1 + e^-s), with m at most 0."""
    if d <= NARROW:
        nodes, weights = array(rules["hermite"]["points"]).ravel(), array(rules["hermite"]["weights"])
        return float(log_sum_exp(_log_expit(m + d * nodes) + np.log(weights), 0))
    if d > VAST:
        return _log_rare_vast(rules, m, d)
    top = min(d, -m / d) + FARTHEST
    t = np.linspace(-FARTHEST, top, int(np.ceil((top + FARTHEST) * d / CLOSE)) + 1)
    logs = _log_expit(m + d * t) - 0.5 * t * t
    return float(log_sum_exp(logs, 0) + np.log((t[1] - t[0]) / np.sqrt(2 * np.pi)))


def _log_rare_vast(rules: dict[str, Any], m: float, d: float) -> float:
    """P(s > 40), the integral from -40 to 40, and E [e^s; s < -40]."""
    nodes, weights = array(rules["legendre"]["points"]).ravel(), array(rules["legendre"]["weights"])
    density = -0.5 * ((nodes - m) / d) ** 2 - np.log(d)
    middle = log_sum_exp(_log_expit(nodes) + density + np.log(weights / np.sqrt(2 * np.pi)), 0)
    x = (-ENDS - m) / d - d
    if x < 0:
        below = -ENDS - 0.5 * ((ENDS + m) / d) ** 2 + math.log(0.5 * _erfcx(-x / math.sqrt(2)))
    else:
        below = m + 0.5 * d * d + _log_tail(x)
    return float(log_sum_exp(np.array([_log_tail((m - ENDS) / d), middle, below]), 0))


# More classes ---------------------------------------------------------------------------------------------------------


def _log_average_of_many(classifier: dict[str, Any], mean: Any, covariance: Any) -> Any:
    basis, rules = array(classifier["basis"]), classifier["rules"]
    total = np.trace(covariance, axis1=1, axis2=2)
    every = []
    for m, c, spread in zip(mean, covariance, total):
        suited = [name for name, most in (("cubature", TIGHT), ("grid", WIDE)) if spread <= most and name in rules]
        found = _log_by_rule(rules[(suited or ["lattice"])[0]], basis, m, c)
        every.append(found if found.min() > np.log(1e-280) else _log_by_rule(rules["lattice"], basis, m, c))
    return np.array(every)


def _log_by_rule(rule: dict[str, Any], basis: Any, mean: Any, covariance: Any) -> Any:
    """log of the weighted sum of P(k | s) over points; (g,)."""
    values, axes = np.linalg.eigh(covariance)
    root = axes * np.where(_signs(axes) < 0, -1.0, 1.0) * np.sqrt(np.maximum(values, 0.0))
    logs = log_normalize((mean + array(rule["points"]) @ root.T) @ basis.T)
    weights = array(rule["weights"])[:, None]
    with np.errstate(divide="ignore"):
        return (
            np.log((weights * np.exp(logs)).sum(axis=0))
            if weights.min() < 0
            else log_sum_exp(logs + np.log(weights), 0)
        )


def _signs(axes: Any) -> Any:
    """Which way each axis points: a rule that does not depend on who computes it."""
    return (1 / np.sqrt(np.arange(1.0, len(axes) + 1))) @ axes


CLASSIFIERS.update(logistic=logistic)
