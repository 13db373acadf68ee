"""The mixture classifier: scikit-learn's contract, mixed columns, gaps, files, and everything around."""

import pickle
import warnings

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict
from sklearn.utils.estimator_checks import parametrize_with_checks
from typer.testing import CliRunner

import classwise as cw
from classwise.cli.program import app
from classwise.densities.em import fit_mixture
from classwise.errors import ClasswiseError, NotAvailableError

mpl.use("Agg")

X, y = cw.datasets.banana(400, random_state=0)


@pytest.fixture(scope="module")
def fitted():
    return cw.MixtureClassifier().fit(X, y)


def mixed(n=200, seed=0):
    """A table of two curved columns, one category that tells the class and one that does not; labels."""
    rows, labels = cw.datasets.banana(n, random_state=seed)
    rng = np.random.default_rng(seed)
    color = np.where(rng.random(n) < 0.2 + 0.6 * labels, "red", "blue")
    table = {"x": rows[:, 0], "y": rows[:, 1], "color": color, "side": rng.choice(["l", "r"], n)}
    return pd.DataFrame(table), np.array(["down", "up"])[labels]


def gappy(share=0.2, seed=1):
    rows = X.copy()
    rows[np.random.default_rng(seed).random(rows.shape) < share] = np.nan
    return rows


def log_loss(model, rows=X, labels=y):
    chances = cross_val_predict(model, rows, labels, cv=5, method="predict_proba")
    return -np.log(chances[np.arange(len(labels)), labels]).mean()


# Beside those of test_sklearn_contract.py.
@parametrize_with_checks([cw.MixtureClassifier(covariance="class", components=2)])
def test_scikit_learn_contract(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cw.DegenerateColumnWarning)
        check(estimator)


class TestQuality:
    def test_bent_classes_are_its_own(self):
        losses = {name: log_loss(m) for name, m in {"lda": cw.LDA(), "qda": cw.QDA(), "mixture": best()}.items()}
        assert losses["mixture"] < 0.6 * min(losses["lda"], losses["qda"])

    def test_more_components_help_until_they_do_not(self):
        losses = [log_loss(cw.MixtureClassifier(components=c)) for c in (1, 2, 3)]
        assert losses[0] > losses[1] > losses[2]
        np.testing.assert_allclose(losses[0], log_loss(cw.LDA()), rtol=0.01)

    def test_a_class_of_two_clusters_around_another(self):
        rng = np.random.default_rng(0)
        rows = np.r_[rng.normal(-4, 1, 100), rng.normal(4, 1, 100), rng.normal(0, 1, 100)][:, None]
        m = cw.MixtureClassifier(components=2).fit(rows, np.repeat([0, 0, 1], 100))
        assert m.predict([[-4.0], [0.0], [4.0]]).tolist() == [0, 1, 0]
        assert m.components_ == {0: 2, 1: 2}

    def test_a_covariance_for_each_class(self):
        rng = np.random.default_rng(0)
        rows = np.r_[rng.normal(0, 1, (300, 2)), rng.normal(0, 5, (300, 2))]
        labels = np.repeat([0, 1], 300)
        tied, own = (cw.MixtureClassifier(components=1, covariance=c).fit(rows, labels) for c in ("tied", "class"))
        assert own.score(rows, labels) > tied.score(rows, labels) + 0.2
        spread = own.covariances_[:, [0, 1], [0, 1]].mean(axis=1)
        np.testing.assert_allclose(spread, [1, 25], rtol=0.2)


def best():
    return cw.MixtureClassifier(components=4)


