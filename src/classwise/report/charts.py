"""Charts in the page's own markup, which take its colors, in light and dark, grow with it, and stay sharp on paper; and
pictures of matplotlib's, for light and for dark surroundings, with a word about each point in them.
"""

import json
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from html import escape
from io import BytesIO
from typing import Any, NamedTuple, TypeAlias
from warnings import catch_warnings, simplefilter

import numpy as np

from classwise.arrays import ratio
from classwise.classifier.evaluation import Estimate, Evaluation
from classwise.errors import ClasswiseError
from classwise.plot.canvas import class_styles
from classwise.report.page import Markup, paragraph, percent, prose, scrolling
from classwise.tabular import count_text

# Charts of our own ----------------------------------------------------------------------------------------------------


def _tip(text: str) -> Markup:
    """A text for the pointer, and for screen readers."""
    return f" data-tip='{escape(text)}' role='img' aria-label='{escape(text)}'"


# A log loss and its interval, in the row of a table -------------------------------------------------------------------


class Scale(NamedTuple):
    """An axis from low to high."""

    low: float
    high: float

    def place(self, value: float) -> float:
        """In percent of the width, with some room at both ends."""
        share = (value - self.low) / max(self.high - self.low, 1e-12)
        return round(4 + 92 * min(max(share, 0.0), 1.0), 2)


def interval(estimate: Estimate, scale: Scale, best: float, without: float | None) -> Markup:
    """A dot on a line; without: a ring where the log loss is without the temperature; best: a line for comparison."""
    tip = f"log loss {estimate.value:.3g}, 95 % interval {max(estimate.low, 0):.3g} to {estimate.high:.3g}"
    if estimate.value > scale.high:
        marks = f"<text x='99%' y='72%' text-anchor='end'>{estimate.value:.3g} →</text>"
    else:
        low, high, middle = map(scale.place, (max(estimate.low, scale.low), estimate.high, estimate.value))
        ring = "" if without is None else f"<circle class='mark ring' cx='{scale.place(without)}%' cy='50%' r='4'/>"
        marks = (
            f"<line class='mark' x1='{low}%' x2='{high}%' y1='50%' y2='50%' stroke-width='2'/>"
            f"<circle class='mark' cx='{middle}%' cy='50%' r='4'/>{ring}"
        )
    line = scale.place(best)
    guide = f"<line class='axis' x1='{line}%' x2='{line}%' y1='0' y2='100%' stroke-dasharray='2 3'/>"
    return f"<svg class='interval'{_tip(tip)}>{guide}{marks}</svg>"


# Bars -----------------------------------------------------------------------------------------------------------------


class Bar(NamedTuple):
    """name: before the bar; shown: after it; error: half the length of the whisker at its end; tip: for the pointer."""

    name: str
    value: float
    shown: str
    error: float = 0.0
    tip: str = ""


def bars(lines: Sequence[Bar], caption: str) -> Markup:
    """Bars from zero, to both sides if some are negative: blue to the right, orange to the left."""
    ends = [line.value + sign * line.error for line in lines for sign in (-1, 1)]
    low, high = min(0.0, *ends), max(0.0, *ends)
    if all(line.value >= 0 for line in lines):
        low = 0.0
    width = max(high - low, 1e-12)

    def place(value: float) -> float:
        return round(100 * (min(max(value, low), high) - low) / width, 2)

    rows = "".join(_bar(line, *map(place, (0.0, line.value, line.value - line.error, line.value + line.error)))
                   for line in lines)  # fmt: skip
    return scrolling(f"<table class='bars'><tbody>{rows}</tbody></table>", caption)


