"""Predictive checks and learning curves: what is measured, how surprising it is, and what is said about it."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import pyplot
from palmerpenguins import load_penguins
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

import classwise as cw
from classwise import plot
from classwise.comparison.learning_curves import nested_order
from classwise.diagnostics.check import Replicates
from classwise.diagnostics.measures import (
    Ruler,
    adjusted_probabilities,
    correlation,
    correlation_ratio,
    cramers_v,
    surprises,
    tail_probabilities,
)

mpl.use("Agg")

PENGUINS = load_penguins().drop(columns="year")
SPECIES = PENGUINS.pop("species")
RNG = np.random.default_rng(7)
LABELS = np.repeat(["a", "b"], 200)
GAUSSIAN = np.column_stack([RNG.normal(size=400), RNG.normal(np.where(LABELS == "b", 2, 0))])


@pytest.fixture(autouse=True)
def _close():
    yield
    pyplot.close("all")


def found(check):
    """The surprises, as (label, columns, measure)."""
    return {(line.label, line.columns, line.measure) for line in check.surprises}


class TestMeasures:
    def measured(self, values, **options):
        m = cw.NaiveBayes(**options).fit(values, LABELS)
        model = m.model_
        ruler = Ruler(model.schema, list(range(values.shape[1])), model.levels, frozenset(), True)
        return {(key.columns, key.measure): value[0] for key, value in ruler(np.asarray(values, float)[None]).items()}

    def test_numbers(self):
        x = RNG.gamma(2, size=(400, 1))
        measured = self.measured(x)
        assert measured[(0,), "mean"] == pytest.approx(x.mean())
        assert measured[(0,), "deviation"] == pytest.approx(x.std())
        assert measured[(0,), "skewness"] == pytest.approx(stats.skew(x[:, 0]))
        assert measured[(0,), "kurtosis"] == pytest.approx(stats.kurtosis(x[:, 0], fisher=False))
        assert (measured[(0,), "smallest"], measured[(0,), "largest"]) == (x.min(), x.max())

    def test_logarithms_of_log_normal_columns(self):
        x = RNG.lognormal(size=(400, 1))
        assert self.measured(x, families={0: "lognormal"})[(0,), "skewness"] == pytest.approx(
            stats.skew(np.log(x[:, 0]))
        )

    def test_counts(self):
        x = RNG.poisson(2, size=(400, 1)).astype(float)
        measured = self.measured(x, families={0: "poisson"})
        assert measured[(0,), "dispersion"] == pytest.approx(x.var() / x.mean())
        assert measured[(0,), "share of zeros"] == pytest.approx((x == 0).mean())

    def test_two_columns(self):
        first, second, x = RNG.integers(3, size=300), RNG.integers(4, size=300), RNG.normal(size=300)
        second[:100] = first[:100]
        table = pd.crosstab(first, second).to_numpy()
        v = cramers_v(first[None].astype(float), second[None].astype(float))[0]
        assert v == pytest.approx(stats.contingency.association(table, "cramer"))
        f = stats.f_oneway(*(x[first == level] for level in range(3))).statistic
        eta = correlation_ratio(first[None].astype(float), x[None])[0]
        assert eta**2 == pytest.approx(2 * f / (2 * f + 297))
        assert correlation(x[None], second[None])[0] == pytest.approx(np.corrcoef(x, second)[0, 1])

    def test_what_does_not_vary(self):
        one, x = np.ones((1, 10)), np.arange(10.0)[None]
        assert (correlation(one, x)[0], correlation_ratio(one, x)[0], cramers_v(one, x)[0]) == (0, 0, 0)


class TestTails:
    def test_two_sided(self):
        samples = np.arange(1.0, 100.0)[:, None]
        for observed, expected in ((50, 1.0), (1000, 0.02), (-5, 0.02), (10.5, 2 * 11 / 100)):
            assert tail_probabilities(np.array([observed]), samples)[0] == pytest.approx(expected)

    @given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(20, 60))
    def test_laws(self, seed, measures, draws):
        rng = np.random.default_rng(seed)
        every = rng.normal(size=(draws + 1, measures)) * rng.uniform(0, 3, measures).round(1)
        sizes = surprises(every)
        adjusted = adjusted_probabilities(sizes)
        alone = (sizes >= sizes[0]).mean(axis=0)
        assert ((adjusted >= alone - 1e-12) & (adjusted <= 1)).all()  # looking at more never makes a thing rarer
        order = np.argsort(-sizes[0])
        assert (np.diff(adjusted[order]) >= 0).all()
        assert adjusted.min() == pytest.approx((sizes.max(axis=1) >= sizes[0].max()).mean())

    def test_chance_blames_something_one_time_in_twenty(self):
        rng = np.random.default_rng(0)
        shared = rng.normal(size=(400, 100, 1))  # measures that depend on each other
        sets = 0.7 * shared + rng.normal(size=(400, 100, 30))
        blamed = [adjusted_probabilities(surprises(every)).min() <= 0.05 for every in sets]
        assert np.mean(blamed) == pytest.approx(0.05, abs=0.033)

    def test_what_never_varies_in_samples(self):
        every = np.vstack([[0.3, 0.0], np.column_stack([np.zeros(60), np.zeros(60)])])
        assert adjusted_probabilities(surprises(every)).tolist() == [pytest.approx(1 / 61), 1.0]


class TestReplicates:
    def replicates(self, m, rows, labels):
        table = m._table(rows, labels)
        values = np.asarray(table.rows, dtype=float)
        gaps = np.isnan(values)
        for j in table.levels:
            gaps[:, j] = values[:, j] < 0
        return Replicates(m.classifier_, table.schema, m._codes_of(table), gaps), gaps

    @pytest.mark.parametrize("missing", ["integrate", "level"])
    def test_same_classes_same_gaps(self, missing):
        m = cw.NaiveBayes(missing=missing).fit(PENGUINS, SPECIES)
        replicates, gaps = self.replicates(m, PENGUINS, SPECIES)
        drawn = replicates.draw(3, np.random.default_rng(0))
        assert drawn.shape == (3, *gaps.shape)
        for sample in drawn:
            np.testing.assert_array_equal(np.isnan(sample), gaps)
        assert not np.array_equal(drawn[0], drawn[1])
        own = np.nanmean(drawn[:, replicates.codes == 2, 3].astype(float))  # flippers of Gentoo
        assert own == pytest.approx(m.means_[2, 2], rel=0.01)

    def test_batches_are_all_samples(self):
        m = cw.QDA().fit(GAUSSIAN, LABELS)
        replicates, _ = self.replicates(m, GAUSSIAN, LABELS)
        sizes = [len(batch) for batch in replicates.batches(3000, np.random.default_rng(0))]
        assert sum(sizes) == 3000
        assert len(sizes) == replicates.steps(3000) > 1

    def test_whole_numbers_as_samples_have_them(self):
        rows = pd.DataFrame({"mass": np.round(1000 + 10 * GAUSSIAN[:, 0]).astype(int)})
        m = cw.LDA().fit(rows, LABELS)
        drawn = self.replicates(m, rows, LABELS)[0].draw(1, np.random.default_rng(0))
        assert (drawn == np.round(drawn)).all()

    def test_bayes_draws_from_the_predictive(self):
        rows, labels = GAUSSIAN[190:210], LABELS[190:210]
        m = cw.QDA(estimate="bayes").fit(rows, labels)
        drawn = self.replicates(m, rows, labels)[0].draw(20000, np.random.default_rng(0))
        shape, freedom = (m.parameters_[0][name][0] for name in ("shape", "freedom"))
        assert drawn[:, :10, 0].var() == pytest.approx(shape * freedom / (freedom - 2), rel=0.05)


class TestCheck:
    def test_nothing_is_said_of_a_model_that_is_right(self):
        check = cw.QDA().fit(GAUSSIAN, LABELS).check(GAUSSIAN, LABELS)
        assert check.surprises == ()
        assert check.summary() == []
        assert str(check) == "400 rows beside 200 samples of the model: of 26 measures none surprises."

    @pytest.mark.slow
    def test_a_model_that_is_right_is_rarely_blamed(self):
        m = cw.LDA().fit(GAUSSIAN, LABELS)
        blamed = 0
        for seed in range(150):
            rows, labels = m.sample(120, random_state=seed)
            blamed += bool(m.check(rows, labels, draws=60, random_state=1000 + seed).surprises)
        assert blamed / 150 < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 150)

    def test_skewness(self):
        rows = np.column_stack([GAUSSIAN[:, 0], np.where(LABELS == "b", RNG.exponential(size=400), GAUSSIAN[:, 1])])
        check = cw.QDA().fit(rows, LABELS).check(rows, LABELS)
        assert ("b", (1,), "skewness") in found(check)
        assert not any(label == "a" or columns == (0,) for label, columns, _ in found(check))
        assert "In class 'b' column 1 is more skewed to the right than the model allows" in str(check)
        assert "families={1: 'lognormal'}" in check.summary()[0]

    def test_the_remedy_helps(self):
        rows = np.exp(GAUSSIAN)
        assert ("a", (0,), "skewness") in found(cw.NaiveBayes().fit(rows, LABELS).check(rows, LABELS))
        fixed = cw.NaiveBayes(families={0: "lognormal", 1: "lognormal"}).fit(rows, LABELS).check(rows, LABELS)
        assert not fixed.surprises
        assert "log 0" in str(fixed.table())

    def test_dependence(self):
        rows = GAUSSIAN @ [[1, -0.8], [0, 0.6]]
        naive = cw.NaiveBayes().fit(rows, LABELS).check(rows, LABELS)
        assert found(naive) == {("a", (0, 1), "correlation"), ("b", (0, 1), "correlation")}
        assert "column 0 and column 1" in str(naive).replace("\n  ", " ")
        assert "run against each other more than in the model" in naive.summary()[0]
        assert "LDA, QDA" in naive.summary()[0]
        assert not cw.QDA().fit(rows, LABELS).check(rows, LABELS).surprises

    def test_shared_covariance(self):
        rows = GAUSSIAN * np.where(LABELS == "b", 3, 1)[:, None]
        check = cw.LDA().fit(rows, LABELS).check(rows, LABELS)
        assert {("a", (0,), "deviation"), ("b", (0,), "deviation")} <= found(check)
        assert any("QDA" in sentence for sentence in check.summary())

    def test_counts(self):
        busy = np.where(LABELS == "b", 6, 2)
        visits = RNG.poisson(RNG.gamma(1, busy)) * (RNG.random(400) > 0.3)
        rows = pd.DataFrame({"visits": visits, "wins": RNG.binomial(9, busy / 10)})
        m = cw.NaiveBayes(families={"visits": "poisson", "wins": "binomial(9)"}).fit(rows, LABELS)
        check = m.check(rows, LABELS)
        assert {("b", ("visits",), "dispersion"), ("b", ("visits",), "share of zeros")} <= found(check)
        assert not any("wins" in columns for _, columns, _ in found(check))

    def test_categories(self):
        rows = pd.DataFrame({"one": RNG.choice(list("xyz"), 400)})
        rows["two"] = np.where(RNG.random(400) < 0.7, rows["one"], "x")
        rows["length"] = GAUSSIAN[:, 1] + (rows["one"] == "y")
        check = cw.NaiveBayes().fit(rows, LABELS).check(rows, LABELS)
        assert {("a", ("one", "two"), "Cramér's V"), ("b", ("one", "length"), "correlation ratio")} <= found(check)
        assert not any(len(columns) == 1 for _, columns, _ in found(check))

    def test_rows_that_have_shifted(self):
        rows = pd.DataFrame({"x": GAUSSIAN[:, 1], "kind": RNG.choice(["old", "older"], 400)})
        m = cw.LDA().fit(rows, LABELS)
        later = rows.assign(x=rows["x"] + 1, kind=np.where(np.arange(400) % 4 == 0, "new", rows["kind"]))
        check = m.check(later, LABELS)
        assert {("a", ("x",), "mean"), ("a", ("kind",), "share")} <= found(check)
        (line,) = [x for x in check.lines if x.label == "a" and x.level == "(never seen)"]
        assert (line.observed, line.high) == (pytest.approx(0.25), 0)

    def test_gaps_and_left_out_columns(self):
        rows = PENGUINS.assign(name=[f"penguin {i}" for i in range(len(PENGUINS))])
        with pytest.warns(cw.IgnoredColumnWarning):
            check = cw.NaiveBayes().fit(rows, SPECIES).check(rows, SPECIES, draws=20)
        assert not any("name" in line.columns for line in check.lines)
        assert ("Adelie", ("body_mass_g", "sex"), "correlation ratio") in {
            (line.label, line.columns, line.measure) for line in check.lines
        }

    def test_the_same_seed_the_same_check(self):
        m = cw.LDA().fit(GAUSSIAN, LABELS)
        first, second = (m.check(GAUSSIAN, LABELS, draws=30, random_state=3).table().records() for _ in range(2))
        assert first == second
        other = m.check(GAUSSIAN, LABELS, draws=30, random_state=np.random.default_rng(4)).table().records()
        assert first["low"] != other["low"]

    def test_table(self):
        table = cw.QDA().fit(GAUSSIAN, LABELS).check(GAUSSIAN, LABELS, draws=30).table()
        frame = table.frame()
        assert isinstance(frame, pd.DataFrame)
        assert isinstance(table.frame("polars"), pl.DataFrame)
        assert len(frame) == 26
        assert frame["adjusted"].between(0, 1).all()
        assert frame["adjusted"].is_monotonic_increasing
        assert str(table).splitlines()[0].split() == ["class", "column", "measure", "rows", "samples", "p", "adjusted"]
        assert table._repr_html_().count("<tr>") == 27

    def test_pairs_of_many_columns(self):
        rows = np.tile(GAUSSIAN, 25) + RNG.normal(size=(400, 50))
        m = cw.NaiveBayes().fit(rows, LABELS)
        check = m.check(rows, LABELS, draws=20)
        assert not check.paired
        assert "pairs=True" in str(check)
        assert len(m.check(rows[:, :50], LABELS, draws=20, pairs=True).lines) == 2 * (50 * 6 + 1225)
        assert len(str(m.check(rows, LABELS, draws=20, pairs=True)).splitlines()) < 60

    def test_wrong_options(self):
        m = cw.LDA().fit(GAUSSIAN, LABELS)
        with pytest.raises(cw.ClasswiseError, match="draws=5 is not a number of samples of at least 20"):
            m.check(GAUSSIAN, LABELS, draws=5)
        with pytest.raises(cw.ClasswiseError, match="'z', which is not a class"):
            m.check(GAUSSIAN, np.where(LABELS == "a", "z", LABELS))

    def test_few_rows_of_a_class(self):
        check = cw.LDA().fit(GAUSSIAN, LABELS).check(GAUSSIAN[197:], LABELS[197:], draws=20)
        assert {line.label for line in check.lines} == {"b"}  # three rows have no shape
        assert ("a", 0) in check.histograms

    def test_html(self):
        rows = GAUSSIAN @ [[1, 0.9], [0, 0.5]]
        assert "<li>In classes" in cw.NaiveBayes().fit(rows, LABELS).check(rows, LABELS)._repr_html_()


class TestPlotCheck:
    def test_panels(self):
        m = cw.NaiveBayes().fit(PENGUINS, SPECIES)
        check = m.check(PENGUINS, SPECIES, draws=40)
        figure = plot.plot_check(check, columns=["body_mass_g", "sex"])
        assert len(figure.axes) == 6
        assert [axes.get_xlabel() for axes in figure.axes[-2:]] == ["body_mass_g", "sex"]
        histogram = check.histograms["Gentoo", "body_mass_g"]
        observed = figure.axes[4].patches[2].get_data()
        np.testing.assert_allclose(observed.values, histogram.observed)
        gentoo = PENGUINS.loc[SPECIES == "Gentoo", "body_mass_g"].dropna()
        np.testing.assert_allclose(histogram.observed, np.histogram(gentoo, histogram.edges)[0] / len(gentoo))
        assert (histogram.low <= histogram.high).all()
        assert histogram.observed.sum() == pytest.approx(1)
        assert [label.get_text() for label in figure.axes[-1].get_xticklabels()] == ["female", "male"]

    def test_surprises_are_named(self):
        rows = np.column_stack([GAUSSIAN[:, 0], RNG.exponential(size=400)])
        figure = plot.plot_check(cw.QDA().fit(rows, LABELS).check(rows, LABELS), labels="b")
        assert figure.axes[0].get_title(loc="left") == ""
        assert "skewness" in figure.axes[1].get_title(loc="left")

    def test_wrong_names(self):
        check = cw.QDA().fit(GAUSSIAN, LABELS).check(GAUSSIAN, LABELS, draws=20)
        with pytest.raises(cw.ClasswiseError, match="not there"):
            plot.plot_check(check, columns=["x"])
        with pytest.raises(cw.ClasswiseError, match="'z', which is not among"):
            plot.plot_check(check, labels=["z"])
        rows = np.tile(GAUSSIAN, 12) + RNG.normal(size=(400, 24))
        many = cw.NaiveBayes().fit(rows, LABELS).check(rows, LABELS, draws=20, pairs=False)
        with pytest.raises(cw.ClasswiseError, match="more panels than a picture can show"):
            plot.plot_check(many)


class TestLearningCurve:
    @given(st.integers(0, 2**32 - 1))
    def test_subsets_are_nested_and_have_every_class(self, seed):
        rng = np.random.default_rng(seed)
        codes = np.repeat([0, 1, 2], rng.integers(2, 60, 3))
        order = nested_order(codes, rng)
        np.testing.assert_array_equal(np.sort(order), np.arange(len(codes)))
        assert (np.bincount(codes[order[:6]]) == 2).all()
        shares = np.bincount(codes) / len(codes)
        for size in range(30, len(codes), 17):
            assert np.abs(np.bincount(codes[order[:size]], minlength=3) - size * shares).max() <= 8

    def test_more_rows_less_loss(self):
        rows, labels = cw.datasets.gaussians(600, covariances="line", random_state=0)
        curve = cw.learning_curve(rows, labels, sizes=[6, 30, 300], repeats=8)
        assert curve.names == ("LDA", "softmax regression")
        medians = curve.median()
        assert medians.shape == (2, 3)
        assert (medians[:, -1] <= medians[:, 0]).all()
        low, high = curve.spread()
        assert ((low <= medians) & (medians <= high)).all()
        assert curve.leaders()[0] in curve.names

    def test_any_classifier_any_table(self):
        models = {"nb": cw.NaiveBayes(), "lda": cw.LDA()}
        rows = pl.from_pandas(PENGUINS)
        curve = cw.learning_curve(rows, SPECIES.to_numpy(), models, sizes=[60, 200], repeats=2)
        assert np.isfinite(curve.values).all()
        default = cw.learning_curve(PENGUINS, SPECIES, sizes=[100], repeats=2)
        assert default.median("error").max() < 0.1
        neighbors = {"knn": KNeighborsClassifier(3), "softmax": LogisticRegression()}
        assert cw.learning_curve(GAUSSIAN, LABELS, neighbors, sizes=[50], repeats=2).median().shape == (2, 1)

    def test_what_cannot_be_fitted_is_left_open(self):
        rows = np.column_stack([GAUSSIAN, RNG.normal(size=(400, 6))])
        curve = cw.learning_curve(rows, LABELS, {"QDA": cw.QDA(), "NB": cw.NaiveBayes()}, sizes=[6, 100], repeats=3)
        assert np.isnan(curve.median()[0, 0])
        assert np.isfinite(curve.median()[1]).all()
        assert "6 rows" in curve.reasons["QDA"]
        assert "could not always be fitted" in str(curve)
        assert curve.leaders()[0] == "NB"

    def test_the_same_seed_the_same_curve(self):
        curves = [cw.learning_curve(GAUSSIAN, LABELS, sizes=[20], repeats=3, random_state=s).values for s in (1, 1, 2)]
        np.testing.assert_array_equal(curves[0], curves[1])
        assert (curves[0] != curves[2]).any()

    def test_sizes_unless_given(self):
        curve = cw.learning_curve(GAUSSIAN, LABELS, {"m": cw.NearestMean()}, repeats=1)
        assert (curve.sizes[0], curve.sizes[-1], len(curve.sizes)) == (10, 280, 8)

    def test_says_who_is_ahead(self):
        values = np.array([[[[0.3], [0.2]], [[0.4], [0.1]]]] * 2)
        curve = cw.LearningCurve(("one", "two"), np.array([10, 20]), values, {})
        told = ["one has the least error with 10 rows.", "two has the least error with 20 rows."]
        assert curve.summary("error") == told
        assert str(curve).splitlines()[1].split() == ["10", "30", "0.3", "40", "0.4"]
        assert "<td>20</td>" in curve._repr_html_()

    def test_picture(self):
        curve = cw.learning_curve(GAUSSIAN, LABELS, sizes=[10, 40, 200], repeats=4)
        for measure, name in (("error", "error on rows held out"), ("log_loss", "log loss of rows held out")):
            axes = curve.plot(measure)
            np.testing.assert_allclose([line.get_ydata() for line in axes.lines], curve.median(measure))
            assert axes.get_ylabel() == name
            assert [label.get_text() for label in axes.get_xticklabels()] == ["10", "40", "200"]
            assert len({line.get_marker() for line in axes.lines}) == 2
        with pytest.raises(cw.ClasswiseError, match="measure='brier'"):
            plot.plot_learning_curve(curve, measure="brier")

    def test_far_apart_on_a_logarithmic_scale(self):
        values = np.array([[[[0.3], [0.2]], [[0.4], [0.01]]]] * 2)
        curve = cw.LearningCurve(("one", "two"), np.array([10, 20]), values, {})
        assert (curve.plot().get_yscale(), curve.plot("error").get_yscale()) == ("log", "linear")

    def test_wrong_options(self):
        for options, message in (
            ({"sizes": [2]}, "subsets have from 4 rows"),
            ({"sizes": [500]}, "to 280"),
            ({"repeats": 0}, "repeats=0"),
            ({"models": [cw.LDA()]}, "mapping from name to classifier"),
            ({"held_out": 2}, "held_out=2"),
        ):
            with pytest.raises(cw.ClasswiseError, match=message):
                cw.learning_curve(GAUSSIAN, LABELS, **options)
