"""Pictures for a page: drawn by matplotlib for light and for dark surroundings, as SVG inside the page."""

from base64 import b64encode
from collections.abc import Callable
from io import BytesIO
from typing import Any
from warnings import catch_warnings, simplefilter

from classwise.report.markup import Picture

# Text as outlines, so that no font is needed; the same bytes for the same rows.
SHARED = {"svg.fonttype": "path", "svg.hashsalt": "classwise", "font.size": 10, "savefig.transparent": False}

LIGHT = {"figure.facecolor": "#ffffff", "axes.facecolor": "#ffffff", "savefig.facecolor": "#ffffff"}

INK, PAPER = "#d7dde5", "#161b22"
DARK = {
    **dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor", "legend.facecolor"), PAPER),
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK),
    **dict.fromkeys(("patch.edgecolor", "lines.color", "grid.color", "boxplot.flierprops.color"), INK),
}

# Shapes for more rows than this are put into the page as pixels: drawn one by one they would make it large.
MANY = 300


def draw(make: Callable[[], Any]) -> Picture:
    """make: draws on Axes of its own, and returns them or their Figure."""
    return Picture(_drawn(make, LIGHT), _drawn(make, DARK))


def _drawn(make: Callable[[], Any], colors: dict[str, str]) -> str:
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    # "agg" draws without a screen. Fonts lack some signs of some languages: a box stands there.
    settings: Any = {"backend": "agg", **SHARED, **colors}
    with rc_context(settings), catch_warnings():
        simplefilter("ignore")
        made = make()
        figure: Figure = made if isinstance(made, Figure) else made.get_figure()
        _lighten(figure)
        file = BytesIO()
        figure.savefig(file, format="svg", dpi=150, metadata={"Date": None}, bbox_inches="tight")
        _close(figure)
    return "data:image/svg+xml;base64," + b64encode(file.getvalue()).decode()


def _lighten(figure: Any) -> None:
    for axes in figure.axes:
        for shapes in axes.collections:
            if len(shapes.get_offsets()) > MANY:
                shapes.set_rasterized(True)


def _close(figure: Any) -> None:
    from matplotlib import pyplot

    pyplot.close(figure)
