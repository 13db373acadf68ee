"""A model seen in some of its columns: the others are held at a value, or integrated out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np

from classwise.arrays import Array, Labels
from classwise.classifier import BayesClassifier
from classwise.densities import Block, Density, Gaussian, Observed, Presence, Product
from classwise.densities.density import Located
from classwise.errors import ClasswiseError
from classwise.plot.canvas import Style, class_styles
from classwise.schema import find_column

# Rows drawn from the model, to see how far it reaches where no rows are given.
DRAWN = 2000

# Families of columns whose values are whole numbers.
COUNTS = ("poisson", "binomial")


@dataclass(frozen=True, eq=False)
class View:
    """free: positions of the columns to look at; held: {position: value}; all others are integrated out."""

    model: Any
    free: tuple[int, ...]
    held: dict[int, float]

    @property
    def names(self) -> list[str]:
        """What axes call the free columns."""
        names = column_keys(self.model)
        return [name if isinstance(name := names[j], str) else f"x{name}" for j in self.free]

    @property
    def families(self) -> list[str]:
        """The families of the free columns."""
        return [list(self.model.families_.values())[j] for j in self.free]

    @property
    def styles(self) -> list[Style]:
        return class_styles(self.model.classes_.tolist())

    @cached_property
    def classifier(self) -> BayesClassifier:
        """Bayes' rule on the columns that are not integrated out; whether a value is missing says nothing here."""
        whole: BayesClassifier = self.model.classifier_
        seen = [*self.free, *self.held]
        blocks = tuple(Block(b.columns, _numbers(b.density)) for b in _blocks(whole) if np.isin(b.columns, seen).any())
        return replace(whole, density=Observed(Product(blocks)))

    def rows(self, points: Array) -> Array:
        """Points as rows of the model, NaN where a column is integrated out; (m, free) -> (m, p).

        Where a column is a count, its value is the nearest that can be.
        """
        rows = np.full((len(points), self.model.n_features_in_), np.nan)
        rows[:, list(self.held)] = list(self.held.values())
        rows[:, list(self.free)] = np.column_stack(
            [_suiting(values, family) for values, family in zip(points.T, self.families, strict=True)]
        )
        return rows

    def scores(self, points: Array) -> Array:
        """log P(k | x), up to a term that all classes share; (m, free) -> (g, m)."""
        return self.classifier.announced(self.rows(points))

    def ellipses(self) -> tuple[Array, Array] | None:
        """Means (g, free) and covariances (g, free, free), given what is held; None where they are not Gaussian.

        Of a Student-t, location and shape, unless columns are held.
        """
        seen = [*self.free, *self.held]
        place = _gaussian_moments(self.model.classifier_, seen, bool(self.held))
        return None if place is None else _given(*place, len(self.free), np.array(list(self.held.values())))

    def drawn(self) -> Array:
        """Rows drawn from the model, in the free columns; (DRAWN, free)."""
        rows, _ = self.model.classifier_.sample(DRAWN, np.random.default_rng(0))
        return rows[:, list(self.free)]

    def values(self, X: Any) -> Array:
        """The free columns of a table or an array; (n, free), NaN where a value is missing."""
        return np.column_stack([_column(X, column_keys(self.model)[j], j) for j in self.free])


def look(model: Any, columns: Any, at: Any, count: int) -> View:
    """`count` columns by name or position; None for the first numbers that are not held. at: {column: value}."""
    model = getattr(model, "best_", model)
    held = _read_held(model, {} if at is None else at)
    numbers = [j for j in number_columns(model) if j not in held]
    free = numbers[:count] if columns is None else [_find(model, key, "columns") for key in _listed(columns)]
    if len(set(free)) != count or len(free) != count:
        needed = "one column of numbers" if count == 1 else f"{count} different columns of numbers"
        raise ClasswiseError(f"columns={columns!r}: this picture is of {needed}.")
    if set(free) & set(held):
        raise ClasswiseError(f"columns={columns!r} and at={at!r} name a column twice; it is free, or held at a value.")
    return View(model, tuple(free), held)


def column_keys(model: Any) -> list[Any]:
    """The names of the columns, or their positions."""
    names = getattr(model, "feature_names_in_", None)
    return list(range(model.n_features_in_)) if names is None else list(names)


