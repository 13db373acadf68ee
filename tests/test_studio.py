"""The studio without a browser: who may ask, what is answered, and that the answers are the library's own."""

import socket
import time
from functools import partial

import httpx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import classwise as cw
from classwise.errors import ClasswiseError
from classwise.studio.dials import Dials
from classwise.studio.downloads import command_line, python_lines
from classwise.studio.fisher import FisherPlane
from classwise.studio.held_out import held_out_facts, loss_surface
from classwise.studio.jobs import Jobs
from classwise.studio.mathml import equations
from classwise.studio.options import Opening
from classwise.studio.picture import plane_picture
from classwise.studio.scene import Scene
from classwise.studio.server import StudioServer
from classwise.studio.state import Open, StudioState
from classwise.studio.studio_table import open_table
from classwise.studio.table_facts import table_facts
from classwise.studio.why import point_reasons, row_reasons

COLUMNS = ["bill_length_mm", "bill_depth_mm"]


@pytest.fixture(scope="module")
def penguins():
    return cw.load_penguins()


@pytest.fixture(scope="module")
def table(penguins):
    return open_table("penguins", penguins, Opening("species"))


@pytest.fixture(scope="module")
def numbers(penguins):
    """The penguins' measurements, complete."""
    kept = penguins[[*COLUMNS, "flipper_length_mm", "body_mass_g", "species"]].dropna()
    return open_table("numbers", kept, Opening("species"))


# Who may ask ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """A studio that takes small uploads, and the folder beside its file."""
    import threading

    folder = tmp_path_factory.mktemp("guarded")
    cw.load_penguins().to_csv(folder / "penguins.csv", index=False)
    (folder / "secret.csv").write_text("a,b\n1,2\n")
    path = str(folder / "penguins.csv")
    state = StudioState({path: path}, Open(name=path, opening=Opening("species")))
    server = StudioServer(state, upload_bytes=1000)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.server.started:
        time.sleep(0.01)
    yield server, folder
    server.stop()
    thread.join(10)
    assert state.jobs.finish(30)


@pytest.fixture
def client(opened):
    server, _ = opened
    headers = {"X-Studio-Token": server.token}
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", headers=headers, timeout=30) as asking:
        yield asking


