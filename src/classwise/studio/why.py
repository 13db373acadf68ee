"""Why a point belongs to a class: posteriors, discriminant values, each column's share, densities in each dimension.

log P(a | x) / P(b | x) = log prior_a / prior_b + sum over columns of their shares (+ volume)
"""

from typing import Any

import numpy as np

from classwise.arrays import Array
from classwise.classifier.bayes import BayesClassifier
from classwise.classifier.column_view import ColumnView
from classwise.classifier.explanation import Explanation, explain
from classwise.errors import ClasswiseError
from classwise.rows.frames import make_frame
from classwise.studio.quiet import quiet
from classwise.studio.scene import Scene


def point_answer(scene: Scene, point: list[float]) -> dict[str, Any]:
    """What the model predicts at a point of the picture, and how sure it is: what a hover shows."""
    row = _row(scene, point)
    view = scene.view
    posterior = view.classifier.posterior(row)[:, 0]
    explained = _explanation(scene, row[0], posterior) if view.has_densities else None
    return {
        "point": point,
        "posterior": posterior,
        "decision": _decision(scene, point),
        "shares": None if explained is None else _shares(explained, set(view.names)),
    }


def point_reasons(scene: Scene, point: list[float]) -> dict[str, Any]:
    """The same with discriminant values, sentences, and the density of each class in each column seen."""
    view, row = scene.view, _row(scene, point)
    answer = point_answer(scene, point) | {"whole": False, "title": _title(scene, point)}
    if not view.has_densities:
        return answer | _of_model(scene.model, make_frame(row, scene.model.model_.schema, scene.model.model_.levels))
    explained = _explanation(scene, row[0], answer["posterior"])
    return answer | {
        "discriminants": view.classifier.log_joint(row)[:, 0],
        "against": [str(explained.label), str(explained.other)],
        "prior": explained.prior,
        "volume": explained.volume,
        "log_odds": explained.log_odds,
        "densities": [_density(scene, j, float(value)) for j, value in zip(view.free, point, strict=True)],
    }


def row_reasons(scene: Scene, row: int) -> dict[str, Any]:
    """The same for one of the rows that are drawn, with all its columns."""
    if not 0 <= row < len(scene.table.drawn):
        raise ClasswiseError(f"row={row} is not one of the {len(scene.table.drawn)} rows that are drawn.")
    frame = scene.table.row_frame(scene.model, row)
    posterior = scene.model.predict_proba(frame)[0]
    label = scene.table.labels[scene.table.drawn_codes[row]]
    found = {"whole": True, "title": f"A row of class {label}, with all its columns", "posterior": posterior}
    found["point"] = [float(value) for value in scene.points[row]]
    if isinstance(getattr(scene.model, "classifier_", None), BayesClassifier):
        found["discriminants"] = scene.model.log_joint(frame)[0]
        values = scene.table.drawn_rows(scene.model)[row]
        found["densities"] = _of_columns(scene, values)
    return found | _of_model(scene.model, frame)


def _of_model(model: Any, frame: Any) -> dict[str, Any]:
    """What the estimator itself explains of a row."""
    with quiet():  # what is missing was left out on purpose
        explained = model.explain(frame)
    return {
        "decision": str(explained.label),
        "against": [str(explained.label), str(explained.other)],
        "prior": explained.prior,
        "volume": explained.volume,
        "log_odds": explained.log_odds,
        "shares": _shares(explained, None),
        "sentences": explained.sentences(),
    }


def _row(scene: Scene, point: list[float]) -> Array:
    if len(point) != scene.count or not np.isfinite(point).all():
        raise ClasswiseError(f"point={point!r} is not {scene.count} finite numbers.")
    return scene.view.rows(np.array([point]))


def _explanation(scene: Scene, row: Array, posterior: Array) -> Explanation:
    """The most probable class against the next; columns that are not seen are integrated out, and say nothing."""
    second, first = np.argsort(posterior, kind="stable")[-2:].tolist()
    seen = scene.view.model
    known = seen.classifier_.observing() if np.isnan(row).any() else seen.classifier_
    names = list(seen.model_.schema.names or map(str, range(len(row))))
    return explain(known, row, names, row.tolist(), first, second)


def _shares(explained: Explanation, seen: set[str] | None) -> list[dict[str, Any]]:
    """The columns with their values and shares, the largest first."""
    reasons = sorted((*explained.for_, *explained.against), key=lambda reason: -abs(reason.share))
    return [
        {
            "column": str(reason.column),
            "value": None if reason.value is None else str(reason.value),
            "share": reason.share,
        }
        for reason in reasons
        if seen is None or str(reason.column) in seen
    ]


def _decision(scene: Scene, point: list[float]) -> str:
    """The label that is predicted at a point, or that it is refused."""
    code = int(scene.view.answers(np.array([point]))[0])
    labels = scene.table.labels
    return str(labels[code]) if code < len(labels) else "refused"


def _title(scene: Scene, point: list[float]) -> str:
    pairs = zip(scene.view.names, point, scene.view.levels, strict=True)
    values = [f"{n} = {levels[int(v)] if levels is not None else f'{v:.4g}'}" for n, v, levels in pairs]
    return " and ".join(values) + ("" if scene.count == len(scene.model.model_.schema) else "; other columns unknown")


def _of_columns(scene: Scene, values: Array) -> list[dict[str, Any]]:
    """The density of each class in each column that has a value and is in use."""
    model = scene.model
    found = []
    for j, value in enumerate(values.tolist()):
        is_there = np.isfinite(value) and not (j in model.model_.levels and value < 0)
        if is_there and j not in model.model_.notes:
            found.append(_density(scene, j, value, model))
    return found


def _density(scene: Scene, column: int, value: float, model: Any = None) -> dict[str, Any]:
    """p(x_j | k) of each class, all other columns integrated out."""
    view = ColumnView(scene.view.model if model is None else model, (column,), {})
    row = view.rows(np.array([[value]]))
    levels = view.levels[0]
    shown = f"{value:.4g}" if levels is None else str(levels[int(value)])
    return {"column": view.names[0], "value": shown, "log_density": view.classifier.log_density(row)[:, 0]}
