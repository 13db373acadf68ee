"""How good the dials are on held-out rows: the surface under the square, and the evaluation of the current model."""

from functools import lru_cache
from typing import Any

import numpy as np
from scipy.interpolate import RegularGridInterpolator

from classwise.arrays import Array
from classwise.classifier.evaluation import Evaluation, merged
from classwise.classifier.evaluation_text import percents
from classwise.comparison import Comparison
from classwise.errors import ClasswiseError
from classwise.estimators import GaussianClassifier
from classwise.estimators.plans import plan_of, tuned
from classwise.selection.dials import DialChoice
from classwise.studio.dials import Dials, read_priors
from classwise.studio.quiet import quiet
from classwise.studio.studio_table import StudioTable

# Points on each side of the surface that the page draws under the square.
SIDE = 41


@lru_cache(16)
def dial_choice(table: StudioTable, structure: str, standardize: bool) -> DialChoice:
    """The cross-validated log loss of every share and shrink that is tried, from the statistics of the folds."""
    model = GaussianClassifier(structure=structure, share="cv", shrink="cv", standardize=standardize)
    with quiet():
        return tuned(model, table.crossing).record["dials_"]


def loss_surface(table: StudioTable, dials: Dials) -> dict[str, Any]:
    """The log loss over the square, on an even grid: (shrink, share), from 0 to 1 each; NaN where nothing is fitted.

    shade: from 0 (the least loss) to 1, by rank of the loss among those tried, which shows small differences.
    """
    choice = dial_choice(table, dials.structure, dials.standardize)
    losses = np.asarray(choice.log_loss, dtype=np.float64)
    share, shrink = choice.best
    even = np.linspace(0, 1, SIDE)
    return {
        "side": SIDE,
        "shade": _even(choice, _ranks(losses), even),
        "loss": _even(choice, losses, even),
        "best": {"share": share, "shrink": shrink, "log_loss": float(losses.min())},
        "tried": losses.size,
    }


def _ranks(losses: Array) -> Array:
    """The share of the values tried that are better; inf stays."""
    finite = np.isfinite(losses)
    order = np.searchsorted(np.unique(losses[finite]), np.where(finite, losses, 0.0))
    return np.where(finite, order / max(order.max(), 1), np.inf)


def _even(choice: DialChoice, values: Array, even: Array) -> Array:
    """Values between those tried, by bilinear interpolation; NaN next to what cannot be fitted; (shrink, share)."""
    shares, shrinks = (np.array(tried, dtype=np.float64) for tried in (choice.shares, choice.shrinks))
    known = np.where(np.isfinite(values), values, np.nan)
    if shrinks[-1] < 1:  # where numbers are missing, fewer values are tried: beyond the last one nothing is known
        shrinks, known = np.append(shrinks, 1.0), np.column_stack([known, known[:, -1]])
    surface = RegularGridInterpolator((shares, shrinks), known)
    return surface(tuple(np.meshgrid(even, even, indexing="xy")))


# The current model, or one of the comparison --------------------------------------------------------------------------


@lru_cache(64)
def _evaluation(
    table: StudioTable, options: tuple[tuple[str, Any], ...], priors: tuple[float, ...] | None
) -> Evaluation:
    """Of the model of some dials, fitted without each fold in turn, on the rows of that fold."""
    named = "empirical" if priors is None else read_priors(list(priors), table.labels)
    plan = plan_of(GaussianClassifier(**dict(options), priors=named))
    crossing = table.crossing
    with quiet():
        (log_posterior,) = crossing.log_posteriors(crossing.started([plan]))
    held = crossing.out_of_fold(log_posterior)
    return Evaluation.of(held.log_posterior, held.codes, crossing.labels, held.weights, auc=False)


def evaluation(table: StudioTable, dials: Dials, comparison: Comparison | None) -> Evaluation:
    """Of the model that the dials stand for, on held-out rows."""
    if dials.model is None:
        priors = None if dials.priors is None else tuple(dials.priors)
        return _evaluation(table, tuple(sorted(dials.options().items())), priors)
    if comparison is None:
        raise ClasswiseError(f"model={dials.model!r} is a model of the comparison, which is not there yet; compare.")
    return merged(comparison[dials.model].final)


def held_out_facts(table: StudioTable, dials: Dials, comparison: Comparison | None) -> dict[str, Any]:
    """Reliability, confusion and measures, with a sentence."""
    found = evaluation(table, dials, comparison)
    reliability = found.reliability()
    right, low, high = percents(found.accuracy, *found.accuracy_interval)
    return {
        "sentence": f"Right on {right} of 100 held-out rows ({low} to {high}); log loss {found.log_loss:.3g}.",
        "accuracy": found.accuracy,
        "log_loss": found.log_loss,
        "calibration_error": found.calibration_error,
        "rows": found.weight,
        "labels": [str(label) for label in found.labels.tolist()],
        "confusion": found.confusion,
        "recall": found.recall,
        "reliability": {
            "announced": reliability.announced,
            "observed": reliability.observed,
            "weight": reliability.weight,
        },
    }
