"""The docstring of a class that is another one with other defaults: it lists every option and attribute itself."""

import re
from collections.abc import Mapping
from inspect import cleandoc
from typing import Any

# Sections have a title, underlined, as numpydoc reads them; the text before the first is under "".
TITLE = re.compile(r"^(\w+)\n-+\n", re.MULTILINE)
ORDER = ("", "Parameters", "Attributes", "Notes", "Examples")


def sections(doc: str) -> dict[str, str]:
    """The sections of a docstring by title.

    >>> sections("A sum.\\n\\nParameters\\n----------\\nx : float\\n    A number.")
    {'': 'A sum.', 'Parameters': 'x : float\\n    A number.'}
    """
    first, *rest = TITLE.split(cleandoc(doc))
    return {"": first.strip(), **{title: text.strip() for title, text in zip(rest[::2], rest[1::2], strict=True)}}


def inherited_doc(doc: str, base: str, changed: Mapping[str, Any]) -> str:
    """The docstring with the options (as changed) and attributes of the base before its own.

    >>> base = "A model.\\n\\nParameters\\n----------\\nshare : float, default=0.0\\n    How far."
    >>> print(inherited_doc("Another.", base, {"share": 1.0}))
    Another.
    <BLANKLINE>
    Parameters
    ----------
    share : float, default=1.0
        How far.
    """
    own, given = sections(doc), sections(base)
    given["Parameters"] = _with_defaults(given["Parameters"], changed)
    for title in ("Parameters", "Attributes"):
        own[title] = "\n".join(text for text in (given.get(title), own.get(title)) if text)
    return "\n\n".join(_titled(title, own[title]) for title in ORDER if own.get(title))


def _with_defaults(options: str, changed: Mapping[str, Any]) -> str:
    for name, default in changed.items():
        shown = f'"{default}"' if isinstance(default, str) else repr(default)
        options = re.sub(rf"^({name} : .*, default=).*$", rf"\g<1>{shown}", options, flags=re.MULTILINE)
    return options


def _titled(title: str, text: str) -> str:
    return f"{title}\n{'-' * len(title)}\n{text}" if title else text
