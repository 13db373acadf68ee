"""Every model through every outlet: it answers, or docs/outlets.md says why not.

The table of that page, and the notes below it, are written from MODELS, OUTLETS and REASONS:

    CLASSWISE_WRITE_OUTLETS=1 pytest tests/test_outlets.py

asks every model through every outlet, and puts what happened into the page; a refusal needs its reason in REASONS.
Without that, the page is compared with them, and each cell is asked by a test of its own.
"""

import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import onnxruntime
import pandas as pd
import pyarrow as pa
import pytest

import classwise as cw
from check_outlets import DOORS, KINDS, OPENED, TABLES, allowed, read_found, worst, wrong
from check_outlets import answers as cells
from check_outlets import engine as check_engine
from classwise.export.check_rows import CheckRows
from serving import Client
from sql_engines import ENGINES, Engine
from standalone import node_answers, python_scorer

DOCS = Path(__file__).parents[1] / "docs" / "outlets.md"


def a_table() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    codes = np.arange(120) % 2
    numbers = rng.normal(1.2 * codes[:, None], 1.0, (120, 2))
    colors = np.where(rng.random(120) < 0.3 + 0.4 * codes, "red", "blue")
    numbers += 5  # above 0, as a bag of counts has to be
    return pd.DataFrame({"x": numbers[:, 0], "z": numbers[:, 1], "color": colors}), np.array(["no", "yes"])[codes]


X, Y = a_table()
PRIORS = {"no": 0.3, "yes": 0.7}

MODELS = {
    "QDA": cw.QDA(),
    "LDA": cw.LDA(),
    "RDA": cw.RDA(folds=3),
    "NearestMean": cw.NearestMean(),
    'GaussianClassifier, estimate="bayes"': cw.GaussianClassifier(estimate="bayes"),
    'GaussianClassifier, structure="VEI"': cw.GaussianClassifier(structure="VEI"),
    'GaussianClassifier, structure="VEV"': cw.GaussianClassifier(structure="VEV"),
    'GaussianClassifier, structure="bic"': cw.GaussianClassifier(structure="bic"),
    "NaiveBayes": cw.NaiveBayes(),
    'NaiveBayes, families="multinomial"': cw.NaiveBayes(families="multinomial"),
    'NaiveBayes, families="complement"': cw.NaiveBayes(families="complement"),
    'NaiveBayes, families="kernel"': cw.NaiveBayes(families="kernel"),
    "AODE": cw.AODE(),
    "MixtureClassifier": cw.MixtureClassifier(components=2),
    'MixtureClassifier, covariance="VEV"': cw.MixtureClassifier(components=2, covariance="VEV"),
    "ShrunkenCentroids": cw.ShrunkenCentroids(folds=3),
    "HDDA": cw.HDDA(),
    "RobustClassifier": cw.RobustClassifier(),
    'RobustClassifier, method="mcd"': cw.RobustClassifier(method="mcd", share=1),
    "BayesianLogistic": cw.BayesianLogistic(),
    'BayesianLogistic, predictive="plugin"': cw.BayesianLogistic(predictive="plugin"),
    "ForestClassifier": cw.ForestClassifier(trees=20),
    "AutoClassifier": cw.AutoClassifier(folds=2),
    'AutoClassifier, members="sql"': cw.AutoClassifier(members="sql", folds=2),
    "Decision": cw.Decision(cw.QDA(missing="error"), costs={"no": {"yes": 5}}),
    "Decision, novelty": cw.Decision(cw.QDA(), novelty=0.05),
}


@cache
def fitted(name: str) -> Any:
    return MODELS[name].fit(X, Y)


# Each asks a model, and says itself whether the answer is right.


def predict(m: Any, folder: Path) -> None:
    posterior = m.predict_proba(X)
    assert posterior.shape == (120, 2)
    np.testing.assert_allclose(posterior.sum(axis=1), 1)
    assert set(m.predict(X)) <= {"no", "yes", "novel"}


def explain(m: Any, folder: Path) -> None:
    reason = m.explain(X.iloc[[3]])
    parts = reason.prior + reason.volume + sum(reason.shares.values())
    assert parts == pytest.approx(reason.log_odds, abs=1e-9)
    assert list(reason.shares) == list(X)


