"""Log loss against the two dials, against the number of rows to learn from, and against the number of columns."""

from typing import Any

import numpy as np

from classwise.arrays import EPS, Array
from classwise.errors import ClasswiseError
from classwise.plot.canvas import (
    BLUE,
    GRAY,
    RED,
    class_styles,
    contrasting,
    entitle,
    ink,
    legend_above,
    new_axes,
    plain_spines,
    toned,
    wash,
)


def plot_dials(model: Any, *, axes: Any = None, title: str | None = None) -> Any:
    """Draw the cross-validated log loss over share and shrink as a heat map, with a star at the best; dark is good.

    Parameters
    ----------
    model : estimator or DialChoice
        A fitted model with share="cv" or shrink="cv", or its dials_.
    axes : matplotlib Axes, optional
        Where to draw; by default on new Axes.
    title : str, optional
        By default the best dials.

    Returns
    -------
    matplotlib Axes
        The picture.

    Notes
    -----
    Crosses mark values for which a covariance has no inverse. If only one dial was chosen, a line is drawn.
    """
    choice = _read_choice(model)
    axes = (_draw_line if 1 in choice.log_loss.shape else _draw_square)(choice, axes)
    if title is not None:
        axes.set_title(title)
    return axes


def _read_choice(m: Any) -> Any:
    choice = getattr(m, "dials_", m)
    if not all(hasattr(choice, name) for name in ("shares", "shrinks", "log_loss")):
        raise ClasswiseError(
            f"{type(m).__name__} has no dials that were chosen; fit a model with share='cv' or shrink='cv'."
        )
    return choice


def _draw_square(choice: Any, axes: Any) -> Any:
    axes = new_axes(axes, 7.6, 5.2)
    from matplotlib.colors import LogNorm

    losses = np.where(np.isfinite(choice.log_loss), np.maximum(choice.log_loss, EPS), np.nan)
    image = axes.pcolormesh(losses, cmap="viridis", norm=LogNorm(np.nanmin(losses), np.nanmax(losses)))
    _mark_impossible(axes, losses)
    axes.set_xticks(np.arange(len(choice.shrinks)) + 0.5, map(_shown, choice.shrinks), rotation=45)
    axes.set_yticks(np.arange(len(choice.shares)) + 0.5, map(_shown, choice.shares))
    share, shrink = choice.best
    place = choice.shrinks.index(shrink) + 0.5, choice.shares.index(share) + 0.5
    fill = contrasting(image.to_rgba(np.nanmin(losses)))
    axes.plot(*place, marker="*", markersize=17, linestyle="", color=fill, markeredgecolor=contrasting(fill))
    axes.set(xlabel="shrink", ylabel="share", title=_title(choice))
    bar = axes.get_figure().colorbar(image, ax=axes, label="cross-validated log loss")
    _label_bar(bar, losses)
    return axes


def _mark_impossible(axes: Any, losses: Array) -> None:
    rows, columns = np.nonzero(np.isnan(losses))
    axes.plot(columns + 0.5, rows + 0.5, "x", color=toned(GRAY), markersize=6)


def _label_bar(bar: Any, losses: Array) -> None:
    """Plain numbers, evenly spaced along the bar."""
    ticks = np.geomspace(np.nanmin(losses), np.nanmax(losses), 6)
    bar.set_ticks(ticks, labels=[f"{tick:.3g}" for tick in ticks], minor=False)
    bar.minorticks_off()


def _draw_line(choice: Any, axes: Any) -> Any:
    axes = new_axes(axes, 6.4, 3.8)
    is_share = len(choice.shrinks) == 1
    name, values = ("share", choice.shares) if is_share else ("shrink", choice.shrinks)
    losses = np.where(np.isfinite(choice.log_loss), choice.log_loss, np.nan).ravel()
    place = values.index(choice.best[0 if is_share else 1])
    axes.plot(losses, color=toned(BLUE), marker="o", linewidth=1.5)
    axes.plot(place, losses[place], marker="*", markersize=17, color=RED, markeredgecolor=ink(), linestyle="")
    axes.set_xticks(range(len(values)), map(_shown, values), rotation=45)
    axes.set(xlabel=name, ylabel="cross-validated log loss", title=_title(choice))
    plain_spines(axes)
    return axes


def _title(choice: Any) -> str:
    share, shrink = map(_shown, choice.best)
    return f"★ share {share}, shrink {shrink}: log loss {np.min(choice.log_loss):.4g}"


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:g}"


# ----------------------------------------------------------------------------------------------------------------------
# Learning curves.

