"""AutoClassifier: members against refits and direct evaluation, the pool against a general optimizer, its habits."""

import pickle
import re
from dataclasses import replace
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from palmerpenguins import load_penguins
from scipy import stats
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

import classwise as cw
from classwise import limits
from classwise.arrays import log_normalize
from classwise.comparison.stack import NAMED, SETS, learn
from classwise.comparison.stack.folded_rows import FoldedRows
from classwise.comparison.stack.generative_members import DIAGONALS, ROWS, StrengthSearch, categories_of
from classwise.comparison.stack.pool import MemberPosteriors, Pool, mixture_weights
from classwise.comparison.stack.softmax import MOST_ITERATIONS, RIDGES, TOLERANCE
from classwise.comparison.stack.sums import FoldSums, gather_sums
from classwise.comparison.stack.trained import Generative
from classwise.comparison.stack.transforms import Encoding, categories_apart, with_yeo_johnson
from classwise.comparison.stack.yeo_johnson import POWERS, PowerSums, inverse_yeo_johnson, yeo_johnson
from classwise.densities.em import fit_mixture
from classwise.engines import progress
from classwise.selection import assign_folds
from classwise.statistics.trees import LeafCounts

X, y = load_iris(return_X_y=True)
PENGUINS = load_penguins()
ROWS_OF_PENGUINS, SPECIES = PENGUINS.drop(columns=["species", "year"]), PENGUINS["species"].to_numpy()


def make_study(rows, labels, levels=None, folds=4, weights=None):
    names, codes = np.unique(labels, return_inverse=True)
    rows = np.asarray(rows, dtype=float)
    weights = np.ones(len(rows)) if weights is None else weights
    places = np.arange(len(rows))
    return FoldedRows(rows, levels or {}, names, codes, assign_folds(folds, codes), weights, places, seed=0)


