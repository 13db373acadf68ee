"""Pictures: what is drawn where, in which color, and that nothing warns."""

import io
import sys
from inspect import Parameter, signature
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_hex
from matplotlib.patches import Ellipse
from matplotlib.text import Text
from palmerpenguins import load_penguins
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression

import classwise as cw
from classwise import plot
from classwise.plot.canvas import BLUE, CYCLE, GRAY, RED, read_labels
from classwise.plot.density_curves import changes
from classwise.plot.view import look

mpl.use("Agg")

PENGUINS = load_penguins()
SPECIES = PENGUINS["species"]
MIXED = PENGUINS.drop(columns=["species", "year"])
NUMBERS = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
PAIR = ("bill_length_mm", "body_mass_g")
X, y = load_iris(return_X_y=True)


@pytest.fixture(autouse=True)
def _close():
    yield
    pyplot.close("all")


@pytest.mark.parametrize("labels", [np.ma.array([1, 2, 1], mask=[0, 0, 1]), pl.Series([1, 2, None]), [1, 2, None]])
def test_rows_without_a_label_have_no_class(labels):
    assert read_labels(labels, 3).tolist() == [1, 2, None]


@pytest.fixture(scope="module")
def qda():
    return cw.QDA().fit(MIXED[NUMBERS], SPECIES)


@pytest.fixture(scope="module")
def mixed():
    return cw.LDA().fit(MIXED, SPECIES)


def drawn(picture):
    """The picture itself, drawn once: a warning would be an error."""
    figure = picture if hasattr(picture, "savefig") else picture.get_figure()
    figure.savefig(io.BytesIO())
    return picture


def ellipses(axes):
    return [patch for patch in axes.patches if isinstance(patch, Ellipse)]


def curves(axes):
    """The points of the boundaries that are shown."""
    points = np.vstack([line.get_xydata() for line in axes.lines])
    return points[np.isfinite(points).all(axis=1)]


def offsets(axes):
    return np.vstack([np.asarray(c.get_offsets()) for c in axes.collections if len(c.get_offsets()) > 1])


