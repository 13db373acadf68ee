"""Docstrings for the pages: plain text with numpydoc sections becomes reStructuredText, and each estimator has a page.

Docstrings are written to be read as they are, in help() and notebooks. So nothing in them is markup: formulas are
indented, code is in `backticks`, options are a list of names with a type.
"""

import inspect
import re
from itertools import pairwise

import classwise

TITLE = re.compile(r"^([A-Z]\w+)\n-+$", re.MULTILINE)
OPTION = re.compile(r"(?P<names>\w+(, \w+)*( \([^)]*\))?): ")

# The estimators, and the lesson that explains each.
LESSONS = {
    "GaussianClassifier": "gaussians",
    "LDA": "gaussians",
    "QDA": "gaussians",
    "RDA": "choosing",
    "NearestMean": "gaussians",
    "NaiveBayes": "tables",
    "AODE": "aode",
    "MixtureClassifier": "mixture",
    "BayesianLogistic": "logistic",
    "ForestClassifier": "forest",
    "ShrunkenCentroids": "wide",
    "HDDA": "wide",
    "RobustClassifier": "robust",
    "AutoClassifier": "auto",
    "Decision": "deciding",
}


def to_rst(lines):
    """A docstring as reStructuredText."""
    text = "\n".join(lines).strip("\n")
    marks = [0, *(match.start() for match in TITLE.finditer(text)), len(text)]
    parts = [text[start:end].strip("\n") for start, end in pairwise(marks)]
    return [line for part in parts for line in _part(part)]


def _part(part):
    if not TITLE.match(part):
        return plain(part)
    title, _, body = part.split("\n", 2)
    return [f".. rubric:: {title}", "", *(plain(body) if title in ("Notes", "Examples") else _entries(body))]


def _entries(body):
    """Options, attributes or results: each a name with its type, and sentences below it."""
    result = []
    for line in body.split("\n"):
        if not line.startswith(" ") and line.strip():
            name, _, kind = line.partition(" : ")
            head = [f"``{name}``", f"*{_escape(kind)}*"] if kind else [f"``{name}``"]
            result += ["", " : ".join(head)]
        else:
            result.append(f"    {_escape(line.strip())}" if line.strip() else "")
    return [*result, ""]


def plain(text):
    """Prose, lists of options, indented formulas and doctests."""
    result = []
    for block in text.strip("\n").split("\n\n"):
        rows = block.strip("\n").split("\n")
        if rows[0].startswith(">>>"):
            result += rows
        elif all(row.startswith(" ") for row in rows):
            result += ["::", "", *(f"    {row}" for row in rows)]
        else:
            result += _prose(rows)
        result.append("")
    return result


def _prose(rows):
    """Sentences, and options as a list: an option starts a line with its name and a colon."""
    result, depth = [], ""
    for row in rows:
        option = OPTION.match(row)
        if option:
            result += ["", f"* ``{option['names']}``: {_escape(row[option.end() :])}"]
            depth = "  "
        else:
            result.append(depth + _escape(row.strip()))
    return result


def _escape(text):
    """The characters that mean something to reStructuredText as themselves, and `code` as code."""
    parts = re.split(r"`([^`]+)`", text)
    characters = [re.sub(r"([\\*_|]|^[-+])", r"\\\1", part) for part in parts[::2]]
    code = [f"``{part}``" for part in parts[1::2]]
    return "".join(a + b for a, b in zip(characters, [*code, ""], strict=True))


# A page for each estimator -------------------------------------------------------------------------------------------


def methods(estimator):
    """The public methods that classwise defines, in the order of the classes that define them."""
    names = {}
    for cls in estimator.__mro__:
        if cls.__module__.startswith("classwise"):
            names |= dict.fromkeys(name for name in vars(cls) if name[0] != "_" and not name.endswith("_request"))
    names = [name for name in names if callable(getattr(estimator, name, None))]
    order = ["fit", "partial_fit", "fit_statistics", "fit_source", "predict", "predict_proba", "evaluate", "explain"]
    return [*(name for name in order if name in names), *sorted({*names} - {*order})]


def properties(estimator):
    """The attributes of a fitted model that are computed, and so have a docstring."""
    found = inspect.getmembers(estimator, lambda value: isinstance(value, property) and value.fget.__doc__)
    return [name for name, _ in found if name[0] != "_" and name.endswith("_")]


def page(name):
    """The page of an estimator, as reStructuredText."""
    estimator = getattr(classwise, name)
    lines = [name, "=" * len(name), "", f"The lesson: :doc:`/{LESSONS[name]}`.", ""]
    lines += [".. currentmodule:: classwise", "", f".. autoclass:: {name}", ""]
    for title, directive, members in (
        ("Methods", "automethod", methods(estimator)),
        ("Attributes of a fitted model", "autoproperty", properties(estimator)),
    ):
        lines += [title, "-" * len(title), ""]
        lines += [line for member in members for line in (f".. {directive}:: {name}.{member}", "")]
    return "\n".join(lines)


def write_pages(app):
    """Write the pages where they are not yet as they should be."""
    folder = app.srcdir / "reference"
    folder.mkdir(exist_ok=True)
    for name in LESSONS:
        path, text = folder / f"{name}.rst", page(name)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def render(app, what, name, obj, options, lines):
    lines[:] = to_rst(lines)


def setup(app):
    app.connect("builder-inited", write_pages)
    app.connect("autodoc-process-docstring", render)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
