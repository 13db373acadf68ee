"""The product of a stack's members: its exponents against a general optimizer, its share, its outlets, its report."""

from dataclasses import replace

import duckdb
import numpy as np
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

import classwise as cw
from classwise.comparison.stack.pool import MemberPosteriors, Pool
from classwise.comparison.stack.product import LEAST, RIDGE, MemberProduct, ProductRows, product_of
from classwise.engines.progress import Deadline
from standalone import node_answers, python_scorer
from test_auto import held_out

PENGUINS = cw.load_penguins()
X, Y = PENGUINS.drop(columns=["species", "year"]), PENGUINS["species"]
MEMBERS = ["own covariances", "softmax", "kernel softmax", "random trees", "class shares"]


def stacked(rows):
    """(n, g, k)."""
    return np.stack(rows.members, axis=2)


class TestExponents:
    @settings(max_examples=20, deadline=None)
    @given(seed=st.integers(0, 1000), k=st.integers(2, 5), g=st.integers(2, 4))
    def test_they_are_those_of_a_general_optimizer(self, seed, k, g):
        rows = held_out(seed, k=k, g=g)
        members, prior = stacked(rows), np.full(k, 1 / k)

        def loss(exponents):
            own = log_softmax(np.maximum(members, LEAST) @ exponents, axis=1)[np.arange(300), rows.codes]
            return -(rows.weights @ own) + RIDGE / 2 * ((exponents - prior) ** 2).sum()

        found = ProductRows.of(members, rows.codes, rows.weights, prior)
        best = minimize(loss, prior, tol=1e-10)
        assert_allclose(found.fit(), best.x, atol=2e-3)
        assert_allclose(found.fit(best.x + 0.1), best.x, atol=2e-3)

    def test_no_row_takes_part_in_its_own_product(self):
        rows = held_out()
        fitted = ProductRows.of(stacked(rows), rows.codes, rows.weights, np.full(4, 0.25))
        other = replace(fitted, codes=np.where(rows.folds == 1, 0, rows.codes))
        logs, changed = (of.out_of_fold(rows.folds, of.prior) for of in (fitted, other))
        assert_allclose(changed[rows.folds == 1], logs[rows.folds == 1], atol=1e-12)
        assert not np.allclose(changed[rows.folds == 0], logs[rows.folds == 0])

    def test_logs_are_bounded_below(self):
        members = np.array([[[0.0, np.log(0.5)], [-np.inf, np.log(0.5)]]])
        assert_allclose(product_of(members, np.array([0.5, 0.5])), log_softmax([[0.0, LEAST / 2]], axis=1))


class TestPools:
    def test_a_pool_is_the_mixture_beside_the_product(self):
        rows, share = held_out(), 0.3
        exponents = np.array([0.4, 0.0, -0.2, 0.9])
        pool = Pool(
            np.array([0.2, 0.0, 0.5, 0.3]), np.array([0.5, 1.0, 2.0, 1.0]), 1.3, MemberProduct(exponents, share)
        )
        calibrated = [log_softmax(power * own, axis=1) for power, own in zip(pool.powers, rows.members, strict=True)]
        mixture = np.tensordot(pool.weights, np.exp(calibrated), 1)
        product = softmax(np.tensordot(exponents, np.maximum(calibrated, LEAST), 1), axis=1)
        expected = ((1 - share) * mixture + share * product) ** 1.3
        assert_allclose(np.exp(pool(rows.members)), expected / expected.sum(axis=1, keepdims=True), rtol=1e-9)
        some = [own for own, weight in zip(rows.members, pool.weights, strict=True) if weight]
        assert_allclose(pool.trimmed()(some), pool(rows.members), rtol=1e-9)

    def test_it_has_a_large_share_where_evidence_adds_up(self):
        """Each member sees a part of what distinguishes the classes: their log odds add up."""
        rng = np.random.default_rng(0)
        codes = rng.integers(0, 2, 2000)
        odds = rng.normal(size=(2000, 4)) + np.where(codes, 0.5, -0.5)[:, None]
        members = [log_softmax(np.column_stack([-x, x]) / 2, axis=1) for x in odds.T]
        pool = MemberPosteriors(members, codes, np.arange(2000) % 5, np.ones(2000)).stack()
        assert pool.product is not None
        assert pool.product.share > 0.9
        assert_allclose(pool.product.exponents, 1, atol=0.3)

    def test_there_is_none_of_a_single_member_or_without_time(self):
        rows = held_out()
        assert replace(rows, members=rows.members[:1]).stack().product is None
        assert replace(rows, deadline=Deadline(0.0)).stack().product is None
        assert rows.pick().product is None

    def test_a_fold_keeps_the_share_and_fits_exponents_of_its_own(self):
        rows = held_out()
        pool = rows.stack()
        of_fold = rows.of_rows(np.flatnonzero(rows.folds)).stack(rows.powers(), pool)
        assert of_fold.product.share == pool.product.share
        assert not np.array_equal(of_fold.product.exponents, pool.product.exponents)


@pytest.fixture(scope="module")
def model():
    """With exponents of both signs."""
    m = cw.AutoClassifier(members=MEMBERS, folds=3).fit(X, Y)
    exponents = np.array([0.6, -0.2, 0.5, 0.3, 0.1])[: len(m.pool_.weights)]
    m.pool_ = replace(m.pool_, product=MemberProduct(exponents, 0.6))
    return m


class TestOutlets:
    def test_sql(self, model):
        query = cw.to_sql(model, "rows", columns=["id"], output="posteriors")
        with duckdb.connect() as connection:
            connection.register("rows", X.assign(id=range(len(X))))
            found = sorted(connection.sql(query).fetchall())
        assert_allclose([row[1:] for row in found], model.predict_proba(X), atol=1e-9)

    def test_onnx(self, model):
        session = onnxruntime.InferenceSession(cw.to_onnx(model, inputs="columns").SerializeToString())
        rows = X.astype({"island": object, "sex": object}).fillna({"sex": ""})
        found = session.run(None, {name: rows[[name]].to_numpy() for name in X})
        assert_allclose(np.array(found[1]), model.predict_proba(X), atol=1e-9)

    def test_python_and_javascript(self, model, tmp_path):
        rows = X.astype(object).where(X.notna(), None).to_dict("records")
        assert_allclose(python_scorer(model).predict_proba(X), model.predict_proba(X), atol=1e-9)
        (answers,) = node_answers(tmp_path, [(model, rows)])
        assert_allclose(answers["posteriors"], model.predict_proba(X), atol=1e-9)

    def test_files(self, model, tmp_path):
        cw.save(model, tmp_path / "stack.cw")
        loaded = cw.load(tmp_path / "stack.cw")
        assert_allclose(loaded.predict_proba(X), model.predict_proba(X), rtol=1e-12)
        assert str(loaded.report_) == str(model.report_)


def test_the_report_has_a_line_for_it():
    report = cw.AutoClassifier(members=["own covariances", "softmax"], folds=3).fit(X, Y).report_
    assert report.product.name == "product of members"
    assert "product of members" in str(report)
    assert [line.name for line in report] == [line.name for line in report.lines]
