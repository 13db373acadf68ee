"""Arrays, and arithmetic of logarithms. Scores of classes stand in rows: (n, g)."""

import base64
import math
from typing import Any

import numpy as np

# Log odds this small are rounding.
TIE = 1e-12


class UnscorableError(ValueError):
    """A row that has no answer."""


def unpacked(value: Any) -> Any:
    """The same values with arrays in place of what stands for them."""
    if isinstance(value, dict) and "base64" in value:
        raw = np.frombuffer(base64.b64decode(value["base64"]), dtype=value["type"])
        return raw.reshape(value["shape"])
    if isinstance(value, dict):
        return {name: unpacked(of) for name, of in value.items()}
    return [unpacked(of) for of in value] if isinstance(value, list) else value


def array(value: Any) -> Any:
    """Numbers as an array of doubles."""
    return np.asarray(value, dtype=np.float64)


def log_sum_exp(logs: Any, axis: int) -> Any:
    """log of the sum of exp(logs); -inf where all are."""
    peak = logs.max(axis=axis, keepdims=True)
    peak = np.where(np.isfinite(peak), peak, 0.0)
    with np.errstate(divide="ignore"):
        return np.squeeze(peak, axis) + np.log(np.exp(logs - peak).sum(axis=axis))


def log_normalize(logs: Any) -> Any:
    """Logs less the log of the sum of their exponentials: log probabilities; (n, g)."""
    return logs - log_sum_exp(logs, 1)[:, None]


def level_ties(scores: Any) -> Any:
    """Scores that tie with the largest made equal to it; an error, if a row has none that is finite; (n, g)."""
    best = scores.max(axis=1, keepdims=True)
    if not np.isfinite(best).all():
        raise UnscorableError("Some rows have probability zero, or lie too far from every class to be scored.")
    return np.where(scores >= best - TIE, best, scores)


def log_factorial(values: Any) -> Any:
    """log x!, elementwise; NaN of NaN."""
    logs = [math.lgamma(x + 1) if x == x else math.nan for x in np.ravel(values).tolist()]
    return array(logs).reshape(np.shape(values))
