"""Which columns matter: the rise of the log loss without each of them."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import classwise as cw
from classwise.estimators.importance import Importance, ImportanceLine


def mixed(seed, rows=1200):
    """Columns that are independent within a class, and tell the less the later they come; the last tells nothing."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, rows)
    slips = rng.random((3, rows))
    words = np.where(slips[0] < 0.45, y, rng.integers(0, 3, rows))
    return pd.DataFrame(
        {
            "number": rng.normal(1.6 * y, 1.0),
            "word": np.array(["red", "green", "blue"])[words],
            "visits": rng.poisson(3.0 + 0.9 * y).astype(float),
            "flag": np.where(slips[1] < 0.3, y == 0, slips[2] < 0.5),
            "noise": rng.normal(size=rows),
        }
    ), np.array(["a", "b", "c"])[y]


TABLES = {
    "iris": load_iris(return_X_y=True, as_frame=True),
    "wine": load_wine(return_X_y=True, as_frame=True),
    "breast cancer": load_breast_cancer(return_X_y=True, as_frame=True),
    "mixed": mixed(0),
    "mixed too": mixed(1, 700),
}
IRIS = TABLES["iris"]


def by_name(found, names):
    """Rises in the order of the columns."""
    rises = {line.name: line.increase for line in found.lines}
    return np.array([rises[name] for name in names])


class TestAgreement:
    @pytest.mark.parametrize("name", TABLES)
    def test_ranks_are_those_of_scikit_learn(self, name):
        """Which shuffles, too, and scores by log loss."""
        X, y = TABLES[name]
        m = cw.BayesianLogistic(predictive="plugin").fit(X[::2], y[::2])
        found = m.importance(X[1::2], y[1::2], repeats=20)
        theirs = permutation_importance(m, X[1::2], y[1::2], scoring="neg_log_loss", n_repeats=20, random_state=1)
        rises = by_name(found, X.columns)
        assert spearmanr(rises, theirs.importances_mean)[0] > 0.9
        assert found.names[0] == X.columns[theirs.importances_mean.argmax()]
        errors = np.array([next(line.standard_error for line in found.lines if line.name == c) for c in X.columns])
        assert (np.abs(rises - theirs.importances_mean) < 4 * errors + 1e-3).all()
        assert (found.method, found.shuffles) == ("shuffled", 20)

    @pytest.mark.parametrize("model", [cw.NaiveBayes(), cw.LDA(), cw.QDA(), cw.AODE()], ids=repr)
    @pytest.mark.parametrize("name", ["mixed", "mixed too"])
    def test_exact_ones_rank_alike_where_columns_are_independent(self, name, model):
        X, y = TABLES[name]
        m = clone(model).fit(X[::2], y[::2])
        found = m.importance(X[1::2], y[1::2])
        theirs = permutation_importance(m, X[1::2], y[1::2], scoring="neg_log_loss", n_repeats=5, random_state=1)
        assert spearmanr(by_name(found, X.columns), theirs.importances_mean)[0] >= 0.9
        assert found.names[:2] == ("number", "word")
        assert (found.method, found.shuffles) == ("integrated", 0)