def evaluate(m: Any, folder: Path) -> None:
    own = np.log(m.predict_proba(X)[np.arange(120), (Y == "yes").astype(int)])
    assert m.evaluate(X, Y).log_loss == pytest.approx(-own.mean(), rel=1e-9)


def with_priors(m: Any, folder: Path) -> None:
    before, after = m.predict_proba(X), m.with_priors(PRIORS).predict_proba(X)
    tilted = before * np.array([0.3, 0.7]) / 0.5
    np.testing.assert_allclose(after, tilted / tilted.sum(axis=1, keepdims=True), atol=0.02)


def sample(m: Any, folder: Path) -> None:
    rows, labels = m.sample(7, random_state=0)
    assert list(rows) == list(X)
    assert len(rows) == len(labels) == 7


def log_density(m: Any, folder: Path) -> None:
    assert np.isfinite(m.log_density(X)).all()


def leave_one_out(m: Any, folder: Path) -> None:
    assert m.leave_one_out(X, Y).shape == (120, 2)


def prediction_sets(m: Any, folder: Path) -> None:
    sets = m.prediction_sets(X, coverage=0.8)
    assert sets.shape == (120, 2)
    assert sets[np.arange(120), (Y == "yes").astype(int)].mean() > 0.7


def select_columns(m: Any, folder: Path) -> None:
    found = cw.select_columns(m, X, Y, folds=3, most=2)
    assert found.best.score(X[found.columns], Y) > 0.6


def save(m: Any, folder: Path) -> None:
    cw.save(m, folder / "m.cw")
    np.testing.assert_array_equal(cw.load(folder / "m.cw").predict_proba(X), m.predict_proba(X))


def files(m: Any, folder: Path) -> None:
    X.to_csv(folder / "rows.csv", index=False)
    cw.predict(m, folder / "rows.csv", folder / "out.csv", keys=[], proba=True)
    found = pd.read_csv(folder / "out.csv")
    np.testing.assert_allclose(found[["posterior_no", "posterior_yes"]], m.predict_proba(X), atol=1e-9)


def serve(m: Any, folder: Path) -> None:
    answer = Client(m).post("/predict", {"columns": X.to_dict("list")})
    assert answer.status_code == 200, answer.text
    assert answer.json()["label"] == m.predict(X).tolist()


@cache
def engine(name: str) -> Engine:
    """A database that holds the rows; it is closed after the last test."""
    started = ENGINES[name]()
    STARTED.append(started)
    opened = started.__enter__()
    types = dict.fromkeys(X, "number") | {"color": "text"}
    columns = {name: (kind, X[name].tolist()) for name, kind in types.items()}
    opened.put("rows", {"id": ("whole", list(range(len(X)))), **columns})
    return opened


STARTED: list[Any] = []


@pytest.fixture(scope="module", autouse=True)
def closed_afterwards() -> Iterator[None]:
    yield
    while STARTED:
        STARTED.pop().__exit__(None, None, None)
    engine.cache_clear()


def sql(name: str) -> Callable[[Any, Path], None]:
    def ask(m: Any, folder: Path) -> None:
        queries = [cw.to_sql(m, "rows", name, ["id"], output) for output in ("label", "posteriors")]
        labels, posteriors = (sorted(engine(name).ask(query)[1]) for query in queries)
        assert [label for _, label in labels] == m.predict(X).tolist()
        np.testing.assert_allclose([row[1:] for row in posteriors], m.predict_proba(X), atol=1e-9)

    return ask


def onnx(m: Any, folder: Path) -> None:
    session = onnxruntime.InferenceSession(cw.to_onnx(m).SerializeToString())
    columns = {name: X[[name]].to_numpy(object if name == "color" else float) for name in X}
    assert session.run(None, columns)[0].tolist() == m.predict(X).tolist()


def python(m: Any, folder: Path) -> None:
    scorer = python_scorer(m)
    np.testing.assert_allclose(scorer.predict_proba(X), m.predict_proba(X), atol=1e-9)
    assert scorer.predict(X) == m.predict(X).tolist()


