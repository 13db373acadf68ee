"""A column of numbers that follows from others says nothing new: models with covariances leave it out, with a note."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris

import classwise as cw
from classwise.densities import Copies

X, y = load_iris(return_X_y=True)
ROWS = np.column_stack([X[:, :1], 1.8 * X[:, 0] + 32, X[:, 1:], X[:, 2]])  # a copy in the midst, and one at the end
NAMES = ["celsius", "fahrenheit", "b", "c", "d", "again"]
ORIGINALS = [0, 2, 3, 4]
FRAME = pd.DataFrame(ROWS, columns=NAMES)

MODELS = [
    cw.GaussianClassifier(),
    cw.QDA(),
    cw.LDA(),
    cw.LDA(n_components=1),
    cw.QDA(shrink="oas"),
    cw.QDA(shrink="oas", standardize=True),
    cw.QDA(share="average"),
    cw.RDA(),
    cw.RDA(standardize=True),
    cw.QDA(estimate="bayes"),
    cw.QDA(estimate="bayes", prior="loo"),
    cw.QDA(estimate="bayes", prior="evidence"),
    cw.LDA(estimate="bayes", prior="geisser"),
    cw.MixtureClassifier(),
]

each_model = pytest.mark.parametrize("model", MODELS, ids=repr)
quietly = pytest.mark.filterwarnings("ignore::classwise.IgnoredColumnWarning")


@each_model
def test_it_changes_no_answer_and_leaves_a_note(model):
    plain = model.fit(X, y).predict_proba(X)
    warned = r"Columns left out: 'fahrenheit' \(1\.8 \* 'celsius' \+ 32\); 'again' \(the same as 'c'\)\."
    with pytest.warns(cw.IgnoredColumnWarning, match=warned):
        m = model.fit(FRAME, y)
    np.testing.assert_allclose(m.predict_proba(FRAME.assign(again=-1e3)), plain, atol=1e-8)
    assert m.schema_["fahrenheit"].note == "left out: 1.8 * 'celsius' + 32"
    assert m.schema_["again"].note == "left out: the same as 'c'"
    rows, _ = m.sample(20, random_state=0)
    np.testing.assert_allclose(rows["fahrenheit"], 1.8 * rows["celsius"] + 32, rtol=1e-12)
    assert rows["again"].tolist() == rows["c"].tolist()


def lines():
    size = st.floats(1e-3, 1e3)
    return st.tuples(st.sampled_from([1.0, -1.0]), size, st.floats(-1e3, 1e3), st.integers(0, 3), st.integers(0, 2**31))


@quietly
class TestLaws:
    @settings(max_examples=25, deadline=None)
    @given(lines(), st.sampled_from([cw.LDA(), cw.QDA(), cw.QDA(shrink="oas"), cw.QDA(estimate="bayes")]))
    def test_any_line_in_any_chunks(self, line, model):
        sign, slope, offset, source, seed = line
        table = np.column_stack([X, sign * slope * X[:, source] + offset])
        order = np.random.default_rng(seed).permutation(len(table))
        parts = np.array_split(order, 1 + seed % 5)
        total = sum(cw.summarize(table[part], y[part]) for part in parts)
        m = type(model)(**model.get_params()).fit_statistics(total)
        assert m.schema_[4].note.startswith("left out: ")
        plain = type(model)(**model.get_params()).fit(X, y)
        np.testing.assert_allclose(m.predict_proba(table), plain.predict_proba(X), atol=1e-7)
        drawn, _ = m.sample(5, random_state=0)
        np.testing.assert_allclose(drawn[:, 4], sign * slope * drawn[:, source] + offset, rtol=1e-8, atol=1e-8 * slope)

    @settings(max_examples=25, deadline=None)
    @given(st.integers(0, 2**31), st.integers(10, 40), st.integers(2, 4))
    def test_columns_that_do_not_follow_from_others_stay(self, seed, rows, columns):
        table = np.random.default_rng(seed).integers(0, 3, (rows, columns)).astype(float)
        labels = np.arange(rows) % 2
        m = cw.QDA(estimate="bayes").fit(table, labels)
        ranks = [np.linalg.matrix_rank(table[:, :j] - table[0, :j]) for j in range(columns + 1)]
        assert [not m.schema_[j].note for j in range(columns)] == np.diff(ranks).astype(bool).tolist()

    @pytest.mark.parametrize("slope", [1e-30, -1e-13, 1e13, 1e60])
    def test_units_of_any_size(self, slope):
        m = cw.LDA().fit(np.column_stack([X, slope * X[:, 0]]), y)
        rows, _ = m.sample(5, random_state=0)
        np.testing.assert_allclose(rows[:, 4], slope * rows[:, 0], rtol=1e-11)

    def test_batches(self):
        m = cw.LDA()
        for part in np.array_split(np.random.default_rng(0).permutation(150), 4):
            m.partial_fit(ROWS[part], y[part], classes=[0, 1, 2])
        np.testing.assert_allclose(m.predict_proba(ROWS), cw.LDA().fit(X, y).predict_proba(X), atol=1e-9)

    def test_a_later_batch_that_differs(self):
        other = ROWS.copy()
        other[::3, 5] += 1.0
        m = cw.LDA().partial_fit(ROWS, y).partial_fit(other, y)
        assert [column.note for column in m.schema_][5] == ""
        assert m.schema_[1].note == "left out: 1.8 * column 0 + 32"

    def test_sources(self, tmp_path):
        FRAME.assign(label=y).to_csv(tmp_path / "rows.csv", index=False)
        m = cw.QDA().fit_source(tmp_path / "rows.csv", target="label")
        np.testing.assert_allclose(m.predict_proba(FRAME), cw.QDA().fit(X, y).predict_proba(X), atol=1e-8)
        assert m.schema_["again"].note == "left out: the same as 'c'"


# A column in the midst that is the difference of two others, and a total at the end.
SUMS = np.column_stack([X[:, :2], X[:, 0] - X[:, 1], X[:, 2:], X.sum(axis=1) + 1e4])
OF_SUMS = [0, 1, 3, 4]


class TestCombinations:
    @each_model
    def test_it_changes_no_answer_and_leaves_a_note(self, model):
        model = clone(model)
        plain = model.fit(X, y).predict_proba(X)
        frame = pd.DataFrame(SUMS, columns=["a", "b", "less", "c", "d", "sum"])
        warned = (
            r"left out: 'less' \(a combination of 'a' and 'b'\); 'sum' \(a combination of 'a', 'b', 'c' and 1 more\)"
        )
        with pytest.warns(cw.IgnoredColumnWarning, match=warned):
            m = model.fit(frame, y)
        np.testing.assert_allclose(m.predict_proba(frame.assign(sum=-1e3)), plain, atol=1e-9)
        assert m.schema_["less"].note == "left out: a combination of 'a' and 'b'"
        rows, _ = m.sample(20, random_state=0)
        np.testing.assert_allclose(rows["less"], rows["a"] - rows["b"], atol=1e-9)
        np.testing.assert_allclose(rows["sum"], rows[list("abcd")].sum(axis=1) + 1e4, rtol=1e-12)

    @quietly
    @settings(max_examples=25, deadline=None)
    @given(st.integers(0, 2**31), st.sampled_from([cw.LDA(), cw.QDA(), cw.QDA(estimate="bayes")]))
    def test_any_combination_in_any_chunks_and_units(self, seed, model):
        rng = np.random.default_rng(seed)
        units, slopes = 10.0 ** rng.integers(-8, 9, 5), rng.normal(size=4)
        mixed = X @ slopes + rng.integers(-3, 4)
        table = np.column_stack([X, mixed])[:, [*rng.permutation(4), 4]] * units
        parts = np.array_split(rng.permutation(150), 1 + seed % 5)
        total = sum(cw.summarize(table[part], y[part]) for part in parts)
        m = clone(model).fit_statistics(total)
        left_out = [j for j in range(5) if m.schema_[j].note]
        assert left_out == [4]
        kept = table[:, :4]
        np.testing.assert_allclose(m.predict_proba(table), clone(model).fit(kept, y).predict_proba(kept), atol=1e-8)
        less = clone(model).fit_statistics(total - cw.summarize(table[parts[0][:5]], y[parts[0][:5]]))
        assert [j for j in range(5) if less.schema_[j].note] == [4]

    def test_what_nearly_follows_stays(self):
        near = SUMS.copy()
        near[7, 2] += 1e-4
        near[8, 5] += 1e-3
        assert not any(column.note for column in cw.LDA().fit(near, y).schema_)

    def test_few_rows_say_nothing_of_columns(self):
        """Of twelve rows, the twelfth column and all others follow from the first eleven."""
        rng = np.random.default_rng(0)
        rows, labels = rng.normal(size=(12, 20)), np.arange(12) % 2
        for table in (rows, np.vstack([rows, rows]), rows[:, :11]):
            own = np.resize(labels, len(table))
            assert not any(column.note for column in cw.QDA(shrink="oas").fit(table, own).schema_)
        with pytest.raises(cw.SingularCovarianceError, match="Class 0 has 6 rows and 20 features"):
            cw.QDA().fit(rows, labels)

    @quietly
    def test_gaps(self):
        """Columns that are missing in the same rows; where another lacks more, nothing is known to follow."""
        rows = SUMS[:, :5].copy()
        rows[::7, [0, 1, 2]] = np.nan
        m = cw.LDA().fit(rows, y)
        assert m.schema_[2].note == "left out: a combination of column 0 and column 1"
        plain = cw.LDA().fit(rows[:, OF_SUMS], y)
        np.testing.assert_allclose(m.predict_proba(rows), plain.predict_proba(rows[:, OF_SUMS]), atol=1e-9)
        rows[3, 0] = np.nan
        assert not any(column.note for column in cw.LDA(shrink=0.1).fit(rows, y).schema_)

    @quietly
    def test_files_and_leaving_rows_out(self, tmp_path, monkeypatch):
        m = cw.QDA().fit(SUMS, y)
        cw.save(m, tmp_path / "m.cw")
        rows, _ = cw.load(tmp_path / "m.cw").sample(10, random_state=0)
        np.testing.assert_allclose(rows, m.sample(10, random_state=0)[0])
        expected = cw.QDA().fit(X, y).leave_one_out(X, y)
        monkeypatch.setattr("classwise.selection.leave_one_out.LeavingOut._refit_without", None)  # by formula, still
        np.testing.assert_allclose(m.leave_one_out(SUMS, y), expected, rtol=1e-8)

    def test_files_of_before(self):
        """Copies of one column each were stored without a second axis."""
        old = Copies(np.zeros(2), 3, np.array([0, 1]), np.array([2.0, -1.0]), np.array([0.0, 5.0]))
        assert old._is_sound()
        rows = np.array([[1.0, 2.0, 0.0, 0.0], [3.0, 4.0, 0.0, 0.0]])
        old.repeat(rows, np.array([2, 3]))
        assert rows[:, 2:].tolist() == [[2.0, 3.0], [6.0, 1.0]]


@quietly
class TestGaps:
    def test_missing_in_the_same_rows(self):
        rows = ROWS.copy()
        rows[::7, [2, 3]] = np.nan
        rows[::5, [3, 5]] = np.nan
        rows[:, 5] = rows[:, 3]
        for model in (cw.LDA(), cw.QDA(shrink=0.1), cw.RDA(), cw.QDA(estimate="bayes", prior="cv")):
            m = model.fit(rows, y)
            assert m.schema_[5].note == "left out: the same as column 3"
            answer = m.predict_proba(rows)
            plain = model.fit(rows[:, ORIGINALS], y)
            np.testing.assert_allclose(answer, plain.predict_proba(rows[:, ORIGINALS]), atol=1e-6)

    def test_missing_elsewhere_is_no_copy(self):
        rows = ROWS[:, [0, 2, 3, 4, 5]].copy()
        rows[::7, 4] = np.nan
        m = cw.LDA(shrink=0.1).fit(rows, y)
        assert not m.schema_[4].note


@quietly
class TestAnswers:
    def test_files(self, tmp_path):
        for model in (cw.QDA(), cw.LDA(estimate="bayes"), cw.AutoClassifier(members="fast")):
            m = model.fit(ROWS, y)
            cw.save(m, tmp_path / "m.cw")
            other = cw.load(tmp_path / "m.cw")
            np.testing.assert_array_equal(other.predict_proba(ROWS), m.predict_proba(ROWS))
            rows, _ = other.sample(10, random_state=0)
            assert rows[:, 5].tolist() == rows[:, 3].tolist()

    @pytest.mark.parametrize("model", [cw.QDA(), cw.LDA()], ids=repr)
    def test_polynomials_and_reasons(self, model):
        m = model.fit(FRAME, y)
        edge, odds = m.boundary(0, 1), m.log_joint(FRAME)
        np.testing.assert_allclose(edge(FRAME), odds[:, 0] - odds[:, 1], rtol=1e-8)
        assert edge.w[1] == edge.w[5] == 0
        assert m.explain(FRAME[:1]).shares.get("again", 0.0) == 0
        with pytest.raises(cw.ClasswiseError, match="left out 'again'"):
            m.boundary(0, 1, columns=["again"])

    @pytest.mark.parametrize("model", [cw.QDA(), cw.LDA(shrink=0.1)], ids=repr)
    def test_leaving_rows_out(self, model, monkeypatch):
        expected = model.fit(X, y).leave_one_out(X, y)
        m = model.fit(ROWS, y)
        monkeypatch.setattr("classwise.selection.leave_one_out.LeavingOut._refit_without", None)  # by formula, still
        np.testing.assert_allclose(m.leave_one_out(ROWS, y), expected, rtol=1e-8)

    def test_a_given_prior_describes_it_too(self):
        prior = cw.NormalInverseWishart(mean=[*X.mean(axis=0).tolist(), 0.0], kappa=1.0, nu=7.0, scale=1.0)
        m = cw.QDA(estimate="bayes", prior=prior).fit(np.column_stack([X, X[:, 0]]), y)
        assert m.means_.shape == (3, 5)
        assert not m.schema_[4].note

    def test_columns_one_by_one_keep_it(self):
        """Their statistics do not hold what two columns have in common, and full ones must make the same model."""
        for model in (cw.NaiveBayes(), cw.QDA(structure="diagonal"), cw.NearestMean()):
            plain = model.fit(ROWS, y).predict_proba(ROWS)
            assert not model.schema_[5].note
            full = model.fit_statistics(cw.summarize(ROWS, y, scatter="full"))
            np.testing.assert_allclose(full.predict_proba(ROWS), plain, atol=1e-9)

    def test_ledoit_and_wolf_keep_it(self):
        """Their amount of shrinking is of all columns together."""
        m = cw.LDA(shrink="ledoit-wolf").fit(ROWS, y)
        assert not m.schema_[5].note

    def test_sql(self):
        duckdb = pytest.importorskip("duckdb")
        m, rows = cw.QDA(missing="error").fit(FRAME, y), FRAME.assign(again=0.0)
        with duckdb.connect() as connection:
            connection.register("rows", rows)
            answer = connection.execute(cw.to_sql(m, table="rows", dialect="duckdb", output="posteriors")).fetchall()
        np.testing.assert_allclose(np.array(answer, dtype=float)[:, -3:], m.predict_proba(FRAME), atol=1e-9)

    def test_onnx(self):
        onnxruntime = pytest.importorskip("onnxruntime")
        m = cw.QDA().fit(ROWS, y)
        session = onnxruntime.InferenceSession(cw.to_onnx(m, dtype="float64").SerializeToString())
        answer = session.run(None, {"X": np.column_stack([ROWS[:, :5], np.zeros(150)])})[1]
        np.testing.assert_allclose(answer, m.predict_proba(ROWS), atol=1e-10)


@quietly
class TestComparisons:
    def test_no_model_drops_out(self):
        found = cw.compare(ROWS[::2], y[::2], folds=3)
        plain = cw.compare(X[::2], y[::2], folds=3)
        joint = ("LDA", "QDA", "RDA", "stack", "QDA, Student-t, loo")
        for trial in found.trials:
            assert not trial.reason
            if trial.name in joint:
                expected = plain[trial.name].estimate("log_loss").value
                assert trial.estimate("log_loss").value == pytest.approx(expected, abs=5e-3), trial.name

    def test_a_column_without_values_beside_gaps(self):
        """Filling gaps once for many candidates keeps the places of columns that are left out."""
        rows = np.column_stack([np.full(150, np.nan), ROWS])
        rows[::9, 3] = np.nan
        found = cw.compare(rows, y, folds=3, references=False)
        assert not found["RDA"].reason
        assert not found["QDA, Student-t, loo"].reason

    def test_every_member_takes_part_on_leaves(self, data):
        table = pd.read_csv(data / "leaf_flavia.csv.gz")
        found = cw.compare(table.drop(columns="species"), table["species"])
        lacking = {trial.name: trial.reason for trial in found.trials if trial.reason}
        assert set(lacking) == {"QDA"}
        assert "49 features, so its full covariance has rank 48" in lacking["QDA"]
        assert found["logistic"].estimate("log_loss").value < 0.1
        assert found["stack"].estimate("log_loss").value < 0.02
