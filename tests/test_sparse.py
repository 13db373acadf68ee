"""Sparse rows: naive Bayes of a scipy matrix equals that of dense rows and scikit-learn's, and never makes it dense."""

import functools
import operator
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.naive_bayes import BernoulliNB, ComplementNB, GaussianNB, MultinomialNB

import classwise as cw
from classwise.rows.sparse import SparseRows

FAMILIES = ["gaussian", "poisson", "bernoulli", "multinomial", "complement"]
FORMATS = [sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix, sp.coo_array, sp.lil_array, sp.dok_array]

pytestmark = pytest.mark.filterwarnings(
    "ignore::classwise.DegenerateColumnWarning", "ignore::classwise.IgnoredColumnWarning"
)


def documents(seed=0, n=200, p=40, classes=3, length=12):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(classes), rng.integers(0, classes, n - classes)])
    shares = rng.dirichlet(np.full(p, 0.3), classes)
    counts = np.array([rng.multinomial(length, shares[k]) for k in y]).astype(float)
    return counts, y


DENSE, Y = documents()
X = sp.csr_array(DENSE)


class TestBesideScikitLearn:
    """To 1e-10, as the same formulas must be."""

    @pytest.mark.parametrize(
        ("family", "peer", "options"),
        [
            ("multinomial", MultinomialNB(), {}),
            ("multinomial", MultinomialNB(alpha=0.01), {"smoothing": 0.01}),
            ("multinomial", MultinomialNB(fit_prior=False), {"priors": "uniform"}),
            ("complement", ComplementNB(), {"priors": "uniform"}),
            ("complement", ComplementNB(alpha=0.3), {"priors": "uniform", "smoothing": 0.3}),
            ("bernoulli", BernoulliNB(), {}),
            ("bernoulli", BernoulliNB(alpha=0.5), {"smoothing": 0.5}),
        ],
    )
    @pytest.mark.parametrize("make", FORMATS)
    def test_equal(self, family, peer, options, make):
        given = make(DENSE)
        ours = cw.NaiveBayes(families=family, **options).fit(given, Y)
        theirs = peer.fit(X, Y)
        np.testing.assert_allclose(ours.predict_log_proba(given), theirs.predict_log_proba(X), rtol=0, atol=1e-10)
        np.testing.assert_array_equal(ours.predict(given), theirs.predict(X))

    @pytest.mark.parametrize(("family", "peer"), [("multinomial", MultinomialNB()), ("bernoulli", BernoulliNB())])
    def test_weights(self, family, peer):
        w = np.random.default_rng(1).uniform(0.1, 3, len(Y))
        ours, theirs = cw.NaiveBayes(families=family).fit(X, Y, w), peer.fit(X, Y, w)
        np.testing.assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), rtol=0, atol=1e-10)

    def test_many_classes(self):
        dense, y = documents(3, n=300, classes=20)
        ours = cw.NaiveBayes(families="multinomial").fit(sp.csr_array(dense), y)
        theirs = MultinomialNB().fit(dense, y)
        np.testing.assert_allclose(ours.predict_log_proba(dense), theirs.predict_log_proba(dense), rtol=0, atol=1e-10)

    def test_fractions_such_as_tf_idf(self):
        weights = sp.csr_array(DENSE * np.random.default_rng(0).uniform(0.2, 2, DENSE.shape[1]))
        ours, theirs = cw.NaiveBayes(families="multinomial").fit(weights, Y), MultinomialNB().fit(weights, Y)
        np.testing.assert_allclose(
            ours.predict_log_proba(weights), theirs.predict_log_proba(weights), rtol=0, atol=1e-10
        )

    def test_gaussian(self):
        dense = DENSE + np.random.default_rng(0).normal(size=DENSE.shape) * (DENSE > 0)
        dense[:3] = 1.0  # every column varies in every class
        ours = cw.NaiveBayes(floor=0).fit(sp.csr_array(dense), Y)
        theirs = GaussianNB(var_smoothing=0).fit(dense, Y)
        np.testing.assert_allclose(ours.theta_, theirs.theta_, rtol=0, atol=1e-12)
        np.testing.assert_allclose(ours.var_, theirs.var_, rtol=1e-10)
        np.testing.assert_allclose(ours.predict_log_proba(dense), theirs.predict_log_proba(dense), rtol=1e-9, atol=1e-9)


