"""How well a model does: its confusion matrix, its reliability, and the error of rows that it decides."""

from collections.abc import Mapping
from math import floor
from typing import Any

import numpy as np

from classwise.arrays import Array, ratio
from classwise.classifier.evaluation import Evaluation
from classwise.errors import ClasswiseError
from classwise.plot.canvas import (
    BLUE,
    GRAY,
    class_styles,
    contrasting,
    new_axes,
    plain_spines,
    read_labels,
    split_below,
)
from classwise.rows.codes import code_labels


def plot_confusion(evaluation: Evaluation, axes: Any = None) -> Any:
    """How often each class (rows) was taken for each class (columns): counts, and shares of the row.

    evaluation: the result of m.evaluate(X, y). The shade is the share.
    """
    counts, names = evaluation.confusion, [str(label) for label in evaluation.labels]
    shares = ratio(counts, counts.sum(axis=1, keepdims=True))
    side = 2.2 + 0.85 * len(names)
    axes = new_axes(axes, side + 0.6, side)
    image = axes.imshow(shares, cmap="cividis", vmin=0, vmax=1)
    for (i, j), share in np.ndenumerate(shares):
        color = contrasting(image.to_rgba(share))
        text = f"{counts[i, j]:g}\n{100 * share:.1f} %" if share else "0"
        axes.text(j, i, text, ha="center", va="center", color=color)
    slanted = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"} if max(map(len, names)) > 6 else {}
    axes.set_xticks(range(len(names)), names, **slanted)
    axes.set_yticks(range(len(names)), names)
    axes.set(
        xlabel="taken for", ylabel="class", title=f"error {100 * evaluation.error:.3g} % of {evaluation.weight:g} rows"
    )
    axes.get_figure().colorbar(image, ax=axes, label="share of the class", shrink=0.8)
    return axes


# ----------------------------------------------------------------------------------------------------------------------
# The error among rows decided, if unsure ones are refused.

# Coverages that are marked, with the posterior that the least sure row decided has.
MARKED = (0.6, 0.8, 1.0)


def plot_reject_curve(curve: Any, axes: Any = None) -> Any:
    """The error among rows that are decided, against the share of rows decided, from the surest on.

    curve: the result of m.reject_curve(X, y). Dots name the least posterior that is decided at that coverage.
    """
    axes = new_axes(axes, 6.4, 4.2)
    axes.step(curve.coverage, curve.error, where="pre", color=BLUE, linewidth=1.8)
    for coverage in MARKED:
        place = min(int((curve.coverage < coverage - 1e-12).sum()), len(curve.coverage) - 1)
        axes.plot(curve.coverage[place], curve.error[place], "o", color=BLUE, markersize=6, clip_on=False)
        _note(axes, curve, place)
    axes.set(xlabel="share of rows decided", ylabel="error among them", xlim=(0, 1.03))
    axes.set_ylim(0, max(1.25 * float(curve.error.max()), 0.01))
    axes.text(0.02, 0.97, f"mean error {curve.area:.3g}", color=GRAY, ha="left", va="top", transform=axes.transAxes)
    plain_spines(axes)
    return axes


def _note(axes: Any, curve: Any, place: int) -> None:
    """Write the posterior of the least sure row above the dot; rounded down, since 1 would be a promise."""
    least = floor(1000 * curve.posterior[place]) / 1000
    at, options = (curve.coverage[place], curve.error[place]), {"textcoords": "offset points", "fontsize": "small"}
    axes.annotate(f"P ≥ {least:g}", at, (2, 8), color=GRAY, ha="right", **options)


# ----------------------------------------------------------------------------------------------------------------------
# Reliability: what was announced, and what came true.

# The histogram's share of the height.
BELOW = 0.2


