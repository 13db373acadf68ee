"""How well a model does: confusion, reliability, the error of decided rows; and its samples compared with rows."""

from collections.abc import Mapping
from math import floor
from typing import Any

import numpy as np

from classwise.arrays import Array, ratio
from classwise.classifier.column_view import as_list, axis_name
from classwise.classifier.evaluation import Evaluation
from classwise.errors import ClasswiseError
from classwise.plot.canvas import (
    BLUE,
    GRAY,
    class_styles,
    contrasting,
    entitle,
    ink,
    new_axes,
    new_grid,
    plain_spines,
    read_labels,
    slant_ticks,
    split_below,
    toned,
)
from classwise.rows.codes import code_labels
from classwise.rows.schema import find_column


def plot_confusion(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    sample_weight: Any = None,
    axes: Any = None,
    title: str | None = None,
) -> Any:
    """Draw the confusion matrix: how often rows of each class (rows) were assigned to each class (columns).

    Parameters
    ----------
    model : estimator or Evaluation
        A fitted classifier, with rows X, y that it was not fitted on; or the result of m.evaluate(X, y).
    X : array or table of shape (n, p), optional
        Rows that the model was not fitted on.
    y : array of shape (n,), optional
        Their labels.
    sample_weight : array of shape (n,), optional
        The weight of each row: two counts a row twice, zero not at all; by default all are one.
    axes : matplotlib Axes, optional
        Where to draw; by default on new Axes.
    title : str, optional
        By default how many rows are wrong.

    Returns
    -------
    matplotlib Axes
        The picture.

    Notes
    -----
    Each cell shows the count and the share of the row; the shade is the share.
    """
    evaluation = _evaluated(model, X, y, sample_weight)
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
    wrong = f"wrong on {100 * evaluation.error:.3g} % of {evaluation.weight:g} rows"
    axes.set(xlabel="predicted class", ylabel="true class", title=wrong if title is None else title)
    axes.get_figure().colorbar(image, ax=axes, label="share of the true class", shrink=0.8)
    return axes


# ----------------------------------------------------------------------------------------------------------------------
# The error among rows decided, if unsure ones are refused.

# Coverages that are marked, with the posterior that the least sure row decided has.
MARKED = (0.6, 0.8, 1.0)


def plot_reject_curve(curve: Any, *, axes: Any = None, title: str | None = None) -> Any:
    """Draw the error among decided rows against the share of rows decided, from the highest posteriors on.

    Parameters
    ----------
    curve : RejectCurve
        The result of m.reject_curve(X, y). Dots show the least posterior that is decided at that coverage.
    axes : matplotlib Axes, optional
        Where to draw; by default on new Axes.
    title : str, optional
        The title of the picture.

    Returns
    -------
    matplotlib Axes
        The picture.
    """
    axes = new_axes(axes, 6.4, 4.2)
    axes.step(curve.coverage, curve.error, where="pre", color=toned(BLUE), linewidth=1.8)
    for coverage in MARKED:
        place = min(int((curve.coverage < coverage - 1e-12).sum()), len(curve.coverage) - 1)
        axes.plot(curve.coverage[place], curve.error[place], "o", color=toned(BLUE), markersize=6, clip_on=False)
        _note(axes, curve, place)
    axes.set(xlabel="share of rows decided", ylabel="error among them", xlim=(0, 1.03))
    axes.set_ylim(0, max(1.25 * float(curve.error.max()), 0.01))
    axes.text(
        0.02, 0.97, f"mean error {curve.area:.3g}", color=toned(GRAY), ha="left", va="top", transform=axes.transAxes
    )
    plain_spines(axes)
    entitle(axes, title)
    return axes


def _note(axes: Any, curve: Any, place: int) -> None:
    """Write the posterior of the least sure row above the dot; rounded down, since 1 would be a promise."""
    least = floor(1000 * curve.posterior[place]) / 1000
    at, options = (curve.coverage[place], curve.error[place]), {"textcoords": "offset points", "fontsize": "small"}
    axes.annotate(f"P ≥ {least:g}", at, (2, 8), color=toned(GRAY), ha="right", **options)


# ----------------------------------------------------------------------------------------------------------------------
# Reliability: what was predicted, and what was observed.

