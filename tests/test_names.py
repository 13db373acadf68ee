"""Public names: fetched on first use, and where type checkers believe them to be."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import classwise as cw


def declared():
    """The imports that type checkers read: name -> module."""
    tree = ast.parse(Path(cw.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    return {alias.asname: node.module for node in block.body for alias in node.names}


def test_declared_and_fetched_names_are_the_same():
    homes = {name: f"classwise.{home}" for home, names in cw._HOMES.items() for name in names}
    assert declared() == homes | dict.fromkeys(("datasets", "plot"), "classwise")
    assert cw.__all__ == sorted(declared())


@pytest.mark.parametrize("name", cw.__all__)
def test_each_name_is_there(name):
    value, home = getattr(cw, name), declared()[name]
    known = import_module(f"classwise.{name}") if home == "classwise" else getattr(import_module(home), name)
    # Python puts a package where its function stood, as soon as anybody imports the package: so it can be called, too.
    assert value is known or (home == f"classwise.{name}" and value is import_module(home) and callable(value))
    assert name in dir(cw)


def test_an_unknown_name_is_refused():
    with pytest.raises(AttributeError, match="classwise has no 'Lda'; it has "):
        cw.Lda  # noqa: B018


def test_import_waits_for_nothing():
    code = "import sys, classwise; print(sorted({'numpy', 'scipy', 'sklearn', 'narwhals'} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
