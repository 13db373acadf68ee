"""Pieces of a page. Whatever comes from rows is escaped here and in tables, and nowhere else."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

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
    """kinds: how each row looks; sides: which columns are words."""
    return f"<div class='wide'>{html_table(cells, sides, [_class(kind).strip() for kind in kinds])}</div>"


def figure(picture: Picture, caption: str) -> Markup:
    """Whoever cannot see the picture is read the caption."""
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


# ----------------------------------------------------------------------------------------------------------------------
# The page around the sections: readable on a phone, on paper, in the dark; it asks no other computer for anything.


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
