"""Columns at predict must match those at fit: the same number, names and order."""

import warnings
from typing import Any

import numpy as np

from classwise.errors import ClasswiseError
from classwise.rows.schema import Schema
from classwise.rows.sources import Source


def remember_columns(estimator: Any, schema: Schema) -> None:
    """Set scikit-learn's n_features_in_, and feature_names_in_ where the columns have names."""
    estimator.n_features_in_ = len(schema.columns)
    if schema.names is not None:
        estimator.feature_names_in_ = np.array(schema.names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def check_columns(estimator: Any, source: Source) -> None:
    """Raise an error if the columns are not those of fit; it names the ones that differ."""
    name, known = type(estimator).__name__, getattr(estimator, "feature_names_in_", None)
    if known is not None and source.names is not None and source.names != tuple(known):
        raise ClasswiseError(_describe_difference(list(known), list(source.names)))
    given, expected = source.n_features, estimator.n_features_in_
    if given != expected:
        raise ClasswiseError(f"X has {given} features, but {name} is expecting {expected} features as input.")
    if known is not None and source.names is None:
        _warn(f"X does not have valid feature names, but {name} was fitted with feature names")
    if known is None and source.names is not None:
        _warn(f"X has feature names, but {name} was fitted without feature names")


def _warn(message: str) -> None:
    warnings.warn(message, UserWarning, stacklevel=5)


def _describe_difference(known: list[str], given: list[str]) -> str:
    parts = ["The feature names should match those that were passed during fit."]
    unseen, missing = ([n for n in given if n not in known], [n for n in known if n not in given])
    if unseen:
        parts.append("Feature names unseen at fit time:\n" + "".join(f"- {n}\n" for n in unseen[:5]))
    if missing:
        parts.append("Feature names seen at fit time, yet now missing:\n" + "".join(f"- {n}\n" for n in missing[:5]))
    if not unseen and not missing:
        place = next(i for i, (a, b) in enumerate(zip(known, given, strict=False)) if a != b)
        parts.append(
            "Feature names must be in the same order as they were in fit.\n"
            f"Column {place} is '{given[place]}' and was '{known[place]}'; reorder with X[model.feature_names_in_].\n"
        )
    return " ".join(parts)
