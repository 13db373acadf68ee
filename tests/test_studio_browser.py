"""The studio from end to end: a person with a mouse, a keyboard or a phone, in a real Chromium."""

import re
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest

import classwise as cw
from browser import CHROMIUM
from classwise.studio import state
from studio_page import PHONE, WIDE, StudioPage, chromium

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium"),
    pytest.mark.xdist_group("studio browser"),
]

COLUMNS = ["bill_length_mm", "bill_depth_mm"]


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def penguins(tmp_path_factory):
    """A studio of the penguins, from their file."""
    path = tmp_path_factory.mktemp("studio") / "penguins.csv"
    cw.load_penguins().to_csv(path, index=False)
    with cw.studio(str(path), target="species", browser=False) as opened:
        yield opened


@pytest.fixture
def view(browser, tmp_path, request):
    """A page; whatever it complained about fails the test."""
    page = StudioPage(browser, tmp_path, **getattr(request, "param", WIDE))
    yield page
    page.close()
    assert page.complaints == []


@contextmanager
def served(view, path, target=None):
    with cw.studio(str(path), target=target, browser=False) as opened:
        yield opened
        view.page.goto("about:blank")  # a page whose studio has stopped would complain


def rows_of(model, **values):
    """A row of a penguin of which only some measurements are known."""
    return pd.DataFrame([{name: values.get(name, np.nan) for name in model.feature_names_in_}]).astype(
        {"island": object, "sex": object}
    )


def fitted(**options):
    table = cw.load_penguins()
    return cw.GaussianClassifier(**options).fit(table.drop(columns="species"), table["species"])


