"""Bayesian logistic regression as an estimator: options, tables, hard rows, answers."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import classwise as cw
from classwise.engines import MemoryEngine
from classwise.logistic import PrecisionGroups, Regression, TrainingRows, learn, logistic_plan, rows_in_memory, training
from classwise.logistic.evidence import FARTHEST, HASTY_FARTHEST, Bracket, _crossing
from classwise.logistic.weights import levels_of_rows
from classwise.rows.sources import read_table

X, y = load_iris(return_X_y=True)
RNG = np.random.default_rng(0)


# Beside those of test_sklearn_contract.py.
@parametrize_with_checks(
    [
        cw.BayesianLogistic(precision=1.0, predictive="plugin"),
        cw.BayesianLogistic(precision="relevance", missing="error"),
        cw.BayesianLogistic(fit_intercept=False, standardize=False, precision=2.0),
    ]
)
def test_scikit_learn_contract(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cw.DegenerateColumnWarning)
        check(estimator)


def test_pickle_clone_and_cross_validation():
    m = cw.BayesianLogistic(precision=0.5).fit(X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(m)).predict_proba(X), m.predict_proba(X))
    assert clone(m).get_params() == m.get_params()
    assert cross_val_score(cw.BayesianLogistic(), X, y, scoring="neg_log_loss").mean() > -0.2


class TestManyWeights:
    """Ways to the same weights that pay where there are many."""

    @pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
    def test_the_precision_without_a_spectrum(self, load, monkeypatch):
        rows, labels = load(return_X_y=True)
        expected = cw.BayesianLogistic().fit(rows, labels)
        monkeypatch.setattr("classwise.limits.MANY_WEIGHTS", 0)
        found = cw.BayesianLogistic().fit(rows, labels)
        assert found.precision_[0] == pytest.approx(expected.precision_[0], rel=1e-6)
        np.testing.assert_allclose(found.predict_proba(rows), expected.predict_proba(rows), atol=1e-6)
        assert found.log_marginal_likelihood_ == pytest.approx(expected.log_marginal_likelihood_, rel=1e-7)

    @pytest.mark.parametrize("farthest", [1.0, FARTHEST, HASTY_FARTHEST])
    @pytest.mark.parametrize("power", [-3.0, -1.0, 0.5])
    def test_precisions_that_leap_over_each_other_are_bracketed(self, power, farthest):
        bracket, values = Bracket(farthest), np.array([50.0])
        for _ in range(30):
            values = bracket.next(values, values**power)  # which meet at 1
        assert values[0] == pytest.approx(1.0, rel=1e-6)

    def test_a_start_near_the_mode_with_its_precision(self):
        rows, labels = load_wine(return_X_y=True)
        whole = cw.BayesianLogistic().fit(rows, labels)
        some = np.arange(len(rows)) % 5 > 0
        found = cw.BayesianLogistic()._fit(rows[some], labels[some], None, whole.near(keep=True))
        assert found.precision_ == whole.precision_
        expected = cw.BayesianLogistic(precision=whole.precision_[0]).fit(rows[some], labels[some])
        np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-6, atol=1e-9)
        assert found.passes_ < expected.passes_

    def test_weights_alone_need_no_curvature(self, monkeypatch):
        rows, labels = load_wine(return_X_y=True)
        whole = cw.BayesianLogistic(predictive="plugin").fit(rows, labels)
        some = np.arange(len(rows)) % 5 > 0
        near = whole.near(keep=True)
        expected = cw.BayesianLogistic(predictive="plugin")._fit(rows[some], labels[some], None, near)
        monkeypatch.setattr(TrainingRows, "curvature", lambda *_: pytest.fail("not asked for"))
        found = cw.BayesianLogistic(predictive="plugin")._fit(
            rows[some], labels[some], None, near._replace(is_enough=True)
        )
        np.testing.assert_allclose(found.predict_proba(rows), expected.predict_proba(rows), rtol=0, atol=1e-9)
        assert found.passes_ == 0
        assert found.model_.log_evidence is None
        np.testing.assert_array_equal(found.coef_cov_, 0.0)
        drawn = found.classifier_.beliefs.sample(3, RNG)
        np.testing.assert_array_equal(drawn, np.array([found.classifier_.beliefs.mean] * 3))

    def test_weights_far_away_are_looked_for_with_curvature(self):
        """A metric that leads nowhere: the way to the mode is that without it."""
        rows, labels = load_wine(return_X_y=True)
        whole = cw.BayesianLogistic(predictive="plugin").fit(rows, labels)
        near = whole.near(keep=True)
        flat = near._replace(metric=replace(near.metric, factor=1e-3 * near.metric.factor), is_enough=True)
        found = cw.BayesianLogistic(predictive="plugin")._fit(rows[::2], labels[::2], None, flat)
        expected = cw.BayesianLogistic(precision=whole.precision_[0], predictive="plugin").fit(rows[::2], labels[::2])
        np.testing.assert_allclose(found.predict_proba(rows), expected.predict_proba(rows), rtol=0, atol=1e-8)
        assert found.passes_ > 0

    def test_folds_that_keep_it_are_near_those_that_do_not(self, monkeypatch):
        rows, labels = load_wine(return_X_y=True)
        plain = cw.compare(rows, labels, 4, references=False)["logistic"]
        monkeypatch.setattr("classwise.limits.KEPT_PRECISION", 0)
        kept = cw.compare(rows, labels, 4, references=False)["logistic"]
        assert kept.estimate("log_loss").value == pytest.approx(plain.estimate("log_loss").value, abs=0.01)


class TestHardRows:
    def test_separable_classes_stay_finite(self):
        for precision in (1e-6, 1.0, "evidence"):
            m = cw.BayesianLogistic(precision=precision).fit(X, y == 0)
            assert np.isfinite(m.coef_).all()
            assert np.isfinite(m.predict_log_proba(X)).all()
            assert np.isfinite(m.log_marginal_likelihood_)

    def test_separable_classes_without_a_prior_are_refused(self):
        with pytest.raises(cw.ClasswiseError, match="can be separated"):
            cw.BayesianLogistic(precision=0).fit(X, y == 0)

    def test_collinear_columns(self):
        twice = np.column_stack([X, X[:, 0]])
        m = cw.BayesianLogistic(precision=1.0).fit(twice, y)
        np.testing.assert_allclose(m.coef_[:, 0], m.coef_[:, 4], atol=1e-9)
        with pytest.raises(cw.ClasswiseError, match="depend on each other"):
            cw.BayesianLogistic(precision=0).fit(twice, y == 1)

    def test_more_columns_than_rows(self):
        wide = RNG.normal(size=(30, 80))
        m = cw.BayesianLogistic().fit(wide, np.arange(30) % 3)
        assert np.isfinite(m.predict_log_proba(wide)).all()

    def test_one_class(self):
        with pytest.raises(cw.ClasswiseError, match="one class"):
            cw.BayesianLogistic().fit(X, np.zeros(150))

    @pytest.mark.parametrize("precision", [0, 4.0])
    def test_a_column_that_never_varies_is_left_out(self, precision):
        plain = cw.BayesianLogistic(precision=precision).fit(X, y == 1)
        constant = np.column_stack([X, np.full(150, 7.0)])
        with pytest.warns(cw.IgnoredColumnWarning, match=r"column 4 \(always 7\)"):
            m = cw.BayesianLogistic(precision=precision).fit(constant, y == 1)
        np.testing.assert_allclose(m.coef_, plain.coef_, rtol=1e-7)

    def test_offsets_and_scales_do_not_matter(self):
        m = cw.BayesianLogistic(precision=1.0).fit(X, y)
        moved = cw.BayesianLogistic(precision=1.0).fit(1e6 + 1e-3 * X, y)
        np.testing.assert_allclose(m.predict_proba(X), moved.predict_proba(1e6 + 1e-3 * X), atol=1e-6)

    def test_too_many_weights(self):
        with pytest.raises(cw.ClasswiseError, match="weights"):
            cw.BayesianLogistic().fit(RNG.normal(size=(20, 12_000)), np.arange(20) % 4)

    def test_infinity_is_refused_at_predict(self):
        m = cw.BayesianLogistic(precision=1.0).fit(X, y)
        with pytest.raises(cw.ClasswiseError, match="infinity in column 1"):
            m.predict_proba([[5.0, np.inf, 1.0, 1.0]])


class TestOptions:
    @pytest.mark.parametrize(
        "options",
        [
            {"link": "cloglog"},
            {"precision": "best"},
            {"precision": -1},
            {"predictive": "mean"},
            {"posterior": "exact"},
            {"draws": 2},
            {"missing": "integrate"},
            {"precision": {"width": "evidence"}},
            {"precision": {(0, 1): 1.0, 1: 2.0}},
            {"posterior": "sampled", "link": "probit"},
            {"posterior": "sampled", "predictive": "moderated"},
            {"families": {0: "poisson"}},
        ],
    )
    def test_what_is_not_an_option(self, options):
        with pytest.raises(cw.ClasswiseError):
            cw.BayesianLogistic(**options).fit(np.abs(X), y == 0)

    def test_probit_is_for_two_classes(self):
        with pytest.raises(cw.ClasswiseError, match="two classes"):
            cw.BayesianLogistic(link="probit").fit(X, y)

    def test_standardizing_is_a_prior_in_other_units(self):
        m = cw.BayesianLogistic(precision=2.0).fit(X, y)
        by_hand = cw.BayesianLogistic(precision=2.0, standardize=False).fit((X - X.mean(0)) / X.std(0), y)
        np.testing.assert_allclose(m.coef_ * X.std(axis=0), by_hand.coef_, atol=1e-9)
        np.testing.assert_allclose(m.coef_std_ * X.std(axis=0), by_hand.coef_std_, atol=1e-9)

    def test_no_intercept(self):
        m = cw.BayesianLogistic(precision=1.0, fit_intercept=False).fit(X - 3, y == 0)
        assert m.intercept_.tolist() == [0.0]
        assert m.predict_proba([[0.0] * 4])[0].tolist() == [0.5, 0.5]

    def test_an_intercept_with_a_prior_is_smaller(self):
        flat = cw.BayesianLogistic(precision=30.0, standardize=False).fit(X, y == 0)
        with_prior = cw.BayesianLogistic(precision=30.0, standardize=False, penalize_intercept=True).fit(X, y == 0)
        assert abs(with_prior.intercept_[0]) < abs(flat.intercept_[0])


class TestPrecision:
    def test_evidence_is_a_fixed_point_of_mackays(self):
        m = cw.BayesianLogistic(standardize=False).fit((X - X.mean(0)) / X.std(0), y == 1)
        precision = m.precision_[0]
        determined = 4 - precision * (m.coef_std_**2).sum()
        assert precision == pytest.approx(determined / (m.coef_**2).sum(), rel=1e-5)

    def test_columns_that_do_not_matter_are_found(self):
        rng = np.random.default_rng(3)
        rows = rng.normal(size=(400, 6))
        labels = rows[:, 0] + 0.5 * rows[:, 1] + rng.logistic(size=400) > 0
        m = cw.BayesianLogistic(precision="relevance").fit(rows, labels)
        assert max(m.precision_[0], m.precision_[1]) < min(m.precision_[j] for j in range(2, 6))
        assert np.abs(m.coef_[0, 2:]).max() < 0.25 * np.abs(m.coef_[0, 1])
        plain = cw.BayesianLogistic().fit(rows, labels)
        assert m.log_marginal_likelihood_ > plain.log_marginal_likelihood_

    def test_groups_by_name(self):
        table = pd.DataFrame(X, columns=list("abcd"))
        m = cw.BayesianLogistic(precision={("a", "b"): "evidence", "c": 5.0}).fit(table, y == 1)
        assert m.precision_["a"] == m.precision_["b"]
        assert m.precision_["c"] == 5.0
        assert m.precision_["d"] not in (m.precision_["a"], 5.0)

    def test_no_signal_means_a_precision_without_end_and_no_error(self):
        both = np.repeat(np.random.default_rng(0).normal(size=(100, 3)), 2, axis=0)
        m = cw.BayesianLogistic().fit(both, np.arange(200) % 2)  # each row once in either class
        assert m.precision_[0] > 1e4
        assert np.abs(m.coef_).max() < 1e-9
        assert np.isfinite(m.log_marginal_likelihood_)

    def test_a_narrow_top_is_not_stepped_over(self):
        """The evidence rises up to 0, falls to 0.3, and rises again: from just below 0 its top is near."""
        assert _crossing(lambda t: t * (t - 0.3), -1e-9, -20.0, 20.0) == pytest.approx(0, abs=1e-9)
        assert _crossing(lambda t: t * (t - 0.3), 0.2, -20.0, 20.0) == pytest.approx(0, abs=1e-9)
        assert _crossing(lambda t: t * (t - 0.3), 0.31, -20.0, 20.0) == 20.0

    def test_no_prior_has_no_evidence(self):
        assert not hasattr(cw.BayesianLogistic(precision=0).fit(X[50:, :2], y[50:]), "log_marginal_likelihood_")


class TestTables:
    TABLE = pd.DataFrame(
        {
            "age": [31.0, 42, 57, 60, 25, 44, 38, 71],
            "city": ["Rome", "Oslo", "Rome", "Bern", "Oslo", "Bern", "Rome", "Oslo"],
            "smoker": [True, False] * 4,
        }
    )
    LABELS = np.array(["a", "a", "b", "b", "a", "b", "a", "b"])

    def test_categories_are_columns_of_levels(self):
        m = cw.BayesianLogistic(precision=1.0).fit(self.TABLE, self.LABELS)
        names = ["age", "city=Bern", "city=Oslo", "city=Rome", "smoker=True", "(intercept)"]
        assert m.coef_names_ == names
        assert m.coef_.shape == (1, 5)
        assert m.coef_cov_.shape == (6, 6)
        assert m.schema_["city"].levels == 3

    def test_the_same_by_hand(self):
        m = cw.BayesianLogistic(precision=1.0).fit(self.TABLE, self.LABELS)
        dummies = np.column_stack(
            [
                (self.TABLE["age"] - self.TABLE["age"].mean()) / self.TABLE["age"].std(ddof=0),
                *[self.TABLE["city"] == city for city in ("Bern", "Oslo", "Rome")],
                self.TABLE["smoker"],
            ]
        ).astype(float)
        by_hand = cw.BayesianLogistic(precision=1.0, standardize=False).fit(dummies, self.LABELS)
        np.testing.assert_allclose(m.predict_proba(self.TABLE), by_hand.predict_proba(dummies), atol=1e-9)

    def test_missing_values_stand_at_the_mean(self):
        holes = self.TABLE.copy()
        holes.loc[2, "age"] = np.nan
        holes.loc[4, "city"] = None
        with pytest.warns(cw.ImputedValueWarning, match="'age' .* 'city'"):
            m = cw.BayesianLogistic(precision=1.0).fit(holes, self.LABELS)
        mean = holes["age"].mean()
        row = pd.DataFrame({"age": [np.nan, mean], "city": ["Rome", "Rome"], "smoker": [True, True]})
        p = m.predict_proba(row)
        np.testing.assert_allclose(p[0], p[1], atol=1e-12)
        with pytest.raises(cw.ClasswiseError, match="missing"):
            cw.BayesianLogistic(missing="error").fit(holes, self.LABELS)

    def test_missing_values_are_refused_at_predict_too(self):
        m = cw.BayesianLogistic(precision=1.0, missing="error").fit(X, y)
        with pytest.raises(cw.ClasswiseError, match="missing='mean'"):
            m.predict([[np.nan, 1, 1, 1]])

    def test_levels_never_seen_are_missing(self):
        m = cw.BayesianLogistic(precision=1.0).fit(self.TABLE, self.LABELS)
        row = pd.DataFrame({"age": [40.0, 40.0], "city": ["Lima", None], "smoker": [True, True]})
        p = m.predict_proba(row)
        np.testing.assert_array_equal(p[0], p[1])

    def test_weights_are_rows(self):
        weights = RNG.integers(0, 3, size=8)
        weights[[0, 2]] = 1
        m = cw.BayesianLogistic().fit(self.TABLE, self.LABELS, sample_weight=weights)
        repeated = np.repeat(np.arange(8), weights)
        again = cw.BayesianLogistic().fit(self.TABLE.iloc[repeated], self.LABELS[repeated])
        np.testing.assert_allclose(m.predict_proba(self.TABLE), again.predict_proba(self.TABLE), atol=1e-6)

    def test_ids_are_left_out(self):
        table = pd.DataFrame({"length": X[:, 0], "id": [f"flower {i}" for i in range(150)]})
        with pytest.warns(cw.IgnoredColumnWarning, match="id"):
            m = cw.BayesianLogistic(precision=1.0).fit(table, y)
        assert m.coef_names_ == ["length", "(intercept)"]

    @pytest.mark.parametrize("library", ["polars", "pyarrow"])
    def test_other_libraries(self, library):
        module = pytest.importorskip(library)
        frame = module.from_pandas(self.TABLE) if library == "polars" else module.Table.from_pandas(self.TABLE)
        ours = cw.BayesianLogistic(precision=1.0).fit(frame, self.LABELS).predict_proba(frame)
        np.testing.assert_allclose(
            ours, cw.BayesianLogistic(precision=1.0).fit(self.TABLE, self.LABELS).predict_proba(self.TABLE)
        )


def curvature_of(part, weights=None):
    """The curvature of some of the rows, at weights that mean nothing."""
    m = cw.BayesianLogistic(precision=1.0).fit(X, y).classifier_
    at = np.random.default_rng(5).normal(size=m.beliefs.mean.shape)
    return Regression(m.design, m.likelihood).curvature(
        at, X[part], y[part], None if weights is None else weights[part]
    )


class TestChunks:
    def test_chunks_add_up(self, monkeypatch):
        rng = np.random.default_rng(0)
        rows, labels = rng.normal(size=(3000, 6)), rng.integers(3, size=3000)
        labels[rows[:, 0] > 0.5] = 0
        whole = cw.BayesianLogistic().fit(rows, labels)
        monkeypatch.setattr(training, "_chunk_rows", lambda table, regression: 97)
        chunked = cw.BayesianLogistic().fit(rows, labels)
        np.testing.assert_allclose(chunked.coef_, whole.coef_, rtol=0, atol=1e-10)
        np.testing.assert_allclose(chunked.coef_cov_, whole.coef_cov_, rtol=0, atol=1e-10)
        assert chunked.log_marginal_likelihood_ == pytest.approx(whole.log_marginal_likelihood_, rel=1e-10)

    def test_starting_from_some_of_the_rows_changes_nothing(self, monkeypatch):
        rng = np.random.default_rng(0)
        rows, labels = rng.normal(size=(6000, 4)), np.arange(6000) % 3
        rows[labels == 1] += 0.5
        slow = cw.BayesianLogistic(precision=1.0).fit(rows, labels)
        monkeypatch.setattr("classwise.limits.START_ROWS", 500)
        quick = cw.BayesianLogistic(precision=1.0).fit(rows, labels)
        assert quick.passes_ < slow.passes_
        np.testing.assert_allclose(quick.coef_, slow.coef_, atol=1e-10)
        np.testing.assert_allclose(quick.coef_cov_, slow.coef_cov_, atol=1e-9)

    @pytest.mark.parametrize("precision", [1.0, "evidence", {(0, 1): "evidence", 2: 3.0, 3: "evidence"}])
    @pytest.mark.parametrize("kind", ["plain", "far", "missing", "collinear", "weighted", "no intercept"])
    def test_fewer_rows_first_then_all(self, monkeypatch, kind, precision):
        """A tenth of a tenth, a tenth, all: the same answer as from all rows at once, of which curvature is rare."""
        rng = np.random.default_rng(1)
        rows, labels = 2 * rng.normal(size=(20_000, 4)) + 5, np.arange(20_000) % 3
        rows[labels == 1, 0] += 1
        rows[labels == 2, 1] -= 1
        if kind == "missing":
            rows[rng.random(rows.shape) < 0.02] = np.nan
        if kind == "collinear":
            rows = np.column_stack([rows, rows[:, 0]])
        rows += 1e8 * (kind == "far")
        weights = rng.exponential(size=20_000) if kind == "weighted" else None
        options = {"precision": precision, "fit_intercept": kind != "no intercept"}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cw.ImputedValueWarning)
            slow = cw.BayesianLogistic(**options).fit(rows, labels, weights)
            monkeypatch.setattr("classwise.limits.START_ROWS", 800)
            monkeypatch.setattr("classwise.limits.START_ROWS_PER_WEIGHT", 20)
            assert len(levels_of_rows(20_000, 10)) == 2
            quick = cw.BayesianLogistic(**options).fit(rows, labels, weights)
        assert quick.passes_ <= 3 < slow.passes_
        np.testing.assert_allclose(quick.coef_, slow.coef_, rtol=0, atol=1e-8)
        np.testing.assert_allclose(quick.coef_std_, slow.coef_std_, rtol=1e-7)
        np.testing.assert_allclose(list(quick.precision_.values()), list(slow.precision_.values()), rtol=1e-5)
        assert quick.log_marginal_likelihood_ == pytest.approx(slow.log_marginal_likelihood_, abs=1e-6)

    def test_what_some_rows_say_of_the_precision_is_kept(self, monkeypatch):
        """Of classes that are nearly separated the metric of some rows is not that of all, but their precision is."""
        rng = np.random.default_rng(0)
        labels = np.arange(8000) % 3
        rows = rng.normal(size=(8000, 10)) + 2 * rng.normal(size=(3, 10))[labels]
        slow = cw.BayesianLogistic().fit(rows, labels)
        monkeypatch.setattr("classwise.limits.START_ROWS", 1000)
        monkeypatch.setattr("classwise.limits.START_ROWS_PER_WEIGHT", 20)
        quick = cw.BayesianLogistic().fit(rows, labels)
        assert quick.passes_ < 20 < slow.passes_
        np.testing.assert_allclose(quick.coef_, slow.coef_, rtol=0, atol=1e-7)
        assert quick.precision_[0] == pytest.approx(slow.precision_[0], rel=1e-7)

    def test_the_precision_is_found_in_few_passes(self):
        assert cw.BayesianLogistic().fit(*load_wine(return_X_y=True)).passes_ < 14

    def test_mixed_steps_need_fewer_gradients(self, monkeypatch):
        """Of all rows one curvature, and gradients that each bring the mode nearer by more than the metric alone."""
        rng = np.random.default_rng(0)
        rows = rng.normal(size=(40_000, 5))
        labels = (rows @ rng.normal(size=(5, 3)) + rng.gumbel(size=(40_000, 3))).argmax(axis=1)
        monkeypatch.setattr("classwise.limits.START_ROWS", 1000)
        slope, calls = TrainingRows.slope, []
        monkeypatch.setattr(TrainingRows, "slope", lambda self, weights: calls.append(weights) or slope(self, weights))
        assert cw.BayesianLogistic().fit(rows, labels).passes_ == 1
        mixed = len(calls)
        monkeypatch.setattr("classwise.logistic.weights._mixed", lambda tried, changes, metric: tried[-1] + changes[-1])
        cw.BayesianLogistic().fit(rows, labels)
        assert mixed < len(calls) - mixed

    def test_which_rows_need_no_columns(self):
        def is_direct(table, **options):
            found = []
            with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
                warnings.simplefilter("ignore", cw.ImputedValueWarning)
                patch.setattr(
                    logistic_plan,
                    "learn",
                    lambda rows, *rest: found.append(rows.regression.direct) or learn(rows, *rest),
                )
                cw.BayesianLogistic(precision=1.0, **options).fit(table, y)
            return found[0]

        gap = X.copy()
        gap[3, 1] = np.nan
        assert is_direct(X)
        assert is_direct(100 + X, standardize=False)
        assert not is_direct(1e6 + X)
        assert not is_direct(gap)
        assert not is_direct(pd.DataFrame(X).assign(level=np.where(y == 1, "a", "b")))

    def test_curvature_is_a_statistic(self):
        whole, first, second = curvature_of(slice(None)), curvature_of(slice(0, 37)), curvature_of(slice(37, None))
        for merged in (first + second, second + first, whole + curvature_of(slice(0, 0))):
            np.testing.assert_allclose(merged.products, whole.products, rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(merged.gradient, whole.gradient, rtol=1e-12, atol=1e-12)
            assert merged.loss == pytest.approx(whole.loss)
        np.testing.assert_allclose((whole - second).products, first.products, atol=1e-12)
        doubled = curvature_of(slice(None), np.full(150, 2.0))
        np.testing.assert_allclose(doubled.products, whole.scaled(2).products, rtol=1e-12)


class TestAnswers:
    def test_another_average_needs_no_new_fit(self):
        X, y = load_breast_cancer(return_X_y=True)
        m = cw.BayesianLogistic(precision=0.1).fit(X[:, :4], y)
        for predictive in ("plugin", "moderated", "integrated"):
            other = cw.BayesianLogistic(precision=0.1, predictive=predictive).fit(X[:, :4], y)
            answers = m.set_params(predictive=predictive).predict_proba(X[:, :4])
            np.testing.assert_array_equal(answers, other.predict_proba(X[:, :4]))
        with pytest.raises(cw.ClasswiseError, match="predictive='mean' is not an option; choose 'integrated'"):
            m.set_params(predictive="mean").predict(X[:, :4])

    def test_a_row_too_far_to_know_its_variance_is_refused(self):
        m = cw.BayesianLogistic(precision=1.0).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
        for predictive in ("integrated", "moderated"):
            with pytest.raises(cw.ClasswiseError, match="beyond 1e150"):
                m.set_params(predictive=predictive).predict_proba([[1e200]])
        with pytest.raises(cw.ClasswiseError, match="beyond 1e150"):
            m.predict_interval([[1e200]])
        assert m.set_params(predictive="plugin").predict_proba([[1e200]]).tolist() == [[0, 1]]

    def test_the_interval_holds_its_share_of_draws(self):
        for labels in (y == 1, y):
            m = cw.BayesianLogistic(precision=1.0).fit(X, labels)
            low, high = np.moveaxis(m.predict_interval(X[:5], level=0.8), -1, 0)
            draws = m.sample_weights(20_000, random_state=0)
            scores = np.einsum("nkq,mq->nmk", draws, np.c_[X[:5], np.ones(5)])
            if scores.shape[2] == 1:
                scores = np.concatenate([np.zeros_like(scores), scores], axis=2)
            p = np.exp(scores - scores.max(axis=2, keepdims=True))
            p /= p.sum(axis=2, keepdims=True)
            inside = ((p >= low) & (p <= high)).mean(axis=0)
            np.testing.assert_allclose(inside, 0.8, atol=0.02)

    def test_draws_have_the_covariance(self):
        m = cw.BayesianLogistic(precision=1.0).fit(X, y)
        draws = m.sample_weights(50_000, random_state=1).reshape(50_000, -1)
        np.testing.assert_allclose(draws.mean(axis=0), np.c_[m.coef_, m.intercept_].ravel(), atol=0.1)
        scale = np.sqrt(m.coef_cov_.diagonal())
        np.testing.assert_allclose(
            np.cov(draws.T) / scale / scale[:, None], m.coef_cov_ / scale / scale[:, None], atol=0.03
        )

    def test_averaging_is_less_sure_than_plugging_in(self):
        sure = cw.BayesianLogistic(precision=0.1, predictive="plugin").fit(X, y == 1)
        modest = cw.BayesianLogistic(precision=0.1).fit(X, y == 1)
        assert (modest.predict_proba(X).max(axis=1) <= sure.predict_proba(X).max(axis=1) + 1e-12).all()
        np.testing.assert_array_equal(sure.predict(X), modest.predict(X))

    @pytest.mark.parametrize("link", ["logit", "probit"])
    def test_explanations_add_up_to_the_log_odds(self, link):
        m = cw.BayesianLogistic(link=link, precision=1.0, predictive="plugin").fit(X, y == 1)
        explanation = m.explain(X[77])
        odds = m.decision_function(X[[77]])[0]
        assert explanation.prior + sum(explanation.shares.values()) == pytest.approx(explanation.log_odds)
        assert explanation.log_odds == pytest.approx(abs(odds))

    def test_explanations_of_softmax_and_categories(self):
        m = cw.BayesianLogistic(precision=1.0, predictive="plugin").fit(TestTables.TABLE, list("aabbcacb"))
        row = {"age": 30.0, "city": "Oslo", "smoker": None}
        explanation = m.explain(row, "a", "c")
        logs = m.predict_log_proba(pd.DataFrame([row]))[0]
        assert explanation.log_odds == pytest.approx(logs[0] - logs[2])
        assert explanation.shares["smoker"] == 0

    def test_the_boundary_is_where_probabilities_are_equal(self):
        for labels in (y == 1, y):
            m = cw.BayesianLogistic(precision=1.0, predictive="plugin").fit(X[:, :2], labels)
            first, second = m.classes_[:2]
            edge = m.boundary(first, second)
            assert not edge.W.any()
            assert edge.kind == "line"
            points = edge.curve(((4, 8), (2, 4.5)))[0]
            p = m.predict_proba(points)
            np.testing.assert_allclose(p[:, 0], p[:, 1], atol=1e-9)
            log_p = m.predict_log_proba(X[:, :2])
            np.testing.assert_allclose(edge(X[:, :2]), log_p[:, 0] - log_p[:, 1], atol=1e-9)

    def test_the_boundary_in_some_columns(self):
        m = cw.BayesianLogistic(precision=1.0, predictive="plugin").fit(TestTables.TABLE, TestTables.LABELS)
        edge = m.boundary("a", "b", columns=["age"], at={"city": "Rome"})
        root = edge.roots()[0]
        row = pd.DataFrame({"age": [root], "city": ["Rome"], "smoker": [None]})
        np.testing.assert_allclose(m.predict_proba(row), 0.5, atol=1e-9)
        with pytest.raises(cw.ClasswiseError, match="category"):
            m.boundary("a", "b", columns=["city"])

    def test_evaluation_and_reject_curve(self):
        m = cw.BayesianLogistic(precision=1.0).fit(X[::2], y[::2])
        assert m.evaluate(X[1::2], y[1::2]).error == pytest.approx(1 - m.score(X[1::2], y[1::2]))
        assert m.reject_curve(X[1::2], y[1::2]).at(0.5) <= m.evaluate(X[1::2], y[1::2]).error

    def test_decisions(self):
        labels = load_breast_cancer(return_X_y=True)
        m = cw.BayesianLogistic().fit(*labels)
        careful = cw.Decision(m, costs={0: {1: 20}}, reject=0.5)
        assert (careful.predict(labels[0]) == -1).any()
        with pytest.raises(cw.ClasswiseError, match="has none"):
            cw.Decision(cw.BayesianLogistic(), novelty=0.01).fit(*labels)

    def test_coefficients_print_as_a_table(self):
        m = cw.BayesianLogistic(precision=1.0).fit(X, y)
        table = m.coefficients(level=0.5)
        assert len(table) == 15
        assert str(table).splitlines()[0].split() == ["label", "column", "weight", "deviation", "low", "high"]
        assert "<table>" in table._repr_html_()
        for row in table:
            assert row.low < row.weight < row.high

    def test_large_tables_of_many_classes_take_little_memory(self):
        X_wine, y_wine = load_wine(return_X_y=True)
        m = cw.BayesianLogistic(precision=1.0).fit(X_wine, y_wine)
        many = np.tile(X_wine, (40, 1))
        np.testing.assert_allclose(m.predict_proba(many)[: len(X_wine)], m.predict_proba(X_wine), atol=1e-12)


def test_the_engine_is_asked_for_sums_alone():
    """What a fit asks of an engine: gather, with statistics that add."""
    calls = []

    class Counting(MemoryEngine):
        def gather(self, summarize, table, chunk_rows):
            calls.append(len(table))
            return super().gather(summarize, table, chunk_rows)

    m = cw.BayesianLogistic(precision=1.0).fit(X, y)
    design, likelihood = m.classifier_.design, m.classifier_.likelihood
    rows = rows_in_memory(read_table(X, y), Regression(design, likelihood), Counting())
    learned = learn(rows, PrecisionGroups(np.array([0, 0, 0, 0, -1]), np.array([1.0])), np.full(3, 1 / 3))
    np.testing.assert_allclose(learned.posterior.mode, m.classifier_.beliefs.mean, atol=1e-12)
    assert len(calls) == learned.passes


class TestPictures:
    @pytest.fixture(autouse=True)
    def closing(self):
        plt = pytest.importorskip("matplotlib.pyplot")
        plt.switch_backend("agg")
        yield
        plt.close("all")

    def test_regions_of_two_and_of_many_columns(self):
        for columns in (X[:, :2], X):
            m = cw.BayesianLogistic(precision=1.0).fit(columns, y)
            axes = cw.plot.plot_regions(m, columns, y, columns=(0, 1))
            assert axes.lines  # the boundaries
            assert not axes.patches  # no densities, no ellipses

    def test_regions_of_a_decision(self):
        m = cw.Decision(cw.BayesianLogistic(precision=1.0), reject=0.2).fit(X[:, 2:], y)
        assert cw.plot.plot_regions(m, X[:, 2:], y).collections

    def test_explanation(self):
        m = cw.BayesianLogistic(precision=1.0).fit(X, y)
        axes = cw.plot.plot_explanation(m.explain(X[0]))
        assert len(axes.patches) == 7
        assert axes.get_yticklabels()[-2].get_text() == "uncertain weights"
        assert len(cw.plot.plot_explanation(m.predicting("plugin").explain(X[0])).patches) == 6


class TestPriors:
    X, y = load_iris(return_X_y=True)
    priors = (0.7, 0.2, 0.1)

    @pytest.mark.parametrize("predictive", ["plugin", "integrated"])
    def test_posteriors_are_multiplied_by_the_ratio(self, predictive):
        m = cw.BayesianLogistic(predictive=predictive).fit(self.X, self.y)
        shifted = m.with_priors(self.priors)
        expected = m.predict_proba(self.X) * self.priors * 3
        expected /= expected.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(shifted.predict_proba(self.X), expected, rtol=1e-9)
        np.testing.assert_array_equal(shifted.predict(self.X), m.classes_[expected.argmax(axis=1)])
        again = shifted.with_priors("empirical")
        np.testing.assert_allclose(again.predict_proba(self.X), m.predict_proba(self.X), rtol=1e-9)

    def test_shifted_shares_are_found(self):
        rng = np.random.default_rng(0)
        codes = np.repeat([0, 1], [1000, 1000])
        m = cw.BayesianLogistic().fit(rng.normal(3 * codes, 1)[:, None], codes)
        new = np.repeat([0, 1], [900, 100])
        shift = m.estimate_priors(rng.normal(3 * new, 1)[:, None])
        assert shift[1] == pytest.approx(0.1, abs=0.04)
        shifted = m.with_priors(shift)
        np.testing.assert_allclose(shifted.priors_, [shift[0], shift[1]], rtol=1e-9)
        np.testing.assert_allclose(m.priors_, [0.5, 0.5])

    def test_intervals_hold_the_probability(self):
        for classes in (2, 3):
            rows = self.y < classes
            m = cw.BayesianLogistic(precision=1.0).fit(self.X[rows], self.y[rows])
            shifted = m.with_priors(np.array(self.priors[:classes]) / sum(self.priors[:classes]))
            low, high = np.moveaxis(shifted.predict_interval(self.X[rows]), -1, 0)
            p = shifted.predict_proba(self.X[rows])
            assert ((low <= p) & (p <= high)).mean() > 0.97

    def test_boundary_and_reasons_go_along(self):
        rows = self.y > 0
        m = cw.BayesianLogistic(predictive="plugin").fit(self.X[rows], self.y[rows]).with_priors({1: 0.9, 2: 0.1})
        odds = m.predict_log_proba(self.X[rows])
        np.testing.assert_allclose(m.boundary(2, 1)(self.X[rows]), odds[:, 1] - odds[:, 0], rtol=1e-7)
        reasons = m.explain(self.X[70], label=2, against=1)
        assert reasons.log_odds == pytest.approx(m.boundary(2, 1)(self.X[70:71])[0], rel=1e-9)

    def test_refusals(self):
        m = cw.BayesianLogistic().fit(self.X, self.y)
        with pytest.raises(cw.ClasswiseError, match="The prior of 2 is 0"):
            m.with_priors([0.5, 0.5, 0.0])
        two = cw.BayesianLogistic(link="probit").fit(self.X[:100], self.y[:100])
        with pytest.raises(cw.ClasswiseError, match="probit"):
            two.with_priors("uniform")
