"""The report: one file that needs nothing else, says what the comparison says, and takes rows for text."""

import base64
import hashlib
import html
import json
import re
from html.parser import HTMLParser
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from palmerpenguins import load_penguins

import classwise as cw
from classwise.classifier.evaluation import merged
from classwise.report import ReportData, report_html
from classwise.report.report_data import best_pair
from classwise.report.sections import three_rows

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
    addresses = [value for _, found in reader.tags for key, value in found.items() if key in ("src", "srcset")]
    assert addresses
    assert all(address.startswith("data:image/svg+xml;base64,") for address in addresses)
    links = [found["href"] for tag, found in reader.tags if tag == "a"]
    places = {found["id"] for _, found in reader.tags if "id" in found}
    assert {"#answer", "#word-log-loss"} < set(links) <= {f"#{place}" for place in places}
    assert not {"link", "iframe", "object", "base", "form"} & {tag for tag, _ in reader.tags}
    assert not re.search(r"url\(|@import|https?:", page)


def test_no_script_may_run_but_our_own(page):
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert len(scripts) == 1
    policy = next(
        found["content"] for tag, found in Reader(page).tags if found.get("http-equiv") == "Content-Security-Policy"
    )
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none'; img-src data:;")


def test_pictures_are_whole_and_come_for_light_and_dark(page):
    light = re.findall(r"<img src='data:image/svg\+xml;base64,([^']+)'", page)
    dark = re.findall(r"prefers-color-scheme: dark\)' srcset='data:image/svg\+xml;base64,([^']+)'", page)
    assert len(light) == len(dark) == 3  # reliability, boundaries, projection; all others are the page's own markup
    for one, other in zip(light, dark, strict=True):
        drawn, darker = (base64.b64decode(picture).decode() for picture in (one, other))
        assert drawn.rstrip().endswith("</svg>")
        assert "#161b22" in darker
        assert "#161b22" not in drawn
        assert "font-family" not in drawn  # letters are outlines
    assert all(found["alt"] for tag, found in Reader(page).tags if tag == "img")


def test_it_says_what_the_comparison_says(comparison, page):
    text = " ".join(Reader(page).text)
    for trial in comparison.members:
        assert trial.name in text
    for sentence in cw.diagnose(X, y, held_out=comparison.evaluations).sentences():
        assert words_of(sentence) in words_of(text)
    for words in ("classwise predict m.cw", cw.__version__, "344 rows of penguins.csv", "flipper_length_mm", "0.581 %"):
        assert words in text
    assert re.search(r"<dt>folds</dt><dd>4</dd><dt>seed</dt><dd>3</dd>", page)
    evaluation = merged(comparison.winner.final)
    assert f"{100 * evaluation.accuracy:.1f}\N{NO-BREAK SPACE}% right" in text
    assert f"log loss {evaluation.log_loss:.3g}" in page


def test_an_interval_is_the_same_in_the_sentence_and_below_it():
    """Also where folds differ by more than chance: groups of rows that are alike."""
    generator = np.random.default_rng(0)
    groups = np.repeat(np.arange(12), 25)
    rows = pd.DataFrame({"a": generator.normal(size=12)[groups] + generator.normal(size=300) / 4})
    labels = np.where(generator.normal(size=12)[groups] + rows["a"] > 0, "p", "q")
    grouped = cw.compare(rows, labels, 4, groups=groups, only=["lda"])
    low, high = (round(100 * bound) for bound in grouped.winner.accuracy_interval)
    wilson = merged(grouped.winner.final).accuracy_interval
    assert high - low > 120 * (wilson.high - wilson.low)
    found = words_of(" ".join(Reader(report_html(ReportData(grouped, rows, labels))).text))
    bounds = re.findall(r"95%interval([\d.]+)%?to([\d.]+)", found)
    assert [(round(float(one)), round(float(other))) for one, other in bounds[:2]] == [(low, high)] * 2


def test_sections_come_in_order_and_are_listed_above(page):
    headings = re.findall(r"<h2>([^<]*)</h2>", page)
    assert headings == [
        "Which model to trust",
        "Your table",
        *(["What matters"] if find_spec("classwise.estimators.held_out") else []),
        "All models compared",
        headings[headings.index("All models compared") + 1],
        "Where it errs",
        "How sure it is",
        "Sets that hold the true class",
        "How it separates the classes",
        "What the data say",
        "How to use it",
        "Words used here",
        "How this report was made",
    ]
    assert re.search(r"(Three|Some) rows explained", page)
    assert re.findall(r"<li><a href='#[a-z]+'>([^<]*)</a></li>", page) == headings


def words_of(text):
    """Without spaces, which links put between words."""
    return re.sub(r"\s", "", text)