class TestExact:
    @pytest.mark.parametrize("model", [cw.LDA(), cw.QDA(), cw.NaiveBayes(families={"visits": "poisson"})], ids=repr)
    def test_it_is_the_loss_of_the_model_without_the_column(self, model):
        """Gaussians and independent columns have the same parameters when a column is left out of the fit."""
        X, y = TABLES["mixed"]
        m = clone(model).fit(X[::2], y[::2])
        found = m.importance(X[1::2], y[1::2])
        assert found.log_loss == pytest.approx(m.evaluate(X[1::2], y[1::2]).log_loss)
        for line in found.lines:
            less = X.drop(columns=line.name)
            families = getattr(model, "families", "auto")
            if isinstance(families, dict):
                families = {name: family for name, family in families.items() if name != line.name}
            other = clone(model).set_params(families=families).fit(less[::2], y[::2])
            assert line.increase == pytest.approx(
                other.evaluate(less[1::2], y[1::2]).log_loss - found.log_loss, abs=1e-9
            )

    def test_standard_errors_are_of_paired_differences(self):
        X, y = IRIS
        m = cw.LDA().fit(X, y)
        found, gone = m.importance(X, y), X.copy()
        gone["petal length (cm)"] = np.nan
        own = np.arange(150), y.to_numpy()
        rises = m.predict_log_proba(X)[own] - m.predict_log_proba(gone)[own]
        line = next(line for line in found.lines if line.name == "petal length (cm)")
        assert line.increase == pytest.approx(rises.mean())
        assert line.standard_error == pytest.approx(rises.std(ddof=1) / np.sqrt(150))

    def test_a_weight_of_two_is_a_row_twice(self):
        X, y = TABLES["mixed too"]
        m, weights = cw.QDA().fit(X, y), np.arange(len(y)) % 3
        twice = np.repeat(np.arange(len(y)), weights)
        ours, theirs = m.importance(X, y, weights), m.importance(X.iloc[twice], y[twice])
        assert ours.names == theirs.names
        for one, other in zip(ours.lines, theirs.lines, strict=True):
            np.testing.assert_allclose(one[1:4], other[1:4], rtol=1e-9, atol=1e-12)

    @pytest.mark.parametrize("model", [cw.LDA(), cw.BayesianLogistic(), cw.AutoClassifier(members="fast")], ids=repr)
    def test_chunks_do_not_matter(self, model, monkeypatch):
        X, y = TABLES["mixed too"]
        m = clone(model).fit(X, y)
        whole = m.importance(X, y)
        monkeypatch.setattr("classwise.estimators.importance.ROWS_AT_ONCE", 97)
        parts = m.importance(X, y)
        np.testing.assert_allclose(by_name(parts, X.columns), by_name(whole, X.columns), rtol=1e-9, atol=1e-12)

    def test_strict_models_are_asked_too_and_rows_with_gaps(self):
        X, y = IRIS
        strict, lenient = (cw.LDA(missing=how).fit(X, y).importance(X, y) for how in ("error", "integrate"))
        assert strict.lines == lenient.lines
        holes = X.mask(np.random.default_rng(0).random(X.shape) < 0.2)
        found = cw.QDA().fit(holes, y).importance(holes, y)
        assert all(np.isfinite(line.increase) for line in found.lines)
        with pytest.raises(cw.ClasswiseError, match="NaN"):
            cw.LDA(missing="error").fit(X, y).importance(holes, y)

    def test_a_signal_of_gaps_is_shuffled(self):
        X, y = IRIS
        holes = X.mask(np.random.default_rng(0).random(X.shape) < 0.2)
        assert cw.LDA(missing="level").fit(holes, y).importance(holes, y).method == "shuffled"


class TestOtherModels:
    def test_what_was_left_out_has_none(self):
        X, y = IRIS
        X = X.assign(era=1.0)
        with pytest.warns(cw.IgnoredColumnWarning):
            m = cw.LDA().fit(X, y)
        line = next(line for line in m.importance(X, y).lines if line.name == "era")
        assert (line.increase, line.standard_error) == (0, 0)
        assert line.note.startswith("left out: ")
        assert "left out: " in str(m.importance(X, y))

    @pytest.mark.parametrize(
        "model",
        [
            cw.MixtureClassifier(components=2),
            cw.AutoClassifier(members=["shared covariance", LogisticRegression(max_iter=500)]),
        ],
        ids=["mixture", "stack with a classifier of another library"],
    )
    def test_every_model_has_one(self, model):
        X, y = IRIS
        found = clone(model).fit(X, y).importance(X, y, repeats=2)
        assert set(found.names[:2]) == {"petal length (cm)", "petal width (cm)"}

    def test_of_a_decision(self):
        X, y = IRIS
        m = cw.LDA().fit(X, y)
        assert cw.Decision(m, reject=0.2).importance(X, y).lines == m.importance(X, y).lines

    def test_shuffles_depend_on_the_seed_alone(self):
        X, y = TABLES["mixed too"]
        m = cw.BayesianLogistic().fit(X, y)
        first, again, other = (m.importance(X, y, repeats=2, random_state=seed) for seed in (3, 3, 4))
        assert first.lines == again.lines != other.lines
        with pytest.raises(cw.ClasswiseError, match="repeats=0"):
            m.importance(X, y, repeats=0)


