"""Families: each estimate and each density against scipy.stats and by hand; levels never seen, rare, or too many."""

from decimal import Decimal, localcontext
from typing import ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import stats
from sklearn.naive_bayes import BernoulliNB

import classwise as cw

RNG = np.random.default_rng(7)
N = 60
y = np.array(["a", "b", "c"])[np.arange(N) % 3]
SHIFT = (np.arange(N) % 3).astype(float)
TABLE = pd.DataFrame(
    {
        "length": RNG.normal(size=N) + SHIFT,
        "income": RNG.lognormal(SHIFT, 0.4),
        "visits": RNG.poisson(1 + SHIFT),
        "wins": RNG.binomial(10, 0.2 + 0.2 * SHIFT),
        "smoker": RNG.random(N) < 0.2 + 0.3 * SHIFT,
        "city": np.array(["Rome", "Oslo", "Lima"])[RNG.integers(0, 3, N)],
        "grade": RNG.integers(1, 5, N),
    }
)
FAMILIES = {"income": "lognormal", "visits": "poisson", "wins": "binomial(10)", "grade": "categorical"}
WEIGHTS = RNG.choice([0.5, 1.0, 2.0], N)


def by_hand(smoothing, weights):
    """The log-joint of every row, written out family by family."""
    scores = np.zeros((N, 3))
    for k, label in enumerate("abc"):
        own = y == label
        w, rows = weights[own], TABLE[own]
        n = w.sum()
        scores[:, k] = np.log(n / weights.sum())
        mean = np.average(rows["length"], weights=w)
        scores[:, k] += stats.norm(mean, np.sqrt(np.average((rows["length"] - mean) ** 2, weights=w))).logpdf(
            TABLE["length"]
        )
        log = np.log(rows["income"])
        m = np.average(log, weights=w)
        s = np.sqrt(np.average((log - m) ** 2, weights=w))
        scores[:, k] += stats.lognorm(s, scale=np.exp(m)).logpdf(TABLE["income"])
        overall = np.average(TABLE["visits"], weights=weights)
        rate = (w @ rows["visits"] + smoothing * overall) / (n + smoothing)
        scores[:, k] += stats.poisson(rate).logpmf(TABLE["visits"])
        chance = (w @ rows["wins"] + smoothing) / (10 * n + 2 * smoothing)
        scores[:, k] += stats.binom(10, chance).logpmf(TABLE["wins"])
        yes = (w @ rows["smoker"] + smoothing) / (n + 2 * smoothing)
        scores[:, k] += stats.bernoulli(yes).logpmf(TABLE["smoker"].astype(int))
        for column, levels in (("city", ["Lima", "Oslo", "Rome"]), ("grade", [1, 2, 3, 4])):
            p = {v: (w[rows[column] == v].sum() + smoothing) / (n + smoothing * len(levels)) for v in levels}
            with np.errstate(divide="ignore"):
                scores[:, k] += np.log([p[v] for v in TABLE[column]])
    return scores


@pytest.mark.parametrize("smoothing", [0.0, 1.0, 0.3])
@pytest.mark.parametrize("weights", [np.ones(N), WEIGHTS], ids=["plain", "weighted"])
def test_log_joint_of_all_families_by_hand(smoothing, weights):
    m = cw.NaiveBayes(families=FAMILIES, smoothing=smoothing).fit(TABLE, y, weights)
    np.testing.assert_allclose(m.log_joint(TABLE), by_hand(smoothing, weights), rtol=1e-12, atol=1e-12)
    assert m.families_ == {
        "length": "gaussian",
        "income": "lognormal",
        "visits": "poisson",
        "wins": "binomial(10)",
        "smoker": "bernoulli",
        "city": "categorical",
        "grade": "categorical",
    }


def test_a_gaussian_over_numbers_with_the_rest_beside_it():
    extra = TABLE.assign(width=RNG.normal(size=N) + 0.5 * TABLE["length"])
    m = cw.QDA(families=FAMILIES).fit(extra, y)
    scores = by_hand(1.0, np.ones(N))
    for k, label in enumerate("abc"):
        own = extra.loc[y == label, ["length", "width"]].to_numpy()
        scores[:, k] -= stats.norm(own[:, 0].mean(), own[:, 0].std()).logpdf(TABLE["length"])
        scores[:, k] += stats.multivariate_normal(own.mean(axis=0), np.cov(own.T, bias=True)).logpdf(
            extra[["length", "width"]]
        )
    np.testing.assert_allclose(m.log_joint(extra), scores, rtol=1e-11, atol=1e-11)
    assert m.means_.shape == (3, 2)
    with pytest.raises(cw.ClasswiseError, match=r"polynomial in numbers.* Fit a model of columns of numbers alone"):
        m.boundary("a", "b")