def mixed_study(n=240, seed=0, weighted=True):
    """Numbers, of which one is skewed, one is whole and one has gaps, and a category with gaps."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, n)
    rows = np.column_stack(
        [
            rng.normal(size=n) + labels,
            rng.gamma(2.0, size=n) * (1 + labels),
            rng.integers(0, 4, n) + (labels == 2),
            np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n) - labels),
            np.where(rng.random(n) < 0.1, -1, (rng.integers(0, 3, n) + labels) % 4),
        ]
    )
    weights = rng.integers(1, 4, n).astype(float) if weighted else None
    return make_study(rows, labels, {4: 4}, weights=weights)


class TestPowers:
    @settings(max_examples=50, deadline=None)
    @given(
        power=st.floats(-2, 4),
        values=st.lists(st.floats(-50, 50), min_size=1, max_size=20),
    )
    def test_powers_are_those_of_yeo_and_johnson_and_can_be_undone(self, power, values):
        column = np.array(values)[:, None]
        powered = yeo_johnson(column, np.array([power]))
        if abs(power) > 1e-6 and abs(power - 2) > 1e-6:
            assert_allclose(powered[:, 0], stats.yeojohnson(column[:, 0], power), rtol=1e-9, atol=1e-9)
        # Far out the curve is so flat that digits are lost on the way.
        near = np.abs(column[:, 0]) < 5
        assert_allclose(inverse_yeo_johnson(powered, np.array([power]))[near], column[near], rtol=1e-6, atol=1e-6)

    def test_the_best_power_of_one_class_is_that_of_scipy(self):
        rng = np.random.default_rng(0)
        values = np.column_stack([rng.gamma(2, size=400), -rng.gamma(3, size=400), rng.normal(size=400)])
        values = (values - values.mean(axis=0)) / values.std(axis=0)
        found = PowerSums.gather(values, np.zeros(400, dtype=int), 1).best()
        expected = [stats.yeojohnson_normmax(column) for column in values.T]
        assert_allclose(found, expected, atol=0.02)

    def test_likelihoods_are_those_of_gaussians_within_classes(self):
        rng = np.random.default_rng(1)
        codes = rng.integers(0, 2, 60)
        values = rng.normal(size=60) + codes
        found = PowerSums.gather(values[:, None], codes, 2).log_likelihood()[:, 0]
        for power, value in zip(POWERS, found, strict=True):
            transformed = stats.yeojohnson(values, power)
            means = np.array([transformed[codes == k].mean() for k in (0, 1)])[codes]
            spread = np.sqrt(((transformed - means) ** 2).mean())
            density = stats.norm.logpdf(transformed, means, spread).sum()
            density += ((power - 1) * np.sign(values) * np.log1p(np.abs(values))).sum()
            assert_allclose(value, density + 30 * (1 + np.log(2 * np.pi)), rtol=1e-9)

    def test_sums_add_and_weights_are_repeats(self):
        rng = np.random.default_rng(2)
        values, codes = rng.normal(size=(30, 2)), rng.integers(0, 3, 30)
        values[::7, 0] = np.nan
        weights = rng.integers(1, 4, 30).astype(float)
        whole = PowerSums.gather(values, codes, 3, weights)
        parts = PowerSums.gather(values[:11], codes[:11], 3, weights[:11])
        parts += PowerSums.gather(values[11:], codes[11:], 3, weights[11:])
        repeated = np.repeat(np.arange(30), weights.astype(int))
        again = PowerSums.gather(values[repeated], codes[repeated], 3)
        for other in (parts, again):
            assert_allclose(other.log_likelihood(), whole.log_likelihood(), rtol=1e-12)
            assert_allclose(other.best(), whole.best(), rtol=1e-9)


class TestEncoding:
    def test_what_is_seen_can_be_undone(self):
        study = mixed_study()
        encoding = with_yeo_johnson(study, categories_apart(study))
        back = encoding.inverse(encoding(study.rows), np.random.default_rng(0))
        for j in range(study.rows.shape[1]):
            present = ~np.isnan(study.rows[:, j])
            assert_allclose(back[present, j], study.rows[present, j], atol=1e-8)

    def test_few_values_and_gaps_are_levels(self):
        rows = np.array([[1.0, 5.0], [2.0, np.nan], [1.0, 7.0], [4.0, 5.0]])
        encoding = Encoding.of(rows, {}, np.ones(4), few=[0, 1])
        assert encoding(rows).tolist() == [[0, 0], [1, 2], [0, 1], [2, 0]]
        # A number never seen is the nearest that was; a gap says nothing where there never was one.
        assert encoding(np.array([[2.9, 6.5], [np.nan, np.nan]])).tolist() == [[1, 1], [-1, 2]]

    def test_steps_and_one_hot_columns(self):
        rows = np.column_stack([np.arange(8.0), [0, 0, 0, 1, 1, 1, 2, -1]])
        encoding = Encoding.of(rows, {1: 3}, np.ones(8)).one_hot(rows, np.ones(8)).with_steps(rows, np.ones(8))
        encoded = encoding(rows)
        assert encoded.shape == (8, 1 + 7 + 2)  # the number, a step between any two, two frequent levels
        assert (np.diff(encoded[:, 1:8].sum(axis=1)) == 1).all()
        assert encoded[:, 8:].sum(axis=0).tolist() == [3, 3]
        assert encoding(np.array([[3.0, 3.0]]))[0, 8:].tolist() == [0, 0]  # a level never seen


class TestMembers:
    @pytest.mark.parametrize("name", [n for n in NAMED if not re.search("softmax|mixtures|trees|network", n)])
    def test_posteriors_of_rows_held_out_are_those_of_a_refit(self, name):
        study = mixed_study()
        crossed = NAMED[name].cross(study)
        for fold, rows in study.each():
            others = np.setdiff1d(np.arange(len(study.codes)), rows)
            sums = crossed.trained.summarize(
                study.rows[others], study.codes[others], study.count, study.weights[others]
            )
            refit = crossed.trained.relearned(sums)
            assert_allclose(crossed.log_posterior[rows], refit.log_posterior(study.rows[rows]).T, rtol=1e-8, atol=1e-8)
            assert fold < study.n_folds

    @pytest.mark.parametrize("name", ["random trees", "best trees"])
    def test_trees_that_answer_for_rows_have_seen_no_label_of_them(self, name):
        study = mixed_study()
        crossed = NAMED[name].cross(study)
        codes, held_out = study.codes.copy(), study.held_out[1]
        codes[held_out] = (codes[held_out] + 1) % study.count
        other = NAMED[name].cross(replace(study, codes=codes))
        if crossed.note == other.note:  # the same belief: other labels may suit another
            assert_allclose(other.log_posterior[held_out], crossed.log_posterior[held_out], rtol=1e-12)
        assert not np.allclose(other.log_posterior[study.held_out[0]], crossed.log_posterior[study.held_out[0]])

    @pytest.mark.parametrize("name", ["random trees", "best trees"])
    def test_leaves_of_the_member_count_all_rows(self, name):
        study = mixed_study()
        counts = NAMED[name].cross(study).trained.counts
        whole = LeafCounts.gather(counts.trees, study.rows, study.codes, study.count, study.weights)
        assert_allclose(counts.weight, whole.weight, rtol=1e-12, atol=1e-12)
        assert len(counts.trees) == limits.STACK_TREES

    def test_the_kernel_is_what_it_approximates_at_its_landmarks(self, monkeypatch):
        monkeypatch.setattr(limits, "MOST_LANDMARKS", 400)
        study = mixed_study()
        features = NAMED["kernel softmax"].cross(study).trained.encoding
        z = features.encoding(study.rows)
        assert len(features.landmarks) == len(study.rows)  # few rows: all are landmarks
        away = ((z[:, None] - z) ** 2).sum(axis=2)
        of_features = features(study.rows) @ features(study.rows).T
        assert_allclose(of_features, np.exp(-away / features.kernel_width), atol=1e-4)

    @pytest.mark.parametrize("name", ["softmax", "softmax, quantile steps"])
    def test_softmax_is_that_of_a_refit(self, name):
        study = mixed_study()
        crossed = NAMED[name].cross(study)
        linear = crossed.trained
        encoded = linear.encoding(study.rows) - linear.center
        ridge = min(RIDGES, key=lambda c: abs(1 / c - float(crossed.note.split()[-1])))
        rows = study.held_out[0]
        others = np.setdiff1d(np.arange(len(study.codes)), rows)
        exact = LogisticRegression(C=ridge, tol=1e-8, max_iter=5000)
        exact.fit(encoded[others], study.codes[others], study.weights[others])
        assert_allclose(np.exp(crossed.log_posterior[rows]), exact.predict_proba(encoded[rows]), atol=0.05)
        path = LogisticRegression(tol=TOLERANCE, max_iter=MOST_ITERATIONS, warm_start=True)
        for c in RIDGES[: RIDGES.index(ridge) + 1]:
            path.set_params(C=c).fit(encoded[others], study.codes[others], study.weights[others])
        assert_allclose(np.exp(crossed.log_posterior[rows]), path.predict_proba(encoded[rows]), rtol=1e-9)

    @pytest.mark.parametrize("tied", [False, True])
    def test_mixtures_of_rows_held_out_know_nothing_of_them(self, tied):
        study = mixed_study(weighted=False)
        crossed = NAMED["tied mixtures" if tied else "mixtures"].cross(study)
        components, rows = int(crossed.note.split()[0]), study.held_out[1]
        others = np.setdiff1d(np.arange(len(study.codes)), rows)
        encoded = crossed.trained.encoding(study.rows)
        numbers, weights = encoded[others, :3].copy(), np.ones(len(others))
        density = fit_mixture(numbers, study.codes[others], 3, components, weights, 0, tied=tied)
        sums = FoldSums.gather(study, crossed.trained.encoding).training(1)
        scores = density.relative(encoded[rows, :3], sums.log_priors[:, None])
        scores = scores + categories_of(sums).relative(encoded[rows, 3:], np.zeros((3, 1)))
        assert_allclose(crossed.log_posterior[rows], log_softmax(scores, axis=0).T, rtol=1e-9, atol=1e-12)
        assert crossed.trained.sample(np.array([0, 1, 2]), np.random.default_rng(0)).shape == (3, 5)

    def test_the_grid_of_strengths_is_that_of_direct_evaluation(self):
        """Every strength of the prior and every place towards the diagonal, by scipy's multivariate t."""
        study = make_study(X, y)
        encoding = Encoding.of(study.rows, {}, study.weights)
        search = StrengthSearch(FoldSums.gather(study, encoding))
        encoded = encoding(study.rows)
        for i, diagonal in enumerate(DIAGONALS):
            found = search.losses(DIAGONALS, (i, 2))
            expected = [self._direct(study, encoded, 2, rows, diagonal) for rows in ROWS]
            assert_allclose(found, expected, rtol=1e-9)

    @staticmethod
    def _direct(study, encoded, fold, strength, diagonal):
        rows = study.held_out[fold]
        others = np.setdiff1d(np.arange(len(study.codes)), rows)
        A, codes, p = encoded[others], study.codes[others], encoded.shape[1]
        within = sum(np.cov(A[codes == k].T, bias=True) * (codes == k).sum() for k in range(3)) / len(A)
        prior = (1 - diagonal) * within + diagonal * np.diag(np.diag(within))
        scores = []
        for k in range(3):
            own = A[codes == k]
            n, mean, center = len(own), own.mean(axis=0), A.mean(axis=0)
            kappa, nu = 0.1 + n, strength + p + 1 + n
            away = (mean - center)[:, None]
            scale = strength * prior + n * np.cov(own.T, bias=True) + 0.1 * n / kappa * away @ away.T
            freedom = nu - p + 1
            t = stats.multivariate_t(
                (0.1 * center + n * mean) / kappa, scale * (kappa + 1) / (kappa * freedom), freedom
            )
            scores.append(t.logpdf(encoded[rows]) + np.log((n + 1) / (len(A) + 3)))
        return -log_softmax(np.array(scores), axis=0)[study.codes[rows], np.arange(len(rows))].sum()

    def test_the_strength_chosen_is_the_least_of_the_grid(self):
        study = mixed_study()
        crossed = NAMED["own covariances"].cross(study)
        encoding, recipe = crossed.trained.encoding, crossed.trained.recipe
        search = StrengthSearch(FoldSums.gather(study, encoding))
        losses = np.array(
            [sum(search.losses(DIAGONALS, (i, fold)) for fold in range(4)) for i in range(len(DIAGONALS))]
        )
        place, strength = DIAGONALS.index(recipe.diagonal), ROWS.tolist().index(recipe.rows)
        assert losses[place, strength] == losses.min()

    def test_statistics_of_members_add_and_subtract(self):
        study = mixed_study()
        half = np.arange(len(study.codes)) < 100
        for name in SETS["fast"] + ("one-dependence",):
            trained = NAMED[name].cross(study).trained
            first, second = (
                trained.summarize(study.rows[part], study.codes[part], 3, study.weights[part]) for part in (half, ~half)
            )
            expected = trained.log_posterior(study.rows)
            assert_allclose(trained.relearned(first + second).log_posterior(study.rows), expected, rtol=1e-9, atol=1e-9)
            back = trained.relearned(first + second - second)
            assert_allclose(
                back.log_posterior(study.rows), trained.relearned(first).log_posterior(study.rows), rtol=1e-7, atol=1e-7
            )