def number_columns(model: Any) -> list[int]:
    """The positions of columns that are numbers or counts, and not categories."""
    return [j for j, family in enumerate(model.families_.values()) if family not in ("categorical", "bernoulli")]


def read_labels(y: Any, length: int) -> Labels:
    """The labels of rows; (n,)."""
    labels = np.asarray(y)
    if labels.shape != (length,):
        raise ClasswiseError(f"y has shape {labels.shape}, and X has {length} rows; give one label for each.")
    return labels


def _listed(columns: Any) -> list[Any]:
    return list(columns) if isinstance(columns, Sequence | np.ndarray) and not isinstance(columns, str) else [columns]


def _find(model: Any, key: Any, option: str) -> int:
    place = find_column(key, column_keys(model), option)
    if place not in number_columns(model):
        raise ClasswiseError(f"{option} name the column {key!r}, which is a category; this picture is of numbers.")
    return place


def _read_held(model: Any, at: Any) -> dict[int, float]:
    if not isinstance(at, Mapping):
        raise ClasswiseError(f"at={at!r} is not a mapping from column to value, such as {{'width': 3.5}}.")
    return {_find(model, key, "The keys of at"): _read_value(key, value) for key, value in at.items()}


def _read_value(key: Any, value: Any) -> float:
    if not isinstance(value, Real) or not np.isfinite(float(value)):
        raise ClasswiseError(f"at holds the column {key!r} at {value!r}; give it a finite number.")
    return float(value)


def _column(X: Any, key: Any, place: int) -> Array:
    """A column by its name, or by its position where either side has no names."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return _array_column(np.asarray(X), place)
    name = key if isinstance(key, str) else frame.columns[place]
    if name not in frame.columns:
        raise ClasswiseError(f"X has no column {name!r}; its columns are {frame.columns}.")
    return np.asarray(frame[name].cast(nw.Float64).to_numpy(), dtype=np.float64)


def _suiting(values: Array, family: str) -> Array:
    if not family.startswith(COUNTS):
        return values
    most = float(family.removeprefix("binomial(").rstrip(")")) if family.startswith("binomial") else np.inf
    return np.clip(np.round(values), 0, most)


def _array_column(rows: Any, place: int) -> Array:
    if rows.ndim != 2 or rows.shape[1] <= place:
        raise ClasswiseError(f"X has shape {rows.shape}, and this picture needs its column {place}.")
    return rows[:, place].astype(np.float64)


def _blocks(classifier: BayesClassifier) -> tuple[Block, ...]:
    density = classifier.density
    return density.blocks if isinstance(density, Product) else (Block(np.arange(density.n_features), density),)


def _numbers(density: Density) -> Density:
    return density.numbers if isinstance(density, Presence) else density


def _gaussian_moments(classifier: BayesClassifier, seen: list[int], exact: bool) -> tuple[Array, Array] | None:
    """Means (g, seen) and covariances (g, seen, seen); columns in different blocks are independent.

    exact: of Gaussians only; else of Student-t densities as well.
    """
    means = np.zeros((len(classifier.labels), len(seen)))
    matrices = np.zeros((*means.shape, len(seen)))
    for block in _blocks(classifier):
        inside = [i for i, j in enumerate(seen) if j in block.columns]
        own, density = [int(np.flatnonzero(block.columns == seen[i])[0]) for i in inside], _numbers(block.density)
        if not inside:
            continue
        if not isinstance(density, Gaussian if exact else Located):
            return None
        means[:, inside] = density.means[:, own]
        matrices[np.ix_(range(len(means)), inside, inside)] = density.matrices()[np.ix_(range(len(means)), own, own)]
    return means, matrices


def _given(means: Array, matrices: Array, free: int, values: Array) -> tuple[Array, Array]:
    """The first `free` columns given the values of the others: m + C_fh C_hh^-1 (v - m), C_ff - C_fh C_hh^-1 C_hf."""
    if not len(values):
        return means, matrices
    slopes = np.linalg.solve(matrices[:, free:, free:], matrices[:, free:, :free])
    moved = means[:, :free] + np.einsum("gh,ghf->gf", values - means[:, free:], slopes)
    return moved, matrices[:, :free, :free] - matrices[:, :free, free:] @ slopes
