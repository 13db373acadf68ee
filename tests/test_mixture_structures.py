"""Mixtures whose components share volume, shape or orientation, and numbers of components chosen by BIC."""

import functools
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.mixture import GaussianMixture
from sklearn.utils.estimator_checks import parametrize_with_checks

import classwise as cw
from classwise.covariance import DECOMPOSITIONS, count_parameters

IRIS = load_iris(return_X_y=True)
BANANA = cw.datasets.banana(300, random_state=0)

# Clusters far apart are far from what the weak prior expects of a component.
ROUND = cw.NormalInverseWishart([0, 0], 0.01, 5, 2 * np.eye(2))
LITTLE = cw.NormalInverseWishart([0, 0], 1e-6, 3.01, 0.01 * np.eye(2))


@functools.cache
def fitted(covariance, components=2):
    return cw.MixtureClassifier(components=components, covariance=covariance, random_state=0).fit(*IRIS)


def log_loss(model, X, y):
    return -model.predict_log_proba(X)[np.arange(len(y)), y].mean()


def expected_failures(_):
    return {"check_estimators_nan_inf": "fit takes no gaps, as the tag says, and predict integrates them out"}


@parametrize_with_checks(
    [cw.MixtureClassifier(covariance="VEV", components=2)], expected_failed_checks=expected_failures
)
def test_scikit_learn_contract(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cw.DegenerateColumnWarning)
        check(estimator)


@pytest.mark.parametrize("structure", DECOMPOSITIONS)
class TestEveryStructure:
    def test_what_letters_say(self, structure):
        """Of the components of one class."""
        m = fitted(structure)
        assert m.components_ == {0: 2, 1: 2, 2: 2}
        assert set(m.structures_.values()) == {structure}
        a, b = m.covariances_[:2]
        values = np.linalg.eigvalsh([a, b])
        volume = np.exp(np.log(values).mean(axis=1))
        shape = values / volume[:, None]
        facts = [np.ptp(volume) < 1e-9, np.ptp(shape, axis=0).max() < 1e-9, np.abs(a @ b - b @ a).max() < 1e-9]
        assert [bool(fact) for fact in facts] == [letter != "V" for letter in structure]

    def test_the_objective_never_falls(self, structure):
        m = fitted(structure)
        assert m.em_.converged
        assert (np.diff(m.em_.objective) >= -1e-9 * np.abs(m.em_.objective[1:])).all()

    def test_parameters(self, structure):
        shares, means = 3, 6 * 4
        assert fitted(structure).mixture_.free_parameters == shares + means + 3 * count_parameters(structure, 2, 4)

    def test_bic(self, structure):
        """Of each class by itself, from the density of its rows."""
        X, y = IRIS
        m = fitted(structure)
        for k, choice in enumerate(m.choices_):
            own = m.log_density(X[y == k])[:, k].sum()
            free = 1 + 2 * 4 + count_parameters(structure, 2, 4)
            assert choice.bic[0, 0] == pytest.approx(free * np.log(50) - 2 * own, rel=1e-9)

    def test_saved(self, structure, tmp_path):
        X, _ = IRIS
        m = fitted(structure)
        cw.save(m, tmp_path / "m.cw")
        loaded = cw.load(tmp_path / "m.cw")
        np.testing.assert_array_equal(loaded.predict_proba(X), m.predict_proba(X))
        assert repr(loaded.choices_) == repr(m.choices_)


class TestAgainstOthers:
    def test_scikit_learn(self):
        """Rows of far clusters: scikit-learn's full mixture is ours, but for the prior's few rows."""
        rng = np.random.default_rng(0)
        a = np.concatenate([rng.normal(-20, 1, (400, 2)), rng.normal(20, 3, (400, 2))])
        X, y = np.vstack([a, rng.normal(0, 1, (400, 2))]), np.repeat([0, 1], [800, 400])
        theirs = GaussianMixture(2, random_state=0).fit(a)
        ours = cw.MixtureClassifier(components={0: 2, 1: 1}, covariance="VVV", prior=LITTLE).fit(X, y)
        assert ours.components_ == {0: 2, 1: 1}
        found, expected = (np.sort(np.sqrt(np.linalg.det(c))) for c in (ours.covariances_[:2], theirs.covariances_))
        np.testing.assert_allclose(found, expected, rtol=1e-3)
        np.testing.assert_allclose(np.sort(ours.means_[:2], axis=0), np.sort(theirs.means_, axis=0), atol=1e-3)

    def test_one_covariance_for_a_class_is_the_structure_of_one(self):
        """covariance="class" is EEE, class by class; the starts differ."""
        X, y = BANANA
        tied, structured = (cw.MixtureClassifier(covariance=c, components=1).fit(X, y) for c in ("class", "EEE"))
        np.testing.assert_allclose(structured.covariances_, tied.covariances_, rtol=1e-6)
        np.testing.assert_allclose(structured.predict_proba(X), tied.predict_proba(X), atol=1e-6)


