"""The words of CONTRIBUTING: README, pages, help, messages and public docstrings avoid the ones on its list.

The code avoids some of them, too, in names, comments and docstrings.
"""

import ast
import inspect
import re
import tokenize
from pathlib import Path

import pytest

import classwise as cw
from classwise import plot

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
SOURCES = sorted((ROOT / "src" / "classwise").rglob("*.py"))


def avoided():
    """The expressions of the table in CONTRIBUTING: avoid | use."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.split("| avoid | use |\n|---|---|\n")[1].split("\n\n")[0]
    words = [word for line in table.splitlines() for word in line.split("|")[1].strip().split(", ")]
    assert len(words) >= 12
    return re.compile(r"\b(" + "|".join(re.escape(word) for word in words) + r")\b", re.IGNORECASE)


AVOIDED = avoided()

# Words of the list that the code does without: as words of their own, or in names such as rows_dealt and FoldDealer.
REPLACED = "deals?|dealt|dealer|mends?|lends?|lent|announces?|twins?|told|telling|bent"
CAPITALIZED = re.sub(r"[a-z]+", lambda word: word[0].capitalize(), REPLACED)
IN_CODE = re.compile(rf"((?<![A-Za-z])({REPLACED})|{CAPITALIZED})(?![a-z])")


def prose(page):
    """The text of a page, without code and without the list itself."""
    text = page.read_text(encoding="utf-8")
    if page.name == "CONTRIBUTING.md":
        text = text.replace(text.split("| avoid | use |\n")[1].split("\n\n")[0], "")
    return re.sub(r"```\{?(?!\{).*?```|`[^`\n]+`", "", text, flags=re.DOTALL)


def messages(path):
    """The strings of a module that are sentences: messages, help and labels, but no docstrings and no code."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    statements = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
        if id(node) not in statements and "\ndef " not in node.value
    ]


def words_of_code(path):
    """The names, comments and docstrings of a module."""
    with tokenize.open(path) as file:
        tokens = list(tokenize.generate_tokens(file.readline))
    kinds = (tokenize.NAME, tokenize.COMMENT)
    return [token.string for token in tokens if token.type in kinds or token.string.startswith('"""')]


def public_docstrings():
    """Of every public name, and of the public members of classes, inherited ones too."""
    for home in (cw, plot):
        for name in home.__all__:
            value = getattr(home, name)
            yield name, inspect.getdoc(value) or ""
            members = inspect.getmembers(value) if inspect.isclass(value) else []
            yield from ((f"{name}.{key}", inspect.getdoc(member) or "") for key, member in members if key[0] != "_")


def test_the_list_finds_what_it_avoids():
    assert AVOIDED.search("LDA and its twin")
    assert not AVOIDED.search("LDA between rows")
    assert all(map(IN_CODE.search, ("rows are dealt", "rows_dealt", "_Dealer", "FoldDealer", "# mends it")))
    assert not any(map(IN_CODE.search, ("ideal", "blend", "amends", "excellent", "talent", "between")))


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_pages(page):
    assert not [match[0] for match in AVOIDED.finditer(prose(page))]


def test_messages():
    found = {f"{path.name}: {text}" for path in SOURCES for text in messages(path) if AVOIDED.search(text)}
    # The name of a member in files of older versions.
    assert found <= {"trained.py: own covariances, bent"}


def test_public_docstrings():
    assert not [(name, match[0]) for name, text in public_docstrings() for match in [AVOIDED.search(text)] if match]


def test_code():
    found = [(path.name, text) for path in SOURCES for text in words_of_code(path) if IN_CODE.search(text)]
    assert not found
