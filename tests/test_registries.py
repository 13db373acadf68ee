"""Models in other libraries' stores: MLflow's scikit-learn flavor, and skops. Skipped where these are not installed."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import classwise as cw

MODELS: dict[str, Callable[[], Any]] = {
    "naive Bayes": cw.NaiveBayes,
    "LDA": cw.LDA,
    "logistic": lambda: cw.BayesianLogistic(precision=1.0),
    "forest": lambda: cw.ForestClassifier(trees=10),
    "Decision": lambda: cw.Decision(cw.QDA(), reject=0.1, novelty=0.05),
}


def a_table() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    codes = np.arange(90) % 3
    frame = pd.DataFrame({"x": rng.normal(codes, 1.0), "z": rng.normal(-codes, 1.0)})
    frame["color"] = np.where(rng.random(90) < 0.2 + 0.3 * codes, "red", "blue")
    return frame, np.array(["a", "b", "c"])[codes]


@pytest.fixture(scope="module", params=MODELS)
def fitted(request: pytest.FixtureRequest) -> Any:
    return MODELS[request.param]().fit(*a_table())


@pytest.mark.filterwarnings("ignore")
def test_mlflow_logs_a_model_and_loads_it_back(fitted: Any, tmp_path: Path) -> None:
    mlflow = pytest.importorskip("mlflow")
    pytest.importorskip("mlflow.sklearn")
    X, _ = a_table()
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'runs.db'}")
    mlflow.create_experiment("tests", artifact_location=(tmp_path / "artifacts").as_uri())
    mlflow.set_experiment("tests")
    with mlflow.start_run():
        logged = mlflow.sklearn.log_model(fitted, name="model", serialization_format="cloudpickle")
    loaded = mlflow.sklearn.load_model(logged.model_uri)
    np.testing.assert_array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    served = mlflow.pyfunc.load_model(logged.model_uri)
    assert list(served.predict(X)) == fitted.predict(X).tolist()


def test_skops_stores_a_model(fitted: Any, tmp_path: Path) -> None:
    io = pytest.importorskip("skops.io")
    X, _ = a_table()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        io.dump(fitted, tmp_path / "model.skops")
        unknown = io.get_untrusted_types(file=tmp_path / "model.skops")
        assert all(
            name.startswith(("classwise.", "numpy.", "types.", "functools.", "collections.")) for name in unknown
        )
        loaded = io.load(tmp_path / "model.skops", trusted=unknown)
    np.testing.assert_array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
