"""Rows in arrays of other libraries stay where they are, answers come back as such arrays, and numbers are the same.

array-api-strict is the standard itself, on devices with and without float64; torch and JAX are tried where they are
installed. Triton's kernels are interpreted, in a process of their own, where Triton is.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import array_api_strict
import numpy as np
import pytest
from sklearn.base import clone

import classwise as cw
from classwise.errors import MissingExtraError
from classwise.rows.device_rows import DeviceMatrix, is_on_device, to_host

Sender = Callable[[Any], Any]

ANSWERS = ("predict_log_proba", "predict_proba", "log_joint", "log_density", "log_evidence", "decision_function")


def strict(values: Any) -> Any:
    return array_api_strict.asarray(values)


def without_double(values: Any) -> Any:
    """On a device that has no float64."""
    own = values.astype(np.float32) if values.dtype == np.float64 else values
    return array_api_strict.asarray(own, device=array_api_strict.Device("no_float64"))


def torch(values: Any) -> Any:
    return pytest.importorskip("torch").asarray(values)


def jax(values: Any) -> Any:
    return pytest.importorskip("jax.numpy").asarray(values)


EXACT = pytest.mark.parametrize("send", [strict, torch])
SHORT = pytest.mark.parametrize("send", [strict, torch, without_double, jax])


def rows_of(count: int = 400, offset: float = 0.0, classes: int = 3) -> tuple[Any, Any]:
    """X (n, 4) with means so many deviations from zero, and y (n,)."""
    generator = np.random.default_rng(0)
    y = generator.integers(0, classes, count)
    turn = np.eye(4) + 0.2 * generator.normal(size=(4, 4))
    means = generator.normal(size=(classes, 4))
    return (generator.normal(size=(count, 4)) @ turn + means[y]) + offset * np.sqrt((turn**2).sum(axis=0)), y


MODELS = [
    cw.LDA(),
    cw.QDA(),
    cw.NaiveBayes(),
    cw.NearestMean(),
    cw.GaussianClassifier(estimate="bayes"),
    cw.LDA(shrink="ledoit-wolf"),
    cw.QDA(calibrate="temperature"),
    cw.GaussianClassifier(share="cv", folds=3),
]


@EXACT
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_models_are_the_same(model: Any, send: Sender) -> None:
    X, y = rows_of()
    ours, theirs = clone(model).fit(X, y), clone(model).fit(send(X), send(y))
    for name in ANSWERS:
        answer = getattr(theirs, name)(send(X))
        assert type(answer) is type(send(X))
        np.testing.assert_allclose(to_host(answer), getattr(ours, name)(X), rtol=1e-9, atol=1e-9)
    assert (to_host(theirs.predict(send(X))) == ours.predict(X)).all()


@SHORT
@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_float32_keeps_its_limits(offset: float, send: Sender) -> None:
    """At most 1e-6 of sqrt(S_ii S_jj), and 1e-4 of a log posterior or log joint."""
    X, y = rows_of(2000, offset)
    X = X.astype(np.float32)
    exact, short = cw.summarize(X.astype(np.float64), y).scatter, cw.summarize(send(X), send(y)).scatter
    scale = np.sqrt(np.einsum("kii->ki", exact))
    assert np.abs((short - exact) / (scale[:, :, None] * scale[:, None, :])).max() < 1e-6
    for model in (cw.LDA(), cw.QDA(), cw.NaiveBayes(), cw.GaussianClassifier(estimate="bayes")):
        fitted = model.fit(X.astype(np.float64), y)
        for name in ("predict_log_proba", "log_joint"):
            expected, found = getattr(fitted, name)(X.astype(np.float64)), to_host(getattr(fitted, name)(send(X)))
            assert found.dtype == np.float32
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@SHORT
def test_covariances_that_are_nearly_singular_are_computed_in_float64(send: Sender) -> None:
    X, y = rows_of(500)
    X[:, 3] = X[:, 2] + 1e-4 * X[:, 3]
    X = X.astype(np.float32)
    fitted = cw.QDA().fit(X.astype(np.float64), y)
    expected, found = fitted.predict_log_proba(X.astype(np.float64)), to_host(fitted.predict_log_proba(send(X)))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


@EXACT
def test_rows_are_not_copied(send: Sender, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: DeviceMatrix, columns: Any = None) -> Any:
        raise AssertionError("Rows of a device were copied.")

    monkeypatch.setattr(DeviceMatrix, "matrix", refuse)
    X, y = rows_of(200)
    for model in (cw.LDA(), cw.QDA(), cw.NaiveBayes(), cw.GaussianClassifier(estimate="bayes"), cw.BayesianLogistic()):
        fitted = model.fit(send(X), send(y))
        fitted.predict(send(X))
        fitted.predict_log_proba(send(X))
    given = {"our LDA": cw.LDA(), "our QDA": cw.QDA(shrink="ledoit-wolf"), "our regression": cw.BayesianLogistic()}
    found = cw.compare(send(X), send(y), folds=2, only=[], models=given)
    assert not [trial.reason for trial in found.trials if trial.reason]


@EXACT
@pytest.mark.parametrize("options", [{}, {"predictive": "plugin"}, {"link": "probit"}, {"posterior": "variational"}])
@pytest.mark.parametrize("classes", [2, 3])
def test_logistic_regression_is_the_same(options: dict[str, Any], classes: int, send: Sender) -> None:
    if options.get("link") == "probit" and classes > 2:
        pytest.skip("Probit has two classes.")
    X, y = rows_of(300, 5.0, classes)
    X[::7, 2] = 1.0
    weights = np.random.default_rng(1).uniform(0.5, 2, len(y))
    model = cw.BayesianLogistic(**options)
    ours, theirs = clone(model).fit(X, y, weights), clone(model).fit(send(X), send(y), send(weights))
    for name in ("predict_log_proba", "predict_proba"):
        answer = getattr(theirs, name)(send(X))
        assert type(answer) is type(send(X))
        np.testing.assert_allclose(to_host(answer), getattr(ours, name)(X), rtol=1e-9, atol=1e-9)
    assert (to_host(theirs.predict(send(X))) == ours.predict(X)).all()


def test_logistic_regression_without_double() -> None:
    X, y = rows_of(300)
    ours = cw.BayesianLogistic().fit(X.astype(np.float32), y)
    theirs = cw.BayesianLogistic().fit(without_double(X), y)
    found = to_host(theirs.predict_log_proba(without_double(X)))
    np.testing.assert_allclose(found, ours.predict_log_proba(X.astype(np.float32)), rtol=1e-4, atol=1e-4)


@EXACT
def test_comparisons_are_the_same(send: Sender) -> None:
    X, y = rows_of(240)
    options: dict[str, Any] = {"folds": 3, "only": ["lda", "qda", "naive-bayes", "logistic"], "time_limit": None}
    ours, theirs = cw.compare(X, y, **options), cw.compare(send(X), send(y), **options)
    assert repr(ours.best) == repr(theirs.best)
    found = {trial.name: trial.log_posterior for trial in theirs.trials}
    for trial in ours.trials:  # equal ones may change places
        if trial.log_posterior is not None:
            np.testing.assert_allclose(found[trial.name], trial.log_posterior, rtol=1e-7, atol=1e-7)


def test_models_of_others_are_compared_on_copies() -> None:
    from sklearn.linear_model import LogisticRegression

    X, y = rows_of(120)
    found = cw.compare(strict(X), strict(y), folds=2, only=["lda"], models={"given": LogisticRegression()})
    assert not [trial.reason for trial in found.trials if trial.name == "given" and trial.reason]


@EXACT
@pytest.mark.parametrize(
    "labels", [["b", "a"], [-3, 7], [False, True], [0.0, 2.0], [10**9, 0]], ids=["text", "gap", "bool", "float", "far"]
)
def test_labels_of_every_kind(labels: list[Any], send: Sender) -> None:
    X, y = rows_of(60, classes=2)
    names = np.array(labels)
    is_text = names.dtype.kind == "U"
    given = names[y] if is_text else send(names[y])
    fitted, expected = cw.LDA().fit(send(X), given), cw.LDA().fit(X, names[y])
    assert fitted.classes_.tolist() == expected.classes_.tolist()
    found = fitted.predict(send(X))
    assert isinstance(found, np.ndarray) == is_text
    assert to_host(found).tolist() == expected.predict(X).tolist()
    assert fitted.score(X, names[y]) == expected.score(X, names[y])


@EXACT
def test_missing_values_are_integrated_out(send: Sender) -> None:
    X, y = rows_of(200)
    X[3, 1] = X[17, 2] = np.nan
    for model in (cw.QDA(), cw.NaiveBayes()):
        ours, theirs = clone(model).fit(X, y), clone(model).fit(send(X), send(y))
        answer = theirs.predict_proba(send(X))
        assert type(answer) is type(send(X))
        np.testing.assert_allclose(to_host(answer), ours.predict_proba(X), rtol=1e-9, atol=1e-12)
    with pytest.raises(cw.ClasswiseError, match="NaN in column 1"):
        cw.LDA(missing="error").fit(send(X), send(y))


def test_infinity_is_an_error() -> None:
    X, y = rows_of(60)
    fitted = cw.LDA().fit(X, y)
    X[5, 3] = np.inf
    with pytest.raises(cw.ClasswiseError, match="infinity in column 3"):
        cw.LDA().fit(strict(X), strict(y))
    with pytest.raises(cw.ClasswiseError, match="infinity in column 3"):
        fitted.predict(strict(X))


@EXACT
def test_columns_that_are_left_out(send: Sender) -> None:
    X, y = rows_of(200)
    X[:, 1] = 0.3
    for model in (cw.LDA(), cw.QDA(), cw.GaussianClassifier(estimate="bayes")):
        with pytest.warns(cw.IgnoredColumnWarning):
            ours, theirs = clone(model).fit(X, y), clone(model).fit(send(X), send(y))
        np.testing.assert_allclose(to_host(theirs.log_joint(send(X))), ours.log_joint(X), rtol=1e-9, atol=1e-9)


def test_whole_numbers_and_other_families() -> None:
    X, y = rows_of(150)
    counts = np.abs(np.round(3 * X)).astype(np.int64)
    for model in (cw.LDA(), cw.NaiveBayes(families={0: "poisson"}), cw.NaiveBayes(families={0: "categorical"})):
        ours, theirs = clone(model).fit(counts, y), clone(model).fit(strict(counts), strict(y))
        answer = theirs.predict_proba(strict(counts))
        assert is_on_device(answer)
        np.testing.assert_allclose(to_host(answer), ours.predict_proba(counts), rtol=1e-9, atol=1e-12)


def test_weights_count_rows_and_batches_add_up() -> None:
    X, y = rows_of(100)
    weights = np.arange(100) % 3.0
    ours = cw.QDA().fit(X, y, weights)
    theirs = cw.QDA().fit(strict(X), strict(y), strict(weights))
    parts = cw.QDA()
    for part in (slice(0, 40), slice(40, 100)):
        parts.partial_fit(strict(X[part]), strict(y[part]), sample_weight=strict(weights[part]))
    for fitted in (theirs, parts):
        np.testing.assert_allclose(fitted.covariances_, ours.covariances_, rtol=1e-9, atol=1e-12)
        assert fitted.statistics_.weight.tolist() == ours.statistics_.weight.tolist()


def test_labels_may_be_on_a_device_where_rows_are_not() -> None:
    X, y = rows_of(60)
    assert (cw.LDA().fit(X, strict(y)).predict(X) == cw.LDA().fit(X, y).predict(X)).all()
    assert (cw.LDA().fit(strict(X), y).means_ == cw.LDA().fit(strict(X), strict(y)).means_).all()


def test_rows_of_another_shape_are_refused_as_ever() -> None:
    X, y = rows_of(60)
    with pytest.raises(ValueError, match="Expected 2D array"):
        cw.LDA().fit(strict(X[:, 0]), strict(y))
    with pytest.raises(cw.ClasswiseError, match="X has 60 rows and y has 59 labels"):
        cw.LDA().fit(strict(X), strict(y[1:]))
    with pytest.raises(cw.ClasswiseError, match="X has 3 features"):
        cw.LDA().fit(strict(X), strict(y)).predict(strict(X[:, :3]))


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "array_api_compat", None)
    X, y = rows_of(60)
    with pytest.raises(MissingExtraError, match=r"classwise\[gpu\]"):
        cw.LDA().fit(strict(X), y)


def test_importing_loads_no_array_library() -> None:
    loaded = (
        "import sys, classwise; sys.exit(any(name in sys.modules for name in ('torch', 'array_api_compat', 'jax')))"
    )
    assert subprocess.run([sys.executable, "-c", loaded], check=False).returncode == 0


KERNELS = """
import numpy as np, torch
import classwise as cw
from classwise.classifier import in_place
from classwise.engines import device_kernels, device_score_kernels, device_scores
from classwise.engines.device_sums import ClassedRows