@pytest.mark.parametrize("model", [cw.LDA, cw.QDA, cw.NearestMean, cw.NaiveBayes])
def test_tables_without_any_number(model):
    levels = TABLE[["city", "smoker"]]
    m = model().fit(levels, y)
    np.testing.assert_allclose(m.predict_proba(levels), cw.NaiveBayes().fit(levels, y).predict_proba(levels))


class TestBernoulli:
    """Yes and no are both levels, however they are written and whether or not both were seen: as in BernoulliNB."""

    flags = np.array([[1, 0, 1], [1, 1, 1], [1, 0, 1], [1, 1, 1], [1, 0, 1], [1, 0, 1], [1, 1, 1]])
    labels = np.array(["a", "b", "a", "b", "b", "a", "b"])
    rows = np.array([[0, 0, 0], [1, 0, 1], [0, 1, 1]])
    asked: ClassVar = {0: "bernoulli", 1: "bernoulli", 2: "bernoulli"}

    @pytest.mark.parametrize("dtype", [bool, np.int64, np.uint8, float, object])
    @pytest.mark.parametrize("make", [np.asarray, pd.DataFrame], ids=["array", "frame"])
    def test_whatever_holds_them(self, dtype, make):
        peer = BernoulliNB().fit(self.flags, self.labels)
        X, rows = make(self.flags.astype(dtype)), make(self.rows.astype(dtype))
        parts = cw.summarize(X[:1], self.labels[:1], families=self.asked)
        parts += cw.summarize(X[1:], self.labels[1:], families=self.asked)
        batches = cw.NaiveBayes(families=self.asked)
        for start in range(0, 7, 2):
            batches.partial_fit(X[start : start + 2], self.labels[start : start + 2])
        whole = cw.NaiveBayes(families=self.asked).fit(X, self.labels)
        for m in (whole, batches, cw.NaiveBayes(families=self.asked).fit_statistics(parts)):
            np.testing.assert_allclose(m.predict_proba(rows), peer.predict_proba(self.rows), rtol=1e-12)
            np.testing.assert_allclose(m.log_joint(rows), peer.predict_joint_log_proba(self.rows), rtol=1e-12)
            assert all(levels.names.tolist() == [0, 1] for levels in m.classifier_.density.columns)

    def test_of_a_type_that_is_yes_and_no_needs_no_word(self):
        peer = BernoulliNB().fit(self.flags, self.labels)
        m = cw.NaiveBayes().fit(self.flags == 1, self.labels)
        np.testing.assert_allclose(m.predict_proba(self.rows == 1), peer.predict_proba(self.rows), rtol=1e-12)
        np.testing.assert_allclose(m.predict_proba(self.rows), peer.predict_proba(self.rows), rtol=1e-12)

    def test_other_levels_are_as_seen(self):
        m = cw.NaiveBayes(families={"x": "bernoulli"}).fit(pd.DataFrame({"x": ["yes"] * 4}), [0, 1, 0, 1])
        assert m.classifier_.density.columns[0].names.tolist() == ["yes"]


