"""Volume, shape and orientation: the 14 structures of covariances, held against mclust and against their own laws."""

import functools
import json
from pathlib import Path

import numpy as np
import pytest
from palmerpenguins import load_penguins
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

import classwise as cw
from classwise.covariance.spectra import fixed_point


def penguins():
    columns = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
    table = load_penguins()[["species", *columns]].dropna()
    return table[columns].to_numpy(float), np.unique(table["species"], return_inverse=True)[1]


def tumors():
    X, y = load_breast_cancer(return_X_y=True)
    return X[:, :8], y


TABLES = {
    "iris": lambda: load_iris(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "tumors": tumors,
    "penguins": penguins,
    "banana": lambda: cw.datasets.banana(200, random_state=0),
}
TABLES = {name: functools.cache(read) for name, read in TABLES.items()}
REFERENCE = json.loads(Path(__file__).with_name("data").joinpath("edda_reference.json").read_text())
STRUCTURES = list(REFERENCE["iris"])

# Those that classes share wholly, or not at all, under the names that they have always had.
OLD_NAMES = {
    "EII": {"structure": "spherical", "share": 1},
    "VII": {"structure": "spherical"},
    "EEI": {"structure": "diagonal", "share": 1},
    "VVI": {"structure": "diagonal"},
    "EEE": {"structure": "full", "share": 1},
    "VVV": {"structure": "full"},
}
PARTLY = [name for name in STRUCTURES if name not in OLD_NAMES]


@functools.cache
def fitted(structure, table="iris"):
    return cw.GaussianClassifier(structure=structure).fit(*TABLES[table]())


def log_likelihood(model, X, y):
    return -model.nll(X, y).features


class TestAgainstMclust:
    @pytest.mark.parametrize("table", TABLES)
    @pytest.mark.parametrize("structure", STRUCTURES)
    def test_likelihood_and_posteriors(self, structure, table):
        """mclust may stop at a lower likelihood where axes are shared; then posteriors are of another model."""
        X, y = TABLES[table]()
        model, reference = fitted(structure, table), REFERENCE[table][structure]
        gain = log_likelihood(model, X, y) - reference["log_likelihood"]
        assert gain > -1e-9 * abs(reference["log_likelihood"])
        if gain > 1e-6:
            assert structure in ("EVE", "VVE")
            return
        ours, theirs = np.exp(model.predict_log_proba(X)[::10]), np.exp(reference["log_posterior"])
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6)

    @pytest.mark.parametrize("table", TABLES)
    @pytest.mark.parametrize("structure", ["EII", "VII", "EEI", "EVI", "VVI", "EEE", "EEV", "EVV", "VVV"])
    def test_closed_forms_have_the_evidence_that_its_discriminant_analysis_reports(self, structure, table):
        X, _ = TABLES[table]()
        ours = fitted(structure, table).log_evidence(X).sum()
        assert ours == pytest.approx(REFERENCE[table][structure]["log_evidence"], rel=1e-9)


