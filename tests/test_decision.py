"""Decisions: least expected cost, Chow's rule, and Decision as an estimator among others."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palmerpenguins import load_penguins
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, confusion_matrix
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import classwise as cw
from classwise.classifier.decision import Policy, read_costs, reject_curve

X, y = load_iris(return_X_y=True)
MODEL = cw.QDA().fit(X, y)
POSTERIOR = MODEL.predict_proba(X)


class TestCosts:
    @given(st.integers(0, 500))
    def test_equals_minimizing_expected_cost_by_hand(self, seed):
        rng = np.random.default_rng(seed)
        costs = rng.uniform(0, 5, (3, 3))
        m = cw.Decision(MODEL, costs=costs)
        by_hand = [min(range(3), key=lambda j: sum(p[i] * costs[i][j] for i in range(3))) for p in POSTERIOR]
        np.testing.assert_array_equal(m.predict(X), by_hand)
        least = [min(sum(p[i] * costs[i][j] for i in range(3)) for j in range(3)) for p in POSTERIOR]
        np.testing.assert_allclose(m.decide(X).cost, least, rtol=1e-12)
        np.testing.assert_allclose(m.expected_costs(X).min(axis=1), least, rtol=1e-12)

    @given(seed=st.integers(0, 10**6), classes=st.integers(2, 7), gains=st.booleans(), reject=st.floats(0, 3))
    @settings(max_examples=25)
    def test_for_any_number_of_classes_and_with_a_price_for_refusing(self, seed, classes, gains, reject):
        """Every decision, and refusing too, is tried by hand; the least expected cost wins."""
        rng = np.random.default_rng(seed)
        labels = np.arange(12 * classes) % classes
        rows = rng.normal(size=(len(labels), 2)) + 1.5 * rng.normal(size=(classes, 2))[labels]
        names = np.array(list("gfedcba"))[:classes]
        costs = rng.uniform(-2 if gains else 0, 5, (classes, classes))
        m = cw.LDA().fit(rows, names[labels])
        decided = cw.Decision(m, costs=costs, reject=reject).decide(rows)
        for p, label, cost, refused in zip(m.predict_proba(rows), *decided[:3], strict=True):
            by_hand = {
                m.classes_[j]: sum(p[i] * costs[i][j] for i in range(classes)) for j in range(classes)
            } | {"reject": reject}  # fmt: skip
            assert cost == pytest.approx(min(by_hand.values()), abs=1e-12)
            assert by_hand[label] == pytest.approx(cost, abs=1e-12)
            assert refused == (label == "reject")

    def test_of_errors_alone_is_predict(self):
        np.testing.assert_array_equal(cw.Decision(MODEL).predict(X), MODEL.predict(X))
        np.testing.assert_allclose(cw.Decision(MODEL).decide(X).cost, 1 - POSTERIOR.max(axis=1), atol=1e-12)

    @pytest.mark.parametrize("classes", [3, 5, 6, 12])
    def test_of_errors_alone_is_predict_where_classes_tie(self, classes):
        """Sums of the other posteriors are rounded in different ways; a tie is a tie all the same."""
        turn = 2 * np.pi * np.arange(classes) / classes
        means = np.column_stack([np.cos(turn), np.sin(turn), 0.1 * (np.arange(classes) % 3)])
        X = np.concatenate([means + step for step in 0.3 * np.vstack([np.eye(3), -np.eye(3)])])
        m = cw.NearestMean().fit(X, np.tile(np.arange(classes), 6))
        half = (turn[:, None] + turn) / 2
        on_edges = np.column_stack([np.cos(half.ravel()), np.sin(half.ravel()), np.zeros(half.size)])
        rows = np.concatenate([np.zeros((1, 3)), 0.5 * on_edges, 2 * on_edges])
        np.testing.assert_array_equal(cw.Decision(m).predict(rows), m.predict(rows))

    @given(st.integers(0, 10**6))
    def test_of_errors_alone_the_first_of_equal_posteriors_is_announced(self, seed):
        rng = np.random.default_rng(seed)
        posterior = rng.random(rng.integers(5, 12))
        pair = np.sort(rng.choice(len(posterior), 2, replace=False))
        posterior[pair] = 1.1 * posterior.max()
        posterior /= posterior.sum()
        codes = Policy(1 - np.eye(len(posterior))).decide(posterior[:, None]).codes
        assert codes[0] == pair[0]

    def test_as_a_frame_it_is_read_by_its_labels(self):
        labels = ["well", "ill"]
        frame = pd.DataFrame([[0, 1], [50, 0]], index=labels, columns=labels)
        expected = read_costs({"ill": {"well": 50}}, np.array(["ill", "well"]))
        np.testing.assert_array_equal(read_costs(frame, np.array(["ill", "well"])), expected)
        np.testing.assert_array_equal(read_costs(frame.to_numpy()[::-1, ::-1], np.array(["ill", "well"])), expected)
        with pytest.raises(cw.ClasswiseError, match="names a label twice"):
            read_costs(frame.iloc[[0, 0]], np.array(["ill", "well"]))

    def test_as_a_mapping(self):
        labels = np.array(["ill", "unclear", "well"])
        matrix = read_costs({"ill": {"well": 50, "unclear": 2}, "well": {"well": -1}}, labels)
        np.testing.assert_array_equal(matrix, [[0, 2, 50], [1, 0, 1], [1, 1, -1]])

    def test_move_the_decision(self):
        rows, labels = load_breast_cancer(return_X_y=True)
        plain = cw.LDA(calibrate="temperature").fit(rows, labels)
        careful = cw.Decision(plain, costs={0: {1: 30}})
        missed = [int(((m.predict(rows) == 1) & (labels == 0)).sum()) for m in (plain, careful)]
        assert missed[1] < missed[0] / 2

    @pytest.mark.parametrize(
        ("costs", "message"),
        [
            (np.ones((2, 2)), r"costs has shape \(2, 2\), and 3 classes take one of \(3, 3\)"),
            ({7: {0: 1}}, "costs names 7, which is not a class"),
            ({0: {9: 1}}, "costs names 9, which is not a class"),
            ({0: 3}, r"costs\[0\] must map decisions to their costs"),
            (np.full((3, 3), np.nan), "to decide for 0 when 0 is true costs nan"),
            ({1: {2: np.inf}}, "to decide for 2 when 1 is true costs inf"),
            ({1: {2: "much"}}, r"costs\[1\]\[2\]='much' is not a number"),
            ("high", "costs='high' is not a matrix of numbers"),
            ([[0, 1, 1], [1, 0]], "is not a matrix of numbers, with a row for each true label"),
            ([0, 1, 1], r"costs has shape \(3,\)"),
            (pd.DataFrame(np.ones((3, 3)), index=list("abc")), "costs names 'a', which is not a class"),
        ],
    )
    def test_that_make_no_sense(self, costs, message):
        with pytest.raises(cw.ClasswiseError, match=message):
            cw.Decision(MODEL, costs=costs).predict(X)


class TestReject:
    @pytest.mark.parametrize("cost", [0.001, 0.1, 0.3, 0.7])
    def test_is_chows_rule(self, cost):
        m = cw.Decision(MODEL, reject=cost)
        refused = POSTERIOR.max(axis=1) < 1 - cost
        decided = m.decide(X)
        np.testing.assert_array_equal(decided.refused, refused)
        np.testing.assert_array_equal(decided.labels[~refused], MODEL.predict(X)[~refused])
        assert (decided.labels[refused] == -1).all()
        np.testing.assert_allclose(decided.cost, np.minimum(1 - POSTERIOR.max(axis=1), cost), atol=1e-12)

    def test_below_a_posterior(self):
        m = cw.Decision(MODEL, reject={"posterior": 0.95}, reject_label=-1)
        np.testing.assert_array_equal(m.predict(X) == -1, POSTERIOR.max(axis=1) < 0.95)
        decided = m.decide(X)
        np.testing.assert_array_equal(np.isnan(decided.cost), decided.refused)  # that has no price

    def test_below_a_posterior_of_the_label_that_costs_least(self):
        """With costs that is not always the most probable one."""
        costs = {2: {1: 30}}
        plain, sure = cw.Decision(MODEL, costs=costs), cw.Decision(MODEL, costs=costs, reject={"posterior": 0.5})
        announced = plain.predict(X)
        expected = POSTERIOR[np.arange(150), announced] < 0.5
        assert expected.any()
        np.testing.assert_array_equal(sure.decide(X).refused, expected)

    @pytest.mark.parametrize(("option", "value"), [("reject", 0.1), ("novelty", 0.1)])
    def test_labels_of_their_own(self, option, value):
        name = {"reject": "reject_label", "novelty": "novel_label"}[option]
        with pytest.raises(cw.ClasswiseError, match=rf"{name}=1 is one of the classes, \[0, 1, 2\]"):
            cw.Decision(cw.LDA(), **{option: value, name: 1}).fit(X, y)
        assert (
            cw.Decision(cw.LDA(), **{name: 1}).fit(X, y).predict(X).tolist() == cw.LDA().fit(X, y).predict(X).tolist()
        )

    def test_costs_less_than_any_decision(self):
        """With dear errors more is refused."""
        cheap, dear = (Policy(c * (1 - np.eye(3)), refusing=0.2).decide(POSTERIOR.T).refused.sum() for c in (1, 20))
        assert dear > cheap

    @pytest.mark.parametrize("reject", ["often", {"posterior": 2}, {"odds": 0.1}, np.inf, True])
    def test_that_makes_no_sense(self, reject):
        with pytest.raises(cw.ClasswiseError, match="reject"):
            cw.Decision(MODEL, reject=reject).predict(X)

    def test_curve(self):
        curve = MODEL.reject_curve(X, y)
        order = np.argsort(-POSTERIOR.max(axis=1), kind="stable")
        wrong = (MODEL.predict(X) != y)[order]
        assert curve.coverage[-1] == 1
        for bar in (0.5, 0.9, 0.99):  # the bar on the posterior is that of Chow's rule
            refused = cw.Decision(MODEL, reject=1 - bar).decide(X).refused
            place = np.flatnonzero(curve.posterior >= bar)[-1]
            assert curve.coverage[place] == pytest.approx((~refused).mean())
            assert curve.error[place] == pytest.approx((MODEL.predict(X) != y)[~refused].mean())
        assert curve.error[-1] == pytest.approx(wrong.mean())
        for coverage in (0.5, 0.8, 0.95):
            assert curve.at(coverage) == pytest.approx(wrong[: round(150 * coverage)].mean(), abs=0.01)
        assert (np.diff(curve.coverage) > 0).all()
        assert 0 < curve.area < curve.error[-1]

    def test_curve_counts_weights(self):
        weights = np.random.default_rng(0).integers(1, 4, 150).astype(float)
        twice = np.repeat(np.arange(150), weights.astype(int))
        ours, theirs = MODEL.reject_curve(X, y, weights), MODEL.reject_curve(X[twice], y[twice])
        np.testing.assert_allclose(ours.coverage, theirs.coverage)
        np.testing.assert_allclose(ours.error, theirs.error)

    def test_rows_of_one_posterior_come_in_together(self):
        curve = reject_curve(np.array([[0.9, 0.1], [0.6, 0.4], [0.6, 0.4]]), np.array([0, 0, 1]))
        np.testing.assert_allclose(curve.coverage, [1 / 3, 1])
        np.testing.assert_allclose(curve.error, [0, 1 / 3])


class TestEstimator:
    def test_fits_a_clone(self):
        model = cw.QDA()
        m = cw.Decision(model, reject=0.1).fit(X, y)
        assert not hasattr(model, "statistics_")
        np.testing.assert_allclose(m.predict_proba(X), POSTERIOR)
        assert m.classes_.tolist() == [0, 1, 2]
        assert m.n_features_in_ == 4
        assert clone(m).reject == 0.1

    def test_in_cross_validation(self):
        decided = cross_val_predict(cw.Decision(cw.LDA(), reject=0.2, reject_label=-1), X, y, cv=5)
        assert set(decided.tolist()) == {-1, 0, 1, 2}
        kept = decided != -1
        assert (decided[kept] != y[kept]).mean() < 0.02

    def test_other_models(self):
        m = cw.Decision(cw.AutoClassifier(members="fast", folds=3), costs={0: {1: 3}}).fit(X, y)
        assert (m.predict(X) == y).mean() > 0.95

    def test_weights(self):
        weights = np.r_[np.ones(100), np.full(50, 5.0)]
        m = cw.Decision(cw.LDA()).fit(X, y, weights)
        np.testing.assert_array_equal(m.predict(X), cw.LDA().fit(X, y, weights).predict(X))

    def test_score_counts_what_is_refused_as_wrong(self):
        m = cw.Decision(MODEL, reject=0.1)
        assert m.score(X, y) == pytest.approx((MODEL.predict(X) == y)[POSTERIOR.max(axis=1) >= 0.9].sum() / 150)

    def test_under_other_priors(self):
        m = cw.LDA().fit(X[:120], y[:120])
        for decision in (cw.Decision(m, reject=0.1), cw.Decision(cw.LDA(), reject=0.1).fit(X[:120], y[:120])):
            other = decision.with_priors("uniform")
            expected = cw.Decision(m.with_priors("uniform"), reject=0.1)
            assert other.predict(X).tolist() == expected.predict(X).tolist()
            assert decision.predict(X).tolist() == cw.Decision(m, reject=0.1).predict(X).tolist()
        with pytest.raises(cw.ClasswiseError, match="learned under the priors of fit"):
            cw.Decision(cw.LDA(), novelty=0.1).fit(X[:120], y[:120]).with_priors("uniform")

    def test_not_fitted(self):
        with pytest.raises(NotFittedError, match="call fit, or give it a model that is"):
            cw.Decision(cw.LDA()).predict(X)

    def test_options(self):
        with pytest.raises(cw.ClasswiseError, match="novelty=2 is not an option"):
            cw.Decision(cw.LDA(), novelty=2).fit(X, y)
        with pytest.raises(cw.ClasswiseError, match="law='normal' is not an option"):
            cw.Decision(cw.LDA(), novelty=0.1, law="normal").fit(X, y)

    def test_score_with_weights(self):
        weights = np.random.default_rng(0).integers(0, 3, 150).astype(float)
        m = cw.Decision(MODEL, reject=0.1)
        twice = np.repeat(np.arange(150), weights.astype(int))
        assert m.score(X, y, weights) == pytest.approx(m.score(X[twice], y[twice]))

    @pytest.mark.parametrize(
        ("labels", "reject_label", "kind"),
        [
            (np.array([3, 5, 9]), -1, "i"),
            (np.array([3, 5, 9]), "?", "O"),
            (np.array(["a", "b", "c"]), "undecided", "U"),
            (np.array(["a", "b", "c"]), -1, "O"),
            (np.array([1.0, 2.0, 3.0]), -1, "f"),
        ],
    )
    def test_labels_of_any_type(self, labels, reject_label, kind):
        """What is announced is of the labels' type where that can be: scikit-learn's scores take no mixtures."""
        m = cw.Decision(cw.QDA(), reject=0.1, reject_label=reject_label).fit(X, labels[y])
        announced = m.predict(X)
        refused = m.decide(X).refused
        assert refused.any()
        assert announced.dtype.kind == kind
        assert announced[refused].tolist() == [reject_label] * int(refused.sum())
        np.testing.assert_array_equal(
            announced[~refused].astype(labels.dtype), labels[POSTERIOR.argmax(axis=1)][~refused]
        )
        if kind != "O":
            assert accuracy_score(labels[y], announced) == pytest.approx(m.score(X, labels[y]))

    @pytest.mark.parametrize(
        ("labels", "refused", "novel"),
        [
            (np.array([3, 5, 9]), -1, -2),
            (np.array([-1, 0, 1]), -2, -3),
            (np.array([-1.0, 0.0, 2.0]), -2.0, -3.0),
            (np.array([1, 2, 3], dtype=np.uint8), -1, -2),
            (np.array(["a", "b", "c"]), "reject", "novel"),
        ],
    )
    def test_by_itself_what_is_announced_has_the_type_of_the_labels(self, labels, refused, novel):
        m = cw.Decision(cw.QDA(), reject=0.1, novelty=0.05).fit(X, labels[y])
        decided, announced = m.decide(X), m.predict(X)
        assert (m.reject_label_, m.novel_label_) == (refused, novel)
        assert set(announced[decided.refused].tolist()) == {refused}
        assert set(announced[decided.novel].tolist()) == {novel}
        assert accuracy_score(labels[y], announced) == pytest.approx(m.score(X, labels[y]))
        assert confusion_matrix(labels[y], announced).shape == (5, 5)
        assert announced.dtype.kind == ("i" if labels.dtype.kind == "u" else labels.dtype.kind)

    def test_labels_without_a_sign_lose_no_digit_beside_one_that_has_it(self):
        rng = np.random.default_rng(0)
        rows = np.r_[rng.normal(0, 1, 50), rng.normal(2, 1, 50)][:, None]
        labels = np.repeat(np.array([2**63 + 5, 2**63 + 7], dtype=np.uint64), 50)
        m = cw.Decision(cw.LDA(), reject={"posterior": 0.9}).fit(rows, labels)
        assert set(m.predict(rows).tolist()) == {2**63 + 5, 2**63 + 7, -1}
        m = cw.Decision(cw.LDA(), reject={"posterior": 0.9}).fit(rows, np.repeat(np.array([5, 7], dtype=np.uint8), 50))
        assert m.predict(rows).dtype == np.int64

    def test_labels_that_are_true_and_false(self):
        m = cw.Decision(cw.LDA(), costs={True: {False: 5}}, reject=0.2).fit(X, y == 1)
        assert set(m.predict(X).tolist()) == {True, False, "reject"}
        assert m.costs == {True: {False: 5}}

    def test_in_a_pipeline_a_grid_and_a_pickle(self):
        costs = {0: {1: 5}}
        steps = make_pipeline(StandardScaler(), cw.Decision(cw.QDA(), costs=costs, reject=0.1, reject_label=-1))
        search = GridSearchCV(steps, {"decision__reject": [0.01, 0.2, 0.9], "decision__model__share": [0.0, 1.0]}, cv=3)
        search.fit(X, y)
        assert search.best_params_["decision__reject"] == 0.9  # what is refused counts as wrong
        fitted = pickle.loads(pickle.dumps(search.best_estimator_))
        np.testing.assert_array_equal(fitted.predict(X), search.predict(X))
        copy = clone(search.best_estimator_)
        assert copy[-1].costs == costs
        assert not hasattr(copy[-1], "model_")
        np.testing.assert_array_equal(copy.fit(X, y).predict(X), search.predict(X))

    def test_a_grid_by_what_decisions_cost(self):
        """A scorer of one's own: what refusing at each price has cost on rows held out."""

        def saved(estimator, rows, labels):
            decided = estimator.decide(rows)
            return -float(np.where(decided.refused, 0.3, decided.labels != labels).mean())

        options = {"reject": [1e-9, 0.3, 1.0]}
        search = GridSearchCV(cw.Decision(cw.LDA(), reject_label=-1), options, scoring=saved, cv=5).fit(X[:, :2], y)
        assert search.best_params_ == {"reject": 0.3}

    @pytest.mark.parametrize(
        "model",
        [
            cw.LDA(estimate="bayes"),
            cw.NaiveBayes(families="best"),
            cw.RDA(),
            make_pipeline(StandardScaler(), cw.QDA()),
            GridSearchCV(cw.RDA(shrink=0.1), {"share": [0.1, 0.9]}, cv=3),
            LogisticRegression(max_iter=1000),
        ],
        ids=lambda model: type(model).__name__,
    )
    def test_of_any_model(self, model):
        m = cw.Decision(model, costs={1: {2: 4}}, reject=0.4).fit(X, y)
        expected = clone(model).fit(X, y).predict_proba(X)
        np.testing.assert_allclose(m.predict_proba(X), expected, atol=1e-12)
        costs = expected @ np.array([[0, 1, 1], [1, 0, 4], [1, 1, 0]])
        np.testing.assert_array_equal(m.decide(X).refused, costs.min(axis=1) > 0.4)
        np.testing.assert_allclose(m.expected_costs(X), costs, atol=1e-12)

    def test_of_mixed_tables_with_gaps(self):
        penguins = load_penguins()
        rows, labels = penguins.drop(columns=["species", "year"]), penguins["species"]
        assert rows.isna().any(axis=None)
        m = cw.Decision(cw.NaiveBayes(), reject=0.05).fit(rows, labels)
        posterior = cw.NaiveBayes().fit(rows, labels).predict_proba(rows)
        np.testing.assert_array_equal(m.decide(rows).refused, posterior.max(axis=1) < 0.95)
        assert m.feature_names_in_.tolist() == list(rows.columns)

    def test_where_a_label_is_missing(self):
        labels = y.astype(float)
        labels[3] = np.nan
        rest = np.arange(150) != 3
        with pytest.warns(cw.errors.MissingLabelWarning):
            m = cw.Decision(cw.QDA(), novelty=0.1).fit(X, labels)
        assert m.threshold_ == cw.Decision(cw.QDA(), novelty=0.1).fit(X[rest], labels[rest]).threshold_