class TestLevelsNeverSeen:
    table = pd.DataFrame({"city": ["Rome", "Oslo", "Oslo", "Rome", "Lima"], "size": [1.0, 2.0, 4.0, 5.0, 7.0]})
    labels = ("a", "a", "b", "b", "b")

    @pytest.mark.parametrize("smoothing", [1.0, 0.5])
    def test_have_the_probability_of_a_level_with_count_zero(self, smoothing):
        m = cw.NaiveBayes(smoothing=smoothing).fit(self.table[["city"]], self.labels)
        density = np.exp(m.log_density(pd.DataFrame({"city": ["Paris", "Lima"]})))
        np.testing.assert_allclose(density[0], smoothing / (np.array([2, 3]) + 3 * smoothing), rtol=1e-12)
        np.testing.assert_allclose(density[1, 0], density[0, 0], rtol=1e-12)

    @pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
    def test_are_an_error_without_smoothing(self, make):
        m = cw.NaiveBayes(smoothing=0).fit(self.table, self.labels)
        with pytest.raises(cw.ClasswiseError, match="'city' has the level 'Paris', which was never seen in training"):
            m.predict(make({"city": ["Rome", "Paris"], "size": [1.0, 2.0]}))

    def test_a_level_only_other_classes_have_rules_a_class_out_without_smoothing(self):
        m = cw.NaiveBayes(smoothing=0).fit(self.table, self.labels)
        rows = pd.DataFrame({"city": ["Lima"], "size": [1.5]})
        assert m.predict(rows).tolist() == ["b"]
        assert m.predict_log_proba(rows)[0].tolist() == [-np.inf, 0.0]
        assert m.log_joint(rows)[0, 0] == -np.inf

    def test_probability_zero_in_every_class(self):
        table = pd.DataFrame({"u": list("xxyy"), "v": list("ppqq"), "size": [1.0, 2.0, 4.0, 5.0]})
        m = cw.NaiveBayes(smoothing=0).fit(table, ["a", "a", "b", "b"])
        with pytest.raises(cw.UnscorableError, match="probability zero"):
            m.predict(pd.DataFrame({"u": ["x"], "v": ["q"], "size": [3.0]}))

    def test_declared_but_unseen_categories_do_not_count(self):
        declared = self.table.astype({"city": pd.CategoricalDtype(["Lima", "Oslo", "Paris", "Rome"])})
        ours, theirs = (cw.NaiveBayes().fit(t, self.labels).log_joint(t) for t in (declared, self.table))
        np.testing.assert_array_equal(ours, theirs)

    def test_numbers_where_there_was_text(self):
        m = cw.NaiveBayes().fit(self.table, self.labels)
        with pytest.raises(cw.ClasswiseError, match="'city' holds numbers, such as 1, and it held text during fit"):
            m.predict(pd.DataFrame({"city": [1, 2], "size": [1.0, 2.0]}))
        with pytest.raises(cw.ClasswiseError, match=r"'size' is to be a number \(gaussian\), and it holds text"):
            m.predict(pd.DataFrame({"city": ["Rome"], "size": ["big"]}))

    def test_an_all_missing_column_may_have_any_type(self):
        m = cw.NaiveBayes().fit(self.table, self.labels)
        nothing = pd.DataFrame({"city": [np.nan], "size": pd.Series([None], dtype=object)})
        np.testing.assert_allclose(m.predict_proba(nothing)[0], [0.4, 0.6], rtol=1e-12)


class TestRareLevels:
    table = pd.DataFrame({"city": ["Rome"] * 5 + ["Oslo"] * 5 + ["Lima", "Bonn"]})
    labels = tuple("aaabbaabbbab")

    @pytest.mark.parametrize("rare", [2, 0.1])
    def test_are_pooled_with_levels_never_seen(self, rare):
        m = cw.NaiveBayes(min_frequency=rare).fit(self.table, self.labels)
        pooled = cw.NaiveBayes().fit(self.table.replace({"Lima": "rare", "Bonn": "rare"}), self.labels)
        rows = pd.DataFrame({"city": ["Lima", "Bonn", "Paris", "Rome"]})
        expected = pooled.log_joint(pd.DataFrame({"city": ["rare", "rare", "rare", "Rome"]}))
        np.testing.assert_allclose(m.log_joint(rows), expected, rtol=1e-12)

    def test_samples_show_pooled_levels_as_often_as_they_were_seen(self):
        m = cw.NaiveBayes(min_frequency=2).fit(self.table, self.labels)
        rows, _ = m.sample(20_000, random_state=0)
        share = rows["city"].value_counts(normalize=True)
        assert abs(share["Lima"] - share["Bonn"]) < 0.02
        assert abs(share["Lima"] + share["Bonn"] - 3 / 15) < 0.03