class TestStructures:
    @pytest.mark.parametrize("structure", OLD_NAMES)
    def test_six_are_what_there_was(self, structure):
        X, y = TABLES["wine"]()
        plain = cw.GaussianClassifier(**OLD_NAMES[structure]).fit(X, y)
        np.testing.assert_array_equal(fitted(structure, "wine").predict_log_proba(X), plain.predict_log_proba(X))
        assert fitted(structure, "wine").gaussian_.free_parameters == plain.gaussian_.free_parameters

    @pytest.mark.parametrize("structure", STRUCTURES)
    def test_what_letters_say(self, structure):
        """Volume, shape and axes of the classes are the same where they are shared, and differ where they are not."""
        values = np.linalg.eigvalsh(fitted(structure).covariances_)
        volume = np.exp(np.log(values).mean(axis=1))
        shape = values / volume[:, None]
        # Axes are the same if the covariances commute.
        a, b = fitted(structure).covariances_[:2]
        facts = {
            "volume": np.ptp(volume) < 1e-9,
            "shape": bool(np.ptp(np.sort(shape, axis=1), axis=0).max() < 1e-9),
            "orientation": bool(np.abs(a @ b - b @ a).max() < 1e-9),
        }
        expected = {part: letter != "V" for part, letter in zip(facts, structure, strict=True)}
        assert facts == expected
        if structure[2] == "I":
            assert not (fitted(structure).covariances_ * (1 - np.eye(4))).any()
        if structure[1] == "I":
            np.testing.assert_allclose(shape, 1)

    @pytest.mark.parametrize("structure", STRUCTURES)
    def test_free_parameters(self, structure):
        """As mclust counts them, for three classes and four columns; twelve of the means."""
        counts = {"EII": 1, "VII": 3, "EEI": 4, "VEI": 6, "EVI": 10, "VVI": 12, "EEE": 10, "VEE": 12, "EVE": 16}
        counts |= {"VVE": 18, "EEV": 22, "VEV": 24, "EVV": 28, "VVV": 30}
        assert fitted(structure).gaussian_.free_parameters == 12 + counts[structure]

    @pytest.mark.parametrize("structure", PARTLY)
    def test_no_neighbor_is_likelier(self, structure):
        """Volumes, shapes and axes a little off, within the structure, make rows less likely."""
        X, y = TABLES["iris"]()
        gaussian, moments, rng = fitted(structure).gaussian_, cw.summarize(X, y).moments, np.random.default_rng(0)
        for _ in range(20):
            moved = cw.covariance.FullCovariance(neighbor(structure, gaussian.covariance.matrices(), rng))
            less = type(gaussian)(gaussian.means, moved).log_likelihood(moments)
            assert less < gaussian.log_likelihood(moments)

    def test_nested_structures_are_less_likely(self):
        X, y = TABLES["wine"]()
        height = {name: log_likelihood(fitted(name, "wine"), X, y) for name in STRUCTURES}
        order = "I", "E", "V"
        for poor in STRUCTURES:
            for rich in STRUCTURES:
                if all(order.index(a) <= order.index(b) for a, b in zip(poor, rich, strict=True)):
                    assert height[poor] <= height[rich] + 1e-9

    def test_unbiased_is_restricted_likelihood(self):
        """n_k - 1 in the place of n_k: with one class weight for all, volumes grow by the same factor."""
        X, y = TABLES["iris"]()
        plain, unbiased = (cw.GaussianClassifier(structure="VEV", estimate=e).fit(X, y) for e in ("mle", "unbiased"))
        np.testing.assert_allclose(unbiased.covariances_, plain.covariances_ * 50 / 49, rtol=1e-12)

    def test_units_matter_where_axes_are_turned(self):
        X, y = TABLES["iris"]()
        scale = np.array([1.0, 10.0, 0.1, 3.0])
        for structure in PARTLY:
            ours, theirs = (fitted(structure), cw.GaussianClassifier(structure=structure).fit(X * scale, y))
            same = np.allclose(ours.predict_proba(X), theirs.predict_proba(X * scale), atol=1e-9)
            assert same == (structure in ("VEI", "EVI", "VEE", "EVV")), structure

    @pytest.mark.parametrize("structure", PARTLY)
    def test_standardized(self, structure):
        X, y = TABLES["wine"]()
        scale = X.std(axis=0)
        standard = cw.GaussianClassifier(structure=structure, standardize=True).fit(X, y)
        plain = cw.GaussianClassifier(structure=structure).fit(X / scale, y)
        np.testing.assert_allclose(standard.predict_proba(X), plain.predict_proba(X / scale), atol=1e-8)
        units = 13 if structure in ("EVE", "VVE", "EEV", "VEV") else 0
        assert standard.gaussian_.free_parameters == plain.gaussian_.free_parameters + units


def neighbor(structure, matrices, rng, amount=0.01):
    """Covariances of the same structure nearby; (g, p, p)."""
    values, axes = np.linalg.eigh(matrices)
    if structure[2] != "V":  # one set of axes, in one order
        mixed = np.tensordot(rng.random(len(matrices)), matrices, axes=1)
        axes = np.broadcast_to(np.eye(4) if structure[2] == "I" else np.linalg.eigh(mixed).eigenvectors, axes.shape)
        values = np.einsum("kij,kil,klj->kj", axes, matrices, axes)
    size = [len(matrices) if letter == "V" else 1 for letter in structure]
    shape = rng.normal(size=(size[1], 4))
    values = values * np.exp(amount * (rng.normal(size=(size[0], 1)) + shape - shape.mean(axis=1, keepdims=True)))
    if structure[2] != "I":
        rotation = amount * rng.normal(size=(size[2], 4, 4))
        axes = axes @ np.linalg.qr(np.eye(4) + rotation - rotation.transpose(0, 2, 1))[0]
    return (axes * values[:, None, :]) @ axes.transpose(0, 2, 1)


