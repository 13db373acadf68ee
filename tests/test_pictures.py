"""Pictures of every kind of column and decision: exact boundaries, strips, what is refused; in dark and light."""

import io

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_hex, to_rgb
from matplotlib.patches import Rectangle
from palmerpenguins import load_penguins
from scipy import stats
from sklearn.linear_model import LogisticRegression

import classwise as cw
from classwise import plot
from classwise.plot.borders import bisect, change_points
from classwise.plot.canvas import CYCLE, GRAY, contrast, contrasting, toned
from classwise.plot.view import look

mpl.use("Agg")

PENGUINS = load_penguins().drop(columns="year")
SPECIES = PENGUINS.pop("species")
PAIR = ("bill_length_mm", "body_mass_g")
COMPLETE = PENGUINS.dropna()
KNOWN = SPECIES[COMPLETE.index]


@pytest.fixture(autouse=True)
def _close():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def mixed():
    return cw.NaiveBayes().fit(PENGUINS, SPECIES)


@pytest.fixture(scope="module")
def qda():
    return cw.QDA().fit(COMPLETE[["bill_length_mm", "bill_depth_mm", "body_mass_g"]], KNOWN)


@pytest.fixture(scope="module")
def lda():
    return cw.LDA().fit(PENGUINS, SPECIES)


@pytest.fixture(scope="module")
def decision():
    return cw.Decision(cw.QDA(), reject=0.1, novelty=0.05).fit(COMPLETE[list(PAIR)], KNOWN)


def drawn(picture):
    figure = picture if hasattr(picture, "savefig") else picture.get_figure()
    figure.savefig(io.BytesIO())
    return picture


