"""An explanation, a stack and a comparison as bars and dots."""

from collections.abc import Sequence
from typing import Any

from classwise.classifier.column_view import axis_name
from classwise.plot.canvas import BLUE, GRAY, GREEN, ORANGE, RED, entitle, ink, new_axes, plain_spines, toned

# ----------------------------------------------------------------------------------------------------------------------
# Why a row is taken for one class rather than another, as bars.

# This many columns are drawn, those of the largest shares; the others are put together.
MOST = 15


def plot_explanation(explanation: Any, *, axes: Any = None, title: str | None = None) -> Any:
    """Draw the share of each column in the log odds as bars, the largest first; bars to the right support the class.

    Parameters
    ----------
    explanation : Explanation
        The result of m.explain(row). The last bar is the sum of all others: the log odds.
    axes : matplotlib Axes, optional
        Where to draw; by default on new Axes.
    title : str, optional
        The title of the picture.

    Returns
    -------
    matplotlib Axes
        The picture.
    """
    parts = [*_parts(explanation), ("log odds", explanation.log_odds)]
    axes = new_axes(axes, 6.8, 1.3 + 0.34 * len(parts))
    shares = [share for _, share in parts]
    colors = [toned(BLUE) if share > 0 else RED for share in shares]
    bars = axes.barh(range(len(parts)), shares, color=colors, height=0.65)
    bars[-1].set(hatch="///", edgecolor=ink(), linewidth=0.8)
    axes.bar_label(bars, [f"{share:+.3g}" for share in shares], padding=3, fontsize="small")
    axes.axvline(0, color=toned(GRAY), linewidth=0.8)
    axes.axhline(len(parts) - 1.5, color=toned(GRAY), linewidth=0.8, linestyle=":")
    axes.set_yticks(range(len(parts)), [name for name, _ in parts])
    axes.set_ylim(len(parts) - 0.4, -0.6)
    axes.margins(x=0.16)
    axes.set_xlabel(f"← {explanation.other}      share of the log odds      {explanation.label} →")
    plain_spines(axes)
    entitle(axes, title)
    return axes


def _parts(explanation: Any) -> list[tuple[str, float]]:
    """Names and lengths of the bars: columns by size, then the prior and the volume."""
    ranked = sorted(explanation.shares.items(), key=lambda share: -abs(share[1]))
    parts = [(f"{axis_name(column)} = {_shown(explanation.values[column])}", share) for column, share in ranked[:MOST]]
    if ranked[MOST:]:
        parts.append((f"{len(ranked) - MOST} other columns", sum(share for _, share in ranked[MOST:])))
    parts.append(("prior", explanation.prior))
    return parts + ([(explanation.rest, explanation.volume)] if explanation.volume else [])


def _shown(value: Any) -> str:
    if value is None:
        return "missing"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


# ----------------------------------------------------------------------------------------------------------------------
# Which columns matter, as bars.


def draw_importance(lines: Sequence[Any], axes: Any = None) -> Any:
    """Draw the increase of the log loss without each column as bars, with one standard error to both sides.

    lines: of an Importance.
    """
    axes = new_axes(axes, 6.8, 1.2 + 0.34 * len(lines))
    places = range(len(lines))
    errors = [line.standard_error if line.standard_error == line.standard_error else 0.0 for line in lines]
    marks = {"ecolor": ink(), "elinewidth": 1.0, "capsize": 2.5}
    axes.barh(places, [line.increase for line in lines], xerr=errors, color=toned(BLUE), height=0.65, error_kw=marks)
    axes.axvline(0, color=toned(GRAY), linewidth=0.8)
    axes.set_yticks(places, [axis_name(line.name) for line in lines])
    axes.set_ylim(len(lines) - 0.4, -0.6)
    axes.set_xlabel("rise of the log loss without the column")
    plain_spines(axes)
    return axes


# ----------------------------------------------------------------------------------------------------------------------
# A stack as a picture: the weight and log loss of each member, and the log loss of all together.

# Members this many times as far from the best as the one in the middle would squeeze the others together.
FAR = 3.0


