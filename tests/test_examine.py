"""The table doctor: a clean table, spoiled in one way at a time, gets the one right finding; its remedy fixes it."""

import csv
import json
import re
import shlex
from dataclasses import dataclass

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from typer.testing import CliRunner

import classwise as cw
from classwise import limits
from classwise.cli.program import app
from classwise.errors import ClasswiseError

N = 400


def clean():
    """Numbers, counts, text and yes/no that tell something about the label, and nothing wrong."""
    r = np.random.default_rng(5)
    y = r.integers(0, 2, N)
    return pd.DataFrame(
        {
            "length": (10 + y + r.normal(size=N)).round(3),
            "width": r.gamma(3.0, 2.0, N).round(3),
            "income": (1000 * r.lognormal(3, 0.4, N)).round().astype(int),
            "rooms": r.poisson(3 + y),
            "city": np.array(["Oslo", "Rome", "Bonn", "Lima"])[r.integers(0, 4, N)],
            "smoker": r.random(N) < 0.3 + 0.2 * y,
            "y": np.array(["no", "yes"])[y],
        }
    )


@dataclass(frozen=True)
class Spoiled:
    """columns: of the finding; flag: for the shell; fixes: whether the argument for Python fixes it, too; left:
    the kind of note that is left when it is fixed; number: how the schema of a model says it is used as a number.
    """

    spoil: object
    kind: str
    severity: str = "problem"
    columns: tuple = ()
    flag: str = ""
    fixes: bool = True
    left: str = ""
    number: str = ""


def put(**columns):
    """Columns added, or put in place of others; each a function of the table."""
    return lambda table: table.assign(**columns)


def first(name, values):
    def spoil(table):
        table.insert(0, name, values(table))
        return table

    return spoil


def some(values, share=0.05, seed=1):
    """Which rows are spoiled."""
    return np.random.default_rng(seed).random(len(values)) < share


def cells(column, bad, share=0.05):
    """A column as text, some cells of which are bad."""
    return lambda table: table.assign(**{column: table[column].astype(str).mask(some(table, share), bad)})


def written(pattern):
    return lambda table: table.assign(price=[pattern(v) for v in np.random.default_rng(6).gamma(3.0, 5000.0, N) + 1000])


def rare(count):
    """A third class of so many rows."""
    return lambda table: table.assign(y=np.where(np.arange(N) < count, "maybe", table["y"]))


def days(table):
    return pd.Timestamp("2024-01-01") + pd.to_timedelta(np.random.default_rng(2).integers(0, 900, N), "D")


