"""Pieces of a page. Whatever comes from rows is escaped here and in tables, and nowhere else."""

from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from html import escape
from io import BytesIO
from typing import Any, NamedTuple
from warnings import catch_warnings, simplefilter

from classwise.tabular import Cells, html_table

# Text that is markup already.
Markup = str


class Picture(NamedTuple):
    """An image for light and for dark surroundings, each as a data URI."""

    light: str
    dark: str


def paragraph(text: str, kind: str = "") -> Markup:
    return f"<p{_class(kind)}>{escape(text)}</p>"


def items(texts: Iterable[str]) -> Markup:
    return "<ul>" + "".join(f"<li>{escape(text)}</li>" for text in texts) + "</ul>"


def code(text: str) -> Markup:
    return f"<pre><code>{escape(text)}</code></pre>"


def definitions(facts: dict[str, str]) -> Markup:
    return "<dl>" + "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in facts.items()) + "</dl>"


def table(cells: Cells, sides: str, kinds: Sequence[str] = ()) -> Markup:
    """A table that scrolls sideways if it is wide. sides: as in `tabular`; kinds: the class of each row."""
    return f"<div class='wide'>{html_table(cells, sides, [_class(kind).strip() for kind in kinds])}</div>"


def figure(picture: Picture, caption: str) -> Markup:
    """A picture with its caption, which screen readers read aloud."""
    return (
        "<figure><picture>"
        f"<source media='screen and (prefers-color-scheme: dark)' srcset='{escape(picture.dark)}'>"
        f"<img src='{escape(picture.light)}' alt='{escape(caption)}'></picture>"
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def section(name: str, title: str, *parts: Markup) -> Markup:
    return f"<section id='{escape(name)}'><h2>{escape(title)}</h2>{''.join(parts)}</section>"


def _class(kind: str) -> str:
    return f" class='{escape(kind)}'" if kind else ""


# Pictures, drawn by matplotlib for light and for dark surroundings, as SVG inside the page ----------------------------

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
    """The picture that `make` draws on Axes of its own, for light and for dark surroundings."""
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


# The page around the sections: readable on a phone, on paper, in the dark; it asks no other computer for anything -----

# The first line forbids a browser to load anything from elsewhere, whatever the rows hold.
PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main>
<header><h1>{title}</h1></header>
{sections}
</main>
</body>
</html>
"""

STYLE = """
:root { --paper: #fff; --ink: #1f2328; --soft: #59636e; --line: #d1d9e0; --shade: #f6f8fa; --best: #dafbe1; }
@media screen and (prefers-color-scheme: dark) {
  :root { --paper: #161b22; --ink: #d7dde5; --soft: #9198a1; --line: #3d444d; --shade: #21262d; --best: #12361f; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.7rem; line-height: 1.2; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 2.2rem 0 .6rem; padding-bottom: .2rem; border-bottom: 1px solid var(--line); }
p, li { max-width: 46rem; overflow-wrap: anywhere; }
.lead { font-size: 1.1rem; font-weight: 600; }
.small, figcaption { font-size: .875rem; color: var(--soft); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .6rem .2rem 0; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); }
th.word, td.word { text-align: left; }
tr.best { background: var(--best); font-weight: 600; }
tr.better { font-weight: 600; }
tbody tr:not(.best):not(.better):not(.tie) { color: var(--soft); }
#data tbody tr, #errors tbody tr { color: var(--ink); }
figure { margin: 1.2rem 0; break-inside: avoid; }
img { max-width: 100%; height: auto; max-height: 36rem; display: block; }
pre { background: var(--shade); padding: .8rem; overflow-x: auto; border-radius: 6px; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
@media print {
  body { font-size: 10pt; }
  main { max-width: none; padding: 0; }
  table { font-size: 7pt; }
  .wide { overflow: visible; }
  pre { white-space: pre-wrap; border: 1px solid var(--line); }
  h2 { break-after: avoid; }
  tr { break-inside: avoid; }
}
"""


def page(title: str, sections: list[Markup]) -> Markup:
    return PAGE.format(title=escape(title), style=STYLE, sections="\n".join(sections))