class TestSpelling:
    @pytest.mark.parametrize(
        ("words", "letters"),
        [
            ("own volume, shared shape, own orientation", "VEV"),
            ("shared orientation, own volume, own shape", "VVE"),
            ("own volume", "VII"),
            ("shared volume, trivial shape, trivial orientation", "EII"),
            ("shared volume, own shape", "EVI"),
        ],
    )
    def test_words(self, words, letters):
        X, y = TABLES["iris"]()
        spelled = cw.GaussianClassifier(structure=words).fit(X, y)
        np.testing.assert_array_equal(spelled.covariances_, fitted(letters).covariances_)

    @pytest.mark.parametrize(
        "structure", ["vev", "IEV", "own shape", "own volume, own volume", "own volume, own orientation", "", 3, None]
    )
    def test_anything_else_is_an_error(self, structure):
        with pytest.raises(cw.ClasswiseError, match="is not an option; choose 'full'"):
            cw.GaussianClassifier(structure=structure).fit(*TABLES["iris"]())

    @pytest.mark.parametrize(
        ("options", "remedy"),
        [
            ({"structure": "VEV", "share": 1}, "leave share=0"),
            ({"structure": "EEE", "share": "cv"}, "leave share=0"),
            ({"structure": "VEV", "shrink": 0.1}, "structure='full'"),
            ({"structure": "VEV", "shrink": "oas"}, "structure='full'"),
            ({"structure": "EEV", "estimate": "bayes"}, "estimate='mle'"),
        ],
    )
    def test_contradictions_name_a_remedy(self, options, remedy):
        with pytest.raises(cw.ClasswiseError, match=remedy):
            cw.GaussianClassifier(**options).fit(*TABLES["iris"]())

    def test_the_six_take_the_options_of_their_other_names(self):
        X, y = TABLES["iris"]()
        ours = cw.GaussianClassifier(structure="EEE", estimate="bayes").fit(X, y)
        np.testing.assert_array_equal(ours.predict_proba(X), cw.LDA(estimate="bayes").fit(X, y).predict_proba(X))
        ours = cw.LDA(structure="EEE", shrink=0.2).fit(X, y)
        np.testing.assert_array_equal(ours.predict_proba(X), cw.LDA(shrink=0.2).fit(X, y).predict_proba(X))


class TestSingular:
    @pytest.mark.parametrize("structure", STRUCTURES)
    def test_three_rows_of_a_class(self, structure):
        """A shape of its own takes a class that varies in all directions; a shared one does not."""
        X, y = TABLES["iris"]()
        some = np.r_[0, 1, 3, 50:70, 100:120]
        model = cw.GaussianClassifier(structure=structure)
        if structure in ("EVI", "VVI", "EVE", "VVE", "EVV", "VVV"):
            with pytest.raises(cw.SingularCovarianceError, match=r"Class 0 has 3 rows and 4 features.*[Ss]hare"):
                model.fit(X[some], y[some])
        else:
            assert np.isfinite(model.fit(X[some], y[some]).predict_log_proba(X)).all()

    @pytest.mark.parametrize("structure", STRUCTURES)
    def test_a_column_that_is_constant_within_classes(self, structure):
        X, y = TABLES["iris"]()
        X = np.column_stack([X, y])
        model = cw.GaussianClassifier(structure=structure)
        if structure in ("EII", "VII"):
            assert model.fit(X, y).score(X, y) > 0.9
        else:
            with pytest.raises(cw.SingularCovarianceError, match=r"column 4 do(es)? not vary"):
                model.fit(X, y)

    @pytest.mark.parametrize("structure", ["VEI", "VEE", "VEV", "EVV"])
    def test_a_class_of_one_row(self, structure):
        X, y = TABLES["iris"]()
        with pytest.raises(cw.SingularCovarianceError, match="Class 2 has 1 row"):
            cw.GaussianClassifier(structure=structure).fit(X[:101], y[:101])


def gappy(share=0.15, seed=3):
    X, y = TABLES["iris"]()
    rows = X.copy()
    rows[np.random.default_rng(seed).random(rows.shape) < share] = np.nan
    return rows, y


