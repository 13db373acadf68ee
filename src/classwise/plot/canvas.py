"""What all pictures share: axes, colors and shapes of the classes, rows as points, legends."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from classwise import limits
from classwise.arrays import Array, Labels
from classwise.errors import ClasswiseError, MissingExtraError
from classwise.rows.frames import read_labels as read_any_labels

# A background of no more luminance than this is dark.
DARK = 0.2

# Colors that people with color-blindness can tell apart (Okabe and Ito 2008).
BLUE, ORANGE, GREEN, PINK, SKY, RED, YELLOW = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
    "#F0E442",
)
GRAY = "#767676"
CYCLE = (BLUE, RED, GREEN, PINK, ORANGE, SKY, YELLOW)
# On a dark background the blue of the classes is hard to see: there it is lighter, and sky, with it, lighter still.
ON_DARK = {BLUE: "#4C9FE6", SKY: "#A8DEFF", GRAY: "#9198A1"}
# One more than there are colors: together they tell 56 classes apart.
MARKERS = "o^sDvPX*"


class Style(NamedTuple):
    """How a class is drawn."""

    label: Any
    color: str
    marker: str


def class_styles(labels: Iterable[Any]) -> list[Style]:
    """A color and a shape for each class, the same in every picture.

    >>> class_styles(["a", "b"])[1]
    Style(label='b', color='#D55E00', marker='^')
    """
    return [Style(label, toned(CYCLE[k % len(CYCLE)]), MARKERS[k % len(MARKERS)]) for k, label in enumerate(labels)]


def toned(color: str) -> str:
    """A color of ours as it is drawn on the background that matplotlib is set to.

    >>> toned(BLUE)  # on white
    '#0072B2'
    """
    try:
        from matplotlib import rcParams
    except ImportError:
        return color
    return ON_DARK.get(color, color) if _luminance(rcParams["axes.facecolor"]) <= DARK else color


def new_axes(axes: Any, width: float, height: float) -> Any:
    """The axes given, or new ones."""
    return new_grid(1, 1, width, height)[1][0, 0] if axes is None else axes


def new_grid(rows: int, columns: int, width: float, height: float, **options: Any) -> tuple[Any, Any]:
    """A new figure, and its axes; (rows, columns)."""
    try:
        from matplotlib import pyplot
    except ImportError as problem:
        raise MissingExtraError("Pictures need matplotlib: pip install 'classwise[plot]'.") from problem
    return pyplot.subplots(rows, columns, figsize=(width, height), layout="constrained", squeeze=False, **options)


def ink() -> Any:
    """The color of text: dark on light, or light on dark, as matplotlib is set."""
    from matplotlib import rcParams

    return rcParams["text.color"]


def contrasting(color: Any) -> Any:
    """The color of text or of the background, whichever stands out more from a color (by WCAG's contrast ratio).

    >>> contrasting("#FFFFFF"), contrasting("#000000")  # in matplotlib's own style
    ('black', 'white')
    """
    from matplotlib import rcParams

    candidates = (rcParams["text.color"], rcParams["axes.facecolor"])
    return max(candidates, key=lambda candidate: contrast(candidate, color))


def contrast(first: Any, second: Any) -> float:
    """The contrast ratio of two colors, from 1 to 21 (WCAG 2)."""
    dark, light = sorted((_luminance(first), _luminance(second)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(color: Any) -> float:
    from matplotlib.colors import to_rgb

    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(color)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def wash(axes: Any) -> float:
    """The opacity of colored areas: higher on a dark background, where faint colors are hard to tell apart."""
    return 0.16 if _luminance(axes.get_facecolor()) > DARK else 0.3


def split_below(axes: Any, share: float) -> Any:
    """New axes below the given ones, with a share of their height and the same x axis."""
    spec = axes.get_subplotspec()
    if spec is None:
        return axes.inset_axes((0, -share - 0.08, 1, share), sharex=axes)
    upper, lower = spec.subgridspec(2, 1, height_ratios=[1 - share, share])
    axes.set_subplotspec(upper)
    return axes.get_figure().add_subplot(lower, sharex=axes)


def scatter(axes: Any, points: Any, style: Style, size: float = 22) -> None:
    """Draw rows of a class as points, each with a thin edge so that they stand apart."""
    options = {"color": style.color, "marker": style.marker, "label": str(style.label)}
    axes.scatter(*points.T, s=size, edgecolors=axes.get_facecolor(), linewidths=0.4, zorder=3, **options)


def plain_spines(axes: Any) -> None:
    """Remove the frame at the top and on the right."""
    axes.spines[["top", "right"]].set_visible(False)


def legend_above(axes: Any, handles: Any = None) -> None:
    """Put a legend above the axes, where it hides nothing, in as many rows as it needs."""
    handles = axes.get_legend_handles_labels()[0] if handles is None else handles
    widths = [32 + 5.8 * len(handle.get_label()) for handle in handles]  # in points
    width = 72 * axes.get_figure().get_figwidth() * axes.get_position().width
    columns = len(handles) if sum(widths) <= width else max(1, min(len(handles), int(width / max(widths))))
    place = {"loc": "lower left", "bbox_to_anchor": (0, 1), "ncols": columns, "columnspacing": 1.2}
    axes.legend(handles=handles, frameon=False, handletextpad=0.4, **place)


def entitle(axes: Any, title: str | None) -> None:
    """Write a title, if there is one, above all that is above the axes."""
    if title is None:
        return
    legend, dpi = axes.get_legend(), axes.get_figure().dpi
    above = 0.0 if legend is None else 72 / dpi * max(legend.get_window_extent().y1 - axes.get_window_extent().y1, 0.0)
    axes.set_title(title, loc="left", pad=6 + above)


def slant_ticks(axes: Any) -> None:
    """Slant the names along the x axis if they would run into each other."""
    names = [label.get_text() for label in axes.get_xticklabels()]
    width = 72 * axes.get_figure().get_figwidth() * axes.get_position().width
    if sum(5.8 * len(name) + 8 for name in names) > width:
        axes.tick_params(axis="x", labelrotation=30)
        for label in axes.get_xticklabels():
            label.set(ha="right", rotation_mode="anchor")


# Rows -----------------------------------------------------------------------------------------------------------------

# Many rows are drawn in so many layers, each of all classes, so that the last class does not hide the others.
LAYERS = 20

# How far rows of one level are spread, on each side of it.
SPREAD = 0.3


def read_labels(y: Any, length: int) -> Labels:
    """The labels of rows; (n,), None where one is missing."""
    labels, missing = read_any_labels(y)
    if labels.shape != (length,):
        raise ClasswiseError(f"y has shape {labels.shape}, and X has {length} rows; give one label for each.")
    return labels if missing is None else np.where(missing, np.array(None), labels)


def draw_rows(axes: Any, styles: list[Style], points: Array | None, y: Any, size: float) -> None:
    """Draw rows at points (n, 2), in gray if there are no labels; of very many rows some, drawn at random."""
    if points is None:
        return
    kept = np.arange(len(points))
    is_sample = len(points) > limits.PICTURED_ROWS
    if is_sample:
        kept = np.random.default_rng(0).permutation(len(points))[: limits.PICTURED_ROWS]
    if y is None:
        scatter(axes, points[kept], Style("rows", GRAY, "o"), size)
        return
    labels = read_labels(y, len(points))
    for part in np.array_split(kept, LAYERS if is_sample else 1):
        for style in styles:
            scatter(axes, points[part[labels[part] == style.label]], style, size)


def spread(points: Array, columns: list[int]) -> Array:
    """Spread rows of one level, so that they do not hide each other; the same way each time."""
    moved = points.copy()
    moved[:, columns] += np.random.default_rng(0).uniform(-SPREAD, SPREAD, (len(points), len(columns)))
    return moved


def class_handles(styles: list[Style]) -> list[Any]:
    """Entries of the legend for the classes, whether or not rows are shown."""
    from matplotlib.lines import Line2D

    return [Line2D([], [], color=s.color, marker=s.marker, linestyle="", label=str(s.label)) for s in styles]