class TestPenguins:
    def test_the_answer_is_at_the_top(self, view, penguins):
        view.open(penguins.url)
        view.page.wait_for_selector("#matters:not([hidden])", timeout=300_000)
        assert "could not be found out" not in view.text("#matters")
        assert re.search(r"is right on .* of 100 unseen rows", view.text("#sentence"))
        assert view.text("#matter-list .line:first-child span").strip() == "bill_length_mm"
        assert view.page.locator("#picture .scatterlayer .trace").count() == 3
        assert len(view.shapes("ellipse")) == 6
        own = (penguins.url.partition("?")[0], "data:", "about:", "blob:")
        assert all(url.startswith(own) for url in view.requests)
        view.picture("studio-wide")

    def test_why_nothing_matters_is_said(self, view, monkeypatch):
        def fail(*_):
            raise cw.ClasswiseError("No column is left.")

        monkeypatch.setattr(state, "weighed", fail)
        with cw.studio(cw.load_penguins(), target="species", browser=False) as opened:
            view.open(opened.url)
            view.page.wait_for_selector("#matters:not([hidden])", timeout=300_000)
            assert view.text("#matter-list") == "What matters could not be found out: No column is left."
            view.page.goto("about:blank")

    def test_from_qda_to_lda_boundaries_become_lines(self, view, penguins):
        view.open(penguins.url, panel="equation", x=COLUMNS[0], y=COLUMNS[1])
        kinds = [pair.get_attribute("data-kind") for pair in view.page.query_selector_all(".pair")]
        assert "hyperbola" in kinds
        assert max(map(bend, view.shapes("boundary"))) > 1e-3
        pad = view.page.locator("#pad").bounding_box()
        left, top, size = pad["x"] + 1, pad["y"] + 1, pad["width"] - 2
        view.page.mouse.move(left, top)
        view.page.mouse.down()
        view.page.mouse.move(left + size / 2, top, steps=6)
        view.page.mouse.move(left + size, top, steps=6)
        view.page.mouse.up()
        view.settle()
        assert view.text("#model-name") == "LDA"
        kinds = [pair.get_attribute("data-kind") for pair in view.page.query_selector_all(".pair")]
        assert set(kinds) == {"line"}
        assert view.page.locator(".pair math").count() >= 2 * len(kinds)
        assert max(map(bend, view.shapes("boundary"))) < 1e-4
        view.picture("studio-lda")

    def test_a_prior_changes_a_posterior_as_in_python(self, view, penguins):
        view.open(penguins.url, x=COLUMNS[0], y=COLUMNS[1], point="[44.5,17.5]")
        model = fitted()
        row = rows_of(model, **dict(zip(COLUMNS, (44.5, 17.5), strict=True)))
        before = dict(zip(model.classes_, model.predict_proba(row)[0], strict=True))
        assert view.posterior("Chinstrap") == pytest.approx(before["Chinstrap"], abs=1e-6)
        view.page.locator("#priors input").nth(0).fill("0.05")
        view.settle()
        shares = [0.05, *(model.priors_[1:]).tolist()]
        priors = dict(zip(model.classes_.tolist(), (np.array(shares) / sum(shares)).tolist(), strict=True))
        after = dict(zip(model.classes_, model.with_priors(priors).predict_proba(row)[0], strict=True))
        assert abs(after["Chinstrap"] - before["Chinstrap"]) > 0.05
        for label in model.classes_:
            assert view.posterior(label) == pytest.approx(after[label], abs=1e-6)
        view.picture("studio-why")

    def test_a_row_is_explained_with_all_its_columns(self, view, penguins):
        view.open(penguins.url, x=COLUMNS[0], y=COLUMNS[1])
        place = view.page.evaluate(
            """() => { const own = document.getElementById('picture'), full = own._fullLayout, trace = own.data[2];
                own.scrollIntoView();
                const box = own.getBoundingClientRect();
                return [box.left + full.xaxis._offset + full.xaxis.d2p(trace.x[1]),
                        box.top + full.yaxis._offset + full.yaxis.d2p(trace.y[1])]; }"""
        )
        view.page.mouse.move(*place)
        view.settle()
        assert view.page.locator("#readout [data-posterior]").count() == 3
        view.page.mouse.click(*place)
        view.settle()
        assert "with all its columns" in view.text("#why-title")
        assert "flipper_length_mm" in view.text("#panel-why")

    def test_what_is_doubtful_is_refused(self, view, penguins):
        view.open(penguins.url, x=COLUMNS[0], y=COLUMNS[1])
        assert view.shapes("reject") == []
        view.page.locator("#reject").fill("0.95")
        view.settle()
        share = float(view.page.get_attribute("#picture", "data-refused"))
        assert 0.005 < share < 0.5
        assert view.shapes("reject")
        view.page.locator("#cost-box summary").click()
        view.page.get_by_label("Cost of deciding Gentoo where Adelie is true").fill("50")
        view.page.keyboard.press("Tab")
        view.settle()
        assert float(view.page.get_attribute("#picture", "data-refused")) == pytest.approx(share, abs=0.2)
        view.picture("studio-reject")

    def test_the_table_sorts_and_shows_a_model(self, view, penguins):
        view.open(penguins.url, panel="models")
        view.page.wait_for_selector("#model-table", timeout=300_000)
        view.page.click("[data-key=accuracy]")
        first = accuracies(view)
        view.page.click("[data-key=accuracy]")
        assert first == sorted(first) != accuracies(view) == sorted(first, reverse=True)
        view.page.get_by_role("button", name="naive Bayes", exact=True).click()
        view.settle()
        assert view.text("#model-name").lower().startswith("naive bayes")
        view.picture("studio-models")

    def test_the_model_file_predicts_the_same(self, view, penguins, tmp_path):
        view.open(penguins.url, share=0.5, shrink=0.1, reject=0.9)
        view.page.click("#download")
        with view.page.expect_download() as kept:
            view.page.click("[data-kind=model]")
        kept.value.save_as(tmp_path / "model.cw")
        loaded, rows = cw.load(tmp_path / "model.cw"), cw.load_penguins().drop(columns="species")
        same = cw.Decision(fitted(share=0.5, shrink=0.1), reject={"posterior": 0.9})
        np.testing.assert_allclose(loaded.predict_proba(rows), same.predict_proba(rows), atol=1e-12)
        assert loaded.predict(rows).tolist() == same.predict(rows).tolist()
        for kind, words in {"sql": "SELECT", "python": "cw.GaussianClassifier(share=0.5, shrink=0.1)"}.items():
            with view.page.expect_download() as kept:
                view.page.click(f"[data-kind={kind}]")
            kept.value.save_as(tmp_path / kind)
            assert words in (tmp_path / kind).read_text()

    def test_one_column_fishers_plane_and_rows_of_the_model(self, view, penguins):
        view.open(penguins.url, x="body_mass_g", y="(one column)")
        assert view.page.locator("#picture .scatterlayer .trace").count() == 6
        view.picture("studio-one-column")
        view.page.select_option("#x", "Fisher's directions")
        view.settle()
        assert view.page.locator("#picture .scatterlayer .trace").count() == 3
        view.page.click("#generate")
        view.settle()
        assert view.page.locator("#picture .scatterlayer .trace").count() == 6
        view.page.click("#forget")
        view.settle()
        assert view.page.locator("#picture .scatterlayer .trace").count() == 3

    def test_held_out_rows_diagnosis_and_learning_curve(self, view, penguins):
        view.open(penguins.url, panel="held", share=1)
        assert "Right on" in view.text("#panel-held")
        assert view.page.locator(".confusion td").count() == 9
        view.picture("studio-held-out")
        view.page.click("#tab-diagnosis")
        view.page.wait_for_selector("#panel-diagnosis .advice li", timeout=60_000)
        view.page.click("#tab-curve")
        view.page.wait_for_selector("#learning .scatterlayer .trace", state="attached", timeout=300_000)
        assert "log loss" in view.text("#panel-curve")

    def test_the_address_keeps_the_view(self, view, penguins):
        view.open(penguins.url)
        view.page.click(".corners button[data-share='1'][data-shrink='1']")
        view.page.check("input[name=structure][value=diagonal]")
        view.settle()
        kept = view.page.url
        view.page.goto("about:blank")
        view.open(kept)
        assert view.text("#model-name") == "nearest mean"
        assert view.page.is_checked("input[name=structure][value=diagonal]")