class TestGaps:
    @pytest.mark.parametrize("structure", PARTLY)
    def test_no_neighbor_is_likelier(self, structure):
        """EM ends where the values that are there are likeliest, among covariances of the structure."""
        rows, y = gappy()
        model = cw.GaussianClassifier(structure=structure).fit(rows, y)
        gaussian, rng = model.gaussian_, np.random.default_rng(1)
        own = np.arange(len(y)), y

        def height(means, covariances):
            density = type(gaussian)(means, cw.covariance.FullCovariance(covariances))
            return density.observed(rows, np.zeros((3, 1)))[own[1], own[0]].sum()

        best = height(gaussian.means, gaussian.covariance.matrices())
        for _ in range(10):
            moved = neighbor(structure, gaussian.covariance.matrices(), rng)
            assert height(gaussian.means, moved) < best
            nearby = gaussian.means + 0.01 * rng.normal(size=gaussian.means.shape)
            assert height(nearby, gaussian.covariance.matrices()) < best

    @pytest.mark.parametrize("structure", ["VEI", "EVI"])
    def test_a_class_without_a_value_in_a_column_borrows(self, structure):
        rows, y = gappy()
        rows[y == 1, 2] = np.nan
        with pytest.warns(cw.DegenerateColumnWarning, match="1 in column 2"):
            model = cw.GaussianClassifier(structure=structure).fit(rows, y)
        assert model.means_[1, 2] == pytest.approx(np.nanmean(rows[:, 2]))
        assert np.isfinite(model.predict_log_proba(rows)).all()


@pytest.mark.parametrize("structure", PARTLY)
class TestLaws:
    def test_parts_add_up(self, structure):
        X, y = TABLES["penguins"]()
        order = np.random.default_rng(0).permutation(len(y))
        parts = [cw.summarize(X[part], y[part]) for part in np.array_split(order, 4)]
        whole = fitted(structure, "penguins").predict_log_proba(X)
        for statistics in (sum(parts), sum(parts[::-1]), (sum(parts) + parts[0]) - parts[0]):
            merged = cw.GaussianClassifier(structure=structure).fit_statistics(statistics)
            np.testing.assert_allclose(merged.predict_log_proba(X), whole, rtol=1e-7, atol=1e-7)

    def test_batches(self, structure):
        X, y = TABLES["penguins"]()
        steps = cw.GaussianClassifier(structure=structure)
        for part in np.array_split(np.arange(len(y)), 3):
            steps.partial_fit(X[part], y[part])
        whole = fitted(structure, "penguins").predict_log_proba(X)
        np.testing.assert_allclose(steps.predict_log_proba(X), whole, rtol=1e-7, atol=1e-7)

    def test_weight_two_is_the_row_twice(self, structure):
        X, y = TABLES["penguins"]()
        weights = np.random.default_rng(1).integers(0, 3, len(y))
        kept = weights > 0
        weighted = cw.GaussianClassifier(structure=structure).fit(X[kept], y[kept], weights[kept])
        twice = cw.GaussianClassifier(structure=structure).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
        np.testing.assert_allclose(twice.predict_proba(X), weighted.predict_proba(X), atol=1e-8)

    def test_columns_and_classes_in_another_order(self, structure):
        X, y = TABLES["penguins"]()
        moved = cw.GaussianClassifier(structure=structure).fit(X[:, [2, 0, 3, 1]], np.array([2, 0, 1])[y])
        chances = moved.predict_proba(X[:, [2, 0, 3, 1]])
        np.testing.assert_allclose(chances[:, [2, 0, 1]], fitted(structure, "penguins").predict_proba(X), atol=1e-7)

    def test_saved(self, structure, tmp_path):
        X, _ = TABLES["iris"]()
        cw.save(fitted(structure), tmp_path / "m.cw")
        loaded = cw.load(tmp_path / "m.cw")
        np.testing.assert_array_equal(loaded.predict_proba(X), fitted(structure).predict_proba(X))
        assert loaded.gaussian_.free_parameters == fitted(structure).gaussian_.free_parameters

    def test_rows_left_out(self, structure):
        """By real fits without each row."""
        X, y = TABLES["banana"]()
        X, y = X[::5], y[::5]
        found = cw.GaussianClassifier(structure=structure).fit(X, y).leave_one_out(X, y)
        for row in (0, 7, 31):
            others = np.arange(40) != row
            alone = cw.GaussianClassifier(structure=structure, priors=[(y == 0).mean(), (y == 1).mean()])
            alone.fit(X[others], y[others])
            np.testing.assert_allclose(found[row], alone.predict_log_proba(X[[row]])[0], rtol=1e-6, atol=1e-9)


