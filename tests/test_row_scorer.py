"""A scorer gives one row the same answers as the estimator gives a table of it."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

import classwise as cw
from classwise.errors import ClasswiseError

X, y = load_iris(return_X_y=True)
NUMBERS = [
    cw.LDA(),
    cw.QDA(estimate="bayes"),
    cw.NaiveBayes(),
    cw.RDA(share=0.5, shrink=0.1),
    cw.LDA(calibrate="temperature", folds=3),
    cw.BayesianLogistic(),
    cw.BayesianLogistic(predictive="plugin"),
    cw.ForestClassifier(),
    cw.MixtureClassifier(),
]


@pytest.mark.parametrize("model", NUMBERS, ids=lambda model: repr(model).replace("\n", ""))
def test_numbers(model):
    fitted = model.fit(X, y)
    scorer = fitted.scorer()
    for row in X[::40]:
        np.testing.assert_allclose(scorer.predict_proba(row), fitted.predict_proba(row[None])[0], atol=1e-12)
        np.testing.assert_allclose(
            scorer.predict_log_proba(row.tolist()), fitted.predict_log_proba(row[None])[0], atol=1e-9
        )
        assert scorer.predict(row) == fitted.predict(row[None])[0]


@pytest.fixture(scope="module")
def penguins():
    table = cw.load_penguins()
    return table.drop(columns=["species", "year"]), table["species"]


@pytest.mark.filterwarnings("ignore::classwise.errors.ImputedValueWarning")
@pytest.mark.parametrize("model", [cw.LDA(), cw.NaiveBayes(), cw.BayesianLogistic(), cw.AODE()], ids=repr)
def test_levels_and_missing_values(model, penguins):
    table, labels = penguins
    fitted = model.fit(table, labels)
    scorer = fitted.scorer()
    for i in (0, 3, 8, 200):
        row = table.iloc[i].to_dict()
        np.testing.assert_allclose(scorer.predict_proba(row), fitted.predict_proba(table[i : i + 1])[0], atol=1e-12)
    unseen = table.iloc[:1].assign(island="Atlantis")
    given = list(unseen.iloc[0])
    np.testing.assert_allclose(scorer.predict_proba(given), fitted.predict_proba(unseen)[0], atol=1e-12)
    del row["sex"]
    expected = fitted.predict(table[200:201].assign(sex=None))[0]
    assert scorer.predict(row) == expected


def test_refusals(penguins):
    table, labels = penguins
    scorer = cw.LDA().fit(table, labels).scorer()
    with pytest.raises(ClasswiseError, match="6 columns, and the row 2 values"):
        scorer.predict([1, 2])
    with pytest.raises(ClasswiseError, match="'wing', which is not a column"):
        scorer.predict({"wing": 3})
    numbers = cw.LDA(missing="error").fit(X, y).scorer()
    with pytest.raises(ClasswiseError, match="missing='error'"):
        numbers.predict([1, 2, 3, None])
    with pytest.raises(ClasswiseError, match="infinity"):
        numbers.predict([1, 2, 3, np.inf])
    with pytest.raises(ClasswiseError, match="one number or level for each column"):
        numbers.predict([1, 2, 3, "a"])
    with pytest.raises(ClasswiseError, match="columns without names"):
        numbers.predict({"a": 1})