class TestRefusals:
    @pytest.mark.parametrize(
        ("family", "values", "message"),
        [
            ("lognormal", [1.0, 0.0, 3.0, 4.0], r"values that lognormal cannot take in 'x' \(1\)"),
            ("poisson", [1.0, 2.5, 3.0, -4.0], r"values that poisson cannot take in 'x' \(2\)"),
            ("binomial(3)", [1, 2, 3, 4], r"values that binomial\(3\) cannot take in 'x' \(1\)"),
            ("bernoulli", [1, 2, 3, 1], "'x' has 3 levels, and bernoulli describes two"),
            ("zipf", [1, 2, 3, 1], "'zipf' is not a family; choose 'gaussian'"),
            ("binomial", [1, 2, 3, 1], r"'binomial' is not a family.*binomial\(N\)"),
            ("gaussian", ["a", "b", "c", "d"], r"'x' is to be a number \(gaussian\), and it holds text"),
        ],
    )
    def test_values_a_family_cannot_take_at_fit(self, family, values, message):
        with pytest.raises(cw.ClasswiseError, match=message):
            cw.NaiveBayes(families={"x": family}).fit(pd.DataFrame({"x": values}), [0, 0, 1, 1])

    @pytest.mark.parametrize(
        ("family", "value"), [("lognormal", -1.0), ("poisson", 0.5), ("poisson", -1.0), ("binomial(9)", 10.0)]
    )
    @pytest.mark.parametrize("hole", [False, True])
    def test_values_a_family_cannot_take_at_predict(self, family, value, hole):
        X = pd.DataFrame({"x": [1.0, 2.0, 3.0, 5.0], "z": [1.0, 2.0, 2.0, 4.0]})
        m = cw.NaiveBayes(families={"x": family}).fit(X, [0, 0, 1, 1])
        with pytest.raises(cw.ClasswiseError, match=r"cannot take in 'x' \(1\)"):
            m.predict(pd.DataFrame({"x": [value], "z": [np.nan if hole else 1.0]}))

    def test_families_of_columns_that_are_not_there(self):
        with pytest.raises(
            cw.ClasswiseError, match=r"families name the column 'visit'.*the columns are 'length', 'inc"
        ):
            cw.NaiveBayes(families={"visit": "poisson"}).fit(TABLE, y)

    @pytest.mark.parametrize("families", ["guess", ["gaussian"], 3])
    def test_other_options(self, families):
        with pytest.raises(cw.ClasswiseError, match="choose 'auto', 'best' or a mapping"):
            cw.NaiveBayes(families=families).fit(TABLE, y)

    @pytest.mark.parametrize("option", ["smoothing", "min_frequency"])
    @pytest.mark.parametrize("value", [-1, "one", float("nan"), True])
    def test_smoothing_that_is_none(self, option, value):
        with pytest.raises(cw.ClasswiseError, match=f"{option}=.* give a number of at least 0"):
            cw.NaiveBayes(**{option: value}).fit(TABLE, y)

    def test_statistics_that_lack_what_a_family_needs(self):
        s = cw.summarize(TABLE, y)
        with pytest.raises(cw.StatisticsError, match=r"families=\{'income': 'lognormal'\}"):
            cw.NaiveBayes(families={"income": "lognormal"}).fit_statistics(s)


def test_plain_statistics_serve_every_family_that_needs_no_more():
    some = {"visits": "poisson", "wins": "binomial(10)", "smoker": "categorical"}
    ours = cw.NaiveBayes(families=some).fit_statistics(cw.summarize(TABLE, y))
    theirs = cw.NaiveBayes(families=some).fit(TABLE, y)
    np.testing.assert_allclose(ours.log_joint(TABLE), theirs.log_joint(TABLE), rtol=1e-12)


class TestZeroRates:
    """With smoothing=0 a class that never counted anything cannot explain a count."""

    X = pd.DataFrame({"visits": [0, 0, 0, 1, 2, 4], "wins": [0, 0, 0, 2, 3, 3]})
    labels = (0, 0, 0, 1, 1, 1)
    families: ClassVar = {"visits": "poisson", "wins": "binomial(3)"}

    def test_poisson_and_binomial_at_their_limits(self):
        m = cw.NaiveBayes(families=self.families, smoothing=0).fit(self.X, self.labels)
        rows = pd.DataFrame({"visits": [0, 1, 0, 0], "wins": [0, 0, 1, 3]})
        expected = np.column_stack(
            [
                stats.poisson(0).logpmf(rows["visits"]) + stats.binom(3, 0).logpmf(rows["wins"]),
                stats.poisson(7 / 3).logpmf(rows["visits"]) + stats.binom(3, 8 / 9).logpmf(rows["wins"]),
            ]
        )
        np.testing.assert_allclose(m.log_density(rows), expected, rtol=1e-12)
        assert m.predict(rows).tolist() == [0, 1, 1, 1]

    def test_smoothing_keeps_them_possible(self):
        m = cw.NaiveBayes(families=self.families).fit(self.X, self.labels)
        assert np.isfinite(m.log_joint(self.X)).all()