def bend(shape):
    """How far the points of a path are from the line between its ends, as a share of its length."""
    points = np.array([[float(value) for value in pair.split(",")] for pair in shape["path"][1:].split("L")])
    scaled = (points - points.min(axis=0)) / np.maximum(np.ptp(points, axis=0), 1e-12)
    along = scaled[-1] - scaled[0]
    across = np.array([-along[1], along[0]]) / np.hypot(*along)
    return float(np.abs((scaled - scaled[0]) @ across).max())


def accuracies(view):
    cells = view.page.locator("#model-table tbody td:nth-child(2)").all_inner_texts()
    return [float(cell.removesuffix(" %")) for cell in cells]


class TestWaysIn:
    def test_skipping_to_the_picture_keeps_the_view(self, view, penguins):
        view.open(penguins.url, share=1)
        view.page.keyboard.press("Tab")
        view.page.keyboard.press("Enter")
        view.settle()
        assert view.text("#model-name") == "LDA"
        assert "share=1" in view.page.url

    def test_keyboard_only(self, view, penguins):
        view.open(penguins.url)
        view.page.keyboard.press("Tab")
        assert view.page.evaluate("document.activeElement.className") == "skip"
        view.page.keyboard.press("Enter")
        assert view.page.evaluate("document.activeElement.id") == "picture"
        for _ in range(3):
            view.page.keyboard.press("ArrowRight")
        view.page.keyboard.press("Enter")
        view.settle()
        assert "other columns unknown" in view.text("#why-title")
        view.page.focus("#share")
        view.page.keyboard.press("End")
        view.settle()
        assert view.text("#model-name") == "LDA"
        view.page.focus("#tab-why")
        view.page.keyboard.press("ArrowRight")
        assert view.page.get_attribute("#tab-models", "aria-selected") == "true"
        view.page.focus("#open")
        view.page.keyboard.press("Enter")
        assert view.page.is_visible("#open-box")
        view.page.keyboard.press("Escape")
        assert view.page.evaluate("document.activeElement.id") == "open"

    @pytest.mark.parametrize("view", [PHONE, {**PHONE, "color_scheme": "dark"}], indirect=True, ids=["light", "dark"])
    def test_phone(self, view, penguins, request):
        view.open(penguins.url)
        assert view.page.evaluate("document.scrollingElement.scrollWidth") <= 390
        pad = view.page.locator("#pad")
        pad.scroll_into_view_if_needed()
        box = pad.bounding_box()
        view.page.touchscreen.tap(box["x"] + box["width"] - 2, box["y"] + 2)
        view.settle()
        assert view.text("#model-name") == "LDA"
        view.picture(f"studio-phone-{request.node.callspec.id}")

    @pytest.mark.parametrize("view", [WIDE, {**WIDE, "color_scheme": "dark"}], indirect=True, ids=["light", "dark"])
    def test_nothing_serious_for_axe(self, view, penguins, request):
        from axe_playwright_python.sync_playwright import Axe

        view.open(penguins.url, point="[44.5,17.5]", x=COLUMNS[0], y=COLUMNS[1], lesson=3)
        for panel in ("why", "models", "held", "equation"):
            view.page.click(f"#tab-{panel}")
            view.settle()
            assert serious(Axe().run(view.page)) == []
        for button in ("#open", "#download"):
            view.page.click(button)
            assert serious(Axe().run(view.page)) == []
            view.page.keyboard.press("Escape")
        view.page.click("#lesson-close")
        view.page.click("#tab-why")
        view.settle()
        view.picture(f"studio-{request.node.callspec.id}-wide")

    def test_drawing_pad(self, view, penguins):
        view.open(penguins.url)
        view.page.click("#open")
        view.page.click("#open-pad")
        view.settle()
        for label, places in {"A": [(0.2, 0.3), (0.3, 0.2), (0.25, 0.4), (0.15, 0.35)],
                              "B": [(0.7, 0.6), (0.8, 0.7), (0.75, 0.8), (0.65, 0.7)]}.items():  # fmt: skip
            view.page.check(f"#pad-classes input[value={label}]")
            view.page.evaluate("document.getElementById('picture').scrollIntoView()")
            box = view.page.locator("#picture").bounding_box()
            for x, y in places:
                view.page.mouse.click(box["x"] + x * box["width"], box["y"] + y * box["height"])
                view.settle()
        assert view.shapes("boundary")
        assert view.page.locator("#picture .scatterlayer .trace").count() == 2
        assert "8 rows" in view.text("#table-facts")
        view.picture("studio-pad")
        view.page.click("#pad-undo")
        view.settle()
        assert "7 rows" in view.text("#table-facts")

    def test_lessons(self, view, penguins):
        view.open(penguins.url)
        view.page.click("#lessons")
        titles = []
        for step in range(8):
            view.page.wait_for_timeout(500)
            view.settle()
            assert not view.page.is_visible("#picture-problem"), view.text("#picture-problem")
            assert view.text("#lesson-count") == f"Lesson {step + 1} of 8"
            assert view.text("#lesson-question").endswith("?")
            titles.append(view.text("#lesson-title"))
            if step == 2:
                view.picture("studio-lesson")
            if step < 7:
                view.page.click("#lesson-next")
        assert len(set(titles)) == 8
        view.page.click("#lesson-close")
        assert not view.page.is_visible("#lesson")


