"""OpenAPI, from the models themselves: the very columns, and examples that were scored.

FastAPI tells which addresses there are; what they take and give is written here, anew after each reload.
"""

import json
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from classwise import __version__
from classwise.serve import answers, arrow, describing, metrics, problems
from classwise.serve.answering import JSON
from classwise.serve.limits import Limits
from classwise.serve.models import Models, Served
from classwise.serve.reading import OUTPUTS, Options
from classwise.serve.shapes import BRIEF, EXPLANATION, HEALTH, MODEL, PREDICTION, PROBLEM, TEXT, Json
from classwise.serve.work import Deadline

ABOUT = (
    "Scores rows by models of classwise. A request is checked strictly, and refused with a reason that names row "
    "(counted from 0) and column. Numbers are float64 and written so that reading them gives the same number again."
)

REFUSALS = {
    "400": "The body cannot be read: not JSON, not UTF-8, a key twice, NaN, or not an Arrow stream.",
    "408": "The body took too long to arrive.",
    "413": "Too many bytes, rows or columns.",
    "415": "The body is of another type.",
    "422": "A row, a column or an option is not what the model takes; the reason names it.",
    "503": "Too many or too large requests at once, or scoring took too long; try again.",
}


def document(app: FastAPI, models: Models, limits: Limits) -> Json:
    """The whole document."""
    made = get_openapi(title="classwise", version=__version__, description=ABOUT, routes=app.routes)
    paths = made["paths"]
    for name, served in models.served.items():
        for at in [f"/models/{name}", *([""] if name == models.first else [])]:
            _fill(paths[f"{at}/predict"]["post"], _predict(served, limits))
            _fill(paths[f"{at}/explain"]["post"], _explain(served))
            _fill(paths[at or "/model"]["get"], _told(MODEL, describing.full(served)))
    listing = [describing.brief(served) for served in models.served.values()]
    _fill(paths["/models"]["get"], _told({"type": "array", "items": BRIEF}, listing))
    _fill(paths["/health"]["get"], _told(HEALTH, describing.health(models)))
    text = {metrics.MEDIA_TYPE: {"schema": TEXT}}
    _fill(paths["/metrics"]["get"], {"responses": {"200": {"description": "Counts.", "content": text}}})
    made.setdefault("components", {})["schemas"] = {"Problem": PROBLEM}
    return made


def _fill(operation: Json, facts: Json) -> None:
    operation.update(facts)


def _told(schema: Json, example: Any) -> Json:
    return {"responses": {"200": _answer("The facts.", schema, example)}}


def _answer(description: str, schema: Json, example: Any) -> Json:
    return {"description": description, "content": {JSON: {"schema": schema, "example": example}}}


def _refusals() -> Json:
    content = {problems.MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {status: {"description": why, "content": content} for status, why in REFUSALS.items()}


# /predict -----------------------------------------------------------------------------------------------------------


def _predict(served: Served, limits: Limits) -> Json:
    scorer = served.scorer
    values = scorer.example()
    by_name = dict(zip(scorer.reader.keys, values, strict=True))
    answer = scorer.answer(scorer.reader.read_rows([values]), Options(), Deadline())
    examples = {
        "rows": {"summary": "Rows", "value": {"rows": [by_name]}},
        "lists": {"summary": "Rows as lists, in the order of columns", "value": {"rows": [values], "output": "label"}},
        "columns": {"summary": "Columns", "value": {"columns": {name: [value] for name, value in by_name.items()}}},
    }
    body = {
        JSON: {"schema": _rows_schema(served, limits), "examples": examples},
        arrow.MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}},
    }
    told = _answer(
        "The answer, in the order of the rows.",
        PREDICTION,
        json.loads(answers.predictions(served.opening, answer, Deadline())),
    )
    told["content"][arrow.MEDIA_TYPE] = {"schema": {"type": "string", "format": "binary"}}
    parameters = _options_in_address()
    return {
        "description": _PREDICT,
        "parameters": parameters,
        "requestBody": {"required": True, "content": body},
        "responses": {"200": told, **_refusals()},
    }


_PREDICT = (
    "Send JSON with `rows` or `columns`, or an Arrow stream (the answer is one, with the columns `label` and "
    "`posterior_...`). null is a missing value. Options stand in a JSON body or in the address."
)


def _rows_schema(served: Served, limits: Limits) -> Json:
    reader = served.scorer.reader
    each = {column.name: column.json_schema() for column in reader.columns}
    row: Json = {"type": "object", "properties": each, "required": list(each), "additionalProperties": False}
    listed: Json = {
        "type": "array",
        "prefixItems": list(each.values()),
        "items": False,
        "minItems": len(each),
        "maxItems": len(each),
    }
    columns = {n: {"type": "array", "items": s, "minItems": 1, "maxItems": limits.rows} for n, s in each.items()}
    rows = {"type": "array", "items": {"anyOf": [row, listed]}, "minItems": 1, "maxItems": limits.rows}
    by_column: Json = {"type": "object", "properties": columns, "required": list(each), "additionalProperties": False}
    return {
        "oneOf": [
            {
                "type": "object",
                "properties": {name: held, **_options()},
                "required": [name],
                "additionalProperties": False,
            }
            for name, held in (("rows", rows), ("columns", by_column))
        ]
    }


def _options() -> Json:
    """The options of a JSON body."""
    priors = {"type": "object", "additionalProperties": {"type": "number", "minimum": 0, "maximum": 1}}
    return {
        "output": {"enum": list(OUTPUTS)},
        "priors": {"anyOf": [{"const": "uniform"}, priors, {"type": "null"}]},
        "reject": {"anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, {"type": "null"}]},
    }


def _options_in_address() -> list[Json]:
    described = {
        "output": ("What to answer.", {"enum": list(OUTPUTS)}),
        "priors": ("Other class priors, for this request: JSON, an object from label to prior.", TEXT),
        "reject": ("The least posterior to announce a label with.", {"type": "number", "minimum": 0, "maximum": 1}),
        "keep": ("Columns of an Arrow stream to carry along, separated by commas.", TEXT),
    }
    return [{"name": n, "in": "query", "description": why, "schema": s} for n, (why, s) in described.items()]


# /explain -----------------------------------------------------------------------------------------------------------


def _explain(served: Served) -> Json:
    scorer = served.scorer
    by_name = dict(zip(scorer.reader.keys, scorer.example(), strict=True))
    each = {column.name: column.json_schema() for column in scorer.reader.columns}
    row = {"type": "object", "properties": each, "required": list(each), "additionalProperties": False}
    label = {"enum": [*scorer.classes, None]}
    schema: Json = {
        "type": "object",
        "properties": {"row": {"anyOf": [row, {"type": "array", "minItems": len(each), "maxItems": len(each)}]}},
        "required": ["row"],
        "additionalProperties": False,
    }
    schema["properties"] |= {"label": label, "against": label}
    body = {JSON: {"schema": schema, "example": {"row": by_name}}}
    made: Json = {"requestBody": {"required": True, "content": body}, "responses": _refusals()}
    if hasattr(scorer.inner, "explain"):
        explained = answers.explanation(scorer.explain(scorer.reader.read_rows([by_name]), None, None))
        example = {"model": served.name, "sha256": served.sha256, **explained}
        made["responses"] |= {"200": _answer("Each column's share of the log odds.", EXPLANATION, example)}
    return made