SPOILED = {
    "the label in other words": Spoiled(
        put(alive=lambda t: t["y"].map({"no": "dead", "yes": "alive"})), "leak", "problem", ("alive",), "--drop alive"
    ),
    "several levels to a label": Spoiled(
        put(ward=lambda t: t["y"].str[0] + pd.Series(range(N)).mod(5).astype(str)),
        "leak", "problem", ("ward",), "--drop ward",
    ),
    "a number that only one class has": Spoiled(
        put(refund=lambda t: np.where(t["y"] == "yes", t["width"] + 50, t["width"])),
        "leak", "problem", ("refund",), "--drop refund",
    ),
    "missing exactly in one class": Spoiled(
        put(boat=lambda t: t["width"].sample(frac=1, random_state=0).to_numpy() + np.where(t["y"] == "no", np.nan, 0)),
        "leak", "problem", ("boat",), "--drop boat",
    ),
    "two columns together": Spoiled(
        put(
            debit=lambda t: np.random.default_rng(3).integers(0, 2, N),
            credit=lambda t: np.random.default_rng(3).integers(0, 2, N) ^ (t["y"] == "yes").astype(int),
        ),
        "leak", "problem", ("debit", "credit"), "--drop debit,credit",
    ),
    "a row number": Spoiled(put(Id=lambda t: range(1, N + 1)), "id", "problem", ("Id",), "--drop Id"),
    "row numbers shuffled": Spoiled(
        put(nr=lambda t: np.random.default_rng(1).permutation(N) * 10), "id", "problem", ("nr",), "--drop nr"
    ),
    "numbers that begin anew": Spoiled(
        put(**{"sample nr": lambda t: np.arange(N) % 90}), "id", "problem", ("sample nr",), "--drop 'sample nr'"
    ),
    "names": Spoiled(
        put(**{"full name": lambda t: [f"Person {i * 7919 % 100_000}" for i in range(N)]}),
        "id", "note", ("full name",), "--drop 'full name'",
    ),
    "an index without a name": Spoiled(
        first("Unnamed: 0", lambda t: range(N)), "index", "problem", ("Unnamed: 0",), "--drop 'Unnamed: 0'"
    ),
    "a constant": Spoiled(put(planet=lambda t: "Earth"), "constant", "note", ("planet",)),
    "a constant number": Spoiled(put(planets=lambda t: 8), "constant", "note", ("planets",)),
    "nothing": Spoiled(put(comment=lambda t: np.nan), "constant", "note", ("comment",)),
    "the same in other units": Spoiled(
        put(inches=lambda t: 3 - t["length"] / 2.54), "duplicate", "note", ("inches",), "--drop inches"
    ),
    "the same in other words": Spoiled(
        put(town=lambda t: t["city"].str.lower().str[:2]), "duplicate", "problem", ("town",), "--drop town"
    ),
    "nearly all missing": Spoiled(
        put(deck=lambda t: t["width"].where(some(t, 0.03)) + 1), "missing", "note", ("deck",), "--drop deck"
    ),
    "dates": Spoiled(put(day=days), "date", "note", ("day",), number="date"),
    "dates as text": Spoiled(
        put(day=lambda t: days(t).strftime("%d.%m.%Y")), "date", "note", ("day",), number="date (written day first)"
    ),
    "times of day": Spoiled(
        put(start=lambda t: [f"{i * 7 % 24:02}:{i * 13 % 60:02}" for i in range(N)]), "time", "note", ("start",),
        number="time of day",
    ),
    "decimal commas": Spoiled(
        written(lambda v: f"{v / 100:.1f}".replace(".", ",")), "decimal comma", "note", ("price",),
        number="numbers with decimal commas",
    ),
    "thousands": Spoiled(
        written(lambda v: f"{100 * v:,.0f}"), "thousands", "note", ("price",),
        number="numbers with thousands separators ','",
    ),
    "currency": Spoiled(
        written(lambda v: f"${v:,.2f}"), "currency", "note", ("price",),
        number="amounts in $ with thousands separators ','",
    ),
    "percent": Spoiled(written(lambda v: f"{v / 1000:.1f} %"), "percent", "note", ("price",), number="percentages"),
    "negative numbers in brackets": Spoiled(
        written(lambda v: f"({v:.1f})" if v > 15000 else f"{v:.1f}"), "brackets", "note", ("price",),
        number="numbers, (1)",
    ),
    "the day or the month first": Spoiled(
        put(day=lambda t: [f"{i % 12 + 1}/{i * 7 % 12 + 1}/2026" for i in range(N)]), "date", "problem", ("day",),
        left="date",
    ),
    "numbers that can be read in two ways": Spoiled(
        put(price=lambda t: [f"{i % 90 + 1},{i * 7919 % 1000:03}" for i in range(N)]), "two readings", "problem",
        ("price",),
    ),
    "dates with names of months": Spoiled(
        put(day=lambda t: days(t).strftime("%d %b %Y")), "date", "problem", ("day",), left="date"
    ),
    "bad cells among dates": Spoiled(
        lambda t: cells("day", "unknown")(t.assign(day=days(t).strftime("%Y-%m-%d"))), "bad cells", "problem", ("day",),
        "--missing unknown", fixes=False, left="date",
    ),
    "bad cells among decimal commas": Spoiled(
        lambda t: cells("price", "?!")(written(lambda v: f"{v / 100:.1f}".replace(".", ","))(t)), "bad cells",
        "problem", ("price",), "--missing '?!'", fixes=False, left="decimal comma",
    ),
    "a stand-in with a decimal comma": Spoiled(
        lambda t: cells("price", "-9999,0")(written(lambda v: f"{v / 100:.1f}".replace(".", ","))(t)), "stand-in",
        "problem", ("price",), "--missing -9999,0", left="decimal comma",
    ),
    "bad cells": Spoiled(
        cells("width", "unknown"), "bad cells", "problem", ("width",), "--missing unknown"
    ),
    "bad cells beside NA": Spoiled(
        lambda t: cells("width", "unknown")(t).assign(length=t["length"].astype(str).mask(some(t, 0.1, 4), "NA")),
        "bad cells", "problem", ("width",), "--missing unknown --missing NA", fixes=False,
    ),
    "a stand-in for what is missing": Spoiled(
        put(width=lambda t: t["width"].mask(some(t), -999)), "stand-in", "problem", ("width",), "--missing -999.0"
    ),
    "infinity": Spoiled(
        put(width=lambda t: t["width"].mask(some(t), np.inf)), "infinity", "problem", ("width",), "--missing inf"
    ),
    "a whole stand-in": Spoiled(
        put(rooms=lambda t: t["rooms"].mask(some(t), 999)), "stand-in", "problem", ("rooms",), "--missing 999"
    ),
    "codes": Spoiled(
        put(zip_code=lambda t: np.random.default_rng(3).choice([10115, 20095, 50667, 80331], N)),
        "code", "note", ("zip_code",), "--families zip_code=categorical",
    ),
    "free text": Spoiled(
        put(note=lambda t: [f"note {i % 250}" for i in range(N)]), "free text", "note", ("note",), "--drop note"
    ),
    "levels in two ways": Spoiled(
        put(city=lambda t: t["city"].mask(some(t, 0.2), t["city"].str.upper() + " ")), "variants", "problem", ("city",)
    ),
    "a class of one row": Spoiled(rare(1), "rare class", fixes=False),
    "a class of few rows": Spoiled(rare(5), "rare class", "note", flag="--folds 5", fixes=False),
    "a class of few in a hundred": Spoiled(rare(12), "imbalance", "note", fixes=False),
    "one class": Spoiled(put(y=lambda t: "no"), "one class", fixes=False),
    "missing labels": Spoiled(put(y=lambda t: t["y"].mask(some(t))), "missing labels", "note", fixes=False),
    "labels in two ways": Spoiled(put(y=lambda t: t["y"].mask(some(t, 0.3), t["y"].str.upper())), "label variants"),
    "a measurement for a target": Spoiled(
        put(y=lambda t: (t["width"] * 7).sample(frac=1, random_state=0).round(2).to_numpy()), "target"
    ),
    "repeated rows": Spoiled(
        lambda t: pd.concat([t, t.sample(frac=0.3, random_state=0)], ignore_index=True), "repeated rows", "note",
        fixes=False,
    ),
    "contradicting rows": Spoiled(
        lambda t: pd.concat([t, t[:30].assign(y=np.where(t["y"][:30] == "no", "yes", "no"))], ignore_index=True),
        "contradiction", "note", fixes=False,
    ),
    "more columns than rows": Spoiled(
        lambda t: t[:60].assign(**dict(zip(map("g{}".format, range(90)), np.random.default_rng(0).normal(size=(90, 60)),
                                           strict=True))),
        "wide", "note", fixes=False,
    ),
}  # fmt: skip