def serious(results):
    """What axe finds serious or critical."""
    found = [each for each in results.response["violations"] if each["impact"] in ("serious", "critical")]
    return [(each["id"], [node["html"][:200] for node in each["nodes"]]) for each in found]


class TestTables:
    def test_a_broken_csv_is_told_in_words(self, view, penguins, tmp_path):
        path = tmp_path / "broken.csv"
        path.write_bytes(b"\x00\x01\x02\xff\xfe" * 50)
        view.open(penguins.url)
        view.page.click("#open")
        view.page.set_input_files("#upload", path)
        view.page.wait_for_selector("#open-problem:not([hidden]), #target-box:not([hidden])")
        if view.page.is_visible("#target-box"):
            view.page.click("#target-open")
            view.page.wait_for_selector(".problem:not([hidden])")
        shown = [text for text in view.page.locator(".problem").all_inner_texts() if text.strip()]
        assert shown
        assert all("Traceback" not in text and "Unexpected" not in text for text in shown)
        view.settle()
        assert "/tmp" not in view.text("#page-problem") + view.text("#open-problem")
        view.page.keyboard.press("Escape")
        view.page.click(".corners button[data-share='1'][data-shrink='0']")
        view.settle()
        assert view.text("#model-name") == "LDA"  # the table before is still there
        view.picture("studio-broken")

    def test_an_empty_page_is_never_shown(self, view, tmp_path):
        path = tmp_path / "one_class.csv"
        path.write_text("a,b\n1,x\n2,x\n")
        with served(view, path, "b") as opened:
            view.page.goto(opened.url)
            view.page.wait_for_selector("#page-problem:not([hidden])")
            assert "class" in view.text("#page-problem")

    def test_findings_have_switches(self, view, tmp_path):
        generator = np.random.default_rng(0)
        y = np.repeat(["a", "b"], 60)
        table = pd.DataFrame({"x": generator.normal(size=120) + (y == "b"), "z": generator.normal(size=120)})
        table["leak"] = (y == "b") * 3.0 + generator.normal(size=120) * 1e-3
        table["date"] = [f"day {i}" for i in range(120)]
        table["y"] = y
        path = tmp_path / "leak.csv"
        table.to_csv(path, index=False)
        with served(view, path, "y") as opened:
            view.open(opened.url)
            view.page.wait_for_selector("#finding-list input[type=checkbox]", timeout=30_000)
            assert "date" in view.text("#finding-list")
            switch = view.page.locator("#finding-list li", has_text="leak").locator("input").first
            switch.check()
            view.page.wait_for_timeout(800)
            view.settle()
            assert "leak" not in view.page.locator("#x option").all_inner_texts()
            assert "drop" in view.page.url

    @pytest.mark.slow
    def test_a_million_rows(self, view, tmp_path):
        import pyarrow as pa
        import pyarrow.parquet as pq

        generator = np.random.default_rng(0)
        codes = generator.integers(0, 3, 1_000_000)
        rows = generator.normal(size=(1_000_000, 20)) + generator.normal(size=(3, 20))[codes]
        table = pa.table({f"x{j}": rows[:, j] for j in range(20)} | {"y": np.array(["a", "b", "c"])[codes]})
        pq.write_table(table, tmp_path / "large.parquet")
        with served(view, tmp_path / "large.parquet", "y") as opened:
            view.page.goto(opened.url)
            view.page.wait_for_selector("#picture .scatterlayer", state="attached", timeout=120_000)
            assert "2,000 of 1,000,000 rows" in view.text("#drawn")
            view.page.focus("#share")
            for _ in range(10):
                view.page.keyboard.press("ArrowRight")
                view.page.wait_for_timeout(60)
            view.page.wait_for_timeout(1500)
            assert view.text("#model-name") == "RDA, share 0.1, shrink 0"
            view.picture("studio-million", full=False)


def test_the_command_stops_quietly(tmp_path):
    import signal

    path = tmp_path / "penguins.csv"
    cw.load_penguins().to_csv(path, index=False)
    command = [sys.executable, "-m", "classwise", "studio", str(path), "--target", "species", "--no-browser"]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    first = running.stderr.readline()
    assert first.startswith("The studio is at http://127.0.0.1:")
    running.send_signal(signal.SIGINT)
    _, rest = running.communicate(timeout=20)
    assert running.returncode in (0, 130)
    assert "Traceback" not in rest
