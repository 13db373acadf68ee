"""Discriminants and boundaries: values, kinds, roots, curves, text, marginals and slices."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import classwise as cw
from classwise.classifier.boundary import Boundary, boundary, discriminant
from classwise.covariance import FullCovariance
from classwise.densities import Gaussian

PETALS = np.array([[1.8], [2.1], [2.5], [3.2], [3.8], [5.8], [6.7], [7.0]])
SPECIES = np.array([0, 0, 0, 0, 0, 1, 1, 1])

MODELS = [
    cw.QDA(),
    cw.LDA(),
    cw.RDA(share=0.4, shrink=0.2),
    cw.QDA(structure="diagonal"),
    cw.LDA(structure="diagonal"),
    cw.QDA(structure="spherical"),
    cw.NearestMean(),
    cw.QDA(priors=[0.7, 0.2, 0.1]),
    cw.LDA(priors={0: 0.01, 1: 0.98, 2: 0.01}, estimate="unbiased"),
    cw.GaussianClassifier(share="average", shrink="oas"),
    cw.RDA(share=0.3, shrink=0.5, standardize=True),
    cw.NearestMean(standardize=True),
    cw.NaiveBayes(),
    cw.NaiveBayes(estimate="unbiased", priors="uniform"),
]

CALIBRATED = [
    cw.QDA(calibrate="temperature", folds=4),
    cw.LDA(calibrate="temperature", folds=4, priors=[0.5, 0.3, 0.2]),
    cw.NaiveBayes(calibrate="temperature", folds=4),
    cw.RDA(share=0.5, shrink=0.5, standardize=True, calibrate="temperature", folds=4),
]


def rows_of_three_classes(seed, features, offset=0.0, rows=60):
    rng = np.random.default_rng(seed)
    labels = np.arange(rows) % 3
    shapes = rng.normal(size=(3, features, features)) + np.eye(features)
    means = 2 * rng.normal(size=(3, features))
    X = np.einsum("ni,nij->nj", rng.normal(size=(rows, features)), shapes[labels]) + means[labels]
    return X + offset, labels


def edge_between(means, covariances, log_odds=0.0):
    """The boundary of two Gaussians with these prior log odds."""
    means = np.array(means, dtype=float)
    gaussian = Gaussian(means, FullCovariance(np.array(covariances, dtype=float)))
    names = tuple("xyzuvw"[: means.shape[1]])
    return boundary(discriminant(gaussian, 0, log_odds, names), discriminant(gaussian, 1, 0.0, names))


def polynomial(W, w, w0, covariance=None):
    """f(x) = x'W x + w'x + w0."""
    W, w = np.array(W, dtype=float), np.array(w, dtype=float)
    covariance = np.eye(len(w)) if covariance is None else covariance
    return Boundary(np.zeros(len(w)), W, w, float(w0), covariance, tuple("xyzuvw"[: len(w)]))


class TestValues:
    def test_values_of_the_worked_examples(self):
        """W, w and w0 of the petals, with equal and with counted priors; of two lines with an averaged covariance."""
        edge = cw.QDA(priors="uniform").fit(PETALS, SPECIES).boundary(1, 0)
        np.testing.assert_allclose(edge.W, [[-0.9860454388190509]], rtol=1e-14)
        np.testing.assert_allclose(edge.w, [19.977511244377798], rtol=1e-14)
        np.testing.assert_allclose(edge.w0, -74.16038263567327, rtol=1e-14)
        counted = cw.QDA().fit(PETALS, SPECIES).boundary(1, 0)
        np.testing.assert_allclose(counted.w0, -74.16038263567327 + np.log(3 / 5), rtol=1e-14)
        lines = cw.GaussianClassifier(share="average").fit([[-1, -1], [-1, 1], [2, 0], [3, 0]], [-1, -1, 1, 1])
        edge = lines.boundary(1, -1)
        np.testing.assert_allclose(edge.w, [28, 0], atol=1e-13)
        np.testing.assert_allclose(edge.w0, -21, rtol=1e-14)
        np.testing.assert_allclose(edge.homogeneous_vector(), [28, 0, -21], atol=1e-13)
        np.testing.assert_allclose(edge([[0.75, 123.0]]), 0, atol=1e-12)

    def test_the_formulas_of_the_theory(self):
        X, y = rows_of_three_classes(0, 3)
        m = cw.QDA().fit(X, y)
        P, means = np.linalg.inv(m.covariances_), m.means_
        half = [0.5 * np.linalg.slogdet(C)[1] for C in m.covariances_]
        edge = m.boundary(2, 0)
        np.testing.assert_allclose(edge.W, (P[0] - P[2]) / 2, rtol=1e-9)
        np.testing.assert_allclose(edge.w, P[2] @ means[2] - P[0] @ means[0], rtol=1e-9)
        quadratic = means[2] @ P[2] @ means[2] - means[0] @ P[0] @ means[0]
        expected = half[0] - half[2] - quadratic / 2 + np.log(m.priors_[2] / m.priors_[0])
        np.testing.assert_allclose(edge.w0, expected, rtol=1e-9)
        g = m.discriminant(1)
        np.testing.assert_allclose(g.A, -P[1] / 2, rtol=1e-9)
        np.testing.assert_allclose(g.b, P[1] @ means[1], rtol=1e-9)
        expected = -means[1] @ P[1] @ means[1] / 2 - half[1] + np.log(m.priors_[1])
        np.testing.assert_allclose(g.c, expected, rtol=1e-9)

    def test_the_boundary_of_lda_is_about_the_middle_of_the_means(self):
        X, y = rows_of_three_classes(1, 2)
        m = cw.LDA(priors=[0.2, 0.3, 0.5]).fit(X, y)
        edge = m.boundary(0, 1)
        assert not edge.W.any()
        np.testing.assert_allclose(edge.center, (m.means_[0] + m.means_[1]) / 2, rtol=1e-14)
        np.testing.assert_allclose(edge.constant, np.log(0.2 / 0.3), rtol=1e-12)
        slope = np.linalg.solve(m.covariances_[0], m.means_[0] - m.means_[1])
        np.testing.assert_allclose(edge.linear, slope, rtol=1e-9)

    @given(
        seed=st.integers(0, 10**6),
        features=st.integers(1, 4),
        model=st.sampled_from(MODELS),
        offset=st.sampled_from([0.0, -20.0, 1e4, 1e8]),
    )
    @settings(max_examples=40)
    def test_boundaries_are_log_odds_wherever_the_rows_lie(self, seed, features, model, offset):
        X, y = rows_of_three_classes(seed, features, offset)
        m = model.fit(X, y)
        rows = X.mean(axis=0) + 3 * (X[:20] - X.mean(axis=0))
        log_joint = m.log_joint(rows)
        for first, second in ((0, 1), (2, 0), (1, 2)):
            edge = m.boundary(first, second)
            expected = log_joint[:, first] - log_joint[:, second]
            size = 1 + np.abs(log_joint).max()
            np.testing.assert_allclose(edge(rows), expected, atol=1e-10 * size)
            far = np.abs(expected) > 1e-9 * size
            np.testing.assert_array_equal(np.sign(edge(rows))[far], np.sign(expected)[far])
        scores = np.column_stack([m.discriminant(k)(rows) for k in range(3)])
        shift = log_joint - scores
        np.testing.assert_allclose(shift, np.broadcast_to(shift[:1, :1], shift.shape), atol=1e-10 * size)

    @given(
        seed=st.integers(0, 10**6), model=st.sampled_from(CALIBRATED), offset=st.sampled_from([0.0, -20.0, 1e4, 1e8])
    )
    @settings(max_examples=20)
    def test_calibrated_boundaries_are_announced_log_odds_wherever_the_rows_lie(self, seed, model, offset):
        X, y = rows_of_three_classes(seed, 2, offset)
        m = model.fit(X, y)
        rows = X.mean(axis=0) + 3 * (X[:20] - X.mean(axis=0))
        announced = m.predict_log_proba(rows)
        size = 1 + np.abs(announced).max()
        for first, second in ((0, 1), (2, 0), (1, 2)):
            expected = announced[:, first] - announced[:, second]
            values = m.boundary(first, second)(rows)
            np.testing.assert_allclose(values, expected, atol=1e-10 * size)
            far = np.abs(expected) > 1e-9 * size
            np.testing.assert_array_equal(np.sign(values)[far], np.sign(expected)[far])

    def test_of_two_classes_they_are_the_decision_function(self):
        X, y = rows_of_three_classes(12, 3, 1e6)
        for model in MODELS[:7] + MODELS[-2:]:
            m = model.fit(X[y < 2], y[y < 2])
            np.testing.assert_allclose(m.boundary(1, 0)(X), m.decision_function(X), rtol=1e-9, atol=1e-7)

    def test_naive_bayes_is_the_diagonal_gaussian(self):
        X, y = rows_of_three_classes(13, 3)
        naive, diagonal = cw.NaiveBayes().fit(X, y), cw.QDA(structure="diagonal").fit(X, y)
        for ours, theirs in (
            (naive.boundary(0, 1), diagonal.boundary(0, 1)),
            (naive.discriminant(2, columns=[1]), diagonal.discriminant(2, columns=[1])),
        ):
            np.testing.assert_allclose(ours.homogeneous(), theirs.homogeneous(), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(naive.distances(X), diagonal.distances(X), rtol=1e-9)
        counts = pd.DataFrame({"a": X[:, 0], "n": np.arange(len(X)) % 5})
        with pytest.raises(cw.ClasswiseError, match="this model has other columns too"):
            cw.NaiveBayes(families={"n": "poisson"}).fit(counts, y).boundary(0, 1)
        with pytest.raises(cw.ClasswiseError, match="Student-t"):
            cw.NaiveBayes(estimate="bayes").fit(X, y).boundary(0, 1)

    def test_of_a_model_learned_from_gaps(self):
        X, y = rows_of_three_classes(14, 3, rows=150)
        X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
        m = cw.QDA().fit(X, y)
        rows = X[~np.isnan(X).any(axis=1)]
        log_joint = m.log_joint(rows)
        np.testing.assert_allclose(m.boundary(0, 2)(rows), log_joint[:, 0] - log_joint[:, 2], atol=1e-9)

    def test_of_fewer_directions(self):
        X, y = rows_of_three_classes(15, 4)
        m = cw.LDA(n_components=1).fit(X, y)
        log_joint = m.log_joint(X)
        np.testing.assert_allclose(m.boundary(0, 2)(X), log_joint[:, 0] - log_joint[:, 2], atol=1e-9)

    @pytest.mark.parametrize("calibrated", [cw.QDA(calibrate="temperature", folds=4), cw.RDA(calibrate="temperature")])
    def test_of_a_calibrated_model_they_are_what_it_announces(self, calibrated):
        X, y = rows_of_three_classes(2, 2)
        fitted = calibrated.fit(X, y)
        for m in (fitted, fitted.with_priors([0.6, 0.3, 0.1])):
            announced = m.predict_log_proba(X)
            for first, second in ((0, 1), (2, 0)):
                expected = announced[:, first] - announced[:, second]
                np.testing.assert_allclose(m.boundary(first, second)(X), expected, atol=1e-9)
        plain = cw.QDA().fit(X, y).boundary(0, 1)
        assert abs(fitted.calibration_.power - 1) > 1e-3
        if isinstance(calibrated, cw.QDA) and not isinstance(calibrated, cw.RDA):
            np.testing.assert_allclose(fitted.boundary(0, 1).W, fitted.calibration_.power * plain.W, rtol=1e-12)

    def test_about_another_point_it_is_the_same_function(self):
        X, y = rows_of_three_classes(3, 3)
        edge = cw.QDA().fit(X, y).boundary(0, 1)
        moved = edge.about([1.0, -2.0, 0.5])
        np.testing.assert_allclose(moved(X), edge(X), atol=1e-9)
        np.testing.assert_allclose(moved.constant, edge([[1.0, -2.0, 0.5]])[0])
        np.testing.assert_allclose(moved.w, edge.w, atol=1e-9)
        assert moved.kind == edge.kind

    def test_homogeneous_coordinates(self):
        X, y = rows_of_three_classes(4, 2)
        edge = cw.QDA().fit(X, y).boundary(0, 1)
        ones = np.ones((len(X), 1))
        for point in (None, edge.center, [3.0, 4.0]):
            Q = edge.homogeneous(point)
            rows = np.hstack([X if point is None else X - point, ones])
            np.testing.assert_array_equal(Q, Q.T)
            np.testing.assert_allclose(np.einsum("ni,ij,nj->n", rows, Q, rows), edge(X), atol=1e-9)
        linear = cw.LDA().fit(X, y).boundary(0, 1)
        np.testing.assert_array_equal(linear.homogeneous_vector(), [*linear.w, linear.w0])
        np.testing.assert_allclose(np.hstack([X, ones]) @ linear.homogeneous_vector(), linear(X), atol=1e-9)
        about = np.hstack([X - linear.center, ones]) @ linear.homogeneous_vector(linear.center)
        np.testing.assert_allclose(about, linear(X), atol=1e-12)
        with pytest.raises(cw.ClasswiseError, match="this one is quadratic"):
            edge.homogeneous_vector()

    def test_a_prior_of_zero(self):
        X, y = rows_of_three_classes(5, 2)
        edge = cw.QDA(priors=[0, 0.5, 0.5]).fit(X, y).boundary(1, 0)
        assert edge.w0 == np.inf
        assert edge.kind == "nowhere"
        assert edge.curve(((-5, 5), (-5, 5))) == []
        assert str(edge) == "∞ = 0"
        assert (edge(X) == np.inf).all()
        one = cw.QDA(priors=[1, 0]).fit(PETALS, SPECIES).boundary(1, 0)
        assert one.w0 == -np.inf
        assert len(one.roots()) == 0
        assert str(one) == "-∞ = 0"

    def test_polynomials_are_for_gaussians(self):
        X, y = rows_of_three_classes(6, 2)
        with pytest.raises(cw.ClasswiseError, match="Student-t"):
            cw.QDA(estimate="bayes").fit(X, y).boundary(0, 1, columns=[0])
        mixed = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0, "high", "low")})
        with pytest.raises(cw.ClasswiseError, match="other columns too"):
            cw.QDA().fit(mixed, y).boundary(0, 1, columns=["a"])


class TestRows:
    X, y = rows_of_three_classes(7, 3)
    names = ("length", "width", "mass")
    m = cw.QDA().fit(pd.DataFrame(X, columns=names), y)

    @pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
    def test_frames_are_read_by_name(self, library):
        frame = pl.DataFrame(
            {"note": ["a"] * len(self.X), **dict(zip(reversed(self.names), self.X.T[::-1], strict=True))}
        )
        frame = {"pandas": frame.to_pandas, "polars": lambda: frame, "pyarrow": frame.to_arrow}[library]()
        edge = self.m.boundary(0, 1)
        np.testing.assert_array_equal(edge(frame), edge(self.X))
        part = self.m.boundary(0, 1, columns=("mass", "length"))
        np.testing.assert_array_equal(part(frame), part(self.X[:, [2, 0]]))
        np.testing.assert_array_equal(self.m.discriminant(0)(frame), self.m.discriminant(0)(self.X))

    def test_a_missing_value_has_no_log_odds(self):
        for frame in (
            pl.DataFrame({"length": [1, None], "width": [1, 2], "mass": [0.5, 1.0]}),
            pd.DataFrame({"length": pd.array([1, None], dtype="Int64"), "width": [1, 2], "mass": [0.5, 1.0]}),
        ):
            assert np.isnan(self.m.boundary(0, 1)(frame)).tolist() == [False, True]

    def test_columns_without_names(self):
        m = cw.QDA().fit(self.X, self.y)
        np.testing.assert_array_equal(m.boundary(0, 1)(pd.DataFrame(self.X)), m.boundary(0, 1)(self.X.tolist()))

    def test_rows_that_do_not_fit(self):
        edge = self.m.boundary(0, 1)
        with pytest.raises(
            cw.ClasswiseError, match="lack the column 'width'; the polynomial is in length, width, mass"
        ):
            edge(pd.DataFrame({"length": [1.0], "mass": [2.0]}))
        with pytest.raises(
            cw.ClasswiseError, match=r"shape \(60, 2\); the polynomial takes \(n, 3\): length, width, mass"
        ):
            edge(self.X[:, :2])
        with pytest.raises(cw.ClasswiseError, match=r"shape \(3,\)"):
            edge(self.X[0])


# Kinds ----------------------------------------------------------------------------------------------------------------


def diag(*variances):
    return np.diag(np.array(variances, dtype=float))


def touching(first, second):
    """The prior log odds that make f zero at a mean that both share: 1/2 log |C_1| / |C_2|."""
    return 0.5 * (np.linalg.slogdet(first)[1] - np.linalg.slogdet(second)[1])


def case(name, first, second, apart=None, raised=None, log_odds=0.0):
    """Two Gaussians: their covariances, how far apart; raised: log odds beyond those that make f touch zero."""
    means = np.zeros((2, len(first)))
    if apart is not None:
        means[1] = apart
    odds = log_odds if raised is None else touching(first, second) + raised
    return pytest.param(name, means, [first, second], odds, id=name)


ONE = [
    case("nowhere", diag(1), diag(2), raised=-0.1),
    case("point", diag(1), diag(1), [3]),
    case("point", diag(1), diag(2), raised=0),
    case("two points", diag(1), diag(2), raised=0.1),
    case("two points", diag(1), diag(2), [3]),
    case("everywhere", diag(1.1), diag(1.1), [0]),
    case("nowhere", diag(1.1), diag(1.1), [0], log_odds=1e-3),
]

TWO = [
    case("line", diag(1, 3), diag(1, 3), [2, 1], log_odds=0.3),
    case("line", diag(1, 1), diag(1, 2), raised=0),
    case("circle", diag(1, 1), diag(3, 3), [2, 1]),
    case("ellipse", diag(1, 1), diag(3, 2), [2, 1]),
    case("ellipse", [[1, 0.5], [0.5, 1]], [[3, 1], [1, 4]], [2, 1]),
    case("parabola", diag(1, 1), diag(1, 2), [2, 1]),
    case("parabola", [[1, 0.5], [0.5, 1]], [[1.5, 1], [1, 1.5]], [2, 1]),  # C_2 - C_1 = 1/2 in direction (1, 1)
    case("hyperbola", diag(1, 2), diag(3, 1), [1, 3]),
    case("hyperbola", diag(1, 2), diag(2, 1), [0, 0], log_odds=-0.5),
    case("pair of lines", diag(1, 2), diag(2, 1)),
    case("pair of lines", [[1, 0.5], [0.5, 3]], [[3, -0.5], [-0.5, 1]], raised=0),
    case("parallel lines", diag(1, 1), diag(1, 2), raised=0.2),
    case("point", diag(1, 1), diag(2, 3), raised=0),
    case("nowhere", diag(1, 1), diag(2, 3), raised=-0.2),
    case("nowhere", diag(1, 1), diag(1, 3), raised=-0.2),
    case("nowhere", diag(1, 1), diag(1, 1), log_odds=0.1),
    case("everywhere", diag(1, 2), diag(1, 2)),
]

THREE = [
    case("plane", diag(1, 2, 3), diag(1, 2, 3), [1, 2, 0], log_odds=0.3),
    case("plane", diag(1, 1, 1), diag(1, 1, 2), raised=0),
    case("sphere", diag(1, 1, 1), diag(2, 2, 2), [1, 2, 0]),
    case("ellipsoid", diag(1, 1, 1), diag(2, 2, 3), [1, 2, 0]),
    case("paraboloid", diag(1, 1, 1), diag(2, 3, 1), [1, 2, 3]),
    case("hyperbolic paraboloid", diag(2, 1, 1), diag(1, 3, 1), [1, 2, 3]),
    case("hyperboloid", diag(2, 1, 1), diag(1, 3, 2), [1, 2, 3]),
    case("hyperboloid", diag(2, 3, 1), diag(1, 1, 2), raised=0.1),
    case("cone", diag(2, 3, 1), diag(1, 1, 2), raised=0),
    case("elliptic cylinder", diag(1, 1, 1), diag(2, 2, 1), [1, 0, 0]),
    case("parabolic cylinder", diag(1, 1, 1), diag(2, 1, 1), [1, 2, 0]),
    case("hyperbolic cylinder", diag(2, 1, 1), diag(1, 3, 1), [1, 2, 0]),
    case("pair of planes", diag(2, 1, 1), diag(1, 2, 1)),
    case("parallel planes", diag(1, 1, 1), diag(1, 2, 1), raised=0.1),
    case("line", diag(1, 1, 1), diag(2, 3, 1), raised=0),
    case("point", diag(1, 1, 1), diag(2, 3, 2), raised=0),
    case("nowhere", diag(1, 1, 1), diag(2, 3, 2), raised=-0.1),
    case("nowhere", diag(1, 1, 1), diag(1, 1, 2), raised=-0.1),
    case("nowhere", diag(1, 1, 2), diag(1, 1, 2), log_odds=0.1),
    case("everywhere", diag(1, 1, 2), diag(1, 1, 2)),
]

FIVE = [
    case("plane", diag(1, 2, 3, 4, 5), diag(1, 2, 3, 4, 5), [1, 0, 0, 2, 0]),
    case("sphere", diag(1, 1, 1, 1, 1), diag(2, 2, 2, 2, 2), [1, 2, 0, 1, 1]),
    case("hyperboloid", diag(1, 1, 2, 2, 1), diag(2, 2, 1, 1, 3), [1, 2, 0, 1, 1]),
    case("cone", diag(1, 1, 2, 2, 1), diag(2, 2, 1, 1, 3), raised=0),
    case("cone", diag(1, 1, 2, 2, 1), diag(2, 2, 1, 2, 1), raised=0),
    case("flat", diag(1, 1, 1, 1, 1), diag(2, 3, 1, 1, 1), raised=0),
    case("paraboloid", diag(1, 1, 1, 1, 1), diag(2, 3, 2, 3, 1), [1, 0, 0, 0, 1]),
    case("parabolic cylinder", diag(1, 1, 1, 1, 1), diag(2, 3, 2, 1, 1), [1, 0, 0, 0, 1]),
    case("ellipsoid", diag(1, 1, 1, 1, 1), diag(2, 2, 3, 2, 2), [1, 2, 0, 1, 1]),
    case("hyperbolic paraboloid", diag(1, 1, 2, 2, 1), diag(2, 2, 1, 1, 1), [1, 2, 0, 1, 1]),
    case("elliptic cylinder", diag(1, 1, 1, 1, 1), diag(2, 3, 1, 1, 1), [1, 1, 0, 0, 0]),
    case("hyperbolic cylinder", diag(1, 2, 1, 1, 1), diag(2, 1, 1, 1, 1), [1, 3, 0, 0, 0]),
    case("pair of planes", diag(1, 2, 1, 1, 1), diag(2, 1, 1, 1, 1)),
    case("parallel planes", diag(1, 1, 1, 1, 1), diag(2, 1, 1, 1, 1), raised=0.2),
    case("plane", diag(1, 1, 1, 1, 1), diag(2, 1, 1, 1, 1), raised=0),
    case("point", diag(1, 1, 1, 1, 1), diag(2, 3, 2, 3, 2), raised=0),
    case("line", diag(1, 1, 1, 1, 1), diag(2, 3, 2, 3, 1), raised=0),
    case("nowhere", diag(1, 1, 1, 1, 1), diag(2, 3, 2, 3, 1), raised=-0.2),
    case("everywhere", diag(1, 2, 3, 4, 5), diag(1, 2, 3, 4, 5)),
]

CASES = ONE + TWO + THREE + FIVE


def turn(size, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(size, size)))[0]


def mapped(means, covariances, matrix, shift=0.0):
    """The two Gaussians of x -> matrix x + shift."""
    return means @ matrix.T + shift, [matrix @ C @ matrix.T for C in covariances]


class TestKind:
    def test_every_kind_is_constructed(self):
        """Those that the documentation names are those that are tested, in one, two, three and five columns."""
        named = set(re.findall(r'"([a-z ]+)"', Boundary.kind.__doc__))
        assert named == {param.id for param in CASES}
        one, two, more = ({param.id for param in cases} for cases in (ONE, TWO, THREE + FIVE))
        flat = {"circle", "ellipse", "parabola", "hyperbola", "pair of lines", "parallel lines"}
        assert one == {"point", "two points", "nowhere", "everywhere"}
        assert two == flat | {"line", "point", "nowhere", "everywhere"}
        assert more == named - flat - {"two points"}

    @pytest.mark.parametrize(("name", "means", "covariances", "log_odds"), CASES)
    def test_constructed(self, name, means, covariances, log_odds):
        assert edge_between(means, covariances, log_odds).kind == name

    @pytest.mark.parametrize(("name", "means", "covariances", "log_odds"), CASES)
    def test_the_other_way_round(self, name, means, covariances, log_odds):
        assert edge_between(means[::-1], covariances[::-1], -log_odds).kind == name

    @pytest.mark.parametrize(("name", "means", "covariances", "log_odds"), CASES)
    def test_turned_and_moved_far_away(self, name, means, covariances, log_odds):
        matrix = turn(means.shape[1])
        assert edge_between(*mapped(means, covariances, matrix), log_odds).kind == name
        moved = mapped(means, covariances, np.eye(means.shape[1]), 1e8)
        assert edge_between(*moved, log_odds).kind == name

    @pytest.mark.parametrize(("name", "means", "covariances", "log_odds"), CASES)
    def test_in_other_units_only_what_is_round_changes(self, name, means, covariances, log_odds):
        size = means.shape[1]
        name = {"circle": "ellipse", "sphere": "ellipsoid"}.get(name, name)
        for units in (10.0 ** np.arange(-6, 3 * size - 6, 3), 10.0 ** -np.arange(size)):
            if size > 1:
                assert edge_between(*mapped(means, covariances, np.diag(units)), log_odds).kind == name
        shear = turn(size) @ np.diag(np.arange(1.0, size + 1)) @ turn(size, 1)
        if size > 1:
            assert edge_between(*mapped(means, covariances, shear, 5.0), log_odds).kind == name

    @pytest.mark.parametrize("power", [0.02, 50.0])
    @pytest.mark.parametrize(("name", "means", "covariances", "log_odds"), CASES)
    def test_whatever_the_power(self, name, means, covariances, log_odds, power):
        edge = edge_between(means, covariances, log_odds)
        scaled = Boundary(
            edge.center, power * edge.W, power * edge.linear, power * edge.constant, edge.covariance, edge.names
        )
        assert scaled.kind == name

    def test_tolerance(self):
        near, off = diag(1, 1 + 1e-11), diag(1, 1 + 1e-6)
        assert edge_between([[0, 0], [2, 1]], [diag(1, 1), near]).kind == "line"
        assert edge_between([[0, 0], [2, 1]], [diag(1, 1), off]).kind == "parabola"
        assert polynomial(diag(1, 1), [0, 0], -1e-13).kind == "point"
        assert polynomial(diag(1, 1), [0, 0], -1e-11).kind == "circle"
        assert polynomial(diag(1, 1), [0, 0], 1e-11).kind == "nowhere"
        assert polynomial(diag(1, 1 + 1e-11), [0, 0], -1).kind == "circle"
        assert polynomial(diag(1, 1 + 1e-7), [0, 0], -1).kind == "ellipse"

    @pytest.mark.parametrize("narrow", [1e-3, 1e-6, 1e-9])
    def test_where_one_class_is_very_narrow(self, narrow):
        pair = mapped(np.array([[0.0, 0], [0, 1]]), [diag(narrow, 1), diag(1, 1)], turn(2))
        assert edge_between(*pair).kind == "parabola"

    def test_of_models(self):
        X, y = rows_of_three_classes(8, 2)
        assert cw.LDA().fit(X, y).boundary(0, 1).kind == "line"
        assert cw.NearestMean().fit(X, y).boundary(0, 1).kind == "line"
        assert cw.QDA(structure="spherical").fit(X, y).boundary(0, 1).kind == "circle"
        assert cw.QDA().fit(X, y).boundary(0, 1).kind in ("ellipse", "hyperbola")
        assert cw.LDA().fit(X, y).boundary(0, 0).kind == "everywhere"
        assert cw.LDA().fit(*rows_of_three_classes(8, 4)).boundary(0, 1).kind == "plane"
        assert cw.QDA(structure="spherical").fit(*rows_of_three_classes(8, 3)).boundary(0, 1).kind == "sphere"


class TestRoots:
    def test_worked_example(self):
        edge = cw.QDA(priors="uniform").fit(PETALS, SPECIES).boundary(1, 0)
        assert edge.kind == "two points"
        np.testing.assert_allclose(edge.roots(), [4.89472149, 15.36551243], rtol=1e-8)
        far = cw.QDA(priors="uniform").fit(PETALS + 2.0**27, SPECIES).boundary(1, 0)
        np.testing.assert_allclose(far.roots() - 2.0**27, [4.89472149, 15.36551243], atol=2e-7)

    def test_nothing_cancels(self):
        f = polynomial([[1.0]], [-(1e7 + 1e-7)], 1.0)
        np.testing.assert_allclose(f.roots(), [1e-7, 1e7], rtol=1e-14)
        np.testing.assert_allclose(polynomial([[1e-7]], [-1.0], 1e-3).roots()[0], 1.0000000001e-3, rtol=1e-14)

    @pytest.mark.parametrize(("name", "means", "covariances", "log_odds"), ONE)
    def test_as_many_as_the_kind_says(self, name, means, covariances, log_odds):
        edge = edge_between(means, covariances, log_odds)
        assert len(edge.roots()) == {"point": 1, "two points": 2}.get(name, 0)
        np.testing.assert_allclose(edge(edge.roots()[:, None]), 0, atol=1e-12)

    def test_an_almost_straight_line_is_solved_as_the_parabola_it_is(self):
        f = polynomial([[1e-10]], [1.0], -100.0)
        assert f.kind == "point"
        np.testing.assert_allclose(f(f.roots()[:, None]), 0, atol=1e-12)

    @given(
        m=st.floats(-5, 5), v=st.floats(0.01, 100), odds=st.floats(-5, 5), offset=st.sampled_from([0.0, 1e8]),
        unit=st.sampled_from([1e-6, 1.0, 1e6]),
    )  # fmt: skip
    def test_any_two_gaussians(self, m, v, odds, offset, unit):
        means = unit * (np.array([[0.0], [m]]) + (0.0 if unit != 1 else offset))
        edge = edge_between(means, [[[unit**2]], [[v * unit**2]]], odds)
        roots = edge.roots()
        slopes = 2 * (roots - edge.center) * edge.W[0] + edge.linear
        curvature = np.abs(edge.W[0, 0]) * unit**2
        moved = np.abs(edge(roots[:, None])) / np.maximum(np.abs(slopes) * unit, 1e-4 * np.sqrt(curvature) + 1e-12)
        assert (moved < 1e-6 * (1 + np.abs(roots - edge.center) / unit)).all()
        assert (np.diff(roots) >= 0).all()


# Curves ---------------------------------------------------------------------------------------------------------------

SQUARE = ((-6.0, 6.0), (-5.0, 7.0))
BENDS = [c for c in TWO if c.id not in ("nowhere", "everywhere")]


def distances(f, points):
    """|f| / |∇f| in standard deviations: how far points lie from the curve."""
    slopes = 2 * (points - f.center) @ f.W + f.linear
    lengths = np.sqrt(np.einsum("ni,ij,nj->n", slopes, f.covariance, slopes))
    return np.abs(f(points)) / np.maximum(lengths, 1e-5)  # where lines cross and where f touches zero it has no slope


def crossings_of_a_grid(f, box, count=160):
    """Where f changes its sign between neighbors on a fine grid, to a cell."""
    axes = [np.linspace(*side, count) for side in box]
    x, y = np.meshgrid(*axes, indexing="ij")
    sign = f(np.column_stack([x.ravel(), y.ravel()])).reshape(x.shape) > 0
    flips = (sign[1:, :-1] != sign[:-1, :-1]) | (sign[:-1, 1:] != sign[:-1, :-1])
    return np.column_stack([x[:-1, :-1][flips], y[:-1, :-1][flips]]), np.array([a[1] - a[0] for a in axes])


def check_curve(f, box, count=400):
    pieces = f.curve(box, count)
    low, high = np.array(box).T
    for piece in pieces:
        assert (distances(f, piece) < 1e-6).all()
        assert (piece >= low).all()
        assert (piece <= high).all()
        ends = piece[[0, -1]]
        closed = np.allclose(*ends, rtol=0, atol=1e-6 * (high - low).max())
        on_edge = (np.abs(ends - low) <= 1e-6 * (high - low)) | (np.abs(high - ends) <= 1e-6 * (high - low))
        assert closed or on_edge.any(axis=1).all()
    cells, size = crossings_of_a_grid(f, box)
    if len(cells):
        points = np.concatenate(pieces)
        away = np.abs(cells[:, None, :] - points[None]) / size
        assert (away.max(axis=2).min(axis=1) < 4).all()
    return pieces


class TestCurve:
    @pytest.mark.parametrize(("name", "means", "covariances", "log_odds"), BENDS)
    def test_constructed(self, name, means, covariances, log_odds):
        pieces = check_curve(edge_between(means, covariances, log_odds), SQUARE)
        assert pieces or name in ("circle", "ellipse")

    @pytest.mark.parametrize(("name", "means", "covariances", "log_odds"), BENDS)
    def test_turned_sheared_and_far_away(self, name, means, covariances, log_odds):
        box = np.array(SQUARE)
        check_curve(edge_between(*mapped(means, covariances, turn(2)), log_odds), box)
        check_curve(edge_between(*mapped(means, covariances, np.array([[1, 0.7], [0, 1]])), log_odds), box)
        check_curve(edge_between(*mapped(means, covariances, np.eye(2), 1e8), log_odds), box + 1e8)
        units = np.array([1e-6, 1e6])
        check_curve(edge_between(*mapped(means, covariances, np.diag(units)), log_odds), box * units[:, None])

    def test_pieces(self):
        box = ((-2, 2), (-2, 2))
        f = polynomial(diag(1, 1), [0, 0], -1)
        (circle,) = f.curve(box, 50)
        assert circle.shape == (50, 2)
        np.testing.assert_allclose(np.hypot(*circle.T), 1)
        np.testing.assert_allclose(circle[0], circle[-1], atol=1e-12)
        assert f.curve(((2, 3), (2, 3))) == []
        assert len(polynomial(diag(1, 1), [0, 0], -5).curve(box)) == 4  # the corners cut a circle into four
        assert len(polynomial(diag(1, -1), [0, 0], -1).curve(box)) == 2
        assert len(polynomial(diag(1, -1), [0, 0], 1).curve(box)) == 2
        assert len(polynomial(diag(1, -1), [0, 0], 0).curve(box)) == 2
        assert len(polynomial(diag(0, 1), [0, 0], -1).curve(box)) == 2
        assert len(polynomial(diag(1, 0), [0, 1], 0).curve(((-2, 2), (-1, 1)))) == 1
        assert len(polynomial(diag(1, 0), [0, 1], 0).curve(((-2, 2), (-1, -0.5)))) == 2
        np.testing.assert_allclose(polynomial(diag(0, 0), [1, 0], -1).curve(box, 2), [[[1, -2], [1, 2]]])
        np.testing.assert_array_equal(polynomial(diag(1, 1), [-2, 0], 1).curve(box), [[[1, 0]]])
        assert polynomial(diag(1, 1), [-2, 0], 1).curve(((2, 3), (2, 3))) == []
        assert polynomial(diag(0, 0), [0, 0], 1).curve(box) == []
        assert polynomial(diag(0, 0), [0, 0], 0).curve(box) == []
        assert polynomial(diag(0, 0), [1, 0], -3).curve(box) == []

    @given(seed=st.integers(0, 10**6), bend=st.sampled_from([1.0, 1e-2, 1e-5, 1e-8]))
    @settings(max_examples=40)
    def test_any_boundary(self, seed, bend):
        """Also those whose centers lie so far away that they are all but lines and parabolas."""
        rng = np.random.default_rng(seed)
        W = rng.normal(size=(2, 2)) * [1, bend]
        check_curve(polynomial(W + W.T, rng.normal(size=2), rng.normal()), SQUARE, 600)

    def test_a_line_that_bends_far_away(self):
        f = polynomial(diag(5e-10, 0), [0, 1], 0)
        assert f.kind == "line"
        (piece,) = f.curve(((-3000, 3000), (-10, 10)))
        assert np.abs(f(piece)).max() < 1e-9
        assert piece[0, 1] == pytest.approx(-5e-10 * 3000**2)

    def test_where_it_lies_the_two_classes_are_equally_probable(self):
        X, y = rows_of_three_classes(9, 2)
        m = cw.QDA().fit(X, y)
        box = tuple(zip(X.min(axis=0), X.max(axis=0), strict=True))
        points = np.concatenate(m.boundary(0, 1).curve(box))
        log_joint = m.log_joint(points)
        np.testing.assert_allclose(log_joint[:, 0], log_joint[:, 1], atol=1e-8)

    def test_what_is_no_plane_or_no_box(self):
        X, y = rows_of_three_classes(9, 3)
        with pytest.raises(cw.ClasswiseError, match="this boundary is in 3 features"):
            cw.QDA().fit(X, y).boundary(0, 1).curve(SQUARE)
        for box in (((0, 1),), ((1, 0), (0, 1)), ((0, np.inf), (0, 1)), (0, 1, 0, 1)):
            with pytest.raises(cw.ClasswiseError, match=r"the limits of the two columns"):
                polynomial(diag(1, 1), [0, 0], -1).curve(box)


class TestColumns:
    X, y = rows_of_three_classes(10, 4)
    names = ("length", "width", "depth", "mass")
    frame = pd.DataFrame(X, columns=names)

    @pytest.mark.parametrize("share", [0, 0.3, 1])
    @pytest.mark.parametrize("structure", ["full", "diagonal"])
    def test_of_some_columns_it_is_the_model_of_these_columns(self, structure, share):
        model = cw.GaussianClassifier(structure=structure, share=share)
        refitted = model.fit(self.frame[["mass", "width"]], self.y).boundary(0, 2)
        whole = model.fit(self.frame, self.y)
        edge = whole.boundary(0, 2, columns=("mass", "width"))
        np.testing.assert_allclose(edge.W, refitted.W, atol=1e-10)
        np.testing.assert_allclose(edge.w, refitted.w, atol=1e-10)
        np.testing.assert_allclose(edge.w0, refitted.w0, atol=1e-10)
        assert edge.names == ("mass", "width")
        assert whole.boundary(0, 2, columns=[3, 1]).w0 == edge.w0

    def test_one_column(self):
        m = cw.QDA().fit(self.frame, self.y)
        edge = m.boundary(0, 1, columns="depth")
        refitted = cw.QDA().fit(self.frame[["depth"]], self.y).boundary(0, 1)
        np.testing.assert_allclose(edge.roots(), refitted.roots(), rtol=1e-9)
        np.testing.assert_array_equal(m.boundary(0, 1, columns=2).roots(), edge.roots())

    def test_a_slice_is_the_whole_where_columns_are_held(self):
        m = cw.QDA().fit(self.frame, self.y)
        edge = m.boundary(1, 2, at={"width": 0.5, "mass": -1.0})
        assert edge.names == ("length", "depth")
        held = self.X.copy()
        held[:, [1, 3]] = 0.5, -1.0
        np.testing.assert_allclose(edge(self.X[:, [0, 2]]), m.boundary(1, 2)(held), atol=1e-9)
        g = m.discriminant(1, at={"width": 0.5, "mass": -1.0})
        np.testing.assert_allclose(g(self.X[:, [0, 2]]), m.discriminant(1)(held), atol=1e-9)

    def test_a_slice_of_some_columns(self):
        m = cw.QDA().fit(self.frame, self.y)
        edge = m.boundary(0, 1, columns=("mass", "length"), at={"depth": 2.0})
        three = m.boundary(0, 1, columns=("length", "depth", "mass"))
        held = np.column_stack([self.X[:, 0], np.full(len(self.X), 2.0), self.X[:, 3]])
        np.testing.assert_allclose(edge(self.X[:, [3, 0]]), three(held), atol=1e-9)

    def test_columns_without_names_keep_their_positions(self):
        m = cw.QDA().fit(self.X, self.y)
        assert m.boundary(0, 1, columns=(3, 0)).names == ("x3", "x0")
        edge = m.boundary(0, 1, columns=(0, 1), at={3: 1.0})
        assert edge.names == ("x0", "x1")
        three = m.boundary(0, 1, columns=(0, 1, 3))
        held = np.column_stack([self.X[:, :2], np.ones(len(self.X))])
        np.testing.assert_allclose(edge(self.X[:, :2]), three(held), atol=1e-9)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (
                {"columns": ("length", "color")},
                "columns name the column 'color', which is not there; the columns are 'len",
            ),
            ({"columns": [7]}, "columns name the column 7"),
            ({"columns": 1.5}, "columns name the column 1.5"),
            ({"columns": ("mass", "mass")}, "name 'mass' twice"),
            ({"columns": ("mass", 3)}, "name 'mass' twice"),
            ({"columns": ("mass",), "at": {"mass": 1}}, "name 'mass' twice"),
            ({"columns": ()}, "leave one free"),
            ({"at": dict.fromkeys(names, 0.0)}, "leave one free"),
            ({"at": {"color": 1}}, "The keys of at name the column 'color'"),
            ({"at": {"mass": 1, 3: 2}}, "names a column twice"),
            ({"at": {"mass": np.nan}}, "holds the column 'mass' at nan; give it a finite number"),
            ({"at": {"mass": "heavy"}}, "holds the column 'mass' at 'heavy'"),
            ({"at": ["mass"]}, "is not a mapping from column to value"),
        ],
    )
    def test_columns_that_are_not_there(self, options, message):
        m = cw.QDA().fit(self.frame, self.y)
        with pytest.raises(cw.ClasswiseError, match=re.escape(message)):
            m.boundary(0, 1, **options)
        with pytest.raises(cw.ClasswiseError, match=re.escape(message)):
            m.discriminant(0, **options)


def computed(text, names, row):
    """The value of a printed polynomial at a row."""
    expression = text.removesuffix(" = 0").replace("²", "**2").replace("·", "*")
    expression = re.sub(r"(?<![\w.])([\d.]+(?:e-?\d+)?) (?=[(a-z])", r"\1*", expression)
    return eval(expression, dict(zip(names, row, strict=True)))


class TestText:
    def test_petals(self):
        m = cw.QDA(priors="uniform").fit(pd.DataFrame({"petal_length": PETALS[:, 0]}), SPECIES)
        assert str(m.boundary(1, 0)) == "-0.986 petal_length² + 19.978 petal_length - 74.16 = 0"
        assert repr(m.boundary(1, 0)) == str(m.boundary(1, 0))
        assert str(m.discriminant(1)) == "-1.92308 petal_length² + 25 petal_length - 81.27"
        unnamed = cw.QDA(priors="uniform").fit(PETALS, SPECIES)
        assert str(unnamed.boundary(1, 0)) == "-0.986 x² + 19.978 x - 74.16 = 0"

    def test_about_a_round_number_where_rows_are_far_from_zero(self):
        m = cw.QDA(priors="uniform").fit(pd.DataFrame({"year": PETALS[:, 0] + 1e8}), SPECIES)
        assert str(m.boundary(1, 0)) == "-0.986 (year - 1e8)² + 19.978 (year - 1e8) - 74.16 = 0"
        m = cw.QDA(priors="uniform").fit(pd.DataFrame({"x": PETALS[:, 0] - 2000, "y": PETALS[::-1, 0] ** 2}), SPECIES)
        assert str(m.boundary(1, 0)) == (
            "-55.3697 (x + 2000)² - 64.66821 (x + 2000)·y - 13.924918 y² "
            "+ 1162.86 (x + 2000) + 555.8461 y - 5354.51 = 0"
        )

    def test_signs_ones_and_rounding(self):
        assert str(polynomial(diag(1, -1), [0, -1], 0)) == "x² - y² - y = 0"
        assert str(polynomial([[0, 0.5], [0.5, 0]], [0, 0], 1e-17)) == "x·y = 0"
        assert str(polynomial(diag(0, 0), [-123.456789, 1e-4], 1.23456)) == "-123.457 x + 1.23 = 0"
        assert str(polynomial(diag(0, 0), [1.23456e-5, 1e-9], 1e-5)) == "1.235e-5 x + 1e-5 = 0"
        small = polynomial(diag(1e-8, 0), [0, 1e-3], -2, diag(1e8, 1e6))
        assert str(small) == "1e-8 x² + 0.001 y - 2 = 0"
        assert str(polynomial(diag(0, 0), [0, 0], 0)) == "0 = 0"

    def test_other_scripts(self):
        f = polynomial([[2.0, -1.5], [-1.5, 0]], [0, 1e9], -7.25)
        assert f._repr_latex_() == r"$2\,x^2 - 3\,x\,y + 10^{9}\,y - 7.25 = 0$"
        assert f._repr_html_() == (
            "<p>2 <var>x</var><sup>2</sup> - 3 <var>x</var>·<var>y</var> + 1e9 <var>y</var> - 7.25 = 0 "
            "<small>(hyperbola)</small></p>"
        )
        frame = pd.DataFrame({"petal_length": PETALS[:, 0], "a<b & {c}": PETALS[::-1, 0] ** 2})
        m = cw.LDA().fit(frame, SPECIES)
        latex = m.boundary(1, 0)._repr_latex_()
        assert r"\mathrm{petal\_length}" in latex
        assert r"\mathrm{a<b~\&~\{c\}}" in latex
        assert "<var>a&lt;b &amp; {c}</var>" in m.discriminant(1)._repr_html_()
        assert "[a<b & {c}]" in str(m.boundary(1, 0))
        assert m.discriminant(1)._repr_latex_().startswith("$-")
        assert "x_{0}" in cw.LDA().fit(frame.to_numpy(), SPECIES).boundary(1, 0)._repr_latex_()

    def test_long_ones_show_their_largest_terms(self):
        X, y = rows_of_three_classes(11, 6)
        linear, quadratic = cw.LDA().fit(X, y).boundary(0, 1), cw.QDA().fit(X, y).boundary(0, 1)
        assert "…" not in str(linear)
        assert str(quadratic).endswith(" + … (18 smaller terms) = 0")
        assert len(str(quadratic)) < 300
        assert r"\cdots\;(\text{18 smaller terms}) = 0$" in quadratic._repr_latex_()
        X[:, 3] *= 1e-3  # in other units the same terms are the largest
        other = cw.QDA().fit(X, y).boundary(0, 1)

        def columns(text):
            return re.findall(r"[x\d·²]*x\d[x\d·²]*", str(text))

        assert columns(other) == columns(quadratic)

    @given(
        seed=st.integers(0, 10**6),
        features=st.integers(1, 3),
        model=st.sampled_from([cw.QDA(), cw.LDA()]),
        offset=st.sampled_from([0.0, 10.0, -30.0, 1e5, 1e8]),
    )
    @settings(max_examples=40)
    def test_what_is_written_is_right_to_a_hundredth(self, seed, features, model, offset):
        X, y = rows_of_three_classes(seed, features, offset)
        names = ("a", "b", "c")[:features]
        edge = model.fit(pd.DataFrame(X, columns=names), y).boundary(0, 1)
        rows = X[(np.abs(X - edge.center) < 3 * edge.deviations).all(axis=1)]
        terms = (features + 1) * (features + 2) / 2
        for row, value in zip(rows, edge(rows), strict=True):
            assert computed(str(edge), names, row) == pytest.approx(value, abs=0.0051 * terms)
