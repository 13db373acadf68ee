"""Missing values: integrated out at predict, learned around at fit, a signal on request, refused on request."""

import itertools

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from palmerpenguins import load_penguins
from scipy import stats
from scipy.optimize import minimize
from sklearn.datasets import load_iris, load_wine

import classwise as cw

RNG = np.random.default_rng(5)
ROWS = RNG.normal(size=(120, 5)) @ RNG.normal(size=(5, 5)) + np.arange(120)[:, None] % 3
y = np.arange(120) % 3
PATTERNS = [list(c) for size in range(1, 6) for c in itertools.combinations(range(5), size)]
MODELS = {
    "lda": cw.LDA(),
    "qda": cw.QDA(),
    "average": cw.GaussianClassifier(share="average"),
    "blend": cw.GaussianClassifier(share=0.4, estimate="unbiased"),
    "diagonal": cw.GaussianClassifier(structure="diagonal"),
    "shared diagonal": cw.GaussianClassifier(structure="diagonal", share=1),
    "nb": cw.NaiveBayes(),
    "nb mixed": cw.NaiveBayes(families={4: "categorical", 3: "poisson", 2: "lognormal"}),
}


def holes(rows, share, seed):
    """The rows with this share of the cells deleted at random."""
    return np.where(np.random.default_rng(seed).random(rows.shape) < share, np.nan, rows)


