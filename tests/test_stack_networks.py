"""Networks and boosted trees in a stack: gradients and means against direct evaluation, and honest held-out rows."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime
from scipy.special import log_softmax
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.neural_network import MLPClassifier

import classwise as cw
from classwise import limits
from classwise.comparison.stack import NAMED, boosted_members, network_members
from classwise.comparison.stack.boosted_members import BoostedColumns, BoostedRows, FoldBoosting
from classwise.comparison.stack.folded_rows import FoldedRows
from classwise.comparison.stack.layers import Labeled, Shape, bagged, scores
from classwise.errors import ClasswiseError, OutOfTimeError
from test_auto import make_study, mixed_study

NEW = ["network", "deep network", "boosted trees"]


def boosted(study, parts):
    """Boosting without the first fold, and log posteriors of its rows after each round of the last part."""
    boosting, rows = FoldBoosting.of(study, 0), BoostedRows(study, BoostedColumns.of(study).codes(study.rows))
    return boosting, [boosting.go_on(rows) for _ in range(parts)][-1]


def labeled(rng, n=30, width=4, count=3):
    inputs = rng.normal(size=(n, width)).astype(np.float32)
    return Labeled.of(inputs, rng.integers(0, count, n), count, rng.uniform(0.5, 2.0, n))


class TestLayers:
    @settings(max_examples=10, deadline=None)
    @given(hidden=st.sampled_from([(), (5,), (4, 3)]), ridge=st.floats(0, 5), seed=st.integers(0, 99))
    def test_the_gradient_is_that_of_differences(self, hidden, ridge, seed):
        rng = np.random.default_rng(seed)
        rows, shape = labeled(rng), Shape((4, *hidden, 3))
        vector = rng.normal(size=len(shape.start(rng))) * 0.5
        _, slopes = shape.objective(vector, rows, ridge)
        differences = approx_fprime(vector, lambda v: self.penalized_loss(shape, v, rows, ridge), 1e-6)
        assert_allclose(slopes, differences, rtol=1e-3, atol=1e-3)
        loss, _ = shape.objective(vector, rows, ridge)
        assert_allclose(loss, self.penalized_loss(shape, vector, rows, ridge), rtol=1e-5)

    @staticmethod
    def penalized_loss(shape, vector, rows, ridge):
        """By layers, in double precision."""
        layers = shape.layers(vector)
        logs = log_softmax(scores(layers, rows.inputs.astype(float)), axis=1)
        penalty = sum((layer.weights**2).sum() for layer in layers)
        return -(rows.weights[:, None].astype(float) * rows.classes.T * logs).sum() + ridge / 2 * penalty

    def test_scores_are_those_of_scikit_learn(self):
        rng = np.random.default_rng(0)
        shape = Shape((4, 6, 5, 3))
        vector, rows = shape.start(rng), labeled(rng)
        peer = MLPClassifier((6, 5), activation="tanh", max_iter=1, random_state=0)
        with pytest.warns(ConvergenceWarning):
            peer.fit(rows.inputs.astype(float), rows.classes.argmax(axis=0))
        layers = shape.layers(vector)
        peer.coefs_, peer.intercepts_ = [of.weights.T for of in layers], [of.bias for of in layers]
        expected = np.log(peer.predict_proba(rows.inputs.astype(float)))
        assert_allclose(log_softmax(scores(layers, rows.inputs.astype(float)), axis=1), expected, rtol=1e-9)
        assert_allclose(shape.scores(vector, rows.inputs), scores(layers, rows.inputs.astype(float)), atol=1e-5)

    @pytest.mark.parametrize("hidden", [(5,), (4, 3), (3, 4, 5)])
    def test_a_bag_is_one_network_with_the_mean_of_the_scores(self, hidden):
        rng = np.random.default_rng(1)
        shape, inputs = Shape((4, *hidden, 3)), rng.normal(size=(7, 4))
        vectors = [rng.normal(size=len(shape.start(rng))) for _ in range(3)]
        mean = np.mean([scores(shape.layers(vector), inputs) for vector in vectors], axis=0)
        assert_allclose(scores(bagged([*map(shape.layers, vectors)]), inputs), mean, rtol=1e-12)

    def test_without_hidden_layers_it_is_softmax_regression(self):
        rng = np.random.default_rng(2)
        rows, shape = labeled(rng, n=200), Shape((4, 3))
        (layer,) = shape.layers(shape.fit(shape.start(rng), rows, 2.0, lambda: None))
        exact = LogisticRegression(C=0.5, tol=1e-10, max_iter=1000)
        exact.fit(rows.inputs, rows.classes.argmax(axis=0), rows.weights)
        assert_allclose(layer.weights, exact.coef_, atol=2e-3)

    def test_a_row_of_weight_two_is_two_rows(self):
        rng = np.random.default_rng(3)
        shape = Shape((4, 5, 3))
        rows = labeled(rng)._replace(weights=np.full(30, 2, dtype=np.float32))
        twice = rows.select(np.tile(np.arange(30), 2))._replace(weights=np.ones(60, np.float32))
        vector = shape.start(rng)
        for one, other in zip(shape.objective(vector, rows, 1.0), shape.objective(vector, twice, 1.0), strict=True):
            assert_allclose(one, other, rtol=1e-4, atol=1e-4)

    def test_time_over_ends_a_fit(self):
        def over():
            raise OutOfTimeError("over")

        rng = np.random.default_rng(4)
        with pytest.raises(OutOfTimeError):
            Shape((4, 3)).fit(np.zeros(15), labeled(rng), 1.0, over)


class TestHeldOutRows:
    @pytest.mark.parametrize("name", NEW)
    def test_what_answers_for_rows_has_seen_no_label_of_them(self, monkeypatch, name):
        """Other labels of a fold may change how many rounds or which ridge is best: here both are given."""
        monkeypatch.setattr(network_members, "NETWORK_RIDGES", (1.0,))
        monkeypatch.setattr(boosted_members, "MOST_ROUNDS", boosted_members.PART)
        monkeypatch.setattr(FoldedRows, "least_lost", lambda rows, found: len(found) - 1)
        study = mixed_study()
        codes, held_out = study.codes.copy(), study.held_out[1]
        codes[held_out] = (codes[held_out] + 1) % study.count
        crossed, other = self.crossed(name, study), self.crossed(name, replace(study, codes=codes))
        assert_allclose(other.log_posterior[held_out], crossed.log_posterior[held_out], atol=1e-9)
        assert not np.allclose(other.log_posterior[study.held_out[0]], crossed.log_posterior[study.held_out[0]])

    @staticmethod
    def crossed(name, study):
        """Without the powers of the columns, which are fitted to all rows."""
        member = NAMED[name]
        return member.cross(study) if name == "boosted trees" else replace(member, transform=None).cross(study)

    @pytest.mark.parametrize("name", NEW)
    def test_the_member_is_the_mean_of_the_folds_and_better_than_shares(self, name):
        study = mixed_study(600, seed=1, weighted=False)
        crossed, new = NAMED[name].cross(study), mixed_study(600, seed=2, weighted=False)
        out_of_fold = log_loss(study.codes, np.exp(crossed.log_posterior))
        on_new = log_loss(new.codes, np.exp(crossed.trained.log_posterior(new.rows)).T)
        assert on_new < out_of_fold + 0.05 < 0.65

    def test_each_learns_from_no_more_rows_than_it_may(self, monkeypatch):
        monkeypatch.setattr(limits, "BAGGED_ROWS", 100)
        study = mixed_study(600, seed=1)
        for name in [*NEW, "kernel softmax"]:
            crossed = NAMED[name].cross(study)
            assert log_loss(study.codes, np.exp(crossed.log_posterior)) < 0.8

    def test_a_class_that_only_one_fold_has(self):
        study = mixed_study()
        study = replace(study, codes=np.where(np.arange(240) == study.held_out[2][0], 3, study.codes))
        study = replace(study, labels=np.arange(4))
        for name in NEW:
            crossed = NAMED[name].cross(study)
            assert np.isneginf(crossed.log_posterior[study.held_out[2], 3]).all()
            assert np.isfinite(crossed.trained.log_posterior(study.rows)).all()


class TestBoosting:
    def test_scores_are_those_of_scikit_learn(self, monkeypatch):
        """Of two classes both do the same, where all columns may be cut."""
        monkeypatch.setattr(boosted_members, "COLUMNS", 1.0)
        rng = np.random.default_rng(0)
        labels = rng.integers(0, 2, 400)
        study = make_study(
            rng.integers(0, 12, (400, 4)) + 3 * labels[:, None], labels, weights=rng.uniform(0.5, 2, 400)
        )
        boosting, (*_, last) = boosted(study, 1)
        theirs = HistGradientBoostingClassifier(
            learning_rate=boosted_members.RATE, max_iter=boosted_members.PART, early_stopping=False,
            max_leaf_nodes=boosted_members.GROWER.leaves, min_samples_leaf=boosted_members.GROWER.least,
            l2_regularization=boosted_members.GROWER.ridge, max_bins=boosted_members.GROWER.bins,
        )  # fmt: skip
        own = boosting.own
        theirs.fit(study.rows[own], study.codes[own], study.weights[own])
        assert_allclose(np.exp(last), theirs.predict_proba(study.rows[study.held_out[0]]), rtol=1e-5)

    @pytest.mark.parametrize("classes", [2, 3])
    def test_scores_are_sums_over_the_leaves_of_rows(self, classes):
        study = mixed_study()
        study = replace(study, codes=study.codes % classes, labels=np.arange(classes))
        boosting, (*_, last) = boosted(study, 2)
        trained = boosted_members._mean([boosting], BoostedColumns.of(study), 2 * boosted_members.PART, classes)
        assert trained.values.shape[1] == (1 if classes == 2 else 3)
        assert_allclose(trained.log_posterior(study.rows[study.held_out[0]]).T, last, rtol=1e-9)

    @pytest.mark.parametrize("classes", [2, 3])
    def test_a_leaf_takes_a_step_of_newton(self, classes, monkeypatch):
        """Of one tree, where every row has the class shares at first."""
        monkeypatch.setattr(boosted_members, "PART", 1)
        study = mixed_study()
        study = replace(study, codes=study.codes % classes, labels=np.arange(classes))
        boosting, _ = boosted(study, 1)
        ((tree, values),) = boosting.grown
        own, weights = boosting.own, study.weights[boosting.own]
        shares = np.bincount(study.codes[own], weights) / weights.sum()
        leaves = BoostedColumns.of(study).trees([tree])
        (leaf,) = leaves.leaves(leaves.codes(study.rows[own]))
        for number in range(tree.n_leaves):
            inside = leaf == number
            assert inside.sum() >= boosted_members.GROWER.least
            slope = [weights[inside] @ (p - (study.codes[own[inside]] == k)) for k, p in enumerate(shares)]
            curvature = weights[inside].sum() * shares * (1 - shares)
            step = -boosted_members.RATE * np.array(slope) / (curvature + boosted_members.GROWER.ridge)
            assert_allclose(values[number], step[-values.shape[1] :], rtol=1e-9, atol=1e-15)

    def test_missing_values_are_set_apart(self):
        rng = np.random.default_rng(0)
        x = rng.normal(size=400)
        gone = rng.random(400) < 0.3
        labels = (gone | (np.abs(x) < 0.3)).astype(int)
        study = make_study(np.where(gone, np.nan, x)[:, None], labels)
        posterior = np.exp(NAMED["boosted trees"].cross(study).trained.log_posterior(np.array([[np.nan], [-2.0]])))
        assert posterior[1, 0] > 0.9 > 0.1 > posterior[1, 1]

    def test_labels_without_any_pattern_need_no_round(self, monkeypatch):
        monkeypatch.setattr(boosted_members, "PART", 5)
        study = make_study(np.ones((60, 1)), np.arange(60) % 2, folds=3)
        with pytest.raises(ClasswiseError, match="No round lowers the log loss"):
            NAMED["boosted trees"].cross(study)


class TestSets:
    def test_sets_have_them_where_rows_are_enough_and_lists_always(self, monkeypatch):
        monkeypatch.setattr(limits, "FEWEST_BOOSTED_ROWS", 500)
        rng = np.random.default_rng(0)
        labels = np.arange(520) % 3
        rows = rng.normal(size=(520, 3)) + labels[:, None]
        assert not {*NEW} & self.tried(rows[:250], labels[:250], "default")
        assert {*NEW} & self.tried(rows[:320], labels[:320], "default") == {"network", "deep network"}
        assert {*NEW} < self.tried(rows, labels, "default")
        assert {*NEW} == self.tried(rows[:60], labels[:60], NEW)
        monkeypatch.setattr(limits, "MOST_BOOSTED_CLASSES", 2)
        assert "boosted trees" not in self.tried(rows, labels, "default")

    @staticmethod
    def tried(rows, labels, members):
        return {line.name for line in cw.AutoClassifier(members=members, folds=2).fit(rows, labels).report_}

    def test_tables_of_levels_alone(self):
        levels = pd.DataFrame({"a": ["x", "y"] * 60, "b": ["u", "u", "v"] * 40})
        labels = np.array([0, 0, 1] * 40)
        m = cw.AutoClassifier(members=NEW, folds=3).fit(levels, labels)
        assert set(m.members_) == {*NEW}
        assert (m.predict(levels) == labels).all()

    def test_it_keeps_answers_in_a_file(self, tmp_path):
        rng = np.random.default_rng(0)
        labels = np.array(["a", "b", "c"])[np.arange(150) % 3]
        rows = rng.normal(size=(150, 3)) + (np.arange(150) % 3)[:, None]
        rows[::7, 1] = np.nan
        m = cw.AutoClassifier(members=NEW, folds=3).fit(rows, labels)
        cw.save(m, tmp_path / "m.cw")
        assert (cw.load(tmp_path / "m.cw").predict_proba(rows) == m.predict_proba(rows)).all()
