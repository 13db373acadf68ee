"""Moments from columns: those of the same rows as a matrix, whatever the form, the weights and the types."""

import numpy as np
import pytest

from classwise.arrays import BLOCK_SIZE
from classwise.statistics import SCATTERS, gather_from_columns, gather_moments

RNG = np.random.default_rng(5)


def same(found, expected):
    for ours, theirs in (
        (found.weight, expected.weight),
        (found.mean, expected.mean),
        (found.scatter.values, expected.scatter.values),
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("form", SCATTERS.values(), ids=SCATTERS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("features", "count"), [(1, 1), (4, 3), (16, 2), (3, 60)])
def test_as_of_a_matrix(form, weighted, features, count):
    rows = BLOCK_SIZE // features + 1000  # more than one block
    X = RNG.normal(size=(rows, features)) * 10.0 ** RNG.integers(-2, 3, features) + 50
    codes = RNG.integers(0, count, rows).astype(np.int16)
    codes[-count:] = np.arange(count)
    weights = RNG.random(rows) if weighted else None
    columns = [X[:, j].copy() for j in range(features)]
    same(gather_from_columns(columns, codes, count, weights, form), gather_moments(X, codes, count, weights, form))


def test_numbers_of_every_type_and_columns_that_are_not_contiguous():
    X = RNG.integers(0, 100, (5000, 4))
    codes = RNG.integers(0, 2, 5000)
    columns = [X[:, 0].astype(np.int8), X[:, 1].astype(np.float32), X[:, 2] > 50, X[:, 3]]
    expected = np.column_stack([column.astype(np.float64) for column in columns])
    for form in SCATTERS.values():
        same(gather_from_columns(columns, codes, 2, None, form), gather_moments(expected, codes, 2, None, form))


def test_far_from_zero_no_digit_is_lost():
    X = RNG.normal(size=(20_000, 3))
    codes = RNG.integers(0, 3, 20_000)
    far = [X[:, j] + 2.0**30 for j in range(3)]
    near = [column - 2.0**30 for column in far]
    found, expected = (gather_from_columns(c, codes, 3, None, SCATTERS["full"]) for c in (far, near))
    np.testing.assert_allclose(found.scatter.values, expected.scatter.values, rtol=1e-12, atol=1e-9)
    np.testing.assert_array_equal(found.scatter.values, np.swapaxes(found.scatter.values, 1, 2))
