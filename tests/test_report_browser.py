"""Reports in a browser: no requests, no complaints, tables that sort by mouse and keys, words about points, zoom."""

import numpy as np
import pandas as pd
import pytest
from palmerpenguins import load_penguins

import classwise as cw
from browser import CHROMIUM, Browser

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")]

PENGUINS = load_penguins().drop(columns="year")
X, y = PENGUINS.drop(columns="species"), PENGUINS["species"].to_numpy()
PHONE = {"width": 390, "height": 800, "phone": True}


@pytest.fixture(scope="module")
def browser():
    with Browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A report, the page of an evaluation, and the report of a table that tries to do harm."""
    folder = tmp_path_factory.mktemp("pages")
    found = {name: folder / f"{name}.html" for name in ("report", "evaluation", "hostile")}
    comparison = cw.compare(X, y, 4, references=False)
    cw.write_report(comparison, X, y, found["report"], source="penguins.csv", target="species")
    evaluation = comparison.best.evaluate(X, y)
    cw.report.write_evaluation(evaluation, found["evaluation"], "How good?", {"model": "m.cw"})
    evil = "</script><script>document.title = 'harmed'</script>"
    rng = np.random.default_rng(0)
    labels = np.repeat([evil, "<img src=x onerror=\"document.title='harmed'\">"], 40)
    table = pd.DataFrame({f"'{evil}": rng.normal(size=80) + np.repeat([0, 1], 40), "$\\frac{": rng.normal(size=80)})
    table[f"a {'very ' * 30}long name"] = np.where(rng.random(80) < 0.5, f"\"{evil}'", "https://nowhere.example/x.png")
    hostile = cw.compare(table, labels, 3, references=False)
    cw.write_report(hostile, table, labels, found["hostile"], source=evil, target=evil, model=evil, command=evil)
    return found


@pytest.mark.parametrize("name", ["report", "evaluation", "hostile"])
@pytest.mark.parametrize("way", [{}, {"dark": True}, PHONE, {"paper": True}], ids=["wide", "dark", "phone", "paper"])
def test_pages_open_without_requests_or_complaints(browser, pages, name, way):
    browser.open(pages[name], **way)
    assert browser.complaints == []
    assert [address for address in browser.requests if not address.startswith("data:")] == [pages[name].as_uri()]
    assert "harmed" not in browser.ask("document.title").replace("document.title = 'harmed'", "")
    assert browser.ask("[...document.images].every((image) => image.complete && image.naturalWidth > 0)")
    assert browser.ask("document.documentElement.scrollWidth") <= way.get("width", 1280)


def column(browser, heading):
    """What the table of models is sorted by, in the column of a heading."""
    cells = (
        f"[...document.querySelector('.sorts').tBodies[0].rows].map((row) => row.cells[{header(heading)}.cellIndex])"
    )
    return browser.ask(f"{cells}.map((cell) => cell.dataset.value)")


def header(heading):
    return f"[...document.querySelectorAll('.sorts th')].find((th) => th.textContent === '{heading}')"


def test_models_are_sorted_by_mouse(browser, pages):
    browser.open(pages["report"])
    # Models that are equal but for rounding stand in any order.
    losses = [float(f"{float(value):.9e}") for value in column(browser, "log loss")]
    assert losses == sorted(losses)
    for way, turned in (("ascending", False), ("descending", True)):
        browser.ask(f"{header('parameters')}.querySelector('button').click()")
        assert browser.ask(f"{header('parameters')}.ariaSort") == way
        values = column(browser, "parameters")
        numbers = [float(value) for value in values if value]
        assert numbers == sorted(numbers, reverse=turned)
        assert values[len(numbers) :] == [""] * (len(values) - len(numbers))  # those without one come last
    assert browser.ask("document.querySelectorAll('.sorts th[aria-sort]').length") == 1
    browser.ask(f"{header('model')}.querySelector('button').click()")
    names = column(browser, "model")
    assert names == sorted(names, key=str.casefold)


def test_models_are_sorted_by_keys(browser, pages):
    browser.open(pages["report"])
    browser.ask(f"{header('log loss')}.querySelector('button').focus()")
    browser.press("Enter", 13, "\r")
    assert browser.ask(f"{header('log loss')}.ariaSort") == "descending"
    losses = [float(value) for value in column(browser, "log loss")]
    assert losses == sorted(losses, reverse=True)


def test_the_pointer_is_told_which_row_it_is_on(browser, pages):
    browser.open(pages["report"])
    frame = "document.querySelectorAll('[data-points]')[1]"
    place = browser.ask(
        f"(() => {{ const frame = {frame}; frame.scrollIntoView(); const box = frame.querySelector('img')"
        ".getBoundingClientRect(); const [x, y, text] = JSON.parse(frame.dataset.points)[0];"
        "return [box.left + x * box.width, box.top + y * box.height, text]; })()"
    )
    browser.ask("new Promise((done) => setTimeout(done, 200))")  # scrolling has an end
    browser("Input.dispatchMouseEvent", type="mouseMoved", x=place[0], y=place[1])
    assert browser.ask("document.querySelector('.tip').hidden") is False
    assert browser.ask("document.querySelector('.tip').textContent").startswith("row ")
    browser("Input.dispatchMouseEvent", type="mouseMoved", x=2, y=2)
    assert browser.ask("document.querySelector('.tip').hidden") is True


def test_pictures_are_zoomed(browser, pages):
    browser.open(pages["report"])
    width = "document.querySelector('.frame img').getBoundingClientRect().width"
    before, frame = browser.ask(width), browser.ask("document.querySelector('.frame').clientHeight")
    for text, factor in (("Zoom in", 1.5), ("Zoom out", 1.0), ("Zoom out", 1.0)):
        browser.ask(f"[...document.querySelectorAll('.zoom button')].find((b) => b.textContent === '{text}').click()")
        assert browser.ask(width) == pytest.approx(factor * before, rel=0.02)
        assert browser.ask("document.querySelector('.frame').clientHeight") == pytest.approx(frame, abs=20)


def test_paper_has_what_is_folded_on_a_screen(browser, pages, tmp_path):
    browser.open(pages["report"])
    assert browser.ask("document.querySelector('details').open") is False
    browser.print(tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")
    assert browser.ask("[...document.querySelectorAll('details')].every((folded) => folded.open)")