NAMES = {"error": "error on rows held out", "log_loss": "log loss of rows held out"}

# Medians that differ by more than this factor take a logarithmic scale.
WIDE = 8.0


def plot_learning_curve(curve: Any, *, measure: str = "log_loss", axes: Any = None, title: str | None = None) -> Any:
    """Draw the median of each model over repeats against the number of training rows, with a band of quartiles.

    Parameters
    ----------
    curve : LearningCurve
        The result of learning_curve(X, y).
    measure : str, default="log_loss"
        "log_loss" or "error".
    axes : matplotlib Axes, optional
        Where to draw; by default on new Axes.
    title : str, optional
        The title of the picture.

    Returns
    -------
    matplotlib Axes
        The picture.

    Notes
    -----
    A line begins at the size from which the model could be fitted in every repeat.
    """
    if measure not in NAMES:
        raise ClasswiseError(f"measure={measure!r} is not an option; choose 'error' or 'log_loss'.")
    medians, (low, high) = curve.median(measure), curve.spread(measure)
    axes = new_axes(axes, 6.4, 4.2)
    for style, middle, below, above in zip(class_styles(curve.names), medians, low, high, strict=True):
        axes.fill_between(curve.sizes, below, above, color=style.color, alpha=1.2 * wash(axes), linewidth=0)
        line = {"color": style.color, "marker": style.marker, "linewidth": 1.8, "markersize": 5}
        axes.plot(curve.sizes, middle, label=str(style.label), **line)
    _limit(axes, measure, medians, high)
    _scale(axes, curve.sizes)
    axes.set(xlabel="rows learned from", ylabel=NAMES[measure])
    plain_spines(axes)
    legend_above(axes)
    entitle(axes, title)
    return axes


def plot_selection(selection: Any, *, axes: Any = None, title: str | None = None) -> Any:
    """Draw the log loss on held-out rows against the number of columns, with standard errors and the choices.

    Parameters
    ----------
    selection : ColumnSelection
        The result of select_columns(model, X, y).
    axes : matplotlib Axes, optional
        Where to draw; by default on new Axes.
    title : str, optional
        The title of the picture.

    Returns
    -------
    matplotlib Axes
        The picture.

    Notes
    -----
    A star marks the least log loss, a circle the fewest columns within one standard error of it, which the gray line
    shows. The dashed line is the log loss of the whole procedure on rows that had no part in it.
    """
    lines = [line for line in selection.table().lines if line.size]
    sizes, losses, errors = (np.array([line[i] for line in lines]) for i in (0, 3, 4))
    axes = new_axes(axes, 6.4, 4.2)
    axes.errorbar(sizes, losses, errors, color=toned(BLUE), marker="o", markersize=4, linewidth=1.5, capsize=2.5)
    best = int(losses.argmin())
    reach = losses[best] + errors[best]
    simplest = int(np.argmax(losses <= reach))
    axes.axhline(reach, color=toned(GRAY), linewidth=0.8, label="one standard error above the least")
    style = {"linestyle": "", "markeredgecolor": ink()}
    axes.plot(sizes[best], losses[best], marker="*", markersize=17, color=RED, label="least log loss", **style)
    label = "fewest columns within one standard error"
    axes.plot(sizes[simplest], losses[simplest], marker="o", markersize=11, fillstyle="none", label=label, **style)
    if selection.nested is not None:
        axes.axhline(selection.nested_log_loss, color=ink(), linestyle="--", linewidth=1, label="the whole procedure")
    if losses.max() > WIDE * losses.min() > 0:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
    axes.set(xlabel="columns", ylabel="log loss of held-out rows")
    axes.xaxis.get_major_locator().set_params(integer=True)
    plain_spines(axes)
    legend_above(axes)
    entitle(axes, title)
    return axes


def _limit(axes: Any, measure: str, medians: Any, high: Any) -> None:
    """From zero on; log losses that differ by an order of magnitude are drawn on a logarithmic scale."""
    if measure == "log_loss" and np.nanmax(medians) > WIDE * np.nanmin(medians) > 0:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
        return
    top = np.nanmax(high)
    axes.set_ylim(0, 1.06 * top if top > 0 else 1.0)


def _scale(axes: Any, sizes: Any) -> None:
    """A logarithmic axis with the sizes themselves as ticks, unless they would run into each other."""
    axes.set_xscale("log")
    shown = [size for i, size in enumerate(sizes) if i == 0 or size / sizes[i - 1] > 1.2 or i == len(sizes) - 1]
    axes.set_xticks(shown, [f"{size:g}" for size in shown])
    axes.minorticks_off()
