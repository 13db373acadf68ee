"""Docstrings of public names are complete: numpydoc finds every option, attribute, result and example."""

import inspect

import pytest
from numpydoc.validate import validate

import classwise as cw
from classwise import datasets, plot

# What numpydoc must not find: options that are undocumented, unknown, in another order, without a type or text;
# results without a section or text; sections in another order or unknown; no summary, no example.
FAULTS = {
    "GL06",
    "GL07",
    "GL08",
    "SS01",
    "PR01",
    "PR02",
    "PR03",
    "PR04",
    "PR05",
    "PR07",
    "PR09",
    "RT01",
    "RT03",
    "YD01",
}

ESTIMATORS = [name for name in cw.__all__ if hasattr(getattr(cw, name), "fit")]
# By the module that defines each: a module may have the name of its function.
FUNCTIONS = [f"{value.__module__}.{name}" for name in cw.__all__ if inspect.isfunction(value := getattr(cw, name))]
FUNCTIONS += [f"classwise.plot.{name}" for name in plot.__all__ if name.startswith("plot_")]
FUNCTIONS += [f"classwise.datasets.{name}" for name in ("banana", "gaussians", "penguins", "petals", "simplex")]
CLASSES = [f"classwise.{name}" for name in (*ESTIMATORS, "NormalInverseWishart", "Query")]


def methods(name):
    """Public methods that classwise defines, inherited ones too."""
    members = inspect.getmembers(getattr(cw, name), inspect.isfunction)
    return [key for key, value in members if key[0] != "_" and value.__module__.startswith("classwise")]


def own_methods():
    """Each method once, at the first estimator that has it."""
    found = {}
    for name in ESTIMATORS:
        for key in methods(name):
            found.setdefault(getattr(getattr(cw, name), key).__qualname__, f"classwise.{name}.{key}")
    return sorted(found.values())


def faults(name):
    return [error for error in validate(name)["errors"] if error[0] in FAULTS]


def test_there_are_estimators_and_methods():
    assert {"LDA", "NaiveBayes", "BayesianLogistic", "Decision"} <= set(ESTIMATORS)
    assert "classwise.AODE.predict_proba" in own_methods()


@pytest.mark.parametrize("name", [*FUNCTIONS, *CLASSES])
def test_functions_and_classes(name):
    assert not faults(name)


@pytest.mark.parametrize("name", own_methods())
def test_methods(name):
    assert not faults(name)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_option_is_documented_with_its_default(name):
    estimator = getattr(cw, name)
    doc = inspect.getdoc(estimator)
    for parameter in inspect.signature(estimator).parameters.values():
        line = next(line for line in doc.splitlines() if parameter.name in line.split(" : ")[0].split(", "))
        if parameter.default not in (None, inspect.Parameter.empty):
            assert line.endswith(f"default={parameter.default!r}".replace("'", '"')), line


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_lists_its_attributes_and_has_an_example(name):
    estimator = getattr(cw, name)
    doc = inspect.getdoc(estimator)
    listed = doc.split("Attributes\n----------\n")[1].split("\n\n")[0].splitlines()
    public = [key for key, value in inspect.getmembers(estimator, lambda v: isinstance(v, property))]
    assert {key for key in public if key[0] != "_" and key.endswith("_")} <= set(listed)
    assert ">>> " in doc.split("Examples\n--------\n")[1]


def test_datasets_are_all_checked():
    functions = inspect.getmembers(datasets, inspect.isfunction)
    named = {name for name, value in functions if value.__module__ == "classwise.datasets" and name[0] != "_"}
    assert {name.rsplit(".", 1)[1] for name in FUNCTIONS} >= named