# The histogram's share of the height.
BELOW = 0.2


def plot_reliability(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    label: Any = None,
    sample_weight: Any = None,
    axes: Any = None,
    title: str | None = None,
) -> Any:
    """Draw reliability: observed shares against predicted probabilities, above a histogram of the probabilities.

    Parameters
    ----------
    model : estimator, mapping from name to estimator, or Evaluation
        A fitted classifier, of classwise or of scikit-learn, or several by name: {"LDA": lda, "naive Bayes":
        nb}; or the result of m.evaluate(X, y), without X and y.
    X, y : array or table of shape (n, p) and array of shape (n,)
        Rows that the model was not fitted on.
    label : label, optional
        Use the probability of this class instead of that of the predicted class.
    sample_weight : array of shape (n,), optional
        The weight of each row: two counts a row twice, zero not at all; by default all are one.
    axes : matplotlib Axes, optional
        Where to draw; by default on new Axes.
    title : str, optional
        The title of the picture.

    Returns
    -------
    matplotlib Axes
        The picture.
    """
    models = model if isinstance(model, Mapping) else {type(model).__name__: model}
    evaluations = {name: _evaluated(each, X, y, sample_weight) for name, each in models.items()}
    axes = draw_reliability(evaluations, "", label, axes)
    entitle(axes, title)
    return axes


def _evaluated(model: Any, X: Any, y: Any, weights: Any) -> Evaluation:
    if isinstance(model, Evaluation):
        return model
    if X is None or y is None:
        raise ClasswiseError(f"A {type(model).__name__} takes rows X and labels y to be judged by; give both.")
    if hasattr(model, "evaluate"):
        return model.evaluate(X, y, weights)
    labels, codes = code_labels(read_labels(y, len(y)))
    known = np.asarray(model.classes_)
    unknown = [label for label in labels.tolist() if label not in known.tolist()]
    if unknown:
        raise ClasswiseError(f"y contains the label {unknown[0]!r}, which is not a class; they are {known.tolist()}.")
    with np.errstate(divide="ignore"):  # a probability of zero is one
        log_posterior = np.log(np.asarray(model.predict_proba(X), dtype=np.float64))
    places = np.array([known.tolist().index(label) for label in labels.tolist()])
    given = None if weights is None else np.asarray(weights, dtype=np.float64)
    return Evaluation.of(log_posterior, places[codes], known, given, auc=False)


def draw_reliability(
    evaluations: Mapping[str, Evaluation], title: str = "", label: Any = None, axes: Any = None
) -> Any:
    """Draw observed shares against predicted probabilities, above a histogram of the probabilities.

    evaluations: by the name of the model. The area of a marker is in proportion to the rows of its bin; bars are two
    standard errors. Below the diagonal a model is overconfident.
    """
    axes = new_axes(axes, 5.2, 6.4)
    under = split_below(axes, BELOW)
    axes.plot([0, 1], [0, 1], color=toned(GRAY), linewidth=0.8, linestyle=":")
    styles = class_styles(evaluations)
    for style, evaluation in zip(styles, evaluations.values(), strict=True):
        _draw_curve(axes, evaluation, label, style)
        _draw_histogram(under, _bins(evaluation, label), style, len(evaluations) == 1)
    _say(axes, under, title, label)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=min(len(evaluations), 3), frameon=False)
    return axes


