"""Why a row is taken for a class, what would change that, and models as equations."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import classwise as cw

RNG = np.random.default_rng(0)
Y = np.repeat(["a", "b", "c"], 60)
ROWS = pd.DataFrame(
    {
        "size": RNG.normal(np.repeat([0.0, 2.0, 4.0], 60), 1.0),
        "weight": RNG.normal(np.repeat([50.0, 60.0, 55.0], 60), 4.0),
        "age": RNG.poisson(np.repeat([30, 40, 50], 60)),
        "color": np.where(RNG.random(180) < 0.7, np.repeat(["red", "green", "blue"], 60), "red"),
        "flag": RNG.random(180) < np.repeat([0.2, 0.5, 0.8], 60),
    }
)
MODELS = [
    cw.LDA(),
    cw.QDA(),
    cw.QDA(estimate="bayes"),
    cw.LDA(calibrate="temperature", folds=3),
    cw.NaiveBayes(families={"age": "poisson"}),
    cw.BayesianLogistic(precision=1.0),
    cw.AODE(),
    cw.MixtureClassifier(components=2),
    cw.AutoClassifier(members="fast", folds=3),
    cw.ForestClassifier(trees=20),
]


@pytest.fixture(scope="module", params=MODELS, ids=repr)
def m(request):
    return clone(request.param).fit(ROWS, Y)


def changed(row, flip):
    """The row after the change, and values just before it."""
    after = row.copy()
    after[flip.column] = flip.value
    return after


class TestFlip:
    def test_the_change_changes_the_decision(self, m):
        found = 0
        for i in range(0, 180, 9):
            row = ROWS[i : i + 1]
            flip = m.explain(row).flip
            if flip is not None:
                found += 1
                assert m.predict(changed(row, flip))[0] == flip.label != m.predict(row)[0]
                assert flip.now == row[flip.column].item()
        assert found > 12

    def test_nothing_less_of_that_column_does(self, m):
        for i in range(0, 180, 18):
            row = ROWS[i : i + 1]
            flip = m.explain(row).flip
            if flip is None or isinstance(flip.value, (str, bool)):
                continue
            steps = np.linspace(flip.now, flip.value, 41)[:-7]  # the value shown is rounded away from the row
            steps = np.unique(np.floor(steps)) if flip.column == "age" else steps
            between = pd.concat([row] * len(steps)).assign(**{flip.column: steps})
            assert (m.predict(between) == m.predict(row)[0]).all()

    def test_none_of_another_column_is_smaller(self, m):
        """In standard deviations of all rows, which models know but roughly."""
        spread = ROWS[["size", "weight", "age"]].std()
        for i in range(0, 180, 30):
            row = ROWS[i : i + 1]
            flip = m.explain(row).flip
            if flip is None or flip.column not in spread:
                continue
            least = abs(flip.value - flip.now) / spread[flip.column]
            for name in spread.index:
                for sign in (-1, 1):
                    other = row.assign(**{name: row[name] + sign * 0.5 * least * spread[name]})
                    if name != "age":
                        assert m.predict(other)[0] == m.predict(row)[0]

    def test_lda_ties_at_the_root(self):
        X, y = load_iris(return_X_y=True, as_frame=True)
        m = cw.LDA().fit(X, y)
        flip = m.explain(X[70:71]).flip
        at = {name: float(X.loc[70, name]) for name in X.columns if name != flip.column}
        root = m.boundary(2, 1, at=at).roots()[0]
        assert 0 <= (flip.value - root) * np.sign(flip.value - flip.now) < 0.1
        assert flip.bound == ""  # further below, it would be class 0

    def test_whole_numbers_stay_whole(self):
        m = cw.NaiveBayes().fit(ROWS[["age"]], Y)
        flip = m.explain([30]).flip
        assert (flip.column, flip.label) == ("age", "b")
        assert flip.value == round(flip.value)
        assert m.predict(pd.DataFrame({"age": [flip.value]}))[0] == "b"
        assert m.predict(pd.DataFrame({"age": [flip.value - 1]}))[0] == "a"

    def test_another_level(self):
        X = pd.DataFrame({"color": ["red"] * 9 + ["blue"] * 9, "noise": [0.0, 1.0] * 9})
        m = cw.NaiveBayes().fit(X, ["a"] * 8 + ["b"] * 10)
        why = m.explain({"color": "red", "noise": 0.5})
        assert (why.flip.column, why.flip.value, why.flip.now, why.flip.label) == ("color", "blue", "red", "b")
        assert str(why).endswith("It would be b if color were blue (now red).")

    def test_none_where_one_column_cannot(self):
        rng = np.random.default_rng(1)
        X, y = rng.normal(size=(200, 30)), np.repeat([0, 1], 100)
        X[y == 1] += 2
        why = cw.NaiveBayes().fit(X, y).explain(np.zeros(30))
        assert why.flip is None
        assert str(why).endswith("No change of a single column, as far as rows reach, changes the decision.")

    def test_no_level_that_every_class_has_ruled_out(self):
        rows = pd.DataFrame({"color": ["red", "red", "blue", "blue"], "shape": ["ring", "ring", "disc", "disc"]})
        m = cw.NaiveBayes(smoothing=0).fit(rows, ["a", "a", "b", "b"])
        assert m.explain({"color": "red", "shape": "ring"}).flip is None

    def test_to_the_class_that_was_named(self):
        m = cw.LDA().fit(ROWS, Y)
        row = ROWS[:1]
        assert m.predict(row)[0] == "a"
        for options in ({"against": "c"}, {"label": "c"}):
            flip = m.explain(row, **options).flip
            assert flip is None or flip.label == "c"
        assert m.explain(row, label="b").flip.label == "b"

    def test_missing_values_stay_missing(self):
        m = cw.QDA().fit(ROWS, Y)
        row = ROWS[:1].assign(size=np.nan)
        flip = m.explain(row).flip
        assert flip.column != "size"
        assert m.predict(changed(row, flip))[0] == flip.label

    def test_many_columns(self):
        X, y = load_wine(return_X_y=True)
        wide = np.hstack([X, np.random.default_rng(0).normal(size=(len(X), 300))])
        m = cw.LDA(shrink=0.5, standardize=True).fit(wide, y)
        flip = m.explain(wide[0]).flip
        after = wide[0].copy()
        if flip is not None:
            after[flip.column] = flip.value
            assert m.predict([after])[0] == flip.label


class TestWords:
    def test_for_and_against(self, m):
        why = m.explain(ROWS[70:71])
        assert why.probability == pytest.approx(m.predict_proba(ROWS[70:71]).max())
        assert [reason.share for reason in why.for_] == sorted((s for s in why.shares.values() if s > 0), reverse=True)
        assert [reason.share for reason in why.against] == sorted(s for s in why.shares.values() if s < 0)
        total = why.prior + why.volume + sum(reason.share for reason in (*why.for_, *why.against))
        assert total == pytest.approx(why.log_odds, abs=1e-9)
        log = m.predict_log_proba(ROWS[70:71])[0]
        labels = m.classes_.tolist()
        assert why.log_odds == pytest.approx(log[labels.index(why.label)] - log[labels.index(why.other)], abs=1e-6)

    def test_a_table(self):
        m = cw.LDA().fit(ROWS, Y)
        why = m.explain(ROWS[:1])
        first, _, header, *lines = str(why).splitlines()
        assert first == f"a with probability {100 * why.probability:.1f} %, b with {100 * why.other_probability:.1f} %."
        assert header.split() == ["column", "value", "speaks", "for", "odds", "log", "odds"]
        sizes = [abs(float(line.split()[-1])) for line in lines[:5]]
        assert sizes == sorted(sizes, reverse=True)
        assert lines[5].startswith("prior")
        assert lines[6].startswith("total ")
        reason = why.for_[0]
        line = next(line for line in lines if line.startswith(reason.column))
        assert re.search(r" a +x [\d.e]+ +\+", line)

    def test_many_columns_are_put_together(self):
        X = np.random.default_rng(0).normal(size=(100, 40))
        X[:50] += 0.3
        why = cw.LDA().fit(X, np.repeat([0, 1], 50)).explain(X[0])
        assert "25 other columns" in str(why)
        assert len(str(why).splitlines()) < 24
        assert len(why.shares) == 40

    def test_in_a_notebook_names_are_escaped(self):
        html = cw.LDA().fit(ROWS.add_prefix("<b>"), Y).explain(ROWS[:1].add_prefix("<b>"))._repr_html_()
        assert "&lt;b&gt;size" in html
        assert "<b>" not in html


def values_of(functions, rows):
    """What equations come to: constants, weights times numbers, offsets of levels."""
    texts = rows.astype(dict.fromkeys(functions[0].offsets, str))
    columns = []
    for g in functions:
        levels = sum(texts[name].map(of).to_numpy(float) for name, of in g.offsets.items())
        numbers = g.numbers(rows[list(g.numbers.names)].astype(float)) if g.numbers.names else g.constant
        columns.append(numbers + levels)
    return np.column_stack(np.broadcast_arrays(*columns))


class TestEquations:
    @pytest.mark.parametrize(
        "model",
        [
            cw.LDA(),
            cw.LDA(priors="uniform", shrink=0.2),
            cw.LDA(calibrate="temperature", folds=3),
            cw.LDA(families={"age": "poisson"}),
            cw.LDA(n_components=1),
            cw.NearestMean(standardize=True),
            cw.GaussianClassifier(share="average"),
            cw.QDA(),
            cw.RDA(share=0.5, shrink=0.1),
        ],
        ids=repr,
    )
    def test_their_softmax_is_the_posterior(self, model):
        m = clone(model).fit(ROWS, Y)
        functions = m.classification_functions()
        np.testing.assert_allclose(softmax(values_of(functions, ROWS), axis=1), m.predict_proba(ROWS), atol=1e-9)
        linear = not any(g.numbers.quadratic.any() for g in functions)
        assert linear == (len(m.gaussian_.covariance.values) == 1)
        moved = m.with_priors([0.6, 0.3, 0.1])
        expected = moved.predict_proba(ROWS)
        np.testing.assert_allclose(
            softmax(values_of(moved.classification_functions(), ROWS), axis=1), expected, atol=1e-9
        )

    def test_weights_are_those_of_coef(self):
        X, y = load_iris(return_X_y=True, as_frame=True)
        m = cw.LDA().fit(X, y)
        functions = m.classification_functions()
        np.testing.assert_allclose([list(g.weights.values()) for g in functions], m.coef_, rtol=1e-9)
        np.testing.assert_allclose([g.constant for g in functions], m.intercept_, rtol=1e-9)
        assert "²" not in str(functions)
        assert list(functions[0].weights) == X.columns.tolist()
        assert "²" in str(cw.QDA().fit(X, y).classification_functions())

    def test_some_columns_are_the_model_of_these(self):
        m = cw.LDA().fit(ROWS, Y)
        some = ["weight", "color"]
        functions, less = m.classification_functions(columns=some), cw.LDA().fit(ROWS[some], Y)
        np.testing.assert_allclose(
            softmax(values_of(functions, ROWS), axis=1), less.predict_proba(ROWS[some]), atol=1e-9
        )
        alone = m.classification_functions(columns="flag")
        assert not alone[0].weights
        assert str(alone).startswith("a = -1.0986\n    flag: False ")

    def test_they_read_well(self):
        text = str(cw.LDA().fit(ROWS, Y).classification_functions())
        assert max(map(len, text.splitlines())) <= 90
        assert text.count(" = ") == 3
        assert re.search(r"\n    color: blue [-+]\d.\d\d, green [-+]\d.\d\d, red [-+]\d.\d\d\n", text)
        assert text.endswith("The class with the largest value wins. A text column adds the number beside its value.")

    def test_names_are_escaped(self):
        rows = ROWS.rename(columns={"size": "size_<b>", "color": "50%_off"})
        g = cw.LDA().fit(rows, Y).classification_functions()
        assert r"\mathrm{size\_<b>}" in g[0]._repr_latex_()
        assert r"\mathrm{50\%\_off} = \mathrm{blue}" in g[0]._repr_latex_()
        assert "size_&lt;b&gt;" in g._repr_html_()
        assert g._repr_latex_().count(r"\begin{cases}") == 6

    def test_what_has_none(self):
        for model in (cw.LDA(estimate="bayes"), cw.LDA(families={"weight": "lognormal"})):
            with pytest.raises(cw.NotAvailableError):
                clone(model).fit(ROWS, Y).classification_functions()
        holes = ROWS.assign(size=ROWS["size"].where(np.arange(180) % 7 > 0))
        with pytest.raises(cw.NotAvailableError, match="Presence"):
            cw.LDA(missing="level").fit(holes, Y).classification_functions()

    def test_impossible_levels_and_classes(self):
        X = pd.DataFrame({"x": [1.0, 2, 3, 4], "c": list("uuvw")})
        m = cw.LDA(smoothing=0, priors=[0.0, 1.0]).fit(X, [0, 0, 1, 1])
        text = str(m.classification_functions())
        assert "-inf" in text
        assert "-∞" in text


class TestPrint:
    def test_a_fitted_model_shows_its_summary(self, m):
        assert str(m) == str(m.summary())
        assert repr(m) == repr(clone(m))
        assert str(m).startswith(f"{m!r}\n")
        assert "3 classes, 5 columns" in str(m)

    def test_before_it_shows_its_options(self):
        for model in MODELS:
            assert str(model) == repr(model)
        early = cw.LDA().partial_fit(ROWS[:5], Y[:5])
        assert str(early) == "LDA()"

    def test_logistic_weights_and_members_of_a_stack(self):
        assert "Weights\n" in str(cw.BayesianLogistic(precision=1.0).fit(ROWS, Y))
        stack = cw.AutoClassifier(members="fast", folds=3).fit(ROWS, Y)
        assert "180 rows, 3 classes, 5 columns" in str(stack)
        assert "Members\n" in str(stack)

    def test_pipelines_and_searches_print_as_before(self):
        X = ROWS[["size", "weight"]]
        pipeline = make_pipeline(StandardScaler(), cw.LDA()).fit(X, Y)
        assert str(pipeline) == "Pipeline(steps=[('standardscaler', StandardScaler()), ('lda', LDA())])"
        search = GridSearchCV(cw.LDA(), {"shrink": [0.0, 0.1]}).fit(X, Y)
        assert str(search) == "GridSearchCV(estimator=LDA(), param_grid={'shrink': [0.0, 0.1]})"
        assert "sk-" in cw.LDA().fit(X, Y)._repr_html_()
