"""Why a row is taken for one class rather than another, as bars."""

from typing import Any

from classwise.plot.canvas import BLUE, GRAY, RED, ink, new_axes, plain_spines

# Columns of smaller shares than the first so many are put together.
MOST = 15


def plot_explanation(explanation: Any, axes: Any = None) -> Any:
    """The shares of the log odds as bars, the largest first: those to the right speak for the class.

    explanation: of m.explain(row). The last bar is the sum of all others: the log odds.
    """
    parts = [*_parts(explanation), ("log odds", explanation.log_odds)]
    axes = new_axes(axes, 6.8, 1.3 + 0.34 * len(parts))
    shares = [share for _, share in parts]
    colors = [BLUE if share > 0 else RED for share in shares]
    bars = axes.barh(range(len(parts)), shares, color=colors, height=0.65)
    bars[-1].set(hatch="///", edgecolor=ink(), linewidth=0.8)
    axes.bar_label(bars, [f"{share:+.3g}" for share in shares], padding=3, fontsize="small")
    axes.axvline(0, color=GRAY, linewidth=0.8)
    axes.axhline(len(parts) - 1.5, color=GRAY, linewidth=0.8, linestyle=":")
    axes.set_yticks(range(len(parts)), [name for name, _ in parts])
    axes.set_ylim(len(parts) - 0.4, -0.6)
    axes.margins(x=0.16)
    axes.set_xlabel(f"← {explanation.against}      share of the log odds      {explanation.label} →")
    plain_spines(axes)
    return axes


def _parts(explanation: Any) -> list[tuple[str, float]]:
    """What bars are called, and how long they are: columns by size, then the prior and the volume."""
    ranked = sorted(explanation.shares.items(), key=lambda share: -abs(share[1]))
    parts = [(f"{_named(column)} = {_shown(explanation.values[column])}", share) for column, share in ranked[:MOST]]
    if ranked[MOST:]:
        parts.append((f"{len(ranked) - MOST} other columns", sum(share for _, share in ranked[MOST:])))
    parts.append(("prior", explanation.prior))
    return parts + ([("volume", explanation.volume)] if explanation.volume else [])


def _named(column: Any) -> str:
    return column if isinstance(column, str) else f"x{column}"


def _shown(value: Any) -> str:
    if value is None:
        return "missing"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