class TestChoice:
    def test_bic(self):
        """As mclust's for the same likelihoods, with the sign of the textbooks; its EDDA chooses VEV for the irises."""
        X, y = TABLES["iris"]()
        model = cw.GaussianClassifier(structure="bic").fit(X, y)
        tried = model.structures_
        assert tried.names == tuple(STRUCTURES)
        assert tried.best == "VEV"
        np.testing.assert_array_equal(model.predict_proba(X), fitted("VEV").predict_proba(X))
        for name, height, count, bic in zip(
            tried.names, tried.log_likelihood, tried.parameters, tried.bic, strict=True
        ):
            assert height == pytest.approx(log_likelihood(fitted(name), X, y), rel=1e-12)
            assert count == fitted(name).gaussian_.free_parameters
            assert bic == pytest.approx(count * np.log(150) - 2 * height)
        assert repr(tried).endswith("VEV has the least BIC.")

    def test_bic_takes_statistics_alone(self):
        X, y = TABLES["wine"]()
        whole = cw.GaussianClassifier(structure="bic").fit(X, y)
        merged = cw.GaussianClassifier(structure="bic").fit_statistics(
            cw.summarize(X[::2], y[::2]) + cw.summarize(X[1::2], y[1::2])
        )
        steps = cw.GaussianClassifier(structure="bic").partial_fit(X[::2], y[::2]).partial_fit(X[1::2], y[1::2])
        for other in (merged, steps):
            np.testing.assert_allclose(other.structures_.bic, whole.structures_.bic, rtol=1e-9)
            np.testing.assert_allclose(other.predict_proba(X), whole.predict_proba(X), atol=1e-7)

    def test_bic_finds_the_truth(self):
        """Rows drawn from a structure are explained by it, or by a simpler one."""
        rng = np.random.default_rng(0)
        y = np.repeat([0, 1, 2], 2000)
        rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        for structure, deviations in {
            "EEI": np.array([[1.0, 2, 4]] * 3),
            "VEI": np.array([[1.0, 2, 4], [2, 4, 8], [3, 6, 12]]),
            "VVI": np.array([[1.0, 2, 4], [4, 1, 1], [1, 3, 5]]),
            "VEE": np.array([[1.0, 2, 4], [2, 4, 8], [3, 6, 12]]),
            "VVE": np.array([[1.0, 2, 4], [4, 1, 1], [1, 3, 5]]),
        }.items():
            axes = np.eye(3) if structure[2] == "I" else rotation
            X = (rng.normal(size=(6000, 3)) * deviations[y]) @ axes.T + y[:, None]
            assert cw.GaussianClassifier(structure="bic").fit(X, y).structures_.best == structure

    def test_structures_that_cannot_be_fitted_are_left_out(self):
        X, y = TABLES["iris"]()
        some = np.r_[0, 1, 3, 50:70, 100:120]
        tried = cw.GaussianClassifier(structure="bic").fit(X[some], y[some]).structures_
        impossible = [name for name, bic in zip(tried.names, tried.bic, strict=True) if bic == np.inf]
        assert impossible == ["EVI", "VVI", "EVE", "VVE", "EVV", "VVV"]
        assert tried.best not in impossible

    def test_nothing_can_be_fitted(self):
        with pytest.raises(cw.SingularCovarianceError, match="share one"):
            cw.GaussianClassifier(structure="bic").fit([[0.0, 1], [0, 1], [2, 3], [2, 3]], [0, 0, 1, 1])

    @pytest.mark.parametrize("criterion", ["bic", "cv"])
    def test_gaps(self, criterion):
        rows, y = gappy()
        model = cw.GaussianClassifier(structure=criterion, folds=3).fit(rows, y)
        tried = getattr(model.structures_, "table", model.structures_)
        for name, height in zip(tried.names, tried.log_likelihood, strict=True):
            alone = cw.GaussianClassifier(structure=name).fit(rows, y)
            own = alone.log_density(rows)[np.arange(len(y)), y].sum()
            assert height == pytest.approx(own, rel=1e-6), name
        np.testing.assert_array_equal(
            model.predict(rows), cw.GaussianClassifier(structure=model.structures_.best).fit(rows, y).predict(rows)
        )

    def test_cross_validation(self):
        """Log losses by hand, in the same folds."""
        X, y = TABLES["iris"]()
        folds = np.arange(150) % 5
        model = cw.GaussianClassifier(structure="cv", folds=folds).fit(X, y)
        tried = model.structures_
        for name, loss in zip(tried.names, tried.log_loss, strict=True):
            if name in ("EEI", "VEV", "EVE"):
                by_hand = 0.0
                for fold in range(5):
                    other = cw.GaussianClassifier(structure=name).fit(X[folds != fold], y[folds != fold])
                    held = folds == fold
                    by_hand -= other.predict_log_proba(X[held])[np.arange(held.sum()), y[held]].sum()
                assert loss == pytest.approx(by_hand / 150, rel=1e-6)
        assert tried.best == tried.names[int(tried.log_loss.argmin())]
        np.testing.assert_array_equal(model.predict(X), fitted(tried.best).predict(X))
        assert "log loss" in repr(tried)

    @pytest.mark.parametrize("criterion", ["bic", "cv"])
    def test_saved_and_left_out(self, criterion, tmp_path):
        X, y = TABLES["banana"]()
        X, y = X[::5], y[::5]
        model = cw.GaussianClassifier(structure=criterion, folds=4).fit(X, y)
        plain = cw.GaussianClassifier(structure=model.structures_.best).fit(X, y)
        np.testing.assert_allclose(model.leave_one_out(X, y), plain.leave_one_out(X, y), rtol=1e-9)
        cw.save(model, tmp_path / "m.cw")
        assert repr(cw.load(tmp_path / "m.cw").structures_) == repr(model.structures_)

    def test_options(self):
        X, y = TABLES["iris"]()
        for options in ({"share": 1}, {"shrink": "cv"}, {"estimate": "bayes"}):
            with pytest.raises(cw.ClasswiseError, match="structure="):
                cw.GaussianClassifier(structure="bic", **options).fit(X, y)
        with pytest.raises(cw.ClasswiseError, match="structure='cv' needs the rows"):
            cw.GaussianClassifier(structure="cv").fit_statistics(cw.summarize(X, y))
        with pytest.raises(cw.NotAvailableError, match="structure='bic'"):
            _ = fitted("VEV").structures_
        assert not hasattr(cw.GaussianClassifier(structure="cv"), "partial_fit")

    def test_calibrated_and_compared(self):
        X, y = TABLES["wine"]()
        model = cw.GaussianClassifier(structure="bic", calibrate="temperature", folds=3).fit(X, y)
        assert model.calibration_.power > 0
        found = cw.compare(X, y, folds=3, models={"by BIC": cw.GaussianClassifier(structure="bic")}, references=False)
        assert found["by BIC"].free_parameters == fitted("VVE", "wine").gaussian_.free_parameters + 2


def test_steps_end_where_rounding_does_not_let_them_settle():
    """Axes of very different lengths: volumes waver by 1e-9 of themselves, however long steps go on."""
    rng = np.random.default_rng(0)
    taken = 0

    def step(volume):
        nonlocal taken
        taken += 1
        return (1 + 0.5 * (volume - 1)) * (1 + 1e-9 * rng.normal())

    np.testing.assert_allclose(fixed_point(step, np.array([2.0])), 1, rtol=1e-7)
    assert taken < 200


@pytest.mark.parametrize("structure", ["bic", "cv", "VEV"])
def test_without_numbers_there_is_nothing_to_choose(structure):
    texts = np.array([["x", "u"], ["y", "u"], ["x", "v"], ["y", "v"]] * 10, dtype=object)
    y = np.arange(40) % 3
    m = cw.GaussianClassifier(structure=structure, folds=3).fit(texts, y)
    np.testing.assert_array_equal(m.predict_proba(texts), cw.LDA().fit(texts, y).predict_proba(texts))
    found = cw.compare(texts, y, folds=3, references=False, only=["naive-bayes"], models={"edda": m})
    assert np.isfinite(found.evaluations["edda"].log_loss)