def held_out(seed=0, n=300, k=4, g=3):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, g, n)
    members = []
    for i in range(k):
        scores = rng.normal(size=(n, g)) * (1 + i)
        scores[np.arange(n), codes] += i
        members.append(log_softmax(scores, axis=1))
    return MemberPosteriors(members, codes, np.arange(n) % 5, rng.integers(1, 3, n).astype(float))


class TestPooling:
    @settings(max_examples=25, deadline=None)
    @given(seed=st.integers(0, 1000), k=st.integers(2, 5), pseudo=st.sampled_from([0.0, 1.0, 5.0]))
    def test_weights_are_those_of_a_general_optimizer(self, seed, k, pseudo):
        rng = np.random.default_rng(seed)
        own, weights = rng.random((80, k)) ** 2, rng.integers(1, 4, 80).astype(float)

        def loss(mixing):
            prior = pseudo / k * np.log(np.maximum(mixing, 1e-300)).sum() if pseudo else 0.0
            return -(weights @ np.log(own @ mixing)) - prior

        found = mixture_weights(own, weights, pseudo)
        bounds = [(1e-9, 1)] * k
        constraint = {"type": "eq", "fun": lambda mixing: mixing.sum() - 1}
        best = minimize(loss, np.full(k, 1 / k), method="SLSQP", bounds=bounds, constraints=constraint, tol=1e-12)
        assert loss(found) <= best.fun + 1e-3
        assert_allclose(found, best.x, atol=0.01)

    def test_the_likelihood_never_falls(self):
        rng = np.random.default_rng(3)
        own, weights = rng.random((60, 3)), np.ones(60)
        last = -np.inf
        mixing = np.full(3, 1 / 3)
        for _ in range(50):
            mixing = mixing * ((weights / (own @ mixing)) @ own) / 60
            value = np.log(own @ mixing).sum()
            assert value >= last - 1e-12
            last = value
        assert_allclose(mixture_weights(own, weights, 0.0), mixing, atol=0.01)

    def test_powers_are_those_of_a_general_optimizer(self):
        rows = held_out()
        for member, power in zip(rows.members, rows.powers(), strict=True):

            def loss(log_power, member=member):
                scores = np.exp(log_power[0]) * member
                own = log_softmax(scores, axis=1)[np.arange(300), rows.codes]
                return -(rows.weights @ own) + 0.5 * (log_power[0] / 0.5) ** 2

            best = min((minimize(loss, [start]) for start in (-1.0, 0.0, 1.0)), key=lambda fit: fit.fun)
            assert_allclose(np.log(power), best.x[0], atol=2e-3)

    def test_a_pool_is_the_average_with_powers(self):
        rows = held_out()
        pool = Pool(np.array([0.2, 0.0, 0.5, 0.3]), np.array([0.5, 1.0, 2.0, 1.0]), 1.3)
        average = sum(
            weight * np.exp(log_normalize(power * member, 1))
            for weight, power, member in zip(pool.weights, pool.powers, rows.members, strict=True)
        )
        expected = average**1.3 / (average**1.3).sum(axis=1, keepdims=True)
        assert_allclose(np.exp(pool(rows.members)), expected, rtol=1e-12)

    def test_a_stack_is_better_than_any_member_and_pick_is_the_best(self):
        rows = held_out()
        alone = [rows.log_loss(Pool(np.eye(4)[i], rows.powers(), 1.0)) for i in range(4)]
        assert rows.log_loss(rows.stack()) <= min(alone) + 1e-6
        assert rows.pick().weights.argmax() == int(np.argmin(alone))

    def test_without_time_temperatures_stay_and_weights_are_one_step_from_equal(self):
        rows = held_out()
        late = replace(rows, deadline=progress.Deadline(0.0))
        assert late.powers().tolist() == [1.0] * 4
        assert late.powers_by_fold().tolist() == [[1.0] * 4] * 5
        pool = late.stack()
        own = np.exp(np.column_stack([member[np.arange(300), rows.codes] for member in rows.members]))
        shares = own / own.sum(axis=1, keepdims=True)
        expected = rows.weights @ shares + 0.25
        assert_allclose(pool.weights, expected / expected.sum(), rtol=1e-12)
        assert pool.power == 1

    def test_a_stack_that_has_no_time_to_weigh_its_members_is_one_nevertheless(self):
        study = mixed_study()
        learned = learn(study, [NAMED[name] for name in SETS["fast"]], "stack", progress.Deadline(0.0))
        assert set(learned.members) == set(SETS["fast"])
        assert_allclose(learned.pool.weights.sum(), 1)
        assert [line.worth for line in learned.report] == [None] * 4
        assert learned.report.log_loss < max(line.log_loss for line in learned.report)
        assert str(learned.report)

    def test_rows_of_a_fold_that_says_nothing_have_posteriors_too(self):
        """The last fold has no rows but those of a class that no other has."""
        study = make_study(X, y, folds=np.where(y == 2, 2, np.arange(150) % 2))
        learned = learn(study, [NAMED[name] for name in SETS["fast"]], "stack", progress.Deadline())
        assert_allclose(np.exp(learned.log_posterior).sum(axis=1), 1)

    def test_a_class_ruled_out_by_a_member_is_not_ruled_out(self):
        codes = np.array([0, 1] * 50)
        sure = np.where(codes[:, None] == [0, 1], 0.0, -np.inf)
        sure[:2] = sure[1::-1]  # wrong about two rows, and sure of it
        with np.errstate(divide="ignore"):
            members = [sure, np.full((100, 2), np.log(0.5))]
            pool = MemberPosteriors(members, codes, np.arange(100) % 5, np.ones(100)).stack()
        assert pool.weights[1] > 0
        assert np.isfinite(pool(members)).all()