class TestBest:
    """Each column takes the family that made it."""

    n = 600
    rng = np.random.default_rng(3)
    k = np.arange(n) % 2
    X = pd.DataFrame(
        {
            "height": rng.normal(170 + 5 * k, 8),
            "income": rng.lognormal(10 + 0.5 * k, 0.8),
            "visits": rng.poisson(2 + 2 * k),
            "stars": rng.choice([1, 2, 5], n, p=[0.45, 0.1, 0.45]),
            "score": np.round(rng.normal(50, 10, n)),
            "zero_or_one": (rng.random(n) < 0.1 + 0.6 * k).astype(int),
            "city": np.array(["Rome", "Oslo"])[rng.integers(0, 2, n)],
        }
    )

    def test_families_are_recovered_and_reported(self):
        m = cw.NaiveBayes(families="best").fit(self.X, self.k)
        assert m.families_ == {
            "height": "gaussian",
            "income": "lognormal",
            "visits": "poisson",
            "stars": "categorical",
            "score": "gaussian",
            "zero_or_one": "categorical",
            "city": "categorical",
        }
        assert m.schema_["income"].note.startswith("best by evidence; gaussian -")
        assert "best by evidence" in str(m.schema_)

    def test_it_is_the_model_of_those_families(self):
        m = cw.NaiveBayes(families="best").fit(self.X, self.k)
        same = cw.NaiveBayes(families=m.families_).fit(self.X, self.k)
        np.testing.assert_allclose(m.log_joint(self.X), same.log_joint(self.X), rtol=1e-12)

    def test_batches_may_change_its_mind(self):
        m = cw.NaiveBayes(families="best")
        for part in np.array_split(np.arange(self.n), 5):
            m.partial_fit(self.X.iloc[part], self.k[part])
        assert m.families_ == cw.NaiveBayes(families="best").fit(self.X, self.k).families_

    def test_a_class_without_spread_does_not_win_a_density_over_a_probability(self):
        X = pd.DataFrame({"flag": np.r_[np.zeros(300), self.rng.integers(0, 2, 300)]})
        m = cw.NaiveBayes(families="best").fit(X, np.repeat([0, 1], 300))
        assert m.families_ == {"flag": "categorical"}

    def test_logarithms_that_are_a_straight_line_are_not_tried(self):
        """Rounded, they would tell less than the numbers do: far from zero both families are the same."""
        deviations = self.rng.lognormal(0, 0.5, 400)
        for shift, families in ((0.0, {"gaussian", "lognormal"}), (1e9, {"gaussian"})):
            m = cw.NaiveBayes(families="best").fit((deviations + shift)[:, None], np.arange(400) % 2)
            note = m.schema_[0].note
            assert m.families_[0] in families
            assert ("lognormal" in note + m.families_[0]) == ("lognormal" in families)

    def test_the_evidence_of_a_gaussian_by_quadrature(self):
        from classwise.densities.families import _normal
        from classwise.statistics import DiagonalScatter, gather_moments

        rows = np.array([[0.3], [1.1], [-0.4]])
        moments = gather_moments(rows, np.zeros(3, dtype=int), 1, None, DiagonalScatter)
        mean, spread = rows.mean(), rows.var()
        # v is the variance, whose logarithm is laid out evenly; the mean in units of its deviation.
        log_v, u = np.linspace(-12, 25, 1500)[:, None], np.linspace(-9, 9, 1500)[None, :]
        v = np.exp(log_v)
        prior = stats.norm.logpdf(u) + stats.invgamma(0.5, scale=spread / 2).logpdf(v) + log_v
        likelihood = sum(stats.norm(mean + u * np.sqrt(v), np.sqrt(v)).logpdf(x) for x in rows.ravel())
        evidence = np.trapezoid(np.trapezoid(np.exp(prior + likelihood), u, axis=1), log_v.ravel())
        np.testing.assert_allclose(_normal(moments, None), np.log(evidence), rtol=1e-5)


