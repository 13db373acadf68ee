"""A predictive check as a picture: histograms of the rows and of samples, by class and column."""

from typing import Any

import numpy as np

from classwise.classifier.column_view import as_list, axis_name
from classwise.errors import ClasswiseError
from classwise.plot.canvas import GRAY, class_styles, ink, new_grid, plain_spines, slant_ticks
from classwise.rows.schema import find_column

# Panels in one picture, unless columns are named.
MOST = 40


def plot_check(check: Any, columns: Any = None, labels: Any = None) -> Any:
    """Histograms of the rows over the band that holds 95 % of the samples, a row of panels for each class; a Figure.

    check: the result of m.check(X, y). columns, labels: which to show; all unless given. The title of a panel names
    the measures that surprise there.
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
    _note(axes, check, style.label, column)


def _note(axes: Any, check: Any, label: Any, column: Any) -> None:
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