def javascript(m: Any, folder: Path) -> None:
    (answer,) = node_answers(folder, [(m, X.to_dict("records"))])
    np.testing.assert_allclose(answer["posteriors"], m.predict_proba(X), atol=1e-9)
    assert answer["labels"] == m.predict(X).tolist()


def regions(m: Any, folder: Path) -> None:
    cw.plot.plot_regions(m, X, Y, columns=["x", "z"]).figure.savefig(folder / "regions.png")
    plt.close("all")


def densities(m: Any, folder: Path) -> None:
    cw.plot.plot_densities(m, columns="x").figure.savefig(folder / "densities.png")
    plt.close("all")


OUTLETS: dict[str, Callable[[Any, Path], None]] = {
    "predict": predict,
    "explain": explain,
    "evaluate": evaluate,
    "with_priors": with_priors,
    "sample": sample,
    "log_density": log_density,
    "leave_one_out": leave_one_out,
    "prediction_sets": prediction_sets,
    "select_columns": select_columns,
    "save": save,
    "files": files,
    "serve": serve,
    "DuckDB": sql("duckdb"),
    "SQLite": sql("sqlite"),
    "PostgreSQL": sql("postgres"),
    "ONNX": onnx,
    "Python": python,
    "JavaScript": javascript,
    "regions": regions,
    "densities": densities,
}


# Why a model does not answer; one sentence or two for each reason, as the page has them.
MIXTURE = "A mixture cannot leave out a row without running EM again."
ROBUST = "A robust fit goes through all rows many times, and so cannot leave out a row or a column without a new fit."
LABELS = "Logistic regression models the label given the row, not the row itself: it has no density and cannot sample."
STACK = "Some members of a stack do not model the rows, so it has no density. It samples rows from the other members."
WRAPPED = "A Decision wraps a model. Call the model itself: `decision.model_.sample(10)`."
LEARNED = (
    'The threshold of novelty was learned under the priors of the fit. With `law="chi-square"` there is none to learn, '
    "and `with_priors` answers."
)
TREES = "Trees separate the classes, but have no density of the rows."
CHOSEN = (
    'Options were chosen on all rows, by `"cv"`: a model without a row, or of some of the columns, would choose them '
    "again. Give them as numbers."
)
COMPLEMENT = (
    "Complement scores compare classes, and are no density of the rows: there is nothing to sample, and no range to "
    "draw pictures in."
)
KERNEL = (
    "A kernel density is a sum over up to 512 bins for each value and class, which only classwise computes. Where you "
    'need an export, give the column another family, such as `"gaussian"` or `"lognormal"`.'
)
REFITTED = "Models without a row, or of some of the columns, do not follow from the same sums: each would be a new fit."


def of(models: list[str], outlets: str, reason: str) -> dict[tuple[str, str], str]:
    return {(model, outlet): reason for model in models for outlet in outlets.split()}


LOGISTIC = [name for name in MODELS if name.startswith("BayesianLogistic")]
STACKS = [name for name in MODELS if name.startswith("AutoClassifier")]
DECISIONS = [name for name in MODELS if name.startswith("Decision")]
MIXTURES = [name for name in MODELS if name.startswith("MixtureClassifier")]
ROBUSTS = [name for name in MODELS if name.startswith("RobustClassifier")]
REASONS = {
    **of(MIXTURES, "leave_one_out prediction_sets select_columns", MIXTURE),
    **of(ROBUSTS, "leave_one_out prediction_sets select_columns", ROBUST),
    **of(["RDA", "ShrunkenCentroids"], "prediction_sets select_columns", CHOSEN),
    **of(['NaiveBayes, families="complement"'], "sample log_density regions densities", COMPLEMENT),
    **of(['NaiveBayes, families="kernel"'], "DuckDB SQLite PostgreSQL ONNX Python JavaScript", KERNEL),
    **of(["AODE", *LOGISTIC, "ForestClassifier", *STACKS], "prediction_sets select_columns", REFITTED),
    **of(DECISIONS, "select_columns", WRAPPED),
    **of(LOGISTIC, "sample log_density leave_one_out densities", LABELS),
    **of(["ForestClassifier"], "sample log_density densities", TREES),
    **of(STACKS, "log_density leave_one_out densities", STACK),
    **of(DECISIONS, "sample log_density leave_one_out", WRAPPED),
    **of(["Decision, novelty"], "with_priors", LEARNED),
}
CELLS = [(model, outlet) for model in MODELS for outlet in OUTLETS]