class TestAnswers:
    def test_it_is_the_mixture_of_fit_mixture(self, fitted):
        np.testing.assert_allclose(fitted.means_, fit_mixture(X, y, 2, components=3).components.means, rtol=1e-10)

    def test_answers_fit_together(self, fitted):
        joint = fitted.log_joint(X)
        np.testing.assert_allclose(joint, fitted.log_density(X) + np.log(fitted.priors_))
        np.testing.assert_allclose(fitted.log_evidence(X), np.logaddexp(*joint.T))
        np.testing.assert_allclose(fitted.predict_log_proba(X), joint - fitted.log_evidence(X)[:, None])
        np.testing.assert_allclose(fitted.predict_proba(X), np.exp(fitted.predict_log_proba(X)))
        assert (fitted.predict(X) == fitted.predict_proba(X).argmax(axis=1)).all()

    def test_what_was_found(self, fitted):
        assert fitted.components_ == {0: 3, 1: 3}
        assert fitted.means_.shape == (6, 2)
        assert fitted.covariances_.shape == (6, 2, 2)
        assert fitted.em_.converged
        assert (np.diff(fitted.em_.objective) >= 0).all()
        assert "converged after" in repr(fitted.em_)

    def test_other_priors(self, fitted):
        other = fitted.with_priors({0: 0.9, 1: 0.1})
        odds = other.decision_function(X) - fitted.decision_function(X)
        np.testing.assert_allclose(odds, np.log(1 / 9), rtol=1e-8)
        assert other.em_ is fitted.em_

    def test_samples_are_recognized(self, fitted):
        rows, labels = fitted.sample(4000, random_state=0)
        np.testing.assert_allclose(rows[labels == 1].mean(axis=0), X[y == 1].mean(axis=0), atol=0.1)
        np.testing.assert_allclose(np.cov(rows[labels == 0].T), np.cov(X[y == 0].T), atol=0.08)
        assert abs(fitted.score(rows, labels) - fitted.score(X, y)) < 0.03

    def test_reasons_add_up(self, fitted):
        for row in X[::50]:
            why = fitted.explain(row)
            odds = fitted.predict_log_proba(row[None])[0]
            np.testing.assert_allclose(why.log_odds, odds.max() - odds.min(), rtol=1e-6, atol=1e-8)
            assert abs(why.volume) < 2 * np.log(30)

    def test_labels_and_a_decision(self, fitted):
        m = cw.Decision(fitted, costs={0: {1: 10}}, reject=0.3)
        assert set(m.predict(X).tolist()) == {0, 1, -1}
        with pytest.raises(ClasswiseError, match="needs a model of the rows"):
            cw.Decision(cw.MixtureClassifier(), novelty=0.01).fit(X, y)

    def test_a_check_and_priors_that_shifted(self, fitted):
        assert "surprise" in str(fitted.check(X, y, draws=20))
        shift = fitted.estimate_priors(np.vstack([X[y == 0], X[y == 1][:20]]))
        assert shift[1] < 0.2


class TestColumns:
    def test_categories_stand_beside_numbers(self):
        table, labels = mixed()
        m = cw.MixtureClassifier().fit(table, labels)
        alone = cw.MixtureClassifier().fit(table[["x", "y"]], labels)
        other = cw.NaiveBayes().fit(table[["color", "side"]], labels)
        total = alone.log_density(table[["x", "y"]]) + other.log_density(table[["color", "side"]])
        np.testing.assert_allclose(m.log_density(table), total)
        assert m.families_["color"] == "categorical"
        rows, _ = m.sample(5, random_state=0)
        assert list(rows.columns) == list(table.columns)
        assert set(m.explain(table.iloc[0]).shares) == set(table.columns)

    def test_the_place_of_columns_does_not_matter(self):
        table, labels = mixed()
        turned = table[["color", "y", "side", "x"]]
        one, other = (cw.MixtureClassifier().fit(t, labels).predict_proba(t) for t in (table, turned))
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)

    def test_families(self):
        rng = np.random.default_rng(0)
        table, labels = mixed()
        table["visits"], table["income"] = rng.poisson(3, len(table)), np.exp(rng.normal(size=len(table)))
        m = cw.MixtureClassifier(families={"visits": "poisson", "income": "lognormal"}).fit(table, labels)
        assert m.means_.shape[1] == 2
        assert np.isfinite(m.predict_log_proba(table)).all()

    def test_without_numbers_it_is_naive_bayes(self):
        table, labels = mixed()
        levels = table[["color", "side"]]
        m = cw.MixtureClassifier().fit(levels, labels)
        np.testing.assert_allclose(m.predict_proba(levels), cw.NaiveBayes().fit(levels, labels).predict_proba(levels))
        assert m.em_ is None
        assert not hasattr(m, "mixture_")

    @pytest.mark.parametrize("covariance", ["tied", "class"])
    def test_classes_of_one_row(self, covariance):
        rows = np.random.default_rng(0).normal(size=(22, 3))
        rows[20:] += [[9.0], [-9.0]]
        m = cw.MixtureClassifier(covariance=covariance).fit(rows, np.r_[np.zeros(20), 1, 2])
        assert m.components_ == {0: 3, 1: 1, 2: 1}
        assert m.predict(rows[20:]).tolist() == [1, 2]

    def test_rows_without_a_label_are_left_out(self):
        labels = y.astype(object)
        labels[:5] = None
        with pytest.warns(cw.MissingLabelWarning):
            m = cw.MixtureClassifier().fit(X, labels)
        np.testing.assert_allclose(m.means_, cw.MixtureClassifier().fit(X[5:], y[5:]).means_, rtol=1e-6)


