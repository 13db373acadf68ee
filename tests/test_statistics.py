"""Statistics: labels of any kind, large and small chunks, subtraction, files."""

import datetime as dt
import json
import math
import operator
import struct

import numpy as np
import pandas as pd
import pytest

import classwise as cw
from classwise.rows.codes import code_labels, union_labels
from classwise.rows.sources import read_table
from classwise.statistics import FullScatter, gather_moments
from classwise.statistics.summaries import summarize_table

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
y = np.arange(60) % 3


class TestLabels:
    @pytest.mark.parametrize(
        "labels",
        [
            np.array([3, 1, 1, 3]),
            np.array([-5, 10**12, 7, 7]),
            np.array([127, -128, 0, 127], dtype=np.int8),
            np.array([2**64 - 1, 2**64 - 3, 2**64 - 1], dtype=np.uint64),
            np.array([-(2**63), -(2**63) + 5, -(2**63)]),
            np.array([True, False, True]),
            np.array([True, True]),
            np.array([2.0, 1.0, 2.0]),
            np.array(["b", "a", "b"]),
            np.array(["b", "a", "ccc"], dtype=object),
            np.array([dt.date(2026, 1, 2), dt.date(2025, 1, 1)], dtype=object),
            np.array(["2026-01-02", "2025-01-01"], dtype="datetime64[D]"),
        ],
        ids=str,
    )
    def test_codes_are_positions_among_the_sorted_distinct_labels(self, labels):
        distinct, codes = code_labels(labels)
        np.testing.assert_array_equal(distinct, np.unique(labels))
        np.testing.assert_array_equal(distinct[codes], labels)
        assert distinct.dtype == labels.dtype

    def test_labels_that_cannot_be_sorted(self):
        with pytest.raises(cw.ClasswiseError, match="y mixes int and str"):
            cw.summarize(X[:2], np.array([1, "a"], dtype=object))

    @pytest.mark.parametrize("missing", [None, float("nan"), pd.NA])
    def test_missing_labels(self, missing):
        labels = np.array(["a", missing, "b"], dtype=object)
        with pytest.raises(cw.ClasswiseError, match="y contains missing labels in 1 rows"):
            cw.summarize(X[:3], labels, missing="error")
        with pytest.warns(cw.MissingLabelWarning, match="1 of 3 rows have no label"):
            s = cw.summarize(X[:3], labels)
        assert s.labels.tolist() == ["a", "b"]
        assert s.rows == 2
        np.testing.assert_array_equal(s.mean, X[[0, 2]])

    def test_fractions_are_not_labels(self):
        with pytest.raises(cw.ClasswiseError, match=r"fractions such as 0\.5"):
            cw.summarize(X[:2], [0.5, 1.0])

    def test_labels_of_two_kinds_in_two_batches(self):
        with pytest.raises(cw.ClasswiseError, match="int and str"):
            cw.summarize(X, y) + cw.summarize(X, np.array(["a", "b", "c"])[y])

    @pytest.mark.parametrize(
        ("first", "second", "dtype"),
        [
            (np.array([2**53, 2**53 + 1]), np.array([2.0**53, 3.0]), np.int64),
            (np.array([1, 2]), np.array([2.0, 3.0]), np.int64),
            (np.array([-1, 2**53 + 1]), np.array([2**53], dtype=np.uint64), np.int64),
            (np.array([0, 2**53 + 1]), np.array([2**64 - 1], dtype=np.uint64), np.uint64),
            (np.array([-1]), np.array([2**64 - 2, 2**64 - 1], dtype=np.uint64), object),
            (np.array([2**53 + 1]), np.array([0.5]), object),
            (np.array([2]), np.array([0.5]), np.float64),
        ],
    )
    def test_numbers_of_two_kinds_in_two_batches_stay_apart(self, first, second, dtype):
        for ours, theirs in ((first, second), (second, first)):
            union = union_labels(ours, theirs)
            assert union.tolist() == sorted({*first.tolist(), *second.tolist()})
            assert union.dtype == dtype

    def test_classes_of_two_kinds_of_numbers_are_aligned_exactly(self):
        labels = [2**53, 2**53 + 1, 2**53 + 3]
        parts = [cw.summarize([[1.0], [2.0], [4.0]], labels), cw.summarize([[3.0], [5.0]], [2.0**53, 2.0**54])]
        s = parts[0] + parts[1]
        assert dict(zip(s.labels.tolist(), s.mean[:, 0].tolist(), strict=True)) == {
            2**53: 2.0, 2**53 + 1: 2.0, 2**53 + 3: 4.0, 2**54: 5.0
        }  # fmt: skip
        assert (s - parts[1]).labels.tolist() == labels

    def test_strings_of_other_lengths_in_a_later_batch(self):
        both = cw.summarize(X, np.array(["a", "b", "c"])[y]) + cw.summarize(X, np.array(["long", "a"])[y % 2])
        assert both.labels.tolist() == ["a", "b", "c", "long"]
        np.testing.assert_array_equal(both.weight, [40, 20, 20, 40])


