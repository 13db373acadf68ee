"""Evaluations: equal to scikit-learn's measures, and they add up."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss, confusion_matrix, log_loss, zero_one_loss

import classwise as cw
from classwise.classifier.evaluation import over_folds

LABELS = np.array(["a", "b", "c"])


def some_rows(seed=0, size=200, classes=3):
    rng = np.random.default_rng(seed)
    scores = 2 * rng.normal(size=(size, classes))
    logs = scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)
    return logs, rng.integers(0, classes, size), rng.choice([0.5, 1.0, 2.0], size)


@pytest.mark.parametrize("weighted", [False, True])
def test_equals_scikit_learn(weighted):
    logs, codes, weights = some_rows()
    given_weights = weights if weighted else None
    evaluation = cw.Evaluation.of(logs, codes, LABELS, given_weights)
    posterior, y = np.exp(logs), LABELS[codes]
    decided = LABELS[posterior.argmax(axis=1)]
    assert evaluation.log_loss == pytest.approx(log_loss(y, posterior, sample_weight=given_weights), rel=1e-12)
    assert evaluation.error == pytest.approx(zero_one_loss(y, decided, sample_weight=given_weights), rel=1e-12)
    np.testing.assert_allclose(evaluation.confusion, confusion_matrix(y, decided, sample_weight=given_weights))


def test_brier_score():
    logs, codes, _ = some_rows()
    evaluation = cw.Evaluation.of(logs, codes, LABELS)
    assert evaluation.brier == pytest.approx(((np.exp(logs) - np.eye(3)[codes]) ** 2).sum(axis=1).mean(), rel=1e-12)
    logs, codes, _ = some_rows(classes=2)
    two = cw.Evaluation.of(logs, codes, LABELS[:2])
    assert two.brier == pytest.approx(2 * brier_score_loss(codes, np.exp(logs[:, 1])), rel=1e-12)


def test_what_was_ruled_out_counts_as_in_scikit_learn():
    with np.errstate(divide="ignore"):
        logs = np.log(np.array([[1.0, 0.0], [0.5, 0.5]]))
    evaluation = cw.Evaluation.of(logs, np.array([1, 0]), LABELS[:2])
    assert evaluation.log_loss == pytest.approx(log_loss([1, 0], np.exp(logs)), rel=1e-12)


@given(st.integers(0, 1000), st.integers(1, 199))
def test_parts_add_up(seed, cut):
    logs, codes, weights = some_rows(seed)
    whole = cw.Evaluation.of(logs, codes, LABELS, weights)
    first, second = (cw.Evaluation.of(logs[s], codes[s], LABELS, weights[s]) for s in (slice(cut), slice(cut, None)))
    for part, expected in ((first + second, whole), (whole - second, first)):
        for measure in ("weight", "error", "log_loss", "brier", "calibration_error"):
            assert getattr(part, measure) == pytest.approx(getattr(expected, measure), abs=1e-9)


def test_different_classes_do_not_add():
    logs, codes, _ = some_rows()
    with pytest.raises(cw.ClasswiseError, match="different classes"):
        cw.Evaluation.of(logs, codes, LABELS) + cw.Evaluation.of(logs, codes, np.array(["a", "b", "d"]))


class TestCalibration:
    def test_error_of_known_probabilities(self):
        """Ten rows at 0.9, of which seven are right, and ten at 0.6, of which six are."""
        posterior = np.repeat([[0.9, 0.1], [0.6, 0.4]], 10, axis=0)
        codes = np.array([0] * 7 + [1] * 3 + [0] * 6 + [1] * 4)
        evaluation = cw.Evaluation.of(np.log(posterior), codes, LABELS[:2])
        assert evaluation.calibration_error == pytest.approx(0.5 * 0.2)
        weight, announced, observed = evaluation.reliability()
        np.testing.assert_allclose(weight, [10, 10])
        np.testing.assert_allclose(announced, [0.6, 0.9])
        np.testing.assert_allclose(observed, [0.6, 0.7])

    def test_of_one_label(self):
        logs, codes, _ = some_rows(size=2000)
        evaluation = cw.Evaluation.of(logs, codes, LABELS)
        weight, announced, observed = evaluation.reliability("b")
        assert weight.sum() == pytest.approx(2000)
        assert weight.min() >= 20
        assert announced @ weight == pytest.approx(np.exp(logs[:, 1]).sum())
        assert observed @ weight == pytest.approx((codes == 1).sum())

    def test_few_rows_are_one_bin(self):
        logs, codes, _ = some_rows(size=5)
        assert len(cw.Evaluation.of(logs, codes, LABELS).reliability().weight) == 1

    def test_unknown_label(self):
        logs, codes, _ = some_rows()
        with pytest.raises(cw.ClasswiseError, match="'z' is not a class"):
            cw.Evaluation.of(logs, codes, LABELS).reliability("z")


def test_sum_and_nothing():
    logs, codes, _ = some_rows()
    whole = cw.Evaluation.of(logs, codes, LABELS)
    assert sum([whole, whole]).weight == 400
    assert np.isnan((whole - whole).log_loss)
    assert "nan" in repr(whole - whole)


def test_labels_are_not_codes():
    logs, codes, _ = some_rows()
    for wrong in (LABELS[codes], codes + 1.5, codes + 1):
        with pytest.raises(cw.ClasswiseError, match="codes are the positions"):
            cw.Evaluation.of(logs, wrong, LABELS)


def test_prints_its_measures():
    logs, codes, _ = some_rows()
    assert repr(cw.Evaluation.of(logs, codes, LABELS)).startswith("Evaluation(weight 200: error 0.")


class TestOverFolds:
    def test_of_equal_folds_is_the_error_of_their_mean(self):
        values = np.random.default_rng(0).normal(size=8)
        parts = [np.array([value, 1.0]) for value in values]
        value, error, low, high = over_folds(parts, lambda sums: sums[0] / sums[1])
        assert value == pytest.approx(values.mean())
        assert error == pytest.approx(values.std(ddof=1) / np.sqrt(8))
        assert high - value == pytest.approx(2.3646 * error, rel=1e-4)  # Student's t with 7 degrees of freedom
        assert low == pytest.approx(2 * value - high)
