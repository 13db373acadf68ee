"""Densities and posteriors on a grid of one or two columns, and how far a grid reaches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array, Labels
from classwise.classifier.column_view import (
    ColumnView,
    as_list,
    choose_columns,
    column_keys,
    find,
    read_model,
    refuse_posteriors,
)
from classwise.errors import ClasswiseError

# Points on each side, for two columns.
SIDE = 121


@dataclass(frozen=True, eq=False)
class DensityGrid:
    """p(x | k) and P(k | x) at every point of a grid.

    names: of the columns; values: along each of them, levels for a category. log_density, log_posterior: (g, m) for one
    column; (g, m1, m0) for two, with the first column along the last axis, as matplotlib's contour takes it. Where
    columns are held at values v, the density is that of the slice, p(x, v | k).
    """

    names: tuple[str, ...]
    values: tuple[NDArray[Any], ...]
    labels: Labels
    priors: Array
    log_density: Array
    log_posterior: Array

    @property
    def density(self) -> Array:
        """p(x | k)."""
        return np.exp(self.log_density)

    @property
    def joint(self) -> Array:
        """prior_k p(x | k)."""
        return self.density * self.priors.reshape(-1, *[1] * (self.log_density.ndim - 1))

    @property
    def posterior(self) -> Array:
        """P(k | x)."""
        return np.exp(self.log_posterior)


def density_grid(m: Any, columns: Any = None, at: Any = None, X: Any = None) -> DensityGrid:
    """The density and the posterior of each class on a grid of one or two columns of a model.

    Parameters
    ----------
    m : estimator
        A fitted estimator.
    columns : column, sequence or mapping, optional
        One or two, by name or position, or a mapping from column to the values wanted; by default the
        first column. All others are integrated out, or held at a value: at={column: value}.
    at : mapping from column to value, optional
        Values at which other columns are held.
    X : array or table of shape (n, p), optional
        Rows that the grid should cover, besides the model's own reach. A column of numbers is divided into
        1000 steps, or 120 if there are two columns; counts and categories have their own values.

    Returns
    -------
    DensityGrid
        The grid, with densities and posteriors.

    Examples
    --------
    >>> import classwise as cw
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> grid = density_grid(cw.QDA().fit(X, y), {2: [1.5, 5.0]})
    >>> grid.density.round(4)
    array([[2.2645, 0.    ],
           [0.    , 0.242 ],
           [0.    , 0.4383]])
    >>> grid.posterior.round(4)[:, 1]
    array([0.    , 0.3557, 0.6443])
    """
    keys = list(columns) if isinstance(columns, Mapping) else [None] if columns is None else as_list(columns)
    if len(keys) not in (1, 2):
        raise ClasswiseError(f"columns={columns!r}: a grid is of one column, or of two.")
    model, _ = read_model(m)
    view = ColumnView(model, *choose_columns(model, None if columns is None else keys, at, len(keys)))
    refuse_posteriors(view)
    given = _given(model, columns) if isinstance(columns, Mapping) else {}
    sides = grid_sides(view, None if X is None else view.values(X), ALONG if len(keys) == 1 else SIDE)
    axes = [given.get(j, side) for j, side in zip(view.free, sides, strict=True)]
    points = np.column_stack([part.ravel() for part in np.meshgrid(*axes)])
    rows, shape = view.rows(points), (-1, *[len(axis) for axis in axes[::-1]])
    return DensityGrid(
        tuple(view.names),
        tuple(_named(axis, levels) for axis, levels in zip(axes, view.levels, strict=True)),
        view.model.classes_,
        view.model.priors_,
        view.classifier.log_density(rows).reshape(shape),
        view.classifier.log_posterior(rows).reshape(shape),
    )


def _named(values: Array, levels: Labels | None) -> NDArray[Any]:
    return values if levels is None else levels[values.astype(np.intp)]


def _given(model: Any, columns: Mapping[Any, Any]) -> dict[int, Array]:
    """The values wanted of each column, by position; levels as their positions."""
    return {find(model, key, "columns"): _read(model, find(model, key, "columns"), v) for key, v in columns.items()}


def _read(model: Any, column: int, values: Any) -> Array:
    levels, name = model.model_.levels.get(column), column_keys(model)[column]
    if levels is not None:
        known = levels.tolist()
        unknown = [value for value in np.asarray(values, dtype=object).tolist() if value not in known]
        if unknown:
            raise ClasswiseError(f"columns asks for {name!r} at {unknown[0]!r}; its levels are {known}.")
        return np.array([known.index(value) for value in np.asarray(values, dtype=object).tolist()], dtype=np.float64)
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.ndim != 1 or not len(numbers) or not np.isfinite(numbers).all():
        raise ClasswiseError(f"columns asks for {name!r} at {values!r}; give a list of finite numbers.")
    return numbers


# How far a grid reaches -----------------------------------------------------------------------------------------------

# Ellipses are shown as far as this share of the rows' range beyond the rows.
FARTHEST = 0.4

# Points along one column.
ALONG = 1001


def find_box(view: ColumnView, points: Array | None, sigmas: Sequence[float]) -> Array:
    """(low, high) of each column: around the rows and the largest ellipses, unless these reach far beyond the rows.

    Levels of a category stand at 0, 1, 2, ..., half a unit apart from the edges.
    """
    low, high = _reach(view, sigmas)
    if points is not None and len(points):
        least, most = _range(points, low, high)
        beyond = FARTHEST * (most - least)
        low, high = np.clip(low, least - beyond, least), np.clip(high, most, most + beyond)
    margin = 0.04 * np.where(high > low, high - low, 1.0)
    positive = np.array([column.family.name == "lognormal" for column in view.columns])
    box = np.column_stack([low - np.where(positive, np.minimum(margin, low / 2), margin), high + margin])
    for i, levels in enumerate(view.levels):
        if levels is not None:
            box[i] = -0.5, len(levels) - 0.5
    return box


def _range(points: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """The smallest and largest value of each column; low and high if it has none."""
    none = np.isnan(points).all(axis=0)
    filled = np.where(none, 0.0, points)
    return np.where(none, low, np.nanmin(filled, axis=0)), np.where(none, high, np.nanmax(filled, axis=0))


def _reach(view: ColumnView, sigmas: Sequence[float]) -> tuple[Array, Array]:
    """Where the largest ellipses begin and end; without ellipses, rows drawn from the model."""
    ellipses = view.ellipses()
    if ellipses is None:
        drawn = view.drawn()
        return np.nanmin(drawn, axis=0), np.nanmax(drawn, axis=0)
    means, reach = ellipses[0], max(sigmas, default=3) * np.sqrt(ellipses[1].diagonal(axis1=1, axis2=2))
    return (means - reach).min(axis=0), (means + reach).max(axis=0)


def value_grid(view: ColumnView, values: Array | None) -> Array:
    """Values along one column; whole numbers for counts, the positions of levels for categories."""
    return grid_sides(view, values, ALONG)[0]


def grid_sides(view: ColumnView, points: Array | None, count: int) -> list[Array]:
    """The same for each free column; count: how many values a column of numbers gets."""
    box = find_box(view, points, (3,))
    whole = [levels is not None or count for levels, count in zip(view.levels, view.counts, strict=True)]
    return [
        np.arange(max(np.ceil(low), 0), np.floor(high) + 1) if is_whole else np.linspace(low, high, count)
        for (low, high), is_whole in zip(box, whole, strict=True)
    ]