def draw_stack(lines: Sequence[Any], log_loss: float, axes: Any = None) -> Any:
    """Draw the members of a stack as dots at their log loss; larger dots have more weight, which is written beside.

    lines: of an AutoReport. Members that were not fitted are left out.
    log_loss: of the stack, drawn as a green line.
    """
    shown = [line for line in lines if line.log_loss is not None]
    axes = new_axes(axes, 7.0, 1.2 + 0.32 * len(shown))
    right = _limit(sorted(line.log_loss for line in shown))
    for place, line in enumerate(shown):
        color = toned(BLUE if line.weight > 0 else GRAY)
        if line.log_loss > right:
            axes.annotate(f"{line.log_loss:.3g} →", (right, place), ha="right", va="center", color=color)
        else:
            axes.scatter(line.log_loss, place, 30 + 400 * line.weight, color=color, alpha=0.85, clip_on=False, zorder=3)
    axes.axvline(log_loss, color=GREEN, linewidth=1.5, label="the stack")
    names = [f"{line.name}  {100 * line.weight:.0f} %" for line in shown]
    axes.set_yticks(range(len(shown)), names)
    axes.set_ylim(len(shown) - 0.4, -0.6)
    low = min(log_loss, *(line.log_loss for line in shown))
    room = max(right - low, 0.02 * right)
    axes.set_xlim(low - 0.06 * room, right + 0.04 * room)
    axes.set_xlabel("log loss of rows held out")
    plain_spines(axes)
    axes.legend(loc="upper right", frameon=False)
    return axes


def _limit(losses: Sequence[float]) -> float:
    """The largest log loss on the axis; larger ones are marked by an arrow. losses: sorted."""
    best, middle = losses[0], losses[len(losses) // 2]
    return min(losses[-1], max(best + FAR * (middle - best), 1.2 * best))


# ----------------------------------------------------------------------------------------------------------------------
# A comparison as a picture: one line for each model, its log loss and how sure that is.


def draw_comparison(lines: Sequence[Any], axes: Any = None) -> Any:
    """Draw the log loss of each model as a dot with its 95 % interval, best first.

    lines: of a ComparisonTable. A ring shows the log loss without a temperature. Green is the best, blue is as good,
    gray is worse, and orange is a reference.
    """
    shown = [line for line in lines if line.log_loss is not None]
    axes = new_axes(axes, 7.5, 1.4 + 0.27 * len(shown))
    left, right = _limits(shown)
    margin = 0.04 * (right - left)
    for place, line in enumerate(shown):
        _draw_line(axes, place, line, right, right + margin)
    axes.axvline(shown[0].final.value, color=toned(GRAY), linewidth=0.8, linestyle=":")
    axes.set_xlim(left - margin, right + margin)
    axes.set_yticks(range(len(shown)), [line.name for line in shown])
    axes.set_ylim(len(shown) - 0.4, -0.6)
    powers = any(line.uses_power for line in shown)
    axes.set_xlabel("log loss of rows held out" + (", ● with a temperature, ○ without" if powers else ""))
    plain_spines(axes)
    _legend(axes, shown)
    return axes


def _limits(shown: Sequence[Any]) -> tuple[float, float]:
    """The axis reaches over all intervals, unless models far worse would squeeze the others together."""
    best, middle = shown[0].final.value, sorted(line.final.value for line in shown)[len(shown) // 2]
    farthest = max(best + 4 * (middle - best), best * 1.2 + 1e-3)
    left = max(min(line.final.low for line in shown), 0.0)
    return left, min(max(line.final.high for line in shown), farthest)


def _draw_line(axes: Any, place: int, line: Any, right: float, edge: float) -> None:
    """Draw one model; beyond the end of the axis, an arrow and the number stand for it."""
    final, color = line.final, _color(line)
    if final.value > right:
        axes.annotate(f"{final.value:.3g} →", (right, place), ha="right", va="center", color=color)
        return
    axes.plot([max(final.low, 0.0), final.high], [place, place], color=color, linewidth=2, solid_capstyle="round")
    axes.plot(final.value, place, "o", color=color, markersize=6)
    if line.uses_power:
        beyond = line.log_loss.value > edge
        marker = {"marker": ">", "clip_on": False} if beyond else {"marker": "o"}
        axes.plot(min(line.log_loss.value, edge), place, markerfacecolor="none", markeredgecolor=color, **marker)


def _color(line: Any) -> str:
    if line.kind == "reference":
        return ORANGE
    return toned({"best": GREEN, "as good": BLUE}.get(line.note, GRAY))


def _legend(axes: Any, shown: Sequence[Any]) -> None:
    from matplotlib.lines import Line2D

    names = {GREEN: "best", toned(BLUE): "as good", toned(GRAY): "worse", ORANGE: "scikit-learn"}
    used = [color for color in names if any(_color(line) == color for line in shown)]
    handles = [Line2D([], [], color=color, marker="o", label=names[color]) for color in used]
    axes.legend(handles=handles, loc="lower left", bbox_to_anchor=(0, 1), ncols=len(used), frameon=False)
