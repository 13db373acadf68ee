"""Answers about the table that is open, for the page, each from its statistics."""

from typing import Any

import numpy as np

from classwise.errors import ClasswiseError
from classwise.studio.dials import Dials
from classwise.studio.held_out import held_out_facts, loss_surface
from classwise.studio.mathml import equations
from classwise.studio.picture import line_picture, plane_picture, plane_points
from classwise.studio.scene import Scene
from classwise.studio.state import StudioState
from classwise.studio.table_facts import model_name
from classwise.studio.why import point_answer, point_reasons, row_reasons

# The most rows to draw from a model at once.
MOST_GENERATED = 5000


def _scene(state: StudioState, dials: Dials) -> Scene:
    return Scene.of(state.opened, dials, state.comparison)


def picture(state: StudioState, dials: Dials) -> dict[str, Any]:
    """All that a dial changes."""
    scene = _scene(state, dials)
    drawn = plane_picture(scene) if scene.count == 2 else line_picture(scene)
    priors = scene.view.model.priors_
    return drawn | {"columns": scene.view.names, "model": model_name(dials, state.comparison), "priors": priors}


def points(state: StudioState, dials: Dials) -> dict[str, Any]:
    """The rows that are drawn, in the columns seen."""
    scene = _scene(state, dials)
    return plane_points(scene) if scene.count == 2 else {"names": scene.view.names, "points": None}


def hover(state: StudioState, dials: Dials, point: list[float]) -> dict[str, Any]:
    """Posterior and contributions at a point."""
    return point_answer(_scene(state, dials), point)


def why(state: StudioState, dials: Dials, point: list[float], row: int | None) -> dict[str, Any]:
    """All reasons at a point, or for a row that is drawn."""
    scene = _scene(state, dials)
    return point_reasons(scene, point) if row is None else row_reasons(scene, row)


def surface(state: StudioState, dials: Dials) -> dict[str, Any]:
    """The log loss under the square."""
    return loss_surface(state.opened, dials)


def held_out(state: StudioState, dials: Dials) -> dict[str, Any]:
    """How good the current model is on rows that it has not seen."""
    return held_out_facts(state.opened, dials, state.comparison)


def equation(state: StudioState, dials: Dials) -> dict[str, Any]:
    """The boundaries of the picture, typeset."""
    return equations(_scene(state, dials))


def generated(state: StudioState, dials: Dials, count: int, seed: int) -> dict[str, Any]:
    """Rows drawn from the model, in the columns seen, by class."""
    if not 1 <= count <= MOST_GENERATED:
        raise ClasswiseError(f"count={count} is not a number of rows from 1 to {MOST_GENERATED}.")
    scene = _scene(state, dials)
    if not scene.view.has_densities:
        raise ClasswiseError("This model has no densities to draw rows from; choose a Gaussian or naive Bayes model.")
    rows, labels = scene.model.classifier_.sample(count, np.random.default_rng(seed))
    drawn = scene.projected(rows)
    return {"points": [drawn[labels == label].T for label in scene.model.classes_]}