class TestGathering:
    def test_many_blocks_of_rows_sorted_by_class_and_far_from_zero(self):
        rows = RNG.normal(size=(300_000, 2)) + np.array([1e6, -1e6])
        labels = np.sort(RNG.integers(0, 5, len(rows)))
        s = cw.summarize(rows, labels)
        for k in range(5):
            own = rows[labels == k]
            expected = np.cov(own.T, bias=True) * len(own)
            np.testing.assert_allclose(s.scatter[k], expected, atol=1e-9 * np.trace(expected))
            np.testing.assert_allclose(s.mean[k], [math.fsum(column) / len(own) for column in own.T], rtol=1e-15)

    def test_many_classes(self):
        rows, labels = RNG.normal(size=(5000, 2)), RNG.integers(0, 300, 5000)
        weights = RNG.uniform(0.5, 2, 5000)
        for scatter in ("full", "pooled", "diagonal"):
            many = cw.summarize(rows, labels, weights, scatter=scatter)
            few = sum(
                cw.summarize(
                    rows[labels // 30 == d], labels[labels // 30 == d], weights[labels // 30 == d], scatter=scatter
                )
                for d in range(10)
            )
            np.testing.assert_allclose(many.scatter, few.scatter, rtol=1e-10, atol=1e-12)
            np.testing.assert_allclose(many.mean, few.mean, rtol=1e-10, atol=1e-14)

    @pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint8, bool, np.float16])
    def test_any_number_is_accumulated_in_float64(self, dtype):
        rows = (100 * RNG.random(size=(200, 2))).astype(dtype)
        labels = np.arange(200) % 2
        plain = cw.summarize(rows.astype(np.float64), labels)
        same = cw.summarize(rows, labels, families={0: "gaussian", 1: "gaussian"})
        np.testing.assert_allclose(same.scatter, plain.scatter, rtol=1e-13)

    def test_float32_rows_far_from_zero(self):
        rows = (RNG.normal(size=(100_000, 1)) + 1000).astype(np.float32)
        s = cw.summarize(rows, np.zeros(len(rows), dtype=int))
        np.testing.assert_allclose(s.scatter[0, 0, 0] / len(rows), rows.astype(np.float64).var(), rtol=1e-10)

    @pytest.mark.parametrize("order", ["C", "F"])
    def test_memory_order_does_not_matter(self, order):
        s = cw.summarize(np.asarray(X, order=order), y)
        np.testing.assert_allclose(s.scatter, cw.summarize(X, y).scatter, rtol=1e-13)

    def test_the_result_does_not_depend_on_threads(self):
        from threadpoolctl import threadpool_limits

        rows, labels = RNG.normal(size=(400_000, 10)), RNG.integers(0, 3, 400_000)
        several = cw.summarize(rows, labels)
        with threadpool_limits(1):
            one = cw.summarize(rows, labels)
        np.testing.assert_array_equal(one.scatter, several.scatter)

    def test_a_constant_column_has_exactly_no_scatter(self):
        rows = np.column_stack([X[:, 0], np.full(60, 0.1), np.full(60, 1e8 / 3)])
        assert (cw.summarize(rows, y).scatter[:, 1:, 1:] == 0).all()

    def test_classes_absent_from_the_first_rows(self):
        codes = np.repeat([0, 1], [1000, 10])
        rows = RNG.normal(size=(1010, 1)) + 1e7 * codes[:, None]
        moments = gather_moments(rows, codes, 2, None, FullScatter)
        np.testing.assert_allclose(moments.scatter.values[1, 0, 0], rows[1000:].var() * 10, rtol=1e-6)

    def test_a_chunk_of_weight_zero_is_no_chunk(self):
        rows = RNG.normal(size=(10, 2))
        weights = np.r_[np.ones(5), np.zeros(5)]
        with_zeros = cw.summarize(np.r_[rows[:5], np.full((5, 2), np.nan)], [0] * 5 + [1] * 5, weights)
        assert with_zeros.labels.tolist() == [0]
        np.testing.assert_array_equal(with_zeros.scatter, cw.summarize(rows[:5], [0] * 5).scatter)

    def test_labels_are_required(self):
        with pytest.raises(cw.ClasswiseError, match="y is missing"):
            summarize_table(read_table(X), FullScatter)