@pytest.fixture(scope="module")
def penguins():
    return cw.AutoClassifier().fit(ROWS_OF_PENGUINS, SPECIES)


class TestClassifier:
    def test_answers(self, penguins):
        posteriors = penguins.predict_proba(ROWS_OF_PENGUINS)
        assert posteriors.shape == (344, 3)
        assert_allclose(posteriors.sum(axis=1), 1)
        assert (penguins.predict(ROWS_OF_PENGUINS) == SPECIES).mean() > 0.98
        assert_allclose(np.log(posteriors), penguins.predict_log_proba(ROWS_OF_PENGUINS), rtol=1e-9)
        assert penguins.decision_function(ROWS_OF_PENGUINS).shape == (344, 3)
        assert penguins.feature_names_in_.tolist() == list(ROWS_OF_PENGUINS.columns)
        evaluation = penguins.evaluate(ROWS_OF_PENGUINS, SPECIES)
        assert_allclose(evaluation.log_loss, log_loss(SPECIES, posteriors), rtol=1e-9)
        assert penguins.reject_curve(ROWS_OF_PENGUINS, SPECIES).at(0.9) == 0
        nothing = ROWS_OF_PENGUINS.iloc[:1].reindex([-1])
        assert np.isfinite(penguins.predict_proba(nothing)).all()

    def test_the_report_adds_up(self, penguins):
        assert set(penguins.weights_) == set(penguins.members_) == {*SETS["default"]}
        assert_allclose(sum(penguins.weights_.values()), 1)
        lines = {line.name: line for line in penguins.report_}
        assert {name: line.weight for name, line in lines.items()} == penguins.weights_
        assert_allclose(
            [lines[name].temperature for name in penguins.temperatures_], [*penguins.temperatures_.values()]
        )
        text = str(penguins.report_)
        assert text.splitlines()[-1].startswith("stack")
        assert "<table>" in penguins.report_._repr_html_()
        best = min(line.log_loss for line in lines.values())
        assert penguins.report_.log_loss < best + 0.02

    def test_the_report_draws_itself(self, penguins):
        axes = penguins.report_.plot()
        names = [label.get_text() for label in axes.get_yticklabels()]
        assert [name.rsplit("  ", 1)[0] for name in names] == [line.name for line in penguins.report_]
        assert [name.rsplit("  ", 1)[1] for name in names] == [f"{100 * w.weight:.0f} %" for w in penguins.report_]
        assert axes.lines[0].get_xdata()[0] == penguins.report_.log_loss
        drawn = {float(dots.get_offsets()[0][0]) for dots in axes.collections}
        assert drawn < {line.log_loss for line in penguins.report_}
        assert len(axes.texts) == len(names) - len(drawn)  # those far behind, by their numbers
        mpl.pyplot.close(cw.AutoClassifier(members=["softmax"]).fit(X, y).report_.plot().figure)
        assert axes.texts[-1].get_text() == f"{max(line.log_loss for line in penguins.report_):.3g} →"
        mpl.pyplot.close(axes.figure)

    def test_what_it_says_of_itself_is_what_new_rows_say(self):
        rows, labels = load_wine(return_X_y=True)
        told, found = [], []
        for training, test in StratifiedKFold(5, shuffle=True, random_state=0).split(rows, labels):
            m = cw.AutoClassifier().fit(rows[training], labels[training])
            told.append(m.report_.log_loss)
            found.append(log_loss(labels[test], m.predict_proba(rows[test])))
        assert abs(np.mean(told) - np.mean(found)) < 0.03

    def test_it_beats_its_peers_on_new_rows(self):
        rows, labels = load_breast_cancer(return_X_y=True)
        half = np.random.default_rng(1).random(len(labels)) < 0.5
        m = cw.AutoClassifier().fit(rows[half], labels[half])
        auto = log_loss(labels[~half], m.predict_proba(rows[~half]))
        for member in (cw.QDA(), cw.NaiveBayes(), cw.NearestMean(), cw.LDA()):
            member.fit(rows[half], labels[half])
            assert auto < log_loss(labels[~half], member.predict_proba(rows[~half]))

    def test_the_same_rows_give_the_same_model(self):
        first, second = (cw.AutoClassifier().fit(X, y).predict_proba(X) for _ in range(2))
        np.testing.assert_array_equal(first, second)

    def test_pick(self):
        m = cw.AutoClassifier(members="fast", combine="pick").fit(X, y)
        assert sorted(line.weight for line in m.report_) == [0, 0, 0, 1]
        assert m.weights_ == {m.report_.lines[0].name: 1}
        assert list(m.members_) == list(m.weights_)  # those without weight are not kept
        best = min(m.report_, key=lambda line: line.log_loss)
        assert m.weights_[best.name] == 1
        assert str(m.report_).splitlines()[-1].startswith("pick")

    def test_a_list_of_names_and_classifiers(self):
        members = ["own covariances", cw.LDA(), LogisticRegression(max_iter=500), cw.LDA()]
        m = cw.AutoClassifier(members=members).fit(pd.DataFrame(X), y)
        assert list(m.members_) == ["own covariances", "LDA()", "LogisticRegression(max_iter=500)", "LDA() 2"]
        assert (m.predict(pd.DataFrame(X)) == y).mean() > 0.96
        with pytest.raises(cw.NotAvailableError, match="of your own sees rows as they are"):
            m.explain(X[0])

    def test_groups_and_folds(self):
        groups = np.arange(150) // 5
        m = cw.AutoClassifier(members="fast").fit(X, y, groups=groups)
        assert m.report_.log_loss < 0.2
        assert cw.AutoClassifier(members="fast", folds=np.arange(150) % 3).fit(X, y).rows_ == 150

    def test_weights_are_rows(self):
        weights = np.r_[np.zeros(25), np.ones(125)]
        m = cw.AutoClassifier(members="fast", folds=np.arange(150) % 5).fit(X, y, weights)
        n = cw.AutoClassifier(members="fast", folds=np.arange(25, 150) % 5).fit(X[25:], y[25:])
        assert_allclose(m.predict_proba(X), n.predict_proba(X), rtol=1e-9)
        kept = weights > 0
        table = pd.DataFrame(X).assign(kind=np.where(kept, np.array(["red", "green"])[np.arange(150) % 2], "mauve"))
        m, n = (
            cw.AutoClassifier(members=["own covariances", "one-dependence", "softmax"]).fit(table[part], y[part], w)
            for part, w in ((kept | True, weights), (kept, None))
        )
        assert_allclose(m.predict_proba(table[kept]), n.predict_proba(table[kept]), rtol=1e-9)
        shares = cw.AutoClassifier(members=["class shares"]).fit(X, y, np.where(y == 0, 2.0, 1.0))
        member = shares.members_["class shares"]
        assert_allclose(np.exp(member.log_posterior(X[:1]))[:, 0], [101 / 203, 51 / 203, 51 / 203])

    def test_statistics_are_merged(self):
        m = cw.AutoClassifier(members=[*SETS["fast"], "one-dependence", "softmax"]).fit(X[::2], y[::2])
        before = m.predict_proba(X)
        more = m.summarize(X[1::2], y[1::2])
        assert repr(more) == "AutoStatistics(75 rows, 3 classes, 5 members)"
        total = m.statistics_ + more
        pool = m.pool_
        m.fit_statistics(total)
        assert m.rows_ == 150
        assert m.pool_ is pool
        merged = m.predict_proba(X)
        assert np.abs(merged - before).max() > 1e-3
        m.fit_statistics(total - more)
        assert_allclose(m.predict_proba(X), before, atol=1e-8)

    def test_statistics_that_do_not_fit(self):
        m = cw.AutoClassifier(members="fast").fit(X, y)
        other = cw.AutoClassifier(members=["class shares"]).fit(X[:100], y[:100])
        with pytest.raises(cw.StatisticsError, match="of different stacks"):
            m.fit_statistics(other.statistics_)
        linear = cw.AutoClassifier(members=["softmax"]).fit(X, y)
        with pytest.raises(cw.ClasswiseError, match="No member of this stack is made of sums"):
            linear.fit_statistics(linear.summarize(X, y))
        with pytest.raises(cw.ClasswiseError, match="not a ClassStatistics"):
            m.fit_statistics(cw.summarize(X, y))
        with pytest.raises(cw.ClasswiseError, match="no row of class 0"):
            m.fit_statistics(m.statistics_ - m.summarize(X[:50], y[:50]))
        with pytest.raises(cw.ClasswiseError, match="'new', which is not a class"):
            cw.AutoClassifier(members="fast").fit(X, y.astype(str)).summarize(X[:1], ["new"])

    def test_priors(self):
        m = cw.AutoClassifier(members="fast").fit(X, y)
        assert_allclose(m.priors_, 1 / 3)
        other = m.with_priors({0: 0.2, 1: 0.2, 2: 0.6})
        assert_allclose(other.priors_, [0.2, 0.2, 0.6])
        odds = m.predict_proba(X) * [0.2, 0.2, 0.6]
        assert_allclose(other.predict_proba(X), odds / odds.sum(axis=1, keepdims=True), rtol=1e-9)
        assert_allclose(m.predict_proba(X), cw.AutoClassifier(members="fast").fit(X, y).predict_proba(X))
        shifted = np.r_[0:50, 50:60, 100:105]
        assert m.estimate_priors(X[shifted])[0] > 0.6

    @pytest.mark.parametrize("empty", [np.nan, None])
    def test_a_column_without_values_changes_nothing(self, empty):
        rows, labels = ROWS_OF_PENGUINS.iloc[::3], SPECIES[::3]
        wider = rows.assign(empty=pd.Series([empty] * len(rows), index=rows.index, dtype=float if empty else object))
        options = {"members": ["mixtures", "one-dependence", "softmax"], "folds": 3}
        narrow, wide = cw.AutoClassifier(**options).fit(rows, labels), cw.AutoClassifier(**options).fit(wider, labels)
        assert_allclose(wide.predict_proba(wider), narrow.predict_proba(rows), rtol=1e-9)
        drawn, _ = wide.sample(5, random_state=0)
        assert drawn["empty"].isna().all()

    def test_explain(self, penguins):
        reason = penguins.explain(ROWS_OF_PENGUINS.iloc[[0]])
        odds = penguins.predict_log_proba(ROWS_OF_PENGUINS.iloc[[0]])[0]
        first, second = (penguins.classes_.tolist().index(label) for label in (reason.label, reason.other))
        assert_allclose(reason.log_odds, odds[first] - odds[second])
        assert_allclose(reason.prior + sum(reason.shares.values()) + reason.volume, reason.log_odds)
        assert "columns in combination" in str(reason)
        without = ROWS_OF_PENGUINS.iloc[[0]].assign(island=None)
        left = penguins.predict_log_proba(without.astype(ROWS_OF_PENGUINS.dtypes.to_dict()))[0]
        assert_allclose(reason.shares["island"], reason.log_odds - (left[first] - left[second]))
        given = penguins.explain(ROWS_OF_PENGUINS.iloc[0], label="Gentoo", against="Chinstrap")
        assert (given.label, given.other) == ("Gentoo", "Chinstrap")

    def test_sample(self, penguins):
        rows, labels = penguins.sample(3000, random_state=0)
        assert list(rows.columns) == list(ROWS_OF_PENGUINS.columns)
        assert rows.dtypes.to_dict() == ROWS_OF_PENGUINS.dtypes.to_dict()
        for label in penguins.classes_:
            drawn = rows[labels == label]["bill_length_mm"].mean()
            assert abs(drawn - ROWS_OF_PENGUINS[label == SPECIES]["bill_length_mm"].mean()) < 0.5
            assert abs((labels == label).mean() - (label == SPECIES).mean()) < 0.03
        assert set(rows["island"].dropna()) == set(ROWS_OF_PENGUINS["island"])
        again, _ = penguins.sample(3000, random_state=0)
        pd.testing.assert_frame_equal(rows, again)
        with pytest.raises(cw.NotAvailableError, match="is a model of the rows"):
            cw.AutoClassifier(members=["softmax"]).fit(X, y).sample()

    def test_sample_of_bins(self):
        m = cw.AutoClassifier(members=["one-dependence"]).fit(X, y)
        rows, labels = m.sample(2000, random_state=1)
        assert_allclose(
            [rows[labels == k].mean(axis=0) for k in range(3)], [X[y == k].mean(axis=0) for k in range(3)], atol=0.5
        )
        assert rows.min() >= X.min()
        assert rows.max() <= X.max()

    def test_pickles_hold_no_rows(self):
        """But for landmarks, which are rows, and leaves, of which more rows have more."""
        few = [name for name in SETS["default"] if name != "kernel softmax" and "trees" not in name]
        rng = np.random.default_rng(0)
        sizes = []
        for size in (200, 4000):
            labels = np.arange(size) % 2
            m = cw.AutoClassifier(members=few, folds=3).fit(rng.normal(size=(size, 3)) + labels[:, None], labels)
            sizes.append(len(pickle.dumps(m)))
            assert len(pickle.loads(pickle.dumps(m)).predict(np.zeros((5, 3)))) == 5
        assert sizes[1] < sizes[0] + 1000