def _bar(line: Bar, zero: float, end: float, first: float, last: float) -> Markup:
    kind = "for" if line.value >= 0 else "against"
    left, width = min(zero, end), round(abs(end - zero), 2)
    whisker = f"<line class='whisker' x1='{first}%' x2='{last}%' y1='50%' y2='50%'/>" if line.error else ""
    return (
        f"<tr><td class='word'>{escape(line.name)}</td>"
        f"<td><svg class='bar'{_tip(line.tip or f'{line.name}: {line.shown}')}>"
        f"<rect class='{kind}' x='{left}%' width='{width}%' y='15%' height='70%'/>{whisker}"
        f"<line class='axis' x1='{zero}%' x2='{zero}%' y1='0' y2='100%'/></svg></td>"
        f"<td>{escape(line.shown)}</td></tr>"
    )


# Confusion ------------------------------------------------------------------------------------------------------------

# With more classes than this, names stand upright and cells hold only what is not zero.
FEW_CLASSES = 8


def heat_map(evaluation: Evaluation) -> Markup:
    """How many rows of each class (rows) were taken for each class (columns); the shade is the share of the class."""
    counts, names = evaluation.confusion, [str(label) for label in evaluation.labels]
    shares = ratio(counts, counts.sum(axis=1, keepdims=True))
    many = len(names) > FEW_CLASSES
    heads = "".join(f"<th scope='col' class='name'>{escape(name)}</th>" for name in names)
    lines = "".join(
        f"<tr><th scope='row'>{escape(name)}</th>"
        + "".join(_heat_cell(names, i, j, counts[i, j], shares[i, j], many) for j in range(len(names)))
        + "</tr>"
        for i, name in enumerate(names)
    )
    made = (
        f"<table class='heat{' many' if many else ''}'><thead><tr><td class='corner'>true ↓ predicted →</td>{heads}"
        f"</tr></thead><tbody>{lines}</tbody></table>"
    )
    return scrolling(made, "Confusion")


def _heat_cell(names: Sequence[str], i: int, j: int, count: float, share: float, many: bool) -> Markup:
    number = count_text(count)
    if not count:
        return f"<td class='nothing'>{'' if many else '0'}</td>"
    # The root makes rare mistakes visible. Text stands out from strong colors in white, or in black on a dark page.
    part = round(100 * (share if i == j else np.sqrt(share)))
    kinds = [*(["right"] if i == j else []), *(["strong"] if part > 85 else ["medium"] if part > 55 else [])]
    tip = f"{number} rows of {names[i]} were taken for {names[j]}: {percent(share)} of that class"
    shown = number if many else f"{number}<small>{escape(percent(share))}</small>"
    mark = f" class='{' '.join(kinds)}'" if kinds else ""
    return f"<td{mark} style='--part: {part}%' data-tip='{escape(tip)}'>{shown}</td>"


# Pictures of matplotlib's ---------------------------------------------------------------------------------------------


# The text for a point: from its group, its position in the group, and its place in the units of the axes.
PointTip: TypeAlias = Callable[[int, int, float, float], str]


class Picture(NamedTuple):
    """An image for light and for dark surroundings, each as a data URI.

    width: in inches; points: shares of width and height from the upper left corner, and what is said of what is there.
    """

    light: str
    dark: str
    width: float = 6.4
    points: tuple[tuple[float, float, str], ...] = ()


def pictured(
    make: Callable[[], Any], caption: str, point_tip: PointTip | None = None, classes: Sequence[Any] | None = None
) -> Markup:
    """A picture with its caption, or why there is none. classes: labels of a legend below it, which may be long."""
    try:
        return figure(draw(make, point_tip, classes is None), caption, "" if classes is None else legend(classes))
    except ClasswiseError as problem:
        return paragraph(f"{caption.split(':')[0].rstrip('.')}: this cannot be drawn. {problem}", "small")


# The shapes of matplotlib's markers as signs.
SIGNS = dict(zip("o^sDvPX*", "●▲■◆▼✚✖★", strict=True))


def legend(labels: Sequence[Any]) -> Markup:
    """Colors and shapes of classes, in as many lines as they need."""
    entries = (
        f"<li><i style='color: {color}' aria-hidden='true'>{SIGNS[marker]}</i> {escape(str(label))}</li>"
        for label, color, marker in class_styles(labels)
    )
    return f"<ul class='key'>{''.join(entries)}</ul>"