class TestSubtraction:
    all_rows = cw.summarize(X, y)

    def test_removing_a_whole_class(self):
        rest = self.all_rows - cw.summarize(X[y == 1], y[y == 1])
        assert rest.labels.tolist() == [0, 2]
        np.testing.assert_allclose(rest.scatter, self.all_rows.scatter[[0, 2]])

    def test_removing_everything_leaves_nothing(self):
        assert len((self.all_rows - self.all_rows).labels) == 0

    def test_a_class_that_is_not_there(self):
        with pytest.raises(cw.StatisticsError, match="Class 7 cannot be subtracted"):
            self.all_rows - cw.summarize(X[:1], [7])

    def test_more_weight_than_is_there(self):
        with pytest.raises(cw.StatisticsError, match="Class 0 has weight 20, so weight 40 cannot be subtracted"):
            self.all_rows - cw.summarize(X, y, np.full(60, 2.0))

    @pytest.mark.parametrize("scatter", ["full", "pooled", "diagonal"])
    def test_rows_that_were_never_there(self, scatter):
        strangers = cw.summarize(X[:30] * 9, y[:30], scatter=scatter)
        with pytest.raises(cw.StatisticsError, match="not positive"):
            cw.summarize(X, y, scatter=scatter) - strangers

    def test_a_class_of_the_same_weight_and_other_rows(self):
        with pytest.raises(cw.StatisticsError, match="not positive"):
            self.all_rows - cw.summarize(X[y == 1] + 3, y[y == 1])

    def test_rows_of_one_class_far_from_zero(self):
        far = X + 1e6
        rest = cw.summarize(far, y) - cw.summarize(far[:9], y[:9])
        np.testing.assert_allclose(rest.scatter, cw.summarize(far[9:], y[9:]).scatter, rtol=1e-7, atol=1e-7)


class TestCombining:
    def test_other_columns(self):
        a = cw.summarize(pd.DataFrame(X, columns=["a", "b", "c"]), y)
        b = cw.summarize(pd.DataFrame(X, columns=["a", "c", "b"]), y)
        with pytest.raises(cw.StatisticsError, match="'b' stands where the other statistic has 'c'"):
            a + b

    def test_other_numbers_of_columns(self):
        with pytest.raises(cw.StatisticsError, match="3 and of 2 features"):
            cw.summarize(X, y) + cw.summarize(X[:, :2], y)

    def test_other_forms(self):
        with pytest.raises(cw.StatisticsError, match="full scatter and one with pooled"):
            cw.summarize(X, y) + cw.summarize(X, y, scatter="pooled")

    def test_a_leaner_form_than_the_model_needs(self):
        with pytest.raises(cw.StatisticsError, match='summarize\\(X, y, scatter="full"\\)'):
            cw.QDA().fit_statistics(cw.summarize(X, y, scatter="pooled"))

    @pytest.mark.parametrize("model", [cw.LDA, cw.NaiveBayes, cw.NearestMean])
    def test_a_fuller_form_stands_in_for_a_leaner_one(self, model):
        np.testing.assert_allclose(
            model().fit_statistics(cw.summarize(X, y)).predict_proba(X), model().fit(X, y).predict_proba(X), rtol=1e-12
        )

    def test_a_full_statistic_keeps_its_form_in_partial_fit(self):
        m = cw.LDA().fit_statistics(cw.summarize(X[:30], y[:30])).partial_fit(X[30:], y[30:])
        np.testing.assert_allclose(m.statistics_.scatter, cw.summarize(X, y).scatter, rtol=1e-10, atol=1e-13)

    @pytest.mark.parametrize("other", [1, "s", None])
    def test_adding_anything_else_is_refused(self, other):
        s = cw.summarize(X, y)
        for combine in (operator.add, operator.sub):
            with pytest.raises(TypeError):
                combine(s, other)
        with pytest.raises(cw.ClasswiseError, match="takes what summarize returns"):
            cw.LDA().fit_statistics(other)


