"""Averaged one-dependence: pair counts that add up, and the density against a plain implementation."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import classwise as cw
from classwise.densities import OneDependence
from classwise.statistics import Bins, Named, PairCounts, Quantiles, gather_pairs, pairs
from classwise.statistics.binning import cut

COLUMNS = (Named(np.array(["a", "b"])), Named(np.array(["x", "y", "z"])), Bins(np.array([0.0, 1.0, 2.5])))


def some_rows(seed=0, size=60, gaps=0.0):
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.integers(0, 2, size), rng.integers(0, 3, size), rng.uniform(-0.5, 3, size)]).astype(
        float
    )
    rows[rng.random(rows.shape) < gaps] = np.nan
    rows[:, :2] = np.where(np.isnan(rows[:, :2]), -1, rows[:, :2])
    return rows, rng.integers(0, 2, size), rng.choice([1.0, 2.0, 3.0], size)


def plain(rows, classes, smoothing, backoff, weights=None):
    """p(x | k) as the formula says, by counting with loops; a function of codes (d,) and k."""
    codes = np.column_stack([column.codes(rows[:, j]) for j, column in enumerate(COLUMNS)])
    weights = np.ones(len(rows)) if weights is None else weights

    def weigh(k=None, **wanted):
        chosen = np.ones(len(rows), dtype=bool) if k is None else classes == k
        for name, code in wanted.items():
            chosen &= codes[:, int(name[1:])] >= 0 if code is None else codes[:, int(name[1:])] == code
        return weights[chosen].sum()

    def single(j, b, k):
        rate = (weigh(**{f"c{j}": b}) + 1) / (weigh(**{f"c{j}": None}) + len(COLUMNS[j]))
        return (weigh(k, **{f"c{j}": b}) + smoothing * rate) / (weigh(k, **{f"c{j}": None}) + smoothing)

    def given_parent(j, b, i, a, k):
        together, known = weigh(k, **{f"c{i}": a, f"c{j}": b}), weigh(k, **{f"c{i}": a, f"c{j}": None})
        return (together + backoff * single(j, b, k)) / (known + backoff)

    def probability(x, k):
        total = 0.0
        for i in range(len(x)):
            term = single(i, x[i], k)
            for j in range(len(x)):
                if j != i:
                    term *= given_parent(j, x[j], i, x[i], k)
            total += term
        return total / len(x)

    return probability


def all_rows():
    """Every combination of levels, numbers by a value of their range."""
    return [
        ((a, b, c), (float(a), float(b), (0.5, 2.0)[c])) for a, b, c in itertools.product(range(2), range(3), range(2))
    ]


@pytest.mark.parametrize("gaps", [0.0, 0.3])
@pytest.mark.parametrize(("smoothing", "backoff"), [(1.0, 1.0), (0.5, 8.0)])
def test_density_equals_the_formula(gaps, smoothing, backoff):
    rows, classes, weights = some_rows(gaps=gaps)
    density = OneDependence.estimate(gather_pairs(rows, COLUMNS, classes, 2, weights), smoothing, backoff)
    expected = plain(rows, classes, smoothing, backoff, weights)
    for codes, values in all_rows():
        scores = density.relative(np.array([values]), np.zeros((2, 1)))[:, 0]
        np.testing.assert_allclose(np.exp(scores), [expected(codes, k) for k in range(2)], rtol=1e-12)


def a_density(seed=0):
    rows, classes, _ = some_rows(seed)
    return OneDependence.estimate(gather_pairs(rows, COLUMNS, classes, 2), 1.0, 2.0)


def test_probabilities_sum_to_one():
    rows = np.array([values for _, values in all_rows()])
    np.testing.assert_allclose(np.exp(a_density().relative(rows, np.zeros((2, 1)))).sum(axis=1), 1.0, rtol=1e-12)


@pytest.mark.parametrize("gone", [set(s) for r in range(4) for s in itertools.combinations(range(3), r)], ids=str)
def test_missing_values_are_integrated_out(gone):
    density, rows = a_density(), np.array([values for _, values in all_rows()])
    whole = np.exp(density.relative(rows, np.zeros((2, 1))))
    asked = np.array([1.0, 2.0, 0.5])
    same = np.all([(rows[:, j] == asked[j]) | (j in gone) for j in range(3)], axis=0)
    for j in gone:
        asked[j] = np.nan if j == 2 else -1
    got = density.observed(asked[None], np.zeros((2, 1)))[:, 0]
    np.testing.assert_allclose(np.exp(got), whole[:, same].sum(axis=1), rtol=1e-12)


def test_a_level_never_seen_says_nothing():
    density = a_density()
    seen_not, missing = (density.relative(np.array([[1.0, code, 0.5]]), np.zeros((2, 1))) for code in (3.0, -1.0))
    np.testing.assert_array_equal(seen_not, missing)


def test_samples_follow_the_density():
    density, rng = a_density(), np.random.default_rng(1)
    rows = np.array([values for _, values in all_rows()])
    expected = np.exp(density.relative(rows, np.zeros((2, 1))))
    drawn = density.sample(np.repeat([0, 1], 50_000), rng)
    codes = np.column_stack([column.codes(drawn[:, j]) for j, column in enumerate(COLUMNS)])
    cells = np.ravel_multi_index(codes.T, (2, 3, 2))
    for k, part in enumerate((slice(50_000), slice(50_000, None))):
        observed = np.bincount(cells[part], minlength=12)
        assert stats.chisquare(observed, expected[k] * 50_000).pvalue > 1e-5
    inside = drawn[codes[:, 2] == 1, 2]
    assert stats.kstest(inside, "uniform", args=(1.0, 1.5)).pvalue > 1e-5


def test_shares_add_up_to_the_log_odds():
    density, row = a_density(), np.array([1.0, 2.0, 0.5])
    scores = density.relative(row[None], np.zeros((2, 1)))[:, 0]
    assert density.shares(row, 1, 0).sum() == pytest.approx(scores[1] - scores[0], rel=1e-12)


def test_of_two_columns_shares_are_shapley_values():
    rows, classes, _ = some_rows()
    density = OneDependence.estimate(gather_pairs(rows[:, :2], COLUMNS[:2], classes, 2), 1.0, 2.0)

    def odds(*row):
        scores = density.relative(np.array([row]), np.zeros((2, 1)))[:, 0]
        return scores[1] - scores[0]

    first = (odds(1, -1) - odds(-1, -1) + odds(1, 2) - odds(-1, 2)) / 2
    second = (odds(-1, 2) - odds(-1, -1) + odds(1, 2) - odds(1, -1)) / 2
    np.testing.assert_allclose(density.shares(np.array([1.0, 2.0]), 1, 0), [first, second], rtol=1e-12)


def test_a_missing_column_has_no_share():
    shares = a_density().shares(np.array([1.0, -1.0, np.nan]), 1, 0)
    np.testing.assert_allclose(shares[1:], 0.0, atol=1e-15)
    assert shares[0] != 0


def test_columns_of_one_place_or_none_change_nothing():
    rows, classes, _ = some_rows()
    nothing = (Bins.of_values(np.empty(0)), Bins.of_values(np.array([4.0])), Named(np.array(["a", "b"])).uncounted())
    wide = np.column_stack([rows, np.full(60, np.nan), np.full(60, 4.0), rows[:, 0]])
    density = OneDependence.estimate(gather_pairs(wide, (*COLUMNS, *nothing), classes, 2), 1.0, 2.0)
    zeros = np.zeros((2, 1))
    np.testing.assert_allclose(density.observed(wide, zeros), a_density().observed(rows, zeros), rtol=1e-12)
    drawn = density.sample(np.zeros(5, dtype=int), np.random.default_rng(0))
    np.testing.assert_array_equal(drawn[:, 3:], [[np.nan, 4.0, -1.0]] * 5)
    assert density.free_parameters == a_density().free_parameters == 2 * (1 + 2 + 1 + 2 * 3 + 3 * 2 + 2 * 3)


def test_missing_numbers_are_for_observed():
    with pytest.raises(cw.UnscorableError):
        a_density().relative(np.array([[1.0, 2.0, np.nan]]), np.zeros((2, 1)))


def test_numbers_are_uniform_within_their_range():
    density, rows = a_density(), np.array([[1.0, 2.0, 0.5], [1.0, 2.0, 2.0], [1.0, 2.0, np.nan]])
    np.testing.assert_allclose(density.common(rows), [-np.log(1.0), -np.log(1.5), 0.0])


class TestPairCounts:
    @given(st.integers(0, 1000), st.integers(1, 59))
    def test_parts_add_up(self, seed, cut):
        rows, classes, weights = some_rows(seed, gaps=0.2)
        whole = gather_pairs(rows, COLUMNS, classes, 2, weights)
        first, second = (
            gather_pairs(rows[s], COLUMNS, classes[s], 2, weights[s]) for s in (slice(cut), slice(cut, None))
        )
        np.testing.assert_allclose((first + second).weight, whole.weight, rtol=1e-12)
        rest = whole - second
        np.testing.assert_allclose((rest + second).weight, whole.weight, rtol=1e-12)

    def test_weight_two_is_the_row_twice(self):
        rows, classes, weights = some_rows(gaps=0.2)
        twice = np.repeat(np.arange(len(rows)), weights.astype(int))
        weighted = gather_pairs(rows, COLUMNS, classes, 2, weights)
        repeated = gather_pairs(rows[twice], COLUMNS, classes[twice], 2)
        np.testing.assert_array_equal(weighted.weight, repeated.weight)

    def test_levels_merge_by_name(self):
        one = gather_pairs(np.array([[0.0]]), [Named(np.array(["b"]))], np.array([0]), 1)
        two = gather_pairs(np.array([[0.0], [1.0]]), [Named(np.array(["a", "b"]))], np.array([0, 0]), 1)
        both = one + two
        assert both.columns[0].levels.tolist() == ["a", "b"]
        np.testing.assert_array_equal(both.weight[0], [[1, 0], [0, 2]])
        left = both - two
        assert left.columns[0].levels.tolist() == ["b"]

    def test_restricting_is_counting_fewer_columns(self):
        rows, classes, _ = some_rows()
        restricted = gather_pairs(rows, COLUMNS, classes, 2).restrict([2, 0])
        direct = gather_pairs(rows[:, [2, 0]], [COLUMNS[2], COLUMNS[0]], classes, 2)
        np.testing.assert_array_equal(restricted.weight, direct.weight)

    def test_classes_move(self):
        rows, classes, _ = some_rows()
        counts = gather_pairs(rows, COLUMNS, classes, 2)
        moved = counts.regroup(np.array([2, 0]), 3)
        np.testing.assert_array_equal(moved.weight[[2, 0]], counts.weight)
        assert not moved.weight[1].any()
        np.testing.assert_array_equal(moved.select(np.array([2])).weight, counts.weight[:1])

    def test_other_ranges_cannot_be_added(self):
        rows, classes, _ = some_rows()
        other = PairCounts((*COLUMNS[:2], Bins(np.array([0.0, 1.5, 2.5]))), np.zeros((2, 7, 7)))
        with pytest.raises(cw.StatisticsError, match="different ranges"):
            gather_pairs(rows, COLUMNS, classes, 2) + other

    def test_what_was_never_there_cannot_be_taken_away(self):
        rows, classes, _ = some_rows()
        counts = gather_pairs(rows, COLUMNS, classes, 2)
        with pytest.raises(cw.StatisticsError, match="negative count"):
            counts - (counts + counts)

    def test_too_many_pairs_are_refused(self):
        levels = Named(np.arange(20_000))
        with pytest.raises(
            cw.StatisticsError, match=r"20003 ranges and levels.* GiB.* fewer columns.*Column 1 has most of them, 20000"
        ):
            gather_pairs(np.zeros((1, 2)), (COLUMNS[1], levels), np.array([0]), 1)

    def test_blocks_do_not_matter(self, monkeypatch):
        rows, classes, weights = some_rows(gaps=0.2)
        whole = gather_pairs(rows, COLUMNS, classes, 2, weights)
        monkeypatch.setattr(pairs, "BLOCK_VALUES", 1)
        monkeypatch.setattr(pairs, "LEAST_ROWS", 7)
        np.testing.assert_array_equal(gather_pairs(rows, COLUMNS, classes, 2, weights).weight, whole.weight)

    def test_missing_values_may_be_counted_and_left_out_again(self):
        rows, classes, weights = some_rows(gaps=0.3)
        counted = gather_pairs(rows, [replace(c, missing=True) for c in COLUMNS], classes, 2, weights)
        plain = gather_pairs(rows, COLUMNS, classes, 2, weights)
        np.testing.assert_array_equal(counted.without_missing().weight, plain.weight)
        gone = weights[(classes == 0) & (rows[:, 0] < 0)].sum()
        assert counted.own[0, len(COLUMNS[0])] == gone > 0

    def test_missing_goes_where_no_row_has_it(self):
        rows, classes, _ = some_rows()
        counted = gather_pairs(rows, [replace(c, missing=True) for c in COLUMNS], classes, 2)
        assert not any(column.missing for column in counted.compact().columns)
        np.testing.assert_array_equal(counted.compact().weight, gather_pairs(rows, COLUMNS, classes, 2).weight)


class TestPlaces:
    def test_rare_levels_share_a_place(self):
        levels, weight = np.array(list("abcde")), np.array([1.0, 9.0, 2.0, 8.0, 1.0])
        place = Named.of_most(levels, weight, 3)
        assert place.names == ["b", "d", "other"]
        np.testing.assert_array_equal(
            place.codes(np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, -1.0])), [2, 0, 2, 1, 2, 2, -1]
        )
        drawn = place.draw(np.array([0, 1, 2, 2, 2, 2, 2, 2]), np.random.default_rng(0))
        assert drawn[:2].tolist() == [1, 3]
        assert set(drawn[2:].tolist()) <= {0.0, 2.0, 4.0}

    def test_rare_levels_keep_their_place(self):
        place = Named.of_most(np.array(list("abc")), np.array([1.0, 9.0, 2.0]), 2)
        more = place.extended(np.array(["b", "z"]))
        assert more.levels.tolist() == ["a", "b", "c", "z"]
        assert more.places.tolist() == [1, 0, 1, 1]
        assert place.union(more, "x").places.tolist() == [1, 0, 1, 1]
        with pytest.raises(cw.StatisticsError, match="pooled in different ways"):
            place.union(Named.of_most(np.array(list("abc")), np.array([9.0, 1.0, 2.0]), 2), "x")
        with pytest.raises(cw.StatisticsError, match="category in one statistic"):
            place.union(COLUMNS[2], "x")

    def test_values_by_themselves(self):
        place = Bins.of_values(np.array([0.0, 1.0, 5.0]), missing=True)
        np.testing.assert_array_equal(place.codes(np.array([-9.0, 0.4, 0.6, 4.0, 9.0, np.nan])), [0, 0, 1, 2, 2, 3])
        assert place.names == [0.0, 1.0, 5.0, None]
        assert place.widths.tolist() == [1, 1, 1]
        drawn = place.draw(np.array([0, 1, 2, 3]), np.random.default_rng(0))
        np.testing.assert_array_equal(drawn, [0.0, 1.0, 5.0, np.nan])

    @pytest.mark.parametrize("start", [0.3, 1.0, np.nextafter(1.0, 2)])
    def test_neighboring_numbers_are_told_apart(self, start):
        values = np.array([start, np.nextafter(start, 2)])
        place = Bins.of_values(values)
        np.testing.assert_array_equal(place.codes(values), [0, 1])
        assert place._is_sound()

    def test_ranges_where_there_were_no_values(self):
        nothing = Bins.of_values(np.empty(0), missing=True)
        assert nothing.codes(np.array([1.0, np.nan])).tolist() == [-1, 0]
        assert nothing.union(COLUMNS[2], "x").edges.tolist() == COLUMNS[2].edges.tolist()


class TestQuantiles:
    @given(st.lists(st.integers(-20, 20), min_size=1, max_size=60), st.integers(2, 8))
    def test_cuts_part_the_weight_evenly(self, values, count):
        """Each cut has at least its share below, and without the values of its quantile less than that."""
        values = np.array(values, dtype=float)
        cuts = Quantiles.of(values).cuts(count)
        assert (np.diff(cuts) > 0).all()
        for wanted in range(1, count):
            share = wanted / count * len(values)
            quantile = np.sort(values)[int(np.ceil(share - 1e-9)) - 1]
            if quantile < values.max():
                cut = cuts[cuts > quantile].min()
                assert (values < cut).sum() == (values <= quantile).sum() >= share - 1e-9

    @given(st.lists(st.integers(-20, 20), min_size=2, max_size=60), st.data())
    def test_parts_add_up(self, values, data):
        values = np.array(values, dtype=float)
        cut = data.draw(st.integers(0, len(values)))
        both, whole = Quantiles.of(values[:cut]) + Quantiles.of(values[cut:]), Quantiles.of(values)
        np.testing.assert_array_equal(both.points, whole.points)
        np.testing.assert_array_equal(both.weight, whole.weight)
        assert (both.lowest, both.highest) == (values.min(), values.max())

    def test_weight_two_is_the_value_twice(self):
        rng = np.random.default_rng(0)
        values, weights = rng.normal(size=50), rng.integers(0, 4, 50)
        weighted, repeated = Quantiles.of(values, weights.astype(float)), Quantiles.of(np.repeat(values, weights))
        np.testing.assert_array_equal(weighted.points, repeated.points)
        np.testing.assert_array_equal(weighted.weight, repeated.weight)

    @pytest.mark.parametrize("draw", ["normal", "standard_cauchy", "exponential"])
    def test_many_chunks_lose_little(self, draw):
        """Of 200,000 values in 200 chunks, quantiles are off by less than half a percent of the rows."""
        values = getattr(np.random.default_rng(0), draw)(size=200_000)
        sketch = sum((Quantiles.of(part) for part in values.reshape(200, -1)[1:]), start=Quantiles.of(values[:1000]))
        assert len(sketch.points) <= sketch.most
        assert sketch.weight.sum() == pytest.approx(200_000)
        assert (sketch.lowest, sketch.highest) == (values.min(), values.max())
        below = np.array([(values < cut).mean() for cut in sketch.cuts(7)])
        np.testing.assert_allclose(below, np.arange(1, 7) / 7, atol=0.005)

    def test_few_distinct_values_stay_exact(self):
        values = np.random.default_rng(0).integers(0, 9, 100_000).astype(float)
        sketch = sum((Quantiles.of(part) for part in values.reshape(100, -1)[1:]), start=Quantiles.of(values[:1000]))
        np.testing.assert_array_equal(sketch.points, np.arange(9))
        np.testing.assert_array_equal(sketch.weight, np.bincount(values.astype(int)))

    def test_neighboring_numbers(self):
        """Twelve numbers with nothing between them, many at the highest: ranges still have some width."""
        values = [1.0]
        for _ in range(11):
            values.append(np.nextafter(values[-1], 2))
        place = cut(Quantiles.of(np.array(values + values[-1:] * 30)), 7)
        assert (place.widths > 0).all()
        assert place._is_sound()

    def test_nothing(self):
        empty = Quantiles.of(np.array([np.nan]))
        assert len(empty.points) == 0
        assert empty.cuts(7).tolist() == []
        assert (empty + Quantiles.of(np.array([2.0]))).lowest == 2.0
