"""ForestClassifier: counts of leaves add, subtract, weigh and stream to the same model; what it answers and refuses."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.metrics import log_loss

import classwise as cw
from classwise import limits
from classwise.forest.beliefs import BELIEFS
from sql_engines import spark_session
from surgery import closed, found, of_class, opened, replaced

N = 240


def make_rows(seed: int = 0, rows: int = N) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Numbers, some of them missing, and a category with gaps; labels, of which one occurs once; weights."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "length": rng.normal(1e6, 3, rows),
            "width": rng.normal(size=rows),
            "city": rng.choice(["Oslo", "Rome", "Bern", None], rows),
        }
    )
    y = np.where(table["length"] + 2 * rng.normal(size=rows) > 1e6, "high", "low").astype(object)
    y[(table["city"] == "Rome") & (rng.random(rows) < 0.5)] = "mid"
    y[0] = "once"
    table.loc[rng.random(rows) < 0.1, "width"] = np.nan
    return table, y, rng.uniform(0.5, 2.0, rows)


X, Y, W = make_rows()


def forest(**options: Any) -> cw.ForestClassifier:
    return cw.ForestClassifier(**{"trees": 12, **options})


def again(model: cw.ForestClassifier) -> cw.ForestClassifier:
    """A copy that can be fitted without changing the first."""
    other = clone(model)
    other.__dict__.update(model.__dict__)
    return other


class TestLaws:
    def test_parts_add_up_to_the_whole_in_any_order(self) -> None:
        m = forest().fit(X, Y, W)
        parts = [m.summarize(X.iloc[i::3], Y[i::3], W[i::3]) for i in range(3)]
        expected = m.predict_proba(X)
        for order in ([0, 1, 2], [2, 0, 1]):
            total = sum(parts[i] for i in order)
            assert total.rows == N
            np.testing.assert_allclose(again(m).fit_statistics(total).predict_proba(X), expected, atol=1e-12)

    def test_rows_can_be_taken_away_again(self) -> None:
        m = forest().fit(X, Y, W)
        later = m.summarize(X[:50], Y[:50], W[:50])
        np.testing.assert_allclose(
            again(m).fit_statistics(m.statistics_ + later - later).predict_proba(X), m.predict_proba(X), atol=1e-12
        )
        with pytest.raises(cw.StatisticsError, match="cannot be subtracted"):
            later - m.statistics_

    def test_a_weight_of_two_is_the_row_twice(self) -> None:
        m = forest().fit(X, Y)
        twice = np.r_[np.arange(N), np.arange(0, N, 3)]
        weights = np.where(np.arange(N) % 3 == 0, 2.0, 1.0)
        ours, theirs = m.summarize(X, Y, weights), m.summarize(X.iloc[twice], Y[twice])
        for statistics in (ours, theirs):
            assert statistics.weight.sum() == len(twice)
        np.testing.assert_allclose(
            again(m).fit_statistics(ours).predict_proba(X), again(m).fit_statistics(theirs).predict_proba(X), atol=1e-12
        )

    def test_batches_are_counted_in_the_trees_of_the_first(self) -> None:
        first, second = slice(150), slice(150, None)
        m = forest().partial_fit(X[first], Y[first], sample_weight=W[first])
        plain = forest().fit(X[first], Y[first], W[first])
        np.testing.assert_array_equal(m.predict_proba(X), plain.predict_proba(X))
        m.partial_fit(X[second], Y[second], sample_weight=W[second])
        plain.fit_statistics(plain.statistics_ + plain.summarize(X[second], Y[second], W[second]))
        np.testing.assert_array_equal(m.predict_proba(X), plain.predict_proba(X))
        assert m.statistics_.rows == N
        assert m.belief_ == plain.belief_

    @pytest.mark.parametrize("belief", BELIEFS)
    @pytest.mark.parametrize("priors", ["empirical", "uniform"])
    def test_leaving_a_row_out_equals_subtracting_it(self, belief: str, priors: str) -> None:
        m = forest(belief=belief, priors=priors).fit(X, Y, W)
        left_out = m.leave_one_out(X, Y, W)
        for i in (0, 3, 77, 239):  # row 0 is the only one of its class
            other = again(m).fit_statistics(m.statistics_ - m.summarize(X.iloc[[i]], Y[[i]], W[[i]]))
            expected = np.full(len(m.classes_), -np.inf)
            expected[np.isin(m.classes_, other.classes_)] = other.predict_log_proba(X.iloc[[i]])[0]
            np.testing.assert_allclose(left_out[i], expected, rtol=1e-12, atol=1e-12)

    def test_leaving_out_is_less_sure_than_keeping(self) -> None:
        m = forest(trees=50).fit(X, Y)
        own = np.searchsorted(m.classes_, Y)[1:], np.arange(1, N)
        assert m.leave_one_out_given == "trees"
        kept, left = m.predict_log_proba(X)[own[1], own[0]], m.leave_one_out(X, Y)[own[1], own[0]]
        assert (left < kept).all()
        np.testing.assert_allclose(np.exp(m.leave_one_out(X, Y)).sum(axis=1), 1)


class TestSources:
    """More rows than are held in memory, and than trees are grown by: the same model, wherever they are."""

    @pytest.fixture
    def whole(self, monkeypatch: pytest.MonkeyPatch) -> cw.ForestClassifier:
        monkeypatch.setattr(limits, "GROWN_ROWS", 100)
        m = forest().fit(X, Y, W)
        monkeypatch.setattr(limits, "MOST_HELD", 10)
        return m

    def test_a_file(self, whole: cw.ForestClassifier, tmp_path: Path) -> None:
        X.assign(y=Y, w=1.0).to_csv(tmp_path / "rows.csv", index=False)
        found = forest().fit_source(tmp_path / "rows.csv", target="y", weights="w")
        expected = forest().fit(X, Y)
        assert found.trees_.is_like(expected.trees_)
        assert found.statistics_.rows == N
        np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), atol=1e-12)

    @pytest.mark.xdist_group("engines")  # with the other tests of Spark, in a process where Java runs already
    @pytest.mark.parametrize("engine", ["dask", pytest.param("spark", marks=pytest.mark.slow)])
    def test_a_cluster_counts_what_memory_counts(self, engine: str, whole: cw.ForestClassifier) -> None:
        """Which rows trees are grown by depends on partitions; in the trees that there are, all rows are counted."""
        rows = pa.Table.from_pandas(X.assign(y=Y, w=W), preserve_index=False)
        if engine == "dask":
            dd = pytest.importorskip("dask.dataframe")
            found = forest().fit_source(dd.from_pandas(X.assign(y=Y, w=W), npartitions=3), target="y", weights="w")
        else:
            found = forest().fit_source(spark_session().createDataFrame(rows), target="y", weights="w")
        counted = found.summarize(X, Y, W)
        assert found.statistics_.labels.tolist() == counted.labels.tolist()
        np.testing.assert_allclose(
            found.statistics_.parts["leaves"].weight, counted.parts["leaves"].weight, rtol=1e-12, atol=1e-12
        )

    def test_rows_that_can_be_read_once_are_refused(self) -> None:
        with pytest.raises(cw.ClasswiseError, match="can be read once"):
            forest().fit_source(iter([X.assign(y=Y)]), target="y")


class TestAnswers:
    def test_held_out_rows_choose_belief_and_temperature(self) -> None:
        rows, labels = load_digits(return_X_y=True)
        losses = {}
        rows = rows[:, rows[::3].std(axis=0) > 0]
        for calibrate in ("temperature", None):
            m = forest(trees=50, calibrate=calibrate).fit(rows[::3], labels[::3])
            assert m.belief_losses_.keys() == BELIEFS.keys()
            assert m.belief_ == min(m.belief_losses_, key=m.belief_losses_.__getitem__)
            losses[calibrate] = m.evaluate(rows[1::3], labels[1::3]).log_loss
        assert losses["temperature"] < losses[None] / 2
        assert not hasattr(m, "calibration_")

    def test_trees_do_not_see_the_fold_that_they_answer_for(self) -> None:
        """Labels by chance: whoever had seen the rows would do better than chance."""
        rng = np.random.default_rng(3)
        rows, labels = rng.normal(size=(400, 3)), rng.integers(0, 2, 400)
        assert min(forest(trees=40, calibrate=None).fit(rows, labels).belief_losses_.values()) > 0.66
        assert forest(trees=40, belief="leaves", calibrate=None).fit(rows, labels).evaluate(rows, labels).log_loss < 0.5

    @pytest.mark.parametrize("cuts", ["random", "best"])
    def test_as_good_as_forests_are(self, cuts: str) -> None:
        rows, labels = load_breast_cancer(return_X_y=True)
        m = forest(cuts=cuts, trees=100).fit(rows[::2], labels[::2])
        found = m.evaluate(rows[1::2], labels[1::2])
        assert found.accuracy > 0.93
        maker = ExtraTreesClassifier if cuts == "random" else RandomForestClassifier
        theirs = maker(100, random_state=0).fit(rows[::2], labels[::2]).predict_proba(rows[1::2])
        assert found.log_loss < 1.1 * log_loss(labels[1::2], theirs)

    def test_new_levels_and_missing_ones_come_last(self) -> None:
        m = forest().fit(X, Y)
        rows = X[:20].assign(city="Paris")
        np.testing.assert_array_equal(m.predict_proba(rows), m.predict_proba(rows.assign(city=None)))
        means = X[:20].assign(width=X["width"].mean())
        np.testing.assert_allclose(m.predict_proba(means), m.predict_proba(means.assign(width=np.nan)))

    def test_classes_that_come_later_or_never(self) -> None:
        m = forest().partial_fit(X[1:150], Y[1:150], classes=["high", "low", "mid", "never", "once"])
        assert m.predict_proba(X)[:, [3, 4]].max() == 0
        m.partial_fit(X[:1], Y[:1])
        assert m.predict_proba(X[:1])[0, 4] > 0
        with pytest.raises(cw.ClasswiseError, match="'low', which is not among classes"):
            forest().partial_fit(X, Y, classes=["high", "mid"])

    def test_contributions_add_up(self) -> None:
        m = forest(priors="uniform").fit(X, Y)
        for i in range(5):
            reasons = m.explain(X.iloc[[i]])
            logs = dict(zip(m.classes_, m.predict_log_proba(X.iloc[[i]])[0], strict=True))
            assert reasons.log_odds == pytest.approx(logs[reasons.label] - logs[reasons.other], abs=1e-9)
            assert reasons.prior + sum(reasons.shares.values()) == pytest.approx(reasons.log_odds, abs=1e-9)
        silent = forest().fit(X.assign(noise=1.0).assign(noise=[0.0] * (N - 1) + [1.0]), Y)
        assert list(silent.explain(X.iloc[[1]].assign(noise=0.0)).shares) == [*X, "noise"]

    def test_other_priors_are_bayes_rule(self) -> None:
        m = forest().fit(X, Y)
        given = {"high": 0.2, "low": 0.5, "mid": 0.3, "once": 0.0}
        tilted = m.predict_proba(X) * [given[label] for label in m.classes_] / m.priors_
        expected = tilted / tilted.sum(axis=1, keepdims=True)
        other = m.with_priors(given)
        np.testing.assert_allclose(other.predict_proba(X), expected, atol=1e-12)
        np.testing.assert_allclose(other.with_priors("empirical").predict_proba(X), m.predict_proba(X), atol=1e-12)

    def test_groups_stay_in_one_fold(self) -> None:
        """Every row is there ten times: without groups, trees know the rows that they are asked about."""
        rng = np.random.default_rng(0)
        rows, labels = np.repeat(rng.normal(size=(40, 2)), 10, axis=0), np.repeat(rng.integers(0, 2, 40), 10)
        known = forest(calibrate=None).fit(rows, labels)
        fair = forest(calibrate=None).fit(rows, labels, groups=np.repeat(np.arange(40), 10))
        assert min(fair.belief_losses_.values()) > min(known.belief_losses_.values()) + 0.2

    def test_in_a_comparison_and_a_decision(self) -> None:
        found = cw.compare(X[1:], Y[1:], folds=3, models={"forest": forest()}, references=False, only=["lda"])
        (line,) = (line for line in found.table().lines if line.name == "forest")
        assert line.log_loss.value < 1.2
        decision = cw.Decision(forest(), costs={"high": {"low": 5}}, reject=0.4).fit(X[1:], Y[1:])
        assert set(decision.predict(X)) <= {"high", "low", "mid", "reject"}

    def test_prints(self) -> None:
        text = str(forest().fit(X, Y))
        assert "trees" in text
        assert "Log loss of held-out rows" in text


class TestRefusals:
    @pytest.mark.parametrize(
        ("options", "match"),
        [
            ({"cuts": "good"}, "cuts='good' is not an option; choose 'random' or 'best'"),
            ({"trees": 0}, "trees=0 is not an option"),
            ({"min_leaf": 0}, "min_leaf=0 is not an option"),
            ({"belief": "hope"}, "belief='hope' is not an option; choose 'cv', 'leaves'"),
            ({"calibrate": "isotonic"}, "calibrate='isotonic' is not an option"),
            ({"folds": 1}, "folds=1 is not an option"),
            ({"priors": "flat"}, "priors='flat' is not an option"),
        ],
    )
    def test_options(self, options: dict[str, Any], match: str) -> None:
        with pytest.raises(cw.ClasswiseError, match=match):
            forest(**options).fit(X, Y)

    def test_no_density_of_rows(self) -> None:
        m = forest().fit(X, Y)
        for name in ("sample", "log_density", "log_joint", "log_evidence"):
            assert not hasattr(m, name)
            with pytest.raises(cw.NotAvailableError, match=f"A forest has no {name}: trees tell classes apart"):
                getattr(m, name)
        with pytest.raises(cw.ClasswiseError, match="needs a model of the rows, and ForestClassifier has none"):
            cw.Decision(forest(), novelty=0.05).fit(X, Y)

    def test_statistics_of_other_trees(self) -> None:
        m, other = forest().fit(X, Y), forest(random_state=1).fit(X, Y)
        with pytest.raises(cw.StatisticsError, match="leaves of different trees"):
            m.statistics_ + other.statistics_
        with pytest.raises(cw.ClasswiseError, match=r"belief='cv' and calibrate='temperature' need rows"):
            m.fit_statistics(other.statistics_)
        with pytest.raises(cw.StatisticsError, match="no counts of leaves"):
            m.fit_statistics(cw.summarize(X, Y))
        with pytest.raises(cw.ClasswiseError, match="not dict"):
            m.fit_statistics({})
        taken = forest(belief="leaves", calibrate=None).fit_statistics(other.statistics_)
        plain = forest(belief="leaves", calibrate=None, random_state=1).fit(X, Y)
        np.testing.assert_array_equal(taken.predict_proba(X), plain.predict_proba(X))

    def test_rows(self) -> None:
        with pytest.raises(cw.ClasswiseError, match="at least two classes"):
            forest().fit(X, ["a"] * N)
        with pytest.raises(cw.ClasswiseError, match="No column of X varies"):
            forest().fit(np.ones((20, 2)), [0, 1] * 10)
        with pytest.raises(cw.ClasswiseError, match="infinity in 'width'"):
            forest().fit(X.assign(width=np.inf), Y)
        with pytest.raises(cw.ClasswiseError, match="infinity in 'width'"):
            forest().fit(X, Y).predict(X.assign(width=np.inf))


class TestFiles:
    @pytest.fixture
    def outlined(self, tmp_path: Path) -> Path:
        """Without counts: what is believed of nodes is there instead."""
        path = tmp_path / "m.cw"
        cw.save(forest(priors="uniform").fit(X, Y, W), path, statistics=False)
        return path

    def test_a_model_without_counts_answers_and_does_not_learn(self, outlined: Path) -> None:
        m, expected = cw.load(outlined), forest(priors="uniform").fit(X, Y, W)
        assert not m.statistics_.parts
        np.testing.assert_array_equal(m.predict_proba(X), expected.predict_proba(X))
        assert str(m.explain(X.iloc[[5]])) == str(expected.explain(X.iloc[[5]]))
        np.testing.assert_array_equal(
            m.with_priors("empirical").predict_proba(X), expected.with_priors("empirical").predict_proba(X)
        )
        for learn in (lambda: m.partial_fit(X, Y), lambda: m.leave_one_out(X, Y)):
            with pytest.raises(cw.StatisticsError, match="left out when the model was saved"):
                learn()

    @pytest.mark.parametrize(
        ("cls", "field", "change"),
        [
            ("Forest", "beliefs", lambda a: a[:-1]),
            ("Forest", "beliefs", lambda a: a[:, :1]),
            ("Forest", "beliefs", lambda a: -a),
            ("Forest", "beliefs", lambda a: 2 * a),
            ("Forest", "beliefs", lambda a: a * np.nan),
            ("Forest", "shift", lambda a: a * np.nan),
            ("Forest", "shift", lambda a: a + np.inf),
            ("Forest", "shift", lambda a: a - np.inf),
            ("Forest", "shift", lambda a: a[:1]),
            ("ForestModel", "ends", lambda a: a[:1]),
            ("ForestModel", "missing", lambda a: a[:1]),
        ],
    )
    def test_what_no_fit_can_have_made(self, outlined: Path, cls: str, field: str, change: Any) -> None:
        header, content, arrays = opened(outlined.read_bytes())
        path = (*of_class(content, cls)[0], "fields", field)
        node = found(content, path)
        arrays["changed"] = change(arrays[node["array"]].copy())
        outlined.write_bytes(closed(header, replaced(content, path, {**node, "array": "changed"}), arrays))
        with pytest.raises(cw.StoredFileError, match="damaged"):
            cw.load(outlined)


def test_onnx_is_exact() -> None:
    runtime = pytest.importorskip("onnxruntime")
    given = X.assign(city=X["city"].fillna("?"))
    for options in ({}, {"priors": "uniform", "cuts": "best"}, {"belief": "prunings", "calibrate": None}):
        m = forest(**options).fit(X, Y)
        session = runtime.InferenceSession(cw.to_onnx(m, missing="?").SerializeToString())
        odd = pd.concat([given, given[:9].assign(city="Paris", width=np.nan)])
        columns = {c: odd[[c]].to_numpy(object if c == "city" else float) for c in odd}
        labels, posteriors = session.run(None, columns)
        rows = odd.assign(city=odd["city"].where(odd["city"] != "?", None))
        np.testing.assert_allclose(posteriors, m.predict_proba(rows), atol=1e-12)
        assert labels.tolist() == m.predict(rows).tolist()
    columns["width"] = np.full((len(odd), 1), np.inf)
    assert np.isnan(session.run(None, columns)[1]).all()
    alone = forest(min_leaf=200).fit(X, Y)  # no leaf can be cut: roots alone
    session = runtime.InferenceSession(cw.to_onnx(alone, missing="?").SerializeToString())
    np.testing.assert_allclose(session.run(None, {**columns, "width": columns["length"]})[1][:, 0], 1 / 3, atol=0.2)


def test_the_shell(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from classwise.cli.program import app

    X.assign(y=Y).to_csv(tmp_path / "rows.csv", index=False)
    run = CliRunner()

    def ask(*words: str) -> str:
        result = run.invoke(app, [str(tmp_path / word) if word.endswith((".csv", ".cw")) else word for word in words])
        assert result.exit_code == 0, result.output
        return result.output

    ask("fit", "rows.csv", "--target", "y", "--model", "forest", "--set", "trees=12", "-o", "m.cw")
    assert "ForestClassifier" in ask("info", "m.cw")
    assert "accuracy" in ask("evaluate", "m.cw", "rows.csv", "--target", "y")
    assert "log odds" in ask("explain", "m.cw", "rows.csv", "--row", "3")
    ask("predict", "m.cw", "rows.csv", "-o", "out.csv")
    assert pd.read_csv(tmp_path / "out.csv")["label"].tolist() == forest().fit(X, Y).predict(X).tolist()
    assert json.loads(ask("info", "m.cw", "--json"))