def _draw_curve(axes: Any, evaluation: Evaluation, label: Any, style: Any) -> None:
    weight, predicted, observed = evaluation.reliability(label)
    error = np.sqrt(predicted * (1 - predicted) / weight)
    axes.errorbar(predicted, observed, 2 * error, fmt="none", ecolor=style.color, elinewidth=1, alpha=0.5)
    axes.plot(predicted, observed, color=style.color, linewidth=1, alpha=0.6)
    sizes = 8 + 140 * weight / weight.sum()
    axes.scatter(predicted, observed, sizes, color=style.color, marker=style.marker, label=str(style.label))


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
    under.set(xlabel=f"predicted probability of {what}", ylabel="% of rows")
    under.set_ylim(bottom=0)
    axes.set(ylabel="observed share", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    axes.tick_params(labelbottom=False)
    if title:
        axes.set_title(title, loc="right", fontsize="medium")
    below, above = ("too sure", "not sure enough") if label is None else ("predicted too often", "too rarely")
    axes.text(0.97, 0.06, below, color=toned(GRAY), ha="right")
    axes.text(0.03, 0.92, above, color=toned(GRAY))
    for panel in (axes, under):
        plain_spines(panel)


# A predictive check as a picture: histograms of the rows and of samples, by class and column --------------------------


# Panels in one picture, unless columns are named.
MOST = 40


def plot_check(check: Any, *, columns: Any = None, labels: Any = None, title: str | None = None) -> Any:
    """Draw histograms of the rows over a band with 95 % of the samples, in a row of panels per class; returns a Figure.

    Parameters
    ----------
    check : PredictiveCheck
        The result of m.check(X, y).
    columns : sequence of columns, optional
        The columns and classes to show; by default all.
    labels : sequence of labels, optional
        The columns and classes to show; by default all.
    title : str, optional
        The title of the picture.

    Returns
    -------
    matplotlib Figure
        The picture.

    Notes
    -----
    The title of a panel names the measures in which rows and samples differ.
    """
    known = list(dict.fromkeys(column for _, column in check.histograms))
    columns = known if columns is None else [known[find_column(key, known, "columns")] for key in as_list(columns)]
    labels = list(check.labels) if labels is None else as_list(labels)
    _refuse(check, columns, labels)
    width, height = 0.6 + 2.5 * len(columns), 0.6 + 2.0 * len(labels)
    figure, panels = new_grid(len(labels), len(columns), width, height, sharex="col")
    styles = {style.label: style for style in class_styles(check.labels)}
    for i, label in enumerate(labels):
        for j, column in enumerate(columns):
            _draw_panel(panels[i, j], check, styles[label], column)
        panels[i, 0].set_ylabel(f"{label}\nshare of rows")
    for panel, column in zip(panels[-1], columns, strict=True):
        panel.set_xlabel(axis_name(column))
    figure.legend(handles=_handles(), loc="outside upper left", ncols=2, frameon=False)
    if title is not None:
        figure.suptitle(title)
    return figure


def _refuse(check: Any, columns: list[Any], labels: list[Any]) -> None:
    unknown = [label for label in labels if label not in check.labels]
    if unknown:
        raise ClasswiseError(f"labels name {unknown[0]!r}, which is not among the classes {list(check.labels)}.")
    if len(columns) * len(labels) > MOST:
        raise ClasswiseError(
            f"{len(columns)} columns of {len(labels)} classes are more panels than a picture can show; name some: "
            "columns=[...], labels=[...]."
        )


def _draw_panel(axes: Any, check: Any, style: Any, column: Any) -> None:
    histogram = check.histograms.get((style.label, column))
    plain_spines(axes)
    if histogram is None:
        axes.text(0.5, 0.5, "no values", ha="center", va="center", color=GRAY, transform=axes.transAxes)
        return
    edges = np.arange(len(histogram.levels) + 1) - 0.5 if histogram.edges is None else histogram.edges
    axes.stairs(histogram.high, edges, baseline=histogram.low, fill=True, color=GRAY, alpha=0.35)
    axes.stairs(histogram.middle, edges, color=GRAY, linewidth=0.8, baseline=None)
    axes.stairs(histogram.observed, edges, color=style.color, linewidth=1.6, baseline=None)
    axes.set_ylim(0, 1.1 * max(histogram.high.max(), histogram.observed.max()))
    if histogram.levels is not None:
        axes.set_xticks(range(len(histogram.levels)), map(str, histogram.levels))
        slant_ticks(axes)
    _name_surprises(axes, check, style.label, column)


def _name_surprises(axes: Any, check: Any, label: Any, column: Any) -> None:
    """Name the measures that surprise in a panel."""
    found = [line.what for line in check.surprises if line.label == label and line.columns == (column,)]
    if found:
        more = "" if len(found) < 3 else f" +{len(found) - 2}"
        axes.set_title(f"⚠ {', '.join(found[:2])}{more}", fontsize="small", color=ink(), loc="left")


def _handles() -> list[Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    return [
        Line2D([], [], color=ink(), linewidth=1.6, label="rows, in the color of their class"),
        Patch(color=GRAY, alpha=0.35, label="95 % of samples"),
    ]
