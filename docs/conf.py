"""The documentation: every code cell is executed, and a cell that fails fails the build."""

import hashlib
import os
import re
import sys
from pathlib import Path

# Imported here so that the font cache exists before the cells run, and its notice stays off the pages.
import matplotlib.font_manager  # noqa: F401
from docutils import nodes
from sphinx.util import logging

import classwise
from classwise import errors

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # mathml.py
logger = logging.getLogger(__name__)

project = "classwise"
author = "The classwise developers"
copyright = "the classwise developers"
version = release = classwise.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx_design", "mathml"]
exclude_patterns = ["_build", "jupyter_execute"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_dmath_allow_space = False  # `$12.50 or $3` is money
myst_dmath_double_inline = True
html_math_renderer = "mathml"
myst_heading_anchors = 3

html_theme = "furo"
html_title = f"classwise {release}"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_show_sphinx = False
smartquotes = False  # x'A x is a product with a transpose, not an apostrophe



def source_digest():
    """A name for the state of the library: the outputs of another state are not used."""
    paths = sorted(Path(classwise.__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:16]


# A page runs again if its code or anything in the library has changed.
nb_execution_mode = "cache"
nb_execution_cache_path = str(HERE / "_build" / "executed" / source_digest())
nb_execution_raise_on_error = True
nb_execution_in_temp = True
nb_execution_timeout = 60
nb_merge_streams = True
nb_code_prompt_show = "Show the code"
nb_code_prompt_hide = "Hide the code"
os.environ["MATPLOTLIBRC"] = str(HERE / "matplotlibrc")  # the kernels inherit it

autodoc_typehints = "none"
autodoc_member_order = "bysource"

# Docstrings are plain text: prose, lists of options, indented formulas and doctests ----------------------------------

OPTION = re.compile(r"(?P<names>\w+(, \w+)*( \([^)]*\))?): ")


def plain_to_rst(lines: list[str]) -> list[str]:
    """A plain docstring as reStructuredText: formulas literal, options a list, nothing else marked up."""
    result = []
    for block in "\n".join(lines).strip("\n").split("\n\n"):
        rows = block.strip("\n").split("\n")
        if rows[0].startswith(">>>"):
            result += rows
        elif all(row.startswith(" ") for row in rows):
            result += ["::", "", *(f"    {row}" for row in rows)]
        else:
            result += _prose(rows)
        result.append("")
    return result


def _prose(rows: list[str]) -> list[str]:
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


def _escape(text: str) -> str:
    """The characters that mean something to reStructuredText as themselves, and `code` as code."""
    parts = re.split(r"`([^`]+)`", text)
    plain = [re.sub(r"([\\*_|]|^[-+])", r"\\\1", part) for part in parts[::2]]
    code = [f"``{part}``" for part in parts[1::2]]
    return "".join(a + b for a, b in zip(plain, [*code, ""], strict=True))


def render_docstring(app, what, name, obj, options, lines):
    lines[:] = plain_to_rst(lines)


# What the build checks ------------------------------------------------------------------------------------------------


def read_every_page(app, env, added, changed, removed):
    """All pages are read, and so executed, even where only the library has changed."""
    return sorted(env.found_docs)


def check_public_names(app, env):
    """Every public name is on some page."""
    documented = {name for name, *_ in env.get_domain("py").get_objects()}
    for name in classwise.__all__:
        if f"classwise.{name}" not in documented:
            logger.warning(f"classwise.{name} is public and not documented", location="api")


EXPECTED = {name for name in vars(errors) if name.endswith("Error")} | {"NotFittedError"}


def check_provoked_errors(app, doctree):
    """A cell meant to fail fails, and with an error of ours: a TypeError would be a bug on display."""
    cells = (node for node in doctree.findall(nodes.container) if "tag_raises-exception" in node["classes"])
    for cell in cells:
        shown = [node.astext() for node in cell.findall(nodes.literal_block) if "traceback" in node["classes"]]
        if not shown or shown[0].split(":")[0] not in EXPECTED:
            logger.warning(f"a cell meant to show an error shows {shown}", location=cell)


def setup(app):
    app.connect("autodoc-process-docstring", render_docstring)
    app.connect("env-get-outdated", read_every_page)
    app.connect("env-check-consistency", check_public_names)
    app.connect("doctree-read", check_provoked_errors)
