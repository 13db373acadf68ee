"""Stacks: members that transform rows first, and the mixture of their posteriors, beside a product of them.

Q_i(k | x) = P_i(k | x)^b_i / Z_i(x)
P(k | x) ~ ((1 - share) sum over members i of w_i Q_i(k | x)  +  share product over i of Q_i(k | x)^a_i / Z(x))^b
"""

from typing import Any

import numpy as np

from classwise.export.standalone.python.classifiers import CLASSIFIERS, log_posterior
from classwise.export.standalone.python.numbers import array, log_normalize, log_sum_exp


def pool(classifier: dict[str, Any], rows: Any) -> Any:
    """The mixture of all members, and their product beside it."""
    members, product = classifier["members"], classifier.get("product")
    logs = np.array([log_normalize(of["power"] * log_posterior(of["model"], rows)) for of in members])
    pooled = log_sum_exp(np.array([of["log_weight"] for of in members])[:, None, None] + logs, 0)
    if product:
        own = log_normalize(np.tensordot(array(product["exponents"]), np.maximum(logs, product["least"]), 1))
        pooled = np.logaddexp(product["log_rest"] + pooled, product["log_share"] + own)
    return log_normalize(log_normalize(classifier["power"] * pooled) + array(classifier["shift"]))


def encoded(member: dict[str, Any], rows: Any) -> Any:
    """A prior and a density per class, of transformed rows."""
    return log_posterior(member["classifier"], transformed(member["encoding"], rows))


def shares(member: dict[str, Any], rows: Any) -> Any:
    """The shares of the classes, whatever the row."""
    return np.repeat(array(member["logs"])[None], len(rows), axis=0)


def linear(member: dict[str, Any], rows: Any) -> Any:
    """Softmax of intercept + weights'(x - center)."""
    values = transformed(member["encoding"], rows) - array(member["center"])
    return log_normalize(values @ array(member["weights"]).T + array(member["intercept"]))


def kernel(member: dict[str, Any], rows: Any) -> Any:
    """Softmax of intercept + weights' exp(-|z - c|² / width), over landmarks c."""
    z, landmarks = transformed(member["encoding"], rows), array(member["landmarks"])
    squares = (z**2).sum(axis=1)[:, None] + (landmarks**2).sum(axis=1) - 2 * z @ landmarks.T
    near = np.exp(np.minimum(-squares / member["width"], 0.0))
    return log_normalize(near @ array(member["weights"]).T + array(member["intercept"]))


def network(member: dict[str, Any], rows: Any) -> Any:
    """Softmax of the last of several layers; tanh after each of the others."""
    *hidden, last = member["layers"]
    values = transformed(member["encoding"], rows)
    for layer in hidden:
        values = np.tanh(values @ array(layer["weights"]).T + array(layer["intercept"]))
    return log_normalize(values @ array(last["weights"]).T + array(last["intercept"]))


# The transform of rows ------------------------------------------------------------------------------------------------


def transformed(encoding: dict[str, Any], rows: Any) -> Any:
    """Numbers in units of their spread, to a power; steps; categories as positions, or as yes and no."""
    numbers = (rows[:, encoding["columns"]] - array(encoding["center"])) / array(encoding["scale"])
    numbers = np.nan_to_num(_yeo_johnson(numbers, array(encoding["powers"])), nan=0.0)
    parts = [numbers]
    parts += [np.where(x[:, None] > array(cuts), 0.5, -0.5) for x, cuts in zip(numbers.T, encoding["steps"])]
    positions = [_positions(category, rows[:, category["column"]]) for category in encoding["categories"]]
    if encoding["indicators"] is None:
        parts += [x[:, None] for x in positions]
    else:
        parts += [x[:, None] == array(shown) for x, shown in zip(positions, encoding["indicators"])]
    return np.concatenate(parts, axis=1, dtype=np.float64)


def _positions(category: dict[str, Any], values: Any) -> Any:
    """The position of each value among the levels of a category; -1 where it is unknown."""
    if "cuts" in category:
        gone = np.isnan(values)
        return np.where(
            gone, category["missing"], np.searchsorted(array(category["cuts"]), np.where(gone, 0.0, values))
        )
    return np.where(values < 0, category["missing"], np.where(values < category["count"], values, -1))


def _yeo_johnson(values: Any, powers: Any) -> Any:
    """((1 + z)^a - 1) / a for z >= 0, and -((1 - z)^(2 - a) - 1) / (2 - a) below; NaN stays NaN."""
    if (powers == 1).all():
        return values
    transformed = _power(np.maximum(values, 0.0), powers) - _power(np.maximum(-values, 0.0), 2 - powers)
    return np.where(np.isnan(values), np.nan, transformed)


def _power(magnitude: Any, powers: Any) -> Any:
    logs, small = np.log1p(magnitude), np.abs(powers) < 1e-8
    safe = np.where(small, 1.0, powers)
    return np.where(small, logs, np.expm1(safe * logs) / safe)


CLASSIFIERS.update(pool=pool, encoded=encoded, shares=shares, linear=linear, kernel=kernel, network=network)
