"""The report: one file that needs nothing else, says what the comparison says, and takes rows for text."""

import base64
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from palmerpenguins import load_penguins

import classwise as cw
from classwise.report import ReportData, report_html
from classwise.report.sections import best_pair

PENGUINS = load_penguins().drop(columns="year")
X, y = PENGUINS.drop(columns="species"), PENGUINS["species"].to_numpy()


class Reader(HTMLParser):
    """Tags, their attributes, the text of cells; checks that tags are closed in order."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.open, self.text = [], [], []
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in ("meta", "source", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def comparison():
    return cw.compare(X, y, 4, references=False)


@pytest.fixture(scope="module")
def page(comparison):
    return report_html(ReportData(comparison, X, y, source="penguins.csv", target="species", seed=3, model="m.cw"))


def test_it_asks_no_other_computer_for_anything(page):
    reader = Reader(page)
    addresses = [value for _, found in reader.tags for key, value in found.items() if key in ("src", "srcset", "href")]
    assert addresses
    assert all(address.startswith("data:image/svg+xml;base64,") for address in addresses)
    assert not {"script", "link", "iframe", "object"} & {tag for tag, _ in reader.tags}
    assert "url(" not in page
    assert "@import" not in page
    assert any(found.get("content", "").startswith("default-src 'none'") for tag, found in reader.tags if tag == "meta")


def test_pictures_are_whole_and_come_for_light_and_dark(page):
    light = re.findall(r"<img src='data:image/svg\+xml;base64,([^']+)'", page)
    dark = re.findall(r"prefers-color-scheme: dark\)' srcset='data:image/svg\+xml;base64,([^']+)'", page)
    assert len(light) == len(dark) == 5  # ranking, reliability, confusion, projection, boundaries
    for one, other in zip(light, dark, strict=True):
        drawn, darker = (base64.b64decode(picture).decode() for picture in (one, other))
        assert drawn.rstrip().endswith("</svg>")
        assert "#161b22" in darker
        assert "#161b22" not in drawn
        assert "font-family" not in drawn  # letters are outlines
    assert all(found["alt"] for tag, found in Reader(page).tags if tag == "img")


def test_it_says_what_the_comparison_says(comparison, page):
    text = " ".join(Reader(page).text)
    for sentence in comparison.summary():
        assert sentence in text
    for trial in comparison.members:
        assert trial.name in text
    for sentence in cw.diagnose(X, y).advice.values():
        assert sentence in text
    best = re.search(r"<tr class='best'><td class='word'>([^<]*)</td><td class='word'>([^<]*)</td>", page)
    assert best.groups() == (comparison.winner.name, "best")
    ties = sum(comparison.ties(trial) for trial in comparison.members if trial is not comparison.winner)
    assert page.count("<tr class='tie'>") == ties > 0
    for words in ("classwise predict m.cw", cw.__version__, "344 rows of penguins.csv", "flipper_length_mm", "0.581 %"):
        assert words in text
    assert re.search(r"<dt>folds</dt><dd>4</dd><dt>seed</dt><dd>3</dd>", page)
    headings = re.findall(r"<h2>([^<]*)</h2>", page)
    assert headings == [
        "The data",
        "Which model to trust",
        "How sure it is",
        "Where it errs",
        "How it separates",
        "What the data say",
        "How to use the winner",
        "Where this comes from",
    ]


def test_mistakes_are_those_of_the_confusion(comparison, page):
    confusion = ReportData(comparison, X, y).evaluation.confusion
    wrong = confusion - np.diag(np.diag(confusion))
    cells = re.findall(r"<td class='word'>(\w+)</td><td class='word'>(\w+)</td><td>(\d+)</td><td>[0-9.]+%", page)
    labels = comparison.labels.tolist()
    assert {(a, b): int(n) for a, b, n in cells} == {
        (labels[i], labels[j]): int(n) for (i, j), n in np.ndenumerate(wrong) if n
    }


def test_rows_are_text_whatever_they_hold():
    evil = "<script>alert(1)</script>"
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, 2)), columns=[f"{evil}'\" onerror=x", "$\\frac{1}{"])
    table["level"] = np.where(rng.random(60) < 0.5, "</td><img src=x>", "& more")
    labels = np.repeat([f"'a' {evil}", "b</section>"], 30)
    table[table.columns[0]] += np.repeat([0, 2], 30)
    comparison = cw.compare(table, labels, 3, references=False)
    page = report_html(
        ReportData(comparison, table, labels, source=f"{evil}.csv", target=f"{evil}; rm -rf ~", model=evil)
    )
    tags = {tag for tag, _ in Reader(page).tags}
    assert "script" not in tags
    assert "onerror" not in {key for _, found in Reader(page).tags for key in found}
    assert all(found["src"].startswith("data:") for tag, found in Reader(page).tags if tag == "img")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "--target &#x27;&lt;script&gt;alert(1)" in page or "classwise predict &#x27;&lt;script&gt;" in page


class TestOtherRows:
    def test_two_classes_and_many_rows(self, tmp_path):
        rng = np.random.default_rng(1)
        labels = np.arange(3000) % 2
        rows = rng.normal(size=(3000, 3)) + labels[:, None]
        cw.write_report(cw.compare(rows, labels, 3, references=False), rows, labels, tmp_path / "r.html")
        page = (tmp_path / "r.html").read_text()
        assert "1000 of 3000 rows are shown." in page
        assert "Which classifier for these rows?" in page
        assert len(page) < 3_000_000

    def test_many_classes_are_told_by_their_mistakes(self):
        rows, labels = cw.datasets.simplex(600, classes=20, random_state=0)
        page = report_html(ReportData(cw.compare(rows, labels, 3, references=False), rows, labels))
        assert "Confusion on rows held out" not in page
        assert page.count("<td class='word'>") > 20

    def test_categories_alone(self):
        table = X[["island", "sex"]]
        page = report_html(ReportData(cw.compare(table, y, 3, references=False), table, y))
        assert "Fisher" not in page
        assert "alone, the two columns that tell most" in page

    def test_a_single_column(self):
        table = X[["body_mass_g"]].dropna()
        labels = y[X["body_mass_g"].notna()]
        page = report_html(ReportData(cw.compare(table, labels, 3, references=False), table, labels))
        assert "There are no two columns in which boundaries could be drawn." in page

    def test_polars_arrow_weights_and_missing_labels(self):
        import polars as pl
        import pyarrow as pa

        labels = np.where(np.arange(len(y)) % 50 == 0, None, y)
        weights = np.linspace(0.5, 2, len(y))
        pages = []
        for table in (pl.from_pandas(X), pa.Table.from_pandas(X, preserve_index=False)):
            with pytest.warns(cw.MissingLabelWarning):
                comparison = cw.compare(table, labels, 3, references=False, sample_weight=weights)
            pages.append(report_html(ReportData(comparison, table, labels, weights)))
        first, second = (re.findall(r"<img src='([^']+)'", page)[-1] for page in pages)
        assert first == second  # the boundaries, of the same rows

    def test_reports_are_replaced_when_they_are_complete(self, comparison, tmp_path, monkeypatch):
        path = tmp_path / "r.html"
        path.write_text("old")
        monkeypatch.setattr("classwise.report.report_html", lambda study: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            cw.write_report(comparison, X, y, path)
        assert [p.name for p in tmp_path.iterdir()] == ["r.html"]
        assert path.read_text() == "old"


def test_the_pair_of_columns_is_the_one_that_tells_most():
    rng = np.random.default_rng(0)
    labels = np.repeat(["a", "b", "c"], 100)
    rows = pd.DataFrame(rng.normal(size=(300, 5)), columns=list("vwxyz"))
    rows["w"] += np.repeat([0, 6, 0], 100)
    rows["y"] += np.repeat([0, 0, 6], 100)
    assert set(best_pair(cw.QDA().fit(rows, labels), rows, labels)) == {"w", "y"}
