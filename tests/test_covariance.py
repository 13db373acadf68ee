"""Structures, dials and rank, against the plain formulas."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal
from sklearn.covariance import oas

import classwise as cw
from classwise.covariance.exponents import FAR

RNG = np.random.default_rng(1)
y = np.repeat([0, 1, 2], [30, 40, 50])
X = RNG.normal(size=(120, 4)) * [1, 2, 0.5, 3] + RNG.normal(size=(3, 4))[y] + 0.5 * RNG.normal(size=(120, 1))
STRUCTURES = ["full", "diagonal", "spherical"]


def plain_covariances(structure, share, shrink, estimate, scale=None):
    """The formulas of the class docstring, one class at a time."""
    Z = X if scale is None else X / scale
    unbiased = estimate == "unbiased"
    scatters = np.array([np.cov(Z[y == k].T, bias=True) * (y == k).sum() for k in range(3)])
    if structure != "full":
        scatters = np.array([np.diag(np.diag(S)) for S in scatters])
    if structure == "spherical":
        scatters = np.array([np.eye(4) * np.trace(S) / 4 for S in scatters])
    counts = np.bincount(y)
    own = scatters / (counts - unbiased)[:, None, None]
    shared = scatters.sum(axis=0) / (120 - 3 * unbiased)
    blended = np.broadcast_to(own.mean(axis=0), own.shape) if share == "average" else (1 - share) * own + share * shared
    sphere = np.trace(blended, axis1=1, axis2=2)[:, None, None] / 4 * np.eye(4)
    result = (1 - shrink) * blended + shrink * sphere
    return result if scale is None else result * np.outer(scale, scale)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0, "average"])
@pytest.mark.parametrize("shrink", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("estimate", ["mle", "unbiased"])
class TestDials:
    def test_covariances(self, structure, share, shrink, estimate):
        m = cw.GaussianClassifier(structure=structure, share=share, shrink=shrink, estimate=estimate).fit(X, y)
        np.testing.assert_allclose(
            m.covariances_, plain_covariances(structure, share, shrink, estimate), rtol=1e-12, atol=1e-14
        )

    def test_standardized(self, structure, share, shrink, estimate):
        options = {"structure": structure, "share": share, "shrink": shrink, "estimate": estimate}
        m = cw.GaussianClassifier(**options, standardize=True).fit(X, y)
        expected = plain_covariances(structure, share, shrink, estimate, X.std(axis=0))
        np.testing.assert_allclose(m.covariances_, expected, rtol=1e-12, atol=1e-14)

    def test_log_density(self, structure, share, shrink, estimate):
        m = cw.GaussianClassifier(structure=structure, share=share, shrink=shrink, estimate=estimate).fit(X, y)
        for k in range(3):
            expected = multivariate_normal(m.means_[k], m.covariances_[k]).logpdf(X)
            np.testing.assert_allclose(m.log_density(X)[:, k], expected, rtol=1e-11)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("share", [0.0, 1.0])
@pytest.mark.parametrize("apart", [1.0, 3 * FAR, 1e6])
def test_fast_and_careful_evaluation_agree(structure, share, apart):
    """Classes far apart in deviations are scored by differences, near ones by products: either way the formula."""
    rows = X + apart * np.array([[0.0], [1.0], [-1.0]])[y]
    m = cw.GaussianClassifier(structure=structure, share=share).fit(rows, y)
    for k in range(3):
        expected = multivariate_normal(m.means_[k], m.covariances_[k]).logpdf(rows)
        np.testing.assert_allclose(m.log_density(rows)[:, k], expected, rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("features", [1, 63, 64, 65, 150])
def test_many_features_in_panels(features):
    rows = RNG.normal(size=(500, features)) + (np.arange(500) % 2)[:, None]
    m = cw.QDA().fit(rows, np.arange(500) % 2)
    expected = multivariate_normal(m.means_[1], m.covariances_[1]).logpdf(rows)
    np.testing.assert_allclose(m.log_density(rows)[:, 1], expected, rtol=1e-10)


def test_oracle_approximating_shrinkage_is_scikit_learns():
    m = cw.QDA(shrink="oas").fit(X, y)
    for k in range(3):
        np.testing.assert_allclose(m.covariances_[k], oas(X[y == k])[0], rtol=1e-12, atol=1e-14)


def test_oracle_approximating_shrinkage_needs_a_full_covariance():
    with pytest.raises(cw.ClasswiseError, match="shrink='oas' is derived for full covariances"):
        cw.GaussianClassifier(structure="diagonal", shrink="oas").fit(X, y)


def test_one_corner_of_the_square_is_the_nearest_mean():
    corner = cw.GaussianClassifier(share=1.0, shrink=1.0).fit(X, y)
    np.testing.assert_allclose(corner.predict_log_proba(X), cw.NearestMean().fit(X, y).predict_log_proba(X), rtol=1e-11)


def test_the_nearest_mean_is_nearest():
    m = cw.NearestMean(priors="uniform").fit(X, y)
    distances = ((X[:, None, :] - m.means_) ** 2).sum(axis=2)
    np.testing.assert_array_equal(m.predict(X), distances.argmin(axis=1))


def test_standardizing_makes_the_nearest_mean_free_of_units():
    scale = np.array([1e-3, 1e3, 1, 10])
    a = cw.NearestMean(standardize=True).fit(X, y).predict_proba(X)
    b = cw.NearestMean(standardize=True).fit(X * scale, y).predict_proba(X * scale)
    np.testing.assert_allclose(a, b, rtol=1e-10)


def test_fisher_projection_whitens_each_class():
    m = cw.LDA(estimate="unbiased").fit(X, y)
    Z = m.transform(X)
    within = sum(np.cov(Z[y == k].T, bias=True) * (y == k).sum() for k in range(3)) / 117
    np.testing.assert_allclose(within, np.eye(2), atol=1e-12)
    assert m.projection_.ratios[0] >= m.projection_.ratios[1]
    np.testing.assert_allclose(m.projection_.ratios.sum(), 1)
    assert m.get_feature_names_out().tolist() == ["lda0", "lda1"]


def test_fisher_projection_needs_a_shared_covariance():
    with pytest.raises(cw.ClasswiseError, match="share=1"):
        cw.LDA(share=0.5).fit(X, y).transform(X)


def test_discriminants_are_log_joints():
    for m in (cw.QDA().fit(X, y), cw.RDA(share=0.5, shrink=0.1).fit(X, y)):
        scores = []
        for label in (0, 1, 2):
            g = m.discriminant(label)
            scores.append(np.einsum("ij,jk,ik->i", X, g.A, X) + X @ g.b + g.c)
        shift = m.log_joint(X) - np.array(scores).T
        np.testing.assert_allclose(shift, -2 * np.log(2 * np.pi), rtol=1e-9)


def test_roots_are_for_one_feature():
    with pytest.raises(ValueError, match="in 4 features"):
        cw.LDA().fit(X, y).boundary(0, 1).roots()


def test_no_boundary_between_classes_that_never_are():
    m = cw.LDA(priors=[0, 0, 1]).fit(X, y)
    assert m.boundary(2, 0).w0 == np.inf
    with pytest.raises(cw.ClasswiseError, match="both have a prior of zero"):
        m.boundary(0, 1)


def test_discriminant_of_an_unknown_class():
    with pytest.raises(cw.ClasswiseError, match=r"7 is not a class of the model; the classes are \[0, 1, 2\]"):
        cw.LDA().fit(X, y).discriminant(7)


class TestRank:
    names = ("length", "width", "depth", "mass")

    def table(self, rows):
        return pd.DataFrame(rows, columns=self.names)

    def message(self, model, rows, labels=y):
        with pytest.raises(cw.SingularCovarianceError) as caught:
            model.fit(self.table(rows), labels)
        return str(caught.value)

    def test_constant_within_one_class(self):
        rows = X.copy()
        rows[y == 1, 2] = 0.1
        message = self.message(cw.QDA(), rows)
        assert (
            "Class 1 has 40 rows and 4 features, so its full covariance has rank 3: 'depth' does not vary." in message
        )
        assert "diagonal" not in message  # a remedy that would not help
        assert cw.LDA().fit(rows, y)  # the remedy that is named

    def test_collinear(self):
        """Within one class, and not in the others: what follows in all of them is left out."""
        rows = X.copy()
        rows[y == 1, 3] = rows[y == 1, 0] - 2 * rows[y == 1, 1]
        message = self.message(cw.QDA(), rows)
        found = re.search(r"Class 1 .*rank 3: '(\w+)' follows linearly from '(\w+)', '(\w+)'\.", message)
        assert set(found.groups()) == {"length", "width", "mass"}  # in whichever order, it is true
        assert "restrict it (structure='diagonal')" in message.lower()

    def test_sum_far_from_zero(self):
        rows = X + 1e6
        rows[:, 1] = rows[:, 0] + rows[:, 2]
        with pytest.warns(cw.IgnoredColumnWarning, match=r"column 2 \(a combination of column 0 and column 1\)"):
            cw.QDA().fit(rows, y)

    @pytest.mark.parametrize("scale", [1e-150, 1e-8, 1.0, 1e8, 1e140])
    def test_rank_does_not_depend_on_units(self, scale):
        cw.QDA().fit(X * scale, y)
        rows = X.copy()
        rows[y == 1, 3] = rows[y == 1, 0] - 2 * rows[y == 1, 1]
        assert "rank 3" in self.message(cw.QDA(), rows * scale)
        rows[:, 3] = rows[:, 0] - 2 * rows[:, 1]
        with pytest.warns(cw.IgnoredColumnWarning, match=r"column 3 \(a combination of column 0 and column 1\)"):
            cw.QDA().fit(rows * scale, y)

    @pytest.mark.parametrize("scale", [1e-150, 1e-8, 1.0, 1e8, 1e140])
    def test_neither_do_copies(self, scale):
        rows = X.copy()
        rows[:, 3] = rows[:, 0]
        with pytest.warns(cw.IgnoredColumnWarning, match=r"column 3 \(the same as column 0\)"):
            cw.QDA().fit(rows * scale, y)

    def test_too_few_rows(self):
        message = self.message(cw.QDA(), X[:7], ["a", "a", "a", "b", "b", "b", "b"])
        assert message == (
            "Class 'a' has 3 rows and 4 features, so its full covariance has rank 2. "
            "Share it (share=1), restrict it (structure='diagonal'), shrink it (shrink='oas') or add rows that differ."
        )

    def test_too_few_rows_and_a_constant_column(self):
        message = self.message(cw.QDA(), [[0, 1, 2, 3], [0, 2, 1, 5], [1, 2, 3, 4], [3, 3, 3, 9]], ["a", "a", "b", "b"])
        assert "rank 1: 'length' does not vary" in message
        assert "diagonal" not in message

    def test_thousands_of_columns(self):
        rows = RNG.normal(size=(20, 1500))
        with pytest.raises(cw.SingularCovarianceError, match="rank 18"):
            cw.LDA().fit(rows, np.arange(20) % 2)

    def test_one_row(self):
        message = self.message(cw.QDA(), X[:31], ["a"] * 30 + ["b"])
        assert message == (
            "Class 'b' has 1 row and 4 features, so its full covariance has rank 0. "
            "Share it (share=1) or add rows that differ."
        )

    def test_fractional_weights(self):
        with pytest.raises(cw.SingularCovarianceError, match=r"total weight 1\.5"):
            cw.QDA().fit(X[:33], ["a"] * 30 + ["b"] * 3, sample_weight=[1.0] * 30 + [0.5] * 3)

    def test_diagonal(self):
        rows = X.copy()
        rows[:, 1] = y  # within no class, though it differs between them
        message = self.message(cw.GaussianClassifier(structure="diagonal"), rows)
        assert "diagonal covariance has rank 3: 'width' does not vary." in message
        message = self.message(cw.GaussianClassifier(structure="diagonal", share=1), rows)
        assert "diagonal covariance has rank 3: 'width' does not vary within classes." in message

    def test_all_rows_equal(self):
        message = self.message(cw.NearestMean(), np.ones((120, 4)))
        assert message == "No column of X varies, so there is nothing to tell the classes apart."

    @pytest.mark.parametrize("shrink", [0.1, 1.0, "oas"])
    def test_the_remedy_works(self, shrink):
        m = cw.QDA(shrink=shrink).fit(X[:6], ["a", "a", "a", "b", "b", "b"])
        assert np.isfinite(m.log_joint(X)).all()

    def test_unbiased_needs_two_rows(self):
        with pytest.raises(cw.ClasswiseError, match="Class 'b' has weight 1"):
            cw.QDA(estimate="unbiased").fit(X[:31], ["a"] * 30 + ["b"])
        with pytest.raises(cw.ClasswiseError, match="weight 2 in 2 classes"):
            cw.LDA(estimate="unbiased").fit(X[:2], ["a", "b"])