class TestGuard:
    def test_only_this_machine_can_connect(self, opened):
        assert opened[0].socket.getsockname()[0] == "127.0.0.1"

    def test_the_page_is_there_for_the_token(self, client, opened):
        page = client.get("/", params={"token": opened[0].token})
        assert page.status_code == 200
        assert "default-src 'none'" in page.headers["content-security-policy"]
        assert page.headers["cache-control"] == "no-store"
        assert client.get("/static/plotly.min.js").status_code == 200

    @pytest.mark.parametrize("path", ["/", "/?token=", "/?token=guess", "/api/status", "/api/columns?name=secret.csv"])
    def test_without_the_token_nothing_is_told(self, client, path):
        reply = client.get(path, headers={"X-Studio-Token": "wrong"})
        assert reply.status_code == 403
        assert "token" in reply.json()["detail"]
        assert "penguins" not in reply.text

    def test_a_token_in_the_address_is_none_for_questions(self, client, opened):
        reply = client.get("/api/status", params={"token": opened[0].token}, headers={"X-Studio-Token": ""})
        assert reply.status_code == 403

    @pytest.mark.parametrize(
        "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "localhost.evil"]
    )
    def test_another_host_is_refused(self, client, host):
        reply = client.get("/api/status", headers={"Host": host})
        assert reply.status_code in (400, 403)
        assert "penguins" not in reply.text

    @pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://localhost"])
    def test_another_origin_is_refused(self, client, origin):
        for path in ("/api/status", "/", "/static/main.js"):
            assert client.get(path, headers={"Origin": origin}).status_code == 403
        reply = client.post("/api/open", json={"example": "petals"}, headers={"Origin": origin})
        assert reply.status_code == 403

    @pytest.mark.parametrize("site", ["cross-site", "same-site", "none"])
    def test_another_site_is_refused(self, client, site):
        assert client.get("/api/status", headers={"Sec-Fetch-Site": site}).status_code == 403

    def test_its_own_origin_may_ask(self, client, opened):
        origin = f"http://127.0.0.1:{opened[0].port}"
        headers = {"Origin": origin, "Sec-Fetch-Site": "same-origin"}
        assert client.get("/api/status", headers=headers).status_code == 200

    @pytest.mark.parametrize(
        "path",
        ["/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/static//etc/passwd", "/static/%00"],
    )
    def test_no_path_leads_out(self, opened, path):
        server, _ = opened
        request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
        with socket.create_connection(("127.0.0.1", server.port)) as line:  # clients tidy paths up
            line.sendall(request.encode())
            reply = b""
            while more := line.recv(65536):
                reply += more
        assert reply.split()[1] in (b"404", b"403", b"400")
        assert b"Starlette" not in reply
        assert b"root:" not in reply

    def test_files_beside_the_given_one_cannot_be_opened(self, client, opened):
        _, folder = opened
        for name in (str(folder / "secret.csv"), "secret.csv", "../secret.csv", "/etc/passwd"):
            assert "neither given nor uploaded" in client.get("/api/columns", params={"name": name}).json()["cannot"]
            asked = client.post("/api/open", json={"name": name, "opening": {"target": "a"}})
            assert "neither given nor uploaded" in asked.json()["cannot"]

    def test_an_upload_stays_in_its_folder(self, client, opened):
        body = b"a,b\n1,x\n2,y\n"
        reply = client.post("/api/upload", params={"name": "../../../tmp/evil.csv"}, content=body)
        assert reply.json() == {"name": "evil.csv", "columns": ["a", "b"]}
        kept = opened[0].app.state.studio.sources["evil.csv"]
        assert kept.startswith(opened[0].app.state.studio.folder.name)

    def test_an_upload_that_is_too_large_is_refused(self, client):
        assert client.post("/api/upload", params={"name": "a.csv"}, content=b"x" * 1001).status_code == 413
        chunks = (b"x" * 100 for _ in range(20))
        assert client.post("/api/upload", params={"name": "a.csv"}, content=chunks).status_code == 413

    def test_what_is_asked_is_read_strictly(self, client):
        assert client.post("/api/picture", json={"share": 2}).status_code == 422
        assert client.post("/api/picture", json={"shares": 0.5}).status_code == 422
        assert client.post("/api/picture", content=b"{}").status_code == 415
        assert client.post("/api/picture", json={"x": "y" * 2**20}).status_code == 413
        assert client.get("/api/nothing").status_code == 404


# What is answered is what the library says ----------------------------------------------------------------------------


