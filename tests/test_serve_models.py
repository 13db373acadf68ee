"""What a server tells of its models and itself; names, limits, and what must be there."""

import asyncio
import json
import socket
import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import pytest

import classwise as cw
from classwise.errors import ClasswiseError, StoredFileError
from classwise.serve import Limits
from classwise.serve.app import create_app
from classwise.serve.server import run
from serving import Client, free_port

FRAME = pd.DataFrame({"length": [1.0, 2.0, 8.0, 9.0, 1.5, 8.5], "city": ["Oslo", "Rome", "Oslo", None, "Oslo", "Rome"]})
LABELS = ["low", "low", "high", "high", "low", "high"]


@pytest.fixture
def file(tmp_path):
    cw.save(cw.NaiveBayes().fit(FRAME, LABELS), tmp_path / "sizes.cw", source="sizes.csv")
    return tmp_path / "sizes.cw"


def test_a_model_is_described(file):
    told = Client(file).get("/model").json()
    assert told["name"] == "sizes"
    assert told["kind"] == "NaiveBayes"
    assert told["classes"] == ["high", "low"]
    assert told["priors"] == [0.5, 0.5]
    assert len(told["sha256"]) == 64
    assert [column["family"] for column in told["columns"]] == ["gaussian", "categorical"]
    assert told["columns"][1]["levels"] == ["Oslo", "Rome"]
    assert told["columns"][1]["missing"] == pytest.approx(1 / 6)
    assert told["provenance"]["sources"] == ["sizes.csv"]
    assert told["provenance"]["rows"] == 6
    assert told["provenance"]["library"] == cw.__version__


def test_models_by_name(file):
    other = cw.LDA().fit([[1.0], [2.0], [8.0], [9.0]], [0, 0, 1, 1])
    client = Client({"sizes": file, "other": other})
    assert [model["name"] for model in client.get("/models").json()] == ["sizes", "other"]
    row = {"rows": [{"length": 2.0, "city": "Oslo"}]}
    first, named = client.post("/predict", row).json(), client.post("/models/sizes/predict", row).json()
    assert first == named
    told = client.post("/models/other/predict", {"rows": [[7.0]]}).json()
    assert (told["model"], told["label"]) == ("other", [1])
    assert client.get("/models/other").json()["kind"] == "LDA"
    assert client.post("/models/other/explain", {"row": [7.0]}).json()["label"] == 1
    assert client.post("/predict", {"rows": [[7.0]]}).status_code == 422  # that is a row of the other


def test_models_made_of_others_say_so():
    X, y = np.array([[1.0], [2.0], [3.0], [8.0], [9.0], [10.0]]), [0, 0, 0, 1, 1, 1]
    decided = Client(cw.Decision(cw.LDA().fit(X, y), reject=0.1))
    assert decided.get("/model").json()["kind"] == "Decision of LDA"
    assert decided.post("/predict", {"rows": [[5.5]]}).json()["label"] == [-1]
    assert decided.post("/explain", {"row": [2.0]}).json()["label"] == 0


def test_health_and_counts(file):
    client = Client(file)
    assert client.get("/health").json()["status"] == "ok"
    for _ in range(3):
        client.post("/predict", {"rows": [{"length": 2.0, "city": "Oslo"}] * 5})
    client.post("/predict", {"rows": []})
    client.get("/nowhere")
    client.get("/nowhere/else")
    counts = client.get("/metrics").text
    assert 'classwise_requests_total{path="/predict",status="200"} 3.0' in counts
    assert 'classwise_requests_total{path="/predict",status="422"} 1.0' in counts
    assert 'classwise_requests_total{path="other",status="404"} 2.0' in counts
    assert 'classwise_request_seconds_count{path="/predict"} 4.0' in counts
    assert 'classwise_rows_total{model="sizes"} 15.0' in counts
    assert "classwise_requests_under_way 1.0" in counts  # the one that asks
    assert 'classwise_rows_total{model="sizes"}' not in Client(file).get("/metrics").text  # each app has its own


