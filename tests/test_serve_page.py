"""The page at / of a server: a person fills in a row, and sees what a program would be answered."""

import os
import re
from pathlib import Path

import pytest

import classwise as cw
from browser import CHROMIUM
from serving import Client, running
from studio_page import PHONE, WIDE, chromium

COLUMNS = ["bill_length_mm", "bill_depth_mm", "island"]
PENGUINS = cw.load_penguins()


def fit(model):
    return model.fit(PENGUINS[COLUMNS], PENGUINS["species"])


def test_the_page_and_all_that_it_loads_come_from_the_server() -> None:
    client = Client(fit(cw.NaiveBayes()))
    page = client.get("/")
    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/html")
    assert not re.search(r"https?://", page.text)
    loaded = re.findall(r'(?:src|href)="([^":]+)"', page.text)
    assert {"static/page.css", "static/page.js", "openapi.json"} <= {*loaded}
    for path in loaded:  # relative, so that a proxy may put the server anywhere
        assert not path.startswith("/")
        assert client.get(f"/{path}").status_code == 200
    assert client.get("/static/page.js").headers["content-type"].startswith("text/javascript")
    assert client.get("/static/../app.py").status_code == 404
    assert client.ask("POST", "/").status_code == 405


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    cw.save(fit(cw.NaiveBayes()), folder / "penguins.cw")
    cw.save(fit(cw.AutoClassifier(members="sql", folds=2)), folder / "stack.cw")
    with running([str(folder / "penguins.cw"), str(folder / "stack.cw")]) as started:
        yield started


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


class Page:
    """The page in a browser. complaints: of its console; requests: all that it asked for."""

    def __init__(self, browser, address: str, **options) -> None:
        self.page = browser.new_page(**options)
        self.complaints, self.requests = [], []
        self.page.on("console", lambda said: self.complaints.append(said.text) if said.type == "error" else None)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.after(lambda: self.page.goto(address))

    def after(self, work) -> None:
        """Do something, and wait until the page has shown what comes of it."""
        shown = self.page.evaluate("Number(document.body.dataset.shown ?? 0)")
        work()
        self.page.wait_for_function(f"Number(document.body.dataset.shown ?? 0) > {shown}")

    def fill(self, values: list[str]) -> None:
        bill, depth = self.page.locator("#fields input").all()
        self.after(lambda: bill.fill(values[0]))
        self.after(lambda: depth.fill(values[1]))
        self.after(lambda: self.page.locator("#fields select").select_option(label=values[2]))

    def bars(self, place: str) -> list[list[str]]:
        """Name and number of each bar."""
        bars = self.page.locator(f"#{place} .bar").all()
        return [[bar.locator(":scope > span").nth(i).inner_text() for i in (0, 2)] for bar in bars]


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
@pytest.mark.xdist_group("serve browser")
@pytest.mark.parametrize("options", [WIDE, PHONE], ids=["wide", "phone"])
def test_a_person_tries_rows(browser, server, tmp_path, options) -> None:
    model = fit(cw.NaiveBayes())
    view = Page(browser, f"{server.address}/", **options)
    view.fill(["45.5", "17.5", "Dream"])
    row = PENGUINS[COLUMNS].iloc[:1].assign(bill_length_mm=45.5, bill_depth_mm=17.5, island="Dream")
    posteriors = dict(zip(model.classes_, model.predict_proba(row)[0], strict=True))
    assert view.page.locator("#label").inner_text() == model.predict(row)[0]
    assert view.bars("posteriors") == [[name, f"{100 * share:.1f} %"] for name, share in posteriors.items()]

    explained = model.explain(row)
    found = dict(view.bars("shares"))
    assert found["island = Dream"] == f"{explained.shares['island']:+.2f}".replace("-", "−")
    others = model.predict_proba(row.assign(bill_length_mm=float("nan")))[0]
    without = others[list(posteriors).index(explained.label)]
    assert abs(without - posteriors[explained.label]) > 0.1
    assert dict(view.bars("without"))["bill_length_mm"] == f"{100 * without:.1f} %"

    view.after(lambda: view.page.click("#keep"))
    view.after(lambda: view.page.locator("#fields input").first.fill(""))
    assert view.page.locator(".field.changed").count() == 1
    assert f"({100 * posteriors['Adelie']:.1f} %)" in view.bars("posteriors")[0][1]
    view.after(lambda: view.page.click("#posteriors .bar:nth-child(3)"))
    assert "speaks for Gentoo" in view.page.locator("#why").inner_text()
    view.page.screenshot(path=picture(tmp_path, options), full_page=True)
    assert view.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert view.complaints == []

    view.after(lambda: view.page.locator("#fields input").first.fill("long"))
    assert "bill_length_mm" in view.page.locator("#problem").inner_text()
    view.after(lambda: view.page.select_option("#models", "stack"))
    assert view.page.locator("h1").inner_text() == "stack"
    assert not view.page.locator("#problem").is_visible()
    assert {url.split("/")[2] for url in view.requests if not url.startswith("data:")} == {f"127.0.0.1:{server.port}"}
    view.page.close()


def picture(folder: Path, options: dict) -> Path:
    return Path(os.environ.get("CLASSWISE_SCREENSHOTS") or folder) / f"serve-{options['viewport']['width']}.png"
