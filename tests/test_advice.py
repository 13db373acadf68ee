"""Advice is true: of constructed tables whose truth is known, of tables by chance, and beside held-out rows."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris

import classwise as cw
from check_advice import both, broken, contradict, manifest, read
from classwise.classifier.evaluation import Evaluation
from classwise.diagnostics.advice import AdviceWording

N = 300
Y = np.repeat(["x", "z"], N // 2)


def numbers(seed=7, shift=0.0, scale=1.0):
    rows = np.random.default_rng(seed).normal(size=(N, 2))
    rows[N // 2 :] = rows[N // 2 :] * scale + shift
    return pd.DataFrame(rows, columns=["a", "b"])


def confused(error, labels=("x", "z"), loss=0.5, rows=1000.0):
    """The evaluation of a model that mistakes this share of the rows of two equal classes, with this log loss."""
    right, wrong = rows / 2 * (1 - error), rows / 2 * error
    empty = np.zeros((3, 3, 15))
    confusion = np.array([[right, wrong], [wrong, right]])
    return Evaluation(np.array(labels), confusion, loss * rows, 0.0, empty, loss**2 * rows)


# Tables whose truth is known ------------------------------------------------------------------------------------------


def test_a_text_column_that_decides_tells_the_classes_apart():
    d = cw.diagnose(numbers().assign(kind=np.where(Y == "x", "p", "q")), Y)
    (pair,) = d.overlaps
    assert pair.by_levels > 1 > 0.1 > pair.by_means + pair.by_spread
    assert pair.most == pair.expected < 0.01
    assert "All classes are well apart: expect up to 0.67 % errors" in d.advice["overlap"]
    assert "tells" not in " ".join(d.sentences())


def test_a_text_column_of_noise_tells_nothing():
    d = cw.diagnose(numbers().assign(kind=np.random.default_rng(1).choice(list("abcdef"), N)), Y)
    assert d.overlaps[0].by_levels < 0.02
    assert d.sentences()[0].startswith("No column by itself tells classes 'x' and 'z' apart, nor do the number columns")


def test_an_id_tells_nothing():
    d = cw.diagnose(numbers().assign(id=[f"row {i}" for i in range(N)]), Y)
    assert d.overlaps[0].by_levels < 0.01
    assert d.overlaps[0].expected > 0.45
    assert "No column by itself" in d.advice["overlap"]


def test_distances_of_text_are_those_of_the_frequencies():
    rng, rows = np.random.default_rng(2), 20000
    first, second = np.array([0.7, 0.2, 0.1]), np.array([0.2, 0.3, 0.5])
    text = np.concatenate([rng.choice(3, rows, p=first), rng.choice(3, rows, p=second)]).astype(str)
    table = pd.DataFrame({"t": text, "u": rng.choice(list("abc"), 2 * rows)})
    (pair,) = cw.diagnose(table, np.repeat([0, 1], rows)).overlaps
    assert pair.by_levels == pytest.approx(-np.log(np.sqrt(first * second).sum()), rel=0.02)
    best = np.minimum(first, second).sum() / 2
    assert best < pair.expected < best + 0.01
    assert pair.least < best


def test_chance_adds_nothing_to_the_distance_of_text():
    rng, labels = np.random.default_rng(3), np.arange(60) % 2
    found = [
        cw.diagnose(pd.DataFrame({"t": rng.choice(list("abcde"), 60), "u": rng.choice(list("abcde"), 60)}), labels)
        for _ in range(200)
    ]
    plain = 2 * 4 / 8 * (2 / 30)  # what both columns seem to differ by
    assert np.mean([d.overlaps[0].by_levels for d in found]) < plain / 4


def test_text_alone_is_enough():
    table = pd.DataFrame({"t": np.where(Y == "x", "p", "q"), "u": np.random.default_rng(4).choice(list("ab"), N)})
    d = cw.diagnose(table, Y)
    assert (d.columns, d.others, d.pooled, d.metric, d.normality) == ((), ("t", "u"), None, None, ())
    assert list(d.advice) == ["overlap"]
    assert str(d).startswith("300 rows of 2 classes, 't' and 'u' counted one by one.")


def test_a_number_that_is_the_class_is_looked_at():
    d = cw.diagnose(np.repeat([[1.0], [2.0]], 150, axis=0), np.repeat([0, 1], 150))
    assert (d.columns, d.constant) == ((), (0,))
    assert "All classes are well apart" in d.advice["overlap"]


def test_columns_that_most_rows_lack_are_looked_at_one_by_one():
    table = numbers(shift=1.0).assign(gone=np.nan, c=np.random.default_rng(5).normal(size=N) + 4 * (Y == "x"))
    table.loc[np.arange(N) % 3 > 0, "c"] = np.nan
    d = cw.diagnose(table, Y)
    assert (d.columns, d.gappy, d.rows, d.incomplete) == (("a", "b"), ("gone", "c"), N, 0)
    assert "Counted one by one, as missing in many rows: 'gone' and 'c'." in d.notes
    without = cw.diagnose(table[["a", "b"]], Y).overlaps[0]
    assert without.by_levels == 0 < d.overlaps[0].by_levels < 0.4  # as if a third of the rows knew it


def test_rows_that_lack_numbers_count_as_unknown():
    whole = numbers(shift=4.0)
    gappy = whole.copy()
    gappy.loc[np.arange(N) % 4 == 0, "a"] = np.nan
    gappy.loc[np.arange(N) % 4 == 0, "b"] = np.nan
    full, some = (cw.diagnose(table, Y).overlaps[0].most for table in (whole, gappy))
    assert full < 0.01
    assert 0.1 < some < 0.15  # a quarter is not known, and half of it wrong


def test_a_column_that_follows_within_classes_alone_is_kept():
    d = cw.diagnose(numbers().assign(c=lambda t: t["a"] - t["b"] + 5 * (Y == "x")), Y)
    assert d.advice["spectrum"].startswith("Within a class some number columns follow from others")
    assert "leave" not in d.advice["spectrum"]
    everywhere = cw.diagnose((numbers() + 1e6).assign(c=lambda t: t["a"] - t["b"]), Y)
    assert everywhere.advice["spectrum"].endswith("leave out 'c'.")


def test_a_tiny_class_is_not_said_to_be_like_another():
    rows = np.random.default_rng(6).normal(size=(202, 2))
    d = cw.diagnose(rows, np.repeat(["a", "b", "c"], [100, 100, 2]))
    assert d.claims[0].classes == ("a", "b")
    d = cw.diagnose(rows[100:], np.repeat(["b", "c"], [100, 2]))
    assert all(claim.kind not in ("alike", "overlap") for claim in d.claims)


def gappy(table, share):
    return table.mask(np.random.default_rng(8).random(table.shape) < share)


CONSTRUCTED = {
    "text decides": (numbers().assign(kind=np.where(Y == "x", "p", "q")), Y),
    "text is noise": (numbers(shift=0.7).assign(kind=np.random.default_rng(9).choice(list("abc"), N)), Y),
    "text alone": (pd.DataFrame({"t": np.where(np.arange(N) % 5 > 0, Y, "w"), "u": ["o", "v", "w"] * (N // 3)}), Y),
    "gaps": (gappy(numbers(shift=1.5, scale=2.0), 0.3), Y),
    "a tiny class": (numbers(shift=2.0), np.where(np.arange(N) % 75 == 0, "tiny", Y)),
    "spread, and heavy tails": (numbers(scale=3.0) * np.random.default_rng(10).standard_t(3, size=(N, 1)), Y),
    "text repeats a number": (numbers(shift=0.8).assign(t=lambda t: np.where(t["a"] > 0.4, "high", "low")), Y),
}


@pytest.mark.parametrize("name", CONSTRUCTED)
def test_constructed_tables_are_told_what_held_out_rows_bear_out(name):
    comparison, before, after = both(*CONSTRUCTED[name], folds=3)
    assert broken(before, comparison) == []
    assert broken(after, comparison) == []


# After a comparison ---------------------------------------------------------------------------------------------------


def test_own_covariances_are_praised_where_they_did_better():
    table = numbers(scale=3.0)
    before = cw.diagnose(table, Y)
    assert before.sentences()[0].endswith("try cw.QDA() or cw.RDA().")
    assert before.sentences(shell=True)[0].endswith("try classwise compare --models qda,rda.")
    after = cw.diagnose(table, Y, held_out={"QDA": confused(0.1, loss=0.3), "LDA": confused(0.5, loss=0.7)})
    assert after.sentences()[0] == (
        "QDA did better than LDA (log loss 0.3 against 0.7 on held-out rows), as the covariances of the number columns "
        "differ between classes."
    )
    assert after.claims[0] == type(after.claims[0])("own covariances", ("QDA",), ("LDA",))


def test_own_covariances_are_not_advised_where_they_lost():
    held_out = {"LDA, OAS": confused(0.1, loss=0.3), "QDA": confused(0.2, loss=0.5), "RDA": confused(0.1, loss=0.31)}
    d = cw.diagnose(numbers(scale=3.0), Y, held_out=held_out)
    assert "LDA did better than QDA (log loss 0.3 against 0.5 on held-out rows)." in d.sentences()
    assert not any("try" in sentence for sentence in d.sentences())


@pytest.mark.parametrize(("loss", "says"), [(0.3, True), (0.595, False), (0.9, False)])
def test_that_classes_are_not_gaussian_is_said_where_it_matters(loss, says):
    table = np.exp(2 * numbers(shift=0.5))
    assert "not Gaussian: more values far out" in " ".join(cw.diagnose(table, Y).sentences())
    held_out = {"LDA": confused(0.2, loss=0.6), "logistic": confused(0.2, loss=loss)}
    d = cw.diagnose(table, Y, held_out=held_out)
    assert any("Logistic regression did better than LDA, QDA and RDA" in one for one in d.sentences()) == says
    assert "yet LDA won" in d.advice["normality"] or says


def test_models_that_could_not_be_fitted_are_not_advised():
    d = cw.diagnose(
        np.exp(2 * numbers(scale=2.0)), Y, held_out={"logistic": confused(0.2), "naive Bayes": confused(0.3)}
    )
    assert d.sentences() == ()
    assert not any("try" in sentence or "may help" in sentence for sentence in d.advice.values())


def test_errors_are_those_of_the_winner():
    d = cw.diagnose(numbers(shift=1.0), Y, held_out={"LDA": confused(0.24), "QDA": confused(0.4)})
    assert d.advice["overlap"] == (
        "Classes 'x' and 'z' are mistaken for each other: the winner, LDA, takes 24 % of their held-out rows for the "
        "other one."
    )
    assert d.sentences() == ()  # of two classes that is the error, which every table has
    guess = cw.diagnose(numbers(shift=1.0), Y, held_out={"LDA": confused(0.47)})
    assert guess.sentences()[0].endswith("about as many as always deciding for the more frequent would.")
    right = cw.diagnose(numbers(shift=1.0), Y, held_out={"LDA": confused(0.0)})
    assert right.advice["overlap"] == "On held-out rows no two classes are mistaken for each other often."


def test_held_out_is_read_as_compare_has_it():
    iris = load_iris(as_frame=True)
    comparison, before, after = both(iris.data, iris.target.to_numpy(), folds=5)
    names = list(comparison.evaluations)
    assert names[0] == comparison.winner.name
    assert sorted(names) == sorted(trial.name for trial in comparison.trials if not trial.reason)
    assert comparison.evaluations[names[0]].error == pytest.approx(comparison.winner.estimate("error").value)
    assert broken(before, comparison) == broken(after, comparison) == []
    assert cw.diagnose(iris.data, iris.target, held_out={}).advice == before.advice
    for wrong in ({"LDA": 0.3}, [1], comparison):
        with pytest.raises(cw.ClasswiseError, match="held_out is a mapping of names of models to their evaluations"):
            cw.diagnose(iris.data, iris.target, held_out=wrong)


# The words of the place -----------------------------------------------------------------------------------------------


def test_the_shell_is_told_of_flags():
    table = numbers(shift=1.0).assign(both=lambda t: t["a"] - t["b"])
    table["the sum"] = table["a"] + table["b"]
    d = cw.diagnose(table, Y)
    python, shell = (next(one for one in d.sentences(place) if "follow" in one) for place in (False, True))
    assert python.endswith("leave out 'both' and 'the sum'.")
    assert shell.endswith("--drop 'both,the sum'.")
    assert AdviceWording(shell=True).models(["RDA"]) == "classwise fit --model rda"
    for sentence in d.sentences(shell=True):
        assert "cw." not in sentence
        assert "=True" not in sentence


def test_a_diagnosis_can_be_pickled():
    d = cw.diagnose(numbers(), Y, held_out={"LDA": confused(0.2)})
    assert pickle.loads(pickle.dumps(d)).sentences() == d.sentences()


# Tables by chance -----------------------------------------------------------------------------------------------------

PRIVATE = ("log density", "Box", "M takes", " M ", "gives away", "structure=", "share=")


@st.composite
def tables(draw):
    """Numbers of all kinds, gaps, text that tells or does not, few rows or many, two to four classes."""
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    rows, count = draw(st.sampled_from([12, 40, 150, 400])), draw(st.integers(2, 4))
    labels = np.sort(rng.choice(count, rows, p=rng.dirichlet(np.full(count, 3.0))))
    labels[:count], labels[-count:] = np.arange(count), np.arange(count)
    kind = draw(st.sampled_from(["normal", "heavy", "skewed", "rounded"]))
    p = draw(st.integers(0, 6))
    values = {
        "normal": rng.normal(size=(rows, p)),
        "heavy": rng.standard_t(2.5, size=(rows, p)),
        "skewed": np.exp(rng.normal(size=(rows, p))),
        "rounded": rng.normal(size=(rows, p)).round(),
    }[kind]
    values = values * rng.uniform(0.3, 3, size=(count, p))[labels] + rng.normal(size=(count, p))[labels]
    table = pd.DataFrame(values, columns=[f"n{j}" for j in range(p)])
    if p and draw(st.booleans()):
        table = table.mask(rng.random((rows, p)) < draw(st.sampled_from([0.02, 0.3])))
    if p > 1 and draw(st.booleans()):
        table["sum"] = table["n0"] + table["n1"]
    told = rng.random(rows) < draw(st.sampled_from([0.0, 0.5, 1.0]))
    table["text"] = np.where(told, labels.astype(str), rng.choice(list("0123"), rows))
    return table, labels


@settings(max_examples=60)
@given(tables(), st.booleans())
def test_no_advice_contradicts_another(drawn, compared):
    table, labels = drawn
    rng = np.random.default_rng(len(table))
    kinds = ("LDA", "QDA", "RDA", "naive Bayes", "logistic", "naive Bayes, best families", "LDA, OAS")
    held_out = {name: confused(rng.uniform(0, 0.5), (0, 1), rng.uniform(0.1, 1)) for name in rng.permutation(kinds)}
    d = cw.diagnose(table, labels, held_out=held_out if compared else None)
    found = list(d.found.values())
    assert not any(contradict(one, other) for one in found for other in found)
    assert len(d.sentences()) == len(set(d.sentences())) == len(d.claims) <= 3
    for sentence in (*d.sentences(), *d.sentences(shell=True), *d.advice.values()):
        assert not any(word in sentence for word in PRIVATE), sentence
        assert sentence.endswith(".")
        assert sentence[0].isupper() or not sentence[0].isalpha()
    assert all(0 <= pair.least <= pair.most <= pair.expected <= pair.rarer + 1e-12 for pair in d.overlaps)
    for claim in d.claims if compared else ():
        losses = [
            [e.log_loss for n, e in held_out.items() if n.split(",")[0] in kinds_]
            for kinds_ in (claim.better, claim.worse)
        ]
        assert not all(losses) or min(losses[0]) <= min(losses[1])


# Real tables ----------------------------------------------------------------------------------------------------------

SMALL = (
    "iris",
    "haberman",
    "ecoli",
    "klar_b3",
    "esl_SAheart",
    "penguins",
    "titanic",
    "klar_germancredit",
    "keel_banana",
)


@pytest.mark.parametrize("name", SMALL)
def test_real_tables_are_told_what_is_true(data, name):
    found = {listed[0]: listed for listed in manifest(data)}
    X, y = read(data, *found[name][1:])
    comparison, before, after = both(X, y, folds=5)
    assert broken(before, comparison) == []
    assert broken(after, comparison) == []
