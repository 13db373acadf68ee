"""Priors and costs, from the command line and from files."""

from copy import copy
from typing import Any

from classwise.cli.modeling import find_label, model_within
from classwise.cli.rows import pairs
from classwise.cli.saying import note
from classwise.errors import ClasswiseError
from classwise.rows.files import read_rows


def with_priors(model: Any, priors: str | None, X: Any) -> Any:
    """A model under other priors: "uniform", "empirical", "a=0.1,b=0.9", or "estimate", from the rows."""
    if priors is None:
        return model
    if priors == "estimate":
        shift = model_within(model).estimate_priors(X)
        note(" ".join(str(shift).split()))
        return model.with_priors(shift)
    if "=" not in priors:
        return model.with_priors(priors)
    given = pairs([priors], "--priors")
    return model.with_priors({find_label(name, model.classes_): _number(value) for name, value in given.items()})


def deciding_by(model: Any, costs: Any, reject: Any) -> Any:
    """A model with these costs and this reserve; what is None stays as it is, in a Decision that has its own."""
    import classwise as cw

    given = {name: value for name, value in {"costs": costs, "reject": reject}.items() if value is not None}
    if not given:
        return model
    return (copy(model) if isinstance(model, cw.Decision) else cw.Decision(model)).set_params(**given)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ClasswiseError(f"A prior is a number, not {text!r}.") from None


def read_costs(path: str | None, labels: Any) -> dict[Any, dict[Any, float]] | None:
    """costs[true][decided], from a table: true classes in its first column, a column for each decision."""
    if path is None:
        return None
    table = read_rows(path)
    trues, *decisions = table.column_names
    costs: dict[Any, dict[Any, float]] = {}
    for row in table.to_pylist():
        true = find_label(str(row[trues]), labels)
        costs[true] = {find_label(name, labels): _cost(row[name], path) for name in decisions}
    return costs


def _cost(value: Any, path: str) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    raise ClasswiseError(f"{path} must have a number for every true class and decision, not {value!r}.")
