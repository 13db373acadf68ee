"""Small tables for teaching and testing: rows drawn from known distributions, and the Palmer penguins."""

import csv
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from classwise.arrays import Array, Codes, Labels
from classwise.errors import ClasswiseError, choose
from classwise.tabular import data_frame


class Classes(NamedTuple):
    """The Gaussians that rows are drawn from: means (g, p) and covariances (g, p, p)."""

    means: Array
    covariances: Array


def _two(second: list[float], first_covariance: list[float], second_covariance: list[float]) -> Classes:
    """Classes at the origin and at a second point, with variances along the axes."""
    covariances = np.stack([np.diag(first_covariance), np.diag(second_covariance)])
    return Classes(np.array([[0.0, 0.0], second]), covariances)


# Two classes of equal priors whose boundary is known.
BOUNDARIES = {
    "line": _two([3.0, 1.0], [1.0, 1.0], [1.0, 1.0]),
    "almost line": _two([4.0, 0.0], [1.0, 1.0], [1.05, 1.1]),
    "circle": _two([0.0, 0.0], [1.0, 1.0], [6.0, 6.0]),
    "ellipse": _two([1.0, 0.0], [1.0, 0.5], [4.0, 3.0]),
    "parabola": _two([2.0, 0.0], [1.0, 1.0], [1.0, 4.0]),
    "hyperbola": _two([1.0, 0.0], [1.0, 4.0], [4.0, 1.0]),
    "pair of lines": _two([0.0, 0.0], [1.0, 4.0], [4.0, 1.0]),
}


def banana(n: int = 400, random_state: Any = None, *, noise: float = 0.25) -> tuple[Array, Codes]:
    """Two interlocking half moons, which no Gaussian fits; X (n, 2) and y (n,).

    The points lie on two half circles of radius 1, one turned around and moved by (1, 0.5), with Gaussian noise.

    Parameters
    ----------
    n : int, default=400
        The number of rows; half of them in each class.
    random_state : int, RandomState or Generator, optional
        The seed of what is drawn at random.
    noise : float, default=0.25
        The standard deviation of the noise.

    Returns
    -------
    X, y
        Rows of shape (n, 2) and labels of shape (n,).

    Examples
    --------
    >>> X, y = banana(6, random_state=0)
    >>> X.shape, y.tolist()
    ((6, 2), [0, 0, 0, 1, 1, 1])
    """
    generator = np.random.default_rng(random_state)
    labels = np.arange(_count(n)) * 2 // max(n, 1)
    angles = generator.uniform(0, np.pi, n)
    side = np.where(labels == 0, 1.0, -1.0)
    rows = np.column_stack([side * np.cos(angles) + labels, side * np.sin(angles) + 0.5 * labels])
    return rows + noise * generator.normal(size=rows.shape), labels


def gaussians(
    n: int = 400, means: Any = None, covariances: Any = None, priors: Any = None, random_state: Any = None
) -> tuple[Array, Codes]:
    """Rows drawn from Gaussian classes; X (n, p) and y (n,).

    Parameters
    ----------
    n : int, default=400
        The number of rows.
    means : array of shape (g, p), optional
        The class means.
    covariances : array or str, optional
        (g, p, p), one (p, p) for all classes, or the name of an example, which also sets the means. The
        examples are named after their boundary: "line", "almost line", "circle", "ellipse", "parabola",
        "hyperbola" and "pair of lines".
    priors : array of shape (g,), optional
        Equal by default.
    random_state : int, RandomState or Generator, optional
        The seed of what is drawn at random.

    Returns
    -------
    X, y
        Rows of shape (n, p) and labels of shape (n,).

    Examples
    --------
    >>> X, y = gaussians(300, covariances="circle", random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((300, 2), [0, 1])
    """
    if isinstance(covariances, str):
        means, covariances = choose("covariances", covariances, BOUNDARIES)
    centers = np.atleast_2d(np.asarray(means if means is not None else [[0.0, 0.0], [3.0, 0.0]], dtype=np.float64))
    count, features = centers.shape
    spread = np.asarray(np.eye(features) if covariances is None else covariances, dtype=np.float64)
    if spread.shape not in ((features, features), (count, features, features)):
        raise ClasswiseError(
            f"covariances has shape {spread.shape}, and means {centers.shape}: they do not go together."
        )
    generator = np.random.default_rng(random_state)
    labels = generator.choice(count, _count(n), p=priors)
    roots = np.linalg.cholesky(np.broadcast_to(spread, (count, features, features)))
    noise = generator.normal(size=(n, features))
    return centers[labels] + np.einsum("nij,nj->ni", roots[labels], noise), labels


