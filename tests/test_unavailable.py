"""What a model lacks is not there: hasattr is False, completion does not show it, and the error says why."""

import copy
import pickle

import numpy as np
import pytest

import classwise as cw
from classwise.estimators.unavailable import DENSITIES, LEFT_OUT, SETS, STATISTICS

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 2))
Y = np.where(X[:, 0] + rng.normal(size=60) > 0, "a", "b")

LACKING = [
    (cw.AODE(), SETS, "which AODE does not have"),
    (cw.BayesianLogistic(), DENSITIES, "models the label given the row"),
    (cw.BayesianLogistic(), (*STATISTICS, *LEFT_OUT), "which Newton's method goes through many times"),
    (cw.BayesianLogistic(), SETS, "which BayesianLogistic does not have"),
    (cw.ForestClassifier(trees=3), DENSITIES, "trees tell classes apart"),
    (cw.ForestClassifier(trees=3), SETS, "which ForestClassifier does not have"),
    (cw.MixtureClassifier(), (*STATISTICS, *LEFT_OUT), "which EM goes through many times"),
    (cw.RobustClassifier(), (*STATISTICS, *LEFT_OUT), "which a robust fit goes through many times"),
    (cw.RobustClassifier(), SETS, "which RobustClassifier does not have"),
    (cw.RDA(), ("partial_fit",), "leaves an option to cross-validation"),
    (cw.Decision(cw.LDA()), (*DENSITIES, *STATISTICS, *LEFT_OUT), "wraps a model"),
    (cw.Decision(cw.AODE()), ("prediction_sets",), "which AODE does not have"),
]


@pytest.mark.parametrize(("model", "names", "why"), LACKING, ids=lambda value: getattr(type(value), "__name__", ""))
def test_what_is_lacking_is_not_there_and_the_error_says_why(model, names, why):
    for m in (model, copy.deepcopy(model).fit(X, Y)):
        for name in names:
            assert not hasattr(m, name)
            assert name not in dir(m)
            with pytest.raises(cw.NotAvailableError, match=why):
                getattr(m, name)


def test_stacks_lack_densities_but_not_samples():
    m = cw.AutoClassifier(members="fast").fit(X, Y)
    assert hasattr(m, "sample")
    for name in ("log_density", "leave_one_out", "prediction_sets"):
        with pytest.raises(cw.NotAvailableError, match="AutoClassifier"):
            getattr(m, name)


def test_other_names_are_the_usual_error():
    for model, _, _ in LACKING:
        with pytest.raises(AttributeError, match="has no attribute 'nonsense'") as found:
            _ = model.nonsense
        assert not isinstance(found.value, cw.NotAvailableError)
        assert type(pickle.loads(pickle.dumps(model))) is type(model)


def test_what_a_decision_has_its_model_has():
    assert hasattr(cw.Decision(cw.LDA()), "prediction_sets")
    assert "prediction_sets" in dir(cw.Decision(cw.LDA()).fit(X, Y))
