"""Priors: the probability of each class before a row is seen. Checked here, and nowhere else."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from classwise.arrays import Array, Labels
from classwise.errors import ClasswiseError

Priors: TypeAlias = str | Mapping[Any, float] | Sequence[float] | Array | None


def class_priors(priors: Priors, labels: Labels, weight: Array) -> Array:
    """The prior of each class; (g,). A prior of zero is allowed, and means never.

    priors: "empirical" or None (n_k / n), "uniform" (1 / g), a mapping from label to probability, or a sequence in the
    order of the sorted labels.

    >>> class_priors("empirical", np.array(["a", "b"]), np.array([3.0, 1.0]))
    array([0.75, 0.25])
    >>> class_priors({"a": 0.9, "b": 0.2}, np.array(["a", "b"]), np.array([3.0, 1.0]))
    Traceback (most recent call last):
    ...
    classwise.errors.ClasswiseError: priors must sum to 1, and these sum to 1.1: [0.9, 0.2]; divide by the sum.
    """
    if priors is None or isinstance(priors, str):
        return _named_priors(priors or "empirical", weight)
    if isinstance(priors, Mapping):
        return _checked(_in_label_order(priors, labels), labels)
    return _checked(priors, labels)


def _named_priors(priors: str, weight: Array) -> Array:
    if priors == "empirical":
        return weight / weight.sum()
    if priors == "uniform":
        return np.full(len(weight), 1 / len(weight))
    raise ClasswiseError(
        f"priors={priors!r} is not an option; choose 'empirical', 'uniform', a mapping from label to probability, "
        "or a sequence in the order of the sorted labels."
    )


def _in_label_order(priors: Mapping[Any, float], labels: Labels) -> list[float]:
    known = labels.tolist()
    unknown = [label for label in priors if label not in known]
    missing = [label for label in known if label not in priors]
    if unknown:
        raise ClasswiseError(f"priors name the label {unknown[0]!r}, which is not a class; the classes are {known}.")
    if missing:
        raise ClasswiseError(f"priors lack the label {missing[0]!r}; give every class one, 0 for never.")
    return [priors[label] for label in known]


def _checked(priors: Sequence[float] | Array, labels: Labels) -> Array:
    try:
        values = np.asarray(priors, dtype=np.float64)
    except (TypeError, ValueError):
        raise ClasswiseError(f"priors must be numbers, not {priors!r}.") from None
    if values.shape != (len(labels),):
        raise ClasswiseError(
            f"priors must be one number for each of {len(labels)} classes, not of shape {values.shape}."
        )
    if not (values >= 0).all():
        raise ClasswiseError(f"priors must not be negative: {values.tolist()}.")
    if abs(values.sum() - 1) > 1e-6:
        raise ClasswiseError(
            f"priors must sum to 1, and these sum to {values.sum():.6g}: {values.tolist()}; divide by the sum."
        )
    return values / values.sum()