class TestBesideDenseRows:
    @pytest.mark.parametrize("family", ["gaussian", "poisson", "multinomial"])
    def test_the_same_densities(self, family):
        sparse = cw.NaiveBayes(families=family, floor=0.01).fit(X, Y)
        dense = cw.NaiveBayes(families=family, floor=0.01).fit(DENSE, Y)
        np.testing.assert_allclose(sparse.log_density(X), dense.log_density(DENSE), rtol=1e-10, atol=1e-9)
        np.testing.assert_allclose(sparse.log_joint(X), dense.log_joint(DENSE), rtol=1e-10, atol=1e-9)
        np.testing.assert_allclose(sparse.log_evidence(X), dense.log_evidence(DENSE), rtol=1e-10, atol=1e-9)
        assert sparse.nll(X, Y).total == pytest.approx(dense.nll(DENSE, Y).total)

    def test_bernoulli_is_whether_a_word_is_there(self):
        sparse = cw.NaiveBayes(families="bernoulli").fit(X, Y)
        dense = cw.NaiveBayes().fit(DENSE > 0, Y)
        np.testing.assert_allclose(sparse.log_density(X), dense.log_density(DENSE > 0), rtol=1e-12, atol=1e-10)

    def test_complement_of_dense_rows(self):
        sparse, dense = (cw.NaiveBayes(families="complement").fit(of, Y) for of in (X, DENSE))
        np.testing.assert_allclose(sparse.predict_log_proba(X), dense.predict_log_proba(DENSE), atol=1e-11)

    @pytest.mark.parametrize("family", FAMILIES)
    def test_dense_rows_can_be_asked_about(self, family):
        model = cw.NaiveBayes(families=family).fit(X, Y)
        np.testing.assert_array_equal(model.predict_log_proba(DENSE), model.predict_log_proba(X))

    @pytest.mark.parametrize("family", FAMILIES)
    def test_stored_zeros_and_places_stored_twice_change_nothing(self, family):
        odd = sp.csr_array(
            (np.append(X.data, [0.0] * 5), np.append(X.indices, range(5)), np.append(X.indptr[:-1], X.nnz + 5)),
            shape=X.shape,
        )
        twice = sp.coo_array(
            (np.repeat(X.data / 2, 2), tuple(np.repeat(of, 2) for of in X.tocoo().coords)), shape=X.shape
        )
        model, expected = cw.NaiveBayes(families=family), cw.NaiveBayes(families=family).fit(X, Y).predict_proba(X)
        np.testing.assert_allclose(model.fit(odd, Y).predict_proba(odd), expected, atol=1e-12)
        np.testing.assert_allclose(model.fit(twice, Y).predict_proba(twice), expected, atol=1e-12)
        assert not odd.has_canonical_format

    @pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, np.float32, bool])
    def test_types_of_numbers(self, dtype):
        given = X.astype(dtype)
        ours = cw.NaiveBayes(families="multinomial").fit(given, Y)
        expected = cw.NaiveBayes(families="multinomial").fit(given.astype(float), Y)
        np.testing.assert_array_equal(ours.predict_proba(given), expected.predict_proba(X.astype(dtype).astype(float)))

    def test_the_matrix_is_left_as_it_is(self):
        given = sp.csr_array((np.array([1.0, 2.0]), np.array([1, 1]), np.array([0, 2, 2])), shape=(2, 2))
        cw.NaiveBayes(families="multinomial").fit(given, [0, 1])
        assert given.nnz == 2
        assert given.data.tolist() == [1.0, 2.0]

    def test_it_never_becomes_dense(self, monkeypatch):
        """A hundred thousand columns, of which a dense copy would take 80 GB."""
        rng = np.random.default_rng(0)
        rows = sp.csr_array((np.ones(10**5), rng.integers(0, 10**5, 10**5), np.arange(10**5 + 1)), shape=(10**5, 10**5))
        y = rng.integers(0, 2, 10**5)
        for family in FAMILIES:
            model = cw.NaiveBayes(families=family).fit(rows, y)
            assert model.predict_proba(rows).shape == (10**5, 2)
            assert model.n_features_in_ == 10**5


