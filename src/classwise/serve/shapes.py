"""The shapes of answers, as JSON Schema has them."""

from typing import Any

Json = dict[str, Any]

TEXT: Json = {"type": "string"}
NUMBER: Json = {"type": "number"}
MAYBE_TEXT: Json = {"type": ["string", "null"]}
MAYBE_NUMBER: Json = {"type": ["number", "null"]}
LABEL: Json = {"type": ["string", "number", "boolean", "null"]}

PREDICTION: Json = {
    "type": "object",
    "properties": {
        "model": TEXT,
        "sha256": MAYBE_TEXT,
        "classes": {"type": "array", "items": LABEL},
        "label": {"type": "array", "items": LABEL},
        "posteriors": {
            "type": "array",
            "items": {"type": "array", "items": {"type": "number", "minimum": 0, "maximum": 1}},
        },
    },
    "required": ["model", "sha256", "classes"],
}

EXPLANATION: Json = {
    "type": "object",
    "properties": {
        "model": TEXT,
        "sha256": MAYBE_TEXT,
        "label": LABEL,
        "against": LABEL,
        "log_odds": MAYBE_NUMBER,
        "prior": MAYBE_NUMBER,
        "volume": MAYBE_NUMBER,
        "shares": {
            "type": "array",
            "items": {"type": "object", "properties": {"column": TEXT, "value": {}, "share": MAYBE_NUMBER}},
        },
    },
    "required": ["model", "label", "against", "log_odds", "prior", "volume", "shares"],
}

BRIEF: Json = {
    "type": "object",
    "properties": {
        "name": TEXT,
        "kind": TEXT,
        "classes": {"type": "array", "items": LABEL},
        "sha256": MAYBE_TEXT,
        "loaded": {"type": "string", "format": "date-time"},
    },
    "required": ["name", "kind", "classes", "sha256", "loaded"],
}

COLUMN: Json = {
    "type": "object",
    "properties": {
        "name": TEXT,
        "type": TEXT,
        "kind": {"enum": ["number", "count", "category", "yes/no"]},
        "family": TEXT,
        "levels": {"type": ["array", "null"], "items": LABEL},
        "missing": NUMBER,
        "note": TEXT,
    },
    "required": ["name", "kind", "family", "levels"],
}

MEMBER: Json = {
    "type": "object",
    "properties": {
        "name": TEXT,
        "weight": MAYBE_NUMBER,
        "temperature": MAYBE_NUMBER,
        "log_loss": MAYBE_NUMBER,
        "worth": MAYBE_NUMBER,
    },
    "required": ["name", "weight", "temperature", "log_loss", "worth"],
}

MODEL: Json = {
    "type": "object",
    "properties": {
        **BRIEF["properties"],
        "priors": {"type": "array", "items": NUMBER},
        "columns": {"type": "array", "items": COLUMN},
        "members": {"type": "array", "items": MEMBER},
        "log_loss": NUMBER,
        "provenance": {"type": ["object", "null"]},
    },
    "required": [*BRIEF["required"], "priors", "columns", "provenance"],
}

HEALTH: Json = {
    "type": "object",
    "properties": {"status": {"enum": ["ok", "stale"]}, "models": {"type": "object"}},
    "required": ["status", "models"],
}

PROBLEM: Json = {
    "type": "object",
    "properties": {
        "type": TEXT,
        "title": TEXT,
        "status": {"type": "integer"},
        "detail": TEXT,
        "row": {"type": "integer", "minimum": 0},
        "column": TEXT,
    },
    "required": ["type", "title", "status", "detail"],
}
