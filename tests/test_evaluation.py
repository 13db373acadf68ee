"""Evaluations: equal to scikit-learn's measures, and they add up."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    brier_score_loss,
    confusion_matrix,
    log_loss,
    precision_recall_fscore_support,
    roc_auc_score,
    zero_one_loss,
)

import classwise as cw
from classwise.classifier.evaluation import over_folds
from classwise.storage.registry import ENTRIES

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
        for measure in ("recall", "precision", "f1", "support", "accuracy_interval"):
            np.testing.assert_allclose(getattr(part, measure), getattr(expected, measure), atol=1e-9)
        # A root of what is left of large sums keeps half of their digits.
        np.testing.assert_allclose(part.log_loss_interval, expected.log_loss_interval, atol=1e-6)


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


class TestClasses:
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("classes", [2, 3])
    def test_equals_scikit_learn(self, classes, weighted):
        logs, codes, weights = some_rows(size=500, classes=classes)
        labels, sample_weight = LABELS[:classes], weights if weighted else None
        evaluation = cw.Evaluation.of(logs, codes, labels, sample_weight)
        y, decided = labels[codes], labels[logs.argmax(axis=1)]
        options = {"sample_weight": sample_weight}
        assert evaluation.accuracy == pytest.approx(accuracy_score(y, decided, **options), rel=1e-12)
        balanced = balanced_accuracy_score(y, decided, **options)
        assert evaluation.balanced_accuracy == pytest.approx(balanced, rel=1e-12)
        measures = ("precision", "recall", "f1", "support")
        for name, theirs in zip(measures, precision_recall_fscore_support(y, decided, **options), strict=True):
            expected = np.bincount(codes, weights if weighted else None) if name == "support" else theirs
            np.testing.assert_allclose(getattr(evaluation, name), expected, rtol=1e-12, err_msg=name)

    def test_a_class_that_is_never_seen_or_never_predicted(self):
        """Rows of a and c alone, all of them taken for a or b."""
        logs = np.log([[0.7, 0.2, 0.1], [0.2, 0.7, 0.1], [0.6, 0.3, 0.1]])
        evaluation = cw.Evaluation.of(logs, np.array([0, 0, 2]), LABELS)
        np.testing.assert_array_equal(evaluation.recall, [0.5, np.nan, 0.0])
        np.testing.assert_array_equal(evaluation.precision, [0.5, 0.0, np.nan])
        np.testing.assert_array_equal(evaluation.f1, [0.5, 0.0, 0.0])
        assert evaluation.balanced_accuracy == 0.25
        assert evaluation.auc == pytest.approx((0.5 + 0.5) / 2)  # 0.7 > 0.6 > 0.2 for a; all the same for c
        assert str(evaluation.by_class()).splitlines()[2].split() == ["b", "0.000", "-", "0.000", "0"]

    def test_tables_have_labels(self):
        logs, codes, _ = some_rows()
        evaluation = cw.Evaluation.of(logs, codes, LABELS)
        frame = evaluation.confusion_table().frame("pandas")
        assert frame.iloc[:, 0].tolist() == ["a", "b", "c"]
        np.testing.assert_array_equal(frame[["a", "b", "c"]], evaluation.confusion)
        frame = evaluation.by_class().frame("pandas")
        assert list(frame) == ["class", "precision", "recall", "f1", "support"]
        assert evaluation.by_class()._repr_html_().startswith("<table>")


class TestIntervals:
    def test_wilson(self):
        logs = np.log(np.tile([0.9, 0.1], (150, 1)))
        evaluation = cw.Evaluation.of(logs, np.repeat([0, 1], [93, 57]), LABELS[:2])
        assert evaluation.accuracy_interval == pytest.approx(wilson(93, 150), abs=1e-12)
        sure = cw.Evaluation.of(logs, np.zeros(150, dtype=int), LABELS[:2])
        assert sure.accuracy_interval == pytest.approx(wilson(150, 150), abs=1e-12)
        assert sure.accuracy_interval.high == 1

    def test_log_loss(self):
        logs, codes, _ = some_rows(size=300)
        own = -logs[np.arange(300), codes]
        reach = 1.959964 * own.std(ddof=1) / np.sqrt(300)
        found = cw.Evaluation.of(logs, codes, LABELS)
        assert found.log_loss_interval == pytest.approx((own.mean() - reach, own.mean() + reach), rel=1e-6)
        twice = cw.Evaluation.of(logs, codes, LABELS, 2 * np.ones(300))
        again = cw.Evaluation.of(np.tile(logs, (2, 1)), np.tile(codes, 2), LABELS)
        assert twice.log_loss_interval == pytest.approx(again.log_loss_interval, rel=1e-12)

    def test_files_of_earlier_versions_have_none(self):
        logs, codes, _ = some_rows()
        new = cw.Evaluation.of(logs, codes, LABELS)
        held = ENTRIES["Evaluation"].taken_from(new)
        for name in ("squared_losses", "ranks"):  # which they lack
            assert name not in ENTRIES["Evaluation"].required
            del held[name]
        old = ENTRIES["Evaluation"].make(held)
        assert old._is_sound()
        assert np.isnan(old.log_loss_interval.low)
        assert np.isnan(old.auc)
        assert np.isnan((old + new).auc)
        assert (old + new).log_loss == pytest.approx(new.log_loss)
        assert "AUC" not in str(old)


def wilson(right, count):
    """The two shares that are 1.96 of their own standard errors away from what was seen."""
    z, seen = 1.959963984540054, right / count
    return np.sort(np.roots([1 + z**2 / count, -2 * seen - z**2 / count, seen**2]).real)


def exact_auc(logs, codes, weights=None):
    posterior = softmax(logs, axis=1)
    if logs.shape[1] == 2:
        return roc_auc_score(codes, posterior[:, 1], sample_weight=weights)
    return roc_auc_score(codes, posterior, multi_class="ovr", average="macro", sample_weight=weights)


def in_parts(logs, codes, labels, weights, parts):
    each = np.array_split(np.arange(len(codes)), parts)
    return sum(cw.Evaluation.of(logs[i], codes[i], labels, weights[i]) for i in each)


class TestArea:
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("classes", [2, 3])
    def test_of_one_batch_is_scikit_learns(self, classes, weighted):
        logs, codes, weights = some_rows(size=500, classes=classes)
        logs[:100] = logs[100:200]  # ties
        given_weights = weights if weighted else None
        evaluation = cw.Evaluation.of(logs, codes, LABELS[:classes], given_weights)
        assert evaluation.auc == pytest.approx(exact_auc(logs, codes, given_weights), abs=1e-12)
        assert evaluation.auc_bound == 0

    @given(st.integers(0, 1000), st.integers(1, 30), st.sampled_from([0.01, 1.0, 30.0]), st.sampled_from([2, 3]))
    def test_of_parts_is_within_its_bound(self, seed, parts, scale, classes):
        logs, codes, weights = some_rows(seed, classes=classes)
        logs *= scale
        merged = in_parts(logs, codes, LABELS[:classes], weights, parts)
        assert abs(merged.auc - exact_auc(logs, codes, weights)) <= merged.auc_bound + 1e-12
        assert parts > 1 or merged.auc_bound == 0

    def test_the_bound_is_small(self):
        rng = np.random.default_rng(0)
        codes = rng.integers(0, 2, 20_000)
        odds = codes + rng.normal(size=20_000)
        logs = np.column_stack([-np.logaddexp(0, odds), -np.logaddexp(0, -odds)])
        merged = in_parts(logs, codes, LABELS[:2], np.ones(20_000), 20)
        assert 0 < merged.auc_bound < 0.002
        assert merged.auc == pytest.approx(exact_auc(logs, codes), abs=2e-5)
        assert "The AUC was counted in fine bins: it is within 0.00" in str(merged)

    def test_rows_taken_away(self):
        logs, codes, weights = some_rows(size=400)
        whole, part = (cw.Evaluation.of(logs[s], codes[s], LABELS, weights[s]) for s in (slice(None), slice(150)))
        rest = whole - part
        assert abs(rest.auc - exact_auc(logs[150:], codes[150:], weights[150:])) <= rest.auc_bound + 1e-12
        again = (part + rest) - rest
        assert again.auc == pytest.approx(part.auc, abs=1e-12)

    def test_of_more_rows_than_are_sorted(self, monkeypatch):
        monkeypatch.setattr("classwise.limits.EXACT_AUC_SCORES", 100)
        logs, codes, weights = some_rows()
        evaluation = cw.Evaluation.of(logs, codes, LABELS, weights)
        assert 0 < evaluation.auc_bound < 0.02
        assert abs(evaluation.auc - exact_auc(logs, codes, weights)) <= evaluation.auc_bound

    def test_of_many_classes_takes_little_memory(self):
        rng = np.random.default_rng(0)
        logs = rng.normal(size=(900, 300))
        evaluation = cw.Evaluation.of(logs, np.arange(900) % 300, np.arange(300))
        assert evaluation.ranks.histogram.nbytes < 5e6
        assert evaluation.auc == pytest.approx(0.5, abs=0.05)

    def test_of_one_class_and_of_no_rows(self):
        assert np.isnan(cw.Evaluation.of(np.zeros((3, 1)), np.zeros(3, dtype=int), LABELS[:1]).auc)
        assert np.isnan(cw.Evaluation.of(np.zeros((0, 2)), np.zeros(0, dtype=int), LABELS[:2]).auc)

    def test_only_where_it_is_asked_for(self):
        logs, codes, _ = some_rows()
        assert np.isnan(cw.Evaluation.of(logs, codes, LABELS, auc=False).auc)


class TestPrinted:
    def test_a_plain_answer(self):
        logs, codes, _ = some_rows()
        evaluation = cw.Evaluation.of(logs, codes, LABELS)
        text = repr(evaluation)
        right = f"{100 * evaluation.accuracy:.0f}"
        assert text.startswith(f"Right on {right} of 100 rows (95 % interval ")
        assert text.splitlines()[0].endswith("), 200 rows.")
        for line in ("accuracy", "balanced accuracy", "log loss", "Brier score", "AUC", "calibration error"):
            assert f"\n{line} " in text
        assert str(evaluation.by_class()) in text
        assert str(evaluation.confusion_table()) in text

    def test_html_is_the_same_and_escaped(self):
        logs, codes, _ = some_rows()
        page = cw.Evaluation.of(logs, codes, np.array(["<a>", "b", "c"]))._repr_html_()
        assert page.startswith("<p>Right on ")
        assert page.count("<table>") == 3
        assert "<a>" not in page
        assert "&lt;a&gt;" in page

    def test_many_classes_are_left_to_their_tables(self):
        rng = np.random.default_rng(0)
        evaluation = cw.Evaluation.of(rng.normal(size=(90, 30)), np.arange(90) % 30, np.arange(30))
        assert "the tables of all 30 classes" in str(evaluation)
        assert len(str(evaluation).splitlines()) < 15

    def test_almost_always_right_is_not_always_right(self):
        logs = np.log(np.tile([0.9, 0.1], (200, 1)))
        codes = np.zeros(200, dtype=int)
        assert "Right on 100 of 100 rows" in str(cw.Evaluation.of(logs, codes, LABELS[:2]))
        codes[0] = 1
        assert "Right on 99.5 of 100 rows" in str(cw.Evaluation.of(logs, codes, LABELS[:2]))


class TestOverFolds:
    def test_of_equal_folds_is_the_error_of_their_mean(self):
        values = np.random.default_rng(0).normal(size=8)
        parts = [np.array([value, 1.0]) for value in values]
        value, error, low, high = over_folds(parts, lambda sums: sums[0] / sums[1])
        assert value == pytest.approx(values.mean())
        assert error == pytest.approx(values.std(ddof=1) / np.sqrt(8))
        assert high - value == pytest.approx(2.3646 * error, rel=1e-4)  # Student's t with 7 degrees of freedom
        assert low == pytest.approx(2 * value - high)