class TestHardTables:
    def test_members_that_cannot_be_fitted_say_why(self):
        levels = pd.DataFrame({"a": ["x", "y"] * 30, "b": ["u", "u", "v"] * 20})
        labels = np.array([0, 0, 1] * 20)
        m = cw.AutoClassifier().fit(levels, labels)
        reasons = {line.name: line.reason for line in m.report_ if line.reason}
        assert reasons == {
            "own covariances, Yeo-Johnson": "There are no numbers to bend.",
            "softmax, quantile steps": "There are no numbers to make steps of.",
        }
        assert "left out: There are no numbers to bend." in str(m.report_)
        assert set(m.members_) == {*SETS["default"]} - {
            *reasons,
            "network",
            "deep network",
            "boosted trees",
        }  # few rows
        assert (m.predict(levels) == labels).all()

    def test_classifiers_have_short_names(self):
        long = make_pipeline(
            StandardScaler(),
            DecisionTreeClassifier(max_depth=2, min_samples_leaf=3, criterion="entropy", random_state=0),
        )
        members = [long, long, cw.NaiveBayes().fit(X, y), "class shares"]
        m = cw.AutoClassifier(members=members, folds=3).fit(X, y)
        names = ["DecisionTreeClassifier", "DecisionTreeClassifier 2", "NaiveBayes()", "class shares"]
        assert sorted(line.name for line in m.report_ if line.name in names) == sorted(names)

    def test_a_member_that_fails_does_not_stop_the_others(self):
        class Broken(DummyClassifier):
            def fit(self, X, y, sample_weight=None):
                raise RuntimeError("out of order")

        m = cw.AutoClassifier(members=["shared covariance", Broken()]).fit(X, y)
        assert [line.reason for line in m.report_] == ["", "out of order"]
        with pytest.raises(cw.ClasswiseError, match=r"No member could be fitted\. Broken\(\): out of order"):
            cw.AutoClassifier(members=[Broken()]).fit(X, y)

    @pytest.mark.parametrize("members", ["default", ["mixtures", "softmax"]])
    def test_without_time_class_shares_are_left(self, members):
        with pytest.warns(cw.OutOfTimeWarning, match="shares of the classes alone"):
            m = cw.AutoClassifier(members=members, time_limit=0).fit(X, y)
        assert list(m.members_) == ["class shares"]
        assert {line.reason for line in m.report_ if line.reason} == {"the time limit was over."}
        assert_allclose(m.predict_proba(X[:2]), 1 / 3, atol=0.01)

    @pytest.mark.parametrize("late", [*sorted(set(NAMED) - {"class shares"}), DecisionTreeClassifier(max_depth=1)])
    def test_a_member_is_given_up_in_its_middle_when_time_is_over(self, monkeypatch, late):
        """By a clock that goes on when it is looked at: the last look is at the fifth fold, or step, of the member."""
        looks = []

        def clock():
            looks.append(None)
            return float(len(looks))

        monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=clock))
        after = ("shared covariance" if late == "softmax" else "softmax") if late in NAMED else LogisticRegression()
        members = ["class shares", late, after]
        with threadpool_limits(1), pytest.warns(cw.OutOfTimeWarning):  # one after the other
            m = cw.AutoClassifier(members=members, time_limit=10).fit(X, y)
        reasons = {line.name: line.reason for line in m.report_}
        assert list(reasons.values()) == [
            "",
            "the time limit was over in the middle of it.",
            "the time limit was over.",
        ]
        assert list(m.members_) == ["class shares"]

    def test_time_enough_gives_the_same_members(self):
        free, limited = (cw.AutoClassifier(time_limit=limit).fit(X, y) for limit in (None, 3600))
        assert list(limited.members_) == list(free.members_)
        assert_allclose(limited.predict_proba(X), free.predict_proba(X), atol=0.01)

    @pytest.mark.parametrize("members", ["default", "fast"])
    def test_more_columns_than_rows(self, members):
        rng = np.random.default_rng(0)
        labels = np.arange(60) % 2
        rows = rng.normal(size=(60, 150)) + labels[:, None] * (np.arange(150) < 10) * 1.5
        m = cw.AutoClassifier(members=members).fit(rows, labels)
        new = rng.normal(size=(200, 150)) + (np.arange(200) % 2)[:, None] * (np.arange(150) < 10) * 1.5
        assert log_loss(np.arange(200) % 2, m.predict_proba(new)) < 0.45

    def test_classes_of_one_row_and_columns_that_never_vary(self):
        rng = np.random.default_rng(0)
        labels = np.r_[np.arange(60) % 2, 2, 3]
        rows = np.column_stack(
            [rng.normal(size=62) + 3 * labels, np.ones(62), rng.normal(size=62), np.full(62, np.nan)]
        )
        m = cw.AutoClassifier().fit(rows, labels)
        assert m.predict_proba(rows).shape == (62, 4)
        assert np.isfinite(m.predict_log_proba(rows)).all()
        assert not [line.reason for line in m.report_ if line.reason]

    def test_a_hundred_classes(self):
        rng = np.random.default_rng(0)
        labels = np.arange(600) % 100
        centers = rng.normal(size=(100, 4)) * 6
        m = cw.AutoClassifier(members=[*SETS["fast"], "one-dependence"]).fit(
            centers[labels] + rng.normal(size=(600, 4)), labels
        )
        new = centers[labels] + rng.normal(size=(600, 4))
        assert (m.predict(new) == labels).mean() > 0.8

    def test_many_rows_are_thinned_out_and_sums_learn_from_all(self, monkeypatch):
        rng = np.random.default_rng(0)
        labels = np.r_[np.arange(3000) % 2, np.full(8, 2)]
        rows = rng.normal(size=(3008, 3)) + labels[:, None]
        weights = rng.integers(1, 3, 3008).astype(float)
        whole = cw.AutoClassifier(members="fast").fit(rows, labels, weights)
        monkeypatch.setattr(limits, "MOST_TRIED", 600)
        thin = cw.AutoClassifier(members="fast").fit(rows, labels, weights)
        assert thin.rows_ == 3008
        for member in thin.members_.values():
            assert_allclose(member.sums.weight, np.bincount(labels, weights))
        assert np.abs(thin.predict_proba(rows) - whole.predict_proba(rows)).mean() < 0.02

    def test_large_offsets_and_scales(self):
        moved = X * [1e-6, 1e6, 1.0, 1e3] + [0, 1e9, -1e6, 0]
        plain, far = (cw.AutoClassifier().fit(rows, y) for rows in (X, moved))
        assert_allclose(far.predict_proba(moved), plain.predict_proba(X), atol=1e-3)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"members": "best"}, "members='best' is not an option; choose 'fast'"),
            ({"members": ["LDA"]}, "members has 'LDA', which is no member; name 'own covariances'"),
            ({"members": []}, "members is an empty list"),
            ({"combine": "vote"}, "combine='vote' is not an option"),
            ({"time_limit": -1}, "time_limit"),
            ({"folds": 1}, "folds=1 is not an option"),
        ],
    )
    def test_options_that_are_none(self, options, message):
        with pytest.raises(cw.ClasswiseError, match=message):
            cw.AutoClassifier(**options).fit(X, y)

    def test_rows_that_cannot_be_learned_from(self):
        with pytest.raises(cw.ClasswiseError, match="infinity"):
            cw.AutoClassifier().fit(np.where(X > 7.8, np.inf, X), y)
        with pytest.raises(cw.ClasswiseError, match="No class has rows in two folds"):
            cw.AutoClassifier().fit(X[[0, 60, 120]], y[[0, 60, 120]])
        with pytest.raises(ValueError, match="not fitted"):
            cw.AutoClassifier().predict(X)
        with pytest.raises(cw.ClasswiseError, match="is expecting 4 features"):
            cw.AutoClassifier(members="fast").fit(X, y).predict(X[:, :3])