def figure(picture: Picture, caption: str, below: Markup = "") -> Markup:
    """A picture with its caption, which screen readers read aloud."""
    points = f" data-points='{escape(json.dumps(picture.points))}'" if picture.points else ""
    return (
        f"<figure><div class='frame'{points} style='max-width: {REM * picture.width:.3g}rem'><picture>"
        f"<source media='screen and (prefers-color-scheme: dark)' srcset='{escape(picture.dark)}'>"
        f"<img src='{escape(picture.light)}' alt='{escape(caption)}'></picture></div>{below}"
        f"<figcaption>{prose(caption)}</figcaption></figure>"
    )


# An inch of a picture takes so much room, as many times the height of letters.
REM = 6.2

# Text as outlines, so that no font is needed; the same bytes for the same rows.
SHARED = {"svg.fonttype": "path", "svg.hashsalt": "classwise", "font.size": 10, "savefig.transparent": False}

LIGHT = {"figure.facecolor": "#ffffff", "axes.facecolor": "#ffffff", "savefig.facecolor": "#ffffff"}

INK, PAPER = "#dde3ea", "#161b22"
DARK = {
    **dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor", "legend.facecolor"), PAPER),
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK),
    **dict.fromkeys(("patch.edgecolor", "lines.color", "grid.color", "boxplot.flierprops.color"), INK),
}

# Shapes for more rows than this are put into the page as pixels: drawn one by one they would make it large.
MANY = 300


def draw(make: Callable[[], Any], point_tip: PointTip | None = None, has_legend: bool = True) -> Picture:
    """The picture that `make` draws on Axes of its own, for light and for dark surroundings."""
    (light, width, points), (dark, _, _) = (_drawn(make, colors, point_tip, has_legend) for colors in (LIGHT, DARK))
    return Picture(light, dark, width, points)


def _drawn(
    make: Callable[[], Any], colors: dict[str, str], point_tip: PointTip | None, has_legend: bool
) -> tuple[str, float, tuple[tuple[float, float, str], ...]]:
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    # "agg" draws without a screen. Fonts lack some signs of some languages: a box stands there.
    settings: Any = {"backend": "agg", **SHARED, **colors}
    with rc_context(settings), catch_warnings():
        simplefilter("ignore")
        made = make()
        figure: Figure = made if isinstance(made, Figure) else made.get_figure()
        _lighten(figure)
        for legend in [] if has_legend else filter(None, (axes.get_legend() for axes in figure.axes)):
            legend.remove()
        file = BytesIO()
        figure.savefig(file, format="svg", dpi=150, metadata={"Date": None})
        points = () if point_tip is None else tuple(_points(figure, point_tip))
        _close(figure)
    return "data:image/svg+xml;base64," + b64encode(file.getvalue()).decode(), figure.get_figwidth(), points


def _points(figure: Any, point_tip: PointTip) -> Iterator[tuple[float, float, str]]:
    """Where the points of all groups were drawn."""
    from matplotlib.collections import PathCollection

    width, height = figure.get_size_inches() * figure.dpi
    groups = [shapes for shapes in figure.axes[0].collections if isinstance(shapes, PathCollection)]
    for group, shapes in enumerate(groups):
        offsets = np.ma.filled(np.ma.asarray(shapes.get_offsets(), dtype=np.float64), np.nan)
        for i, ((x, y), (across, up)) in enumerate(
            zip(offsets.tolist(), shapes.get_offset_transform().transform(offsets).tolist(), strict=True)
        ):
            if np.isfinite((across, up)).all():
                yield round(across / width, 4), round(1 - up / height, 4), point_tip(group, i, x, y)


def _lighten(figure: Any) -> None:
    for axes in figure.axes:
        for shapes in axes.collections:
            if len(shapes.get_offsets()) > MANY:
                shapes.set_rasterized(True)


def _close(figure: Any) -> None:
    from matplotlib import pyplot

    pyplot.close(figure)