def visits(seed=0, count=300):
    """Counts beside a number, in two classes."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(["calm", "busy"], count // 2)
    busy = labels == "busy"
    rows = {"visits": rng.poisson(np.where(busy, 6, 2)), "wins": rng.binomial(9, np.where(busy, 0.6, 0.3))}
    return pd.DataFrame(rows | {"length": rng.normal(busy.astype(float), 1)}), labels


VISITS, MOOD = visits()
COUNTS = {"visits": "poisson", "wins": "binomial(9)"}


def boundary_points(axes):
    """The points of the lines in the color of text: boundaries."""
    ink = mpl.rcParams["text.color"]
    points = np.vstack([line.get_xydata() for line in axes.lines if line.get_color() == ink])
    return points[np.isfinite(points).all(axis=1)]


def distances(view, points):
    """How far points are from where the two best classes tie, |f| / |f'|, in units of each column's range."""
    scale = 1e-5 * np.ptp(points, axis=0)
    two = np.sort(view.scores(points), axis=0)[-2:]
    order = np.argsort(view.scores(points), axis=0)[-2:]

    def odds(at):
        scores = view.scores(at)
        return np.take_along_axis(scores, order[:1], 0)[0] - np.take_along_axis(scores, order[1:], 0)[0]

    slopes = [(odds(points + step) - odds(points - step)) / 2 for step in np.diag(scale)]
    return np.abs(two[1] - two[0]) / np.sqrt(np.square(slopes).sum(axis=0)) * 1e-5


class TestExactBoundaries:
    @pytest.mark.parametrize(
        ("model", "columns", "at"),
        [
            (cw.QDA(), PAIR, None),
            (cw.LDA(), PAIR, None),
            (cw.LDA(), PAIR, {"sex": "male", "island": "Dream"}),
            (cw.QDA(), PAIR, {"flipper_length_mm": 190, "sex": "female"}),
            (cw.RDA(share=0.5, shrink=0.1), PAIR, {"bill_depth_mm": 17}),
            (cw.NaiveBayes(), PAIR, {"island": "Biscoe"}),
            (cw.NaiveBayes(missing="level"), PAIR, {"sex": "male"}),
            (cw.LDA(calibrate="temperature", folds=3), PAIR, {"sex": "male"}),
        ],
        ids=str,
    )
    def test_whatever_the_other_columns_are(self, model, columns, at):
        m = model.fit(PENGUINS, SPECIES)
        view = look(m, columns, at, 2)
        assert view.polynomials is not None
        points = boundary_points(plot.plot_regions(m, columns=columns, at=at))
        assert len(points) > 200
        assert distances(view, points).max() < 1e-9
        assert (distances(view, points)[:, None] * np.ptp(points, axis=0)).max() < 1e-6  # in the units of the columns

    @pytest.mark.parametrize(
        "model",
        [
            cw.QDA(estimate="bayes"),
            cw.NaiveBayes(estimate="bayes"),
            cw.NaiveBayes(families={"bill_length_mm": "lognormal"}),
            cw.Decision(cw.LDA(), costs={"Adelie": {"Chinstrap": 5}}),
        ],
        ids=str,
    )
    def test_by_bisection_where_there_are_no_polynomials(self, model):
        m = model.fit(PENGUINS, SPECIES)
        points = boundary_points(plot.plot_regions(m, columns=PAIR))
        assert len(points) > 200
        assert distances(look(m, PAIR, None, 2), points).max() < 1e-8

    def test_polynomials_are_the_log_odds(self):
        m = cw.NaiveBayes(families=COUNTS).fit(VISITS, MOOD)
        cases = ((("visits", "length"), {"wins": 4}), (("visits", "wins"), None), (("wins", "length"), None))
        for columns, at in cases:
            view = look(m, columns, at, 2)
            points = np.column_stack([np.arange(8), np.arange(8)[::-1]]).astype(float)
            exact = view.classifier.decision_scores(view.rows(points))
            made = np.stack([g(points) for g in view.polynomials])
            np.testing.assert_allclose(made[1] - made[0], exact[1] - exact[0], rtol=1e-9, atol=1e-12)

    def test_one_column_beside_categories(self):
        m = cw.LDA().fit(PENGUINS, SPECIES)
        view = look(m, "body_mass_g", {"island": "Dream"}, 1)
        points = np.linspace(2500, 6500, 50)[:, None]
        exact, made = (
            view.classifier.decision_scores(view.rows(points)),
            np.stack([g(points) for g in view.polynomials]),
        )
        np.testing.assert_allclose(made - made[0], exact - exact[0], atol=1e-9)

    def test_counts_have_lines(self):
        m = cw.NaiveBayes(families=COUNTS).fit(VISITS, MOOD)
        axes = drawn(plot.plot_regions(m, VISITS, MOOD, columns=("visits", "wins")))
        points = boundary_points(axes)
        slope, constant = np.polyfit(*points.T, 1)
        np.testing.assert_allclose(points @ [-slope, 1], constant, atol=1e-9)

    def test_a_count_that_rules_a_class_out(self):
        rows = np.array([[0.0, 1], [0, 2], [0, 3], [2, 2], [3, 4], [1, 5]])
        m = cw.NaiveBayes(families={0: "poisson"}, smoothing=0).fit(rows, [0, 0, 0, 1, 1, 1])
        assert look(m, (0, 1), None, 2).polynomials is None
        drawn(plot.plot_regions(m, rows, [0, 0, 0, 1, 1, 1]))

    def test_no_polynomials_of_student_t(self):
        m = cw.QDA(estimate="bayes").fit(COMPLETE, KNOWN)
        assert look(m, PAIR, None, 2).polynomials is None


class TestBorders:
    def test_bisection(self):
        found = bisect(lambda points: points @ [1, 1] < 1, np.zeros((3, 2)), np.array([[1.0, 1], [2, 0], [0, 5]]))
        np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-12)

    def test_changes(self):
        found = change_points(lambda points: np.digitize(points[:, 0], [0.1234, 2.5]), np.linspace(0, 3, 20))
        np.testing.assert_allclose(found, [0.1234, 2.5], atol=1e-12)


class TestContours:
    def test_posteriors(self):
        m = cw.QDA().fit(COMPLETE[list(PAIR)], KNOWN)
        axes = drawn(plot.plot_regions(m, contours=[0.9], sigmas=()))
        lines = [c for c in axes.collections if hasattr(c, "levels") and len(c.levels) == 1 and not c.filled]
        assert len(lines) == 3
        for k, line in enumerate(lines):
            points = np.vstack([path.vertices for path in line.get_paths()])
            sure = m.predict_proba(pd.DataFrame(points, columns=list(PAIR)))[:, k]
            np.testing.assert_allclose(sure, 0.9, atol=0.005)
            assert to_hex(line.get_edgecolor()[0]).upper() == CYCLE[k]

    def test_usual_levels(self):
        m = cw.LDA().fit(COMPLETE, KNOWN)
        assert {text.get_text() for text in plot.plot_regions(m, columns=PAIR, contours=True).texts} == {
            "0.75",
            "0.9",
            "0.99",
        }

    def test_wrong_levels(self):
        with pytest.raises(cw.ClasswiseError, match="between 0 and 1"):
            plot.plot_regions(cw.LDA().fit(COMPLETE, KNOWN), contours=[90])

    def test_lines_around_the_densest_parts_hold_what_ellipses_hold(self):
        families = {"bill_length_mm": "lognormal", "body_mass_g": "lognormal"}
        m = cw.NaiveBayes(families=families).fit(COMPLETE[list(PAIR)], KNOWN)
        axes = drawn(plot.plot_regions(m, sigmas=(1, 2)))
        lines = [c for c in axes.collections if hasattr(c, "levels") and len(c.levels) == 1 and not c.filled]
        drawn_rows, labels = m.sample(20000, random_state=1)
        assert len(lines) == 6
        for line, label, sigma in zip(lines, np.repeat(m.classes_, 2), [1, 2] * 3, strict=True):
            (path,) = line.get_paths()
            inside = path.contains_points(drawn_rows.to_numpy()[labels == label])
            assert inside.mean() == pytest.approx(1 - np.exp(-(sigma**2) / 2), abs=0.03)


class TestRefused:
    def test_borders_are_where_the_decision_changes(self, decision):
        axes = drawn(plot.plot_regions(decision, COMPLETE, KNOWN))
        points = np.vstack([line.get_xydata() for line in axes.lines if line.get_color() == GRAY])
        frame = pd.DataFrame(points[np.isfinite(points).all(axis=1)], columns=list(PAIR))
        sure = decision.predict_proba(frame).max(axis=1)
        evidence = decision.model_.log_evidence(frame)
        assert np.minimum(np.abs(sure - 0.9), np.abs(evidence - decision.threshold_)).max() < 1e-4
        assert (np.abs(sure - 0.9) < 1e-9).sum() > 200  # bisected to the end

    def test_legend_and_hatches(self, decision):
        axes = plot.plot_regions(decision)
        names = [text.get_text() for text in axes.get_legend().get_texts()]
        assert names == ["Adelie", "Chinstrap", "Gentoo", "reject", "novel"]
        hatches = [handle.get_hatch() for handle in axes.get_legend().legend_handles[3:]]
        assert hatches == ["////", "...."]
        assert [c.hatches for c in axes.collections if getattr(c, "hatches", [None])[0]] == [["////"], ["...."]]

    def test_answers_are_those_of_the_decision(self, decision):
        view = look(decision, None, None, 2)
        points = np.random.default_rng(0).uniform([30, 2500], [60, 6500], (400, 2))
        names = np.array(["Adelie", "Chinstrap", "Gentoo", "reject", "novel"])
        expected = decision.predict(pd.DataFrame(points, columns=list(PAIR)))
        np.testing.assert_array_equal(names[view.answers(points)], expected.astype(str))

    def test_two_columns_of_four(self):
        d = cw.Decision(cw.QDA(), reject={"posterior": 0.95}, novelty=0.02).fit(COMPLETE, KNOWN)
        axes = drawn(plot.plot_regions(d, COMPLETE, KNOWN, columns=PAIR))
        assert "novel" in [text.get_text() for text in axes.get_legend().get_texts()]
        points = np.random.default_rng(0).uniform([30, 2500], [60, 6500], (200, 2))
        rows = COMPLETE.iloc[[0] * 200].astype(object).reset_index(drop=True)
        rows.loc[:, :] = None
        rows[list(PAIR)] = points
        names = np.array([*d.classes_, "reject", "novel"])
        expected = d.predict(rows.astype({name: float for name in COMPLETE.columns if name.endswith(("_mm", "_g"))}))
        np.testing.assert_array_equal(names[look(d, PAIR, None, 2).answers(points)], expected.astype(str))

    def test_novelty_is_not_told_of_models_that_take_whole_rows_only(self):
        d = cw.Decision(cw.QDA(missing="error"), reject=0.1, novelty=0.05).fit(COMPLETE, KNOWN)
        axes = drawn(plot.plot_regions(d, columns=PAIR))
        assert [text.get_text() for text in axes.get_legend().get_texts()][3:] == ["reject"]
        assert "whole rows" in axes.texts[0].get_text()

    def test_costs_move_boundaries(self):
        rows, labels = COMPLETE[list(PAIR)], KNOWN
        d = cw.Decision(cw.LDA(), costs={"Adelie": {"Chinstrap": 20}}).fit(rows, labels)
        points = boundary_points(plot.plot_regions(d))
        costs = np.sort(d.expected_costs(pd.DataFrame(points, columns=list(PAIR))), axis=1)
        np.testing.assert_allclose(costs[:, 0], costs[:, 1], rtol=1e-6)

    def test_strips(self):
        d = cw.Decision(cw.NaiveBayes(), reject=0.2).fit(COMPLETE, KNOWN)
        axes = drawn(plot.plot_regions(d, COMPLETE, KNOWN, columns=("body_mass_g", "island")))
        assert any(patch.get_hatch() == "////" for patch in axes.patches)

    def test_a_fitted_model_will_do(self):
        m = cw.LDA().fit(COMPLETE, KNOWN)
        assert drawn(plot.plot_regions(cw.Decision(m, reject=0.3), columns=PAIR)).get_legend() is not None


class TestStrips:
    def pieces(self, axes):
        return [patch for patch in axes.patches if isinstance(patch, Rectangle) and patch.get_fill()]

    @pytest.mark.parametrize("columns", [("bill_depth_mm", "island"), ("sex", "body_mass_g")])
    def test_pieces_are_decisions(self, mixed, columns):
        axes = drawn(plot.plot_regions(mixed, PENGUINS, SPECIES, columns=columns))
        pieces = self.pieces(axes)
        centers = np.array([p.get_center() for p in pieces])
        view = look(mixed, columns, None, 2)
        colors = [to_hex(patch.get_facecolor()).upper() for patch in pieces]
        assert colors == [CYCLE[k] for k in view.scores(centers).argmax(axis=0)]

    def test_ends_are_exact(self, mixed):
        axes = plot.plot_regions(mixed, columns=("bill_depth_mm", "island"))
        view = look(mixed, ("bill_depth_mm", "island"), None, 2)
        low = axes.get_xlim()[0]
        ends = [(p.get_x(), round(p.get_center()[1])) for p in self.pieces(axes) if p.get_x() > low + 1e-9]
        assert len(ends) >= 3
        two = np.sort(view.scores(np.array(ends)), axis=0)[-2:]
        np.testing.assert_allclose(two[0], two[1], atol=1e-9)

    def test_levels_are_named_and_rows_stay_in_their_strip(self, mixed):
        axes = drawn(plot.plot_regions(mixed, PENGUINS, SPECIES, columns=("bill_depth_mm", "island")))
        assert [label.get_text() for label in axes.get_yticklabels()] == ["Biscoe", "Dream", "Torgersen"]
        gentoo = np.asarray(axes.collections[2].get_offsets())
        assert np.abs(gentoo[:, 1]).max() < 0.31  # all Gentoo live on Biscoe, which stands at 0

    def test_tiles(self, mixed):
        axes = drawn(plot.plot_regions(mixed, columns=("island", "sex")))
        assert len(self.pieces(axes)) == 6
        rows = COMPLETE.iloc[[0]].assign(island="Torgersen", sex="male").astype(object)
        rows.loc[:, [*rows.columns.drop(["island", "sex"])]] = None
        sure = cw.NaiveBayes().fit(PENGUINS[["island", "sex"]], SPECIES).predict_proba(rows[["island", "sex"]]).max()
        assert f"{100 * sure:.0f} %" in [text.get_text() for text in axes.texts]

    def test_levels_never_seen_are_not_shown(self, mixed):
        other = PENGUINS.assign(island="Elsewhere")
        axes = drawn(plot.plot_regions(mixed, other, SPECIES, columns=("bill_depth_mm", "island")))
        shown = np.vstack([np.asarray(c.get_offsets()) for c in axes.collections])
        assert np.isnan(shown[:, 1]).all()


class TestBars:
    @pytest.fixture
    def panels(self, mixed):
        return mixed, drawn(plot.plot_densities(mixed, PENGUINS, SPECIES, columns="island")).axes

    def test_heights(self, panels):
        m, (above, _) = panels
        for k, bars in enumerate(above.containers):
            expected = [m.priors_[k] * m.parameters_["island"][level][k] for level in ("Biscoe", "Dream", "Torgersen")]
            np.testing.assert_allclose([bar.get_height() for bar in bars], expected)

    def test_posteriors_add_up(self, panels):
        _, (_, below) = panels
        heights = np.array([[bar.get_height() for bar in bars] for bars in below.containers])
        np.testing.assert_allclose(heights.sum(axis=0), 1)
        assert [label.get_text() for label in below.get_xticklabels()] == ["Biscoe", "Dream", "Torgersen"]

    def test_dots_are_shares_of_rows(self, panels):
        _, (above, _) = panels
        shares = pd.crosstab(SPECIES, PENGUINS["island"]) / len(SPECIES)
        np.testing.assert_allclose([line.get_ydata() for line in above.lines], shares.to_numpy())

    def test_without_rows_or_labels(self):
        m = cw.NaiveBayes().fit(PENGUINS, SPECIES)
        assert not drawn(plot.plot_densities(m, columns="sex")).axes[0].lines
        assert len(drawn(plot.plot_densities(m, PENGUINS, columns="sex")).axes[0].lines) == 1

    def test_one_level_held(self):
        m = cw.NaiveBayes().fit(PENGUINS, SPECIES)
        above, below = drawn(plot.plot_densities(m, columns="body_mass_g", at={"island": "Torgersen"})).axes
        grid, heights = above.lines[0].get_data()
        expected = m.priors_[0] * m.parameters_["island"]["Torgersen"][0]
        assert np.trapezoid(heights, grid) == pytest.approx(expected, rel=0.01)
        rows = pd.DataFrame({"island": "Torgersen", "body_mass_g": grid[::100]})
        pair = cw.NaiveBayes().fit(PENGUINS[["island", "body_mass_g"]], SPECIES)
        np.testing.assert_allclose(below.lines[0].get_ydata()[::100], pair.predict_proba(rows)[:, 0], atol=1e-9)


class TestReliability:
    def test_histogram_under_the_diagram(self):
        rows, labels = visits(1)
        m = cw.NaiveBayes().fit(VISITS, MOOD)
        axes = drawn(plot.plot_reliability(m, rows, labels))
        under = axes.get_figure().axes[1]
        (histogram,) = under.patches
        confidence = m.predict_proba(rows).max(axis=1)
        expected = np.histogram(confidence, np.linspace(0, 1, 16))[0] / 3
        np.testing.assert_allclose(histogram.get_data().values, expected)
        curve = m.evaluate(rows, labels).reliability()
        np.testing.assert_allclose(axes.lines[1].get_ydata(), curve.observed)
        assert under.get_xlabel() == "predicted probability of the class decided for"

    def test_scikit_learn_and_several(self):
        rows, labels = visits(1)
        models = {"LDA": cw.LDA().fit(VISITS, MOOD), "softmax": LogisticRegression().fit(VISITS, MOOD)}
        axes = drawn(plot.plot_reliability(models, rows, labels, label="busy"))
        assert [text.get_text() for text in axes.get_legend().get_texts()] == ["LDA", "softmax"]
        posterior = models["softmax"].predict_proba(rows)[:, 0]
        heights = axes.get_figure().axes[1].patches[1].get_data().values
        np.testing.assert_allclose(heights, np.histogram(posterior, np.linspace(0, 1, 16))[0] / 3)

    def test_axes_given(self):
        m = cw.LDA().fit(VISITS, MOOD)
        figure, panels = pyplot.subplots(1, 2, layout="constrained")
        assert plot.plot_reliability(m, VISITS, MOOD, axes=panels[1]) is panels[1]
        assert len(figure.axes) == 3
        free = pyplot.figure().add_axes((0.2, 0.4, 0.7, 0.5))
        assert drawn(plot.plot_reliability(m, VISITS, MOOD, axes=free)) is free
        assert len(free.child_axes) == 1

    def test_unknown_labels(self):
        m = LogisticRegression().fit(VISITS, MOOD)
        with pytest.raises(cw.ClasswiseError, match="'odd', which is not a class"):
            plot.plot_reliability(m, VISITS, np.where(MOOD == "busy", "odd", MOOD))
        with pytest.raises(cw.ClasswiseError, match="'odd' is not a class"):
            plot.plot_reliability(m, VISITS, MOOD, label="odd")


class TestRendering:
    """What comes out as pixels."""

    @pytest.mark.parametrize("style", ["default", "dark_background"])
    def test_regions_have_the_color_of_the_decision(self, style):
        m = cw.QDA().fit(COMPLETE[list(PAIR)], KNOWN)
        with pyplot.style.context(style):
            axes = drawn(plot.plot_regions(m, sigmas=()))
            figure, canvas = axes.get_figure(), axes.get_figure().canvas
            canvas.draw()
            pixels = np.asarray(canvas.buffer_rgba())[:, :, :3] / 255
            box = np.array([axes.get_xlim(), axes.get_ylim()])
            points = np.random.default_rng(0).uniform(*box.T, (500, 2))
            places = np.round(axes.transData.transform(points)).astype(int)
            alpha = 0.16 if style == "default" else 0.3
            ground = np.array(to_rgb(axes.get_facecolor()))
            colors = [np.array(to_rgb(toned(color))) for color in CYCLE[:3]]
            tints = np.array([alpha * color + (1 - alpha) * ground for color in colors])
        found = pixels[figure.bbox.height.astype(int) - 1 - places[:, 1], places[:, 0]]
        apart = np.abs(found[:, None] - tints).max(axis=2)
        shown = apart.min(axis=1) < 0.01  # not on a line
        assert shown.mean() > 0.95
        expected = m.predict(pd.DataFrame(points, columns=list(PAIR)))
        assert (m.classes_[apart.argmin(axis=1)] == expected)[shown].mean() > 0.99


GALLERY = {
    "regions": lambda m: plot.plot_regions(m, PENGUINS, SPECIES, columns=PAIR, contours=True),
    "refused": lambda m: plot.plot_regions(cw.Decision(m, reject=0.1), PENGUINS, SPECIES, columns=PAIR),
    "strips": lambda m: plot.plot_regions(m, PENGUINS, SPECIES, columns=("body_mass_g", "island")),
    "tiles": lambda m: plot.plot_regions(m, columns=("island", "sex")),
    "pairs": lambda m: plot.plot_pairs(m, PENGUINS, SPECIES, columns=(*PAIR, "island")),
    "densities": lambda m: plot.plot_densities(m, PENGUINS, SPECIES, columns="body_mass_g"),
    "bars": lambda m: plot.plot_densities(m, PENGUINS, SPECIES, columns="island"),
    "projection": lambda m: plot.plot_projection(m, PENGUINS, SPECIES),
    "confusion": lambda m: plot.plot_confusion(m.evaluate(PENGUINS, SPECIES)),
    "reject curve": lambda m: plot.plot_reject_curve(m.reject_curve(PENGUINS, SPECIES)),
    "explanation": lambda m: plot.plot_explanation(m.explain(PENGUINS.iloc[[0]])),
    "dials": lambda m: plot.plot_dials(cw.RDA(folds=3).fit(COMPLETE[list(PAIR)], KNOWN)),
    "dial": lambda m: plot.plot_dials(cw.RDA(shrink=0.1, folds=3).fit(COMPLETE[list(PAIR)], KNOWN)),
    "reliability": lambda m: plot.plot_reliability({"one": m, "two": m}, PENGUINS, SPECIES),
    "comparison": lambda m: cw.compare(COMPLETE[list(PAIR)], KNOWN, folds=3, references=False).plot(),
    "learning": lambda m: cw.learning_curve(COMPLETE[list(PAIR)], KNOWN, repeats=2, sizes=[20, 200]).plot("error"),
    "check": lambda m: plot.plot_check(m.check(PENGUINS, SPECIES, draws=20)),
}


@pytest.mark.parametrize("style", ["default", "dark_background"])
@pytest.mark.parametrize("name", GALLERY)
def test_every_picture_reads_well(name, style, lda):
    """Text stands out from what is behind it, nothing is cut off, and no line has the color of the background."""
    with pyplot.style.context(style):
        picture = drawn(GALLERY[name](lda))
        figure = picture if hasattr(picture, "savefig") else picture.get_figure()
        ground, whole = figure.get_facecolor(), figure.bbox.padded(1)
        for text, is_on_color in shown_texts(figure, name):
            assert is_on_color or contrast(text.get_color(), ground) > 3, text
            box = text.get_window_extent()
            assert whole.contains(box.x0, box.y0), text
            assert whole.contains(box.x1, box.y1), text
        for axes in figure.axes:
            lines = [line for line in axes.lines if line.get_linestyle() != "None"]
            assert all(contrast(line.get_color(), ground) > 2 for line in lines)


def shown_texts(figure, name):
    """Every text that is drawn, and whether it stands on a color rather than on the background."""
    for axes in figure.axes:
        if not axes.axison:
            continue
        named = [axes.title, axes._left_title, axes._right_title, axes.xaxis.label, axes.yaxis.label]
        for axis in (axes.xaxis, axes.yaxis):
            low, high = np.sort(axis.get_view_interval())
            named += [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
        yield from ((text, False) for text in named if text.get_text() and text.get_visible())
        yield from ((text, name in ("confusion", "bars")) for text in axes.texts)
        if axes.get_legend() is not None:
            yield from ((text, False) for text in axes.get_legend().get_texts())
    yield from ((text, False) for legend in figure.legends for text in legend.get_texts())


def test_text_on_colors_stands_out():
    for style in ("default", "dark_background"):
        with pyplot.style.context(style):
            assert all(contrast(contrasting(color), color) > 4 for color in CYCLE)
            assert contrast(contrasting("#767676"), "#767676") > 4


def test_colors_can_be_told_apart_by_the_color_blind():
    """Under simulated red, green and blue blindness (Viénot 1999, for two kinds), no two class colors look the same."""
    matrices = {
        "protan": [[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]],
        "deutan": [[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]],
    }
    linear = np.array([to_rgb(color) for color in CYCLE]) ** 2.2
    for matrix in matrices.values():
        seen = np.clip(linear @ np.array(matrix).T, 0, 1) ** (1 / 2.2)
        apart = np.linalg.norm(seen[:, None] - seen[None], axis=2)
        assert apart[np.triu_indices(len(CYCLE), 1)].min() > 0.08


class TestGrid:
    def test_one_column(self, qda):
        grid = qda.density_grid("body_mass_g")
        for k in range(3):
            normal = stats.norm(qda.means_[k, 2], np.sqrt(qda.covariances_[k, 2, 2]))
            np.testing.assert_allclose(grid.density[k], normal.pdf(grid.values[0]))
        np.testing.assert_allclose(np.trapezoid(grid.density, grid.values[0]), 1, atol=0.01)
        np.testing.assert_allclose(grid.joint / grid.joint.sum(axis=0), grid.posterior)

    def test_two_columns(self, qda):
        grid = qda.density_grid(["body_mass_g", "bill_depth_mm"], X=COMPLETE)
        assert grid.names == ("body_mass_g", "bill_depth_mm")
        assert grid.density.shape == (3, 121, 121)
        i, j, places = 30, 80, [2, 1]
        normal = stats.multivariate_normal(qda.means_[0, places], qda.covariances_[0][np.ix_(places, places)])
        assert grid.density[0, i, j] == pytest.approx(normal.pdf([grid.values[0][j], grid.values[1][i]]))

    def test_values_and_slices(self, qda):
        grid = qda.density_grid({"body_mass_g": [4000, 5000]}, at={"bill_length_mm": 45})
        rows = pd.DataFrame({"bill_length_mm": 45.0, "bill_depth_mm": np.nan, "body_mass_g": [4000.0, 5000.0]})
        np.testing.assert_allclose(grid.log_density.T, qda.log_density(rows))
        np.testing.assert_allclose(grid.log_posterior.T, qda.predict_log_proba(rows))

    def test_categories_and_counts(self):
        m = cw.NaiveBayes(families=COUNTS).fit(VISITS.assign(day=np.where(VISITS["wins"] > 4, "sun", "rain")), MOOD)
        grid = m.density_grid("day")
        assert grid.values[0].tolist() == ["rain", "sun"]
        np.testing.assert_allclose(grid.density.sum(axis=1), 1)
        np.testing.assert_allclose(m.density_grid("wins").density.sum(axis=1), 1)
        both = m.density_grid({"day": ["sun"], "visits": [0, 1, 2]})
        assert both.density.shape == (2, 3, 1)

    def test_missing_as_a_level_says_nothing_here(self):
        m = cw.NaiveBayes(missing="level").fit(PENGUINS, SPECIES)
        np.testing.assert_allclose(m.density_grid("sex").density.sum(axis=1), 1)

    def test_wrong_columns(self, qda):
        for columns, message in (
            (["body_mass_g"] * 2, "2 different columns"),
            (["bill_length_mm", "bill_depth_mm", "body_mass_g"], "of one column, or of two"),
            ({"body_mass_g": [np.nan]}, "finite numbers"),
            ("mass", "not there"),
        ):
            with pytest.raises(cw.ClasswiseError, match=message):
                qda.density_grid(columns)
        with pytest.raises(cw.ClasswiseError, match="its levels are"):
            cw.NaiveBayes().fit(PENGUINS, SPECIES).density_grid({"sex": ["other"]})