def simplex(n: int = 1000, classes: int = 10, distance: float = 3.0, random_state: Any = None) -> tuple[Array, Codes]:
    """Many equidistant classes: spheres at the corners of a simplex; X (n, classes) and y (n,).

    Parameters
    ----------
    n : int, default=1000
        The number of rows.
    classes : int, default=10
        The number of classes, and of columns.
    distance : float, default=3.0
        The distance between any two class means.
    random_state : int, RandomState or Generator, optional
        The seed of what is drawn at random.

    Returns
    -------
    X, y
        Rows of shape (n, classes) and labels of shape (n,).

    Examples
    --------
    >>> X, y = simplex(50, classes=4, random_state=0)
    >>> X.shape
    (50, 4)
    """
    return gaussians(n, distance / np.sqrt(2) * np.eye(classes), random_state=random_state)


def petals() -> tuple[Array, Codes]:
    """Eight petal lengths of two classes, few enough to work by hand; X (8, 1) and y (8,).

    Returns
    -------
    X, y
        Rows of shape (8, 1) and labels of shape (8,).

    Examples
    --------
    >>> X, y = petals()
    >>> X[y == 1].ravel().tolist()
    [5.8, 6.7, 7.0]
    """
    lengths = [1.8, 2.1, 2.5, 3.2, 3.8, 5.8, 6.7, 7.0]
    return np.array(lengths)[:, None], np.array([0, 0, 0, 0, 0, 1, 1, 1])


def penguins(backend: str | None = None) -> tuple[Any, Labels]:
    """The penguins, ready to fit: X (344, 6), a table with text and missing values, and y (344,), the species.

    Parameters
    ----------
    backend : str, optional
        As in `load_penguins`.

    Returns
    -------
    X, y
        A table of shape (344, 6) and labels of shape (344,).

    Examples
    --------
    >>> X, y = penguins()
    >>> X.shape, sorted(set(y.tolist()))
    ((344, 6), ['Adelie', 'Chinstrap', 'Gentoo'])
    """
    columns = _penguin_columns()
    species, _ = columns.pop("species"), columns.pop("year")
    return data_frame(columns, backend), np.array(species, dtype=object)


def load_penguins(backend: str | None = None) -> Any:
    """344 penguins of three species, measured near Palmer Station, Antarctica: a table of 8 columns with text and gaps.

    The table comes with classwise (Horst, Hill and Gorman 2020, CC0; data/README.md names the source).

    Parameters
    ----------
    backend : str, optional
        The library of the table, "pandas", "polars" or "pyarrow"; by default the first one that is installed.

    Returns
    -------
    table of shape (344, 8)
        The penguins.

    Examples
    --------
    >>> load_penguins().columns.tolist()[:3]
    ['species', 'island', 'bill_length_mm']
    """
    return data_frame(_penguin_columns(), backend)


PENGUINS = Path(__file__).parent / "data" / "penguins.csv"

# The types of the columns that do not hold text.
PENGUIN_NUMBERS = {
    "bill_length_mm": float,
    "bill_depth_mm": float,
    "flipper_length_mm": float,
    "body_mass_g": float,
    "year": int,
}


def _penguin_columns() -> dict[str, list[Any]]:
    """Every column of the file, None where a cell is empty."""
    with PENGUINS.open(encoding="utf-8", newline="") as file:
        names, *rows = csv.reader(file)
    return {
        name: [PENGUIN_NUMBERS.get(name, str)(cell) if cell else None for cell in cells]
        for name, cells in zip(names, zip(*rows, strict=True), strict=True)
    }


def _count(n: Any) -> int:
    if not isinstance(n, (int, np.integer)) or isinstance(n, bool) or n < 0:
        raise ClasswiseError(f"n={n!r} is not a number of rows.")
    return int(n)
