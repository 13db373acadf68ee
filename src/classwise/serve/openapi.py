"""OpenAPI, from the models themselves: the very columns, and examples that were scored. Made anew for each request.

What answers look like is said by msgspec, from their types; what a model takes is said by its columns.
"""

import json
from typing import Any

import msgspec

from classwise import __version__
from classwise.serve import facts, requests, resources
from classwise.serve.models import Models, Served
from classwise.serve.requests import ARROW, CSV, JSON, Options, ProblemDetails, StreamOptions, plain
from classwise.serve.resources import RequestDeadline
from classwise.serve.settings import Limits

Json = dict[str, Any]

ABOUT = (
    "Scores rows by models of classwise. A request is checked strictly, and refused with a reason that names row "
    "(counted from 0) and column. Numbers are float64 and written so that reading them gives the same number again."
)

REFUSALS = {
    "400": "The body cannot be read: not JSON, not UTF-8, a key twice, NaN, or no sound CSV or Arrow stream.",
    "408": "The body took too long to arrive.",
    "413": "Too many bytes, rows or columns.",
    "415": "The body is of another type.",
    "422": "A row, a column or an option is not what the model takes; the reason names it.",
    "503": "Too many or too large requests at once, or scoring took too long; try again.",
}

PREDICT = (
    "Send JSON with `rows` or `columns`, or CSV or an Arrow stream (the answer is one, too, with the columns `label` "
    "and `posterior_...`). null is a missing value. Options stand in a JSON body or in the address."
)

# Options that are text in an address: JSON, and names with commas between them.
IN_ADDRESS = ("priors", "keep")

ANSWERS = (facts.Prediction, facts.ExplainedRow, facts.ModelFacts, facts.ModelBrief, facts.Health, ProblemDetails)
REFERENCE = "#/components/schemas/{name}"
BINARY: Json = {"schema": {"type": "string", "format": "binary"}}
TEXT: Json = {"type": "string"}


def document(models: Models, limits: Limits) -> Json:
    """The whole document."""
    briefs = [facts.brief(served) for served in models.served.values()]
    paths: Json = {
        "/models": _fact("All models, by name.", list[facts.ModelBrief], briefs),
        "/health": _fact("Whether all models are those of their files.", facts.Health, facts.health(models)),
        "/metrics": {"get": {"summary": "What was counted, for Prometheus.", "responses": {"200": _COUNTS}}},
    }
    for name, served in models.served.items():
        for at in [f"/models/{name}", *([""] if name == models.first else [])]:
            paths[f"{at}/predict"] = {"post": _predict(served, limits)}
            paths[f"{at}/explain"] = {"post": _explain(served)}
            summary = f"What {name} is, and where it comes from."
            paths[at or "/model"] = _fact(summary, facts.ModelFacts, facts.full(served))
    for path, methods in paths.items():
        for method, operation in methods.items():
            operation["operationId"] = f"{method} {path}"
    about = {"title": "classwise", "version": __version__, "description": ABOUT}
    schemas = msgspec.json.schema_components(ANSWERS, ref_template=REFERENCE)[1]
    return {"openapi": "3.1.0", "info": about, "paths": paths, "components": {"schemas": schemas}}


_COUNTS: Json = {"description": "Counts.", "content": {resources.MEDIA_TYPE: {"schema": TEXT}}}


def _fact(summary: str, type: Any, example: Any) -> Json:
    return {"get": {"summary": summary, "responses": {"200": _answer("The facts.", type, example)}}}


def _answer(description: str, type: Any, example: Any) -> Json:
    return {"description": description, "content": {JSON: {"schema": _schema(type), "example": plain(example)}}}


def _schema(type: Any) -> Json:
    """How the document refers to a type."""
    return msgspec.json.schema_components([type], ref_template=REFERENCE)[0][0]


def _refusals() -> Json:
    content = {requests.MEDIA_TYPE: {"schema": _schema(ProblemDetails)}}
    return {status: {"description": why, "content": content} for status, why in REFUSALS.items()}


def _predict(served: Served, limits: Limits) -> Json:
    scorer = served.scorer
    values = scorer.example()
    by_name = dict(zip(scorer.reader.keys, values, strict=True))
    examples = {
        "rows": {"summary": "Rows", "value": {"rows": [by_name]}},
        "lists": {"summary": "Rows as lists, in the order of columns", "value": {"rows": [values], "output": "label"}},
        "columns": {"summary": "Columns", "value": {"columns": {name: [value] for name, value in by_name.items()}}},
    }
    scored = scorer.answer(scorer.reader.read_rows([values]), Options(), RequestDeadline())
    example = json.loads(facts.prediction(served, scored, RequestDeadline()))
    success = _answer("The answer, in the order of the rows.", facts.Prediction, example)
    success["content"] |= {ARROW: BINARY, CSV: {"schema": TEXT}}
    return {
        "summary": f"Labels and posteriors of rows, by {served.name}.",
        "description": PREDICT,
        "parameters": _parameters(),
        "requestBody": _body(
            {JSON: {"schema": _rows(served, limits), "examples": examples}, ARROW: BINARY, CSV: {"schema": TEXT}}
        ),
        "responses": {"200": success, **_refusals()},
    }


def _explain(served: Served) -> Json:
    scorer, responses = served.scorer, _refusals()
    example = {"row": dict(zip(scorer.reader.keys, scorer.example(), strict=True))}
    label = {"enum": [*scorer.classes, None]}
    schema = _object({"row": _row(served), "label": label, "against": label}, ["row"])
    if hasattr(scorer.inner, "explain"):
        explained = scorer.explain(scorer.reader.read_rows([example["row"]]), None, None)
        answer = facts.explained_row(served, explained)
        responses["200"] = _answer("Each column's share of the log odds.", facts.ExplainedRow, answer)
    return {
        "summary": f"Why {served.name} takes a row for one label.",
        "requestBody": _body({JSON: {"schema": schema, "example": example}}),
        "responses": responses,
    }


def _body(content: Json) -> Json:
    return {"required": True, "content": content}


def _rows(served: Served, limits: Limits) -> Json:
    """What a request of rows or columns may hold, options included."""
    each = {column.name: column.json_schema() for column in served.scorer.reader.columns}
    many: Json = {"type": "array", "minItems": 1, "maxItems": limits.rows}
    columns = _object({name: {**many, "items": value} for name, value in each.items()}, [*each])
    held = {"rows": {**many, "items": _row(served)}, "columns": columns}
    return {"oneOf": [_object({name: value, **_properties(Options)}, [name]) for name, value in held.items()]}


def _row(served: Served) -> Json:
    """What a row may be: an object from column to value, or a list of values."""
    each = {column.name: column.json_schema() for column in served.scorer.reader.columns}
    values = {"prefixItems": [*each.values()], "items": False, "minItems": len(each), "maxItems": len(each)}
    return {"anyOf": [_object(each, [*each]), {"type": "array", **values}]}


def _object(properties: Json, required: list[str]) -> Json:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _parameters() -> list[Json]:
    """The options in an address."""
    options = _properties(StreamOptions).items()
    schemas = {n: {**TEXT, "description": s["description"]} if n in IN_ADDRESS else s for n, s in options}
    return [{"name": name, "in": "query", "schema": schema} for name, schema in schemas.items()]


def _properties(type: Any) -> Json:
    return dict(msgspec.json.schema_components([type])[1][type.__name__]["properties"])