class TestHeldOut:
    def test_it_is_the_sum_of_the_folds(self):
        X, y = TABLES["mixed too"]
        folds = np.arange(len(y)) % 3
        found = cw.held_out_importance(cw.NaiveBayes(), X, y, folds=folds)
        parts = [
            cw.NaiveBayes().fit(X[folds != k], y[folds != k]).importance(X[folds == k], y[folds == k]) for k in range(3)
        ]
        means = sum(part.weight * by_name(part, X.columns) for part in parts) / len(y)
        np.testing.assert_allclose(by_name(found, X.columns), means, rtol=1e-9, atol=1e-12)
        assert found.held_out
        assert f"{len(y)} held-out rows" in str(found)

    def test_any_classifier_and_any_table(self):
        X, y = IRIS
        model = make_pipeline(StandardScaler(), LogisticRegression())
        found = cw.held_out_importance(model, X, y, folds=3, repeats=2)
        array = cw.held_out_importance(model, X.to_numpy(), y, folds=3, repeats=2)
        assert found.names[0] == X.columns[array.names[0]] == "petal width (cm)"
        np.testing.assert_allclose([line[1] for line in found.lines], [line[1] for line in array.lines])
        pl = pytest.importorskip("polars")
        table = cw.held_out_importance(model, pl.from_pandas(X), y, folds=3, repeats=2)
        np.testing.assert_allclose([line[1] for line in found.lines], [line[1] for line in table.lines])

    def test_few_rows_of_many(self):
        X, y = TABLES["mixed"]
        found = cw.held_out_importance(cw.LDA(), X, y, most_rows=300)
        assert found.weight == 300
        assert found.names[0] == "number"

    def test_rows_without_a_label_and_weights(self):
        X, y = TABLES["mixed too"]
        some = y.astype(object)
        some[::5] = None
        found = cw.held_out_importance(cw.LDA(), X, some, np.full(len(y), 2.0))
        assert found.weight == 2 * sum(label is not None for label in some)

    def test_the_estimator_stays_as_it_is(self):
        m = cw.LDA()
        cw.held_out_importance(m, *IRIS)
        assert not hasattr(m, "statistics_")

    def test_a_class_of_one_row_is_not_asked(self):
        X, y = IRIS
        y = np.append(["rare"], y[1:].astype(str))
        assert cw.held_out_importance(cw.NaiveBayes(), X, y).weight == 149

    def test_refusals(self):
        with pytest.raises(cw.ClasswiseError, match="150 rows and y has 10 labels"):
            cw.held_out_importance(cw.LDA(), IRIS[0], IRIS[1][:10])


class TestResult:
    found = cw.LDA().fit(*IRIS).importance(*IRIS)

    def test_bars(self):
        lines = str(self.found).splitlines()
        assert max(map(len, lines)) <= 80
        assert lines[2].count("█") > lines[3].count("█") > 0
        assert "integrated out exactly" in lines[-1]
        assert str(self.found) == repr(self.found)
        assert "... and 3 more columns" in self.found.text(most=1)

    def test_bars_where_the_terminal_has_no_blocks(self, monkeypatch):
        class Terminal:
            encoding = "ascii"

        monkeypatch.setattr("sys.stdout", Terminal())
        text = str(self.found)
        monkeypatch.undo()
        assert text.isascii()
        assert "####" in text
        assert max(map(len, text.splitlines())) <= 80

    def test_frames_records_and_html(self):
        frame = self.found.frame()
        assert frame.columns.tolist() == ["name", "increase", "standard_error", "share", "note"]
        assert frame["increase"].is_monotonic_decreasing
        assert frame["share"].sum() == pytest.approx(1)
        assert self.found.records()["name"] == list(self.found.names)
        html = cw.LDA().fit(IRIS[0].add_prefix("<b>"), IRIS[1]).importance(IRIS[0].add_prefix("<b>"), IRIS[1])
        assert "<b>petal" not in html._repr_html_()
        assert "&lt;b&gt;petal" in html._repr_html_()

    def test_a_picture(self):
        pytest.importorskip("matplotlib")
        axes = self.found.plot(most=3)
        assert [bar.get_width() for bar in axes.patches] == [line.increase for line in self.found.lines[:3]]

    def test_columns_without_names_and_nothing_that_matters(self):
        lines = (ImportanceLine(3, 0.0, 0.0, 0.0), ImportanceLine(0, -1.0, np.nan, 0.0))
        text = str(Importance(lines, 0.5, 10.0))
        assert "with all: 0.5, 10 rows" in text
        assert "█" not in text
        assert "column 3 " in text


class TestShell:
    def test_bars_and_json(self, tmp_path, monkeypatch):
        from test_cli import fails, run

        monkeypatch.chdir(tmp_path)
        X, y = TABLES["mixed too"]
        X.assign(y=y).to_csv("rows.csv", index=False)
        run("fit", "rows.csv", "-t", "y", "-m", "lda", "-o", "m.cw")
        m = cw.load("m.cw")
        assert run("importance", "m.cw", "rows.csv").stdout == f"{m.importance(X, y)}\n"
        told = json.loads(run("importance", "m.cw", "rows.csv", "--target", "y", "--json").stdout)
        assert told["method"] == "integrated"
        assert [line["name"] for line in told["columns"]] == list(m.importance(X, y).names)
        assert "no column" in fails("importance", "m.cw", "rows.csv", "--target", "z")
        X.assign(y=y, id=range(len(y))).to_csv("more.csv", index=False)
        assert "Name it with --target" in fails("importance", "m.cw", "more.csv")
        monkeypatch.setattr("classwise.limits.MOST_HELD", 600)
        drawn = run("importance", "m.cw", "rows.csv")
        assert "drawn by chance" in drawn.stderr
        assert "100 rows" in drawn.stdout