class TestSamples:
    def test_have_the_types_of_the_table_and_the_law_of_the_model(self):
        m = cw.NaiveBayes(families=FAMILIES).fit(TABLE, y)
        rows, labels = m.sample(30_000, random_state=0)
        assert rows.dtypes.to_dict() == TABLE.dtypes.to_dict()
        again = cw.NaiveBayes(families=FAMILIES).fit(rows, labels)
        np.testing.assert_allclose(again.predict_proba(TABLE), m.predict_proba(TABLE), atol=0.08)

    @pytest.mark.parametrize("make", [pl.DataFrame, pa.table, pd.DataFrame])
    def test_in_every_library(self, make):
        plain = make(
            {"x": [1.5, None, 3.5, 2.5, 4.0], "city": ["Rome", "Oslo", None, "Oslo", "Rome"], "n": [1, 2, 3, 3, 5]}
        )
        m = cw.NaiveBayes().fit(plain, ["a", "a", "a", "b", "b"])
        rows, _ = m.sample(10, random_state=1)
        assert type(rows) is type(plain)
        if make is pl.DataFrame:
            assert rows.schema == plain.schema
        if make is pa.table:
            assert rows.schema == plain.schema
        assert m.predict(rows).shape == (10,)

    def test_categories_and_their_order(self):
        kind = pd.CategoricalDtype(["low", "mid", "high"], ordered=True)
        frame = pd.DataFrame({"level": pd.Categorical(["low", "high", "high", "low"], dtype=kind), "z": [1.0, 2, 3, 5]})
        rows, _ = cw.NaiveBayes().fit(frame, [0, 0, 1, 1]).sample(5, random_state=0)
        assert rows.dtypes.to_dict() == frame.dtypes.to_dict()

    def test_arrays_stay_arrays(self):
        X = np.array([[1, 0.5], [2, 1.5], [1, 4.0], [3, 5.0]])
        m = cw.NaiveBayes(families={0: "categorical"}).fit(X, [0, 0, 1, 1])
        rows, _ = m.sample(20, random_state=0)
        assert rows.dtype == np.float64
        assert set(rows[:, 0]) <= {1.0, 2.0, 3.0}

    def test_missing_as_a_level_is_sampled_too(self):
        X = pd.DataFrame({"x": [1.0, 3.0, np.nan, 4.0, 5.0, 6.5], "city": ["R", None, "O", "R", "O", "R"]})
        m = cw.NaiveBayes(missing="level").fit(X, [0, 0, 0, 1, 1, 1])
        rows, labels = m.sample(4000, random_state=0)
        missing = rows["x"].isna().groupby(labels).mean()
        np.testing.assert_allclose(missing, [2 / 5, 1 / 5], atol=0.04)
        assert rows["city"].isna().any()


@pytest.mark.parametrize("family", ["poisson", "binomial(4000000)"])
@pytest.mark.parametrize("gap", [False, True])
def test_counts_by_the_million(family, gap):
    """log p is of the order of ten million there, and what tells classes apart is not: no digit of it is lost."""
    rows = np.array([[1_000_000.0, 3], [1_000_900, 5], [1_001_500, 4], [1_002_500, 1]])
    m = cw.NaiveBayes(families={0: family}, smoothing=0, priors="uniform").fit(rows, [0, 0, 1, 1])
    rows[:, 1] = np.nan
    log_odds = m.decision_function(rows if gap else np.column_stack([rows[:, 0], np.full(4, 3.25)]))
    other = 0.0 if gap else m.decision_function([[np.nan, 3.25]])[0]
    for x, ours in zip(rows[:, 0].tolist(), log_odds, strict=True):
        assert abs(ours - float(_exact_log_odds(family, int(x))) - other) < 1e-12


def _exact_log_odds(family, x):
    """Of means 1000450 and 1002000, to 40 digits."""
    with localcontext(prec=40):
        first, second, trials = Decimal(1_000_450), Decimal(1_002_000), 4_000_000
        if family == "poisson":
            return x * (second / first).ln() - (second - first)
        return x * (second / first).ln() + (trials - x) * ((trials - second) / (trials - first)).ln()
