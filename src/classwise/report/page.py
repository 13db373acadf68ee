"""Pieces of a page, and the page around them. Whatever comes from rows is escaped here and in tables, and nowhere else.

The page is one file that asks no other computer for anything. It has no library for pictures in it: plotly.js alone
would make a report of 5 MB out of one of 500 kB that a mail carries and a phone opens at once. What pictures gain from
it takes a few lines of our own, in page.js: tables that sort, a word about what the pointer is on, and zooming. The
policy in the header lets that script run, by its hash, and no other, whatever the rows hold.
"""

from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from re import IGNORECASE, compile
from typing import NamedTuple

from classwise.tabular import Cells, html_table

# The words of a report in plain words.
GLOSSARY = {
    "accuracy": "How many rows the model decides rightly, as a share of all rows.",
    "balanced accuracy": "The mean over classes of how many of its rows are decided rightly: a rare class counts as "
    "much as a frequent one.",
    "as good": "Two models are as good as each other if the difference of their log losses is within its standard "
    "error: chance may have decided who is ahead.",
    "AUC": "The area under the ROC curve: how often a row of a class gets a higher probability of that class than a "
    "row of another class. 50 % is guessing, 100 % is perfect.",
    "Brier score": "The mean squared difference between probabilities and truth (1 or 0), from 0 (perfect) to 2.",
    "calibration": "Probabilities are calibrated if they are right as often as they say: of all rows with 80 %, 80 in "
    "100 are decided rightly.",
    "calibration error": "How far, on average, probabilities are from the share of rows that are right. 0 is perfect.",
    "confusion": "A table of mistakes: how many rows of each class were taken for each class.",
    "evidence": "How probable the model makes the whole table, on a log scale. Larger is better. It punishes models "
    "that are more complicated than the rows warrant.",
    "held out": "Rows that a model is judged by are never rows that it has learned from: the rows are split into "
    "folds, and each fold is predicted by a model of the others (cross-validation).",
    "importance": "How much worse the probabilities become on rows held out, as log loss, if the model must do "
    "without the column.",
    "interval": "A range that holds the true value in 95 of 100 such studies. With few rows it is wide.",
    "log loss": "How good the probabilities are: minus the mean logarithm of the probability given to the true class. "
    "0 is perfect, less is better; being sure and wrong costs most.",
    "log odds": "The logarithm of how many times more probable one class is than another. Above 0 the first is more "
    "probable. 1 is about 3 times, 2 about 7 times, 5 about 150 times.",
    "posterior": "The probability of a class for a row, given all its values.",
    "precision": "Of the rows taken for a class, the share that is of it.",
    "prior": "The probability of a class before anything is known about a row: its share of the rows.",
    "recall": "Of the rows of a class, the share that was taken for it.",
    "temperature": "Probabilities that are too sure, or not sure enough, are corrected by dividing their logarithms by "
    "one number, the temperature. Above 1 it makes them less sure, below 1 more.",
}

# Text that is markup already.
Markup = str


# Words of the glossary, the longest first, so that "balanced accuracy" is not taken for "accuracy".
TERMS = compile(rf"\b({'|'.join(sorted(GLOSSARY, key=len, reverse=True))})\b", IGNORECASE)


def prose(text: str) -> Markup:
    """Our own words, in which the first word of the glossary is linked to it."""
    return TERMS.sub(lambda found: f"<a class='term' href='#{anchor(found[0])}'>{found[0]}</a>", escape(text), count=1)


def anchor(term: str) -> str:
    """The name of a word's place in the glossary."""
    return "word-" + term.lower().replace(" ", "-")


def percent(share: float) -> str:
    """A share in percent; what is not quite all or nothing is not called so.

    >>> percent(0.25), percent(0.9999), percent(1.0), percent(1e-9)
    ('25.0\\xa0%', '>99.9\\xa0%', '100\\xa0%', '<0.1\\xa0%')
    """
    shown = f"{100 * share:.1f}" if 0.0005 <= share < 0.9995 else f"{100 * share:.0f}"
    mark = "<0.1" if 0 < share < 0.0005 else ">99.9" if 0.9995 <= share < 1 else shown
    return f"{mark}\N{NO-BREAK SPACE}%"


def paragraph(text: str, kind: str = "") -> Markup:
    return f"<p{_class(kind)}>{prose(text)}</p>"


def items(texts: Iterable[str]) -> Markup:
    return "<ul>" + "".join(f"<li>{prose(text)}</li>" for text in texts) + "</ul>"


