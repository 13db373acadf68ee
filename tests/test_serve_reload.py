"""Files that are replaced while the server runs: nothing is lost, nothing is mixed, nothing damaged is taken."""

import asyncio
import json
import shutil
import threading

import httpx
import numpy as np
import pytest

import classwise as cw
from classwise.serve.app import create_app
from serving import Client, running

GENERATOR, CODES = np.random.default_rng(0), np.repeat([0, 1], 40)
ROWS = GENERATOR.normal(size=(80, 3)) + CODES[:, None]
ROW = {"rows": [[0.4, 0.5, 0.6]]}


def fit(shift: float):
    return cw.LDA().fit(ROWS + shift * CODES[:, None], np.array(["no", "yes"])[CODES])


@pytest.fixture
def files(tmp_path):
    """Two models, and the file that is one of them in turn."""
    for name, shift in (("first", 0.0), ("second", 2.0)):
        cw.save(fit(shift), tmp_path / f"{name}.cw", source=f"{name}.csv")
    shutil.copy(tmp_path / "first.cw", tmp_path / "model.cw")
    return tmp_path


def look_again(client: Client) -> None:
    asyncio.run(client.app.state.models.look())


def put(source, target):
    """As `cw.save` does: complete, then under its name."""
    shutil.copy(source, target.with_suffix(".new"))
    target.with_suffix(".new").replace(target)


def test_a_new_file_is_taken(files):
    client = Client(files / "model.cw")
    before = client.post("/predict", ROW).json()
    put(files / "second.cw", files / "model.cw")
    assert client.post("/predict", ROW).json() == before
    look_again(client)
    after = client.post("/predict", ROW).json()
    assert after["posteriors"] == cw.load(files / "second.cw").predict_proba(ROW["rows"]).tolist()
    assert after["sha256"] != before["sha256"]
    told = client.get("/model").json()
    assert told["sha256"] == after["sha256"]
    assert told["provenance"]["sources"] == ["second.csv"]
    assert 'classwise_reloads_total{model="model",outcome="loaded"} 1.0' in client.get("/metrics").text


DAMAGE = {
    "cut short": lambda file: file.write_bytes(file.read_bytes()[:1000]),
    "empty": lambda file: file.write_bytes(b""),
    "something else": lambda file: file.write_text("hello"),
    "gone": lambda file: file.unlink(),
    "statistics": lambda file: cw.summarize(ROWS, CODES).save(file),
    "bits flipped": lambda file: file.write_bytes(file.read_bytes()[:400] + b"\xff" * 300 + file.read_bytes()[700:]),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_file_leaves_the_model_as_it_was(files, kind):
    client, file = Client(files / "model.cw"), files / "model.cw"
    before = client.post("/predict", ROW).json()
    DAMAGE[kind](file)
    for _ in range(3):
        look_again(client)
    assert client.post("/predict", ROW).json() == before
    health = client.get("/health").json()
    assert health["status"] == "stale"
    assert len(health["models"]["model"]["problem"]) > 20
    assert str(files) not in client.get("/health").text
    counts = client.get("/metrics").text
    assert 'classwise_model_stale{model="model"} 1.0' in counts
    assert 'classwise_reloads_total{model="model",outcome="failed"} 1.0' in counts  # tried once, not again and again
    put(files / "second.cw", file)
    look_again(client)
    assert client.get("/health").json()["status"] == "ok"
    assert client.post("/predict", ROW).json()["sha256"] != before["sha256"]


def test_a_file_that_was_gone_may_come_back(files):
    client, file = Client(files / "model.cw"), files / "model.cw"
    file.rename(files / "away.cw")
    look_again(client)
    assert client.get("/health").json()["status"] == "stale"
    (files / "away.cw").rename(file)
    look_again(client)
    assert client.get("/health").json()["status"] == "ok"


def test_other_columns_are_another_request(files):
    client, file = Client(files / "model.cw"), files / "model.cw"
    cw.save(cw.LDA().fit(ROWS[:, :2], CODES), file)
    look_again(client)
    assert client.post("/predict", ROW).status_code == 422
    assert client.post("/predict", {"rows": [[0.4, 0.5]]}).status_code == 200
    schema = client.get("/openapi.json").json()["paths"]["/predict"]["post"]["requestBody"]
    lists = schema["content"]["application/json"]["schema"]["oneOf"][0]["properties"]["rows"]["items"]["anyOf"][1]
    assert lists["maxItems"] == 2


def test_a_model_in_memory_is_never_reloaded():
    client = Client(fit(0.0))
    look_again(client)
    assert client.get("/health").json() == {
        "status": "ok",
        "models": {"model": {**client.get("/health").json()["models"]["model"], "sha256": None, "problem": None}},
    }


def test_files_are_watched_while_the_app_runs(files):
    """The watch begins and ends with the app."""
    app = create_app(files / "model.cw", reload_seconds=0.01)

    async def live():
        async with app.router.lifespan_context(app):
            put(files / "second.cw", files / "model.cw")
            for _ in range(500):
                await asyncio.sleep(0.01)
                if app.state.models["model"].about.sources == ["second.csv"]:
                    return True
        return False

    assert asyncio.run(live())


def test_fifty_reloads_under_load_lose_nothing(files):
    """Every answer is wholly from one of the two models, none is missing, and both have answered."""
    models = {name: cw.load(files / f"{name}.cw") for name in ("first", "second")}
    expected = {name: model.predict_proba(ROW["rows"]).tolist() for name, model in models.items()}
    with running(str(files / "model.cw"), reload_seconds=0.01) as server:
        shas = {}
        done, answers, problems = threading.Event(), [], []

        def ask():
            with httpx.Client(base_url=server.address) as client:
                while not done.is_set():
                    try:
                        told = client.post("/predict", json=ROW)
                        answers.append((told.status_code, told.json()))
                    except Exception as problem:
                        problems.append(problem)

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        with httpx.Client(base_url=server.address) as client:
            for turn in range(50):
                name = ("second", "first")[turn % 2]
                put(files / f"{name}.cw", files / "model.cw")
                shas[name] = wait_for_change(client, shas.get(("first", "second")[turn % 2]), name, expected)
        done.set()
        for thread in threads:
            thread.join()
        assert not problems
        assert {status for status, _ in answers} == {200}
        told = {(body["sha256"], json.dumps(body["posteriors"])) for _, body in answers}
        assert told == {(shas[name], json.dumps(expected[name])) for name in expected}
        counts = httpx.get(f"{server.address}/metrics").text
        assert 'classwise_reloads_total{model="model",outcome="loaded"} 50.0' in counts
        assert 'outcome="failed"' not in counts
        assert server.stop().count("was loaded again") == 50


def wait_for_change(client, other, name, expected):
    """Until the server answers by the file that was put there; its sha256."""
    for _ in range(2000):
        told = client.post("/predict", json=ROW).json()
        if told["posteriors"] == expected[name] and told["sha256"] != other:
            return told["sha256"]
    raise AssertionError("the file was not loaded")