def test_large_requests_are_answered_as_small_ones(file):
    """In a thread, or at once: the same answer."""
    rows = {"rows": [{"length": float(i % 10), "city": "Oslo"} for i in range(3000)]}
    at_once, threaded = Client(file, Limits(inline_bytes=10**9)), Client(file, Limits(inline_bytes=0))
    assert at_once.post("/predict", rows).json() == threaded.post("/predict", rows).json()
    assert threaded.post("/predict", {"rows": []}).status_code == 422  # a problem finds its way back from a thread


def test_an_app_may_be_started_again(file):
    """As a test client does: threads that ended with the first life are there again in the second."""
    client = Client(file, Limits(inline_bytes=0))

    async def live():
        async with client.app.router.lifespan_context(client.app):
            pass

    for _ in range(2):
        assert client.post("/predict", {"rows": [{"length": 1.0, "city": None}]}).status_code == 200
        asyncio.run(live())


# Answers that nobody waits for --------------------------------------------------------------------------------------


class Slow:
    """A model that is held up at its first row, until it is let go; it counts the parts that it was asked for."""

    def __init__(self, monkeypatch, **limits):
        self.begun, self.let_go, self.parts = threading.Event(), threading.Event(), 0
        model = cw.LDA().fit([[1.0], [2.0], [8.0], [9.0]], ["a", "a", "b", "b"])
        self.app = create_app(model, Limits(inline_bytes=0, workers=1, **limits))
        self.score = model.predict_proba
        monkeypatch.setattr("classwise.serve.scorer.PART", 1)
        monkeypatch.setattr(model, "predict_proba", self.predict_proba, raising=False)

    def predict_proba(self, X):
        self.parts += 1
        self.begun.set()
        assert self.let_go.wait(60)
        return self.score(X)

    async def ask(self, rows, then, padding=0):
        """The status and the reason; then: what comes of the client after the body, once the model was asked."""
        body = json.dumps({"rows": [[1.0]] * rows, "output": "posteriors"}).encode() + b" " * padding
        messages, told = [{"type": "http.request", "body": body}], []

        async def receive():
            if messages:
                return messages.pop()
            await asyncio.to_thread(self.begun.wait)
            await then()
            return {"type": "http.disconnect"}

        async def send(message):
            told.append(message)

        scope = {"type": "http", "method": "POST", "path": "/predict", "query_string": b"", "root_path": ""}
        await self.app({**scope, "headers": [(b"content-type", b"application/json")]}, receive, send)
        return told[0]["status"], json.loads(told[1]["body"]).get("detail", "")


async def leave():
    """The client is gone."""


async def stay():
    await asyncio.Event().wait()


def test_rows_are_not_scored_for_a_client_that_has_left(monkeypatch):
    slow = Slow(monkeypatch)

    async def live():
        first = await slow.ask(50, leave)
        slow.let_go.set()
        return first, await slow.ask(1, stay)  # when the only thread is free

    first, second = asyncio.run(live())
    assert first == (400, "The connection was closed before the answer.")
    assert second[0] == 200
    assert slow.parts == 2


def test_a_thread_ends_soon_after_its_answer_was_given_up_and_has_its_place_until_then(monkeypatch):
    slow = Slow(monkeypatch, score_seconds=0.3, waiting=0)

    async def live():
        first = await slow.ask(50, stay)
        await asyncio.sleep(0.05)
        second = await slow.ask(1, stay)
        slow.let_go.set()
        while (third := await slow.ask(1, stay))[0] == 503:
            await asyncio.sleep(0.05)
        return first, second, third

    first, second, third = asyncio.run(live())
    assert (first[0], second[0], third[0]) == (503, 503, 200)
    assert "Scoring took too long" in first[1]
    assert "Too many large requests are waiting" in second[1]
    assert slow.parts < 20  # of fifty