def test_a_trained_member_makes_its_classifier_of_its_sums():
    study = mixed_study()
    encoding = Encoding.of(study.rows, study.levels, study.weights)
    sums = gather_sums(encoding, study.rows, study.codes, study.count, study.weights)
    trained = NAMED["own covariances"].cross(study).trained
    assert isinstance(trained, Generative)
    assert trained.relearned(trained.sums).classifier is not trained.classifier
    assert_allclose(sums.weight, study.class_weight.sum(axis=0))


class TestStreams:
    ROWS = pd.DataFrame(X, columns=list("abcd")).assign(
        kind=np.where(np.arange(150) % 7 == 0, None, np.where(X[:, 0] > 5.8, "long", "short")),
        y=np.array(["s", "t", "u"])[y],
        w=1.0 + np.arange(150) % 2,
    )

    def write(self, folder):
        for i in range(3):
            self.ROWS[i * 50 : (i + 1) * 50].to_csv(folder / f"part-{i}.csv", index=False)
        return str(folder / "part-*.csv")

    def test_few_rows_are_all_drawn_and_the_model_is_that_of_all(self, tmp_path):
        path, features = self.write(tmp_path), self.ROWS[["a", "b", "c", "d", "kind"]]
        found = cw.AutoClassifier().fit_source(path, target="y", columns=list(features))
        expected = cw.AutoClassifier().fit(features, self.ROWS["y"])
        assert found.rows_ == 150
        assert_allclose(found.predict_proba(features), expected.predict_proba(features), rtol=1e-6)
        weighed = cw.AutoClassifier(members="fast").fit_source(path, target="y", weights="w")
        assert weighed.feature_names_in_.tolist() == list(features)
        for member in weighed.members_.values():
            assert_allclose(member.sums.weight, self.ROWS.groupby("y")["w"].sum())

    def test_rows_drawn_stand_for_all_and_chunks_do_not_matter(self, monkeypatch):
        rng = np.random.default_rng(0)
        labels = np.r_[np.arange(4000) % 2, np.full(60, 2)]
        order = rng.permutation(len(labels))
        rows = pd.DataFrame(rng.normal(size=(4060, 2)) + labels[:, None], columns=["a", "b"]).assign(y=labels)
        rows = rows.iloc[order].reset_index(drop=True)
        monkeypatch.setattr(limits, "MOST_TRIED", 500)

        def made(size):
            return lambda: (rows[i : i + size] for i in range(0, len(rows), size))

        models = [cw.AutoClassifier(members="fast").fit_source(made(size), target="y") for size in (64, 1000, 4060)]
        features = rows[["a", "b"]]
        for m in models:
            assert m.rows_ == 4060
            for member in m.members_.values():
                assert_allclose(member.sums.weight, [2000, 2000, 60])
            assert_allclose(m.predict_proba(features), models[0].predict_proba(features), rtol=1e-6)
        with_none = rows.loc[np.arange(4060).repeat(2)].assign(
            w=np.arange(8120) % 2.0
        )  # every other row weighs nothing
        weighed = cw.AutoClassifier(members="fast").fit_source(lambda: iter([with_none]), target="y", weights="w")
        assert_allclose(weighed.predict_proba(features), models[0].predict_proba(features), rtol=1e-6)
        whole = cw.AutoClassifier(members="fast").fit(features, rows["y"])
        assert np.abs(models[0].predict_proba(features) - whole.predict_proba(features)).mean() < 0.03

    def test_what_cannot_be_read_twice_or_not_at_all(self, tmp_path):
        with pytest.raises(cw.ClasswiseError, match="these can be read once"):
            cw.AutoClassifier().fit_source(iter([self.ROWS]), target="y")
        with pytest.raises(cw.ClasswiseError, match="'species'"):
            cw.AutoClassifier().fit_source(self.write(tmp_path), target="species")
        empty = self.ROWS.assign(y=None)
        with pytest.raises(cw.ClasswiseError, match="no rows to learn from"):
            cw.AutoClassifier().fit_source(lambda: iter([empty]), target="y")
