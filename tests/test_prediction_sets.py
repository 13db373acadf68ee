"""Prediction sets: the definition, the guarantee, and everywhere that a model is asked."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax
from sklearn.base import clone
from sklearn.datasets import load_iris

import classwise as cw
from classwise import limits
from classwise.errors import ClasswiseError, NotAvailableError
from classwise.plot.view import look
from classwise.report import ReportData, report_html
from classwise.report.page import percent
from classwise.selection.conformal import held_out_sets
from test_cli import fails, run
from test_select_columns import mixed

NUMBERS = ["first", "second", "third"]


def by_definition(model, X, y, folds, new, coverage, per_class=False, weights=None):
    """The sets of new rows: for each training row, a model fitted again to the rows of the other folds."""
    labels = np.unique(y)
    weights = np.ones(len(y)) if weights is None else weights
    below = np.zeros((len(new), len(labels)))
    for fold in np.unique(folds):
        held = folds == fold
        other = clone(model).fit(X[~held], y[~held], sample_weight=weights[~held])
        ours, theirs = -other.predict_log_proba(X[held]), -other.predict_log_proba(new)
        for row, label, weight in zip(ours, y[held], weights[held], strict=True):
            smaller = row[np.searchsorted(labels, label)] < theirs
            below += weight * (smaller & (labels == label) if per_class else smaller)
    counts = np.array([weights[y == label].sum() for label in labels])
    sets = below < coverage * ((counts if per_class else weights.sum()) + 1)
    empty = ~sets.any(axis=1)
    sets[empty, clone(model).fit(X, y, sample_weight=weights).predict_proba(new).argmax(axis=1)[empty]] = True
    return sets


MODELS = {
    "LDA": cw.LDA(),
    "QDA, shrunk": cw.QDA(shrink=0.1),
    "naive Bayes": cw.NaiveBayes(),
    "Bayes": cw.GaussianClassifier(estimate="bayes"),
}


class TestDefinition:
    @pytest.mark.parametrize("per_class", [False, True])
    @pytest.mark.parametrize("name", MODELS)
    def test_jackknife(self, name, per_class):
        (X, y), (new, _) = mixed(0, rows=60), mixed(1, rows=25)
        model = clone(MODELS[name]).fit(X, y)
        found = model.prediction_sets(new, 0.8, per_class=per_class)
        np.testing.assert_array_equal(
            found, by_definition(MODELS[name], X, y, np.arange(60), new, 0.8, per_class=per_class)
        )

    @pytest.mark.parametrize("per_class", [False, True])
    @pytest.mark.parametrize("name", MODELS)
    def test_folds(self, name, per_class):
        (X, y), (new, _) = mixed(2), mixed(3, rows=40)
        folds, weights = np.arange(len(y)) % 5, np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
        model = clone(MODELS[name]).fit(X, y, sample_weight=weights).calibrate_sets(X, y, weights, folds=folds)
        found = model.prediction_sets(new, 0.85, per_class=per_class)
        expected = by_definition(MODELS[name], X, y, folds, new, 0.85, per_class, weights)
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == bool
        assert found.any(axis=1).all()

    @given(st.integers(0, 1000), st.floats(0.05, 0.94))
    @settings(max_examples=15, deadline=None)
    def test_larger_coverage_gives_larger_sets(self, seed, coverage):
        X, y = mixed(seed, rows=50)
        model = cw.NaiveBayes().fit(X, y).calibrate_sets(X, y, folds=5)
        small, large = (model.prediction_sets(X, c).sum(axis=1) for c in (coverage, coverage + 0.05))
        # Where a set would be empty, it is the most probable class.
        assert (small <= np.maximum(large, 1)).all()

    def test_by_default_leave_one_out_with_few_rows(self):
        X, y = mixed(4, rows=limits.JACKKNIFE_ROWS + 1)
        few, many = (cw.NaiveBayes().fit(X[:n], y[:n]) for n in (50, len(y)))
        assert few.calibrate_sets(X[:50], y[:50]).sets_.method == "jackknife+"
        assert many.calibrate_sets(X, y).sets_.method == "cross-conformal"
        assert "10 folds" in repr(many.sets_)

    def test_a_rare_class_is_in_every_set_of_its_own_coverage(self):
        X, y = mixed(5)
        y = np.where(np.arange(len(y)) < 4, "rare", y)
        sets = cw.NaiveBayes().fit(X, y).prediction_sets(X, 0.9, per_class=True)
        assert sets[:, 3].all()

    def test_a_class_with_a_single_row(self):
        X, y = mixed(6)
        y = np.array(["only", *y[1:]])
        with pytest.warns(cw.DegenerateColumnWarning):
            model = cw.NaiveBayes().fit(X, y)
        with pytest.warns(cw.DegenerateColumnWarning):
            sets = model.prediction_sets(X[1:])
        assert sets.shape == (len(y) - 1, 4)
        assert np.isinf(model._own_sets.scores[-1])

    def test_gaps(self):
        X, y = mixed(7, rows=150, gaps=True)
        sets = cw.LDA().fit(X, y).calibrate_sets(X, y, folds=3).prediction_sets(X)
        assert sets[np.arange(150), np.searchsorted(["a", "b", "c"], y)].mean() > 0.85


class TestGuarantee:
    def test_the_bound(self):
        X, y = mixed(8, rows=100)
        loo, folds = (cw.LDA().fit(X, y).calibrate_sets(X, y, folds=f).sets_ for f in ("loo", 5))
        assert loo.guarantee(0.9) == pytest.approx(0.8)
        assert folds.guarantee(0.9) == pytest.approx(0.8 - min(2 * 0.8 / 21, 0.95 / 6))
        assert loo.guarantee(0.4) == 0.0

    @pytest.mark.parametrize("per_class", [False, True])
    def test_coverage_of_a_model_that_is_wrong(self, per_class):
        """Classes are rings, not Gaussians; the mean coverage over samples is close to the one asked."""
        rng = np.random.default_rng(0)
        covered = []
        for _ in range(30):
            y = rng.choice([0, 1, 1], 260)
            angle, radius = rng.uniform(0, 2 * np.pi, 260), 1 + 0.8 * y + rng.exponential(0.4, 260)
            X = np.c_[radius * np.cos(angle), radius * np.sin(angle)]
            model = cw.LDA().fit(X[:60], y[:60]).calibrate_sets(X[:60], y[:60], folds=6)
            sets = model.prediction_sets(X[60:], 0.8, per_class=per_class)
            held = sets[np.arange(200), y[60:]]
            covered.append([held.mean(), *(held[y[60:] == k].mean() for k in (0, 1))])
        mean, error = np.mean(covered, axis=0), np.std(covered, axis=0) / np.sqrt(30)
        assert 0.8 - 2 * error[0] < mean[0] < 0.9
        assert not per_class or (mean[1:] > 0.8 - 2 * error[1:]).all()


class TestRows:
    def test_rows_are_remembered_but_not_copied_or_stored(self, tmp_path):
        X, y = mixed(9)
        model = cw.LDA().fit(X, y)
        assert model._rows.X is X
        cw.save(model, tmp_path / "m.cw")
        for copy in pickle.loads(pickle.dumps(model)), cw.load(tmp_path / "m.cw"), model.with_priors("uniform"):
            assert getattr(copy, "_rows", None) is None
            with pytest.raises(ClasswiseError, match=r"call calibrate_sets\(X, y\)"):
                copy.prediction_sets(X)
        model.prediction_sets(X)
        assert model._rows is None

    def test_not_of_large_tables(self, monkeypatch):
        monkeypatch.setattr(limits, "REMEMBERED_VALUES", 100)
        X, y = mixed(9)
        with pytest.raises(ClasswiseError, match="a large table"):
            cw.LDA().fit(X, y).prediction_sets(X)

    @pytest.mark.parametrize("how", ["statistics", "batches", "source"])
    def test_other_fits_take_the_rows_again(self, how):
        X, y = mixed(10)
        model = {
            "statistics": lambda: cw.LDA().fit_statistics(cw.summarize(X, y)),
            "batches": lambda: cw.LDA().partial_fit(X, y),
            "source": lambda: cw.LDA().fit_source(X.assign(label=y), target="label"),
        }[how]()
        with pytest.raises(ClasswiseError, match="or fitted from statistics, batches, a source"):
            model.prediction_sets(X)
        expected = cw.LDA().fit(X, y).prediction_sets(X)
        np.testing.assert_array_equal(model.calibrate_sets(X, y).prediction_sets(X), expected)

    def test_a_file_gives_the_same_sets(self, tmp_path):
        X, y = mixed(11)
        model = cw.NaiveBayes().fit(X, y).calibrate_sets(X, y, folds=4)
        cw.save(model, tmp_path / "m.cw")
        loaded = cw.load(tmp_path / "m.cw")
        for per_class in False, True:
            ours, theirs = (m.prediction_sets(X, 0.7, per_class=per_class) for m in (model, loaded))
            np.testing.assert_array_equal(ours, theirs)

    def test_a_new_fit_forgets_the_scores(self):
        X, y = mixed(12)
        model = cw.LDA().fit(X, y).calibrate_sets(X, y)
        model.fit(X[::2], y[::2])
        assert not hasattr(model, "sets_")
        model.calibrate_sets(X[::2], y[::2]).partial_fit(X[1::2], y[1::2])
        assert not hasattr(model, "sets_")

    def test_other_rows_are_refused(self):
        X, y = mixed(13)
        model = cw.LDA().fit(X, y)
        for rows, labels in ((X[1:], y[1:]), (X, np.roll(y, 1))):
            with pytest.raises(ClasswiseError, match="These are not the rows that the model was fitted on"):
                model.calibrate_sets(rows, labels)
        values = X[NUMBERS].to_numpy(copy=True)
        model = cw.LDA().fit(values, y)
        values += 1.0
        with pytest.raises(ClasswiseError, match="or they have changed since"):
            model.prediction_sets(values)


class TestRefusals:
    @pytest.mark.parametrize(
        "model",
        [cw.AODE(), cw.BayesianLogistic(), cw.ForestClassifier(trees=5), cw.MixtureClassifier()],
        ids=lambda m: type(m).__name__,
    )
    def test_models_without_exact_leave_one_out(self, model):
        X, y = mixed(14)
        with pytest.raises(NotAvailableError, match=f"which {type(model).__name__} does not have"):
            model.fit(X, y).prediction_sets(X)

    @pytest.mark.parametrize(
        ("model", "named"),
        [
            (cw.RDA(folds=3), "share='cv' and shrink='cv' was chosen on all rows"),
            (cw.LDA(calibrate="temperature", folds=3), "calibrate='temperature' was chosen on all rows"),
        ],
    )
    def test_options_chosen_on_all_rows(self, model, named):
        X, y = mixed(15)
        with pytest.raises(ClasswiseError, match=named):
            model.fit(X, y).prediction_sets(X)

    def test_options(self):
        X, y = mixed(16)
        model = cw.LDA().fit(X, y)
        for coverage in (0, 1, 1.2, "most"):
            with pytest.raises(ClasswiseError, match=r"coverage=.* is not an option"):
                model.prediction_sets(X, coverage)
        with pytest.raises(ClasswiseError, match="folds='few' is not an option"):
            model.calibrate_sets(X, y, folds="few")

    def test_leave_one_out_of_many_rows(self, monkeypatch):
        monkeypatch.setattr(limits, "MOST_JACKKNIFE", 50)
        X, y = mixed(17)
        with pytest.raises(ClasswiseError, match="folds='loo' keeps a model for each of 90 rows"):
            cw.LDA().fit(X, y).calibrate_sets(X, y, folds="loo")


class TestDecision:
    def test_sets_are_those_of_the_model(self):
        X, y = mixed(18)
        decision = cw.Decision(cw.QDA(shrink=0.1), costs={"a": {"b": 3}}).fit(X, y)
        np.testing.assert_array_equal(decision.prediction_sets(X, 0.8), decision.model_.prediction_sets(X, 0.8))

    def test_rows_with_larger_sets_are_rejected(self, tmp_path):
        X, y = mixed(19)
        decision = cw.Decision(cw.NaiveBayes(), reject={"coverage": 0.9}).fit(X, y)
        unsure = decision.prediction_sets(X, 0.9).sum(axis=1) > 1
        assert 0 < unsure.mean() < 1
        found = decision.decide(X)
        np.testing.assert_array_equal(found.refused, unsure)
        assert np.isnan(found.cost[unsure]).all()
        assert set(found.labels[unsure]) == {"reject"}
        assert decision.announced_.tolist() == ["a", "b", "c", "reject"]
        cw.save(decision, tmp_path / "d.cw")
        np.testing.assert_array_equal(cw.load(tmp_path / "d.cw").predict(X), found.labels)

    def test_regions_show_where_it_rejects(self):
        X, y = mixed(19)
        decision = cw.Decision(cw.LDA(), reject={"coverage": 0.9}).fit(X[["first", "second"]], y)
        axes = cw.plot.plot_regions(decision, X[["first", "second"]], y)
        assert "reject" in {text.get_text() for text in axes.get_legend().get_texts()}
        view = look(decision, ["first", "second"], None, 2)
        points = X[["first", "second"]].to_numpy()
        np.testing.assert_array_equal(view.refuses(points), decision.decide(X[["first", "second"]]).refused)

    def test_a_source(self):
        X, y = mixed(19)
        decision = cw.Decision(cw.NaiveBayes(), reject={"coverage": 0.9})
        there = clone(decision).fit_source(X.assign(label=y), target="label")
        np.testing.assert_array_equal(there.predict(X), decision.fit(X, y).predict(X))

    def test_refusals(self):
        X, y = mixed(20)
        with pytest.raises(ClasswiseError, match="give a coverage between 0 and 1"):
            cw.Decision(cw.LDA(), reject={"coverage": 1.0}).fit(X, y)
        decision = cw.Decision(cw.LDA(), reject={"coverage": 0.9}).fit(X, y)
        for export in (
            lambda: cw.to_sql(decision, "rows"),
            lambda: cw.to_onnx(decision),
            lambda: cw.to_python(decision),
        ):
            with pytest.raises(ClasswiseError, match="which only the model itself does"):
                export()


class TestSources:
    def test_a_column_of_sets(self):
        X, y = load_iris(return_X_y=True, as_frame=True)
        model = cw.LDA().fit(X, np.array(["setosa", "versicolor", "virginica"])[y])
        table = cw.predict(model, X, keys=[], sets=0.99, proba=True).read_all().to_pandas()
        assert list(table)[:3] == ["label", "posterior", "set"]
        names = np.array([set(text.split("|")) for text in table["set"]])
        expected = [set(model.classes_[row]) for row in model.prediction_sets(X, 0.99)]
        assert names.tolist() == expected
        assert {"versicolor", "virginica"} in expected

    def test_models_without_sets(self):
        X, y = mixed(21)
        with pytest.raises(NotAvailableError, match="ForestClassifier does not have"):
            cw.predict(cw.ForestClassifier(trees=5).fit(X, y), X, sets=0.9)


class TestShell:
    @pytest.fixture
    def csv(self, tmp_path):
        X, y = mixed(22, rows=200)
        X.assign(label=y).to_csv(tmp_path / "rows.csv", index=False)
        return tmp_path / "rows.csv"

    def test_fit_and_predict(self, csv, tmp_path):
        run("fit", csv, "-t", "label", "-m", "naive-bayes", "--sets", "-o", tmp_path / "nb.cw")
        run("predict", tmp_path / "nb.cw", csv, "--drop", "label", "--sets", "0.9", "-o", tmp_path / "out.csv")
        rows, found = pd.read_csv(csv), pd.read_csv(tmp_path / "out.csv")
        X, y = rows.drop(columns="label"), rows["label"]
        model = cw.NaiveBayes().fit(X, y).calibrate_sets(X, y, folds=10)
        expected = ["|".join(model.classes_[row]) for row in model.prediction_sets(X, 0.9)]
        assert found["set"].tolist() == expected

    def test_errors(self, csv, tmp_path):
        run("fit", csv, "-t", "label", "-m", "lda", "-o", tmp_path / "lda.cw")
        told = fails("predict", tmp_path / "lda.cw", csv, "--drop", "label", "--sets", "0.9")
        assert told.endswith("lda.cw has no scores of training rows, which prediction sets need: fit it with --sets.")
        run("fit", csv, "-t", "label", "-m", "lda", "--sets", "-f", "-o", tmp_path / "lda.cw")
        told = fails("predict", tmp_path / "lda.cw", csv, "--drop", "label", "--sets", "0.9", "--priors", "uniform")
        assert "leave --priors out" in told
        assert "--sets is for lda" in fails(
            "fit", csv, "-t", "label", "-m", "forest", "--sets", "-o", tmp_path / "f.cw"
        )
        run("summarize", csv, "-t", "label", "-o", tmp_path / "s.cws")
        assert "--sets needs rows" in fails("fit", tmp_path / "s.cws", "-m", "lda", "--sets", "-o", tmp_path / "l.cw")


class TestReport:
    def test_a_section_on_the_size_of_sets(self):
        X, y = mixed(23, rows=150)
        comparison = cw.compare(X, y, 4, only=["naive-bayes", "lda"], references=False)
        page = report_html(ReportData(comparison, X, y))
        assert "Sets that hold the true class" in page
        winner = comparison.winner
        logs = winner.log_posterior
        if winner.uses_power:
            logs = np.log(softmax(winner.power * logs, axis=1))
        sets = held_out_sets(logs, comparison.codes, 0.95)
        share = sets[np.arange(150), comparison.codes].mean()
        assert 0.93 <= share <= 0.98
        assert f"<td>{percent(share)}</td><td>{sets.sum(axis=1).mean():.2f}</td>" in page.replace(" class='word'", "")