class TestAnswers:
    @pytest.mark.parametrize("family", FAMILIES)
    def test_shares_add_up(self, family):
        model = cw.NaiveBayes(families=family).fit(X, Y)
        reason = model.explain(X[[7]])
        log_odds = np.diff(np.sort(model.predict_log_proba(X[[7]])[0])[-2:])[0]
        assert reason.prior + reason.volume + sum(reason.shares.values()) == pytest.approx(reason.log_odds)
        assert reason.log_odds == pytest.approx(log_odds)
        assert set(reason.shares) == set(np.flatnonzero(DENSE[7]).tolist())
        assert "all zeros" in str(reason) or not reason.volume
        assert "No change" not in str(reason)

    def test_a_calibrated_explanation(self):
        model = cw.NaiveBayes(families="multinomial", calibrate="temperature", folds=4).fit(X, Y)
        reason = model.with_priors("uniform").explain(X[[7]], 0, 1)
        posterior = model.with_priors("uniform").predict_log_proba(X[[7]])[0]
        assert reason.log_odds == pytest.approx(posterior[0] - posterior[1])

    def test_evaluate_is_that_of_dense_rows(self):
        model = cw.NaiveBayes(families="multinomial").fit(X, Y)
        dense = cw.NaiveBayes(families="multinomial").fit(DENSE, Y)
        w = np.arange(len(Y)) % 3
        assert model.evaluate(X, Y, w).log_loss == pytest.approx(dense.evaluate(DENSE, Y, w).log_loss)

    def test_samples_look_like_the_rows(self):
        model = cw.NaiveBayes(families="multinomial").fit(X, Y)
        drawn, labels = model.sample(4000, random_state=0)
        assert sp.issparse(drawn)
        for k in range(3):
            own = drawn.toarray()[labels == k]
            np.testing.assert_allclose(own.sum(axis=0) / own.sum(), model.classifier_.density.chance[k], atol=0.01)
            assert own.sum(axis=1).mean() == pytest.approx(12, rel=0.05)

    def test_too_large_a_sample(self):
        rows = sp.csr_array(([1.0, 1.0], ([0, 1], [3, 99_999])), shape=(2, 100_000))
        with pytest.raises(cw.ClasswiseError, match="draw 200 at a time"):
            cw.NaiveBayes(families="multinomial").fit(rows, [0, 1]).sample(1000)

    @pytest.mark.parametrize("family", FAMILIES)
    def test_files_keep_everything(self, family, tmp_path):
        model = cw.NaiveBayes(families=family).fit(X, Y)
        for statistics in (True, False):
            cw.save(model, tmp_path / "m.cw", statistics=statistics)
            loaded = cw.load(tmp_path / "m.cw")
            np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
        assert "40 columns" in str(cw.describe(tmp_path / "m.cw"))

    def test_a_file_of_many_columns_is_small(self, tmp_path):
        rows = sp.csr_array(([1.0, 1.0], ([0, 1], [3, 99_999])), shape=(2, 100_000))
        cw.save(cw.NaiveBayes(families="multinomial").fit(rows, [0, 1]), tmp_path / "m.cw")
        assert (tmp_path / "m.cw").stat().st_size < 5.1 * 8 * 100_000

    def test_printing_does_not_list_columns(self):
        text = str(cw.NaiveBayes(families="multinomial").fit(X, Y))
        assert "40 columns" in text
        assert "x0" not in text

    def test_one_row_as_values(self):
        model = cw.NaiveBayes(families="multinomial").fit(X, Y)
        assert model.explain(DENSE[7].tolist()).shares == model.explain(X[[7]]).shares
        assert model.scorer().predict(DENSE[7].tolist()) == model.predict(X[[7]])[0]

    def test_a_decision(self):
        decision = cw.Decision(cw.NaiveBayes(families="multinomial"), reject={"posterior": 0.99}).fit(X, Y)
        assert set(decision.predict(X).tolist()) <= {-1, 0, 1, 2}

    def test_served(self):
        from serving import Client

        model = cw.NaiveBayes(families="multinomial").fit(X[:, :5], Y)
        answer = Client(model).post("/predict", {"rows": DENSE[:4, :5].tolist()})
        assert answer.json()["label"] == model.predict(X[:4, :5]).tolist()

    def test_a_class_without_rows(self):
        model = cw.NaiveBayes(families="poisson").partial_fit(X, Y, classes=[0, 1, 2, 3])
        assert model.predict_proba(X).shape == (len(Y), 4)
        assert not model.predict_proba(X)[:, 3].any()

    def test_columns_that_never_vary(self):
        dense = np.hstack([np.zeros((len(Y), 2)), DENSE, np.full((len(Y), 1), 2.0)])
        empty = int((~DENSE.any(axis=0)).sum())
        for family, left_out in (("poisson", 2 + empty), ("gaussian", 3 + empty)):
            with pytest.warns(cw.IgnoredColumnWarning, match=r"column 0 \(always 0\)"):
                model = cw.NaiveBayes(families=family, floor=0.01).fit(sp.csr_array(dense), Y)
            constant = model.classifier_.density.blocks[1]
            assert len(constant.columns) == left_out
            dense_model = cw.NaiveBayes(families=family, floor=0.01).fit(DENSE, Y)
            if family == "gaussian":
                np.testing.assert_allclose(model.log_density(dense), dense_model.log_density(DENSE), rtol=1e-9)
        new = dense.copy()
        new[:, 0] = 5.0  # a word that was never seen says nothing
        np.testing.assert_allclose(model.predict_proba(new), model.predict_proba(dense))


