"""Worked examples small enough to check by hand."""

import numpy as np
import pytest

import classwise as cw

PETALS = np.array([[1.8], [2.1], [2.5], [3.2], [3.8], [5.8], [6.7], [7.0]])
SPECIES = np.array([0, 0, 0, 0, 0, 1, 1, 1])

# Two classes, each on a line, so that neither covariance has an inverse.
LINES = np.array([[-1, -1], [-1, 1], [2, 0], [3, 0]])
SIDES = np.array([-1, -1, 1, 1])


class TestPetals:
    def test_parameters(self):
        m = cw.QDA().fit(PETALS, SPECIES)
        np.testing.assert_allclose(m.means_.ravel(), [2.68, 6.5], rtol=1e-14)
        np.testing.assert_allclose(m.covariances_.ravel(), [0.5336, 0.26], rtol=1e-13)
        np.testing.assert_allclose(m.priors_, [5 / 8, 3 / 8], rtol=1e-15)

    @pytest.mark.parametrize(
        ("priors", "expected"),
        [
            ("uniform", [0.04194474097840657, 0.7457434067934301]),
            ("empirical", [0.02559629659939111, 0.6376576348762364]),
        ],
    )
    def test_posterior(self, priors, expected):
        m = cw.QDA(priors=priors).fit(PETALS, SPECIES)
        np.testing.assert_allclose(m.predict_proba([[4.6], [5.0]])[:, 1], expected, rtol=1e-12)

    def test_negative_log_likelihood_splits_in_two(self):
        nll = cw.QDA().fit(PETALS, SPECIES).nll(PETALS, SPECIES)
        np.testing.assert_allclose(nll.labels, 5.292505905263857, rtol=1e-12)
        np.testing.assert_allclose(nll.features, 7.76062583273566, rtol=1e-12)
        assert nll.total == nll.labels + nll.features

    def test_boundary_has_two_points(self):
        edge = cw.QDA(priors="uniform").fit(PETALS, SPECIES).boundary(1, 0)
        np.testing.assert_allclose(edge.W, [[-0.9860454388190509]], rtol=1e-12)
        np.testing.assert_allclose(edge.w, [19.977511244377798], rtol=1e-12)
        np.testing.assert_allclose(edge.w0, -74.16038263567327, rtol=1e-12)
        np.testing.assert_allclose(edge.roots(), [4.89472149, 15.36551243], rtol=1e-8)
        np.testing.assert_allclose(edge(edge.roots()[:, None]), 0, atol=1e-10)


class TestSingular:
    def test_own_covariances_are_refused_with_class_rank_and_remedies(self):
        with pytest.raises(cw.SingularCovarianceError) as caught:
            cw.QDA().fit(LINES, SIDES)
        message = str(caught.value)
        assert "Class -1 has 2 rows and 2 features" in message
        assert "rank 1" in message
        for remedy in ("share=1", "shrink='oas'"):
            assert remedy in message

    def test_averaged_covariance_works(self):
        m = cw.GaussianClassifier(share="average").fit(LINES, SIDES)
        np.testing.assert_allclose(m.covariances_[0], np.diag([0.125, 0.5]), rtol=1e-15)
        edge = m.boundary(1, -1)
        np.testing.assert_allclose(edge.W, 0, atol=1e-12)
        np.testing.assert_allclose(edge.w, [28, 0], atol=1e-12)
        np.testing.assert_allclose(edge.w0, -21, rtol=1e-12)

    def test_sharing_and_shrinking_in_part_works(self):
        m = cw.RDA(share=0.5, shrink=0.1).fit(LINES, SIDES)
        np.testing.assert_array_equal(m.predict(LINES), SIDES)