def test_all_models_are_in_a_table_with_their_log_loss_drawn(comparison, page):
    ranking = re.search(r"<table class='sorts'>(.*?)</table>", page, re.DOTALL)[1]
    assert ranking.count("<th ") == ranking.count("<button type='button'>")
    assert ranking.count("aria-sort='ascending'") == 1
    rows = re.findall(r"<tr class='(\w+)'><td class='word' data-value='([^']*)'>(.*?)</tr>", ranking)
    fitted = [trial for trial in comparison.trials if not trial.reason]
    assert [name for _, name, _ in rows] == [trial.name for trial in fitted]
    for (kind, _, cells), trial in zip(rows, fitted, strict=True):
        assert (kind == "best") == (trial is comparison.winner)
        loss = trial.estimate("log_loss")
        assert f"data-value='{loss.value}'" in cells
        assert f"aria-label='log loss {loss.value:.3g}, 95 % interval" in cells
    ties = sum(comparison.ties(trial) for trial in comparison.members if trial is not comparison.winner)
    assert [kind for kind, _, _ in rows].count("tie") == ties > 0


def test_points_in_pictures_say_which_row_they_are(comparison, page):
    found = [json.loads(html.unescape(text)) for text in re.findall(r"data-points='([^']*)'", page)]
    bins, regions, projected = found
    assert all(0 < across < 1 and 0 < down < 1 for points in found for across, down, _ in points)
    assert bins[0][2].startswith("predicted ")
    rows = {int(re.match(r"row (\d+): ", text)[1]) for _, _, text in projected}
    assert len(rows) == len(projected) > 300
    for _, _, text in regions:
        number, label = re.match(r"row (\d+): (\w+)\n", text).groups()
        assert y[int(number) - 1] == label


def test_three_rows_are_sure_unsure_and_wrong():
    rng = np.random.default_rng(5)
    labels = np.repeat([False, True], 150)
    rows = rng.normal(size=(300, 2)) + labels[:, None]
    study = ReportData(cw.compare(rows, labels, 3, references=False), rows, labels)
    chosen, sure = three_rows(study), study.posteriors.max(axis=1)
    right = study.best.predict(rows) == labels
    assert list(chosen) == ["sure", "unsure", "wrong"]
    assert len(set(chosen.values())) == 3
    assert sure[chosen["sure"]] == sure[right].max()
    assert sure[chosen["unsure"]] == sure.min()
    assert sure[chosen["wrong"]] == sure[~right].max()
    page = report_html(study)
    for kind, i in chosen.items():
        told = re.search(rf"<h3>{kind.title()}[^<]*: row {i + 1}</h3><p>(.*?)</p>", page)[1]
        assert f"The model says {study.best.predict(rows[[i]])[0]} with" in told
        assert ("which is right" in told) == (kind != "wrong" and right[i])
    explanation = study.best.explain(rows[[chosen["wrong"]]])
    for name, share in explanation.shares.items():
        assert f"column {name} = {explanation.values[name]:.4g}</td>" in page
        assert f"<td>{share:+.2f}</td>" in page


def test_mistakes_are_those_of_the_confusion(comparison, page):
    confusion = ReportData(comparison, X, y).evaluation.confusion
    wrong = confusion - np.diag(np.diag(confusion))
    cells = re.findall(r"<td class='word'>(\w+)</td><td class='word'>(\w+)</td><td>(\d+)</td><td>[0-9.]+\xa0%", page)
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
    assert page.count("<script") == 1
    assert "alert" not in re.search(r"<script>(.*?)</script>", page, re.DOTALL)[1]
    assert "onerror" not in {key for _, found in Reader(page).tags for key in found}
    assert all(found["src"].startswith("data:") for tag, found in Reader(page).tags if tag == "img")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "--target &#x27;&lt;script&gt;alert(1)" in page or "classwise predict &#x27;&lt;script&gt;" in page


class TestWhatIsGiven:
    def test_what_examine_found_stands_with_what_mends_it(self, comparison):
        remark = SimpleNamespace(
            message="<id> is an id.", flag="--drop '<id>'", argument="X.drop(...)", when="To drop it"
        )
        other = SimpleNamespace(message="There are few rows.", flag="", argument="")
        found = SimpleNamespace(findings=(remark, other))
        given = {"advice": ["Look twice."], "examination": found}
        page = report_html(ReportData(comparison, X, y, **given, command="classwise compare p.csv"))
        assert "<li>&lt;id&gt; is an id. To drop it: <code>--drop &#x27;&lt;id&gt;&#x27;</code></li>" in page
        assert "<li>There are few rows.</li>" in page
        assert "<li>Look twice.</li>" in page
        assert "<dt>command</dt><dd>classwise compare p.csv</dd>" in page
        assert "To drop it: <code>X.drop(...)</code>" in report_html(ReportData(comparison, X, y, **given))
        nothing = {"examination": SimpleNamespace(findings=()), "advice": []}
        page = report_html(ReportData(comparison, X, y, **nothing))
        assert "Nothing in it looks wrong." in page
        assert "What the data say" not in page

    def test_importance_is_drawn_and_says_which_columns_to_draw(self, comparison):
        names = ["sex", "island", *(f"n{i}" for i in range(20))]
        lines = [
            SimpleNamespace(name=name, increase=0.5 / (1 + i), standard_error=0.01) for i, name in enumerate(names)
        ]
        given = SimpleNamespace(lines=lines, sentences=lambda: ("How much worse.", "± is one standard error."))
        page = report_html(ReportData(comparison, X, y, importance=given, advice=[]))
        part = re.search(r"<section id='importance'>(.*?)</section>", page, re.DOTALL)[1]
        assert [
            part.index(text) for text in ("How much worse.", "sex</td>", "0.500</td>", "island</td>", "±")
        ] == sorted(part.index(text) for text in ("How much worse.", "sex</td>", "0.500</td>", "island</td>", "±"))
        assert "<summary>7 more columns</summary>" in part
        assert part.count("class='whisker'") == 22
        assert "decides from sex and island alone, the two columns that matter most" in page