class TestAnswers:
    @pytest.mark.parametrize(
        "options",
        [{}, {"share": 1.0}, {"share": 0.3, "shrink": 0.2, "standardize": True}, {"structure": "diagonal"},
         {"estimate": "bayes"}],
    )  # fmt: skip
    def test_regions_are_those_of_the_model(self, numbers, options):
        from base64 import b64decode

        scene = Scene.of(numbers, Dials(columns=COLUMNS, **options))
        drawn = plane_picture(scene)
        codes = np.frombuffer(b64decode(drawn["codes"]), np.uint8).reshape(drawn["side"], -1)
        rows = numbers.held.X
        model = cw.GaussianClassifier(**options).fit(rows, numbers.held.y)
        (left, right), (low, high) = drawn["box"]
        across, up = np.linspace(left, right, drawn["side"]), np.linspace(low, high, drawn["side"])
        asked = pd.DataFrame(np.nan, index=range(40), columns=list(numbers.features))
        places = np.random.default_rng(0).integers(0, drawn["side"], (40, 2))
        asked[COLUMNS[0]], asked[COLUMNS[1]] = across[places[:, 0]], up[places[:, 1]]
        expected = np.searchsorted(model.classes_, model.predict(asked))
        assert codes[places[:, 1], places[:, 0]].tolist() == expected.tolist()

    def test_boundaries_lie_where_two_posteriors_are_equal(self, numbers):
        scene = Scene.of(numbers, Dials(columns=COLUMNS))
        drawn = plane_picture(scene)
        assert len(drawn["lines"]) >= 2
        points = np.array([pair.split(",") for pair in drawn["lines"][0][1:].split("L")], dtype=float)
        top = np.sort(scene.view.classifier.posterior(scene.view.rows(points)), axis=0)
        np.testing.assert_allclose(top[-1], top[-2], atol=1e-3)

    def test_the_surface_is_that_of_rda(self, numbers):
        surface = loss_surface(numbers, Dials())
        found = cw.RDA().fit(numbers.held.X, numbers.held.y).dials_
        assert (surface["best"]["share"], surface["best"]["shrink"]) == found.best
        assert surface["best"]["log_loss"] == pytest.approx(found.log_loss.min(), rel=1e-12)
        corners = np.array(surface["loss"])[[0, 0, -1], [0, -1, -1]]
        np.testing.assert_allclose(corners, found.log_loss[[0, -1, -1], [0, 0, -1]])

    def test_held_out_rows_are_those_of_compare(self, numbers):
        found = held_out_facts(numbers, Dials(share=1.0), None)
        compared = cw.compare(numbers.held.X, numbers.held.y, only=["lda"], calibrate=None)
        expected = compared.evaluations["LDA"]
        assert found["log_loss"] == pytest.approx(expected.log_loss, rel=1e-9)
        assert found["confusion"].tolist() == expected.confusion.tolist()

    def test_reasons_add_up(self, table):
        found = point_reasons(Scene.of(table, Dials(columns=COLUMNS)), [45.0, 17.0])
        parts = [each["share"] for each in found["shares"]]
        assert found["log_odds"] == pytest.approx(found["prior"] + found["volume"] + sum(parts))
        top = np.sort(found["posterior"])[::-1]
        assert found["log_odds"] == pytest.approx(np.log(top[0] / top[1]))
        assert len(found["densities"]) == 2

    def test_a_row_has_the_reasons_that_the_model_gives(self, table, penguins):
        scene = Scene.of(table, Dials(share=1.0))
        found = row_reasons(scene, 8)
        model = cw.GaussianClassifier(share=1.0).fit(penguins.drop(columns="species"), penguins["species"])
        told = model.explain(penguins.drop(columns="species")[8:9])
        assert found["log_odds"] == pytest.approx(told.log_odds)
        assert found["sentences"] == told.sentences()

    def test_fishers_plane_is_the_transform_of_lda(self, numbers):
        plane = FisherPlane.of(numbers.statistics)
        lda = cw.LDA().fit(numbers.held.X, numbers.held.y)
        model = cw.LDA().fit_statistics(numbers.statistics)
        rows = numbers.drawn_rows(model)
        np.testing.assert_allclose(plane.points(rows), lda.transform(numbers.held.X), atol=1e-9)
        # All that tells classes of one covariance apart lies in the plane of two directions.
        seen = plane.model(model)
        posterior = seen.classifier_.posterior(plane.points(rows)).T
        np.testing.assert_allclose(posterior, lda.predict_proba(numbers.held.X), atol=1e-9)

    def test_equations_are_typeset(self, numbers):
        found = equations(Scene.of(numbers, Dials(columns=COLUMNS, share=1.0)))
        assert {pair["kind"] for pair in found["pairs"]} == {"line"}
        lda = cw.LDA().fit(numbers.held.X, numbers.held.y)
        first, second = found["pairs"][0]["classes"]
        edge = lda.boundary(first, second, columns=COLUMNS)
        assert f"<mn>{abs(float(f'{edge.w[0]:.4g}')):g}</mn>" in found["pairs"][0]["matrices"]

    def test_a_constant_column_is_told_in_words(self, penguins):
        dated = penguins.assign(nothing=1.0)
        notes = " ".join(table_facts(open_table("dated", dated, Opening("species")))["notes"])
        assert "nothing" in notes
        assert "left out" in notes


class TestDownloads:
    def test_python_lines_run(self, penguins, tmp_path, monkeypatch):
        matplotlib = pytest.importorskip("matplotlib")
        matplotlib.use("Agg")
        penguins.to_csv(tmp_path / "penguins.csv", index=False)
        monkeypatch.chdir(tmp_path)
        opened = open_table("penguins.csv", "penguins.csv", Opening("species", drop=["year"]))
        dials = Dials(share=0.4, shrink=0.1, priors=[1.0, 1.0, 2.0], reject=0.9, columns=COLUMNS)
        made = {}
        exec(python_lines(opened, dials, None).replace("pyplot.show()", "pyplot.close('all')"), made)
        assert made["model"].reject == {"posterior": 0.9}
        same = cw.GaussianClassifier(share=0.4, shrink=0.1).fit_statistics(opened.statistics)
        same = same.with_priors({"Adelie": 0.25, "Chinstrap": 0.25, "Gentoo": 0.5})
        rows = penguins.drop(columns=["species", "year"])
        np.testing.assert_allclose(made["model"].predict_proba(rows), same.predict_proba(rows), atol=1e-9)

    def test_the_command_opens_the_same_view(self):
        opened = open_table("a b.csv", cw.load_penguins("pyarrow"), Opening("species"))
        assert command_line(opened, "share=1") == "classwise studio --example 'a b.csv' --view share=1"


