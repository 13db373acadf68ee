"""Engines and candidates from outside the package: they work wherever those of the package do."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import classwise as cw
from classwise.comparison.candidates import Candidate, HeldOut
from classwise.engines import SourceEngine, open_rows, register_engine, total
from classwise.engines import rows as opening
from classwise.engines.engine import beside
from classwise.rows.roles import Chunk

RNG = np.random.default_rng(0)
TREE = RNG.choice(["ash", "elm", "oak"], 3000)
LOGS = RNG.normal(size=(3000, 3)) @ np.array([[1.0, 0.8, 0.0], [0.0, 0.6, 0.0], [0.0, 0.0, 1.0]])
ROWS = pd.DataFrame(np.exp(LOGS + (TREE == "oak")[:, None]), columns=["a", "b", "c"]).assign(tree=TREE)
X, y = ROWS[["a", "b", "c"]], ROWS["tree"]


class Shards(dict):
    """Tables by name."""


class ShardEngine(SourceEngine):
    def names(self, rows):
        return list(next(iter(rows.values())).columns)

    def select(self, rows, columns, numbered=False):
        return Shards({name: table[list(columns)] for name, table in rows.items()})

    def gather(self, summarize, rows, size):
        return total(map(summarize, self._chunks(rows)))

    def apply(self, answer, rows, size):
        return {name: beside(answer, chunk) for name, chunk in zip(rows, self._chunks(rows), strict=True)}

    def _chunks(self, rows):
        first = 0
        for table in rows.values():
            yield Chunk(table, first)
            first += len(table)


SHARDS = Shards(north=ROWS[:700], south=ROWS[700:1900], west=ROWS[1900:])


@pytest.fixture
def registered(monkeypatch):
    monkeypatch.setattr(opening, "ENGINES", [*opening.ENGINES])
    register_engine(lambda rows: isinstance(rows, Shards), ShardEngine)


@pytest.mark.usefixtures("registered")
class TestEngine:
    @pytest.mark.parametrize("source", [SHARDS, lambda: SHARDS], ids=["rows", "a function that makes them"])
    def test_statistics_are_those_of_all_rows(self, source):
        ours, whole = cw.summarize(source, target="tree"), cw.summarize(X, y)
        np.testing.assert_allclose(ours.mean, whole.mean, rtol=1e-12)
        np.testing.assert_allclose(ours.scatter, whole.scatter, rtol=1e-10)

    def test_models_learn_and_answer(self):
        model, expected = cw.QDA().fit_source(SHARDS, target="tree"), cw.QDA().fit(X, y)
        assert cw.evaluate(model, SHARDS, target="tree").log_loss == pytest.approx(expected.evaluate(X, y).log_loss)
        answers = cw.predict(model, SHARDS, keys=["a"])
        assert list(answers) == ["north", "south", "west"]
        found = np.concatenate([answer["label"].to_pylist() for answer in answers.values()])
        np.testing.assert_array_equal(found, expected.predict(X))

    def test_chance_is_that_of_any_stream(self):
        frame, labels, _ = open_rows(SHARDS, target="tree").sample(200, seed=1)
        expected, others, _ = open_rows(ROWS, target="tree").sample(200, seed=1)
        np.testing.assert_array_equal(np.asarray(frame), np.asarray(expected))
        np.testing.assert_array_equal(labels, others)

    def test_a_comparison_reads_it_twice(self):
        options = {"target": "tree", "folds": 4, "stream": True, "sample": 1000, "references": False}
        ours, stream = (cw.compare(source, **options) for source in (SHARDS, ROWS))
        for name in ("LDA", "QDA, Student-t", "naive Bayes, best families"):
            loss = stream[name].estimate("log_loss").value
            assert ours[name].estimate("log_loss").value == pytest.approx(loss, rel=1e-9)

    def test_the_last_registered_is_asked_first(self):
        class Refusing(ShardEngine):
            def names(self, rows):
                raise cw.ClasswiseError("These shards are closed.")

        register_engine(lambda rows: isinstance(rows, Shards), Refusing)
        with pytest.raises(cw.ClasswiseError, match="These shards are closed"):
            cw.summarize(SHARDS, target="tree")


@dataclass(frozen=True, eq=False)
class OnLogs(Candidate):
    """An estimator on the logarithms of all columns. parts: the statistics of each fold."""

    parts: tuple = ()

    def prepared(self, crossing, X):
        parts = [
            cw.summarize(np.log(held.table().rows), crossing.labels[held.codes], held.weights)
            for held in HeldOut.each(crossing, X)
        ]
        return replace(self, parts=tuple(parts))

    def fit(self, held):
        return clone(self.model).fit_statistics(sum(self.parts) - self.parts[held.number])

    def log_posterior(self, fitted, held):
        return held.fold.spread(fitted.classes_, fitted.predict_log_proba(np.log(held.table().rows)))


ON_LOGS = {"on logs": OnLogs("any name", cw.LDA())}


class TestCandidate:
    def test_is_tried_beside_the_family(self):
        folds = StratifiedKFold(4, shuffle=True, random_state=0)
        comparison = cw.compare(X, y, folds, models=ON_LOGS, references=False)
        trial = comparison["on logs"]
        plain = make_pipeline(FunctionTransformer(np.log), cw.LDA())
        expected = cross_val_predict(plain, X, y, cv=folds, method="predict_proba")
        np.testing.assert_allclose(np.exp(trial.log_posterior), expected, atol=1e-9)
        assert (trial.kind, trial.free_parameters) == ("given", None)
        assert trial.estimate("log_loss").value < comparison["LDA"].estimate("log_loss").value
        assert "on logs" in comparison.table().text()

    def test_of_a_stream_it_is_fitted_on_the_sample(self):
        options = {"target": "tree", "folds": 4, "stream": True, "references": False}
        trial = cw.compare(ROWS, models=ON_LOGS, **options)["on logs"]
        expected = cw.compare(X, y, 4, models=ON_LOGS, references=False)["on logs"]
        assert not trial.reason
        assert trial.estimate("log_loss").value == pytest.approx(expected.estimate("log_loss").value, abs=0.02)

    def test_a_name_that_is_taken(self):
        with pytest.raises(cw.ClasswiseError, match="models has the name 'LDA', which is compared already"):
            cw.compare(X, y, 4, models={"LDA": OnLogs("on logs", cw.LDA())})