class TestLaws:
    def test_weight_two_is_the_row_twice(self):
        X, y = BANANA
        weights = np.random.default_rng(0).integers(1, 3, len(y))
        weighted = cw.MixtureClassifier(covariance="VVV", components=2).fit(X, y, weights)
        twice = cw.MixtureClassifier(covariance="VVV", components=2).fit(
            np.repeat(X, weights, axis=0), np.repeat(y, weights)
        )
        np.testing.assert_allclose(weighted.predict_proba(X), twice.predict_proba(X), atol=1e-6)

    def test_the_order_of_rows_does_not_matter(self):
        X, y = BANANA
        order = np.random.default_rng(0).permutation(len(y))
        plain, moved = (
            cw.MixtureClassifier(covariance="VEV", components=3).fit(X[rows], y[rows]) for rows in (slice(None), order)
        )
        np.testing.assert_allclose(moved.predict_proba(X), plain.predict_proba(X), atol=1e-6)


class TestChoice:
    def test_components_of_each_class(self):
        """One cluster, two and three."""
        rng = np.random.default_rng(1)
        centers = {0: [0.0], 1: [-10.0, 10.0], 2: [-20.0, 5.0, 20.0]}
        X = np.concatenate([rng.normal(c, 1, (60, 2)) for all_of in centers.values() for c in all_of])
        y = np.repeat([0, 1, 2], [60, 120, 180])
        for covariance in ("tied", "class", "EII", "VVV", "bic"):
            m = cw.MixtureClassifier(components="bic", covariance=covariance, prior=ROUND).fit(X, y)
            assert m.components_ == {0: 1, 1: 2, 2: 3}, covariance

    def test_structure_and_components(self):
        m = cw.MixtureClassifier(components="bic", covariance="bic").fit(*BANANA)
        for label, choice in zip((0, 1), m.choices_, strict=True):
            assert choice.structures == tuple(DECOMPOSITIONS)
            structure, count = choice.best
            assert (m.structures_[label], m.components_[label]) == (structure, count)
            assert f"{structure} with {count} components has the least BIC." in repr(choice)
        # With one component nothing is shared: the others would be these again.
        assert np.isfinite(choice.bic[:, 0]).sum() == 3

    def test_chosen_numbers_serve_rows_held_out(self):
        """Three components, the default, are too many for the irises."""
        X, y = IRIS
        train, test = np.arange(150) % 2 == 0, np.arange(150) % 2 == 1
        fixed, chosen = (cw.MixtureClassifier(components=c).fit(X[train], y[train]) for c in (3, "bic"))
        assert log_loss(chosen, X[test], y[test]) < log_loss(fixed, X[test], y[test])

    def test_gaps_with_numbers_of_components_left_open(self):
        X, y = BANANA
        rows = X.copy()
        rows[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
        m = cw.MixtureClassifier(components="bic").fit(rows, y)
        assert all(1 <= count <= 5 for count in m.components_.values())

    def test_few_rows(self):
        X, y = IRIS
        some = np.r_[:7, 50:60, 100:120]
        m = cw.MixtureClassifier(components="bic", covariance="VVV").fit(X[some], y[some])
        assert m.components_[0] == 1
        assert np.isfinite(m.predict_log_proba(X)).all()


class TestErrors:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"covariance": "vev"}, "covariance='vev' is not an option"),
            ({"covariance": None}, "covariance=None is not an option"),
            ({"components": "aic"}, "components='aic' is not an option; .*'bic'"),
            ({"components": {0: 2, 1: 0, 2: 1}}, "components=0 is not an option"),
            ({"components": {0: 2}}, "no number for class 1"),
        ],
    )
    def test_options(self, options, message):
        with pytest.raises(cw.ClasswiseError, match=message):
            cw.MixtureClassifier(**options).fit(*IRIS)

    def test_gaps(self):
        X, y = IRIS
        rows = X.copy()
        rows[3, 1] = np.nan
        with pytest.raises(cw.ClasswiseError, match=r"takes rows without gaps.*covariance='tied'"):
            cw.MixtureClassifier(covariance="VEV").fit(rows, y)
        # At predict, gaps are integrated out as ever.
        assert np.isfinite(fitted("VEV").predict_log_proba(rows)).all()

    def test_no_structures(self):
        with pytest.raises(cw.NotAvailableError, match="covariance='bic'"):
            _ = fitted("tied").structures_

    def test_words(self):
        spelled = cw.MixtureClassifier(components=2, covariance="own volume, own shape", random_state=0).fit(*IRIS)
        np.testing.assert_array_equal(spelled.covariances_, fitted("VVI").covariances_)