def test_large_bodies_wait_for_room(monkeypatch):
    """A small one does not; one that waits too long is told to come again, one that has room in time is answered."""
    size = {"body_bytes": 3 * 2**20, "held_bytes": 3 * 2**20}
    slow = Slow(monkeypatch, **size, room_seconds=2.0)

    async def live():
        first = asyncio.create_task(slow.ask(1, stay, padding=2 * 2**20))
        await asyncio.to_thread(slow.begun.wait)
        small, second = asyncio.create_task(slow.ask(1, stay)), await slow.ask(1, stay, padding=2 * 2**20)
        waiting = asyncio.create_task(slow.ask(1, stay, padding=2 * 2**20))
        await asyncio.sleep(0)
        slow.let_go.set()
        return await first, await small, second, await waiting

    first, small, second, waiting = asyncio.run(live())
    assert [answer[0] for answer in (first, small, second, waiting)] == [200, 200, 503, 200]
    assert "Too many large requests" in second[1]


# What cannot be served ----------------------------------------------------------------------------------------------


def test_names():
    model = cw.LDA().fit([[1.0], [2.0], [8.0], [9.0]], [0, 0, 1, 1])
    with pytest.raises(ClasswiseError, match="Two models are called 'a'"):
        create_app(["x/a.cw", "y/a.cw"])
    with pytest.raises(ClasswiseError, match="cannot be part of an address"):
        create_app({"a/b": model})
    with pytest.raises(ClasswiseError, match="There is no model to serve"):
        create_app([])
    with pytest.raises(ClasswiseError, match="is a int, not a fitted estimator"):
        create_app({"a": 3})


def test_names_of_files(file):
    assert Client([f"people={file}", file]).get("/models").json()[0]["name"] == "people"


def test_files_that_are_no_models(tmp_path):
    with pytest.raises(FileNotFoundError):
        create_app(tmp_path / "nothing.cw")
    (tmp_path / "text.cw").write_text("hello")
    with pytest.raises(StoredFileError):
        create_app(tmp_path / "text.cw")
    cw.summarize(FRAME, LABELS).save(tmp_path / "part.cws")
    with pytest.raises(StoredFileError, match="holds statistics, not a model"):
        create_app(tmp_path / "part.cws")


@pytest.mark.parametrize(
    "limit", [{"rows": 0}, {"rows": 2.5}, {"body_seconds": -1.0}, {"workers": True}, {"waiting": -1}]
)
def test_limits_are_checked(limit):
    with pytest.raises(ClasswiseError, match=next(iter(limit))):
        Limits(**limit)


def test_a_port_that_is_taken(file):
    with (
        socket.create_server(("127.0.0.1", free_port())) as taken,
        pytest.raises(ClasswiseError, match="Cannot listen at"),
    ):
        run(file, port=taken.getsockname()[1])
    with pytest.raises(ClasswiseError, match="port=-1"):
        run(file, port=-1)


MISSING = """
import sys
import threading
for name in ("starlette", "msgspec", "uvicorn", "prometheus_client"):
    sys.modules.pop(name, None)
sys.modules["{gone}"] = None
import classwise.serve
try:
    classwise.serve.create_app
except ImportError as problem:
    print(type(problem).__name__, problem)
"""


@pytest.mark.parametrize("gone", ["starlette", "msgspec", "uvicorn", "prometheus_client", "pyarrow", "flatbuffers"])
def test_a_missing_library_is_named(gone):
    made = subprocess.run([sys.executable, "-c", MISSING.format(gone=gone)], capture_output=True, text=True, check=True)
    assert made.stdout.startswith("MissingExtraError")
    assert 'pip install "classwise[serve]"' in made.stdout


def test_importing_classwise_loads_no_server():
    code = "import sys, classwise; print([name for name in ('starlette', 'msgspec', 'uvicorn') if name in sys.modules])"
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert made.stdout.strip() == "[]"