class TestGaps:
    def test_they_are_integrated_out_at_predict(self, fitted):
        rows = gappy()
        log_density = fitted.log_density(rows)
        only = np.isnan(rows[:, 1]) & ~np.isnan(rows[:, 0])
        axis = np.linspace(-40, 40, 20001)
        for i in np.flatnonzero(only)[:3]:
            line = np.column_stack([np.full_like(axis, rows[i, 0]), axis])
            area = np.exp(fitted.log_density(line)).sum(axis=0) * (axis[1] - axis[0])
            np.testing.assert_allclose(np.exp(log_density[i]), area, rtol=1e-8)

    def test_they_are_learned_from(self, fitted):
        m = cw.MixtureClassifier().fit(gappy(0.2), y)
        assert m.em_.converged
        kept = ~np.isnan(gappy(0.2)).any(axis=1)
        assert m.evaluate(X, y).log_loss < 1.25 * fitted.evaluate(X, y).log_loss
        assert kept.mean() < 0.7

    def test_one_component_is_full_bayes_on_gaps(self):
        """Means of one component are those that EM of one Gaussian leads to, under almost the same prior."""
        rows = gappy(0.3)
        m, other = cw.MixtureClassifier(components=1, tol=1e-12), cw.LDA(estimate="bayes")
        np.testing.assert_allclose(m.fit(rows, y).means_, other.fit(rows, y).means_, atol=0.01)

    @pytest.mark.parametrize("covariance", ["tied", "class"])
    def test_no_row_is_complete(self, covariance):
        rng = np.random.default_rng(0)
        rows, labels = rng.normal(size=(90, 3)), np.arange(90) % 2
        rows += 4 * labels[:, None]
        rows[np.arange(90), np.arange(90) % 3] = np.nan
        m = cw.MixtureClassifier(components=2, covariance=covariance).fit(rows, labels)
        assert m.score(rows, labels) > 0.95
        np.testing.assert_allclose(m.mixture_._averaged(m.means_), [[0, 0, 0], [4, 4, 4]], atol=0.5)

    def test_as_a_level_and_as_an_error(self):
        rows = X.copy()
        rows[(y == 1) & (np.arange(400) % 2 == 0), 0] = np.nan
        level = cw.MixtureClassifier(missing="level").fit(rows, y)
        assert level.predict([[np.nan, 0.0]]).tolist() == [1]
        assert level.mixture_.components.count == 6
        with pytest.raises(ClasswiseError, match="missing"):
            cw.MixtureClassifier(missing="error").fit(rows, y)

    def test_a_column_that_a_class_never_has(self):
        rows = X.copy()
        rows[y == 1, 0] = np.nan
        with pytest.warns(cw.DegenerateColumnWarning, match="gave the values of all rows .*: 1 in column 0"):
            m = cw.MixtureClassifier(random_state=0).fit(rows, y)
        own = m.means_[m.mixture_.owner == 1, 0]
        assert np.nanmin(rows[:, 0]) < own.min() <= own.max() < np.nanmax(rows[:, 0])
        assert m.score(rows, y) > 0.8


