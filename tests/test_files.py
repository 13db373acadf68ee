"""Files of models and statistics: what is loaded is what was saved, to the last bit; old files stay readable."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

import classwise as cw
from classwise.storage import registry, stored
from data.make_files import FAMILIES, answers, rows, statistic
from surgery import closed, opened

FOLDER = Path(__file__).parent / "data" / "files"
TABLE, LABELS = rows()
NUMBERS = TABLE[["length", "width"]].fillna(5.0)
PRIOR = cw.NormalInverseWishart(mean=0.0, kappa=0.1, nu=4, scale=[1.0, 2.0])

pytestmark = [
    pytest.mark.filterwarnings("ignore::classwise.DegenerateColumnWarning"),
    pytest.mark.filterwarnings("ignore::classwise.ImputedValueWarning"),
]

ON_NUMBERS = {
    "QDA": cw.QDA(),
    "LDA": cw.LDA(),
    "LDA, one direction": cw.LDA(n_components=1),
    "LDA, Ledoit-Wolf": cw.LDA(shrink="ledoit-wolf"),
    "LDA, averaged, unbiased": cw.LDA(share="average", estimate="unbiased"),
    "QDA, OAS, standardized": cw.QDA(shrink="oas", standardize=True),
    "RDA": cw.RDA(folds=4),
    "RDA, calibrated": cw.RDA(folds=4, calibrate="temperature", random_state=3),
    "nearest mean": cw.NearestMean(),
    "nearest mean, standardized": cw.NearestMean(standardize=True),
    "diagonal": cw.GaussianClassifier(structure="diagonal", share=0.5, shrink=0.1),
    "spherical": cw.GaussianClassifier(structure="spherical"),
    "QDA, Student-t": cw.QDA(estimate="bayes"),
    "LDA, Student-t, loo": cw.LDA(estimate="bayes", prior="loo"),
    "QDA, Student-t, cv": cw.QDA(estimate="bayes", prior="cv", folds=3),
    "QDA, Student-t, given": cw.QDA(estimate="bayes", prior=PRIOR),
    "spherical Student-t": cw.NearestMean(estimate="bayes"),
    "QDA, priors by label": cw.QDA(priors={"a": 0.2, "b": 0.3, "c": 0.5}),
    "QDA, priors in order": cw.QDA(priors=np.array([0.2, 0.0, 0.8])),
    "LDA, ties": cw.LDA(ties="random", random_state=7),
    "naive Bayes": cw.NaiveBayes(),
    "logistic": cw.BayesianLogistic(),
    "logistic, plugin": cw.BayesianLogistic(precision={"width": 2.0}, predictive="plugin"),
    "logistic, groups": cw.BayesianLogistic(precision={("length", "width"): 2.0}, standardize=False),
    "logistic, sampled": cw.BayesianLogistic(precision=1.0, posterior="sampled", draws=40, random_state=1),
    "Decision, logistic": cw.Decision(cw.BayesianLogistic(precision=1.0), costs={"a": {"b": 5}}, reject=0.4),
    "forest": cw.ForestClassifier(trees=10),
    "forest, best cuts": cw.ForestClassifier(cuts="best", trees=7, belief="prunings", calibrate=None, priors="uniform"),
    "forest, never": cw.ForestClassifier(trees=5, priors={"a": 0.3, "b": 0.0, "c": 0.7}),
    "Auto": cw.AutoClassifier(members="full", folds=3),
    "Auto, of given models": cw.AutoClassifier(members=[cw.QDA(), "class shares"], folds=3),
    "Decision, Auto": cw.Decision(cw.AutoClassifier(members="fast", folds=3), costs={"a": {"b": 5}}, reject=0.4),
    "Decision": cw.Decision(cw.QDA(), costs={"a": {"b": 5}}, reject=0.4, novelty=0.05),
    "Decision, chi-square": cw.Decision(cw.LDA(), reject={"posterior": 0.5}, novelty=0.05, law="chi-square"),
    "Decision, costs": cw.Decision(cw.LDA(), costs=np.array([[0, 1, 2], [3, 0, 1], [1, 1, 0.0]]), reject_label=-1),
}
ON_TABLES = {
    "QDA": cw.QDA(families=FAMILIES),
    "LDA": cw.LDA(families={**FAMILIES, 0: "gaussian"}),
    "RDA": cw.RDA(families=FAMILIES, share=0.5, shrink=0.1),
    "QDA, Student-t": cw.QDA(families=FAMILIES, estimate="bayes"),
    "QDA, missing is a level": cw.QDA(families=FAMILIES, missing="level"),
    "naive Bayes": cw.NaiveBayes(families=FAMILIES),
    "naive Bayes, best": cw.NaiveBayes(families="best"),
    "naive Bayes, Student-t": cw.NaiveBayes(families=FAMILIES, estimate="bayes", missing="level"),
    "naive Bayes, calibrated": cw.NaiveBayes(families=FAMILIES, calibrate="temperature", folds=3),
    "naive Bayes, rare levels": cw.NaiveBayes(min_frequency=0.35, smoothing=0.5),
    "logistic": cw.BayesianLogistic(precision="relevance"),
    "forest": cw.ForestClassifier(trees=10, families=FAMILIES),
    "Auto": cw.AutoClassifier(members="full", folds=3),
    "Auto, families": cw.AutoClassifier(members="fast", families=FAMILIES, combine="pick", folds=3),
}
CASES = [pytest.param(m, NUMBERS, id=f"numbers: {name}") for name, m in ON_NUMBERS.items()]
CASES += [pytest.param(m, TABLE, id=f"table: {name}") for name, m in ON_TABLES.items()]


def again(value, folder, **options):
    """Saved and loaded."""
    path = folder / "value.cw"
    cw.save(value, path, **options)
    return cw.load(path)


def asked(m, X):
    """Everything that can be asked of a model, or the error instead."""
    model = next(getattr(m, name) for name in ("model_", "__class__") if hasattr(m, name))
    model = m if not hasattr(model, "predict") or isinstance(model, type) else model
    questions = {
        "predict": lambda: m.predict(X),
        "predict_proba": lambda: m.predict_proba(X),
        "decide": lambda: m.decide(X),
        "report": lambda: str(m.report_),
        "temperatures": lambda: m.temperatures_,
        "params": lambda: sorted(map(repr, m.get_params().items())),
        "log_joint": lambda: model.log_joint(X),
        "log_density": lambda: model.log_density(X),
        "log_evidence": lambda: model.log_evidence(X),
        "explain": lambda: str(model.explain(X[:1])),
        "boundary": lambda: model.boundary("a", "b"),
        "polynomial": lambda: model.discriminant("c").A,
        "sample": lambda: model.sample(20, random_state=0),
        "with_priors": lambda: model.with_priors({"a": 0.5, "b": 0.25, "c": 0.25}).predict_log_proba(X),
        "schema": lambda: str(model.schema_),
        "families": lambda: model.families_,
        "parameters": lambda: model.parameters_,
        "dials": lambda: (repr(model.dials_), model.dials_.by_fold),
        "prior": lambda: (repr(model.prior_choice_), model.prior_choice_.by_fold),
        "calibration": lambda: model.calibration_,
        "em": lambda: (repr(model.em_), model.em_.log_likelihood),
        "evidence": lambda: model.log_marginal_likelihood_,
        "names": lambda: (m.n_features_in_, m.feature_names_in_, m.classes_, m.classes_.dtype),
        "transform": lambda: m.transform(X),
        "interval": lambda: model.predict_interval(X),
        "weights": lambda: (model.coef_, model.intercept_, model.coef_std_, model.coef_cov_, model.coef_names_),
        "precision": lambda: (model.precision_, model.passes_, str(model.coefficients())),
        "drawn weights": lambda: model.sample_weights(5, random_state=0),
        "diagnostics": lambda: model.diagnostics_,
    }
    return {name: outcome(question) for name, question in questions.items()}


def outcome(question):
    try:
        return question()
    except (cw.ClasswiseError, AttributeError, NotFittedError) as problem:
        return type(problem), str(problem)


def assert_same(ours, theirs, where=""):
    """Equal to the last bit, and of the same types."""
    assert type(ours) is type(theirs), where
    if isinstance(ours, np.ndarray):
        assert ours.dtype == theirs.dtype, where
        assert ours.shape == theirs.shape, where
        np.testing.assert_array_equal(ours, theirs, err_msg=where)
    elif isinstance(ours, dict):
        assert list(ours) == list(theirs), where
        for key in ours:
            assert_same(ours[key], theirs[key], f"{where} {key}")
    elif isinstance(ours, (tuple, list)):
        assert len(ours) == len(theirs), where
        for i, pair in enumerate(zip(ours, theirs, strict=True)):
            assert_same(*pair, f"{where} {i}")
    elif isinstance(ours, pd.DataFrame):
        pd.testing.assert_frame_equal(ours, theirs, check_exact=True)
    elif hasattr(ours, "equals"):
        assert ours.equals(theirs), where
    elif hasattr(ours, "__dataclass_fields__"):
        assert_same({name: getattr(ours, name) for name in ours.__dataclass_fields__}, vars_of(theirs, ours), where)
    else:
        assert ours == theirs or (ours != ours and theirs != theirs), where


def vars_of(value, like):
    return {name: getattr(value, name) for name in like.__dataclass_fields__}


class TestModels:
    @pytest.mark.parametrize(("model", "X"), CASES)
    def test_a_loaded_model_answers_to_the_last_bit(self, tmp_path, model, X):
        m = model.fit(X, LABELS)
        before = asked(m, X)
        assert isinstance(before["predict_proba"], np.ndarray)
        assert_same(before, asked(again(m, tmp_path), X))

    @pytest.mark.parametrize(("model", "X"), CASES)
    def test_it_answers_without_statistics_too(self, tmp_path, model, X):
        m = model.fit(X, LABELS)
        before, after = asked(m, X), asked(again(m, tmp_path, statistics=False), X)
        for name in (
            "predict",
            "predict_proba",
            "log_evidence",
            "sample",
            "with_priors",
            "schema",
            "explain",
            "params",
        ):
            assert_same(before[name], after[name], name)

    @pytest.mark.parametrize(("model", "X"), CASES)
    def test_what_is_loaded_can_be_saved_again_as_it_was(self, tmp_path, monkeypatch, model, X):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
        cw.save(model.fit(X, LABELS), tmp_path / "first.cw", source=["a.csv", "b.csv"])
        cw.save(cw.load(tmp_path / "first.cw"), tmp_path / "second.cw", source=["a.csv", "b.csv"])
        assert (tmp_path / "first.cw").read_bytes() == (tmp_path / "second.cw").read_bytes()

    @pytest.mark.parametrize(
        "labels",
        [
            np.array(["north", "east", "süd"]),
            np.array(["north", "east", "süd"], dtype=object),
            np.array(["north", "east", "süd"], dtype=np.dtypes.StringDType()),
            np.array([3, -1, 2**40]),
            np.array([3, 1, 2], dtype=np.uint8),
            np.array([3, 1, 2], dtype=object),
            np.array([0.0, 1.0, 2.0]),
            np.array([True, False, True]),
        ],
        ids=lambda labels: str(labels.dtype),
    )
    def test_labels_of_every_kind(self, tmp_path, labels):
        y = labels[np.searchsorted(["a", "b", "c"], LABELS)]
        m = cw.QDA().fit(NUMBERS, y)
        loaded = again(m, tmp_path)
        assert_same(m.classes_, loaded.classes_)
        assert_same(m.predict(NUMBERS), loaded.predict(NUMBERS))
        assert cw.describe(tmp_path / "value.cw").labels == m.classes_.tolist()

    @pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow", "array", "objects"])
    def test_samples_are_tables_of_the_same_kind(self, tmp_path, backend):
        X = {
            "pandas": lambda: TABLE.astype({"city": "category"}),
            "polars": lambda: pl.DataFrame(TABLE.to_dict("list"), strict=False),
            "pyarrow": lambda: pa.Table.from_pandas(TABLE),
            "array": lambda: NUMBERS.to_numpy(),
            "objects": lambda: TABLE.to_numpy(dtype=object),
        }[backend]()
        m = cw.NaiveBayes().fit(X, LABELS)
        loaded = again(m, tmp_path)
        assert_same(m.sample(30, random_state=1), loaded.sample(30, random_state=1))
        assert_same(m.predict_proba(X), loaded.predict_proba(X))

    def test_priors_that_have_shifted(self, tmp_path):
        m = cw.LDA(calibrate="temperature", folds=3).fit(NUMBERS, LABELS)
        shifted = m.with_priors(m.estimate_priors(NUMBERS[:20]))
        loaded = again(shifted, tmp_path)
        assert_same(shifted.predict_log_proba(NUMBERS), loaded.predict_log_proba(NUMBERS))
        assert repr(loaded.get_params()["priors"]) == repr(shifted.get_params()["priors"])

    @pytest.mark.parametrize("link", ["logit", "probit"])
    def test_logistic_regression_of_two_classes(self, tmp_path, link):
        """One score, with exact intervals; options that are changed later are those of the file."""
        two = np.where(LABELS == "c", "a", LABELS)
        m = cw.BayesianLogistic(link=link).fit(NUMBERS, two)
        assert_same(asked(m, NUMBERS), asked(again(m, tmp_path), NUMBERS))
        before = m.predict_proba(NUMBERS)
        loaded = again(m.set_params(predictive="plugin"), tmp_path)
        assert_same(asked(m, NUMBERS), asked(loaded, NUMBERS))
        assert np.abs(loaded.predict_proba(NUMBERS) - before).max() > 1e-4
        assert_same(before, loaded.set_params(predictive="integrated").predict_proba(NUMBERS))

    def test_a_stack_under_other_priors(self, tmp_path):
        m = cw.AutoClassifier(members="fast", folds=3).fit(TABLE, LABELS).with_priors({"a": 0.9, "b": 0.1, "c": 0.0})
        for statistics in (True, False):
            loaded = again(m, tmp_path, statistics=statistics)
            assert_same(asked(m, TABLE), asked(loaded, TABLE))
            assert (loaded.predict_proba(TABLE)[:, 2] == 0).all()

    def test_a_stack_tells_of_its_members(self, tmp_path):
        m = cw.AutoClassifier(members="fast", folds=3).fit(TABLE, LABELS)
        again(m, tmp_path, source="rows.csv")
        about = cw.describe(tmp_path / "value.cw")
        assert (about.holds, about.rows, about.labels) == ("AutoClassifier", len(LABELS), m.classes_.tolist())
        assert {member.name: member.weight for member in about.members} == m.weights_
        assert {member.name: member.temperature for member in about.members} == pytest.approx(m.temperatures_)
        assert about.log_loss == m.report_.log_loss
        assert f"class shares: weight {m.weights_['class shares']:.3f}, temperature" in str(about)

    def test_a_member_that_was_sure_and_wrong(self, tmp_path):
        """Its log loss is infinite, which JSON has no number for."""
        rows = pd.DataFrame({"color": ["red"] * 20 + ["blue"] * 21})
        labels = [0] * 20 + [1] * 20 + [0]  # one class has one blue row, which no other fold has
        m = cw.AutoClassifier(members=[cw.NaiveBayes(smoothing=0), "class shares"], folds=4).fit(rows, labels)
        assert max(line.log_loss for line in m.report_) == np.inf
        assert_same(m.predict_proba(rows), again(m, tmp_path).predict_proba(rows))
        assert "log loss inf" in str(cw.describe(tmp_path / "value.cw"))

    def test_a_decision_about_a_model_that_was_fitted_before(self, tmp_path):
        m = cw.Decision(cw.LDA().fit(NUMBERS, LABELS), reject=0.3)
        assert_same(m.predict(NUMBERS), again(m, tmp_path).predict(NUMBERS))

    def test_what_is_not_fitted_is_not_saved(self, tmp_path):
        for model in (cw.LDA(), cw.Decision(cw.LDA()), cw.AutoClassifier()):
            with pytest.raises(NotFittedError):
                cw.save(model, tmp_path / "m.cw")
        assert not list(tmp_path.iterdir())


class TestLearningOn:
    def test_partial_fit_goes_on(self, tmp_path):
        whole = cw.QDA(families=FAMILIES).partial_fit(TABLE[:30], LABELS[:30])
        loaded = again(whole, tmp_path)
        for m in (whole, loaded):
            m.partial_fit(TABLE[30:], LABELS[30:])
        assert_same(asked(whole, TABLE), asked(loaded, TABLE))

    def test_before_there_are_two_classes(self, tmp_path):
        one = np.flatnonzero(LABELS == "a")
        m = again(cw.LDA().partial_fit(NUMBERS.iloc[one], LABELS[one]), tmp_path)
        m.partial_fit(NUMBERS[LABELS != "a"], LABELS[LABELS != "a"])
        np.testing.assert_allclose(m.predict_proba(NUMBERS), cw.LDA().fit(NUMBERS, LABELS).predict_proba(NUMBERS))

    def test_statistics_of_a_loaded_model_merge(self, tmp_path):
        first, second = (cw.NaiveBayes().fit(TABLE[part], LABELS[part]) for part in (slice(0, 30), slice(30, None)))
        merged = again(first, tmp_path).statistics_ + second.statistics_
        assert_same(
            cw.NaiveBayes().fit_statistics(merged).predict_proba(TABLE),
            cw.NaiveBayes().fit_statistics(first.statistics_ + second.statistics_).predict_proba(TABLE),
        )

    def test_leave_one_out(self, tmp_path):
        m = cw.QDA().fit(NUMBERS, LABELS)
        assert_same(m.leave_one_out(NUMBERS, LABELS), again(m, tmp_path).leave_one_out(NUMBERS, LABELS))

    @pytest.mark.parametrize(
        "use",
        [
            lambda m: m.partial_fit(NUMBERS, LABELS),
            lambda m: m.leave_one_out(NUMBERS, LABELS),
            lambda m: cw.LDA().fit_statistics(m.statistics_),
            lambda m: m.statistics_ + m.statistics_,
            lambda m: m.statistics_ - m.statistics_,
            lambda m: m.statistics_.mean,
            lambda m: m.statistics_.restrict([0]),
        ],
    )
    def test_without_statistics_it_says_so(self, tmp_path, use):
        m = again(cw.LDA().fit(NUMBERS, LABELS), tmp_path, statistics=False)
        with pytest.raises(cw.StatisticsError, match=r"left out when the model was saved \(statistics=False\)"):
            use(m)
        assert "no scatter" in repr(m.statistics_)

    def test_without_statistics_a_model_of_batches_is_made_first(self, tmp_path):
        m = cw.LDA().partial_fit(NUMBERS, LABELS)
        assert_same(m.predict_proba(NUMBERS), again(m, tmp_path, statistics=False).predict_proba(NUMBERS))

    def test_without_statistics_nothing_that_was_gathered_is_in_the_file(self, tmp_path):
        m = cw.LDA().fit(NUMBERS, LABELS)
        scatter = m.statistics_.scatter.tobytes()
        cw.save(m, tmp_path / "with.cw")
        cw.save(m, tmp_path / "without.cw", statistics=False)
        assert scatter in (tmp_path / "with.cw").read_bytes()
        assert scatter not in (tmp_path / "without.cw").read_bytes()

    def test_without_statistics_a_stack_keeps_no_sums(self, tmp_path):
        m = cw.AutoClassifier(folds=3).fit(TABLE, LABELS)
        scatter = m.statistics_.sums["shared covariance"].moments.scatter.tobytes()
        pairs = m.statistics_.sums["one-dependence"].pairs.weight.tobytes()
        again(m, tmp_path)
        held = (tmp_path / "value.cw").read_bytes()
        assert scatter in held
        assert pairs in held
        loaded = again(m, tmp_path, statistics=False)
        held = (tmp_path / "value.cw").read_bytes()
        assert scatter not in held
        assert pairs not in held
        assert list(loaded.statistics_.sums) == ["class shares"]  # which are the priors
        assert_same(m.predict_proba(TABLE), loaded.predict_proba(TABLE))
        assert_same(m.priors_, loaded.priors_)

    def test_a_loaded_stack_goes_on_learning(self, tmp_path):
        m = cw.AutoClassifier(members="fast", folds=3).fit(TABLE, LABELS)
        more = m.statistics_ + m.summarize(TABLE[:40], LABELS[:40])
        loaded = again(m, tmp_path).fit_statistics(more)
        assert loaded.rows_ == len(LABELS) + 40
        assert_same(m.fit_statistics(more).predict_proba(TABLE), loaded.predict_proba(TABLE))


class TestRefusals:
    @pytest.mark.parametrize(
        ("model", "message"),
        [
            (cw.LDA(random_state=np.random.default_rng(0)), "random_state of type Generator cannot be stored; a seed"),
            (cw.RDA(folds=StratifiedKFold(3)), "folds of type StratifiedKFold cannot be stored; they are needed no"),
            (cw.Decision(LogisticRegression()), "model of type LogisticRegression cannot be stored; only models of"),
            (cw.QDA(priors=pd.Series({"a": 0.2, "b": 0.3, "c": 0.5})), "priors of type Series cannot be stored"),
        ],
    )
    def test_options_that_files_cannot_hold(self, tmp_path, model, message):
        with pytest.raises(cw.ClasswiseError, match=message):
            cw.save(model.fit(NUMBERS, LABELS), tmp_path / "m.cw")
        assert not list(tmp_path.iterdir())

    def test_the_remedy_helps(self, tmp_path):
        m = cw.RDA(folds=StratifiedKFold(3)).fit(NUMBERS, LABELS)
        loaded = again(m.set_params(folds=10), tmp_path)
        assert loaded.dials_.best == m.dials_.best

    @pytest.mark.parametrize("value", [3, {}, LogisticRegression(), cw.NormalInverseWishart(0.0, 1.0, 3.0, 1.0)])
    def test_other_things(self, tmp_path, value):
        with pytest.raises(cw.ClasswiseError, match="cannot be saved; these can: ClassStatistics, "):
            cw.save(value, tmp_path / "m.cw")

    def test_a_model_that_was_tampered_with(self, tmp_path):
        m = cw.LDA().fit(NUMBERS, LABELS)
        m.model_.classifier.priors[0] = np.nan
        with pytest.raises(
            cw.ClasswiseError, match=r"cannot be saved: _model\.classifier is no BayesClassifier: priors"
        ):
            cw.save(m, tmp_path / "m.cw")

    def test_without_safetensors(self, tmp_path, monkeypatch):
        m = cw.LDA().fit(NUMBERS, LABELS)
        cw.save(m, tmp_path / "m.cw")
        monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
        for use in (lambda: cw.save(m, tmp_path / "n.cw"), lambda: cw.load(tmp_path / "m.cw")):
            with pytest.raises(cw.MissingExtraError, match=r'pip install "classwise\[files\]"'):
                use()
        assert cw.describe(tmp_path / "m.cw").holds == "LDA"


class TestVersions:
    @pytest.mark.parametrize("path", sorted(FOLDER.glob("*.cw*")), ids=lambda path: path.name)
    def test_every_file_of_this_version_is_readable(self, path):
        value, about = cw.load(path), cw.describe(path)
        assert f"-{about.version}.cw" in path.name
        assert about.kind == ("statistics" if path.suffix == ".cws" else "model")
        assert about.rows == (None if about.holds == "BayesianLogistic" else 60)
        assert about.statistics == (about.holds != "BayesianLogistic")
        if about.kind == "statistics":
            assert_same(str(value), str(statistic()))
            assert_same(value.mean, statistic().mean)
            assert_same(value.levels, statistic().levels)
            assert value.schema == statistic().schema
        else:
            known = json.loads((FOLDER / "answers.json").read_text())[path.stem.rsplit("-", 1)[0]]
            np.testing.assert_allclose(answers(value), known, rtol=1e-9)

    def test_there_is_a_file_of_every_kind(self, tmp_path):
        names = {path.name for path in FOLDER.glob("*.cw*")}
        assert {"statistics-2.cws", "qda-2.cw"} <= names
        cw.save(cw.LDA().fit(NUMBERS, LABELS), tmp_path / "m.cw")
        assert f"qda-{cw.describe(tmp_path / 'm.cw').version}.cw" in names

    def test_a_newer_file(self, tmp_path):
        path = tmp_path / "m.cw"
        cw.save(cw.LDA().fit(NUMBERS, LABELS), path)
        header, _, arrays = opened(path.read_bytes())
        write(path, {**header, "version": 3, "facts": {"library": "9.1"}}, {"something": "else"}, arrays)
        for use in (cw.load, cw.describe):
            with pytest.raises(
                cw.StoredFileError, match=r"written by a newer classwise \(9.1, file version 3\); upgrade"
            ):
                use(path)

    def test_an_older_file(self, tmp_path):
        path = tmp_path / "s.cws"
        statistic().save(path)
        header, content, arrays = opened(path.read_bytes())
        write(path, {**header, "version": 1}, content, arrays)
        for use in (cw.load, cw.describe):
            with pytest.raises(cw.StoredFileError, match=r"is of file version 1, .* reads version 2; gather or fit it"):
                use(path)

    def test_names_that_only_a_newer_version_knows(self, tmp_path):
        path = tmp_path / "m.cw"
        cw.save(cw.LDA().fit(NUMBERS, LABELS), path)
        header, content, arrays = opened(path.read_bytes())
        write(path, header, {**content, "class": "Oracle"}, arrays)
        with pytest.raises(cw.StoredFileError, match="holds a 'Oracle', which this version of classwise does not know"):
            cw.load(path)
        write(path, header, {**content, "fields": {**content["fields"], "zeal": 11}}, arrays)
        with pytest.raises(cw.StoredFileError, match="holds a LDA with 'zeal', which this version"):
            cw.load(path)
        write(path, {**header, "kind": "sonnet"}, content, arrays)
        with pytest.raises(cw.StoredFileError, match=r"holds a 'sonnet' \(version 2\), which this version"):
            cw.load(path)

    def test_options_that_came_later_have_their_defaults(self, tmp_path):
        path = tmp_path / "m.cw"
        cw.save(cw.LDA().fit(NUMBERS, LABELS), path)
        header, content, arrays = opened(path.read_bytes())
        del content["fields"]["tol"]
        write(path, header, content, arrays)
        assert cw.load(path).tol == cw.LDA().tol

    def test_a_new_class_needs_only_to_be_declared(self, tmp_path):
        @dataclass(frozen=True, eq=False)
        class Weights:
            values: np.ndarray

        class Weighing(cw.LDA):
            weights_: Weights

        try:
            stored("Weights")(Weights)
            stored("Weighing", kind="model")(Weighing)
            m = Weighing().fit(NUMBERS, LABELS)
            m.weights_ = Weights(np.arange(3.0))
            loaded = again(m, tmp_path)
            assert_same(m.predict_proba(NUMBERS), loaded.predict_proba(NUMBERS))
            np.testing.assert_array_equal(loaded.weights_.values, np.arange(3.0))
        finally:
            for name in ("Weights", "Weighing"):
                registry._BY_CLASS.pop(registry.ENTRIES.pop(name).cls)


class TestHeader:
    def test_it_tells_where_a_file_comes_from(self, tmp_path, monkeypatch):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
        path = tmp_path / "m.cw"
        m = cw.NaiveBayes(families="best", priors={"a": 0.2, "b": 0.3, "c": 0.5}).fit(TABLE, LABELS)
        cw.save(m, path, source="patients.parquet")
        about = cw.describe(path)
        assert (about.kind, about.holds, about.version, about.library) == ("model", "NaiveBayes", 2, cw.__version__)
        assert (about.date, about.sources, about.rows, about.weight) == (
            "1970-01-01T00:00:00Z",
            ["patients.parquet"],
            60,
            60.0,
        )
        assert about.labels == ["a", "b", "c"]
        assert [column.name for column in about.columns] == list(TABLE.columns)
        assert [column.family for column in about.columns] == list(m.families_.values())
        assert about.options["priors"] == "{'a': 0.2, 'b': 0.3, 'c': 0.5}"
        assert about.options["smoothing"] == 1.0
        assert about.size == path.stat().st_size
        assert "model       NaiveBayes\noptions     estimate=mle, families=best, " in str(about)
        assert "with statistics" in str(about)

    def test_it_can_be_read_with_nothing_but_json(self, tmp_path):
        path = tmp_path / "m.cw"
        cw.save(cw.LDA().fit(NUMBERS, LABELS), path)
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(json.loads(file.read(length))["__metadata__"]["classwise"])
        assert header["kind"] == "model"
        assert header["facts"]["labels"] == ["a", "b", "c"]

    def test_the_date_is_now(self, tmp_path):
        cw.summarize(NUMBERS, LABELS).save(tmp_path / "s.cws", source=Path("part.csv"))
        about = cw.describe(tmp_path / "s.cws")
        then = pd.Timestamp(about.date)
        assert abs((pd.Timestamp.now("UTC") - then).total_seconds()) < 3600
        assert about.sources == ["part.csv"]

    def test_bytes_are_reproducible(self, tmp_path, monkeypatch):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
        for name in ("a.cw", "b.cw"):
            cw.save(cw.NaiveBayes().fit(TABLE, LABELS), tmp_path / name)
        assert (tmp_path / "a.cw").read_bytes() == (tmp_path / "b.cw").read_bytes()

    def test_a_date_that_is_none(self, tmp_path, monkeypatch):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
        with pytest.raises(cw.ClasswiseError, match="SOURCE_DATE_EPOCH='yesterday' is not a number of seconds"):
            cw.summarize(NUMBERS, LABELS).save(tmp_path / "s.cws")

    def test_others_may_read_the_file(self, tmp_path):
        before = os.umask(0o022)
        try:
            cw.summarize(NUMBERS, LABELS).save(tmp_path / "s.cws")
        finally:
            os.umask(before)
        assert (tmp_path / "s.cws").stat().st_mode & 0o777 == 0o644


class TestElsewhere:
    def test_a_file_is_loaded_where_nothing_else_was_imported(self, tmp_path):
        cw.save(cw.AutoClassifier(folds=3).fit(NUMBERS, LABELS), tmp_path / "m.cw")
        run(f"import classwise as cw; print(cw.load({str(tmp_path / 'm.cw')!r}).predict([[5.0, 3.0]]))")

    def test_a_model_of_a_pandas_table_works_without_pandas(self, tmp_path):
        m = cw.NaiveBayes().fit(TABLE, LABELS)
        cw.save(m, tmp_path / "m.cw")
        code = f"""
            import sys, warnings
            for name in ("pandas", "polars", "pyarrow"):
                sys.modules[name] = None
            import numpy as np, classwise as cw
            warnings.simplefilter("ignore")
            m = cw.load({str(tmp_path / "m.cw")!r})
            X = np.array({TABLE[:3].astype(object).where(TABLE[:3].notna(), None).to_numpy().tolist()!r}, dtype=object)
            print(m.predict_proba(X).tolist())
        """
        assert json.loads(run(code)) == m.predict_proba(TABLE[:3]).tolist()


def run(code):
    lines = code.splitlines()
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    code = "\n".join(line[indent:] for line in lines)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def write(path, header, content, arrays):
    """A file of these, however wrong."""
    path.write_bytes(closed(header, content, arrays))