class TestRefusals:
    @pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
    @pytest.mark.parametrize("family", ["multinomial", "poisson", "bernoulli", "complement"])
    def test_values_that_no_count_has(self, family, value):
        odd = X.copy()
        odd.data[3] = value
        with pytest.raises(cw.ClasswiseError, match=r"column \d+|infinity"):
            cw.NaiveBayes(families=family).fit(odd, Y)

    def test_a_fraction_for_a_poisson(self):
        with pytest.raises(cw.ClasswiseError, match=r"such as 0\.5 in column \d+: it takes whole numbers"):
            cw.NaiveBayes(families="poisson").fit(X / 2, Y)

    @pytest.mark.parametrize("value", [np.nan, -np.inf])
    def test_gaussian(self, value):
        odd = X.copy()
        odd.data[3] = value
        with pytest.raises(cw.ClasswiseError, match="it takes finite numbers"):
            cw.NaiveBayes().fit(odd, Y)

    @pytest.mark.parametrize("families", ["kernel", "best", "lognormal", {0: "poisson"}, "guess"])
    def test_families(self, families):
        with pytest.raises(cw.ClasswiseError, match="not for a sparse matrix"):
            cw.NaiveBayes(families=families).fit(X, Y)

    def test_student(self):
        with pytest.raises(cw.ClasswiseError, match="estimate='mle'"):
            cw.NaiveBayes(estimate="bayes").fit(X, Y)

    @pytest.mark.parametrize(
        "given", [sp.csr_array((0, 3)), sp.csr_array(DENSE).astype(complex), sp.coo_array([1.0, 2.0])]
    )
    def test_odd_matrices(self, given):
        with pytest.raises(cw.ClasswiseError, match=r"X (must have|is a sparse matrix of)"):
            cw.NaiveBayes(families="multinomial").fit(given, np.zeros(given.shape[0]))

    @pytest.mark.parametrize(
        "model",
        [cw.LDA(), cw.QDA(), cw.RDA(), cw.AODE(), cw.MixtureClassifier(), cw.BayesianLogistic(), cw.ForestClassifier()],
        ids=lambda model: type(model).__name__,
    )
    def test_other_models_name_the_one_that_takes_it(self, model):
        with pytest.raises(cw.ClasswiseError, match=r"sparse.*NaiveBayes"):
            model.fit(X, Y)

    def test_compare(self):
        with pytest.raises(cw.ClasswiseError, match=r"sparse.*NaiveBayes"):
            cw.compare(X, Y)

    def test_a_model_of_dense_rows(self):
        with pytest.raises(cw.ClasswiseError, match="was fitted on dense rows"):
            cw.NaiveBayes(families="multinomial").fit(DENSE, Y).predict(X)

    @pytest.mark.parametrize("name", ["importance", "leave_one_out", "check"])
    def test_what_looks_at_columns_one_by_one(self, name):
        with pytest.raises(cw.ClasswiseError, match="sparse matrix"):
            getattr(cw.NaiveBayes(families="multinomial").fit(X, Y), name)(X, Y)

    def test_complement_is_no_density(self):
        model = cw.NaiveBayes(families="complement").fit(X, Y)
        for ask in (model.log_density, model.log_joint, model.log_evidence):
            with pytest.raises(cw.ClasswiseError, match="no density"):
                ask(X)
        with pytest.raises(cw.ClasswiseError, match="no density"):
            model.sample(2)

    def test_a_word_that_no_class_had(self):
        model = cw.NaiveBayes(families="multinomial", smoothing=0).fit(sp.csr_array([[1.0, 0], [2.0, 0]]), [0, 1])
        with pytest.raises(cw.ClasswiseError, match="smoothing above 0"):
            model.predict(sp.csr_array([[0.0, 1.0]]))

    def test_sparse_and_dense_statistics(self):
        sparse, dense = (cw.summarize(of, Y, families="multinomial") for of in (X, DENSE))
        with pytest.raises(cw.ClasswiseError, match="sparse matrix and the other is not"):
            sparse + dense

    def test_full_scatter(self):
        assert cw.summarize(X, Y).moments.scatter.name == "diagonal"

    def test_sums_are_not_presence(self):
        with pytest.raises(cw.ClasswiseError, match="families='bernoulli'"):
            cw.NaiveBayes(families="bernoulli").fit_statistics(cw.summarize(X, Y, families="multinomial"))