# The outlets that take a model elsewhere.
ELSEWHERE = ("save", "files", "serve", "DuckDB", "SQLite", "PostgreSQL", "ONNX", "Python", "JavaScript")


# The page -------------------------------------------------------------------------------------------------------------

START, END = "<!-- written by tests/test_outlets.py -->", "<!-- until here -->"
START_TABLES, END_TABLES = "<!-- written from tests/data/outlets.json -->", "<!-- to here -->"


def written(reasons: dict[tuple[str, str], str]) -> str:
    """The table, and the notes that it refers to, in the order of the table."""
    notes = list(dict.fromkeys(reasons[cell] for cell in CELLS if cell in reasons))
    letters = {note: f"({chr(ord('a') + i)})" for i, note in enumerate(notes)}
    lines = [["model", *OUTLETS], ["---"] * (len(OUTLETS) + 1)]
    lines += [[m, *(letters[reasons[m, o]] if (m, o) in reasons else "yes" for o in OUTLETS)] for m in MODELS]
    table = [f"| {' | '.join(line)} |" for line in lines]
    doors = [cell for cell in CELLS if cell[1] in ELSEWHERE]
    share = (
        f"{len(reasons)} of {len(CELLS)} combinations are refused, and {len(set(doors) & set(reasons))} of the "
        f"{len(doors)} that save, serve or export a model. The reasons:"
    )
    return "\n".join([*table, "", share, "", *(f"- {letter} {note}" for note, letter in letters.items())])


def written_tables(found: dict[str, Any]) -> str:
    """What check_outlets found of real tables: the largest difference of each kind and door, and what has no answer."""
    largest = worst(found)
    lines = [["model", *DOORS], ["---"] * (len(DOORS) + 1)]
    lines += [[kind, *(f"{largest[kind, door]:.0e}" for door in DOORS)] for kind in KINDS]
    counts = {fact: sum(of["facts"][fact] for of in found.values()) for fact in ("rows", "gaps", "unseen")}
    head = (
        f"{len(found)} tables, {counts['rows']:,} rows scored by each model: {counts['gaps']:,} of them lack values, "
        f"and {counts['unseen']} have a level that was not among the rows of the fit."
    )
    told = [f"- {line}" for line in (*_refused(found), *_unanswered(found))]
    return "\n".join([head, "", *(f"| {' | '.join(line)} |" for line in lines), "", *told])


