"""What an export will do as the model does, and what not: said before it is written."""

from typing import Any

from classwise.diagnostics.advice import listed
from classwise.estimators import Decision, model_within
from classwise.estimators.decisions import LAWS
from classwise.export.novelty import known_gaps
from classwise.rows.conversions import Moment


def promises(door: str, model: Any, dtype: str = "float64", gaps: bool = True) -> list[str]:
    """Sentences: the first says what is the same, each of the others what is not.

    door: "python", "js", "sql" or "onnx"; dtype: of the inputs of ONNX; gaps: whether rows with gaps have an answer.

    >>> import classwise as cw
    >>> promises("python", cw.LDA().fit([[1.0], [2.0], [4.0]], [0, 0, 1]))
    ['It gives the labels and posteriors of classwise, also for missing values and levels never seen.']
    """
    also = "missing values and levels never seen" if gaps else "levels never seen"
    rules = []
    if isinstance(model, Decision):
        rules += ["costs"] + (["reject"] if model.reject is not None else [])
        rules += ["novelty"] if model.novelty is not None else []
    within = f", with its {listed(rules)}" if rules else ""
    same = f"It gives the labels and posteriors of classwise{within}, also for {also}."
    return [same, *DIFFERENCES[door](model, dtype)]


def _of_code(model: Any, dtype: str) -> list[str]:
    return _of_gaps(model, "is an error")


def _of_gaps(model: Any, fate: str) -> list[str]:
    """What happens to a row whose novelty is not known."""
    if not (isinstance(model, Decision) and model.novelty is not None) or LAWS[model.law]:
        return []
    width = len(model_within(model)._fitted_model.schema)
    gaps = known_gaps(width)
    if gaps == width:
        return []
    return [f"Not the same: a row with more than {gaps} missing values {fate}, because its novelty is not known."]


def _of_js(model: Any, dtype: str) -> list[str]:
    kinds = [getattr(column.conversion, "kind", "") for column in model_within(model)._fitted_model.schema]
    seconds = ["Not the same: durations are given as seconds."] if "duration" in kinds else []
    return _of_code(model, dtype) + seconds


def _of_onnx(model: Any, dtype: str) -> list[str]:
    schema = model_within(model)._fitted_model.schema
    promises = _of_gaps(model, "has no label")
    names = [repr(column.name) for column in schema if column.conversion is not None]
    if names:
        days = any(isinstance(column.conversion, Moment) for column in schema)
        how = "numbers (days since 1970-01-01 for dates)" if days else "numbers"
        promises.append(f"Not the same: {listed(names)} must be given as {how}.")
    if dtype == "float32":
        promises.append("Not the same: numbers and posteriors have about 7 digits, as float32 has.")
    return promises


def _of_sql(model: Any, dtype: str) -> list[str]:
    return []  # what a query does not answer, to_sql warns of


DIFFERENCES = {"python": _of_code, "js": _of_js, "onnx": _of_onnx, "sql": _of_sql}