class TestTables:
    def test_remedies_are_flags_of_the_command(self):
        changed = (
            Opening("y")
            .with_flags("--drop 'id,row'")
            .with_flags("--families zip=categorical")
            .with_flags("--missing -999")
        )
        assert changed.drop == ["id", "row"]
        assert changed.families == {"zip": "categorical"}
        assert changed.missing == ["-999"]
        with pytest.raises(ClasswiseError, match="remedies are"):
            Opening("y").with_flags("--target x")

    def test_a_stream_has_the_statistics_of_all_rows(self, tmp_path, monkeypatch):
        from classwise.studio import studio_table

        X, y = cw.datasets.gaussians(3000, covariances="parabola", random_state=0)
        frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y})
        frame.to_csv(tmp_path / "rows.csv", index=False)
        monkeypatch.setattr(studio_table, "MOST_HELD", 100)
        opened = open_table("rows", str(tmp_path / "rows.csv"), Opening("y"))
        assert opened.held is None
        assert len(opened.drawn) == studio_table.DRAWN < opened.rows == 3000
        streamed = cw.QDA().fit_statistics(opened.statistics)
        np.testing.assert_allclose(streamed.means_, cw.QDA().fit(X, y).means_, rtol=1e-12)
        assert np.isfinite(np.array(loss_surface(opened, Dials())["loss"])).all()

    def test_labels_of_no_class_are_refused_in_words(self):
        many = pa.table({"a": np.arange(200.0), "id": [f"r{i % 100}" for i in range(200)]})
        with pytest.raises(ClasswiseError, match="choose another column"):
            open_table("many", many, Opening("id"))


class TestJobs:
    def test_a_job_that_is_replaced_ends_at_its_next_step(self):
        from classwise.engines.progress import progress

        def slow():
            with progress("waiting", 1000) as bar:
                for _ in range(1000):
                    time.sleep(0.01)
                    bar.step("a step")

        jobs = Jobs()
        first = jobs.start("slow", "Waiting", slow)
        while not first.share:
            time.sleep(0.01)
        assert first.about == "a step"
        second = jobs.start("slow", "Waiting", lambda: 7)
        assert jobs.finish(5)
        assert first.state == "failed"
        assert second.is_stopped

    def test_jobs_are_done_in_the_order_in_which_they_were_begun(self, monkeypatch):
        run = Jobs._run

        def late(self, job, *rest):
            if job.what == "second":  # as on a busy machine, its thread comes to wait after the third
                time.sleep(0.05)
            run(self, job, *rest)

        monkeypatch.setattr(Jobs, "_run", late)
        jobs, done = Jobs(), []
        for what in ("first", "second", "third"):
            last = jobs.start(what, what, partial(done.append, what))
        while last.state == "running":
            time.sleep(0.01)
        assert done == ["first", "second", "third"]

    def test_an_error_is_told_in_words(self):
        def fail():
            raise ClasswiseError("The column is empty.")

        jobs = Jobs()
        job = jobs.start("fail", "Failing", fail)
        while job.state == "running":
            time.sleep(0.01)
        assert job.problem == "The column is empty."


def test_from_a_notebook():
    import classwise.studio as package

    X, y = cw.datasets.gaussians(60, random_state=0)
    assert package.studio is not package
    with package(X, y, browser=False) as page:
        assert page.url in page._repr_html_()
        token = page.url.partition("token=")[2]
        base = page.url.partition("?")[0]
        for _ in range(200):
            status = httpx.get(f"{base}api/status", headers={"X-Studio-Token": token}).json()
            if status["table"]:
                break
            time.sleep(0.05)
        assert status["table"]["rows"] == 60
        assert [each["name"] for each in status["table"]["columns"]] == ["x0", "x1"]
    with pytest.raises(ClasswiseError, match="y is missing"):
        cw.studio(X)
