"""Bags of counts (multinomial and complement) as SQL, ONNX, Python and JavaScript: gaps, zeros, sparse models."""

import duckdb
import numpy as np
import onnxruntime
import pandas as pd
import pytest
import scipy.sparse as sp

import classwise as cw
from standalone import node_answers, python_scorer

WORDS = list("abcd")


def rows_and_labels():
    rng = np.random.default_rng(0)
    y = np.array(["ham", "spam"])[np.arange(80) % 2]
    shares = np.where((y == "ham")[:, None], [0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.3, 0.0])
    return pd.DataFrame(np.array([rng.multinomial(9, row) for row in shares]).astype(float), columns=WORDS), y


X, Y = rows_and_labels()


def gappy():
    rows = X.copy()
    rows.iloc[::3, 1] = np.nan
    rows.iloc[::7, 3] = np.nan
    rows.iloc[5] = np.nan
    rows.iloc[6] = 0.0
    return rows


MODELS = {
    "multinomial": cw.NaiveBayes(families="multinomial"),
    "complement": cw.NaiveBayes(families="complement"),
    "unsmoothed": cw.NaiveBayes(families="multinomial", smoothing=0),
}


@pytest.fixture(params=MODELS)
def model(request):
    return MODELS[request.param].fit(X, Y)


def test_sql(model):
    query = cw.to_sql(model, "rows", columns=["id"], output="posteriors")
    with duckdb.connect() as connection:
        connection.register("rows", gappy().assign(id=range(80)))
        found = sorted(connection.sql(query).fetchall())
    np.testing.assert_allclose([row[1:] for row in found], model.predict_proba(gappy()), atol=1e-9)


def test_onnx(model):
    session = onnxruntime.InferenceSession(cw.to_onnx(model, inputs="columns").SerializeToString())
    found = session.run(None, {name: gappy()[[name]].to_numpy() for name in X})
    np.testing.assert_allclose(np.array(found[1]), model.predict_proba(gappy()), atol=1e-9)


def test_python_and_javascript(model, tmp_path):
    rows = gappy()
    np.testing.assert_allclose(python_scorer(model).predict_proba(rows), model.predict_proba(rows), atol=1e-9)
    (answer,) = node_answers(tmp_path, [(model, rows.to_dict("records"))])
    np.testing.assert_allclose(answer["posteriors"], model.predict_proba(rows), atol=1e-9)


def test_negative_counts_are_refused(model, tmp_path):
    bad = X.assign(b=-1.0)
    with pytest.raises(ValueError, match="at least 0"):
        python_scorer(model).predict_proba(bad)
    (answer,) = node_answers(tmp_path, [(model, bad[:1].to_dict("records"))])
    assert "at least 0" in answer["error"]
    with duckdb.connect() as connection:
        connection.register("rows", bad.assign(id=range(80)))
        assert connection.sql(cw.to_sql(model, "rows", columns=["id"])).fetchall()[0][1] is None


@pytest.mark.filterwarnings("ignore::classwise.DegenerateColumnWarning")
@pytest.mark.parametrize("family", ["multinomial", "poisson", "gaussian", "complement"])
def test_a_model_of_a_sparse_matrix(family, tmp_path):
    sparse = cw.NaiveBayes(families=family, floor=0.01).fit(sp.csr_array(X.to_numpy()), Y)
    expected = sparse.predict_proba(X.to_numpy())
    np.testing.assert_allclose(python_scorer(sparse).predict_proba(X.to_numpy()), expected, atol=1e-9)
    query = cw.to_sql(sparse, "rows", columns=["id"], output="posteriors", features=WORDS)
    with duckdb.connect() as connection:
        connection.register("rows", X.assign(id=range(80)))
        found = sorted(connection.sql(query).fetchall())
    np.testing.assert_allclose([row[1:] for row in found], expected, atol=1e-9)


def test_very_many_columns(tmp_path):
    wide = cw.NaiveBayes(families="multinomial").fit(
        sp.csr_array(([1.0, 1.0], ([0, 1], [3, 2999])), shape=(2, 3000)), [0, 1]
    )
    for export in (
        cw.to_python,
        cw.to_js,
        cw.to_onnx,
        lambda m: cw.to_sql(m, "rows", features=list(map(str, range(3000)))),
    ):
        with pytest.raises(cw.ClasswiseError, match="at most 2000 are exported"):
            export(wide)


def test_kernel_densities_are_not_exported():
    kernel = cw.NaiveBayes(families="kernel").fit(X, Y)
    for export in (cw.to_python, cw.to_js, cw.to_onnx, lambda m: cw.to_sql(m, "rows")):
        with pytest.raises(cw.ClasswiseError, match="Kernel"):
            export(kernel)