class TestFiles:
    @pytest.mark.parametrize("covariance", ["tied", "class"])
    def test_save_and_load(self, tmp_path, covariance):
        table, labels = mixed()
        m = cw.MixtureClassifier(covariance=covariance).fit(table, labels)
        cw.save(m, tmp_path / "m.cw")
        again = cw.load(tmp_path / "m.cw")
        np.testing.assert_array_equal(again.predict_proba(table), m.predict_proba(table))
        assert again.get_params() == m.get_params()
        np.testing.assert_array_equal(again.em_.objective, m.em_.objective)
        cw.save(m, tmp_path / "small.cw", statistics=False)
        np.testing.assert_array_equal(cw.load(tmp_path / "small.cw").predict(table), m.predict(table))

    def test_a_decision_about_one(self, tmp_path, fitted):
        cw.save(cw.Decision(fitted, reject=0.1), tmp_path / "d.cw")
        assert (cw.load(tmp_path / "d.cw").predict(X) == cw.Decision(fitted, reject=0.1).predict(X)).all()

    def test_what_was_tampered_with_is_refused(self, tmp_path):
        m = cw.MixtureClassifier().fit(X, y)
        m.mixture_.share[0] = 0.9
        with pytest.raises(ClasswiseError):
            cw.save(m, tmp_path / "m.cw")

    def test_pickle_and_clone(self, fitted):
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))
        assert not hasattr(clone(fitted), "em_")


class TestAround:
    def test_compare(self):
        models = {f"mixture of {c}": cw.MixtureClassifier(components=c) for c in (2, 4)}
        found = cw.compare(X, y, folds=5, models=models, references=False)
        losses = {trial.name: trial.estimate("log_loss").value for trial in found.trials if not trial.reason}
        assert losses["mixture of 4"] < losses["mixture of 2"] < losses["QDA"]

    def test_the_command_line(self, tmp_path):
        table, labels = mixed()
        path = tmp_path / "rows.csv"
        table.assign(label=labels).to_csv(path, index=False)
        model = tmp_path / "m.cw"
        command = ["fit", str(path), "-t", "label", "-m", "mixture", "--set", "components=2", "-o", str(model)]
        found = CliRunner().invoke(app, command)
        assert found.exit_code == 0, found.output
        again = cw.load(model)
        assert again.components_ == {"down": 2, "up": 2}
        assert (again.predict(table) == cw.MixtureClassifier(components=2).fit(table, labels).predict(table)).all()

    def test_pictures(self, fitted):
        cw.plot.plot_regions(fitted, X, y)
        cw.plot.plot_densities(fitted, X, y, columns=0)
        table, labels = mixed()
        cw.plot.plot_regions(cw.MixtureClassifier().fit(table, labels), columns=["x", "color"])

    def test_exports(self, fitted):
        assert "cw_part AS" in cw.to_sql(fitted, table="t", features=["a", "b"])
        assert cw.to_onnx(fitted).graph.node

    def test_statistics_do_not_suffice(self, fitted):
        for name in ("partial_fit", "fit_statistics", "leave_one_out", "leave_one_out_evidence"):
            assert not hasattr(fitted, name)
            with pytest.raises(NotAvailableError, match="learns from rows, which EM goes through many times"):
                getattr(fitted, name)
        assert not hasattr(fitted, "log_marginal_likelihood_")

    @pytest.mark.parametrize(
        ("options", "match"),
        [
            ({"components": 0}, "components=0 is not an option; give a whole number"),
            ({"components": 2.5}, "components=2.5"),
            ({"starts": 0}, "starts=0"),
            ({"max_iter": True}, "max_iter=True"),
            ({"covariance": "own"}, "covariance='own' is not an option; choose 'tied' or 'class'"),
            ({"prior": "geisser"}, "prior='geisser' is not an option; choose 'weak' or"),
            ({"tol": -1}, "tol=-1"),
        ],
    )
    def test_options_are_checked(self, options, match):
        with pytest.raises(ClasswiseError, match=match):
            cw.MixtureClassifier(**options).fit(X, y)

    def test_priors_of_covariances(self):
        strong = cw.NormalInverseWishart(mean=0.0, kappa=0.1, nu=1e6, scale=1e6)
        m = cw.MixtureClassifier(prior=strong).fit(X, y)
        np.testing.assert_allclose(m.covariances_[0], np.eye(2), atol=0.01)

    def test_stopping_early_is_told(self):
        with pytest.warns(cw.DegenerateColumnWarning, match="stopped EM early"):
            m = cw.MixtureClassifier(max_iter=2, tol=0).fit(X, y)
        assert not m.em_.converged