def parted(table):
    return table.drop(columns="y"), table["y"]


def applied(argument, X, y):
    """What Python is told, done: X, y and further options."""
    names = {"X": X.copy(), "y": y, "np": np, "pd": pd}
    if argument.startswith("families="):
        return X, y, {"families": eval(argument.removeprefix("families="), names)}
    if argument.startswith("X["):
        exec(argument, names)
        return names["X"], y, {}
    value = eval(argument, names)
    return (value, y, {}) if argument.startswith("X.") else (X, value, {})


def examined(path, *flags, code=0):
    done = CliRunner().invoke(app, ["examine", str(path), "-t", "y", "--json", *flags], prog_name="classwise")
    assert done.exit_code == code, (done.output, done.exception)
    return json.loads(done.stdout)


class TestSpoiled:
    def test_a_clean_table_gets_no_finding(self, tmp_path):
        assert cw.examine(*parted(clean())).findings == ()
        clean().to_csv(tmp_path / "clean.csv", index=False)
        assert examined(tmp_path / "clean.csv")["findings"] == []

    @pytest.mark.parametrize("name", SPOILED)
    def test_in_python(self, name):
        spoiled = SPOILED[name]
        X, y = parted(spoiled.spoil(clean()))
        found = cw.examine(X, y).findings
        if name == "bad cells beside NA":  # in a file NA is nothing, in a frame it is another bad cell
            assert [(f.kind, f.columns) for f in found] == [("bad cells", ("length", "width"))]
            return
        assert [(f.kind, f.severity, f.columns) for f in found] == [(spoiled.kind, spoiled.severity, spoiled.columns)]
        done = spoiled.severity == "note" and not spoiled.flag
        if spoiled.fixes and not done:
            fixed_X, fixed_y, options = applied(found[0].argument, X, y)
            kinds = [(f.kind, f.severity) for f in cw.examine(fixed_X, fixed_y, **options).findings]
            assert kinds == ([(spoiled.left, "note")] if spoiled.left else [])

    @pytest.mark.parametrize("name", [name for name in SPOILED if SPOILED[name].number])
    def test_models_use_what_is_noted_as_a_number(self, name, tmp_path):
        spoiled = SPOILED[name]
        table = spoiled.spoil(clean())
        table.to_csv(tmp_path / "rows.csv", index=False)
        for found in (cw.examine(table, target="y"), cw.examine(tmp_path / "rows.csv", target="y")):
            (line,) = [line for line in found.columns if line.name in spoiled.columns]
            assert line.taken_for == "number"
            assert line.why.startswith(spoiled.number)
        X, y = parted(table)
        for model in (cw.NaiveBayes(), cw.LDA()):
            column = model.fit(X, y).schema_[spoiled.columns[0]]
            assert (column.kind, column.note[: len(spoiled.number)]) == ("number", spoiled.number)

    @pytest.mark.filterwarnings("ignore")  # what the models warn of is no matter here
    @pytest.mark.parametrize("name", SPOILED)
    def test_columns_are_taken_for_what_models_take_them_for(self, name):
        X, y = parted(SPOILED[name].spoil(clean()))
        if SPOILED[name].kind in ("one class", "infinity"):
            return  # which no model learns from
        schema = cw.NaiveBayes().fit(X[y.notna()], y[y.notna()].astype(str)).schema_
        lines = cw.examine(X, y).columns
        assert [(c.name, c.taken_for) for c in lines] == [(c.name, c.kind) for c in schema]
        assert all(
            line.why.startswith(column.note.split(";")[0])
            for line, column in zip(lines, schema, strict=True)
            if line.taken_for == "number" and column.note.startswith(("date", "time", "num", "amount", "perc"))
        )

    @pytest.mark.parametrize("name", SPOILED)
    def test_in_the_shell(self, name, tmp_path):
        spoiled = SPOILED[name]
        spoiled.spoil(clean()).to_csv(tmp_path / "rows.csv", index=False)
        found = examined(tmp_path / "rows.csv")["findings"]
        facts = [(f["kind"], f["severity"], tuple(f["columns"]), f["flag"]) for f in found]
        assert facts == [(spoiled.kind, spoiled.severity, spoiled.columns, spoiled.flag)]
        if spoiled.flag and not spoiled.flag.startswith("--folds"):
            kinds = [f["kind"] for f in examined(tmp_path / "rows.csv", *shlex.split(spoiled.flag))["findings"]]
            assert kinds == ([spoiled.left] if spoiled.left else [])

    def test_names_that_occur_twice(self):
        X, y = parted(clean())
        X = pd.concat([X, X[["width"]] ** 2 + X["length"].to_numpy()[:, None]], axis=1)
        (found,) = cw.examine(X, y).findings
        assert (found.kind, found.severity) == ("name", "problem")
        assert "'width'" in found.message
        assert cw.examine(eval(found.argument, {"X": X}), y).findings == ()

    def test_findings_of_one_kind_are_one_line_and_leaks_come_first(self):
        table = clean().assign(Id=range(N), planet="Earth", star="Sun", alive=lambda t: t["y"] == "yes")
        table["gone"] = table["y"].map({"no": 1, "yes": 2})
        found = cw.examine(table, target="y")
        assert [(f.kind, f.columns) for f in found.findings] == [
            ("leak", ("alive", "gone")),
            ("id", ("Id",)),
            ("constant", ("planet", "star")),
        ]
        assert found.flags == "--drop alive,gone --drop Id"

    def test_a_bound_names_the_columns_it_holds_without(self):
        table = SPOILED["contradicting rows"].spoil(clean())
        bound = "no classifier can be right on more than"
        (found,) = cw.examine(table, target="y").findings
        assert f"the same in every column have different labels: {bound}" in found.message
        (*_, found) = cw.examine(table.assign(alive=table["y"] == "yes"), target="y").findings
        assert f"the same in every column but alive have different labels: without it {bound}" in found.message