# The laws -------------------------------------------------------------------------------------------------------------


class Bags:
    """Sparse rows of a few classes, with a split of them."""

    def __init__(self, seed, classes, size, weighted):
        rng = np.random.default_rng(seed)
        self.dense, self.y = documents(seed, n=classes * 3 + size, p=int(rng.integers(2, 12)), classes=classes)
        self.X = sp.csr_array(self.dense)
        self.w = rng.choice([0.25, 1.0, 2.0, 3.5], size=len(self.y)) if weighted else None
        self.parts = np.array_split(rng.permutation(len(self.y)), rng.integers(2, 6))
        self.rng = rng

    def summary(self, part, family):
        return cw.summarize(self.X[part], self.y[part], None if self.w is None else self.w[part], families=family)


@st.composite
def bags(draw, weighted=None):
    return Bags(
        draw(st.integers(0, 2**31)),
        draw(st.integers(2, 10)),
        draw(st.integers(0, 40)),
        draw(st.booleans()) if weighted is None else weighted,
    )


def assert_same(a, b):
    np.testing.assert_array_equal(a.labels, b.labels)
    np.testing.assert_allclose(a.weight, b.weight, rtol=1e-12)
    assert a.schema == b.schema
    assert a.parts.keys() == b.parts.keys()
    np.testing.assert_allclose(a.mean, b.mean, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(a.scatter, b.scatter, rtol=1e-9, atol=1e-9)
    if "sums" in a.parts:
        np.testing.assert_allclose(a.sums.total, b.sums.total, rtol=1e-10, atol=1e-12)


fewer = settings(max_examples=15)


@pytest.mark.parametrize("family", FAMILIES)
class TestLaws:
    @fewer
    @given(bags())
    def test_merging_parts_in_any_order_is_summarizing_all(self, family, table):
        parts = [table.summary(part, family) for part in table.parts]
        whole = table.summary(slice(None), family)
        assert_same(whole, functools.reduce(operator.add, parts))
        assert_same(whole, sum(reversed(parts)))

    @fewer
    @given(bags())
    def test_adding_then_subtracting_changes_nothing(self, family, table):
        extra, *others = table.parts
        some, more = table.summary(np.concatenate(others), family), table.summary(extra, family)
        assert_same(some, (some + more) - more)

    @fewer
    @given(bags(weighted=False))
    def test_weight_two_is_the_row_twice_and_weight_zero_no_row(self, family, table):
        weights = table.rng.integers(0, 3, size=len(table.y)).astype(float)
        weights[0] = 1.0
        repeated = np.repeat(np.arange(len(table.y)), weights.astype(int))
        weighted = cw.summarize(table.X, table.y, weights, families=family)
        assert_same(weighted, cw.summarize(table.X[repeated], table.y[repeated], families=family))

    @fewer
    @given(bags())
    def test_files_keep_everything(self, family, tmp_path_factory, table):
        path = tmp_path_factory.mktemp("laws") / "s.cws"
        s = table.summary(slice(None), family)
        s.save(path)
        assert_same(s, cw.load(path))

    @fewer
    @given(bags())
    def test_restricting_is_summarizing_fewer_columns(self, family, table):
        kept = np.flatnonzero(table.rng.random(table.X.shape[1]) < 0.6).tolist() or [0]
        narrow = cw.summarize(table.X[:, kept], table.y, table.w, families=family)
        assert_same(narrow, table.summary(slice(None), family).restrict(kept))

    @fewer
    @given(bags())
    def test_fit_is_partial_fit_is_merging(self, family, table):
        options = {"families": family, "floor": 0.01}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            whole = cw.NaiveBayes(**options).fit(table.X, table.y, table.w)
            steps = cw.NaiveBayes(**options)
            for part in table.parts:
                steps.partial_fit(
                    table.X[part], table.y[part], sample_weight=None if table.w is None else table.w[part]
                )
            merged = cw.NaiveBayes(**options).fit_statistics(sum(table.summary(part, family) for part in table.parts))
            expected = whole.predict_log_proba(table.X)
            for other in (steps, merged):
                np.testing.assert_allclose(other.predict_log_proba(table.X), expected, rtol=1e-9, atol=1e-9)

    def test_chunks_do_not_matter(self, family, monkeypatch):
        whole = cw.NaiveBayes(families=family).fit(X, Y)
        expected = whole.predict_log_proba(X)
        monkeypatch.setattr("classwise.limits.SPARSE_SIZE", 64)
        monkeypatch.setattr("classwise.statistics.summaries.SPARSE_SIZE", 64)
        chunked = cw.NaiveBayes(families=family).fit(X, Y)
        assert_same(whole.statistics_, chunked.statistics_)
        np.testing.assert_allclose(chunked.predict_log_proba(X), expected, rtol=1e-10, atol=1e-10)

    def test_subtracting_what_was_never_there(self, family):
        some = cw.summarize(X[:50], Y[:50], families=family)
        other = cw.summarize((X[50:80] + 1 * (X[50:80] > 0)) * 3, Y[50:80], np.full(30, 0.2), families=family)
        with pytest.raises(cw.ClasswiseError, match="never part"):
            some - other


def test_tags_follow_the_families():
    tags = cw.NaiveBayes(families="multinomial").__sklearn_tags__()
    assert tags.input_tags.sparse
    assert tags.input_tags.positive_only
    assert not tags.input_tags.allow_nan
    assert not cw.NaiveBayes(families="kernel").__sklearn_tags__().input_tags.sparse
    assert not cw.LDA().__sklearn_tags__().input_tags.sparse


def test_consecutive_rows():
    rows = SparseRows(X)
    part = rows.take(slice(20, 50))
    np.testing.assert_array_equal(part.values.toarray(), DENSE[20:50])
    assert rows.take(slice(5, 2)).values.shape == (0, 40)


# Smoothing ------------------------------------------------------------------------------------------------------------


class TestSmoothing:
    def test_evidence_finds_the_prior_of_the_words(self):
        rng = np.random.default_rng(0)
        y = np.arange(400) % 4
        shares = rng.dirichlet(np.full(300, 0.2), 4)
        dense = np.array([rng.multinomial(40, shares[k]) for k in y])
        model = cw.NaiveBayes(families="multinomial", smoothing="evidence").fit(sp.csr_array(dense), y)
        assert model.smoothing_ == pytest.approx(0.2, rel=0.1)
        other = cw.NaiveBayes(families="multinomial", smoothing="evidence").fit(dense, y)
        assert other.smoothing_ == pytest.approx(model.smoothing_, rel=1e-3)
        given = cw.NaiveBayes(families="multinomial", smoothing=model.smoothing_).fit(sp.csr_array(dense), y)
        np.testing.assert_array_equal(given.predict_proba(dense), model.predict_proba(dense))

    def test_the_evidence_is_that_of_one_word_after_the_other(self):
        from classwise.densities.smoothing import DirichletCounts, GammaCounts

        rng = np.random.default_rng(0)
        words, seen, total = rng.integers(0, 5, 60), np.zeros(5), 0.0
        for word in words:
            total += np.log((seen[word] + 0.7) / (seen.sum() + 5 * 0.7))
            seen[word] += 1
        assert DirichletCounts(seen[None]).log_evidence(0.7) == pytest.approx(total)
        # Of counts, each given those before it: a negative binomial, less log x!, which has no smoothing in it.
        from scipy.special import gammaln
        from scipy.stats import nbinom

        counts = rng.poisson(3.0, 30)
        shape, rate, total = 0.7 * counts.mean(), 0.7, 0.0
        for x in counts:
            total += nbinom.logpmf(x, shape, rate / (rate + 1))
            shape, rate = shape + x, rate + 1
        ours = GammaCounts(np.array([[30.0]]), np.array([[counts.mean()]])).log_evidence(0.7)
        assert ours - gammaln(counts + 1).sum() == pytest.approx(total)

    @pytest.mark.parametrize("family", ["multinomial", "bernoulli", "poisson"])
    def test_evidence_needs_no_second_look(self, family):
        whole = cw.NaiveBayes(families=family, smoothing="evidence").fit(X, Y)
        steps = cw.NaiveBayes(families=family, smoothing="evidence")
        for part in (slice(0, 60), slice(60, None)):
            steps.partial_fit(X[part], Y[part])
        assert steps.smoothing_ == pytest.approx(whole.smoothing_, rel=1e-6)

    def test_evidence_of_levels(self):
        penguins = cw.load_penguins()
        model = cw.NaiveBayes(smoothing="evidence").fit(penguins[["island", "sex"]], penguins["species"])
        tried = [0.5 * model.smoothing_, model.smoothing_, 2 * model.smoothing_]
        fits = [
            cw.NaiveBayes(smoothing=s, estimate="bayes").fit(penguins[["island", "sex"]], penguins["species"])
            for s in tried
        ]
        evidence = [fit.log_marginal_likelihood_ for fit in fits]
        assert max(evidence) == evidence[1]

    def test_held_out_rows(self, tmp_path):
        model = cw.NaiveBayes(families="multinomial", smoothing="cv", folds=4).fit(X, Y)
        choice = model.smoothing_choice_
        assert model.smoothing_ == choice.best == choice.tried[int(choice.log_loss.argmin())]
        from sklearn.model_selection import StratifiedKFold

        folds = np.empty(len(Y), dtype=int)
        for i, (_, test) in enumerate(StratifiedKFold(4).split(DENSE, Y)):
            folds[test] = i
        given = cw.NaiveBayes(families="multinomial", smoothing="cv", folds=folds).fit(X, Y)
        for alpha, loss in zip(given.smoothing_choice_.tried, given.smoothing_choice_.log_loss, strict=True):
            lost = 0.0
            for i in range(4):
                peer = MultinomialNB(alpha=alpha).fit(DENSE[folds != i], Y[folds != i])
                own = peer.predict_log_proba(DENSE[folds == i])
                lost -= own[np.arange(len(own)), Y[folds == i]].sum()
            assert loss == pytest.approx(lost / len(Y), rel=1e-8, abs=1e-12)
        cw.save(model, tmp_path / "m.cw")
        assert cw.load(tmp_path / "m.cw").smoothing_ == model.smoothing_
        assert "SmoothingChoice(" in repr(choice)

    def test_held_out_rows_of_complement_scores(self):
        model = cw.NaiveBayes(families="complement", smoothing="cv", folds=3).fit(X, Y)
        assert model.smoothing_ in model.smoothing_choice_.tried

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"families": "complement"}, "has no likelihood"),
            ({}, "levels and counts, and X has neither"),
            ({"families": "poisson", "min_frequency": 2}, "needs min_frequency=0"),
            ({"families": "poisson", "missing": "level"}, "needs min_frequency=0"),
        ],
    )
    def test_where_there_is_no_evidence(self, options, message):
        with pytest.raises(cw.ClasswiseError, match=message):
            cw.NaiveBayes(smoothing="evidence", **options).fit(X, Y)

    def test_other_words(self):
        with pytest.raises(cw.ClasswiseError, match="smoothing='guess'"):
            cw.NaiveBayes(smoothing="guess").fit(DENSE, Y)
        with pytest.raises(cw.ClasswiseError, match="smoothing='evidence'"):
            cw.LDA(smoothing="evidence").fit(DENSE, Y)
        with pytest.raises(cw.ClasswiseError, match="both left to held-out rows"):
            cw.NaiveBayes(smoothing="cv", estimate="bayes", prior="cv").fit(DENSE, Y)

    def test_statistics_cannot_hold_rows_out(self):
        with pytest.raises(cw.ClasswiseError, match="smoothing='cv' needs the rows"):
            cw.NaiveBayes(families="multinomial", smoothing="cv").fit_statistics(
                cw.summarize(X, Y, families="multinomial")
            )


