"""The documentation: every code cell is executed, and a cell that fails fails the build."""

import hashlib
import os
import sys
from pathlib import Path

# Imported here so that the font cache exists before the cells run, and its notice stays off the pages.
import matplotlib.font_manager  # noqa: F401
from docutils import nodes
from jupyter_cache import get_cache
from sphinx.util import logging

import classwise
from classwise import errors

HERE = Path(__file__).parent
EXAMPLES = HERE.parent / "examples"
sys.path.insert(0, str(HERE))  # mathml.py, docstrings.py
logger = logging.getLogger(__name__)

project = "classwise"
author = "The classwise developers"
copyright = "the classwise developers"
version = release = classwise.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx_design", "mathml", "docstrings"]
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
    paths = sorted([*Path(classwise.__file__).parent.rglob("*.py"), *EXAMPLES.glob("*.py")])
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:16]


# A page runs again if its code or anything in the library has changed.
nb_execution_mode = "cache"
nb_execution_cache_path = str(HERE / "_build" / "executed" / source_digest())
# Made before several processes read pages at once: two of them would make its tables, and one find none.
get_cache(nb_execution_cache_path).db
nb_execution_raise_on_error = True
nb_execution_in_temp = True
nb_execution_timeout = 60
nb_merge_streams = True
nb_render_error_lexer = "text"  # errors are sentences
nb_code_prompt_show = "Show the code"
nb_code_prompt_hide = "Hide the code"
os.environ["CLASSWISE_EXAMPLES"] = str(EXAMPLES)
os.environ["MATPLOTLIBRC"] = str(HERE / "matplotlibrc")  # the kernels inherit it
os.environ["BASH_ENV"] = str(HERE / "strict.sh")  # in cells of the shell, too, whatever fails fails the build

autodoc_typehints = "none"
autodoc_member_order = "bysource"

# What the build checks ------------------------------------------------------------------------------------------------


def read_every_page(app, env, added, changed, removed):
    """All pages are read, and so executed, even where only the library has changed."""
    return sorted(env.found_docs)


def check_public_names(app, env):
    """Every public name is on some page."""
    documented = {name for name, *_ in env.get_domain("py").get_objects()}
    for name in classwise.__all__:
        # A package that is called in place of its function (studio) is documented by that function.
        if not {f"classwise.{name}", f"classwise.{name}.{name}"} & documented:
            logger.warning(f"classwise.{name} is public and not documented", location="api")


EXPECTED = {name for name in vars(errors) if name.endswith("Error")} | {"NotFittedError"}


def check_provoked_errors(app, doctree):
    """A cell meant to fail fails, and with an error of ours: a TypeError would be a bug on display."""
    cells = (node for node in doctree.findall(nodes.container) if "tag_raises-exception" in node["classes"])
    for cell in cells:
        shown = [node.astext() for node in cell.findall(nodes.literal_block) if "traceback" in node["classes"]]
        lines = shown[0].splitlines() if shown else []
        names = {line.partition(":")[0].rpartition(".")[2] for line in lines}  # messages may have several lines
        if not (0 < len(lines) < 8 and names & EXPECTED):
            logger.warning(f"a cell meant to show an error shows {shown}", location=cell)


def setup(app):
    app.connect("env-get-outdated", read_every_page)
    app.connect("env-check-consistency", check_public_names)
    app.connect("doctree-read", check_provoked_errors)