def _refused(found: dict[str, Any]) -> Iterator[str]:
    """What is refused, by its reason."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for name, kind, door, of in cells(found):
        if isinstance(of, str):
            reasons.setdefault((kind, "fit" if door == "fit" else of.split(";")[0]), []).append(f"{name} ({door})")
    for (kind, why), where in reasons.items():
        tables = ", ".join(dict.fromkeys(of.split(" (")[0] for of in where))
        yield f"{kind}: cannot be fitted to {tables}." if why == "fit" else f"{kind}, SQL of {tables}: {why}."


def _unanswered(found: dict[str, Any]) -> Iterator[str]:
    """Rows without an answer, by kind and door."""
    rows: dict[tuple[str, int], list[str]] = {}
    for kind in KINDS:
        for door in DOORS:
            own = [of[2] for _, k, d, of in cells(found) if (k, d) == (kind, door) and not isinstance(of, str)]
            if sum(own):
                rows.setdefault((kind, sum(own)), []).append(door)
    for (kind, count), doors in rows.items():
        yield f"{kind}: {count} rows with many gaps have no answer in {', '.join(doors)}, and say so."


def parts() -> list[str]:
    """The page: what is before the table, the table with its notes, what follows, the real tables, and the rest."""
    before, _, rest = DOCS.read_text(encoding="utf-8").partition(START)
    table, _, rest = rest.partition(END)
    between, _, rest = rest.partition(START_TABLES)
    tables, _, after = rest.partition(END_TABLES)
    return [before, table, between, tables, after]


def answers(model: str, outlet: str, folder: Path) -> bool:
    """Whether a model answers, and rightly; a wrong answer is an error."""
    try:
        OUTLETS[outlet](fitted(model), folder)
    except (cw.ClasswiseError, AttributeError):
        return False
    return True


WRITES = bool(os.environ.get("CLASSWISE_WRITE_OUTLETS"))


@pytest.mark.skipif(not WRITES, reason="CLASSWISE_WRITE_OUTLETS is not set")
def test_writing_the_page(tmp_path_factory: pytest.TempPathFactory) -> None:
    refused = [cell for cell in CELLS if not answers(*cell, tmp_path_factory.mktemp("cell"))]
    before, _, between, _, after = parts()
    table, tables = written({cell: REASONS[cell] for cell in refused}), written_tables(read_found())
    marked = f"{START}\n\n{table}\n\n{END}{between}{START_TABLES}\n\n{tables}\n\n{END_TABLES}"
    DOCS.write_text(f"{before}{marked}{after}", encoding="utf-8")


def test_the_page_has_these_tables() -> None:
    _, table, _, tables, _ = parts()
    how = "write it: CLASSWISE_WRITE_OUTLETS=1 pytest tests/test_outlets.py"
    assert table.strip() == written(REASONS), how
    assert tables.strip() == written_tables(read_found()), how


def test_real_tables_agree_through_every_door() -> None:
    found = read_found()
    assert sorted(found) == sorted(TABLES)
    assert wrong(found) == []


def test_few_doors_are_closed() -> None:
    assert set(REASONS) <= set(CELLS)
    doors = ["files", "serve", "DuckDB", "SQLite", "PostgreSQL", "ONNX", "Python", "JavaScript"]
    assert sum(outlet in doors for _, outlet in REASONS) < len(MODELS) * len(doors) / 10


def grouped(model: str, outlet: str) -> Any:
    """With several processes, one of them starts PostgreSQL."""
    return pytest.param(model, outlet, marks=[pytest.mark.xdist_group("sql")] * (outlet == "PostgreSQL"))


@pytest.mark.parametrize(("model", "outlet"), [grouped(*cell) for cell in CELLS], ids=lambda name: name)
def test_it_answers_or_the_table_says_why_not(model: str, outlet: str, tmp_path: Path) -> None:
    if (model, outlet) not in REASONS:
        OUTLETS[outlet](fitted(model), tmp_path)
    else:
        assert not answers(model, outlet, tmp_path)


# Names and levels that end a literal, an identifier or a comment somewhere -------------------------------------------

HOSTILE = [
    "n" * 200,
    "line\nbreak",
    'a "quoted" -- name',
    "/* */; DROP TABLE checked; --",
    "größe 日本 🐧",
    "select",
    "it's",
]


def a_hostile_table() -> tuple[pa.Table, np.ndarray]:
    """Four columns of numbers and three of text, named so; all names are levels, too."""
    rng, codes = np.random.default_rng(0), np.arange(160) % 2
    numbers = {name: pa.array(rng.normal(0.8 * codes, 1)) for name in HOSTILE[:4]}
    drawn = {name: (2 * codes + rng.integers(0, 5, 160)) % len(HOSTILE) for name in HOSTILE[4:]}
    texts = {name: pa.array([HOSTILE[level] for level in levels]) for name, levels in drawn.items()}
    return pa.table(numbers | texts), np.array(["it's; --", 'so "so"\n'])[codes]


@pytest.fixture(scope="module")
def hostile() -> Iterator[list[tuple[Any, CheckRows]]]:
    rows, labels = a_hostile_table()
    makers = [cw.LDA(), cw.NaiveBayes(), cw.ForestClassifier(trees=5), cw.AutoClassifier(members="sql", folds=2)]
    models = [maker.fit(rows, labels) for maker in makers]
    yield [(model, CheckRows(rows, "rows", model._table(rows))) for model in models]
    OPENED.close()
    check_engine.cache_clear()


@pytest.mark.xdist_group("sql")
@pytest.mark.parametrize("door", DOORS)
def test_hostile_names_and_levels(door: str, hostile: list[tuple[Any, CheckRows]]) -> None:
    for model, rows in hostile:
        found = DOORS[door](model, rows)
        assert (found.labels, found.unanswered) == (0, 0)
        assert found.difference < allowed(door)
