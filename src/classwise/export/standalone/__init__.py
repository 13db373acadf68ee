"""Fitted models as one file of code, in Python or JavaScript, that scores rows without classwise."""

from importlib.metadata import version
from typing import Any

from classwise.export.standalone.described import described
from classwise.export.standalone.written import js_literal, packed, parts_of, python_literal, source

__all__ = ["to_js", "to_python"]

PYTHON_HEAD = '''"""A classifier, written by classwise {version}. It needs NumPy 1.22 and Python 3.9, or later.

    predict(rows)        the label of each row
    predict_proba(rows)  P(label | row), in the order of LABELS; (n, labels)

rows: a table of columns by name (a dict of lists, a data frame), a list of dicts, or values in the order of COLUMNS.
None and NaN are missing values. MODEL holds the numbers of the model.
"""
'''

PYTHON_TAIL = '''
# The model ------------------------------------------------------------------------------------------------------------

MODEL = unpacked(
{model}
)

LABELS = MODEL["labels"]
COLUMNS = [column["name"] for column in MODEL["columns"]]


def predict(rows):
    """The label of each row."""
    return predicted(MODEL, read(MODEL, rows), {decide})


def predict_proba(rows):
    """P(label | row), in the order of LABELS; (n, labels)."""
    return posteriors(MODEL, read(MODEL, rows))
'''


def to_python(model: Any) -> str:
    """A fitted model as one file of Python, which needs NumPy and no classwise; its text.

    Parameters
    ----------
    model : estimator
        A fitted estimator, or a Decision about one, with its costs, reject and novelty.

    Returns
    -------
    str
        The text of the file.

    Notes
    -----
    The file has the functions predict(rows) and predict_proba(rows). rows: a table of columns by name, a list of dicts,
    or values in the order of the columns. Missing values, levels never seen, dates and written numbers are treated as
    in classwise. Numbers are written in full precision.

    Examples
    --------
    >>> import classwise as cw
    >>> m = cw.LDA().fit([[1.0], [2.0], [4.0], [5.0]], ["low", "low", "high", "high"])
    >>> scorer = {}
    >>> exec(cw.to_python(m), scorer)
    >>> scorer["predict"]([[1.5], [6.0]]), scorer["predict_proba"]([[3.0]]).tolist()
    (['low', 'high'], [[0.5, 0.5]])
    """
    plain = packed(described(model))
    imports, bodies = zip(*(_apart(source("python", f"{name}.py")) for name in parts_of(plain)), strict=True)
    needed = sorted({line for lines in imports for line in lines}, key=lambda line: ("numpy" in line, line))
    head = PYTHON_HEAD.format(version=version("classwise")) + "\n" + "\n".join(needed) + "\n"
    decide = "None" if plain["decision"] is None else "decided"
    tail = PYTHON_TAIL.replace("{decide}", decide).replace("{model}", python_literal(plain))
    return "\n\n".join([head, *bodies, tail.lstrip("\n")])


def _apart(text: str) -> tuple[list[str], str]:
    """The imports of a part, those of other parts left out; and the rest, its docstring as a comment."""
    lines = text.splitlines()
    imports = [line for line in lines if line.startswith(("import ", "from ")) and "classwise" not in line]
    title = lines[0].removeprefix('"""').removesuffix('"""').rstrip()
    start = next(i for i, line in enumerate(lines) if line.startswith(("import ", "from ")))
    body = [line for line in lines[start:] if not line.startswith(("import ", "from "))]
    rest = "\n".join(body).strip("\n")
    return imports, f"# {title} {'-' * max(117 - len(title), 3)}\n\n{rest}\n"


def to_js(model: Any) -> str:
    """A fitted model as one ES module of JavaScript without dependencies; its text.

    Parameters
    ----------
    model : estimator
        A fitted estimator, or a Decision about one, with its costs, reject and novelty.

    Returns
    -------
    str
        The text of the file.

    Notes
    -----
    The module exports predict(rows) and predictProba(rows), labels and columns. rows: an array of objects by column
    name, or of arrays in the order of the columns. null, undefined and NaN are missing values. Levels never seen, dates
    and written numbers are treated as in classwise.

    Examples
    --------
    >>> import classwise as cw
    >>> m = cw.LDA().fit([[1.0], [2.0], [4.0], [5.0]], ["low", "low", "high", "high"])
    >>> "export function predictProba(rows)" in cw.to_js(m)
    True
    """
    plain = packed(described(model))
    names = [name for part in parts_of(plain) for name in (["special", part] if part == "logistic" else [part])]
    bodies = [_without_imports(source("js", f"{name}.js")) for name in names]
    decide = "null" if plain["decision"] is None else "decided"
    head, _, tail = (
        source("js", "model.js").replace("DECIDE", decide).replace("VERSION", version("classwise")).partition("\n\n")
    )
    return "\n".join([f"{head}\n", *bodies, _without_imports(tail).replace('"MODEL"', js_literal(plain))])


def _without_imports(text: str) -> str:
    """A part of the scorer as it stands in one file: without imports, and without exports but those of the model."""
    kept = [line for line in text.splitlines() if not line.startswith("import ")]
    public = ("export function predict", "export {")
    inner = [line if line.startswith(public) else line.removeprefix("export ") for line in kept]
    return "\n".join(inner).strip("\n") + "\n"