def plot_reliability(m: Any, X: Any, y: Any, label: Any = None, axes: Any = None) -> Any:
    """What a model announces for rows against what came true, above a histogram of the probabilities.

    m: a fitted classifier, of classwise or of scikit-learn, or several by name: {"LDA": lda, "naive Bayes": nb}. X, y:
    rows that it has not learned from. label: the probability of this class, rather than of the class decided for.
    """
    models = m if isinstance(m, Mapping) else {type(m).__name__: m}
    return draw_reliability({name: _evaluated(model, X, y) for name, model in models.items()}, "", label, axes)


def _evaluated(model: Any, X: Any, y: Any) -> Evaluation:
    if isinstance(model, Evaluation):
        return model
    if hasattr(model, "evaluate"):
        return model.evaluate(X, y)
    labels, codes = code_labels(read_labels(y, len(y)))
    known = np.asarray(model.classes_)
    unknown = [label for label in labels.tolist() if label not in known.tolist()]
    if unknown:
        raise ClasswiseError(f"y contains the label {unknown[0]!r}, which is not a class; they are {known.tolist()}.")
    with np.errstate(divide="ignore"):  # a probability of zero is one
        log_posterior = np.log(np.asarray(model.predict_proba(X), dtype=np.float64))
    places = np.array([known.tolist().index(label) for label in labels.tolist()])
    return Evaluation.of(log_posterior, places[codes], known, auc=False)


def draw_reliability(
    evaluations: Mapping[str, Evaluation], title: str = "", label: Any = None, axes: Any = None
) -> Any:
    """The share that came true against the probability announced; on the diagonal both are the same.

    Areas are in proportion to the rows of a bin, bars are two standard errors. Below the diagonal a model is too sure.
    Under it is a histogram of the probabilities announced.
    """
    axes = new_axes(axes, 5.2, 6.4)
    under = split_below(axes, BELOW)
    axes.plot([0, 1], [0, 1], color=GRAY, linewidth=0.8, linestyle=":")
    styles = class_styles(evaluations)
    for style, evaluation in zip(styles, evaluations.values(), strict=True):
        _draw_curve(axes, evaluation, label, style)
        _draw_histogram(under, _bins(evaluation, label), style, len(evaluations) == 1)
    _say(axes, under, title, label)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=min(len(evaluations), 3), frameon=False)
    return axes


def _draw_curve(axes: Any, evaluation: Evaluation, label: Any, style: Any) -> None:
    weight, announced, observed = evaluation.reliability(label)
    error = np.sqrt(announced * (1 - announced) / weight)
    axes.errorbar(announced, observed, 2 * error, fmt="none", ecolor=style.color, elinewidth=1, alpha=0.5)
    axes.plot(announced, observed, color=style.color, linewidth=1, alpha=0.6)
    sizes = 8 + 140 * weight / weight.sum()
    axes.scatter(announced, observed, sizes, color=style.color, marker=style.marker, label=str(style.label))


def _bins(evaluation: Evaluation, label: Any) -> Array:
    """The weight of rows in bins of equal width; (b,)."""
    place = 0 if label is None else 1 + evaluation.labels.tolist().index(label)
    return evaluation.bins[place, 0]


def _draw_histogram(axes: Any, weight: Array, style: Any, alone: bool) -> None:
    shares, edges = 100 * weight / weight.sum(), np.linspace(0, 1, len(weight) + 1)
    axes.stairs(shares, edges, color=style.color, fill=alone, alpha=0.6 if alone else 1.0, linewidth=1.5)


def _say(axes: Any, under: Any, title: str, label: Any) -> None:
    """Write the names of the axes, and what it means to be off the diagonal."""
    what = "the class decided for" if label is None else repr(label)
    under.set(xlabel=f"announced probability of {what}", ylabel="% of rows")
    under.set_ylim(bottom=0)
    axes.set(ylabel="share that came true", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    axes.tick_params(labelbottom=False)
    if title:
        axes.set_title(title, loc="right", fontsize="medium")
    below, above = ("too sure", "not sure enough") if label is None else ("announced too often", "too rarely")
    axes.text(0.97, 0.06, below, color=GRAY, ha="right")
    axes.text(0.03, 0.92, above, color=GRAY)
    for panel in (axes, under):
        plain_spines(panel)