# A bag of counts among other columns ----------------------------------------------------------------------------------


class TestDenseMultinomial:
    @pytest.fixture
    def table(self):
        import pandas as pd

        rng = np.random.default_rng(0)
        words = pd.DataFrame(DENSE[:, :5], columns=list("abcde"))
        return words.assign(age=rng.normal(Y, 1.0), city=np.where(rng.random(len(Y)) < 0.5, "Rome", "Oslo"))

    FAMILIES = dict.fromkeys("abcde", "multinomial")

    def test_a_block_beside_others(self, table):
        both = cw.NaiveBayes(families=self.FAMILIES, priors="uniform").fit(table, Y)
        words = cw.NaiveBayes(families="multinomial", priors="uniform").fit(table[list("abcde")], Y)
        rest = cw.NaiveBayes(priors="uniform").fit(table[["age", "city"]], Y)
        expected = words.log_density(table[list("abcde")]) + rest.log_density(table[["age", "city"]])
        np.testing.assert_allclose(both.log_density(table), expected, atol=1e-10)

    def test_log_density_is_that_of_scipy(self, table):
        from scipy.stats import multinomial

        model = cw.NaiveBayes(families="multinomial").fit(DENSE, Y)
        chance = model.classifier_.density.chance
        expected = np.array([[multinomial.logpmf(row, 12, theta) for theta in chance] for row in DENSE[:20]])
        np.testing.assert_allclose(model.log_density(DENSE[:20]), expected, atol=1e-9)

    def test_missing_counts_leave_the_others_their_own_total(self):
        from scipy.stats import multinomial

        model = cw.NaiveBayes(families="multinomial").fit(DENSE, Y)
        some = DENSE[:5].copy()
        some[:, 3:] = np.nan
        chance = model.classifier_.density.chance[:, :3]
        chance = chance / chance.sum(axis=1, keepdims=True)
        expected = [[multinomial.logpmf(row[:3], row[:3].sum(), theta) for theta in chance] for row in some]
        np.testing.assert_allclose(model.log_density(some), expected, atol=1e-9)

    def test_missing_counts_at_fit(self, table):
        table.loc[3, "b"] = np.nan
        with pytest.raises(cw.ClasswiseError, match="'b' has missing values, and multinomial"):
            cw.NaiveBayes(families=self.FAMILIES).fit(table, Y)

    def test_negative_counts(self, table):
        model = cw.NaiveBayes(families=self.FAMILIES).fit(table, Y)
        table.loc[3, "b"] = -1
        for ask in (lambda: model.predict(table), lambda: cw.NaiveBayes(families=self.FAMILIES).fit(table, Y)):
            with pytest.raises(cw.ClasswiseError, match="multinomial cannot take in 'b'"):
                ask()

    def test_importance_of_a_word(self, table):
        model = cw.NaiveBayes(families=self.FAMILIES).fit(table, Y)
        found = model.importance(table, Y)
        without = table.assign(c=np.nan)
        expected = model.evaluate(without, Y).log_loss - model.evaluate(table, Y).log_loss
        assert {line.name: line.increase for line in found.lines}["c"] == pytest.approx(expected, abs=1e-9)

    def test_leave_one_out_is_a_fit_without_the_row(self, table):
        few = table.iloc[:30]
        model = cw.NaiveBayes(families=self.FAMILIES).fit(few, Y[:30])
        found = model.leave_one_out(few, Y[:30], recount=True)
        others = np.arange(30) != 4
        expected = cw.NaiveBayes(families=self.FAMILIES).fit(few[others], Y[:30][others]).predict_log_proba(few[4:5])[0]
        np.testing.assert_allclose(found[4], expected, atol=1e-9)

    def test_without_smoothing(self):
        model = cw.NaiveBayes(families="multinomial", smoothing=0).fit([[1, 0, 1], [0, 2, 1]], ["a", "b"])
        np.testing.assert_array_equal(model.predict_proba([[1, 0, 0], [0, 3, 1]]), [[1, 0], [0, 1]])
