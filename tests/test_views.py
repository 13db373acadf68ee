"""What notebooks show: every result has a view, a fitted estimator shows numbers, and `help` is a map."""

import re

import pytest

import classwise as cw

X, y = cw.datasets.penguins("pandas")


@pytest.fixture(scope="module")
def lda():
    return cw.LDA().fit(X, y)


RESULTS = {
    "explanation": lambda m: m.explain(X[:1]),
    "evaluation": lambda m: m.evaluate(X, y),
    "projection": lambda m: m.projection_,
    "parameters": lambda m: m.summary(),
    "statistics": lambda m: m.statistics_,
    "schema": lambda m: m.schema_,
    "prior shift": lambda m: m.estimate_priors(X),
    "boundary": lambda m: cw.QDA().fit(X[["body_mass_g"]], y).boundary("Adelie", "Gentoo"),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_have_a_view(lda, name):
    view = RESULTS[name](lda)._repr_html_()
    assert re.search(r"<(table|p|div|span|sub|sup)\b", view)
    assert view.count("<table") == view.count("</table>")


def test_statistics_show_weights_and_means(lda):
    view = lda.statistics_._repr_html_()
    assert "<td>Chinstrap</td><td>68</td>" in view
    assert "mean of body_mass_g" in view
    assert "<td>48.834</td>" in view


def test_statistics_of_text_alone_have_a_view():
    assert "<td>b</td><td>1</td>" in cw.summarize([["u"], ["v"], ["u"]], ["a", "a", "b"])._repr_html_()


def test_a_projection_shows_weights_and_shares(lda):
    assert "<td>between-class variance</td><td>86.67%</td>" in lda.projection_._repr_html_()


def test_a_prior_shift_shows_both_priors(lda):
    assert "<th>before</th><th>estimate</th>" in lda.estimate_priors(X)._repr_html_()


@pytest.mark.parametrize("model", [cw.LDA(), cw.NaiveBayes(), cw.BayesianLogistic(), cw.ForestClassifier(trees=5)])
def test_a_fitted_estimator_shows_numbers(model):
    numbers = X[["bill_length_mm", "body_mass_g"]].fillna(4000)
    before = model._repr_mimebundle_()["text/html"]
    after = model.fit(numbers, y)._repr_mimebundle_()["text/html"]
    assert "Gentoo" not in before
    assert "<td>Gentoo</td>" in after


def test_neither_view_nor_completion_fails_while_there_are_too_few_rows():
    m = cw.QDA().partial_fit([[1.0, 2.0], [3.0, 5.0]], ["a", "b"])
    assert m._repr_mimebundle_() == {"text/plain": "QDA()"}
    assert "partial_fit" in dir(m)


def test_help_is_a_map():
    named = set(re.findall(r"\w+", cw.__doc__))
    left_out = {name for name in cw.__all__ if name not in named and not name.endswith(("Error", "Warning"))}
    # Results of functions, and helpers of these.
    assert left_out <= {
        "ClassStatistics", "ColumnSelection", "Comparison", "Diagnosis", "Evaluation", "Examination", "LearningCurve",
        "NormalInverseWishart", "Query", "diagnose", "held_out_importance", "learning_curve", "load_penguins",
    }  # fmt: skip
    assert dir(cw) == cw.__all__


def mistaken():
    cw.LDA(share=2).fit(X, y)


def test_an_error_is_short():
    """A notebook shows the caller's lines and the message, not the way through the library."""
    with pytest.raises(cw.ClasswiseError) as caught:
        mistaken()
    lines = caught.value._render_traceback_()
    assert (
        lines[-1]
        == "classwise.errors.ClasswiseError: share=2 is not an option; give a number from 0 to 1, or 'average' or 'cv'."
    )
    assert lines[-2].endswith("cw.LDA(share=2).fit(X, y)")
    assert all(line.startswith("test_views.py, line ") for line in lines[:-1])


def test_ipython_asks_for_the_short_error(capsys):
    shell = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell()
    shell.run_cell("import classwise as cw; cw.QDA(estimate='map').fit([[0.0], [1.0]], [0, 1])")
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) == 2
    assert shown[0].startswith("cell, line 1: ")
