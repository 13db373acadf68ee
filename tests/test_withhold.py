"""Statistics without small cells: what is left out, what the rest reveals, and that models can be made of it."""

import numpy as np
import pytest

import classwise as cw
from classwise.errors import ClasswiseError, StatisticsError

X, y = cw.datasets.penguins("pandas")


def table(*columns):
    return np.array(columns, dtype=object).T


class TestCells:
    def test_small_classes_are_left_out(self):
        s = cw.summarize([[float(i)] for i in range(12)], ["a"] * 9 + ["b"] * 3).withhold(5)
        assert s.labels.tolist() == ["a"]
        assert s.weight.tolist() == [9.0]
        assert s.rows == 9

    def test_a_small_level_takes_the_next_larger_one_with_it(self):
        s = cw.summarize(table(["red"] * 30 + ["blue"] * 12 + ["pink"]), ["a"] * 43).withhold(10)
        (column,) = s.levels.columns
        assert column.levels.tolist() == ["red"]
        assert column.weight.tolist() == [[30.0]]

    def test_two_small_levels_are_left_out_alone(self):
        s = cw.summarize(table(["red"] * 30 + ["blue"] * 12 + ["pink", "teal"]), ["a"] * 44).withhold(10)
        assert s.levels.columns[0].levels.tolist() == ["blue", "red"]

    def test_a_level_is_left_out_of_all_classes(self):
        """Else it would seem impossible where it is left out, and speak for the other classes."""
        colors, labels = (
            ["red"] * 30 + ["blue"] * 2 + ["pink"] * 2 + ["red"] * 30 + ["blue"] * 30,
            ["a"] * 34 + ["b"] * 60,
        )
        s = cw.summarize(table(colors), labels).withhold(5)
        assert s.levels.columns[0].levels.tolist() == ["red"]
        np.testing.assert_allclose(cw.NaiveBayes(priors="uniform").fit_statistics(s).predict_proba([["blue"]]), 0.5)

    def test_what_a_class_lacks_is_not_one_small_cell(self):
        colors, labels = ["red"] * 20 + ["blue"] * 20 + ["red"] * 20 + ["blue"] * 20, ["a"] * 40 + ["b"] * 40
        s = cw.summarize(table([*colors, "pink", "pink"]), [*labels, "a", "b"]).withhold(5)
        assert "pink" not in s.levels.columns[0].levels
        assert (s.levels.columns[0].weight.sum(axis=1) == 20).all()

    @pytest.mark.parametrize("scatter", ["full", "diagonal"])
    def test_no_cell_is_small(self, scatter):
        gappy = X.mask(np.random.default_rng(0).random(X.shape) < 0.05)
        s = cw.summarize(gappy, y, scatter=scatter).withhold(20)
        cells = [s.weight, s.moments.weight, s.numbers.gaps.moments.weight, *(c.weight for c in s.levels.columns)]
        assert all((values[values > 0] >= 20).all() for values in cells)
        assert len(cw.summarize(gappy, y).numbers.gaps) > len(s.numbers.gaps)

    def test_nothing_is_left_out_of_large_cells(self):
        numbers = X[["bill_length_mm", "body_mass_g"]].dropna()
        labels = y[numbers.index]
        s = cw.summarize(numbers, labels)
        np.testing.assert_array_equal(s.withhold(10).scatter, s.scatter)
        np.testing.assert_array_equal(s.withhold(10).mean, s.mean)

    def test_a_column_without_values_stays_so(self):
        rows = table([None] * 20, ["red"] * 20)
        s = cw.summarize(rows, ["a"] * 20, families={0: "categorical"}).withhold(10)
        assert [column.weight.sum() for column in s.levels.columns] == [0.0, 20.0]

    def test_zero_leaves_all(self):
        s = cw.summarize(X, y)
        assert s.withhold(0).weight.tolist() == s.weight.tolist()
        assert len(s.withhold(0).numbers.gaps) == len(s.numbers.gaps)


class TestModels:
    @pytest.mark.parametrize("model", [cw.LDA(), cw.QDA(), cw.NaiveBayes()])
    def test_sites_withhold_and_one_model_is_made_of_the_sum(self, model):
        sites = [cw.summarize(X[i::3], y[i::3]).withhold(5) for i in range(3)]
        assert model.fit_statistics(sum(sites)).score(X, y) > 0.97

    def test_a_file_has_no_name_of_a_rare_level(self, tmp_path):
        colors = table(["red"] * 30 + ["blue"] * 30 + ["Ms Rare", "Mr Rarer"])
        cw.summarize(colors, ["a"] * 62).withhold(5).save(tmp_path / "s.cws")
        assert b"Rare" not in (tmp_path / "s.cws").read_bytes()
        assert cw.load(tmp_path / "s.cws").levels.columns[0].weight.tolist() == [[30.0, 30.0]]


class TestErrors:
    def test_a_pooled_scatter_cannot_withhold_a_class(self):
        s = cw.summarize([[float(i % 7)] for i in range(12)], ["a"] * 9 + ["b"] * 3, scatter="pooled")
        with pytest.raises(StatisticsError, match="scatter='full'"):
            s.withhold(5)

    def test_pairs_cannot(self):
        with pytest.raises(StatisticsError, match="with neither pairs nor quartics"):
            cw.summarize(X, y, pairs=5).withhold(5)

    @pytest.mark.parametrize("minimum", [-1, "ten", float("nan")])
    def test_minimum_weight_is_a_number(self, minimum):
        with pytest.raises(ClasswiseError, match="minimum_weight"):
            cw.summarize(X, y).withhold(minimum)