class TestPredict:
    """A missing value is integrated out: what remains is the model of the other columns."""

    @pytest.mark.parametrize("name", MODELS)
    def test_every_pattern_is_the_model_of_the_columns_that_are_there(self, name):
        rows = ROWS
        if name == "nb mixed":
            rows = np.column_stack([ROWS[:, :2], np.exp(ROWS[:, 2]), np.round(np.abs(ROWS[:, 3:]))])
        model = MODELS[name]
        statistics = cw.summarize(rows, y, families=getattr(model, "families", "auto"))
        m = type(model)(**model.get_params()).fit_statistics(statistics)
        for kept in PATTERNS:
            gappy = np.full_like(rows, np.nan)
            gappy[:, kept] = rows[:, kept]
            few = type(model)(**{**model.get_params(), "families": "auto"}).fit_statistics(statistics.restrict(kept))
            for ask in ("log_joint", "predict_log_proba", "log_density", "log_evidence", "predict"):
                ours, theirs = getattr(m, ask)(gappy), getattr(few, ask)(rows[:, kept])
                np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10)

    @pytest.mark.parametrize("name", MODELS)
    def test_a_row_without_any_value_gets_the_prior(self, name):
        rows = np.abs(np.round(ROWS)) + 1
        m = MODELS[name].fit(rows, y[::-1] // 2)
        nothing = np.full((2, 5), np.nan)
        np.testing.assert_allclose(m.predict_proba(nothing), [m.priors_] * 2, rtol=1e-12)
        np.testing.assert_allclose(m.log_evidence(nothing), 0, atol=1e-12)

    def test_rows_with_and_without_gaps_side_by_side(self):
        m = cw.QDA().fit(ROWS, y)
        gappy = holes(np.repeat(ROWS, 500, axis=0), 0.2, 1)
        alone = np.vstack([m.predict_log_proba(row[None]) for row in gappy[:200]])
        np.testing.assert_allclose(m.predict_log_proba(gappy)[:200], alone, rtol=1e-10, atol=1e-12)

    def test_far_from_zero(self):
        m, far = cw.LDA().fit(ROWS, y), cw.LDA().fit(ROWS + 1e6, y)
        gappy = holes(ROWS, 0.3, 2)
        np.testing.assert_allclose(far.predict_log_proba(gappy + 1e6), m.predict_log_proba(gappy), atol=1e-6)

    def test_infinity_is_not_missing(self):
        m = cw.LDA().fit(ROWS, y)
        gappy = holes(ROWS, 0.3, 2)
        gappy[3, 1] = np.inf
        with pytest.raises(cw.ClasswiseError, match=r"X contains infinity in column 1 \(1\)"):
            m.predict(gappy)

    def test_transform_puts_missing_numbers_at_their_expectation(self):
        m = cw.LDA().fit(ROWS, y)
        gappy = ROWS[:1].copy()
        gappy[0, 2] = np.nan
        weights = m.predict_proba(gappy)[0]
        others = [0, 1, 3, 4]
        covariance = m.covariances_[0]
        slope = np.linalg.solve(covariance[np.ix_(others, others)], covariance[others, 2])
        filled = ROWS[:1].copy()
        filled[0, 2] = weights @ (m.means_[:, 2] + (ROWS[0, others] - m.means_[:, others]) @ slope)
        np.testing.assert_allclose(m.transform(gappy), m.transform(filled), rtol=1e-9)


class TestFit:
    def test_naive_bayes_uses_what_each_column_has(self):
        gappy = holes(ROWS, 0.3, 3)
        m = cw.NaiveBayes().fit(gappy, y)
        for k in range(3):
            np.testing.assert_allclose(m.means_[k], np.nanmean(gappy[y == k], axis=0), rtol=1e-12)
            np.testing.assert_allclose(m.variances_[k], np.nanvar(gappy[y == k], axis=0), rtol=1e-12)

    @pytest.mark.parametrize("share", [0.0, 1.0])
    @pytest.mark.parametrize("estimate", ["mle", "unbiased"])
    def test_the_sphere_divides_all_squares_by_all_counts(self, share, estimate):
        gappy = holes(ROWS, 0.3, 3)
        m = cw.GaussianClassifier(structure="spherical", share=share, estimate=estimate).fit(gappy, y)
        own = [gappy[y == k] - np.nanmean(gappy[y == k], axis=0) for k in range(3)]
        squares = np.array([np.nansum(rows**2) for rows in own])
        counts = np.array([np.isfinite(rows).sum() - (5 if estimate == "unbiased" else 0) for rows in own])
        expected = squares / counts if share == 0 else np.full(3, squares.sum() / counts.sum())
        np.testing.assert_allclose(m.covariances_[:, 0, 0], expected, rtol=1e-12)

    def test_a_class_without_a_value_borrows_from_all_rows_and_says_so(self):
        gappy = ROWS.copy()
        gappy[y == 1, 2] = np.nan
        with pytest.warns(cw.DegenerateColumnWarning, match="gave the values of all rows .*: 1 in column 2"):
            m = cw.NaiveBayes().fit(gappy, y)
        np.testing.assert_allclose(m.means_[1, 2], np.nanmean(gappy[:, 2]), rtol=1e-12)
        for model in (cw.LDA(), cw.QDA(), cw.GaussianClassifier(structure="diagonal")):
            with pytest.warns(cw.DegenerateColumnWarning, match="gave the values of all rows .*: 1 in column 2"):
                m = model.fit(gappy, y)
            np.testing.assert_allclose(m.means_[1, 2], np.nanmean(gappy[:, 2]), rtol=1e-12)

    def test_a_column_without_values_is_left_out_and_says_so(self):
        frame = pd.DataFrame(ROWS, columns=list("abcde")).assign(nothing=np.nan, text=None)
        for model in (cw.LDA(), cw.NaiveBayes()):
            with pytest.warns(cw.IgnoredColumnWarning, match=r"'nothing' \(no values\); 'text' \(no values\)"):
                m = model.fit(frame, y)
            plain = type(model)().fit(frame[list("abcde")], y)
            np.testing.assert_allclose(m.predict_proba(frame), plain.predict_proba(frame[list("abcde")]), rtol=1e-9)
            assert m.schema_["nothing"].note == "left out: no values"

    def test_all_missing_rows_count_for_the_priors_alone(self):
        gappy = np.vstack([ROWS, np.full((60, 5), np.nan)])
        labels = np.r_[y, np.zeros(60, dtype=int)]
        m, plain = cw.QDA().fit(gappy, labels), cw.QDA(priors=[100 / 180, 40 / 180, 40 / 180]).fit(ROWS, y)
        np.testing.assert_allclose(m.log_joint(ROWS), plain.log_joint(ROWS), rtol=1e-10)

    def test_strictness_on_request(self):
        frame = pd.DataFrame({"x": [1.0, None, 2.0, 4.0], "city": ["Rome", "Oslo", None, "Rome"]})
        for model in (cw.NaiveBayes(missing="error"), cw.LDA(missing="error")):
            with pytest.raises(cw.ClasswiseError, match=r"X contains NaN in 'x' \(1\), 'city' \(1\)"):
                model.fit(frame, [0, 0, 1, 1])
        m = cw.NaiveBayes(missing="error").fit(frame.fillna({"x": 3.0, "city": "Rome"}), [0, 0, 1, 1])
        with pytest.raises(cw.ClasswiseError, match=r"X contains NaN in 'city' \(1\)"):
            m.predict(frame[2:])
        with pytest.raises(cw.ClasswiseError, match=r"y contains missing labels in 1 rows"):
            cw.NaiveBayes(missing="error").fit(frame[:1], pd.Series([None]))

    def test_rows_without_a_label_are_counted_and_left_out(self):
        labels = pd.Series(np.array(["a", "b", "c"])[y]).mask(np.arange(120) < 7)
        with pytest.warns(cw.MissingLabelWarning, match="7 of 120 rows have no label and were left out"):
            m = cw.QDA().fit(ROWS, labels)
        np.testing.assert_allclose(m.predict_proba(ROWS), cw.QDA().fit(ROWS[7:], y[7:]).predict_proba(ROWS), rtol=1e-9)
        with pytest.raises(cw.ClasswiseError, match="missing labels in every row"):
            cw.QDA().fit(ROWS, np.full(120, np.nan))


class TestMissingAsALevel:
    X = pd.DataFrame(
        {"x": [1.0, None, None, 4.0, 5.0, 6.0], "city": ["R", "O", None, "R", "R", "O"], "z": RNG.random(6)}
    )
    labels = (0, 0, 0, 1, 1, 1)

    @pytest.mark.filterwarnings("ignore::classwise.DegenerateColumnWarning")
    @pytest.mark.parametrize("smoothing", [0.0, 1.0])
    def test_by_hand(self, smoothing):
        m = cw.NaiveBayes(missing="level", smoothing=smoothing).fit(self.X, self.labels)
        plain = cw.NaiveBayes(smoothing=smoothing).fit(self.X, self.labels)
        row = pd.DataFrame({"x": [None], "city": [None], "z": [0.5]}).astype({"x": float})
        s = smoothing
        with np.errstate(divide="ignore"):
            missing_x = np.log([(2 + s) / (3 + 2 * s), (0 + s) / (3 + 2 * s)])
            missing_city = np.log([(1 + s) / (3 + 3 * s), (0 + s) / (3 + 3 * s)])
        np.testing.assert_allclose(m.log_joint(row)[0], plain.log_joint(row)[0] + missing_x + missing_city, rtol=1e-12)

    @pytest.mark.filterwarnings("ignore::classwise.DegenerateColumnWarning")
    def test_a_column_that_was_never_missing_says_nothing_when_it_is(self):
        m = cw.NaiveBayes(missing="level").fit(self.X, self.labels)
        plain = cw.NaiveBayes().fit(self.X[["z"]], self.labels)
        without = m.log_joint(self.X.assign(z=np.nan))
        np.testing.assert_allclose(m.log_joint(self.X) - without, plain.log_density(self.X[["z"]]), rtol=1e-9)

    def test_a_full_gaussian_with_the_signal_beside_it(self):
        gappy = ROWS.copy()
        gappy[y == 0, 0] = np.where(np.arange(40) < 30, np.nan, gappy[y == 0, 0])
        signal, plain = cw.QDA(missing="level").fit(gappy, y), cw.QDA().fit(gappy, y)
        np.testing.assert_allclose(
            signal.log_joint(gappy) - plain.log_joint(gappy),
            np.log(np.where(np.isnan(gappy[:, :1]), np.array([31, 1, 1]) / 42, np.array([11, 41, 41]) / 42)),
            rtol=1e-9,
        )


class TestEM:
    @pytest.mark.parametrize("model", [cw.LDA(), cw.QDA()])
    def test_complete_rows_need_no_iteration(self, model):
        m = model.fit(ROWS, y)
        assert m.em_.iterations == 0
        assert m.em_.converged
        np.testing.assert_allclose(m.means_, [ROWS[y == k].mean(axis=0) for k in range(3)], rtol=1e-12)

    def test_complete_rows_given_as_if_they_had_gaps_give_the_closed_form(self):
        """The same numbers through the E-step: a pattern without gaps expects nothing."""
        from classwise.covariance import GaussianParameters
        from classwise.covariance.expectation import Expectation, GapRows
        from classwise.statistics import Gaps

        s = cw.summarize(ROWS, y)
        gaps = Gaps(np.arange(3), np.ones((3, 5), dtype=bool), s.moments)
        means, covariances = s.mean, s.scatter / 40
        nothing = cw.summarize(ROWS, y).moments - s.moments
        moments = Expectation(GaussianParameters(means, covariances), nothing, GapRows(gaps, 3)).moments()
        np.testing.assert_allclose(moments.mean, s.mean, rtol=1e-12)
        np.testing.assert_allclose(moments.scatter.values, s.scatter, rtol=1e-10, atol=1e-10)

    def test_sorting_groups_by_what_they_lack_changes_nothing(self, monkeypatch):
        from classwise.covariance import GaussianParameters, expectation

        rng = np.random.default_rng(3)
        labels = np.arange(300) % 2
        rows = rng.normal(size=(300, 9)) @ rng.normal(size=(9, 9))
        rows[::3] = rows[0]  # groups of several rows, and of one
        s = cw.summarize(holes(rows, 0.3, 1), labels)
        root = rng.normal(size=(2, 9, 12))
        point = GaussianParameters(rng.normal(size=(2, 9)), root @ root.transpose(0, 2, 1))
        seen = []
        for small in (0, np.inf):
            monkeypatch.setattr(expectation, "SMALL", small)
            gaps = expectation.GapRows(s.numbers.gaps, 2)
            seen.append((len(gaps.bands), expectation.Expectation(point, s.moments, gaps)))
        (many, sorted_), (one, plain) = seen
        assert many > one == 1
        np.testing.assert_allclose(sorted_.moments().scatter.values, plain.moments().scatter.values, rtol=1e-10)
        np.testing.assert_allclose(sorted_.log_likelihood(), plain.log_likelihood(), rtol=1e-12)

    @pytest.mark.parametrize("options", [{"shrink": "oas"}, {"share": 0.4, "shrink": 0.05}, {}, {"estimate": "bayes"}])
    def test_from_where_other_rows_ended_em_ends_where_it_does_from_afar(self, options):
        gappy = holes(ROWS, 0.25, 5)
        plan = cw.GaussianClassifier(**options)._plan()
        near = plan.model(cw.summarize(gappy, y)).completion
        part = cw.summarize(gappy[10:], y[10:])
        afar, warm = plan.model(part), plan.starting_at(near).model(part)
        assert warm.completion.log_likelihood[0] > afar.completion.log_likelihood[0]
        assert warm.completion.converged
        assert afar.completion.converged
        answers = [model.classifier.log_posterior(ROWS[:10]) for model in (warm, afar)]
        np.testing.assert_allclose(*answers, rtol=1e-4, atol=1e-4)

    def test_where_a_likelihood_pauses_em_goes_on(self):
        """Under a prior the likelihood rises and falls on the way: one that stands still for a step says nothing."""
        rng = np.random.default_rng(1)
        rows = holes(rng.normal(size=(60, 6)) @ rng.normal(size=(6, 6)), 0.35, 2)
        labels = np.arange(60) % 2
        rough, exact = (cw.LDA(estimate="bayes", tol=tol).fit(rows, labels) for tol in (1e-8, 1e-13))
        assert rough.em_.converged
        np.testing.assert_allclose(rough.predict_log_proba(rows), exact.predict_log_proba(rows), atol=1e-4)

    @pytest.mark.parametrize("shared", [False, True])
    @pytest.mark.parametrize("seed", range(2))
    def test_no_optimizer_finds_a_larger_likelihood(self, shared, seed):
        rng = np.random.default_rng(seed)
        labels = np.arange(60) % 2
        rows = holes(rng.normal(size=(60, 2)) @ np.array([[1.0, 0.6], [0, 1]]) + labels[:, None], 0.3, seed)
        m = (cw.LDA() if shared else cw.QDA()).fit(rows, labels)
        assert m.em_.converged

        def unpack(theta):
            roots = [np.array([[np.exp(a), 0], [b, np.exp(c)]]) for a, b, c in theta[4:].reshape(-1, 3)]
            covariances = [root @ root.T for root in roots]
            return theta[:4].reshape(2, 2), covariances * (2 if shared else 1)

        def nll(theta):
            means, covariances = unpack(theta)
            total = 0.0
            for k in range(2):
                for row in rows[labels == k]:
                    o = ~np.isnan(row)
                    if o.any():
                        total -= stats.multivariate_normal(means[k][o], covariances[k][np.ix_(o, o)]).logpdf(row[o])
            return total

        start = np.zeros(7 if shared else 10)
        best = minimize(nll, start, method="BFGS", options={"gtol": 1e-7})
        np.testing.assert_allclose(m.nll(rows, labels).features, best.fun, atol=1e-6)
        means, covariances = unpack(best.x)
        np.testing.assert_allclose(m.means_, means, atol=1e-3)
        np.testing.assert_allclose(m.covariances_, covariances, atol=1e-3)

    @pytest.mark.parametrize("model", [cw.LDA(), cw.QDA(), cw.GaussianClassifier(share="average")])
    @pytest.mark.parametrize("table", ["iris", "penguins"])
    def test_the_likelihood_never_decreases(self, model, table):
        X, labels = load_iris(return_X_y=True) if table == "iris" else penguins()
        m = model.fit(holes(X, 0.3, 8), labels)
        path = m.em_.log_likelihood
        assert m.em_.converged
        if model.share != "average":  # the average of covariances is not their maximum-likelihood estimate
            assert (np.diff(path) >= -1e-9 * np.abs(path[:-1])).all()
            np.testing.assert_allclose(path[-1], -m.nll(holes(X, 0.3, 8), labels).features, rtol=1e-6)

    def test_values_removed_at_random_are_made_up_for(self):
        """From many rows of a known Gaussian the estimate is near it, though no row is complete."""
        rng = np.random.default_rng(0)
        covariance = np.array([[2.0, 1.0, 0.3], [1.0, 1.0, -0.2], [0.3, -0.2, 0.7]])
        rows = rng.multivariate_normal([1.0, 2.0, 3.0], covariance, size=20_000)
        rows[np.arange(20_000), rng.integers(0, 3, 20_000)] = np.nan
        m = cw.QDA().fit(rows, np.arange(20_000) % 2)
        np.testing.assert_allclose(m.covariances_, [covariance] * 2, atol=0.08)
        np.testing.assert_allclose(m.means_, [[1, 2, 3]] * 2, atol=0.06)

    def test_one_pass_over_a_stream_that_can_be_read_once(self):
        gappy = holes(ROWS, 0.2, 4)
        table = pa.table({f"x{j}": gappy[:, j] for j in range(5)})
        reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=17))
        m = cw.QDA().fit(reader, y)
        with pytest.raises(Exception):  # noqa: B017 - whatever Arrow says of a stream that was read
            cw.QDA().fit(reader, y)
        np.testing.assert_array_equal(m.predict_proba(table), cw.QDA().fit(table, y).predict_proba(table))

    def test_one_pass_over_batches_that_are_gone_afterwards(self):
        gappy = holes(ROWS, 0.2, 4)
        m = cw.LDA()
        for batch in (part for part in np.array_split(np.arange(120), 7)):
            m.partial_fit(gappy[batch], y[batch])
        whole = cw.LDA().fit(gappy, y)
        np.testing.assert_allclose(m.predict_log_proba(gappy), whole.predict_log_proba(gappy), atol=1e-6)
        assert m.em_.iterations == whole.em_.iterations

    def test_units_do_not_matter(self):
        gappy = holes(ROWS, 0.25, 6)
        scale = np.array([1e-6, 1.0, 1e5, 10.0, 1e-2])
        m, scaled = cw.QDA().fit(gappy, y), cw.QDA().fit(gappy * scale, y)
        np.testing.assert_allclose(scaled.predict_log_proba(gappy * scale), m.predict_log_proba(gappy), atol=1e-5)

    def test_a_likelihood_without_a_maximum_is_refused_with_the_remedy(self):
        X, labels = load_wine(return_X_y=True)
        gappy = holes(X, 0.3, 0)
        with pytest.raises(
            cw.SingularCovarianceError, match=r"Class \d has .* rows and 13 features, with .* missing.*shrink"
        ):
            cw.QDA().fit(gappy, labels)
        m = cw.QDA(shrink="oas", standardize=True).fit(gappy, labels)
        assert m.em_.converged
        assert m.score(gappy, labels) > 0.95

    def test_a_column_that_varies_only_between_classes_is_refused_by_name(self):
        gappy = holes(ROWS, 0.2, 1)
        gappy[:, 3] = y
        with pytest.raises(cw.SingularCovarianceError, match="column 3 does not vary"):
            cw.LDA().fit(gappy, y)

    def test_a_column_that_does_not_vary_in_a_class_is_named_beside_others_that_depend_on_each_other(self):
        gappy = holes(ROWS, 0.2, 1)
        gappy[y == 1, 3], gappy[y == 1, 1] = 4.0, 2 * ROWS[y == 1, 0]
        gappy[y == 1, 0] = ROWS[y == 1, 0]
        with pytest.raises(cw.SingularCovarianceError, match=r"Class 1 has .*: column 3 does not vary"):
            cw.QDA().fit(gappy, y)

    def test_stopping_early_is_said(self, monkeypatch):
        monkeypatch.setattr("classwise.covariance.completion.MOST_ITERATIONS", 2)
        with pytest.warns(cw.DegenerateColumnWarning, match="stopped EM for missing values early: Completion"):
            m = cw.LDA().fit(holes(ROWS, 0.3, 1), y)
        assert not m.em_.converged

    def test_too_many_patterns_are_refused_with_the_remedy(self, monkeypatch):
        monkeypatch.setattr("classwise.limits.MOST_GAP_NUMBERS", 100)
        with pytest.raises(cw.ClasswiseError, match=r"patterns of missing values.*structure='diagonal' or NaiveBayes"):
            cw.LDA().fit(holes(ROWS, 0.3, 1), y)
        assert cw.NaiveBayes().fit(holes(ROWS, 0.3, 1), y).predict(ROWS).shape == (120,)


def penguins():
    table = load_penguins()
    numbers = table[["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]]
    return numbers.to_numpy(), table["species"].to_numpy().astype(str)


class TestSubtraction:
    s = cw.summarize(holes(ROWS, 0.3, 9), y)

    def test_gaps_that_were_never_there(self):
        strange = ROWS[:3].copy()
        strange[:, 1:] = np.nan
        with pytest.raises(cw.StatisticsError, match="never part of this statistic"):
            self.s - cw.summarize(strange * 100 + 50, y[:3])

    def test_levels_that_were_never_there(self):
        a = cw.summarize(pd.DataFrame({"city": ["Rome", "Oslo"]}), [0, 1])
        with pytest.raises(cw.StatisticsError, match="Level 'Lima' cannot be subtracted"):
            a - cw.summarize(pd.DataFrame({"city": ["Lima"]}), [0])
        with pytest.raises(cw.StatisticsError, match="negative count"):
            a - cw.summarize(pd.DataFrame({"city": ["Oslo"]}), [0])
