"""Curves f = 0 in a box: every point on the curve and no branch missed, however near one kind is to another."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import cKDTree

import classwise as cw
from classwise.classifier.boundary import Boundary

FORMS = ("ellipse", "hyperbola", "parabola", "parallel", "crossing", "line", "any")


def normal_form(form, rng):
    """Curvatures, slope and constant in white coordinates; the second curvature and the constant may be tiny."""
    small, level = 10.0 ** rng.uniform(-8, 0), 10.0 ** rng.uniform(-9, 1)
    slope = 10.0 ** rng.uniform(-6, 1)
    return {
        "ellipse": ([1, small], 0, -level),
        "hyperbola": ([1, -small], 0, rng.choice([-1, 1]) * level),
        "parabola": ([1, 0], slope, 0),
        "parallel": ([1, 0], 0, -level),
        "crossing": ([1, -small], 0, 0),
        "line": ([0, 0], slope, 0),
        "any": ([rng.normal(), rng.normal() * small], 0, rng.normal()),
    }[form]


def random_boundary(form, seed):
    """A curve of a form, turned, sheared, in other units, multiplied, far from zero; and a box with some of it."""
    rng = np.random.default_rng(seed)
    curvatures, slope, constant = normal_form(form, rng)
    turn = np.linalg.qr(rng.normal(size=(2, 2)))[0]
    middle = rng.normal(size=2) * rng.choice([1, 3, 100])
    M = turn @ np.diag(curvatures) @ turn.T
    v, c = slope * turn[:, 1] - 2 * M @ middle, middle @ M @ middle + constant - slope * turn[:, 1] @ middle
    mix = rng.normal(size=(2, 2))
    root = np.linalg.cholesky(mix @ mix.T + 1e-3 * np.eye(2)) * (10.0 ** rng.integers(-3, 4, size=(2, 1)))
    back, power = np.linalg.inv(root), 10.0 ** rng.uniform(-3, 3)
    W = power * back.T @ M @ back
    center = rng.choice([0, 1, 1e3, 1e6, 1e8]) * rng.normal(size=2)
    f = Boundary(center, (W + W.T) / 2, power * back.T @ v, power * c, root @ root.T, ("x", "y"))
    half = f.deviations * rng.uniform(1, 8)
    near = center + root @ rng.normal(size=2) * rng.choice([0, 1, 3])
    return f, np.column_stack([near - half, near + half])


def distances(f, points):
    """How far points lie from the curve at least, in standard deviations, beyond what rounding does.

    |f| / |∇f|, or where the curve turns sharply sqrt(|f| / curvature).
    """
    away = points - f.center
    slopes = 2 * away @ f.W + f.linear
    terms = np.abs(away @ f.W * away).sum(axis=1) + np.abs(away * f.linear).sum(axis=1) + abs(f.constant)
    digit = np.spacing(np.abs(points).max(axis=0))  # no point lies between numbers
    rounding = 2 * (np.abs(slopes) @ digit + digit @ np.abs(f.W) @ digit) + 128 * np.finfo(float).eps * terms
    left = np.maximum(np.abs(f(points)) - rounding, 0)
    root = np.linalg.cholesky(f.covariance)
    steep = np.linalg.norm(slopes @ root, axis=1)
    curvature = np.abs(np.linalg.eigvalsh(root.T @ f.W @ root)).max()
    return np.minimum(left / np.maximum(steep, 1e-300), np.sqrt(left / max(curvature, 1e-300)))


def crossings_of_a_grid(f, box, count=150):
    """Where f changes its sign between neighbors on a grid; and the size of a cell."""
    axes = [np.linspace(*side, count) for side in box]
    x, y = np.meshgrid(*axes, indexing="ij")
    sign = f(np.column_stack([x.ravel(), y.ravel()])).reshape(x.shape) > 0
    flips = (sign[1:, :-1] != sign[:-1, :-1]) | (sign[:-1, 1:] != sign[:-1, :-1])
    return np.column_stack([x[:-1, :-1][flips], y[:-1, :-1][flips]]), np.array([a[1] - a[0] for a in axes])


def filled(piece):
    """The points of a line drawn from point to point."""
    steps = np.linspace(0, 1, 4)[None, :, None]
    return (piece[:-1, None] + (piece[1:] - piece[:-1])[:, None] * steps).reshape(-1, 2) if len(piece) > 1 else piece


def check(f, box, count=600):
    pieces = f.curve(box, count)
    low, high = np.asarray(box).T
    for piece in pieces:
        assert distances(f, piece).max() < 1e-6
        assert ((piece >= low) & (piece <= high)).all()
    cells, size = crossings_of_a_grid(f, box)
    if len(cells):
        drawn = cKDTree(np.concatenate([filled(piece) for piece in pieces]) / size)
        away, _ = drawn.query(cells / size, p=np.inf)
        assert away.max() < 6
    return pieces


@pytest.mark.parametrize("form", FORMS)
@given(seed=st.integers(0, 10**9))
@settings(max_examples=30)
def test_points_lie_on_the_curve_and_no_branch_is_missed(form, seed):
    check(*random_boundary(form, seed))


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_of_very_many(form):
    for seed in range(300):
        check(*random_boundary(form, seed), 400)


@pytest.mark.parametrize("bend", [0.0, 1e-13, 1e-11, 1e-10, 1e-9, 1e-8, 1e-6, 1e-3])
@pytest.mark.parametrize("sign", [1, -1])
def test_from_parallel_lines_through_all_that_look_like_them(bend, sign):
    """x² + bend y² = 1: two lines, or an ellipse or hyperbola whose ends are out of sight."""
    f = Boundary(np.zeros(2), np.diag([1.0, sign * bend]), np.zeros(2), -1.0, np.eye(2), ("x", "y"))
    pieces = check(f, ((-3, 3), (-3, 3)))
    assert len(pieces) == 2
    for piece in pieces:
        np.testing.assert_allclose(piece[:, 0] ** 2, 1 - sign * bend * piece[:, 1] ** 2, atol=1e-14)


@pytest.mark.parametrize("gap", [0.0, 1e-15, 1e-12, 1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize("turn", [0.0, 0.3, np.pi / 4])
def test_from_crossing_lines_through_hyperbolas(gap, turn):
    axes = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    f = Boundary(np.zeros(2), axes @ np.diag([1.0, -2.0]) @ axes.T, np.zeros(2), -gap, np.eye(2), ("x", "y"))
    assert len(check(f, ((-3, 3), (-2, 2)))) == 2
    assert len(check(f, ((-3, 3), (0.5, 2)))) == 2


@pytest.mark.parametrize("slope", [0.0, 1e-12, 1e-9, 1e-6, 1e-3, 1.0, 1e3])
def test_from_parallel_lines_through_parabolas_to_a_line(slope):
    f = Boundary(np.zeros(2), np.diag([1.0, 0.0]), np.array([0.0, slope]), -1.0, np.eye(2), ("x", "y"))
    pieces = check(f, ((-3, 3), (-3, 3)))
    assert len(pieces) == (2 if slope < 0.3 else 1)


@pytest.mark.parametrize("radius", [1e-5, 1e-3, 0.1, 1.0])
@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_small_circles_are_seen_where_a_grid_sees_nothing(radius, offset):
    center = np.array([0.3, -0.7])
    f = Boundary(np.zeros(2), np.eye(2), -2 * center, center @ center - radius**2, np.eye(2), ("x", "y")).about(center)
    f = Boundary(center + offset, f.quadratic, f.linear, f.constant, f.covariance, f.names)
    (piece,) = f.curve(((offset - 3, offset + 3), (offset - 3, offset + 3)), 100)
    np.testing.assert_allclose(np.hypot(*(piece - center - offset).T), radius, atol=1e-10)
    np.testing.assert_allclose(piece[0], piece[-1], atol=1e-10)
    turns = np.unwrap(np.arctan2(*(piece - center - offset).T[::-1]))
    assert abs(abs(turns[-1] - turns[0]) - 2 * np.pi) < 1e-3  # all the way round


def test_a_doubled_line_is_drawn_once():
    f = Boundary(np.zeros(2), np.array([[1.0, 2.0], [2.0, 4.0]]), np.array([-2.0, -4.0]), 1.0, np.eye(2), ("x", "y"))
    assert f.kind == "line"
    (piece,) = f.curve(((-3, 3), (-3, 3)))
    np.testing.assert_allclose(piece @ [1, 2], 1, atol=1e-7)
    np.testing.assert_allclose(np.sort(piece[[0, -1], 0]), [-3, 3], atol=1e-7)


def test_lines_that_cross_go_straight_on():
    f = Boundary(np.zeros(2), np.array([[0.0, 0.5], [0.5, 0.0]]), np.zeros(2), 0.0, np.eye(2), ("x", "y"))
    assert f.kind == "pair of lines"
    for piece in f.curve(((-1, 2), (-1, 2)), 31):
        assert np.abs(piece).min(axis=1).max() < 1e-12
        assert np.ptp(piece, axis=0).min() < 1e-12


@pytest.mark.parametrize("model", [cw.QDA(), cw.LDA(), cw.NaiveBayes(), cw.QDA(structure="spherical")], ids=str)
@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_of_models_the_two_classes_are_equally_probable_there(model, offset):
    rng = np.random.default_rng(4)
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 2)) * np.array([1.0, 2.0, 0.5])[y][:, None] + 2 * rng.normal(size=(3, 2))[y] + offset
    m = model.fit(X, y)
    box = np.column_stack([X.min(axis=0), X.max(axis=0)])
    for pair in ((0, 1), (0, 2), (1, 2)):
        pieces = check(m.boundary(*pair), box)
        assert pieces
        log_joint = m.log_joint(np.concatenate(pieces))[:, pair]
        np.testing.assert_allclose(log_joint[:, 0], log_joint[:, 1], atol=1e-6 if offset else 1e-9)