def legend(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


class TestRegions:
    def test_names_and_classes(self, qda):
        axes = drawn(plot.plot_regions(qda, MIXED, SPECIES, columns=PAIR))
        assert (axes.get_xlabel(), axes.get_ylabel()) == PAIR
        assert legend(axes) == ["Adelie", "Chinstrap", "Gentoo"]
        markers = {handle.get_marker() for handle in axes.get_legend().legend_handles}
        colors = {to_hex(handle.get_color()).upper() for handle in axes.get_legend().legend_handles}
        assert len(markers) == 3
        assert colors == set(CYCLE[:3])

    def test_rows(self, qda):
        axes = plot.plot_regions(qda, MIXED, SPECIES, columns=PAIR)
        expected = MIXED[list(PAIR)].to_numpy()
        shown = offsets(axes)
        assert len(shown) == len(expected)
        np.testing.assert_allclose(np.nansum(shown, axis=0), np.nansum(expected, axis=0))

    def test_of_very_many_rows_some_are_shown_and_no_class_hides_another(self):
        rng = np.random.default_rng(0)
        rows, labels = rng.normal(size=(8000, 2)), np.tile(["a", "b"], 4000)
        axes = plot.plot_regions(cw.LDA().fit(rows, labels), rows, labels)
        assert len(offsets(axes)) == 5000
        colors = [to_hex(c.get_facecolor()[0]).upper() for c in axes.collections if len(c.get_offsets()) > 1]
        assert colors[:4] == [*CYCLE[:2], *CYCLE[:2]]

    def test_rows_without_labels_are_gray(self, qda):
        axes = drawn(plot.plot_regions(qda, MIXED, columns=PAIR))
        (rows,) = [c for c in axes.collections if len(c.get_offsets()) > 1]
        assert to_hex(rows.get_facecolor()[0]) == GRAY

    def test_ellipses_are_those_of_the_covariances(self, qda):
        axes = plot.plot_regions(qda, columns=PAIR, sigmas=(1, 2))
        assert len(ellipses(axes)) == 6
        covariance = qda.covariances_[0][np.ix_([0, 3], [0, 3])]
        for sigma, patch in zip((1, 2), ellipses(axes), strict=False):
            away = patch.get_patch_transform().transform(patch.get_path().vertices[:-1:3]) - qda.means_[0, [0, 3]]
            squares = (away @ np.linalg.inv(covariance) * away).sum(axis=1)
            np.testing.assert_allclose(squares, sigma**2, rtol=1e-3)

    def test_boundaries_are_exact(self, qda):
        points = curves(plot.plot_regions(qda, MIXED, SPECIES, columns=PAIR))
        pairs = (("Adelie", "Chinstrap"), ("Adelie", "Gentoo"), ("Chinstrap", "Gentoo"))
        odds = np.stack([qda.boundary(*pair, columns=PAIR)(points) for pair in pairs])
        assert np.abs(odds).min(axis=0).max() < 1e-8

    @pytest.mark.parametrize("make", [cw.QDA, cw.LDA, cw.NaiveBayes, cw.NearestMean])
    def test_boundaries_are_where_the_two_best_tie(self, make):
        m = make().fit(X[:, 2:], y)
        points = curves(drawn(plot.plot_regions(m, X[:, 2:], y)))
        best = np.sort(m.predict_log_proba(points), axis=1)
        np.testing.assert_allclose(best[:, -1], best[:, -2], atol=0.01)
        assert len(points) > 100

    def test_regions_are_the_decisions(self, mixed):
        view = look(mixed, PAIR, None, 2)
        grid = np.random.default_rng(0).uniform([30, 2500], [60, 6500], size=(500, 2))
        rows = MIXED.iloc[[0] * 500].reset_index(drop=True).assign(sex=None, island=None)
        rows = rows.astype({"sex": object, "island": object})
        rows[[name for name in NUMBERS if name not in PAIR]] = np.nan
        rows[list(PAIR)] = grid
        np.testing.assert_array_equal(mixed.classes_[view.scores(grid).argmax(axis=0)], mixed.predict(rows))

    def test_a_column_can_be_held(self):
        m = cw.QDA().fit(X, y)
        axes = drawn(plot.plot_regions(m, columns=(0, 1), at={2: 4.5}))
        points = curves(axes)
        odds = np.stack([m.boundary(a, b, columns=(0, 1), at={2: 4.5})(points) for a, b in ((0, 1), (0, 2), (1, 2))])
        assert np.abs(odds).min(axis=0).max() < 1e-6
        covariance, mean = m.covariances_[0][:3, :3], m.means_[0]
        expected = mean[:2] + covariance[:2, 2] / covariance[2, 2] * (4.5 - mean[2])
        np.testing.assert_allclose(ellipses(axes)[0].get_center(), expected)
        precision = np.linalg.inv(covariance)[:2, :2]
        sizes = np.sort([ellipses(axes)[0].width, ellipses(axes)[0].height])
        np.testing.assert_allclose(sizes, 2 * np.sqrt(np.linalg.eigvalsh(np.linalg.inv(precision))))

    def test_what_is_held_leaves_the_next_columns(self):
        axes = plot.plot_regions(cw.LDA().fit(X, y), at={0: 5.0})
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("x1", "x2")

    @pytest.mark.filterwarnings("ignore::classwise.ImputedValueWarning")
    @pytest.mark.parametrize(
        "model",
        [
            cw.QDA(estimate="bayes"),
            cw.QDA(missing="level"),
            cw.QDA(calibrate="temperature"),
            cw.NaiveBayes(families={"bill_length_mm": "lognormal"}),
            cw.AutoClassifier(members="fast", folds=3),
        ],
        ids=lambda model: type(model).__name__,
    )
    def test_every_model(self, model):
        axes = drawn(plot.plot_regions(model.fit(MIXED, SPECIES), MIXED, SPECIES, columns=PAIR))
        assert len(curves(axes)) > 100

    def test_counts(self):
        labels = np.repeat([0, 1], 100)
        rng = np.random.default_rng(0)
        rows = np.column_stack([rng.poisson(2 + 3 * labels), rng.binomial(6, 0.2 + 0.4 * labels)])
        m = cw.NaiveBayes(families={0: "poisson", 1: "binomial(6)"}).fit(rows, labels)
        axes = drawn(plot.plot_regions(m, rows, labels))
        assert not ellipses(axes)
        assert drawn(plot.plot_regions(m)).get_xlim()[0] < 1

    def test_a_prior_of_zero_has_no_boundary(self):
        m = cw.QDA(priors=[0.5, 0.5, 0]).fit(X, y)
        points = curves(drawn(plot.plot_regions(m, X, y)))
        assert np.abs(m.boundary(0, 1, columns=(0, 1))(points)).max() < 1e-8

    @pytest.mark.parametrize("make", [pl.from_pandas, pa.Table.from_pandas], ids=["polars", "arrow"])
    def test_other_frames(self, make, qda):
        other = make(MIXED[NUMBERS])
        expected = offsets(plot.plot_regions(qda, MIXED, SPECIES))
        np.testing.assert_allclose(offsets(plot.plot_regions(qda, other, SPECIES)), expected)
        np.testing.assert_allclose(offsets(plot.plot_regions(qda, MIXED[NUMBERS].to_numpy(), SPECIES)), expected)

    def test_ellipses_far_beyond_the_rows_are_cut(self):
        m = cw.QDA(shrink=0.9).fit(X * [1, 1, 1, 1000], y)
        low, high = plot.plot_regions(m, X, y).get_xlim()
        assert high - low < 2.1 * np.ptp(X[:, 0])

    def test_many_classes(self):
        rng = np.random.default_rng(0)
        labels = np.repeat(np.arange(12), 20)
        rows = rng.normal(size=(240, 3)) + 5 * rng.normal(size=(12, 3))[labels]
        axes = drawn(plot.plot_regions(cw.LDA().fit(rows, labels), rows, labels))
        handles = axes.get_legend().legend_handles
        assert len({(handle.get_color(), handle.get_marker()) for handle in handles}) == 12
        box = axes.get_legend().get_window_extent()
        assert box.x1 <= axes.get_figure().bbox.x1

    def test_colors_stand_out_from_the_page_of_a_report(self):
        from classwise.plot.canvas import CYCLE, class_styles, contrast
        from classwise.report.charts import DARK, PAPER

        with mpl.rc_context(DARK):
            dark = [style.color for style in class_styles(range(7))]
        assert len({*dark}) == 7
        assert min(contrast(color, PAPER) for color in dark) > 4
        assert [style.color for style in class_styles(range(7))] == list(CYCLE)

    def test_axes_given_and_dark_backgrounds(self, qda):
        with pyplot.style.context("dark_background"):
            _, axes = pyplot.subplots()
            assert plot.plot_regions(qda, axes=axes) is axes
            assert axes.lines[0].get_color() == "white"
            drawn(axes)

    def test_models_without_densities(self):
        with pytest.raises(cw.ClasswiseError, match="LogisticRegression has no densities"):
            plot.plot_regions(LogisticRegression(max_iter=1000).fit(X, y), X, y)

    def test_a_column_that_was_left_out(self):
        rows = np.column_stack([X, np.ones(len(X))])
        with pytest.warns(cw.IgnoredColumnWarning):
            m = cw.NaiveBayes().fit(rows, y)
        assert len(ellipses(drawn(plot.plot_regions(m, rows, y, columns=(0, 3))))) == 9
        with pytest.raises(cw.ClasswiseError, match="left out"):
            plot.plot_regions(m, rows, y, columns=(0, 4))

    def test_wrong_columns(self, mixed):
        for columns, message in (
            (("bill", "body_mass_g"), "'bill', which is not there"),
            (("bill_length_mm", "island", "sex"), "2 different columns"),
            (("body_mass_g",), "2 different columns"),
            (("body_mass_g", "body_mass_g"), "2 different columns"),
            ((1, 99), "99, which is not there"),
        ):
            with pytest.raises(cw.ClasswiseError, match=message):
                plot.plot_regions(mixed, columns=columns)

    def test_wrong_values(self, mixed):
        for at, message in (
            ({"body_mass_g": np.inf}, "finite number"),
            ({"body_mass_g": "much"}, "finite number"),
            ({"sex": "none"}, "its levels are"),
            ({"mass": 1}, "not there"),
            ([1], "not a mapping"),
            ({"bill_length_mm": 40}, "twice"),
        ):
            with pytest.raises(cw.ClasswiseError, match=message):
                plot.plot_regions(mixed, columns=PAIR, at=at)

    def test_wrong_rows(self, mixed):
        with pytest.raises(cw.ClasswiseError, match="y has shape"):
            plot.plot_regions(mixed, MIXED, SPECIES[:5], columns=PAIR)
        with pytest.raises(cw.ClasswiseError, match="no column 'body_mass_g'"):
            plot.plot_regions(mixed, MIXED.drop(columns="body_mass_g"), columns=PAIR)
        with pytest.raises(cw.ClasswiseError, match="X has 2 columns"):
            plot.plot_regions(mixed, np.zeros((3, 2)), columns=PAIR)

    def test_nothing_is_drawn_where_columns_are_wrong(self, mixed):
        with pytest.raises(cw.ClasswiseError):
            plot.plot_regions(mixed, columns="body_mass_g")
        assert not pyplot.get_fignums()


class TestDensities:
    def test_prior_times_density(self, qda):
        above, below = drawn(plot.plot_densities(qda, MIXED, SPECIES, columns="body_mass_g")).axes
        assert legend(above) == ["Adelie", "Chinstrap", "Gentoo"]
        for k, line in enumerate(above.lines[:3]):
            grid, heights = line.get_data()
            variance = qda.covariances_[k, 3, 3]
            exponent = -0.5 * (grid - qda.means_[k, 3]) ** 2 / variance
            np.testing.assert_allclose(heights, qda.priors_[k] * np.exp(exponent) / np.sqrt(2 * np.pi * variance))
        total = sum(line.get_ydata() for line in below.lines[:3])
        np.testing.assert_allclose(total, 1)
        assert below.get_xlabel() == "body_mass_g"

    def test_histograms_are_on_the_scale_of_the_densities(self, qda):
        above = plot.plot_densities(qda, MIXED, SPECIES, columns=0).axes[0]
        stairs = [patch.get_data() for patch in above.patches]
        assert sum(float(s.values @ np.diff(s.edges)) for s in stairs) == pytest.approx(1)

    def test_decisions_change_at_the_roots(self):
        m = cw.QDA().fit(X, y)
        view = look(m, 2, None, 1)
        found = changes(view, np.linspace(0, 9, 2001))
        roots = np.concatenate([m.boundary(a, b, columns=[2]).roots() for a, b in ((0, 1), (0, 2), (1, 2))])
        assert len(found) >= 2
        assert np.abs(found[:, None] - roots).min(axis=1).max() < 1e-5
        above, _ = plot.plot_densities(m, columns=2).axes
        assert len(above.lines) == 3 + len(found)

    def test_counts_are_whole(self):
        labels = np.repeat([0, 1], 100)
        rows = np.random.default_rng(0).poisson(2 + 3 * labels)[:, None]
        m = cw.NaiveBayes(families={0: "poisson"}).fit(rows, labels)
        above, _ = drawn(plot.plot_densities(m, rows, columns=0)).axes
        grid, heights = above.lines[0].get_data()
        np.testing.assert_array_equal(grid, np.arange(len(grid)))
        assert heights.sum() == pytest.approx(0.5, abs=0.01)
        assert to_hex(above.patches[0].get_facecolor()) == GRAY

    def test_axes_given(self, mixed):
        figure, panels = pyplot.subplots(2)
        assert plot.plot_densities(mixed, columns="body_mass_g", axes=panels) is figure
        assert panels[1].get_ylabel() == "posterior"

    def test_wrong_column(self, mixed):
        with pytest.raises(cw.ClasswiseError, match="one column"):
            plot.plot_densities(mixed, columns=list(PAIR))
        with pytest.raises(cw.ClasswiseError, match="give one of the two"):
            plot.plot_densities(mixed, MIXED, columns="sex", at={"island": "Dream"})


class TestConfusion:
    def test_counts_and_shares(self):
        evaluation = cw.LDA().fit(X, y).evaluate(X, y)
        axes = drawn(plot.plot_confusion(evaluation))
        texts = [text.get_text() for text in axes.texts]
        assert texts == ["50\n100.0 %", "0", "0", "0", "48\n96.0 %", "2\n4.0 %", "0", "1\n2.0 %", "49\n98.0 %"]
        assert axes.get_title() == "wrong on 2 % of 150 rows"
        assert [label.get_text() for label in axes.get_yticklabels()] == ["0", "1", "2"]
        assert axes.get_figure().axes[1].get_ylabel() == "share of the true class"

    def test_a_class_without_rows(self):
        axes = drawn(plot.plot_confusion(cw.LDA().fit(X, y).evaluate(X[:60], y[:60])))
        assert [text.get_text() for text in axes.texts[6:]] == ["0", "0", "0"]


class TestDials:
    def test_square(self):
        m = cw.RDA(share="cv", shrink="cv", folds=4).fit(X, y)
        axes = drawn(plot.plot_dials(m))
        share, shrink = m.dials_.best
        (star,) = [line for line in axes.lines if line.get_marker() == "*"]
        column, row = (float(values[0]) for values in star.get_data())
        assert (m.dials_.shares[int(row)], m.dials_.shrinks[int(column)]) == (share, shrink)
        assert f"share {share:g}, shrink {shrink:g}" in axes.get_title()
        np.testing.assert_allclose(axes.collections[0].get_array().reshape(m.dials_.log_loss.shape), m.dials_.log_loss)
        assert axes.get_figure().axes[1].get_ylabel() == "cross-validated log loss"
        assert drawn(plot.plot_dials(m.dials_)).get_title() == axes.get_title()

    def test_what_cannot_be_fitted_is_crossed_out(self):
        losses = np.array([[np.inf, 0.3], [0.2, 0.0]])
        choice = SimpleNamespace(shares=(0.0, 1.0), shrinks=(0.0, "oas"), log_loss=losses, best=(1.0, "oas"))
        crosses = drawn(plot.plot_dials(choice)).lines[0]
        assert crosses.get_xydata().tolist() == [[0.5, 0.5]]

    @pytest.mark.parametrize(("name", "options"), [("share", {"shrink": 0.1}), ("shrink", {"share": 0.5})])
    def test_one_dial_is_a_line(self, name, options):
        m = cw.GaussianClassifier(**{name: "cv"}, **options, folds=4).fit(X, y)
        axes = drawn(plot.plot_dials(m))
        assert axes.get_xlabel() == name
        np.testing.assert_allclose(axes.lines[0].get_ydata(), m.dials_.log_loss.ravel())

    def test_no_dials(self, qda):
        with pytest.raises(cw.ClasswiseError, match="share='cv'"):
            plot.plot_dials(qda)


class TestRejectCurve:
    def test_steps(self):
        rows, labels = load_breast_cancer(return_X_y=True)
        curve = cw.LDA().fit(rows, labels).reject_curve(rows, labels)
        axes = drawn(plot.plot_reject_curve(curve))
        np.testing.assert_array_equal(axes.lines[0].get_ydata(), curve.error)
        for dot, coverage in zip(axes.lines[1:], (0.6, 0.8, 1.0), strict=True):
            assert dot.get_ydata()[0] == curve.at(coverage)
        assert "P ≥ 0." in axes.texts[0].get_text()

    def test_no_error(self):
        axes = drawn(plot.plot_reject_curve(cw.LDA().fit(X[:100], y[:100]).reject_curve(X[:100], y[:100])))
        assert not np.any(axes.lines[0].get_ydata())
        assert axes.get_ylim()[1] > 0


class TestExplanation:
    def test_bars_add_up(self, mixed):
        explanation = mixed.explain(MIXED.iloc[[3]])  # a row with gaps
        axes = drawn(plot.plot_explanation(explanation))
        *parts, total = [bar.get_width() for bar in axes.patches]
        assert sum(parts) == pytest.approx(total)
        assert total == pytest.approx(explanation.log_odds)
        names = [label.get_text() for label in axes.get_yticklabels()]
        assert "bill_length_mm = missing" in names
        assert names[-1] == "log odds"
        assert explanation.label in axes.get_xlabel()

    def test_colors_are_signs(self):
        axes = plot.plot_explanation(cw.QDA().fit(X, y).explain(X[70]))
        for bar in axes.patches:
            assert to_hex(bar.get_facecolor()).upper() == (BLUE if bar.get_width() > 0 else RED)
        assert "volume" in [label.get_text() for label in axes.get_yticklabels()]

    def test_many_columns_are_put_together(self):
        rows, labels = load_breast_cancer(return_X_y=True)
        axes = drawn(plot.plot_explanation(cw.LDA().fit(rows, labels).explain(rows[0])))
        names = [label.get_text() for label in axes.get_yticklabels()]
        assert "15 other columns" in names
        assert len(names) == 18
        *parts, total = [bar.get_width() for bar in axes.patches]
        assert sum(parts) == pytest.approx(total)


class TestProjection:
    def test_two_directions(self, mixed):
        axes = drawn(plot.plot_projection(mixed, MIXED, SPECIES))
        expected = mixed.transform(MIXED)
        np.testing.assert_allclose(offsets(axes).sum(axis=0), expected.sum(axis=0))
        assert len(ellipses(axes)) == 6
        assert all(patch.width == pytest.approx(patch.height) for patch in ellipses(axes))
        assert "direction 1" in axes.get_xlabel()

    def test_one_direction_is_a_density(self):
        rows, labels = load_breast_cancer(return_X_y=True)
        axes = drawn(plot.plot_projection(cw.LDA().fit(rows, labels), rows, labels))
        areas = [np.trapezoid(line.get_ydata(), line.get_xdata()) for line in axes.lines]
        assert sum(areas) == pytest.approx(1, abs=0.01)
        assert legend(axes) == ["0", "1"]

    def test_only_one_covariance_has_directions(self, qda):
        with pytest.raises(cw.ClasswiseError, match="LDA"):
            plot.plot_projection(qda, MIXED[NUMBERS], SPECIES)


class TestPairs:
    def test_every_pair(self, mixed):
        figure = drawn(plot.plot_pairs(mixed, MIXED, SPECIES))
        shown = [axes for axes in figure.axes if axes.axison]
        assert len(shown) == 10
        assert sum(len(ellipses(axes)) == 3 for axes in shown) == 6
        assert [text.get_text() for text in figure.legends[0].get_texts()] == ["Adelie", "Chinstrap", "Gentoo"]
        assert [axes.get_xlabel() for axes in figure.axes[-4:]] == NUMBERS

    def test_some_columns(self, mixed):
        assert len(drawn(plot.plot_pairs(mixed, MIXED, SPECIES, columns=PAIR)).axes) == 4
        with pytest.raises(cw.ClasswiseError, match="at least two"):
            plot.plot_pairs(mixed, MIXED, SPECIES, columns=PAIR[:1])

    def test_categories(self, mixed):
        columns = ("body_mass_g", "island", "sex")
        figure = drawn(plot.plot_pairs(mixed, MIXED, SPECIES, columns=columns))
        assert [axes.get_xlabel() for axes in figure.axes[-3:]] == list(columns)
        assert [label.get_text() for label in figure.axes[3].get_yticklabels()] == ["Biscoe", "Dream", "Torgersen"]
        assert len(figure.axes[7].patches) == 2 * 6  # a tile for each pair of levels, and its edge

    def test_categories_alone(self):
        rows = MIXED[["island", "sex"]]
        assert len(drawn(plot.plot_pairs(cw.NaiveBayes().fit(rows, SPECIES), rows, SPECIES)).axes) == 4

    def test_too_many_to_show(self):
        rows, labels = load_breast_cancer(return_X_y=True)
        with pytest.raises(cw.ClasswiseError, match="30 columns have 435 pairs"):
            plot.plot_pairs(cw.LDA().fit(rows, labels), rows, labels)


OF_MODELS = ["regions", "pairs", "densities", "projection", "confusion", "reliability"]
OF_RESULTS = ["dials", "explanation", "reject_curve", "learning_curve", "check"]
OPTIONS = ["columns", "labels", "label", "measure", "at", "sample_weight", "axes", "title", "sigmas", "contours"]


class TestArguments:
    """All pictures take the same arguments under the same names, in the same order."""

    @pytest.mark.parametrize("name", OF_MODELS + OF_RESULTS)
    def test_names_and_order(self, name):
        parameters = signature(getattr(plot, f"plot_{name}")).parameters.values()
        places = [p.name for p in parameters if p.kind is Parameter.POSITIONAL_OR_KEYWORD]
        assert places == (["model", "X", "y"] if name in OF_MODELS else places[:1])
        named = [p.name for p in parameters if p.kind is Parameter.KEYWORD_ONLY]
        assert named == [name for name in OPTIONS if name in named]
        assert "title" in named

    @pytest.mark.parametrize("name", OF_MODELS)
    def test_titles(self, name):
        m, rows = cw.LDA().fit(MIXED[NUMBERS].dropna(), SPECIES[MIXED[NUMBERS].notna().all(axis=1)]), MIXED[NUMBERS]
        made = drawn(getattr(plot, f"plot_{name}")(m, rows.fillna(rows.mean()), SPECIES, title="Penguins"))
        if name == "pairs":
            assert made.get_suptitle() == "Penguins"
        else:
            axes = made.axes[0] if name == "densities" else made
            assert "Penguins" in {axes.get_title(place) for place in ("left", "center")}

    def test_a_title_is_above_the_legend(self, qda):
        axes = drawn(plot.plot_regions(qda, MIXED, SPECIES, title="Penguins"))
        above = next(text for text in axes.findobj(Text) if text.get_text() == "Penguins")
        assert above.get_window_extent().y0 >= axes.get_legend().get_window_extent().y1 - 1

    def test_weights(self):
        m, weights = cw.LDA().fit(X, y), np.where(y == 0, 3.0, 1.0)
        axes = drawn(plot.plot_confusion(m, X, y, sample_weight=weights))
        assert axes.get_title() == plot.plot_confusion(m.evaluate(X, y, weights)).get_title()
        assert "of 250 rows" in axes.get_title()
        other = LogisticRegression(max_iter=1000).fit(X, y)
        assert "of 250 rows" in plot.plot_confusion(other, X, y, sample_weight=weights).get_title()

    def test_pairs_in_axes_of_ones_own(self, mixed):
        figure, panels = mpl.pyplot.subplots(2, 2)
        assert plot.plot_pairs(mixed, MIXED, SPECIES, columns=PAIR, axes=panels) is figure
        with pytest.raises(cw.ClasswiseError, match=r"axes has shape \(2,\), and 2 columns take \(2, 2\)"):
            plot.plot_pairs(mixed, MIXED, SPECIES, columns=PAIR, axes=panels[0])

    def test_what_is_no_rows(self, mixed):
        with pytest.raises(cw.ClasswiseError, match="name the column by columns='sex'"):
            plot.plot_densities(mixed, "sex")
        with pytest.raises(cw.ClasswiseError, match="takes rows X and labels y"):
            plot.plot_confusion(mixed)


def test_nullable_numbers_and_gaps(qda):
    rows = MIXED[NUMBERS].astype("Float64")
    assert isinstance(rows, pd.DataFrame)
    drawn(plot.plot_regions(qda, rows, SPECIES))
    drawn(plot.plot_densities(qda, rows, SPECIES, columns=0))


def test_without_matplotlib(monkeypatch, qda):
    choice = SimpleNamespace(shares=(0, 1), shrinks=(0, 1), log_loss=np.ones((2, 2)), best=(1, 1))
    for name in ("matplotlib", "matplotlib.pyplot", "matplotlib.colors"):
        monkeypatch.setitem(sys.modules, name, None)
    for draw in (
        lambda: plot.plot_regions(qda),
        lambda: plot.plot_dials(choice),
        lambda: plot.plot_densities(qda, columns=0),
    ):
        with pytest.raises(cw.MissingExtraError, match="pip install"):
            draw()