@pytest.mark.filterwarnings("ignore::classwise.IgnoredColumnWarning")
class TestWhatTheModelsDo:
    """What the notes say of the models is what they do."""

    MODELS = (cw.LDA(), cw.QDA(), cw.NaiveBayes(), cw.BayesianLogistic())

    def without(self, model, name, values):
        """How far answers are from those without the column, and from those with another value in it."""
        X, y = parted(clean())
        fitted, spoiled = clone(model).fit(X, y), X.assign(**{name: values(X)})
        plain, given = fitted.predict_proba(X), clone(model).fit(spoiled, y)
        answers = given.predict_proba(spoiled)
        other = given.predict_proba(spoiled.assign(**{name: spoiled[name].shift(1, fill_value=spoiled[name].iloc[-1])}))
        return abs(answers - plain).max(), abs(answers - other).max()

    @pytest.mark.parametrize("model", MODELS, ids=repr)
    @pytest.mark.parametrize("values", [lambda X: 8, lambda X: np.nan, lambda X: "Earth"])
    def test_constants_change_nothing(self, model, values):
        assert max(self.without(model, "planet", values)) < 1e-9
        (found,) = cw.examine(clean().assign(planet=values), target="y").findings
        text = "it says nothing" if values(None) == "Earth" else "the models leave it out"
        assert found.message.endswith(f": {text}.")

    @pytest.mark.parametrize("model", MODELS, ids=repr)
    def test_copies_of_numbers_are_left_out_by_models_with_covariances(self, model):
        change = max(self.without(model, "inches", lambda X: X["length"] / 2.54))
        assert change < 1e-9 if isinstance(model, (cw.LDA, cw.QDA)) else change > 1e-3
        (found,) = cw.examine(clean().assign(inches=lambda t: t["length"] / 2.54), target="y").findings
        assert found.message == (
            "inches repeats length: LDA and QDA leave it out, naive Bayes counts the same evidence twice."
        )

    def test_a_stack_learns_from_all_of_them(self):
        table = clean().assign(planet=8, star="Sun", comment=np.nan, inches=lambda t: t["length"] / 2.54)
        X, y = parted(table)
        stack = cw.AutoClassifier(random_state=0).fit(X, y)
        assert np.isfinite(stack.predict_proba(X)).all()
        assert np.array_equal(stack.predict_proba(X.assign(planet=-5)), stack.predict_proba(X))


