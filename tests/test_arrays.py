"""The numerical helpers, where their callers do not show all of them."""

import numpy as np
import pytest

from classwise.arrays import first_leader, level_ties, log_normalize, log_sum_exp, tall_product

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("count", [2, 63, 64, 65, 96, 97, 300, 1000])
def test_the_first_of_the_largest_scores_wins(count):
    # Few distinct values: nearly every row has ties, within and across the blocks that are searched.
    scores = RNG.integers(0, 4, size=(count, 500)).astype(float)
    # Steps of less than the tie, whose sums may be more: only ties with the overall largest count.
    scores += RNG.choice([0.0, 7e-13, 14e-13, 21e-13], size=scores.shape)
    np.testing.assert_array_equal(first_leader(scores), level_ties(scores.copy()).argmax(axis=0))


@pytest.mark.parametrize(("rows", "features", "results"), [(0, 3, 2), (5000, 200, 9), (3, 4, 0), (70_000, 5, 2)])
def test_products_in_slabs_are_products(rows, features, results):
    A, B = RNG.normal(size=(rows, features)), RNG.normal(size=(features, results))
    np.testing.assert_allclose(tall_product(A, B), A @ B, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_logs_are_normalized_along_an_axis_and_in_place(axis):
    logs = 300 * RNG.normal(size=(4, 5, 6)) - 2000
    logs[1, 2, 3] = -np.inf  # a prior of zero
    found = log_normalize(logs, axis)
    np.testing.assert_allclose(np.exp(found).sum(axis=axis), 1, rtol=1e-12)
    expected = logs - np.expand_dims(log_sum_exp(np.moveaxis(logs, axis, 0)), axis)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    same = log_normalize(logs, axis, out=logs)
    assert same is logs
    np.testing.assert_array_equal(logs, found)
