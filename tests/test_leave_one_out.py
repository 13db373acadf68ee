"""Exact leave-one-out: equal to fitting without each row, for every structure; published counts."""

import numpy as np
import pandas as pd
import pytest
from palmerpenguins import load_penguins
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import NotFittedError

import classwise as cw

RNG = np.random.default_rng(2)
y = np.array([0] * 9 + [1] * 13 + [2] * 7)
X = RNG.normal(size=(len(y), 3)) @ RNG.normal(size=(3, 3)) + 2 * y[:, None]
WEIGHTS = RNG.choice([0.5, 1.0, 2.0], len(y))
MODELS = {
    f"{structure}, {share}, {shrink}, {estimate}": cw.GaussianClassifier(
        structure=structure, share=share, shrink=shrink, estimate=estimate
    )
    for structure in ("full", "diagonal", "spherical")
    for share in (0, 1, 0.3, "average")
    for shrink in ((0, 0.2, "oas") if structure == "full" else (0, 0.2))
    for estimate in ("mle", "unbiased")
}
MODELS |= {
    "standardized": cw.RDA(share=0.5, shrink=0.3, standardize=True),
    "naive Bayes": cw.NaiveBayes(),
    "naive Bayes, floored": cw.NaiveBayes(floor=0.4),
    "full Bayes": cw.QDA(estimate="bayes"),
    "full Bayes, limiting prior": cw.LDA(estimate="bayes", prior="geisser"),
}


def brute_force(model, rows, labels, weights, recount):
    """Fit without each row."""
    whole = clone(model).fit(rows, labels, weights)
    scores = np.empty((len(labels), len(whole.classes_)))
    for i in range(len(labels)):
        rest = np.arange(len(labels)) != i
        part = clone(model).fit(rows[rest], labels[rest], None if weights is None else weights[rest])
        prior = part.priors_ if recount else whole.priors_
        scores[i] = part.log_density(rows[i : i + 1])[0] + np.log(prior)
    return scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)


@pytest.mark.filterwarnings("ignore::classwise.DegenerateColumnWarning")
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("recount", [False, True])
def test_equals_fitting_without_each_row(name, weighted, recount):
    weights = WEIGHTS if weighted else None
    m = clone(MODELS[name]).fit(X, y, weights)
    ours = m.leave_one_out(X, y, weights, recount=recount)
    np.testing.assert_allclose(ours, brute_force(MODELS[name], X, y, weights, recount), rtol=1e-9, atol=1e-9)


def test_far_from_zero_and_in_odd_units():
    scale = np.array([1e-6, 1.0, 1e6])
    for model in (cw.LDA(), cw.QDA()):
        plain = clone(model).fit(X, y).leave_one_out(X, y)
        far = X * scale + 1e4 * scale
        np.testing.assert_allclose(clone(model).fit(far, y).leave_one_out(far, y), plain, atol=1e-6)