class TestHonestTables:
    """What looks like a finding, and is none."""

    def test_an_easy_problem_is_no_leak(self):
        from sklearn.datasets import load_iris

        iris = load_iris(as_frame=True)
        assert cw.examine(iris.data, iris.target).findings == ()
        assert cw.examine(iris.data, iris.target == 0).findings == ()  # two columns tell setosa from all others

    def test_a_good_column_is_no_leak(self):
        table = clean()
        odor = np.where(some(table, 0.015), "none", np.where(table["y"] == "yes", "foul", "none"))
        assert cw.examine(table.assign(odor=odor), target="y").findings == ()

    def test_measurements_that_all_differ_are_no_ids(self):
        r = np.random.default_rng(0)
        table = clean().assign(sales=np.sort(r.choice(10**7, N, replace=False)), share=np.linspace(0, 1, N) ** 2)
        assert cw.examine(table, target="y").findings == ()

    def test_dates_and_amounts_in_order_are_no_ids(self):
        days = pd.date_range("2024-01-01", periods=N).strftime("%Y-%m-%d")
        table = clean().assign(day=days, price=[f"${i * 7 % N}.00" for i in range(N)])
        assert [(f.kind, f.severity) for f in cw.examine(table, target="y").findings] == [
            ("date", "note"),
            ("currency", "note"),
        ]

    def test_nines_within_the_range_of_others_are_values(self):
        table = clean().assign(age=lambda t: np.where(some(t), 99, np.random.default_rng(0).integers(20, 98, N)))
        assert cw.examine(table, target="y").findings == ()

    def test_codes_with_zeros_before_them_are_text(self):
        table = clean().assign(ward=np.array(["007", "011", "123", "045"])[np.arange(N) // 7 % 4])
        assert cw.examine(table, target="y").findings == ()


class TestRows:
    """Rows from anywhere give the same findings."""

    def test_every_kind_of_table(self, tmp_path):
        table = clean().assign(Id=range(N), town=lambda t: t["city"].str.lower())
        table.to_parquet(tmp_path / "rows.parquet")
        ours = cw.examine(table, target="y")
        kinds = [(f.kind, f.columns) for f in ours.findings]
        assert kinds == [("id", ("Id",)), ("duplicate", ("town",))]
        polars = pl.from_pandas(table)
        tables = [polars, polars.to_arrow(), table.convert_dtypes()]
        sources = [tmp_path / "rows.parquet", polars.lazy(), lambda: iter([table[:150], table[150:]])]
        for X in [*tables, *sources]:
            assert [(f.kind, f.columns) for f in cw.examine(X, target="y").findings] == kinds

    def test_arrays_name_columns_by_place(self):
        X = np.column_stack([clean()[["length", "width"]], np.arange(N)])
        (found,) = cw.examine(X, clean()["y"]).findings
        assert (found.kind, found.columns, found.flag) == ("id", (2,), "")
        assert cw.examine(eval(found.argument, {"np": np, "X": X}), clean()["y"]).findings == ()

    def test_partitions_of_dask(self):
        dask = pytest.importorskip("dask.dataframe")
        table = clean().assign(Id=range(N))
        found = cw.examine(dask.from_pandas(table, npartitions=3), target="y").findings
        assert [(f.kind, f.columns) for f in found] == [("id", ("Id",))]

    def test_labels_are_called_by_their_name(self):
        table = clean().assign(gone=lambda t: t["y"] == "yes")
        X, y = parted(table)
        for found in (cw.examine(X, y), cw.examine(X, y.to_numpy(), target="y"), cw.examine(table, target="y")):
            assert found.findings[0].message == "gone alone tells y on every held-out row: is it known before y is?"
        assert "known before survived is?" in cw.examine(X, y.rename("survived")).findings[0].message

    def test_columns_families_and_weights(self):
        table = clean().assign(Id=range(N), w=(np.arange(N) % 2).astype(float))
        assert cw.examine(table, target="y", columns=["length", "city"]).columns[1].name == "city"
        asked = cw.examine(table, target="y", columns=["rooms"], families={"rooms": "categorical"})
        assert (asked.columns[0].taken_for, asked.columns[0].why[:9]) == ("category", "asked for")
        half = cw.examine(table, target="y", weights="w", columns=["length", "Id"])
        assert half.rows == N // 2
        same = cw.examine(table[["length", "Id"]], table["y"], sample_weight=table["w"])
        assert same.findings == half.findings

    def test_more_rows_than_are_looked_at(self, monkeypatch, tmp_path):
        monkeypatch.setattr(limits, "EXAMINED_ROWS", 200)
        monkeypatch.setattr(limits, "EXAMINED_VALUES", 200)
        table = pd.concat([clean()] * 5, ignore_index=True).assign(Id=range(5 * N))
        table["length"] += np.random.default_rng(0).normal(size=5 * N)
        table.loc[0, "y"] = "maybe"
        table.to_csv(tmp_path / "rows.csv", index=False)
        held = cw.examine(table, target="y")
        monkeypatch.setattr(limits, "MOST_HELD", 1000)
        drawn = cw.examine(tmp_path / "rows.csv", target="y")
        for found in held, drawn:
            assert (found.rows, found.examined) == (5 * N, 200)
            assert [f.kind for f in found.findings] == ["id", "rare class"]  # which is told by all rows
            assert "200 of these rows, drawn by chance" in str(found)

    def test_errors_say_what_to_give(self):
        table = clean()
        with pytest.raises(ClasswiseError, match="y is missing"):
            cw.examine(table)
        with pytest.raises(ClasswiseError, match="give sample_weight"):
            cw.examine(table, table["y"], weights="width")
        with pytest.raises(ClasswiseError, match="sample_weight has shape"):
            cw.examine(table, table["y"], sample_weight=[1.0, 2.0])
        with pytest.raises(ClasswiseError, match="no column 'z'"):
            cw.examine(table, target="z")
        with pytest.raises(ClasswiseError, match="in files"):
            cw.examine(table, target="y", missing=["?"])
        with pytest.raises(ClasswiseError, match="No row has a label"):
            cw.examine(table, [None] * N)
        with pytest.raises(ClasswiseError, match="400 rows and y has 3"):
            cw.examine(table, ["a", "b", "a"])


class TestResult:
    def test_it_prints_within_eighty_columns(self):
        table = clean().assign(Id=range(N), **{f"a long name of a column {i}": "x" * (i + 5) for i in range(30)})
        lines = str(cw.examine(table, target="y")).splitlines()
        assert all(len(line) <= 80 for line in lines if "X.drop" not in line)
        assert "  To leave it out: X.drop(columns=['Id'])" in lines
        assert (
            lines[0]
            == f"400 rows, 37 columns; y has 2 classes: no ({sum(table.y == 'no')}) and yes ({sum(table.y == 'yes')})."
        )

    def test_flags_are_for_the_shell_and_arguments_for_python(self):
        found = cw.examine(clean().assign(Id=range(N)), target="y")
        assert "--drop Id" in found.text(shell=True)
        assert "X.drop" not in found.text(shell=True)
        assert "--drop" not in str(found)

    def test_html_escapes_what_columns_are_called(self):
        page = cw.examine(clean().assign(**{"<b>Id": range(N)}), target="y")._repr_html_()
        assert "&lt;b&gt;Id" in page
        assert "<b>Id" not in page

    def test_records_are_json(self):
        found = cw.examine(clean().assign(Id=range(N)), clean()["rooms"])
        records = json.loads(json.dumps(found.records()))
        assert records["rows"] == N
        assert [c["name"] for c in records["columns"]][-1] == "Id"
        assert {"kind", "severity", "columns", "message", "flag", "argument"} <= set(records["findings"][0])

    def test_wide_tables_show_their_first_columns(self, tmp_path):
        table = pd.DataFrame(np.random.default_rng(0).normal(size=(200, 60))).add_prefix("x").assign(y=["a", "b"] * 100)
        assert "... and 20 more columns" in str(cw.examine(table, target="y"))
        table.to_csv(tmp_path / "wide.csv", index=False)
        run = CliRunner().invoke(app, ["examine", str(tmp_path / "wide.csv"), "-t", "y", "--all"])
        assert "x59" in run.stdout


class TestShell:
    def test_the_next_command_has_every_flag(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        clean().assign(Id=range(N), town=lambda t: t["city"].str.lower()).to_csv("my rows.csv", index=False)
        run = CliRunner().invoke(app, ["examine", "my rows.csv", "-t", "y", "-d", "smoker"])
        assert "Problems" in run.stdout
        assert "rooms" in run.stdout
        assert "  classwise compare 'my rows.csv' --target y --drop smoker --drop Id --drop town" in run.stderr

    def test_a_column_without_values_is_missing_in_100_percent(self, tmp_path):
        clean().assign(void=None).to_csv(tmp_path / "rows.csv", index=False)
        run = CliRunner().invoke(app, ["examine", str(tmp_path / "rows.csv"), "-t", "y"])
        assert re.search(r"void +number +100 %", run.stdout)

    @pytest.mark.parametrize("rows", [[], ["1,a", "2,a"]])
    def test_nothing_is_suggested_where_nothing_can_be_learned(self, tmp_path, rows):
        (tmp_path / "rows.csv").write_text("\n".join(["x,y", *rows, ""]))
        run = CliRunner().invoke(app, ["examine", str(tmp_path / "rows.csv"), "-t", "y"])
        said = "Every row has the same y, 'a'" if rows else "rows.csv has no rows."
        assert said in run.output
        assert "Next:" not in run.output

    def test_standard_input(self):
        text = clean().assign(Id=range(N)).to_csv(index=False)
        run = CliRunner().invoke(app, ["examine", "-", "-t", "y", "--json"], input=text)
        assert json.loads(run.stdout)["findings"][0]["flag"] == "--drop Id"


# Real tables: what is said of each, and what of it is no news ---------------------------------------------------------

REAL = {
    "adult": {"stand-in", "duplicate"},
    "arrhythmia": {"constant", "duplicate", "rare class"},
    "breast_cancer_ljubljana": {"contradiction"},
    "chile": {"missing labels"},
    "credit_approval_crx": {"duplicate"},
    "diamonds": {"imbalance"},
    "ecoli": {"rare class"},
    "esl_nci60": {"rare class", "wide"},
    "esl_spam": {"repeated rows"},
    "esl_srbct": {"wide"},
    "haberman": {"contradiction"},
    "horse_colic": {"id", "free text"},
    "hypothyroid": {"constant", "rare class"},
    "islr_default": {"imbalance"},
    "kddcup99_10pct": {"constant", "rare class", "repeated rows"},
    "leaf_flavia": {"constant"},
    "mammography": {"imbalance"},
    "mfeat_mor": {"contradiction"},
    "mushroom_full": {"constant"},
    "oil_spill": {"constant", "imbalance"},
    "sk_digits": {"constant"},
    "skin_segmentation": {"repeated rows"},
    "titanic": {"leak", "duplicate", "contradiction", "repeated rows"},
}
# Passengers who paid the same fare are alike, and are not the same.
FALSE_ALARMS = {("titanic", "repeated rows")}


@pytest.mark.slow
def test_real_tables(data):
    said = {}
    with (data / "manifest.csv").open() as manifest:
        for line in csv.DictReader(manifest):
            path = data / line["file"]
            found = cw.examine(path, target=line["target"])
            said[line["name"]] = {remark.kind for remark in found.findings}
    assert {name: kinds for name, kinds in said.items() if kinds} == REAL
    assert len(FALSE_ALARMS) <= 2
    assert all(kind in REAL[name] for name, kind in FALSE_ALARMS)