class TestFiles:
    @pytest.mark.parametrize("labels", [y, np.array(["x", "ÿ", "z"])[y], y == 1, y.astype(float), y.astype("uint8")])
    @pytest.mark.parametrize("scatter", ["full", "pooled", "diagonal"])
    def test_what_is_loaded_is_what_was_saved(self, tmp_path, labels, scatter):
        s = cw.summarize(X, labels, scatter=scatter)
        s.save(tmp_path / "s.cws")
        t = cw.load(tmp_path / "s.cws")
        assert t.labels.tolist() == s.labels.tolist()
        for ours, theirs in ((s.weight, t.weight), (s.mean, t.mean), (s.scatter, t.scatter)):
            np.testing.assert_array_equal(ours, theirs)
        assert repr(s) == repr(t)

    def test_column_names_travel(self, tmp_path):
        cw.summarize(pd.DataFrame(X, columns=["a", "b", "c"]), y).save(tmp_path / "s.cws")
        assert cw.load(tmp_path / "s.cws").features == ("a", "b", "c")

    def test_not_a_classwise_file(self, tmp_path):
        (tmp_path / "s.cws").write_text("species,bill\n")
        with pytest.raises(cw.StoredFileError, match="is not a classwise file, or is damaged"):
            cw.load(tmp_path / "s.cws")

    def test_a_truncated_file(self, tmp_path):
        cw.summarize(X, y).save(tmp_path / "s.cws")
        content = (tmp_path / "s.cws").read_bytes()
        (tmp_path / "t.cws").write_bytes(content[:-8])
        with pytest.raises(cw.StoredFileError, match="damaged"):
            cw.load(tmp_path / "t.cws")

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"version": 99}, "written by a newer classwise"),
            ({"kind": "sonnet"}, "does not know"),
            ({"facts": {}}, "damaged"),
        ],
    )
    def test_other_headers(self, tmp_path, change, message):
        path = tmp_path / "s.cws"
        cw.summarize(X, y).save(path)
        rewrite_header(path, change)
        with pytest.raises(cw.StoredFileError, match=message):
            cw.load(path)

    def test_a_failed_write_leaves_the_old_file_and_no_other(self, tmp_path, monkeypatch):
        path = tmp_path / "s.cws"
        path.write_text("precious")
        monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
        with pytest.raises(OSError, match="disk full"):
            cw.summarize(X, y).save(path)
        assert path.read_text() == "precious"
        assert list(tmp_path.iterdir()) == [path]

    def test_a_folder_that_is_not_there(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"There is no folder .*nowhere to write s\.cws to"):
            cw.summarize(X, y).save(tmp_path / "nowhere" / "s.cws")

    def test_labels_that_json_does_not_have(self, tmp_path):
        dates = np.array([dt.date(2025, 1, 1 + k) for k in y], dtype=object)
        with pytest.raises(cw.ClasswiseError, match="labels of type date cannot be stored"):
            cw.summarize(X, dates).save(tmp_path / "s.cws")


def rewrite_header(path, change):
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    outer = json.loads(content[8 : 8 + length])
    inner = {**json.loads(outer["__metadata__"]["classwise"]), **change}
    outer["__metadata__"]["classwise"] = json.dumps(inner)
    header = json.dumps(outer).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + content[8 + length :])
