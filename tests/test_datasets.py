"""Rows made on the spot have the parameters they are said to have."""

from collections import Counter

import narwhals as nw
import numpy as np
import palmerpenguins
import pandas as pd
import pytest
from scipy.spatial.distance import pdist
from sklearn.neighbors import KNeighborsClassifier

import classwise as cw
from classwise.classifier.boundary import boundary, discriminant
from classwise.covariance import FullCovariance
from classwise.datasets import BOUNDARIES
from classwise.densities import Gaussian


@pytest.mark.parametrize("kind", BOUNDARIES)
def test_boundaries_are_of_the_kind_they_are_named_for(kind):
    means, covariances = BOUNDARIES[kind]
    gaussian = Gaussian(means, FullCovariance(covariances))
    edge = boundary(*(discriminant(gaussian, k, np.log(0.5), ("a", "b")) for k in (0, 1)))
    assert edge.kind == ("ellipse" if kind == "almost line" else kind)


@pytest.mark.parametrize("kind", BOUNDARIES)
def test_rows_have_the_means_and_covariances_they_were_drawn_with(kind):
    X, y = cw.datasets.gaussians(40_000, covariances=kind, random_state=0)
    for k, (mean, covariance) in enumerate(zip(*BOUNDARIES[kind], strict=True)):
        np.testing.assert_allclose(X[y == k].mean(axis=0), mean, atol=0.08)
        np.testing.assert_allclose(np.cov(X[y == k].T), covariance, atol=0.2)


def test_gaussians_of_ones_own():
    covariance = [[2.0, 0.8], [0.8, 1.0]]
    X, y = cw.datasets.gaussians(20_000, [[0, 0], [5, 5], [9, 0]], covariance, [0.2, 0.3, 0.5], random_state=1)
    np.testing.assert_allclose(np.bincount(y) / len(y), [0.2, 0.3, 0.5], atol=0.02)
    np.testing.assert_allclose(cw.LDA().fit(X, y).covariances_[0], covariance, atol=0.06)


def test_the_corners_of_a_simplex_are_equally_far_apart():
    X, y = cw.datasets.simplex(60_000, classes=5, distance=4.0, random_state=0)
    means = np.array([X[y == k].mean(axis=0) for k in range(5)])
    np.testing.assert_allclose(pdist(means), 4.0, atol=0.08)


def test_bananas_are_bent():
    X, y = cw.datasets.banana(2000, random_state=0)
    assert np.bincount(y).tolist() == [1000, 1000]
    neighbors = KNeighborsClassifier(15).fit(X[::2], y[::2]).score(X[1::2], y[1::2])
    assert neighbors > cw.QDA().fit(X[::2], y[::2]).score(X[1::2], y[1::2]) + 0.05


def test_the_same_seed_is_the_same_rows():
    for make in (cw.datasets.banana, cw.datasets.gaussians, cw.datasets.simplex):
        np.testing.assert_array_equal(make(50, random_state=3)[0], make(50, random_state=3)[0])
        assert (make(50, random_state=3)[0] != make(50, random_state=4)[0]).any()


def test_petals_are_those_of_the_worked_example():
    X, y = cw.datasets.petals()
    assert cw.QDA(priors="uniform").fit(X, y).predict_proba([[4.6]])[0, 1] == pytest.approx(0.04194474097840657)


class TestPenguins:
    def test_they_are_those_of_their_source(self):
        pd.testing.assert_frame_equal(cw.load_penguins(), palmerpenguins.load_penguins())

    def test_rows_and_labels(self):
        X, species = cw.datasets.penguins()
        assert X.shape == (344, 6)
        assert Counter(species) == {"Adelie": 152, "Chinstrap": 68, "Gentoo": 124}

    @pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
    def test_every_library_has_the_same(self, backend):
        X, y = cw.datasets.penguins(backend)
        assert type(X).__module__.startswith(backend)
        assert sum(map(int, nw.from_native(X).null_count().row(0))) == 19
        np.testing.assert_allclose(
            cw.LDA().fit(X, y).predict_proba(X), cw.LDA().fit(*cw.datasets.penguins()).predict_proba(X), rtol=1e-9
        )


def test_refusals():
    with pytest.raises(cw.ClasswiseError, match="n=-1 is not a number of rows"):
        cw.datasets.banana(-1)
    with pytest.raises(cw.ClasswiseError, match="covariances='cubic' is not an option; choose 'line'"):
        cw.datasets.gaussians(5, covariances="cubic")
    with pytest.raises(cw.ClasswiseError, match="they do not go together"):
        cw.datasets.gaussians(5, [[0, 0], [1, 1]], np.eye(3))


def test_a_library_of_tables_that_is_not_there_is_named_with_its_remedy(monkeypatch):
    monkeypatch.setattr("classwise.tabular.find_spec", lambda name: None)
    with pytest.raises(cw.MissingExtraError, match="pip install polars"):
        cw.datasets.penguins("polars")