def test_a_mixed_table_with_gaps():
    penguins = load_penguins()[::6]
    rows, labels = penguins.drop(columns=["species", "year"]), penguins["species"].to_numpy()
    m = cw.NaiveBayes().fit(rows, labels)
    expected = []
    for i in range(len(labels)):
        rest = np.arange(len(labels)) != i
        part = cw.NaiveBayes().fit(rows[rest], labels[rest])
        expected.append(part.log_density(rows[i : i + 1])[0] + np.log(m.priors_))
    expected = np.array(expected)
    expected -= np.logaddexp.reduce(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(m.leave_one_out(rows, labels), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("standardize", [False, True])
def test_dials_stay_as_they_were_chosen(standardize):
    m = cw.RDA(standardize=standardize).fit(X, y)
    share, shrink = m.dials_.best
    plain = cw.RDA(share=share, shrink=shrink, standardize=standardize).fit(X, y)
    np.testing.assert_allclose(m.leave_one_out(X, y), plain.leave_one_out(X, y), rtol=1e-9, atol=1e-12)
    assert repr(m.dials_).startswith(f"DialChoice(share={share}, shrink={shrink}, log loss ")


def test_not_fitted():
    with pytest.raises(NotFittedError):
        cw.LDA().leave_one_out(X, y)


class TestRowsThatCannotBeLeftOut:
    def test_the_only_row_of_a_class(self):
        labels = y.copy()
        labels[0] = 5
        posterior = cw.LDA().fit(X, labels).leave_one_out(X, labels)
        assert posterior[0, 3] == -np.inf
        np.testing.assert_allclose(np.exp(posterior).sum(axis=1), 1, rtol=1e-12)

    def test_a_row_without_which_a_class_is_singular(self):
        rows = X.copy()
        rows[22:, 0] = 3.0
        rows[25, 0] = 4.0  # the only one of its class that varies there
        with pytest.warns(cw.SingularRowWarning, match="Without 1 row the model cannot be fitted.*: 25"):
            posterior = cw.QDA().fit(rows, y).leave_one_out(rows, y)
        assert (posterior[25] == -np.inf).all()
        others = np.delete(posterior, 25, axis=0)
        assert np.isfinite(others).all()

    def test_rows_of_no_weight(self):
        m = cw.LDA().fit(X, y)
        with pytest.raises(cw.ClasswiseError, match="Rows of weight zero"):
            m.leave_one_out(X, y, np.r_[0.0, np.ones(len(y) - 1)])


def errors(model, rows, labels):
    posterior = model.fit(rows, labels).leave_one_out(rows, labels)
    scored = np.isfinite(posterior).any(axis=1)
    wrong = model.classes_[posterior.argmax(axis=1)] != labels
    return int(wrong[scored].sum()), int(scored.sum())


class TestPublished:
    def test_iris(self):
        rows, labels = load_iris(return_X_y=True)
        assert errors(cw.LDA(estimate="unbiased"), rows, labels) == (3, 150)
        assert errors(cw.QDA(estimate="unbiased"), rows, labels) == (4, 150)

    def test_breast_cancer_where_r_has_no_answer(self):
        assert errors(cw.QDA(estimate="unbiased"), *load_breast_cancer(return_X_y=True)) == (25, 569)

    @pytest.mark.parametrize("name", ["iris", "esl_vowel", "ecoli", "breast_cancer", "wine"])
    def test_posteriors(self, reference, data, name):
        """R's refits without each row, with full-sample priors."""
        for kind, model in (("lda", cw.LDA(estimate="unbiased")), ("qda", cw.QDA(estimate="unbiased"))):
            file = next((reference / name).glob(f"{kind}_loo_posterior_brute_fixedprior.csv*"), None)
            if file is None:
                continue
            expected = pd.read_csv(file)
            rows, labels = tables(data)[name]()
            m = model.fit(rows, labels)
            with np.errstate(all="ignore"):
                ours = np.exp(quietly(m.leave_one_out, rows, labels))
            columns = [str(label) for label in m.classes_]
            reference_values = (
                expected[columns].to_numpy(float) if set(columns) <= set(expected) else expected.to_numpy(float)
            )
            scored = np.isfinite(reference_values).all(axis=1)
            tolerance = 1e-6 if name == "breast_cancer" else 1e-9
            np.testing.assert_allclose(ours[scored], reference_values[scored], atol=tolerance)

    def test_vowel_and_ecoli(self, data):
        assert errors(cw.LDA(estimate="unbiased"), *tables(data)["esl_vowel"]()) == (194, 528)
        assert errors(cw.QDA(estimate="unbiased"), *tables(data)["esl_vowel"]()) == (32, 528)
        # Class imL has two rows. Without the one, a column is constant and left out; without the other, it is singular.
        with pytest.warns(cw.SingularRowWarning, match="Without 1 row the model cannot be fitted"):
            assert errors(cw.LDA(estimate="unbiased"), *tables(data)["ecoli"]()) == (44, 335)


def quietly(function, *arguments):
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cw.SingularRowWarning)
        return function(*arguments)


def tables(data):
    from sklearn.datasets import load_wine

    def read(file, target, columns):
        table = pd.read_csv(data / f"{file}.csv.gz")
        rows = table[[c for c in table.columns if columns(c)]].select_dtypes("number")
        return rows.to_numpy(float), table[target].to_numpy()

    return {
        "iris": lambda: load_iris(return_X_y=True),
        "wine": lambda: load_wine(return_X_y=True),
        "breast_cancer": lambda: load_breast_cancer(return_X_y=True),
        "esl_vowel": lambda: read("esl_vowel_train", "y", lambda c: c.startswith("x.")),
        "ecoli": lambda: read("ecoli", "site", lambda c: c != "site"),
    }