class TestOtherRows:
    def test_two_classes_and_many_rows(self, tmp_path):
        rng = np.random.default_rng(1)
        labels = np.arange(3000) % 2
        rows = rng.normal(size=(3000, 3)) + labels[:, None]
        cw.write_report(cw.compare(rows, labels, 3, references=False), rows, labels, tmp_path / "r.html")
        page = (tmp_path / "r.html").read_text()
        assert "1,000 of 3,000 rows are shown, drawn by chance." in page
        assert "Which classifier for these rows?" in page
        assert len(page) < 3_000_000

    def test_many_classes_have_a_confusion_with_upright_names(self):
        rows, labels = cw.datasets.simplex(600, classes=20, random_state=0)
        study = ReportData(cw.compare(rows, labels, 3, references=False), rows, labels)
        heat = re.search(r"<table class='heat many'>(.*?)</table>", report_html(study), re.DOTALL)[1]
        counts = study.evaluation.confusion
        assert heat.count("class='name'") == 20
        assert heat.count("data-tip=") == (counts > 0).sum()
        assert heat.count("class='right") == (np.diag(counts) > 0).sum()

    def test_still_more_classes_are_told_by_their_mistakes(self, monkeypatch):
        monkeypatch.setattr("classwise.report.quality.MOST_CLASSES", 19)
        rows, labels = cw.datasets.simplex(600, classes=20, random_state=0)
        page = report_html(ReportData(cw.compare(rows, labels, 3, references=False), rows, labels))
        assert "class='heat" not in page
        assert "The most frequent mistakes, the first 10" in page

    def test_categories_alone(self):
        table = X[["island", "sex"]]
        page = report_html(ReportData(cw.compare(table, y, 3, references=False), table, y))
        assert "Fisher" not in page
        assert re.search(r"decides from (island|sex) and (island|sex) alone, the two columns that matter most", page)
        assert "Each tile has the probability" in page

    def test_labels_may_be_true_and_false(self):
        labels = (X["body_mass_g"] > 4200).to_numpy()
        table = X[["island", "bill_length_mm"]]
        page = report_html(ReportData(cw.compare(table, labels, 3, references=False), table, labels))
        assert "<th scope='row'>False</th>" in page
        assert "the two columns that matter most" in page

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


def test_the_two_columns_may_be_categories():
    """A category that decides is drawn beside a number, though there is another number."""
    rng = np.random.default_rng(0)
    labels = np.repeat(["died", "lived"], 200)
    rows = pd.DataFrame({"age": rng.normal(size=400), "fare": rng.normal(size=400) + 0.3 * (labels == "lived")})
    rows["sex"] = np.where((labels == "lived") ^ (rng.random(400) < 0.2), "female", "male")
    m = cw.NaiveBayes().fit(rows, labels)
    assert set(best_pair(m, rows, labels)) == {"sex", "fare"}
    assert best_pair(m, rows, labels, ["sex", "age", "fare"]) == ["sex", "age"]
    rows["sex"] = np.arange(400).astype(str)
    with pytest.warns(UserWarning, match="sex"):
        m = cw.NaiveBayes().fit(rows, labels)
    assert set(best_pair(m, rows, labels, ["sex", "age", "fare"])) == {"age", "fare"}


def test_the_pair_of_columns_is_the_one_of_least_log_loss():
    rng = np.random.default_rng(0)
    labels = np.repeat(["a", "b", "c"], 100)
    rows = pd.DataFrame(rng.normal(size=(300, 5)), columns=list("vwxyz"))
    rows["w"] += np.repeat([0, 6, 0], 100)
    rows["y"] += np.repeat([0, 0, 6], 100)
    assert set(best_pair(cw.QDA().fit(rows, labels), rows, labels)) == {"w", "y"}
