"""Diagnoses: numbers against other programs, brute force and integrals; laws; what the advice says."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats
from scipy.integrate import quad
from sklearn.datasets import load_iris, load_wine

import classwise as cw
from classwise.diagnostics import normality

IRIS = load_iris()
X, y = IRIS.data, IRIS.target
NAMES = IRIS.target_names[y]


def sizes(d, errors=True):
    """All that a diagnosis measures, as one vector; errors: with the shares of errors, too."""
    parts = [
        d.weight,
        *(value for t in d.normality for value in list(vars(t).values())[1:] if not isinstance(value, str)),
    ]
    parts += [value for s in (d.pooled, *d.spectra) for value in list(vars(s).values())[1:]]
    parts += [value for o in d.overlaps for value in (*o[2:5], *o[5:9][2 * (not errors) :], o.weight)]
    parts += list(vars(d.equality).values())[2:] if d.equality else []
    return np.array(parts, dtype=float)


def assert_same(a, b, rtol=1e-8):
    assert_allclose(sizes(a), sizes(b), rtol=rtol, atol=1e-10)
    assert a.advice == b.advice


def assert_numbers_same(a, b):
    """Whatever else there is, the same is said of the numbers."""
    assert_allclose(vars(a.pooled)["condition"], vars(b.pooled)["condition"])
    assert (a.equality, a.normality, a.spectra) == (b.equality, b.normality, b.spectra)
    for first, second in zip(sorted(a.overlaps), sorted(b.overlaps), strict=True):
        assert_allclose(first[2:5], second[2:5])


def two_classes(rng, n=200, p=3, shift=1.0):
    return np.vstack([rng.normal(size=(n, p)), rng.normal(size=(n, p)) + shift]), np.repeat(["a", "b"], n)


# Equal covariances ----------------------------------------------------------------------------------------------------


def test_box_m_of_iris_is_that_of_other_programs():
    box = cw.diagnose(X, y).equality
    assert_allclose(
        [box.statistic, box.f, box.f_dof, box.chi2, box.dof], [146.6632, 7.0453, 77566.75, 140.943, 20], rtol=1e-5
    )
    assert box.p_value == pytest.approx(stats.f.sf(box.f, box.dof, box.f_dof), rel=0.1)
    assert box.labels == (0, 1, 2)
    assert box.skipped == ()


def test_in_one_column_box_m_is_bartletts_test():
    box = cw.diagnose(X[:, :1], y).equality
    correction = (3 / 49 - 1 / 147) / (3 * 2)
    assert box.statistic == pytest.approx(
        stats.bartlett(*(X[y == k, 0] for k in range(3))).statistic * (1 + correction)
    )
    assert box.p_value == pytest.approx(stats.bartlett(*(X[y == k, 0] for k in range(3))).pvalue, rel=0.02)


def test_the_p_value_holds_where_box_f_does_not():
    rng, labels = np.random.default_rng(0), np.repeat([0, 1], 12)
    found = [cw.diagnose(rng.normal(size=(24, 10)), labels).equality for _ in range(150)]
    assert 0.01 <= np.mean([box.p_value < 0.05 for box in found]) <= 0.1
    assert np.mean([stats.f.sf(box.f, box.dof, box.f_dof) < 0.05 for box in found]) > 0.1
    excess = np.mean([box.statistic / (2 * 22) for box in found]) / found[0].cost
    assert excess == pytest.approx(1, abs=0.05)  # the cost is what equal covariances seem to differ by


def test_difference_is_the_divergence_from_the_shared_covariance():
    rng = np.random.default_rng(1)
    rows, labels = two_classes(rng, 20000, 2)
    rows[labels == "b"] *= 2
    expected = (np.log(2.5) - np.log(1) / 2 - np.log(4) / 2) / 2 * 2
    assert cw.diagnose(rows, labels).equality.difference == pytest.approx(expected, rel=0.05)


def test_power_is_the_share_of_samples_in_which_a_notable_difference_shows():
    rng, labels, ratio = (
        np.random.default_rng(2),
        np.repeat([0, 1], 60),
        2.48,
    )  # of variances: 0.05 a row, in one column
    assert (np.log((1 + ratio) / 2) - np.log(ratio) / 2) / 2 == pytest.approx(0.05, abs=0.001)
    found = []
    for _ in range(200):
        sample = rng.normal(size=(120, 1))
        sample[60:] *= ratio**0.5
        found.append(cw.diagnose(sample, labels).equality)
    assert np.mean([box.p_value < 0.05 for box in found]) == pytest.approx(found[0].power, abs=0.1)


@pytest.mark.parametrize(
    ("n", "p", "scale", "says"),
    [
        (500, 4, 1.0, "so one for all will do: try cw.LDA()."),
        (30, 4, 1.0, "as far as so few rows show: try cw.LDA() or cw.RDA()"),
        (40000, 4, 1.03, "so one for all will do: try cw.LDA()."),
        (24, 8, 1.5, "rows are too few to estimate each: try cw.RDA(), which finds"),
        (
            500,
            4,
            2.0,
            "differ between classes, and there are rows enough to estimate one for each: try cw.QDA() or cw.RDA().",
        ),
    ],
)
def test_advice_on_sharing_goes_by_significance_and_size(n, p, scale, says):
    rng = np.random.default_rng(4)
    sample, labels = two_classes(rng, n, p)
    sample[labels == "b"] *= scale
    assert says in cw.diagnose(sample, labels).advice["equality"]


def test_heavy_tails_make_box_m_doubtful():
    rng = np.random.default_rng(5)
    sample, labels = two_classes(rng, 500)
    sample[labels == "b"] = rng.standard_t(3, size=(500, 3)) * 2
    d = cw.diagnose(sample, labels)
    assert (
        "seem to differ between classes, though values far out can look like that, too: try cw.RDA(),"
        in d.advice["equality"]
    )
    assert "QDA" not in "".join(d.sentences())
    # The bound of Gaussians does not hold: what a single column gets wrong does.
    assert d.overlaps[0].most > np.exp(-d.overlaps[0].beyond_chance) / 2


# Normality ------------------------------------------------------------------------------------------------------------


def brute_mardia(sample):
    """b1 and b2 by all pairs of rows."""
    n = len(sample)
    away = sample - sample.mean(axis=0)
    angles = away @ np.linalg.solve(away.T @ away / n, away.T)
    return (angles**3).sum() / n**2, (np.diagonal(angles) ** 2).sum() / n


@settings(max_examples=25)
@given(st.integers(0, 2**31), st.integers(1, 5), st.booleans())
def test_mardia_equals_brute_force(seed, p, weighted):
    rng = np.random.default_rng(seed)
    sample, labels = rng.gamma(2.0, size=(60, p)) + 1e3, np.arange(60) % 2
    weights = rng.integers(0, 4, 60) + (np.arange(60) < 24) if weighted else np.ones(60, dtype=int)
    found = cw.diagnose(sample, labels, weights).normality
    for k in range(2):
        own = np.repeat(sample[labels == k], weights[labels == k], axis=0)
        assert_allclose([found[k].skewness, found[k].kurtosis], brute_mardia(own), rtol=1e-8)
        assert found[k].ratio == pytest.approx(found[k].kurtosis / (p * (p + 2)))
        assert found[k].tested == len(own)


def test_a_far_origin_costs_no_digits():
    sample, labels = np.random.default_rng(3).integers(0, 9, size=(200, 2)), np.arange(200) % 2
    near, far = (cw.diagnose(rows, labels).normality for rows in (sample, sample + 2.0**40))
    for a, b in zip(near, far, strict=True):
        assert_allclose([b.skewness, b.kurtosis], [a.skewness, a.kurtosis], rtol=1e-10)


def test_setosa_is_as_in_the_r_package_mvn():
    setosa = cw.diagnose(X, NAMES).normality[0]
    assert setosa.label == "setosa"
    assert_allclose([setosa.skewness, setosa.kurtosis], [3.079721, 26.53766], rtol=1e-6)
    assert setosa.skewness_p == pytest.approx(0.1127617, rel=1e-5)  # with the correction for small samples
    # MVN takes the limit for many rows, z = 1.294992; the exact mean and variance of b2 are these.
    assert (setosa.kurtosis - 24) / np.sqrt(8 * 24 / 50) == pytest.approx(1.294992, rel=1e-5)
    mean, variance = 24 * 49 / 51, 8 * 24 * 47 * 45 * 47 / (51**2 * 53 * 55)
    assert setosa.kurtosis_p == pytest.approx(2 * stats.norm.sf((setosa.kurtosis - mean) / variance**0.5))


def test_tests_of_gaussian_samples_reject_as_often_as_they_say():
    rng, labels = np.random.default_rng(6), np.repeat(np.arange(150), 25)
    tests = cw.diagnose(rng.normal(size=(len(labels), 4)), labels).normality
    for p_values in ([t.skewness_p for t in tests], [t.kurtosis_p for t in tests]):
        assert 0.01 <= np.mean(np.array(p_values) < 0.05) <= 0.1
        assert np.mean(p_values) == pytest.approx(0.5, abs=0.07)
    assert min(t.p_value for t in tests) < 0.05
    assert normality.rejected(tests) == []  # of so many tests, some reject by chance


@pytest.mark.parametrize(
    ("draw", "says"),
    [
        (lambda rng, shape: rng.normal(size=shape), "Nothing speaks against Gaussian classes, which LDA"),
        (
            lambda rng, shape: rng.standard_t(4, size=shape),
            "not Gaussian: more values far out than a Gaussian expects in classes 0 and 1",
        ),
        (
            lambda rng, shape: rng.uniform(size=shape),
            "not Gaussian: fewer values far out than a Gaussian expects in classes 0 and 1",
        ),
        (lambda rng, shape: rng.gamma(30.0, size=shape), "not Gaussian: a longer tail on one side in classes 0 and 1"),
        (lambda rng, shape: rng.gamma(90.0, size=shape), "by too little to matter"),
    ],
)
def test_advice_on_tails(draw, says):
    rng = np.random.default_rng(7)
    d = cw.diagnose(draw(rng, (6000, 3)), np.arange(6000) % 2)
    assert says in d.advice["normality"]


def test_each_class_is_called_what_it_is():
    rng = np.random.default_rng(26)
    kinds = [
        rng.standard_t(5, (3000, 3)),
        rng.uniform(size=(3000, 3)),
        rng.gamma(30, size=(3000, 3)),
        rng.normal(size=(3000, 3)),
    ]
    advice = cw.diagnose(np.vstack(kinds), np.repeat(["t", "u", "g", "n"], 3000)).advice["normality"]
    for says in (
        "more values far out than a Gaussian expects in class 't'",
        "fewer values far out than a Gaussian expects in class 'u'",
        "a longer tail on one side in class 'g'",
    ):
        assert says in advice
    assert "'n'" not in advice


def test_few_rows_show_little():
    rng = np.random.default_rng(8)
    d = cw.diagnose(rng.normal(size=(24, 2)), np.arange(24) % 2)
    assert "classes 0 and 1 could show only gross deviations" in d.advice["normality"]


def test_student_tails_are_named_by_their_degrees_of_freedom():
    rng = np.random.default_rng(9)
    spread = np.sqrt(9 / rng.chisquare(9, size=(40000, 1)))
    d = cw.diagnose(rng.normal(size=(40000, 3)) * spread, np.arange(40000) % 2)
    assert d.normality[0].ratio == pytest.approx(7 / 5, rel=0.1)
    assert "Student's t with 9 degrees of freedom" in " ".join(str(d).split())


def test_many_columns_are_looked_at_in_a_sample(monkeypatch):
    monkeypatch.setattr("classwise.limits.NORMALITY_ROWS", 500)
    rng, labels = np.random.default_rng(10), np.repeat([0, 1], [1500, 400])
    sample = rng.normal(size=(1900, 100))
    d = cw.diagnose(sample, labels)
    assert [t.tested for t in d.normality] == [500, 400]
    assert_allclose([d.normality[0].skewness, d.normality[0].kurtosis], brute_mardia(sample[1:1500:3]), rtol=1e-8)
    assert "at most 500 evenly spaced rows of each class" in str(d)
    assert min(t.p_value for t in d.normality) > 0.01
    sample[:, :20] = np.exp(sample[:, :20])
    assert max(t.p_value for t in cw.diagnose(sample, labels).normality) < 1e-6


def test_a_sample_is_bounded_by_default_too():
    rng = np.random.default_rng(11)
    d = cw.diagnose(rng.normal(size=(4400, 61)).astype(np.float32), np.arange(4400) % 2)
    assert [t.tested for t in d.normality] == [2000, 2000]


def test_sums_over_rows_and_over_pairs_agree(monkeypatch):
    wine, labels = load_wine(return_X_y=True)
    by_tensor = cw.diagnose(wine, labels)
    monkeypatch.setattr(normality, "MOST_COLUMNS", 0)
    assert_same(by_tensor, cw.diagnose(wine, labels))


def test_a_sample_that_is_singular_says_so(monkeypatch):
    monkeypatch.setattr(normality, "MOST_COLUMNS", 0)
    monkeypatch.setattr("classwise.limits.NORMALITY_ROWS", 5)
    assert {t.note for t in cw.diagnose(X, y).normality} == {"too few rows"}


# Rank and condition ---------------------------------------------------------------------------------------------------


def test_spectrum_is_that_of_the_correlation_matrix():
    d = cw.diagnose(X, y)
    pooled = sum(np.cov(X[y == k].T) for k in range(3))
    scale = np.sqrt(np.diagonal(pooled))
    for found, covariance in [
        (d.pooled, pooled),
        *zip(d.spectra, (np.cov(X[y == k].T) for k in range(3)), strict=True),
    ]:
        scale = np.sqrt(np.diagonal(covariance))
        values = np.linalg.eigvalsh(covariance / np.outer(scale, scale))
        assert found.effective_rank == pytest.approx(np.exp(stats.entropy(values)))
        assert found.condition == pytest.approx(values[-1] / values[0])
        assert found.rank == 4
    assert [s.rows_per_parameter for s in (d.pooled, *d.spectra)] == [15, 5, 5, 5]


def test_effective_rank_from_one_to_all():
    rng = np.random.default_rng(12)
    sample, labels = rng.normal(size=(4000, 6)), np.arange(4000) % 2
    assert cw.diagnose(sample, labels).pooled.effective_rank == pytest.approx(6, abs=0.05)
    alike = sample[:, :1] + 1e-3 * sample
    d = cw.diagnose(alike, labels)
    assert d.pooled.effective_rank == pytest.approx(1, abs=0.05)
    assert d.pooled.condition > 1e4
    assert "the 6 number columns repeat each other, and vary in about 1 directions" in d.advice["spectrum"]


def test_dependence_is_what_a_diagonal_covariance_gives_away():
    rng, labels = np.random.default_rng(13), np.arange(40) % 2
    sample = rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], 40000)
    d = cw.diagnose(sample, np.arange(40000) % 2)
    assert d.pooled.dependence == pytest.approx(-np.log(1 - 0.64) / 2, rel=0.03)
    assert "number columns vary together, which naive Bayes leaves out" in d.advice["spectrum"]
    # What chance alone gives is not counted: with 40 rows of 8 columns it would be 0.39 a row.
    by_chance = [cw.diagnose(rng.normal(size=(40, 8)), labels).pooled.dependence for _ in range(100)]
    assert np.mean(by_chance) < 0.1


def test_unrelated_columns_may_be_looked_at_one_by_one():
    sample, labels = two_classes(np.random.default_rng(14), 5000)
    assert "naive Bayes loses little by leaving that out" in cw.diagnose(sample, labels).advice["spectrum"]


def test_few_rows_for_so_many_columns():
    wine, labels = load_wine(return_X_y=True)
    advice = cw.diagnose(wine, labels).advice["spectrum"]
    assert advice.startswith("178 rows are few for the covariance of 13 number columns, even a shared one: try cw.RDA(")
    some = cw.diagnose(wine[:, :5], labels)
    assert "Classes 0, 1 and 2 have few rows for their own covariance of 5 number columns." in some.advice["spectrum"]
    assert "Class 'virginica' has few rows for its own" in cw.diagnose(X[:115], NAMES[:115]).advice["spectrum"]


def test_columns_that_follow_from_others_are_named():
    table = pd.DataFrame(X[:, :3], columns=["a", "b", "c"]).assign(sum=X[:, 0] + X[:, 1])
    d = cw.diagnose(table, NAMES)
    assert (d.pooled.rank, d.pooled.condition, d.equality, d.metric) == (3, np.inf, None, "diagonal")
    assert d.advice["spectrum"].startswith("'sum' follows exactly from other number columns")
    assert d.found["spectrum"].shell.endswith("--drop sum.")
    assert {t.note for t in d.normality} == {"covariance of rank 3"}
    assert "so one must do for all" in d.advice["equality"]


# Overlap --------------------------------------------------------------------------------------------------------------


def gaussian(sample):
    return stats.norm(sample.mean(), sample.std(ddof=1))


def test_distance_is_the_integral_in_one_dimension():
    rng = np.random.default_rng(15)
    sample = np.concatenate([rng.normal(0, 1, 50), rng.normal(2, 3, 150)])
    labels = np.repeat([0, 1], [50, 150])
    pair = cw.diagnose(sample[:, None], labels).overlaps[0]
    first, second = gaussian(sample[:50]), gaussian(sample[50:])
    shared, _ = quad(lambda x: np.sqrt(first.pdf(x) * second.pdf(x)), -30, 30, epsabs=1e-11)
    assert pair.distance == pytest.approx(-np.log(shared), rel=1e-8)


def test_errors_lie_between_the_bounds():
    rng = np.random.default_rng(16)
    sample = np.concatenate([rng.normal(0, 1, 20000), rng.normal(5, 2, 60000)])
    pair = cw.diagnose(sample[:, None], np.repeat([0, 1], [20000, 60000])).overlaps[0]
    assert pair.beyond_chance == pytest.approx(pair.distance, abs=1e-3)
    assert pair.most <= np.sqrt(3 / 16) * np.exp(-pair.beyond_chance)
    first, second = gaussian(sample[:20000]), gaussian(sample[20000:])
    errors, _ = quad(lambda x: min(first.pdf(x) / 4, second.pdf(x) * 3 / 4), -30, 30, limit=200)
    assert pair.least < errors < pair.most


def bhattacharyya(a, b):
    d, first, second = a.mean(axis=0) - b.mean(axis=0), np.cov(a.T), np.cov(b.T)
    middle = (first + second) / 2
    log_dets = [np.log(np.linalg.det(c)) for c in (middle, first, second)]
    return d @ np.linalg.solve(middle, d) / 8, log_dets[0] / 2 - (log_dets[1] + log_dets[2]) / 4


def test_distance_is_the_formula_in_two_dimensions():
    d = cw.diagnose(X[:, 1:3], NAMES)
    assert d.metric == "own"
    assert d.overlaps[0][:2] == ("versicolor", "virginica")
    for pair in d.overlaps:
        expected = bhattacharyya(X[pair.first == NAMES, 1:3], X[pair.second == NAMES, 1:3])
        assert pair.distance == pytest.approx(sum(expected), rel=1e-9)


@pytest.mark.parametrize(("count", "more", "off"), [(30, 30, 0.1), (40, 160, 0.15)])
def test_what_lies_beyond_chance_is_the_true_distance(count, more, off):
    rng, p, labels = np.random.default_rng(17), 8, np.repeat([0, 1], [count, more])
    scale = np.where(np.arange(p) % 2, 1.0, 2.0)
    found = []
    for _ in range(150):
        sample = rng.normal(size=(count + more, p))
        sample[count:] = sample[count:] * scale + 0.7
        found.append(cw.diagnose(sample, labels).overlaps[0])
    by_means = (0.49 / ((1 + scale**2) / 2)).sum() / 8
    by_spread = (np.log((1 + scale**2) / 2) / 2 - np.log(scale) / 2).sum()
    assert np.mean([o.by_means for o in found]) == pytest.approx(by_means, rel=off)
    assert np.mean([o.by_spread for o in found]) == pytest.approx(by_spread, rel=off)
    assert np.mean([o.distance for o in found]) > 1.2 * (by_means + by_spread)


def test_classes_that_are_one_are_mistaken_half_the_time():
    pair = cw.diagnose(np.random.default_rng(25).normal(size=(2000, 1)), np.arange(2000) % 2).overlaps[0]
    assert 0.45 < pair.least <= pair.most <= 0.5


def test_a_rare_class_is_no_more_often_mistaken_than_it_occurs():
    rng = np.random.default_rng(18)
    pair = cw.diagnose(rng.normal(size=(2000, 1)), np.arange(2000) % 100 == 0).overlaps[0]
    assert pair.most == pytest.approx(0.01)
    assert pair.least <= pair.most


@pytest.mark.parametrize(
    ("shift", "scale", "says"),
    [
        (0.0, 1.0, "No column by itself tells classes 'a' and 'b' apart, nor do the number columns together"),
        (1.5, 1.0, "Classes 'a' and 'b' overlap: expect up to"),
        (5.0, 1.0, "All classes are well apart: expect up to"),
        (0.2, 4.0, "differ in spread more than in mean"),
    ],
)
def test_advice_on_overlap(shift, scale, says):
    sample, labels = two_classes(np.random.default_rng(19), 1000, shift=0)
    sample[labels == "b"] = sample[labels == "b"] * scale + shift
    assert says in cw.diagnose(sample, labels).advice["overlap"]


def test_noise_is_not_taken_for_overlap():
    sample = np.random.default_rng(20).normal(size=(300, 50))
    pair = cw.diagnose(sample, np.arange(300) % 2).overlaps[0]
    assert pair.distance > 1
    assert pair.beyond_chance < 0.3


# Laws -----------------------------------------------------------------------------------------------------------------


@settings(max_examples=20)
@given(st.integers(0, 2**31), st.booleans())
def test_units_and_origins_do_not_matter(seed, in_few_rows):
    rng = np.random.default_rng(seed)
    sample, labels = (X[::7], y[::7]) if in_few_rows else (X, y)
    moved = (sample + rng.normal(size=4) * 100) * 10 ** rng.uniform(-6, 6, 4)
    found = cw.diagnose(sample, labels)
    assert_same(found, cw.diagnose(moved, labels), rtol=1e-6)
    # A value on the edge of two ranges belongs to the upper one, so that errors by single columns know what is up.
    turned = cw.diagnose(moved * rng.choice([-1, 1], 4), labels)
    assert_allclose(sizes(turned, errors=False), sizes(found, errors=False), rtol=1e-6, atol=1e-10)


@settings(max_examples=20)
@given(st.integers(0, 2**31))
def test_directions_matter_to_the_spectrum_alone(seed):
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(4, 4)))[0] * rng.uniform(0.5, 2, 4)
    ours, theirs = cw.diagnose(X, y), cw.diagnose(X @ turn + 10, y)
    assert_allclose(list(vars(ours.equality).values())[2:], list(vars(theirs.equality).values())[2:], rtol=1e-7)
    for a, b in zip(ours.normality, theirs.normality, strict=True):
        assert_allclose([a.skewness, a.kurtosis, a.p_value], [b.skewness, b.kurtosis, b.p_value], rtol=1e-7)
    for a, b in zip(ours.overlaps, theirs.overlaps, strict=True):
        assert_allclose(a[2:5], b[2:5], rtol=1e-7)


@pytest.mark.parametrize("most_columns", [60, 0])
def test_a_weight_of_two_is_the_row_twice(monkeypatch, most_columns):
    monkeypatch.setattr(normality, "MOST_COLUMNS", most_columns)
    monkeypatch.setattr("classwise.limits.NORMALITY_ROWS", 40)
    weights = np.random.default_rng(21).integers(0, 4, len(X))
    weighted, repeated = (
        cw.diagnose(X, NAMES, weights),
        cw.diagnose(np.repeat(X, weights, axis=0), np.repeat(NAMES, weights)),
    )
    assert_same(weighted, repeated)
    assert weighted.rows == np.count_nonzero(weights)
    assert f"(weight {weights.sum()})" in str(weighted)


@pytest.mark.parametrize("most_columns", [60, 0])
def test_chunks_do_not_matter(monkeypatch, most_columns):
    monkeypatch.setattr(normality, "MOST_COLUMNS", most_columns)
    gappy = X.copy()
    gappy[:40, 1] = np.nan
    whole = cw.diagnose(gappy, NAMES)
    monkeypatch.setattr("classwise.limits.CHUNK_SIZE", 1)  # the least there is: 8 p rows
    assert_same(whole, cw.diagnose(gappy, NAMES))


def test_the_order_of_rows_does_not_matter():
    order = np.random.default_rng(22).permutation(len(X))
    assert_same(cw.diagnose(X, y), cw.diagnose(X[order], y[order]))


def test_any_table_and_any_labels():
    columns = [name.replace(" (cm)", "") for name in IRIS.feature_names]
    expected = cw.diagnose(X, NAMES)
    for table in (pd.DataFrame(X, columns=columns), pl.DataFrame(X, schema=columns)):
        d = cw.diagnose(table, pd.Series(NAMES, dtype="category"))
        assert_same(d, expected)
        assert d.columns == tuple(columns)
    assert expected.columns == (0, 1, 2, 3)
    assert cw.diagnose((X * 10).astype(int), y > 0).labels == (False, True)


# What is left out -----------------------------------------------------------------------------------------------------


def test_classes_of_few_rows_are_skipped_and_named():
    kept = np.concatenate([np.arange(100), [100, 101, 102, 103]])
    d = cw.diagnose(X[kept], NAMES[kept])
    assert (d.equality.labels, d.equality.skipped) == (("setosa", "versicolor"), ("virginica",))
    assert d.equality.statistic == pytest.approx(cw.diagnose(X[:100], NAMES[:100]).equality.statistic)
    assert [t.note for t in d.normality] == ["", "", "too few rows"]
    assert [t.tested for t in d.normality] == [50, 50, 0]
    assert (d.metric, d.spectra[2].rank) == ("pooled", 3)
    assert "Without class 'virginica'" in str(d)
    assert "not every class has rows enough for one of its own" in d.advice["equality"]
    assert d.advice["spectrum"] == "Class 'virginica' has few rows for its own covariance of 4 number columns."


def test_p_plus_one_rows_cannot_be_tested_for_normality():
    kept = np.concatenate([np.arange(100), np.arange(100, 105)])
    d = cw.diagnose(X[kept], y[kept])
    assert d.equality.skipped == ()
    assert d.normality[2].note == "too few rows"
    again = cw.diagnose(X[:106], y[:106]).normality[2]
    assert again.tested == 6
    assert np.isfinite(again.p_value)


def test_more_columns_than_rows():
    rng = np.random.default_rng(23)
    d = cw.diagnose(rng.normal(size=(12, 30)) + np.repeat([[0], [9]], 6, axis=0), np.repeat([0, 1], 6))
    assert (d.equality, d.metric, d.pooled.rank) == (None, "diagonal", 10)
    assert d.advice["spectrum"].startswith("12 rows are few for the covariance of 30 number columns")
    assert "No class can be tested" in d.advice["normality"]
    assert np.isfinite(d.overlaps[0].distance)
    assert "12" not in d.advice["overlap"]


def test_one_row_of_a_class():
    d = cw.diagnose(X[:101], y[:101])
    assert (d.spectra[2].rank, d.spectra[2].effective_rank, d.equality.skipped) == (0, 0, (2,))


def test_rows_with_gaps_are_left_out():
    gappy = X.copy()
    gappy[[3, 60, 61], [0, 2, 3]] = np.nan
    complete = ~np.isnan(gappy).any(axis=1)
    d = cw.diagnose(gappy, y)
    assert (d.rows, d.incomplete) == (147, 3)
    assert d.notes == ("3 rows in which a number is missing count column by column only.",)
    assert d.notes[0] in str(d)
    assert_numbers_same(d, cw.diagnose(X[complete], y[complete]))


def test_a_class_without_a_complete_row_is_named():
    gappy = X.copy()
    gappy[y == 2, 0] = np.nan
    d = cw.diagnose(gappy, NAMES)
    assert (d.labels, d.absent) == (("setosa", "versicolor"), ("virginica",))
    assert "Left out: class 'virginica', without a row that has all its numbers." in str(d)
    assert_same(d, cw.diagnose(X[y < 2], NAMES[y < 2]))


def test_columns_that_never_vary_are_left_out_with_their_gaps():
    table = pd.DataFrame(X, columns=list("abcd")).assign(one=1e6, by_class=y / 3)
    table.loc[:30, "one"] = np.nan
    d = cw.diagnose(table, NAMES)
    assert (d.constant, d.columns, d.incomplete) == (("one", "by_class"), ("a", "b", "c", "d"), 0)
    assert "Counted one by one, as never varying within a class: 'one' and 'by_class'." in str(d)
    assert_numbers_same(d, cw.diagnose(X, NAMES))
    assert max(pair.most for pair in d.overlaps) <= 0.02  # by_class tells them apart


def test_a_column_that_is_constant_in_one_class():
    sample = X.copy()
    sample[y == 0, 3] = 0.2
    d = cw.diagnose(sample, y)
    assert (d.equality.skipped, d.metric, d.constant) == ((0,), "pooled", ())
    assert d.normality[0].note == "covariance of rank 3"


def test_other_columns_are_looked_at_one_by_one():
    table = pd.DataFrame(X, columns=list("abcd")).assign(city=np.where(y, "Rome", "Oslo"), count=y + 1)
    d = cw.diagnose(table, NAMES, families={"count": "poisson"})
    assert d.others == ("city", "count")
    assert "4 columns of numbers; 'city' and 'count' counted one by one." in str(d)
    assert_numbers_same(d, cw.diagnose(X, NAMES))
    apart, closer = (min(pair.by_levels for pair in found.overlaps) for found in (d, cw.diagnose(X, NAMES)))
    assert apart > 1 > closer == 0  # count is another in each class
    assert cw.diagnose(table[list("abcd")], NAMES, families="best").columns == tuple("abcd")


def test_rows_without_a_label_are_left_out():
    labels = NAMES.astype(object)
    labels[:5] = None
    with pytest.warns(cw.MissingLabelWarning):
        d = cw.diagnose(X, labels)
    assert_same(d, cw.diagnose(X[5:], NAMES[5:]))


@pytest.mark.parametrize(
    ("table", "labels", "weights", "message"),
    [
        (X[:50], y[:50], None, "only one class, 0"),
        (X, None, None, "y is missing"),
        (np.where((np.arange(150) == 7)[:, None], np.inf, X), y, None, "infinity"),
        (X, y, np.full(150, 1 / 150), "adds up to 1 for 3 classes"),
        (X, y[:9], None, "9 labels"),
    ],
)
def test_errors(table, labels, weights, message):
    with pytest.raises(cw.ClasswiseError, match=message):
        cw.diagnose(table, labels, weights)


def test_families_are_checked():
    with pytest.raises(cw.ClasswiseError, match="'gauss' is not a family"):
        cw.diagnose(X, y, families={0: "gauss"})


@pytest.mark.parametrize("weight", [0.03, 0.1, 0.5])
def test_light_rows_are_few_rows(weight):
    """Weights count rows: whatever they are, what is said is finite."""
    d = cw.diagnose(X, y, np.full(150, weight))
    assert np.isfinite([o.distance for o in d.overlaps]).all()
    assert (d.equality is None) == (50 * weight <= 4)
    assert str(d)


# The report -----------------------------------------------------------------------------------------------------------


def test_one_column():
    d = cw.diagnose(X[:, :1], NAMES)
    assert "1 column of numbers" in str(d)
    assert (d.pooled.effective_rank, d.pooled.condition, d.pooled.dependence) == (1, 1, 0)
    assert "diagonal" not in d.advice["spectrum"]


def test_the_report_shows_every_section_and_the_closest_pairs():
    rng = np.random.default_rng(24)
    d = cw.diagnose(rng.normal(size=(400, 2)), np.arange(400) % 8)
    text = str(d)
    assert [name in text for name in ("Box's M", "Mardia", "Rank", "Overlap", "the closest 5 of 28 pairs")] == [
        True
    ] * 5
    assert all(advice.split()[0] in text for advice in d.advice.values())
    assert max(map(len, text.splitlines())) <= 110
    assert [o.beyond_chance for o in d.overlaps] == sorted(o.beyond_chance for o in d.overlaps)
    assert repr(d) == text


def test_html_is_escaped():
    page = cw.diagnose(X, np.where(y == 1, "<b>", "c"))._repr_html_()
    assert "&lt;b&gt;" in page
    assert "<td>&lt;b&gt;, c</td>" in page
    assert page.count("<table>") == 3
    assert "<b>Classes &#x27;&lt;b&gt;&#x27; and &#x27;c&#x27;" in page


def test_a_diagnosis_is_frozen():
    with pytest.raises(AttributeError):
        cw.diagnose(X, y).rows = 1
