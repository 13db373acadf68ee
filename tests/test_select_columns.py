"""Selection of columns: every set scored as a model fitted again would be, and an honest estimate of the search."""

import json
import shlex
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris, load_wine

import classwise as cw
from classwise import limits
from classwise.errors import ClasswiseError, SingularCovarianceError
from classwise.selection.column_scores import Chained, Refitted, column_scores
from classwise.selection.crossing import Crossing
from classwise.selection.wilks import Wilks
from classwise.statistics import FullScatter
from test_cli import fails, run

DATA = Path(__file__).parent / "data"
WINE = load_wine(return_X_y=True, as_frame=True)
IRIS = load_iris(return_X_y=True, as_frame=True)


def mixed(seed, rows=90, gaps=False):
    """Three numbers, of which two go together, a category and yes and no."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["a", "b", "c"], rows, p=[0.5, 0.3, 0.2])
    k = np.searchsorted(["a", "b", "c"], y)
    first = rng.normal(k, 1.0)
    table = pd.DataFrame(
        {
            "first": first,
            "second": 0.8 * first + rng.normal(0, 1 + 0.3 * k),
            "color": np.where(rng.random(rows) < 0.5, rng.choice(["red", "blue"], rows), y),
            "third": rng.normal(100, 5, rows),
            "wet": rng.random(rows) < 0.2 + 0.2 * k,
        }
    )
    if gaps:
        table.loc[rng.random(rows) < 0.2, "first"] = np.nan
        table.loc[rng.random(rows) < 0.2, "color"] = None
    return table, y


def scores_of(model, X, y, folds=5, **options):
    """The quick scores, and those of a model for every set and fold."""
    plan = model._plan()
    crossing = Crossing.read(X, y, folds, families=plan.families, form=FullScatter, **options)
    plan = replace(plan, families="auto")
    columns = tuple(range(len(crossing.table.schema)))
    return column_scores(plan, crossing, columns), Refitted(plan, crossing, columns)


QUICK = {
    "LDA": cw.LDA(),
    "LDA unbiased, uniform": cw.LDA(estimate="unbiased", priors="uniform"),
    "QDA": cw.QDA(),
    "half shared": cw.GaussianClassifier(share=0.5),
    "average": cw.GaussianClassifier(share="average"),
    "diagonal": cw.GaussianClassifier(structure="diagonal", share=1.0),
    "naive Bayes": cw.NaiveBayes(),
    "naive Bayes, other families": cw.NaiveBayes(families={"third": "lognormal"}, missing="level"),
}


class TestScores:
    @pytest.mark.parametrize("name", QUICK)
    def test_a_set_is_scored_as_a_model_fitted_again(self, name):
        X, y = mixed(0)
        weights = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
        quick, slow = scores_of(QUICK[name], X, y, weights=weights)
        assert isinstance(quick, Chained)
        for size in range(6):
            for columns in combinations(range(5), size):
                np.testing.assert_allclose(
                    quick.by_fold(columns), slow.by_fold(columns), rtol=1e-8, err_msg=str(columns)
                )
        np.testing.assert_allclose(quick.weight, slow.weight)

    @pytest.mark.parametrize("name", QUICK)
    def test_all_sets_at_once(self, name):
        quick, _ = scores_of(QUICK[name], *mixed(2))
        every = dict(quick.every(5))
        assert len(every) == 31
        for columns, loss in every.items():
            assert loss == pytest.approx(quick.by_fold(columns).sum(), rel=1e-9)
        assert {s: loss for s, loss in every.items() if len(s) < 3} == pytest.approx(dict(quick.every(2)))

    @pytest.mark.parametrize("name", QUICK)
    def test_columns_are_removed_as_they_are_added(self, name):
        quick, slow = scores_of(QUICK[name], *mixed(3))
        ours, theirs = quick.removing(), slow.removing()
        for _ in range(4):
            expected = dict(zip(theirs.columns, theirs.losses(), strict=True))
            for column, losses in zip(ours.columns, ours.losses(), strict=True):
                np.testing.assert_allclose(losses, expected[column], rtol=1e-7)
            column = ours.columns[1]
            ours, theirs = ours.after(1), theirs.after(theirs.columns.index(column))

    def test_naive_bayes_with_gaps(self):
        quick, slow = scores_of(cw.NaiveBayes(), *mixed(4, gaps=True))
        assert isinstance(quick, Chained)
        for columns in [(0,), (2, 0), (0, 1, 2, 3, 4)]:
            np.testing.assert_allclose(quick.by_fold(columns), slow.by_fold(columns), rtol=1e-9)

    @pytest.mark.parametrize("model", [cw.QDA(), cw.LDA(shrink=0.2), cw.LDA(estimate="bayes"), cw.NearestMean()])
    def test_other_models_are_fitted_for_every_set(self, model):
        quick, _ = scores_of(model, *mixed(4, gaps=True))
        assert isinstance(quick, Refitted)
        assert np.isfinite(quick.by_fold((0, 2))).all()

    def test_leave_one_out_is_exact(self):
        X, y = IRIS
        for model in cw.QDA(), cw.LDA():
            quick, _ = scores_of(model, X, y, np.arange(len(y)))
            for columns in [[0], [3, 1], [0, 1, 2, 3]]:
                part = X.iloc[:, sorted(columns)]
                logs = model.fit(part, y).leave_one_out(part, y, recount=True)
                assert quick.by_fold(columns).sum() == pytest.approx(-logs[np.arange(len(y)), y].sum(), rel=1e-9)

    @pytest.mark.filterwarnings("ignore:NaiveBayes raised")
    def test_a_class_that_other_folds_lack(self):
        X, y = mixed(5)
        y = np.array(["d", *y[1:]])
        quick, slow = scores_of(cw.NaiveBayes(), X, y)
        for columns in [(), (0, 2), (0, 1, 2, 3, 4)]:
            np.testing.assert_allclose(quick.by_fold(columns), slow.by_fold(columns), rtol=1e-9)
        assert quick.weight.sum() == len(y) - 1

    @given(st.integers(0, 10_000), st.sampled_from([1e-6, 1.0, 1e8]), st.sampled_from([0.0, 1e6]))
    @settings(max_examples=15, deadline=None)
    def test_units_and_origins_do_not_matter(self, seed, scale, shift):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 2, 60)
        X = rng.normal(size=(60, 4)) + y[:, None] * rng.normal(size=4)
        plain, _ = scores_of(cw.QDA(), X, y)
        other, _ = scores_of(cw.QDA(), scale * (X + shift), y)
        columns = tuple(rng.permutation(4)[: rng.integers(1, 5)].tolist())
        np.testing.assert_allclose(other.by_fold(columns), plain.by_fold(columns), rtol=1e-5)


def test_wilks_agrees_with_r():
    X, y = load_iris(return_X_y=True)
    wilks = Wilks.of(cw.summarize(X, y))
    for line in pd.read_csv(DATA / "wilks_iris.csv").itertuples():
        columns = [int(j) for j in str(line.columns).split()]
        assert wilks.lambda_of(columns) == pytest.approx(line[2], rel=1e-9)
        assert wilks.overall(columns) == pytest.approx((line.f, line.above, line.below, line.p), rel=1e-9)
        found = wilks.partial(columns[:-1], columns[-1])
        assert found == pytest.approx((line.partial_f, 2, line.partial_below, line.partial_p), rel=1e-9)


class TestSearch:
    def test_forward_takes_the_best_column_at_every_step(self):
        X, y = mixed(6)
        found = cw.select_columns(cw.LDA(), X, y, folds=4, nested=False)
        _, slow = scores_of(cw.LDA(), X, y, 4)
        chosen = ()
        for step in found.sets[1:]:
            losses = {j: slow.by_fold((*chosen, j)).sum() for j in range(5) if j not in chosen}
            chosen = (*chosen, min(losses, key=losses.get))
            assert step.columns == chosen
        assert [len(s.columns) for s in found.sets] == list(range(6))

    def test_backward_removes_the_least_missed_column_at_every_step(self):
        X, y = mixed(7)
        found = cw.select_columns(cw.QDA(), X, y, folds=4, method="backward", nested=False)
        _, slow = scores_of(cw.QDA(), X, y, 4)
        left = set(range(5))
        for step in found.sets[-2:0:-1]:
            losses = {j: slow.by_fold(sorted(left - {j})).sum() for j in left}
            left -= {min(losses, key=losses.get)}
            assert set(step.columns) == left
            assert step.losses.log_loss == pytest.approx(min(losses.values()) / len(y))

    def test_best_is_at_least_as_good_as_a_path(self):
        X, y = WINE[0].iloc[:, :8], WINE[1]
        best, *paths = (
            cw.select_columns(cw.LDA(), X, y, method=method, nested=False).sets
            for method in ("best", "forward", "backward")
        )
        for path in paths:
            assert all(b.losses.log_loss <= s.losses.log_loss + 1e-12 for b, s in zip(best, path, strict=True))

    @pytest.mark.parametrize("method", ["forward", "backward", "best"])
    def test_most(self, method):
        found = cw.select_columns(cw.LDA(), *WINE, method=method, most=3, nested=False)
        assert [len(s.columns) for s in found.sets] == [0, 1, 2, 3]
        assert len(found.columns) <= 3

    def test_rules(self):
        found = cw.select_columns(cw.LDA(), *IRIS, nested=False)
        simple = found.choose("simplest")
        best = min(s.losses.log_loss for s in found.sets)
        assert found.log_loss == best < simple.log_loss <= best + found.chosen.losses.error
        assert len(simple.columns) < len(found.columns)
        assert [line.note for line in found.table().lines] == ["", "", "", "simplest", "best"]
        with pytest.raises(ClasswiseError, match=r"rule='shortest' is not an option"):
            found.choose("shortest")

    def test_the_standard_error_is_that_of_compare(self):
        X, y = IRIS
        found = cw.select_columns(cw.LDA(), X, y)
        estimate = cw.compare(X, y, only=["LDA"], calibrate=None, references=False)["LDA"].estimate("log_loss")
        assert (found.log_loss, found.chosen.losses.error) == pytest.approx((estimate.value, estimate.error), rel=1e-6)

    def test_noise_is_left_out_and_the_honest_loss_is_larger(self):
        rng = np.random.default_rng(8)
        y = rng.integers(0, 2, 80)
        X = rng.normal(size=(80, 12))
        X[:, 4] += 1.5 * y
        found = cw.select_columns(cw.LDA(), X, y, method="best", folds=5, most=4)
        assert 4 in found.columns
        assert found.nested_log_loss > found.log_loss
        assert found.nested.times(4) == 5

    def test_nested_repeats_the_search_without_each_fold(self):
        X, y = mixed(9)
        folds = np.arange(len(y)) % 4
        found = cw.select_columns(cw.QDA(), X, y, folds=folds, rule="simplest")
        total = 0.0
        for fold in range(4):
            rest = folds != fold
            inner = cw.select_columns(cw.QDA(), X[rest], y[rest], folds=folds[rest], rule="simplest", nested=False)
            model = inner.best
            assert {X.columns[j] for j in found.nested.chosen[fold]} == set(inner.columns)
            logs = model.predict_log_proba(X.loc[~rest, inner.columns])
            total -= logs[np.arange((~rest).sum()), np.searchsorted(model.classes_, y[~rest])].sum()
        assert found.nested_log_loss == pytest.approx(total / len(y), rel=1e-9)


class TestColumns:
    def test_the_model_of_the_chosen_columns(self):
        X, y = mixed(10)
        model = cw.NaiveBayes(families={"third": "lognormal", "wet": "categorical"})
        found = cw.select_columns(model, X, y, method="best", folds=3)
        again = cw.NaiveBayes(families={k: v for k, v in model.families.items() if k in found.columns})
        again.fit(X[found.columns], y)
        assert list(found.best.feature_names_in_) == found.columns
        np.testing.assert_allclose(found.best.predict_proba(X[found.columns]), again.predict_proba(X[found.columns]))

    def test_arrays_have_positions(self):
        X, y = load_iris(return_X_y=True)
        found = cw.select_columns(cw.NaiveBayes(families={3: "lognormal"}), X, y, most=2, folds=3)
        assert all(isinstance(j, int) for j in found.columns)
        assert found.best.score(X[:, found.columns], y) > 0.9

    def test_columns_that_say_nothing_are_not_tried(self):
        X, y = mixed(11)
        X = X.assign(same=3.0, inches=X["first"] / 2.54, name=[f"row {i}" for i in range(len(y))])
        found = cw.select_columns(cw.LDA(), X, y, folds=3)
        assert set(found.left_out) == {"same", "inches", "name"}
        assert len(found.sets) == 6
        assert "Not tried: " in str(found)
        assert "0.393701 * 'first'" in str(found)

    def test_a_column_that_cannot_be_fitted_is_never_chosen(self):
        X, y = mixed(12)
        X = X.assign(stuck=np.where(y == "a", 1.0, X["third"]))
        found = cw.select_columns(cw.QDA(), X, y, folds=3)
        assert not any(5 in s.columns for s in found.sets)
        assert found.everything is None
        with pytest.raises(SingularCovarianceError, match="method='backward' begins with all columns"):
            cw.select_columns(cw.QDA(), X, y, folds=3, method="backward")

    def test_more_columns_than_rows(self):
        rng = np.random.default_rng(0)
        y = np.repeat([0, 1], 12)
        X = rng.normal(size=(24, 40))
        X[:, 17] += 3 * y
        found = cw.select_columns(cw.LDA(), X, y, folds=4, nested=False)
        assert found.columns[0] == 17 or 17 in found.columns
        assert len(found.sets) < 24

    def test_nothing_is_left(self):
        with pytest.raises(ClasswiseError, match="No column of X can tell the classes apart"):
            cw.select_columns(cw.LDA(), np.ones((20, 2)), [0, 1] * 10)

    def test_gaps_are_fitted_by_em(self):
        X, y = mixed(13, gaps=True)
        found = cw.select_columns(cw.LDA(), X[["first", "second", "third"]], y, folds=3, nested=False)
        model = cw.LDA().fit(X[found.columns], y)
        np.testing.assert_allclose(found.best.means_, model.means_)


class TestSources:
    def test_a_source_is_the_same_as_a_table(self, tmp_path):
        X, y = mixed(14)
        X.assign(label=y).to_csv(tmp_path / "rows.csv", index=False)
        here = cw.select_columns(cw.NaiveBayes(), X, y)
        there = cw.select_columns(cw.NaiveBayes(), str(tmp_path / "rows.csv"), target="label")
        assert str(here) == str(there)
        some = cw.select_columns(cw.NaiveBayes(), X.assign(label=y), target="label", columns=["wet", "first"])
        assert set(some.names) == {"wet", "first"}

    def test_a_stream_is_scored_by_a_sample(self, tmp_path, monkeypatch):
        X, y = mixed(15, rows=3000)
        X.assign(label=y).to_csv(tmp_path / "rows.csv", index=False)
        monkeypatch.setattr(limits, "MOST_HELD", 10_000)
        monkeypatch.setattr(limits, "SAMPLE_TO_CHOOSE_BY", 1000)
        found = cw.select_columns(cw.QDA(), str(tmp_path / "rows.csv"), target="label")
        assert found.statistics.rows == 3000
        assert found.chosen.losses.weight.sum() == 1000
        assert "third" not in found.choose("simplest").columns

    def test_weights_count_rows_twice(self):
        X, y = mixed(16)
        twice = np.random.default_rng(0).integers(1, 3, len(y))
        folds = np.arange(len(y)) % 3
        ours = cw.select_columns(cw.LDA(), X, y, folds=folds, sample_weight=twice)
        rows = np.repeat(np.arange(len(y)), twice)
        theirs = cw.select_columns(cw.LDA(), X.iloc[rows], y[rows], folds=folds[rows])
        assert str(ours) == str(theirs)


class TestRefusals:
    @pytest.mark.parametrize(
        ("model", "why"),
        [
            (cw.ForestClassifier(), "ForestClassifier is not made of sums over rows"),
            (cw.AODE(), "AODE is not made of sums over rows"),
            (cw.RDA(), "share='cv' and shrink='cv' would be chosen for every set"),
            (cw.LDA(calibrate="temperature"), "calibrate='temperature' would be chosen"),
            (cw.LDA(shrink="ledoit-wolf"), "shrink='ledoit-wolf' needs sums"),
        ],
    )
    def test_models(self, model, why):
        with pytest.raises(ClasswiseError, match=why):
            cw.select_columns(model, *IRIS)

    @pytest.mark.parametrize(
        ("options", "why"),
        [
            ({"method": "both"}, "method='both' is not an option"),
            ({"most": 0}, "most=0 is not an option"),
            ({"folds": "loo", "nested": True}, "folds='loo' has one for every row"),
            ({"folds": 2, "nested": True}, "folds=2 has only 2"),
            ({"columns": ["a"]}, "y is missing"),
        ],
    )
    def test_options(self, options, why):
        with pytest.raises(ClasswiseError, match=why):
            cw.select_columns(cw.LDA(), *IRIS, **options)

    def test_too_many_sets(self):
        X = np.random.default_rng(0).normal(size=(60, 30))
        with pytest.raises(ClasswiseError, match="method='best' would try 1,073,741,823 sets"):
            cw.select_columns(cw.LDA(), X, [0, 1] * 30, method="best")
        assert len(cw.select_columns(cw.LDA(), X, [0, 1] * 30, method="best", most=2, folds=3).sets) == 3


def test_it_is_shown():
    found = cw.select_columns(cw.LDA(), *IRIS, method="best")
    assert found._repr_html_().count("<tr>") == 6
    assert found.table().frame().shape == (5, 9)
    axes = found.plot()
    assert axes.get_xlabel() == "columns"
    assert "makes no difference" in str(found)


class TestShell:
    @pytest.fixture
    def csv(self, tmp_path):
        X, y = mixed(17)
        X.assign(label=y).to_csv(tmp_path / "rows.csv", index=False)
        return tmp_path / "rows.csv"

    def test_a_selection(self, csv, tmp_path):
        arguments = ["select", csv, "-t", "label", "-m", "naive-bayes", "--method", "best", "--folds", "3"]
        result = run(*arguments, "--save", tmp_path / "few.cw", "--plot", tmp_path / "few.png")
        table = pd.read_csv(csv)
        found = cw.select_columns(cw.NaiveBayes(), table, target="label", method="best", folds=3)
        assert str(found.table()) in result.stdout
        assert found.summary()[1] in result.stderr
        assert list(cw.load(tmp_path / "few.cw").feature_names_in_) == found.columns
        assert (tmp_path / "few.png").stat().st_size > 5000

    def test_the_next_command_fits_the_columns(self, csv, tmp_path):
        said = run("select", csv, "-t", "label", "--set", "shrink=0.1", "--folds", "3", "--most", "2").stderr
        command = said.split("Next:")[1].replace("\\\n", " ").replace("model.cw", str(tmp_path / "model.cw"))
        run(*shlex.split(command)[1:])
        model = cw.load(tmp_path / "model.cw")
        assert (type(model), model.shrink) == (cw.LDA, 0.1)
        assert f": {', '.join(model.feature_names_in_)}.\n" in said

    def test_json(self, csv):

        told = json.loads(run("select", csv, "-t", "label", "--folds", "loo", "--most", "2", "--json").stdout)
        assert told["nested_log_loss"] is None
        assert [line["size"] for line in told["sets"]] == [0, 1, 2]

    def test_errors(self, csv):
        assert "--folds 'few' is not an option" in fails("select", csv, "-t", "label", "--folds", "few")
        assert "is not made of sums" in fails("select", csv, "-t", "label", "-m", "forest")
        assert "end it in .png" in fails("select", csv, "-t", "label", "--plot", "picture.jpg")
