"""The OpenAPI document is true: what it promises holds, and nothing that it allows or forbids makes the server fail."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

import classwise as cw
from classwise.serve import Limits
from classwise.serve.app import create_app
from serving import ARROW, Client, stream


def models():
    generator, count = np.random.default_rng(0), 90
    codes = generator.integers(3, size=count)
    frame = pd.DataFrame(
        {
            "length": generator.normal(codes * 2.0, 1.0),
            "visits": generator.poisson(2.0 + codes),
            "member": generator.random(count) < 0.3 + 0.2 * codes,
            "city": np.array(["Oslo", "Rome", "Lima"], dtype=object)[generator.integers(3, size=count)],
        }
    )
    mixed = cw.NaiveBayes(families={"visits": "poisson"}).fit(frame, np.array(["a", "b", "c"])[codes])
    plain = cw.LDA(missing="error").fit(frame[["length", "visits"]].to_numpy(), codes)
    return {"mixed": mixed, "plain": plain}


@st.composite
def streams(draw):
    """Arrow streams: of the right columns, of others, sound and damaged."""
    values = {
        "length": st.floats() | st.none(),
        "visits": st.integers(-2, 50) | st.none(),
        "member": st.booleans() | st.none(),
        "city": st.text() | st.none(),
    }
    count, names = draw(st.integers(0, 5)), draw(st.sets(st.sampled_from([*values]), min_size=2))
    table = pa.table({n: pa.array(draw(st.lists(values[n], min_size=count, max_size=count))) for n in sorted(names)})
    made = stream(table)
    return made if draw(st.booleans()) else made[: draw(st.integers(0, len(made)))]


schemathesis.openapi.media_type(ARROW, streams())

MODELS = models()
APP = create_app(MODELS, Limits(rows=200))
schema = schemathesis.openapi.from_asgi("/openapi.json", APP)


def wrong_data_is_refused(context, response, case):
    """As schemathesis has it, but that 413 (too many rows) is a refusal too."""
    return None if response.status_code == 413 else negative_data_rejection(context, response, case)


CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    wrong_data_is_refused,
]


@schema.parametrize()
@settings(
    max_examples=40,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_every_operation_keeps_its_promise(case):
    case.call_and_validate(checks=CHECKS)


def test_examples_are_real():
    """Every example of a request is answered, and the answer is the example of the answer."""
    client = Client(MODELS)
    document = client.get("/openapi.json").json()
    assert document["info"]["version"] == cw.__version__
    for name in ("mixed", "plain"):
        operation = document["paths"][f"/models/{name}/predict"]["post"]
        examples = operation["requestBody"]["content"]["application/json"]["examples"]
        expected = operation["responses"]["200"]["content"]["application/json"]["example"]
        for example in examples.values():
            answer = client.post(f"/models/{name}/predict", example["value"])
            assert answer.status_code == 200
            assert answer.json()["label"] == expected["label"]
        told = document["paths"][f"/models/{name}/explain"]["post"]
        row = told["requestBody"]["content"]["application/json"]["example"]
        answer = client.post(f"/models/{name}/explain", row).json()
        assert answer == told["responses"]["200"]["content"]["application/json"]["example"]


def test_columns_are_the_models_own():
    document = Client(MODELS).get("/openapi.json").json()
    body = document["paths"]["/predict"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    row = body["oneOf"][0]["properties"]["rows"]["items"]["anyOf"][0]
    assert row["required"] == ["length", "visits", "member", "city"]
    assert row["properties"]["visits"]["anyOf"][0] == {"type": "integer", "minimum": 0, "exclusiveMaximum": 1e150}
    assert {"type": "null"} in row["properties"]["member"]["anyOf"]
    body = document["paths"]["/models/plain/predict"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    row = body["oneOf"][0]["properties"]["rows"]["items"]["anyOf"][0]
    assert row["properties"]["0"] == {"type": "number", "exclusiveMinimum": -1e150, "exclusiveMaximum": 1e150}


@pytest.mark.parametrize("path", ["/openapi.json", "/models", "/health", "/metrics", "/model", "/models/mixed"])
def test_facts_need_no_network(path):
    """Nothing sends a browser elsewhere: the document is served, pages that load scripts are not."""
    text = Client(MODELS).get(path).text
    assert "http://" not in text
    assert "https://" not in text
    assert path == "/metrics" or json.loads(text)
