"""Each compiled kernel equals the plain way in NumPy, for every instruction set that this processor has."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import classwise as cw
from classwise import kernels
from classwise.arrays import EPS
from classwise.classifier.bayes import Calibration
from classwise.classifier.evaluation import BINS
from classwise.classifier.evaluation import _sums as plain_sums
from classwise.errors import UnscorableError
from classwise.kernels.boosting import TreeGrower
from classwise.kernels.falls import HIGHEST, PackedTrees
from classwise.kernels.forests import ForestGrower, ForestRows
from classwise.kernels.losses import posterior_sums, softmax_losses
from classwise.kernels.scores import Answer, Scores
from classwise.kernels.sums import class_moments, factor_products, least_pivot
from classwise.kernels.threads import BLAS
from classwise.logistic import Regression
from classwise.logistic.design import Design
from classwise.logistic.likelihood import logit, probit
from classwise.rows.codes import code_labels
from classwise.selection import Path
from classwise.statistics import SCATTERS, gather_from_columns, gather_moments

compiled = pytest.mark.skipif(not kernels.is_compiled(), reason="the package was built without a compiler")


@pytest.fixture(params=kernels.native.instruction_sets() if kernels.is_compiled() else [])
def instructions(request):
    kernels.native.choose(request.param)
    yield request.param
    kernels.native.choose(kernels.native.instruction_sets()[-1])


@pytest.fixture
def plainly(monkeypatch):
    """A function that runs another without the compiled core."""

    def run(function, *arguments, **options):
        with monkeypatch.context() as patch:
            patch.setattr(kernels, "native", None)
            return function(*arguments, **options)

    return run


def table(seed, rows, features, classes, offset=0.0, dtype=np.float64):
    generator = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(classes), generator.integers(classes, size=max(rows - classes, 0))])
    scale = 10.0 ** generator.uniform(-3, 3, features)
    X = (
        generator.standard_normal((len(codes), features)) + generator.standard_normal((classes, features))[codes]
    ) * scale
    return (X + offset * scale).astype(dtype), codes


def same_moments(found, expected):
    """To 1e-12 of the deviations of the features."""
    np.testing.assert_allclose(found.weight, expected.weight, rtol=1e-13)
    # Where a class has one row or rows do not vary, what is left is the rounding of the means.
    rounding = 1e-15 * np.abs(expected.mean).max(axis=0)
    size = np.maximum(np.sqrt(expected.scatter.pooled_diagonal()), 1e4 * rounding)
    size = np.where(size > 0, size, 1.0)
    assert np.abs(found.minus(expected) / size).max() < 1e-12
    ours, theirs = (part.scatter.scaled(1 / size).values for part in (found, expected))
    assert np.abs(ours - theirs).max() < 1e-12


@compiled
class TestMoments:
    @pytest.mark.parametrize("form", SCATTERS)
    @pytest.mark.parametrize("features", [1, 3, 8, 20, 25, 53])
    def test_equal_plain_ones(self, instructions, plainly, form, features):
        for rows, classes, offset, dtype, weighted in [
            (1, 1, 0.0, np.float64, False),
            (300, 3, 0.0, np.float64, True),
            (5000, 5, 1e6, np.float64, False),
            (700, 90, 30.0, np.float32, False),
            (9000, 2, 30.0, np.float32, True),
        ]:
            X, codes = table(features, rows, features, classes, offset, dtype)
            weights = np.random.default_rng(1).random(len(X)) + 0.1 if weighted else None
            expected = plainly(gather_moments, X, codes, classes, weights, SCATTERS[form])
            for view in (X, np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2], np.repeat(X, 2, axis=1)[:, ::2]):
                same_moments(gather_moments(view, codes.astype(np.int16), classes, weights, SCATTERS[form]), expected)
            columns = [np.ascontiguousarray(column) for column in X.T]
            same_moments(gather_from_columns(columns, codes, classes, weights, SCATTERS[form]), expected)

    @given(
        st.integers(0, 2**32),
        st.integers(1, 400),
        st.integers(1, 30),
        st.integers(1, 12),
        st.sampled_from([0, 1e3, 1e6]),
    )
    @settings(max_examples=25, deadline=None)
    def test_equal_plain_ones_of_any_table(self, seed, rows, features, classes, offset):
        X, codes = table(seed, rows, features, classes, offset)
        fused = gather_moments(X, codes, classes, None, SCATTERS["full"])
        native, kernels.native = kernels.native, None
        try:
            expected = gather_moments(X, codes, classes, None, SCATTERS["full"])
        finally:
            kernels.native = native
        same_moments(fused, expected)

    @pytest.mark.parametrize("form", SCATTERS)
    @pytest.mark.parametrize("features", [10, 40])
    def test_threads_change_no_digit(self, form, features, monkeypatch):
        X, codes = table(0, 60_000, features, 4)
        results = []
        for threads in (1, 2, 5, 16):
            monkeypatch.setattr(BLAS, "allowed", lambda threads=threads: threads)
            results.append(class_moments(X, codes, 4, 256, None, form))
        for other in results[1:]:
            assert all(np.array_equal(*pair) for pair in zip(results[0], other, strict=True))

    def test_missing_values_and_infinity_reach_the_sums(self, instructions):
        X, codes = table(0, 1000, 7, 3)
        for value in (np.nan, np.inf):
            X[777, 6] = value
            for form in SCATTERS:
                with np.errstate(invalid="ignore"):
                    moments = gather_moments(X, codes, 3, None, SCATTERS[form])
                finite = np.isfinite(moments.scatter.pooled_diagonal())
                assert finite[:6].all()
                assert not finite[6]

    def test_a_table_with_gaps_is_summarized_as_in_numpy(self, plainly):
        X, codes = table(3, 3000, 4, 3)
        X[::7, 1] = np.nan
        found, expected = cw.summarize(X, codes), plainly(cw.summarize, X, codes)
        same_moments(found.moments, expected.moments)
        assert len(found.numbers.gaps) == len(expected.numbers.gaps) > 0

    def test_other_types_take_the_plain_way(self):
        codes = np.array([0, 1, 0])
        unaligned = np.zeros(49, dtype=np.uint8)[1:].view(np.float64).reshape(3, 2)
        others = [
            np.arange(6).reshape(3, 2),
            np.ones((3, 2), dtype=">f8"),
            np.ones((3, 2), dtype=np.float16),
            unaligned,
        ]
        for X in others:
            assert class_moments(X, codes, 2, 256, None, "full") is None

    def test_codes_of_any_integers(self):
        X, codes = table(0, 50, 3, 2)
        expected = class_moments(X, codes, 2, 256, None, "full")
        spread = np.repeat(codes, 2)[::2]
        unaligned = np.zeros(8 * len(codes) + 1, dtype=np.uint8)[1:].view(np.int64)
        unaligned[:] = codes
        for other in (codes.astype(np.int8), codes.astype(">i4"), codes.astype(np.int32), spread, unaligned):
            found = class_moments(X, other, 2, 256, None, "full")
            assert all(np.array_equal(*pair) for pair in zip(found, expected, strict=True))

    def test_arguments_that_do_not_fit_are_refused(self):
        X, codes, out = np.ones((3, 2)), np.zeros(3, dtype=np.int64), [np.empty(shape) for shape in OUT]
        with pytest.raises(ValueError, match="do not fit"):
            kernels.native.moments(X, codes[:2], None, 0, 256, 1, 1, *out)
        with pytest.raises(ValueError, match="do not fit"):
            kernels.native.moments(X, codes, None, 0, 256, 1, 1, np.empty(3), *out[1:])

    @pytest.mark.parametrize("form", SCATTERS)
    def test_a_class_that_comes_late_or_never_varies(self, plainly, form):
        X = np.full((2000, 3), 1e9 + 0.1)
        codes = np.zeros(2000, dtype=np.int64)
        codes[1900:], X[1900:] = 1, np.random.default_rng(0).normal(size=(100, 3))
        found = gather_moments(X, codes, 2, None, SCATTERS[form])
        same_moments(found, plainly(gather_moments, X, codes, 2, None, SCATTERS[form]))
        assert (found.mean[0] == 1e9 + 0.1).all()
        assert not found.rest[0].any()


# The shapes of results: of two classes and two columns.
OUT = [(2, 1), (2, 2), (2, 2), (2, 2, 2)]


@compiled
class TestPivots:
    @given(st.integers(0, 2**32), st.integers(1, 60), st.integers(1, 4))
    @settings(max_examples=25, deadline=None)
    def test_equal_plain_ones(self, seed, features, count):
        rows = np.random.default_rng(seed).normal(size=(count, 2 * features, features)) * np.logspace(-9, 9, features)
        matrices = rows.transpose(0, 2, 1) @ rows
        assert least_pivot(matrices) == pytest.approx(plain_pivot(matrices), rel=1e-6)

    def test_nothing_is_left_of_a_copy(self):
        rows = np.random.default_rng(0).normal(size=(50, 3)) @ np.array([[1, 0, 2], [0, 1, 3], [0, 0, 0]])
        assert least_pivot((rows.T @ rows)[None]) < 1e-12
        assert plain_pivot((rows.T @ rows)[None]) < 1e-12

    def test_a_variance_that_is_not_positive(self):
        for worst in (0.0, -1.0, np.nan):
            matrices = np.array([np.eye(2), np.diag([1.0, worst])])
            assert least_pivot(matrices) == plain_pivot(matrices) == 0.0
        assert least_pivot(np.array([[[1.0, 2.0], [2.0, 1.0]]])) == 0.0


@compiled
class TestPaths:
    @pytest.mark.parametrize("standardize", [False, True])
    @pytest.mark.parametrize(("features", "classes", "share"), [(1, 2, 0.0), (3, 5, 0.5), (12, 3, 1.0), (20, 4, 0.0)])
    def test_equal_plain_ones(self, instructions, plainly, features, classes, share, standardize):
        X, y = table(5, 777, features, classes, offset=100.0)
        recipe = cw.RDA(share=share, shrink=0.5, standardize=standardize)._plan().numbers.recipe
        path = Path.of(cw.summarize(X, y), recipe, np.array([0.0, 0.01, 0.3, 1.0]))
        weights = np.random.default_rng(2).random(len(X))
        for offset in (
            np.log(np.full((classes, 1), 1 / classes)),
            np.random.default_rng(3).normal(size=(classes, 777)),
        ):
            found = path.losses(X, y, offset, weights)
            np.testing.assert_allclose(found, plainly(path.losses, X, y, offset, weights), rtol=1e-10)

    def test_a_class_that_is_never_predicted_takes_no_part(self):
        X, y = table(5, 200, 3, 2)
        path = Path.of(cw.summarize(X, y), cw.RDA(share=0, shrink=0.5)._plan().numbers.recipe, np.array([0.5]))
        with np.errstate(divide="ignore"):
            losses = path.losses(X, y, np.log([[1.0], [0.0]]), (y == 0).astype(float))
        assert losses.tolist() == [0.0]

    def test_codes_beyond_the_classes_are_refused(self):
        X, y = table(5, 200, 3, 2)
        path = Path.of(cw.summarize(X, y), cw.RDA(share=0, shrink=0.5)._plan().numbers.recipe, np.array([0.5]))
        with pytest.raises(ValueError, match="beyond the classes"):
            path.losses(X, y + 1, np.zeros((2, 1)), np.ones(200))


@compiled
class TestSoftmax:
    """A pass of logistic regression: loss, gradient and curvature."""

    @pytest.mark.parametrize(("features", "classes"), [(1, 2), (3, 2), (7, 3), (24, 6), (50, 5), (2, 12)])
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("intercept", [False, True])
    def test_equal_plain_ones(self, instructions, plainly, features, classes, weighted, intercept):
        rng = np.random.default_rng(features)
        X, codes = table(0, 1000 + features, features, classes, offset=3.0)
        regression = logistic_regression(X, classes, intercept)
        at = 2 * rng.normal(size=regression.shape)
        weights = rng.exponential(size=len(X)) if weighted else None
        for method in (regression.curvature, regression.slope):
            same_curvature(method(at, X, codes, weights), plainly(method, at, X, codes, weights))

    @pytest.mark.parametrize("order", ["C", "F"])
    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    @pytest.mark.parametrize("code", [np.uint8, np.int16, np.int64])
    def test_rows_and_codes_of_any_kind(self, instructions, plainly, order, dtype, code):
        X, codes = table(1, 300, 5, 4, dtype=dtype)
        regression = logistic_regression(X, 4)
        arguments = np.full(regression.shape, 0.3), np.asarray(X, order=order), codes.astype(code), None
        same_curvature(regression.curvature(*arguments), plainly(regression.curvature, *arguments))

    def test_scores_that_tie_and_scores_far_apart(self, instructions, plainly):
        """A loss that is almost zero keeps its digits."""
        X, codes = np.array([[0.0], [1.0], [30.0], [36.0], [-600.0], [700.0]]), np.array([0, 1, 1, 1, 0, 1])
        regression = Regression(plain_design(np.zeros(1), np.ones(1), False), logit(2), direct=True)
        for some in range(1, len(X) + 1):
            arguments = np.ones((1, 1)), X[-some:], codes[-some:], None
            same_curvature(regression.curvature(*arguments), plainly(regression.curvature, *arguments))
        assert regression.slope(np.ones((1, 1)), X[5:], codes[5:], None).loss == pytest.approx(np.exp(-700.0))

    @pytest.mark.parametrize("value", [np.nan, np.inf, 1e308])
    def test_what_is_not_finite_is_left_to_numpy(self, instructions, value):
        X, codes = table(2, 100, 3, 3)
        X[40, 1] = value
        found = softmax_losses(X, codes, None, np.zeros(3), np.zeros(3), np.full((3, 3), 1e10), curved=True)
        assert found is None

    def test_probit_takes_the_plain_way(self):
        assert probit(2).as_softmax(np.zeros((1, 3))) is None

    def test_arguments_that_do_not_fit_are_refused(self):
        X, codes = table(3, 20, 3, 2)
        with pytest.raises(ValueError, match="codes do not fit"):
            softmax_losses(X, codes[1:], None, np.zeros(3), np.zeros(2), np.zeros((2, 3)), curved=False)
        with pytest.raises(ValueError, match="weights does not fit"):
            softmax_losses(X, codes, np.ones(3), np.zeros(3), np.zeros(2), np.zeros((2, 3)), curved=False)
        with pytest.raises(ValueError, match="origin does not fit"):
            softmax_losses(X, codes, None, np.zeros(2), np.zeros(2), np.zeros((2, 3)), curved=False)
        with pytest.raises(ValueError, match="origin does not fit"):
            factor_products(X.T, np.ones((1, 20)), np.zeros(2))


def plain_design(center, scale, intercept):
    columns = np.arange(len(center))
    return Design(columns, np.full(len(center), -1), center, center, scale, intercept)


def logistic_regression(X, classes, intercept=True):
    center = intercept * X.mean(axis=0, dtype=np.float64)
    design = plain_design(center, X.std(axis=0, dtype=np.float64), intercept)
    return Regression(design, logit(classes), direct=True)


def same_curvature(found, expected):
    """To 1e-12 of what the rows add up to, and of a small loss too."""
    assert found.weight == expected.weight
    assert found.loss == pytest.approx(expected.loss, rel=1e-12)
    np.testing.assert_allclose(found.gradient, expected.gradient, rtol=1e-12, atol=1e-12 * expected.weight)
    np.testing.assert_allclose(found.products, expected.products, rtol=1e-12, atol=1e-12 * expected.weight)


@compiled
class TestEvaluations:
    @given(st.integers(0, 2**32), st.integers(1, 300), st.integers(2, 9), st.sampled_from([0.1, 3.0, 300.0]))
    @settings(max_examples=25, deadline=None)
    def test_equal_plain_ones(self, seed, rows, classes, spread):
        generator = np.random.default_rng(seed)
        logs, codes = spread * generator.normal(size=(rows, classes)), generator.integers(classes, size=rows)
        logs[generator.random(logs.shape) < 0.1] = -np.inf
        weights = generator.random(rows)
        found = posterior_sums(logs, codes, weights, BINS, EPS)
        for ours, theirs in zip(found, plain_sums(logs, codes, weights), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-13)

    def test_codes_beyond_the_classes_are_refused(self):
        with pytest.raises(ValueError, match="beyond the classes"):
            posterior_sums(np.zeros((2, 2)), np.array([0, 2]), np.ones(2), BINS, EPS)


def plain_pivot(matrices):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "native", None)
        return least_pivot(matrices)


MODELS = [
    cw.LDA(),
    cw.QDA(),
    cw.NaiveBayes(),
    cw.NearestMean(),
    cw.RDA(share=0.3, shrink=0.2),
    cw.LDA(standardize=True),
]


@compiled
class TestScores:
    @pytest.mark.parametrize("model", MODELS, ids=lambda model: repr(model).replace("\n", ""))
    @pytest.mark.parametrize("features", [1, 4, 11, 20])
    def test_equal_plain_ones(self, instructions, plainly, model, features):
        for rows, classes, offset, dtype in [
            (60, 2, 0.0, np.float64),
            (501, 6, 1e6, np.float64),
            (300, 3, 9.0, np.float32),
        ]:
            X, codes = table(features + 100, max(rows, 12 * features), features, classes, offset, dtype)
            fitted = model.fit(X, codes % classes)
            for classifier in (fitted.model_.classifier, fitted.model_.classifier.calibrated(Calibration(0.7, ()))):
                for answer, name in METHODS.items():
                    for view in (X, np.asfortranarray(X), list(np.asfortranarray(X).T)):
                        fused = classifier.fused(view, answer)
                        assert fused is not None
                        same_answers(fused, plainly(getattr(classifier, name), X), answer)

    @pytest.mark.parametrize("features", [1, 3, 4, 5, 7, 8, 9, 20, 31, 32, 33, 47, 100])
    @pytest.mark.parametrize("classes", [1, 2, 5, 6, 11])
    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_polynomials_of_any_size(self, instructions, features, classes, dtype):
        """Rows, features and classes that fill vectors and tiles, and that do not."""
        generator = np.random.default_rng(features)
        origin, constant = generator.normal(size=features), generator.normal(size=classes)
        slope, curve = generator.normal(size=(2, classes, features))
        linear, squared = Scores.linear(origin, constant, slope), Scores.diagonal(origin, constant, slope, curve)
        for rows in (1, 7, 8, 31, 33, 64, 70):
            for X in laid_out(generator.normal(size=(rows, features)).astype(dtype)):
                d = (X - origin).T
                expected = constant[:, None] + slope @ d
                np.testing.assert_allclose(linear.answer(X, Answer.SCORES), expected, rtol=0, atol=1e-12)
                curved = expected + curve @ d**2
                np.testing.assert_allclose(squared.answer(X, Answer.SCORES), curved, rtol=0, atol=1e-11)

    @pytest.mark.parametrize("features", [3, 20, 40])
    def test_a_value_that_is_not_finite_stays_in_its_row(self, instructions, features):
        """Vectors are loaded across the ends of rows."""
        X = np.random.default_rng(0).normal(size=(100, features + 1))
        X[:, -1] = np.nan
        scores = Scores.linear(np.zeros(features), np.zeros(3), np.ones((3, features)))
        assert scores.answer(X[:, :-1], Answer.POSTERIOR) is not None
        for row in (0, 50, 99):
            spoiled = np.zeros((100, features))
            spoiled[row, 0] = np.nan
            assert scores.answer(spoiled, Answer.POSTERIOR) is None

    def test_a_prior_of_zero_never_wins(self, instructions):
        X, codes = table(5, 200, 3, 3)
        fitted = cw.LDA(priors=[0.5, 0.0, 0.5]).fit(X, codes)
        proba = fitted.predict_proba(X)
        assert (proba[:, 1] == 0).all()
        np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-14)
        assert np.isneginf(fitted.predict_log_proba(X)[:, 1]).all()

    def test_ties_are_level(self, instructions):
        scores = Scores.linear(np.zeros(1), np.array([0.0, 1e-13, -5.0]), np.zeros((3, 1)))
        X = np.zeros((5, 1))
        assert (scores.answer(X, Answer.DECISION) == 0).all()
        proba = scores.answer(X, Answer.POSTERIOR)
        assert (proba[0] == proba[1]).all()

    def test_rows_that_cannot_be_scored_are_left_to_numpy(self, instructions):
        X, codes = table(6, 300, 4, 3)
        classifier = cw.QDA().fit(X, codes).model_.classifier
        for value in (np.nan, np.inf, 1e200):
            spoiled = X.copy()
            spoiled[137, 2] = value
            assert classifier.fused(spoiled, Answer.POSTERIOR) is None
            with pytest.raises(UnscorableError), np.errstate(all="ignore"):
                classifier.posterior(spoiled)

    def test_far_below_the_largest_probabilities_are_as_numpys(self, instructions):
        logs = -np.concatenate([np.linspace(0, 745.2, 4000), [746.0, 800.0, 1e5]])
        scores = Scores.linear(np.zeros(1), np.zeros(2), np.array([[0.0], [1.0]]))
        proba = scores.answer(logs[:, None], Answer.POSTERIOR)
        expected = np.exp(logs) / (1 + np.exp(logs))
        np.testing.assert_allclose(proba[1], expected, rtol=2e-15, atol=5e-324)

    def test_means_far_apart_take_the_plain_way(self):
        X = np.concatenate([np.random.default_rng(0).standard_normal((50, 2)) + 1e4 * k for k in range(2)])
        classifier = cw.LDA().fit(X, np.repeat([0, 1], 50)).model_.classifier
        assert classifier.fused(X, Answer.POSTERIOR) is None
        assert (classifier.decide(X) == np.repeat([0, 1], 50)).all()


def laid_out(X):
    """The same rows as they may lie in memory; the last are the end of it."""
    wide = np.full((len(X), X.shape[1] + 5), np.nan, dtype=X.dtype)
    wide[:, 5:] = X
    return [X, np.asfortranarray(X), wide[:, 5:], np.repeat(X, 2, axis=0)[1::2], X[::-1].copy()[::-1]]


METHODS = {
    Answer.POSTERIOR: "posterior",
    Answer.LOG_POSTERIOR: "log_posterior",
    Answer.SCORES: "decision_scores",
    Answer.DECISION: "decide",
}


def same_answers(found, expected, answer):
    if answer is Answer.DECISION:
        assert (found == expected).mean() > 0.99  # where the best two are level to rounding, either may be first
    elif answer is Answer.POSTERIOR:
        np.testing.assert_allclose(found, expected, atol=1e-9)
    else:
        ours, theirs = (scores - scores.max(axis=0) for scores in (found, expected))
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-8)


@compiled
class TestLabels:
    @pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
    def test_equal_plain_ones(self, plainly, dtype):
        limits, generator = np.iinfo(dtype), np.random.default_rng(0)
        for start in (limits.min, 0, limits.max - 60):
            labels = np.array([start], dtype=dtype) + generator.choice([0, 3, 4, 60], 300_000).astype(dtype)
            found, expected = code_labels(labels), plainly(code_labels, labels)
            assert all(np.array_equal(*pair) for pair in zip(found, expected, strict=True))
            assert found[0].dtype == labels.dtype

    def test_labels_that_come_late(self, plainly):
        labels = np.arange(300_000) % 5
        for late in (5, 7, -3):
            labels[-1] = late
            found, expected = code_labels(labels), plainly(code_labels, labels)
            assert all(np.array_equal(*pair) for pair in zip(found, expected, strict=True))

    def test_labels_beyond_the_first_ones(self, plainly):
        labels = np.zeros(10_000, dtype=np.int64)
        labels[-1], labels[-2] = -7, 20_000
        found, expected = code_labels(labels), plainly(code_labels, labels)
        assert all(np.array_equal(*pair) for pair in zip(found, expected, strict=True))
        labels[-1] = 10**15
        assert code_labels(labels)[0].tolist() == [0, 20_000, 10**15]


@compiled
def test_trees_equal_those_of_scikit_learn(plainly):
    X, codes = table(8, 2000, 6, 3)
    X[::11, 2] = np.nan
    forest = cw.ForestClassifier(random_state=0).fit(X, codes).model_.classifier
    for rows in (X, X[:5], X[:17].astype(np.float32), np.asfortranarray(X)):
        np.testing.assert_allclose(forest.posterior(rows), plainly(forest.posterior, rows), rtol=1e-13)
        expected = plainly(forest.trees.codes, rows)
        assert np.array_equal(forest.trees.codes(rows), expected)
        ours, theirs = forest.trees.leaves(expected), plainly(lambda codes: list(forest.trees.leaves(codes)), expected)
        assert all(np.array_equal(*pair) for pair in zip(ours, theirs, strict=True))


class TestSmallTrees:
    """Trees of at most 16 leaves are not walked through; the sums are the same to the last digit."""

    @pytest.mark.parametrize("leaves", [1, 2, 16, 17])
    @pytest.mark.parametrize("rows", [63, 64, 700])
    def test_sums_are_those_of_the_leaves_of_rows(self, instructions, leaves, rows):
        generator = np.random.default_rng(leaves)
        codes = generator.integers(0, HIGHEST, (rows, 5)).astype(np.uint16)
        parts = [random_tree(generator, leaves) for _ in range(7)]
        ends = np.cumsum([len(right) for right, _ in parts])
        right, cut = (np.concatenate(each) for each in zip(*parts, strict=True))
        leaf = np.where(right == 0, np.cumsum(right == 0) - 1, -1)
        column = generator.integers(0, 5, len(right))
        packed = PackedTrees.of([0, *ends], right, column, cut, leaf)
        table = generator.standard_normal((7 * leaves, 3))
        expected = np.zeros((rows, 3))
        for own in packed.leaves(codes, 0, 7):
            expected += table[own]
        np.testing.assert_array_equal(packed.sums(codes, table), expected)


def random_tree(generator, leaves):
    """A tree that is split on either side by chance; (right, cut) of its nodes."""
    if leaves == 1:
        return np.zeros(1, dtype=np.intp), np.zeros(1, dtype=np.intp)
    own = int(generator.integers(1, leaves))
    (left, of_left), (other, of_other) = random_tree(generator, own), random_tree(generator, leaves - own)
    cut = generator.integers(0, HIGHEST, 1)
    return np.concatenate([[1 + len(left)], left, other]), np.concatenate([cut, of_left, of_other])


class TestBoostedTrees:
    """Both ways find the same tree, and its first cut is the best of all."""

    @compiled
    @settings(max_examples=60, deadline=None)
    @given(
        seed=st.integers(0, 10_000),
        rows=st.integers(1, 300),
        columns=st.integers(1, 6),
        scores=st.integers(1, 4),
        bins=st.integers(2, 64),
        leaves=st.integers(1, 20),
        least=st.integers(1, 9),
    )
    def test_equal_plain_ones(self, seed, rows, columns, scores, bins, leaves, least):
        task = growth_task(seed, rows, columns, scores, bins)
        grower = TreeGrower(leaves, least, bins)
        found = grower.grow(*task)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(kernels, "native", None)
            expected = grower.grow(*task)
        for ours, plain in zip(found, expected, strict=True):
            np.testing.assert_array_equal(ours, plain)
        assert found.n_leaves <= leaves
        assert set(found.column[found.column >= 0]) <= set(task[4])

    @pytest.mark.parametrize("scores", [1, 3])
    def test_the_first_cut_is_the_best_of_all(self, scores):
        codes, rows, slopes, curvatures, columns = growth_task(3, 200, 4, scores, 8)
        found = TreeGrower(2, 10, 8).grow(codes, rows, slopes, curvatures, columns)
        gains = {}
        for j in columns:
            for cut in range(7):
                sides = [codes[rows, j] <= cut, codes[rows, j] > cut]
                if min(map(np.count_nonzero, sides)) >= 10:
                    gains[j, cut] = sum(
                        (slopes[of].sum(axis=0) ** 2).sum() / (curvatures[of].sum() + 1) for of in sides
                    )
        assert (found.column[0], found.cut[0]) == max(gains, key=gains.get)
        np.testing.assert_array_equal(found.leaf, codes[:, found.column[0]] > found.cut[0])

    @compiled
    def test_arguments_that_do_not_fit_are_refused(self):
        codes, rows, slopes, curvatures, columns = growth_task(0, 20, 2, 1, 8)
        grower = TreeGrower(4, 1, 8)
        with pytest.raises(ValueError, match="rows are beyond"):
            grower.grow(codes, rows + len(codes), slopes, curvatures, columns)
        with pytest.raises(ValueError, match="columns are beyond"):
            grower.grow(codes, rows, slopes, curvatures, columns + 2)
        with pytest.raises(ValueError, match="codes are beyond"):
            grower.grow(codes + np.uint8(8), rows, slopes, curvatures, columns)
        with pytest.raises(ValueError, match="slopes"):
            grower.grow(codes, rows, slopes[1:], curvatures, columns)
        room = grower.room(len(columns), 1)
        with pytest.raises(ValueError, match="too little room"):
            grower.grow(codes, rows, slopes, curvatures, columns, room[1:])
        found, expected = (grower.grow(codes, rows, slopes, curvatures, columns, each) for each in (room, None))
        np.testing.assert_array_equal(found.leaf, expected.leaf)


def growth_task(seed, rows, columns, scores, bins):
    """Codes (n, p), some rows with slopes and curvatures, and some columns."""
    generator = np.random.default_rng(seed)
    codes = generator.integers(0, bins, (rows, columns)).astype(np.uint8)
    own = np.sort(generator.choice(rows, generator.integers(max(rows // 2, 1), rows + 1), replace=False))
    cut = np.sort(generator.choice(columns, generator.integers(1, columns + 1), replace=False))
    return codes, own, generator.standard_normal((len(own), scores)), generator.uniform(0, 0.25, len(own)), cut


class TestForests:
    """The compiled core grows the trees of scikit-learn, to the last digit."""

    @compiled
    @settings(max_examples=150, deadline=None)
    @given(
        seed=st.integers(0, 10_000),
        random=st.booleans(),
        rows=st.integers(2, 300),
        columns=st.integers(1, 12),
        classes=st.integers(2, 6),
        least=st.integers(1, 5),
        kind=st.sampled_from(["numbers", "integers", "one value", "hardly apart", "mixed"]),
        weights=st.sampled_from(["even", "uneven", "doubled"]),
    )
    def test_equal_those_of_scikit_learn(self, seed, random, rows, columns, classes, least, kind, weights):
        task, own = forest_task(seed, rows, columns, classes, kind, weights)
        grower = ForestGrower(random, least)
        self.check_equal(*(grow(task, own, 3, seed) for grow in (grower.grow, grower._plainly)))

    @compiled
    @pytest.mark.parametrize("random", [True, False])
    @pytest.mark.parametrize(("rows", "classes"), [(4000, 2), (3000, 40)])
    def test_many_rows_and_many_classes(self, random, rows, classes):
        task, own = forest_task(1, rows, 9, classes, "mixed", "even")
        grower = ForestGrower(random, 1)
        self.check_equal(*(grow(task, own, 2, 5) for grow in (grower.grow, grower._plainly)))

    def check_equal(self, found, expected):
        assert len(found) == len(expected)
        for ours, theirs in zip(found, expected, strict=True):
            inner = ours.column >= 0
            np.testing.assert_array_equal(inner, theirs.column >= 0)
            np.testing.assert_array_equal(ours.column[inner], theirs.column[inner])
            np.testing.assert_array_equal(ours.threshold[inner], theirs.threshold[inner])

    @compiled
    def test_arguments_that_do_not_fit_are_refused(self):
        task, own = forest_task(0, 20, 3, 2, "integers", "even")
        grower = ForestGrower(False, 1)
        with pytest.raises(ValueError, match="classes are beyond"):
            grower.grow(ForestRows(task.values, task.classes + 2, task.weights, 2), own, 1, 0)
        with pytest.raises(ValueError, match="classes or counts do not fit"):
            grower.grow(ForestRows(task.values, task.classes[1:], task.weights, 2), own, 1, 0)
        ranks, distinct, starts = task.ranked
        for wrong in ((ranks + np.uint32(50), distinct, starts), (ranks, distinct[1:], starts)):
            broken = ForestRows(task.values, task.classes, task.weights, 2)
            broken.__dict__["ranked"] = wrong
            with pytest.raises(ValueError, match="ranks"):
                grower.grow(broken, own, 1, 0)


def forest_task(seed, rows, columns, classes, kind, weights):
    """Rows to grow trees on, and which of them take part."""
    generator = np.random.default_rng(seed)
    values = generator.normal(size=(rows, columns))
    match kind:
        case "integers":
            values = np.round(values)
        case "one value":
            values[:, generator.integers(columns)] = 1
        case "hardly apart":
            values *= 1e-7
        case "mixed":
            values[:, ::2] = np.round(20 * values[:, ::2]) / 20
    of_rows = np.ones(rows) * (2 if weights == "doubled" else 1)
    if weights == "uneven":
        of_rows = generator.uniform(0.5, 2, rows)
    own = np.sort(generator.choice(rows, max(rows * 4 // 5, 1), replace=False))
    return ForestRows(values.astype(np.float32), generator.integers(0, classes, rows), of_rows, classes), own


def test_an_environment_variable_turns_the_core_off():
    check = "import os; os.environ['CLASSWISE_PLAIN'] = '1'; import classwise.kernels as k; assert not k.is_compiled()"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
