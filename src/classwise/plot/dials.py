"""The two dials: the log loss of every share and shrink that was tried."""

from typing import Any

import numpy as np

from classwise.arrays import EPS, Array
from classwise.errors import ClasswiseError
from classwise.plot.canvas import BLUE, GRAY, RED, contrasting, ink, new_axes, plain_spines


def plot_dials(m: Any, axes: Any = None) -> Any:
    """The cross-validated log loss over share and shrink as a heat map, with a star at the best; dark is good.

    m: a model with a dial set to "cv", or its dials_. Crosses are where no covariance has an inverse. One dial alone is
    drawn as a line.
    """
    choice = _read_choice(m)
    if 1 in choice.log_loss.shape:
        return _draw_line(choice, axes)
    return _draw_square(choice, axes)


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
    axes.plot(columns + 0.5, rows + 0.5, "x", color=GRAY, markersize=6)


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
    axes.plot(losses, color=BLUE, marker="o", linewidth=1.5)
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
