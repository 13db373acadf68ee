"""Decisions: the class of least expected cost, or none, or the news that a row is unlike all others."""

from typing import Any

import numpy as np

from classwise.export.standalone.python.classifiers import log_evidence
from classwise.export.standalone.python.gaussians import distances
from classwise.export.standalone.python.numbers import UnscorableError, array


def decided(model: dict[str, Any], posterior: Any, rows: Any) -> list[Any]:
    """The label of each row; posterior (n, g), rows (n, p)."""
    decision, labels = model["decision"], model["labels"]
    expected = posterior @ array(decision["costs"])
    equals = expected <= expected.min(axis=1, keepdims=True) + decision["rounding"]
    codes, every = np.where(equals, posterior, -1.0).argmax(axis=1), np.arange(len(posterior))
    refused = posterior[every, codes] < decision["least_posterior"]
    if decision["refusing"] is not None:
        refused |= expected[every, codes] > decision["refusing"]
    found = [decision["reject_label"] if no else labels[code] for code, no in zip(codes.tolist(), refused.tolist())]
    if decision["novelty"] is None:
        return found
    new = _is_novel(decision["novelty"], model, rows).tolist()
    return [decision["novelty"]["label"] if is_new else label for label, is_new in zip(found, new)]


def _is_novel(novelty: dict[str, Any], model: dict[str, Any], rows: Any) -> Any:
    if novelty["law"] == "distance":
        values = rows[:, novelty["columns"]]
        most = array(novelty["most"])[(~np.isnan(values)).sum(axis=1)]
        return distances(novelty["density"], values).min(axis=1) > most
    return log_evidence(model["classifier"], rows) < array([_threshold(novelty, model, row) for row in rows])


def _threshold(novelty: dict[str, Any], model: dict[str, Any], row: Any) -> float:
    """The evidence below which a row with these gaps is new."""
    gone = [value < 0 if "levels" in column else np.isnan(value) for value, column in zip(row, model["columns"])]
    pattern = "".join("0" if is_gone else "1" for is_gone in gone)
    if all(gone):
        return -np.inf
    if pattern not in novelty["thresholds"]:
        raise UnscorableError("A row has so many missing values that its novelty is not known here.")
    return float(novelty["thresholds"][pattern])
