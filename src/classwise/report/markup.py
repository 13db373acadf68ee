"""Pieces of a page. Whatever comes from rows is escaped here, and nowhere else."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

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


def table(
    header: Sequence[str], rows: Sequence[Sequence[str]], kinds: Sequence[str] = (), words: Sequence[int] = (0,)
) -> Markup:
    """kinds: how each row looks; words: the columns that are words, not numbers."""
    head = "".join(f"<th{_side(i, words)}>{escape(cell)}</th>" for i, cell in enumerate(header))
    body = "".join(
        f"<tr{_class(kind)}>"
        + "".join(f"<td{_side(i, words)}>{escape(cell)}</td>" for i, cell in enumerate(row))
        + "</tr>"
        for row, kind in zip(rows, kinds or [""] * len(rows), strict=True)
    )
    return f"<div class='wide'><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"


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


def _side(column: int, words: Sequence[int]) -> str:
    return " class='word'" if column in words else ""