def code(text: str) -> Markup:
    return f"<pre tabindex='0'><code>{escape(text)}</code></pre>"


def definitions(facts: dict[str, str]) -> Markup:
    return "<dl>" + "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in facts.items()) + "</dl>"


def tiles(facts: dict[str, str]) -> Markup:
    """The few numbers that matter most, in large print, and what each means."""
    return (
        "<ul class='tiles'>"
        + "".join(f"<li><b>{escape(number)}</b><span>{prose(text)}</span></li>" for number, text in facts.items())
        + "</ul>"
    )


def folded(title: str, *parts: Markup) -> Markup:
    """What few readers want; it is open on paper."""
    return f"<details><summary>{escape(title)}</summary>{''.join(parts)}</details>"


def table(cells: Cells, sides: str, kinds: Sequence[str] = ()) -> Markup:
    """A table that scrolls sideways if it is wide. sides: as in `tabular`; kinds: the class of each row."""
    return scrolling(html_table(cells, sides, [_class(kind).strip() for kind in kinds]), cells[0][0])


def scrolling(made: Markup, name: str) -> Markup:
    """A box that scrolls sideways, by keys as well."""
    return f"<div class='wide' tabindex='0' role='region' aria-label='{escape(name)}'>{made}</div>"


class Cell(NamedTuple):
    """A cell of a table that sorts: what is shown, and what it is sorted by; "" is sorted last."""

    shown: Markup
    value: object = ""


def sortable(
    name: str, header: Sequence[str], sides: str, rows: Sequence[Sequence[Cell]], kinds: Sequence[str], ascending: int
) -> Markup:
    """A table with a button in each heading; kinds: of the rows; ascending: the column that it is sorted by."""
    marks = [" class='word'" if side == "<" else "" for side in sides.ljust(len(header), ">")]
    sorts = [" aria-sort='ascending'" if place == ascending else "" for place in range(len(header))]
    heads = "".join(
        f"<th scope='col'{mark}{sort}><button type='button'>{escape(name)}</button></th>"
        for name, mark, sort in zip(header, marks, sorts, strict=True)
    )
    lines = "".join(
        f"<tr{_class(kind)}>"
        + "".join(
            f"<td{mark} data-value='{escape(str(cell.value))}'>{cell.shown}</td>"
            for cell, mark in zip(row, marks, strict=True)
        )
        + "</tr>"
        for row, kind in zip(rows, kinds, strict=True)
    )
    return scrolling(f"<table class='sorts'><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table>", name)


def section(name: str, title: str, *parts: Markup) -> Markup:
    return f"<section id='{escape(name)}'><h2>{escape(title)}</h2>{''.join(parts)}</section>"


def _class(kind: str) -> str:
    return f" class='{escape(kind)}'" if kind else ""


def glossary(sections: Sequence[Markup]) -> Markup:
    """The words that occur in sections, in plain words."""
    used = {word.lower() for made in sections for word in TERMS.findall(made)}
    entries = "".join(
        f"<dt id='{anchor(word)}'>{escape(word)}</dt><dd>{escape(text)}</dd>"
        for word, text in GLOSSARY.items()
        if word.lower() in used
    )
    return section("glossary", "Words used here", f"<dl>{entries}</dl>")


# The page around the sections: readable on a phone, on paper, in the dark ---------------------------------------------

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main>
<header><h1>{title}</h1>{below}{contents}</header>
{sections}
</main>
<script>{script}</script>
</body>
</html>
"""

POLICY = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{hash}'; base-uri 'none'; "
    "form-action 'none'"
)


def page(title: str, below: str, sections: Sequence[Markup]) -> Markup:
    """below: a line under the title. A glossary stands before the last section, which says how the page was made."""
    sections = [*sections[:-1], glossary(sections), sections[-1]]
    style, script = (files(__package__).joinpath(name).read_text("utf-8") for name in ("page.css", "page.js"))
    policy = POLICY.format(hash=b64encode(sha256(script.encode()).digest()).decode())
    about = {"title": escape(title), "below": f"<p class='small'>{escape(below)}</p>", "contents": _contents(sections)}
    return PAGE.format(**about, policy=policy, style=style, script=script, sections="\n".join(sections))


HEADING = compile(r"<section id='([^']*)'><h2>(.*?)</h2>")


def _contents(sections: Sequence[Markup]) -> Markup:
    found = (HEADING.match(made) for made in sections)
    links = "".join(f"<li><a href='#{match[1]}'>{match[2]}</a></li>" for match in found if match)
    return f"<nav aria-label='Contents'><ul>{links}</ul></nav>"