generator = np.random.default_rng(0)
for count, columns, classes, offset in ((400, 16, 5, 0.0), (200, 5, 3, 1e3), (600, 18, 9, 0.0)):
    y = generator.integers(0, classes, count)
    turn = np.eye(columns) + 0.1 * generator.normal(size=(columns, columns))
    means = generator.normal(size=(classes, columns))
    X = (generator.normal(size=(count, columns)) @ turn + means[y] + offset).astype(np.float32)
    rows, codes = torch.from_numpy(X), torch.from_numpy(y.astype(np.int8))
    for weights in (None, torch.from_numpy(generator.uniform(0.5, 2, count))):
        classed = ClassedRows(rows, codes, classes, weights)
        provisional = np.stack([X[y == k].mean(axis=0) for k in range(classes)]).astype(np.float64)
        for diagonal in (False, True):
            plain, fast = classed.sums(provisional, diagonal), classed._by_kernel(device_kernels, provisional, diagonal)
            scale = np.sqrt(plain.products if diagonal else np.einsum("kii->ki", plain.products))
            scale = scale**2 if diagonal else scale[:, :, None] * scale[:, None, :]
            assert np.abs((plain.products - fast.products) / scale).max() < 1e-6
            assert np.abs(plain.total - fast.total).max() < 1e-3
            assert np.allclose(plain.weight, fast.weight)
    for model in (cw.LDA(), cw.QDA(), cw.NaiveBayes(), cw.GaussianClassifier(estimate="bayes")):
        classifier = model.fit(X.astype(np.float64), y).classifier_
        for asked in in_place.ANSWERS.values():
            scores = in_place._coefficients(classifier, asked)
            assert scores.reach < scores.short_reach
            plain = device_scores.answer(scores, asked.what, rows.double())
            fast = device_score_kernels.answer(scores, asked.what, rows)
            error = (plain - fast).abs().double() / plain.abs().clamp(min=1)
            assert error.max() < (1e-9 if asked.what == "decide" else 1e-4), (model, asked, error.max())
        broken = rows.clone()
        broken[3, 1] = float("nan")
        assert device_score_kernels.answer(scores, "posterior", broken) is None
"""


@pytest.mark.slow
@pytest.mark.skipif(find_spec("triton") is None or find_spec("torch") is None, reason="needs torch and Triton")
def test_kernels_are_equal_to_plain_operations() -> None:
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    done = subprocess.run([sys.executable, "-c", KERNELS], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
