"""A fitted model seen in some of its columns: the others are held at a value, or integrated out.

    p(x_some | k) = integral of p(x | k) over all other columns

Columns in different blocks are independent within a class, so a block without any of the columns is simply left out.
Inside a block the rest is integrated out where a row has NaN there, or -1 for a category.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np

from classwise.arrays import Array, Labels
from classwise.classifier.bayes import BayesClassifier
from classwise.densities import Block, Constant, Density, Gaussian, Observed, Product
from classwise.densities.density import Located
from classwise.errors import ClasswiseError
from classwise.rows.schema import Column, find_column
from classwise.rows.sources import open_source


def flat_blocks(density: Density) -> list[Block]:
    """The blocks of a density, none of them made of blocks again, of values that are there.

    >>> from classwise.densities import Poisson
    >>> inner = Product(tuple(Block(np.array([j]), Poisson(np.ones((2, 1)))) for j in (1, 0)))
    >>> [block.columns.tolist() for block in flat_blocks(Product((Block(np.array([3, 5]), inner),)))]
    [[5], [3]]
    """
    density = density.of_values()
    if not isinstance(density, Product):
        return list(density.as_blocks())
    return [
        Block(outer.columns[inner.columns], inner.density)
        for outer in density.blocks
        for inner in flat_blocks(outer.density)
    ]


def unused_columns(density: Density) -> set[int]:
    """The columns that a density leaves out, since they never vary or repeat another."""
    return {int(j) for block in flat_blocks(density) if isinstance(block.density, Constant) for j in block.columns}


def marginal(classifier: BayesClassifier, columns: Sequence[int]) -> BayesClassifier:
    """Bayes' rule on these columns; it takes whole rows, with NaN (-1 for a category) in all others."""
    kept = [block for block in flat_blocks(classifier.density) if np.isin(block.columns, columns).any()]
    return replace(classifier, density=Observed(Product(tuple(kept))))


# Means and covariances ------------------------------------------------------------------------------------------------


def moments(classifier: BayesClassifier, columns: list[int], exact: bool) -> tuple[Array, Array] | None:
    """Means (g, c) and covariances (g, c, c); columns in different blocks are independent.

    exact: of Gaussians only; else of Student-t densities as well. None where some column has neither.
    """
    means = np.zeros((len(classifier.labels), len(columns)))
    matrices = np.zeros((*means.shape, len(columns)))
    for block in flat_blocks(classifier.density):
        inside = [i for i, j in enumerate(columns) if j in block.columns]
        own = [int(np.flatnonzero(block.columns == columns[i])[0]) for i in inside]
        if not inside:
            continue
        if not isinstance(block.density, Gaussian if exact else Located):
            return None
        means[:, inside] = block.density.means[:, own]
        part = block.density.matrices()[np.ix_(range(len(means)), own, own)]
        matrices[np.ix_(range(len(means)), inside, inside)] = part
    return means, matrices


def given(means: Array, matrices: Array, free: int, values: Array) -> tuple[Array, Array]:
    """The first `free` columns given the values of the others: m + C_fh C_hh^-1 (v - m), C_ff - C_fh C_hh^-1 C_hf."""
    if not len(values):
        return means, matrices
    slopes = np.linalg.solve(matrices[:, free:, free:], matrices[:, free:, :free])
    moved = means[:, :free] + np.einsum("gh,ghf->gf", values - means[:, free:], slopes)
    return moved, matrices[:, :free, :free] - matrices[:, :free, free:] @ slopes


# A view: free columns, held columns -----------------------------------------------------------------------------------

# Rows drawn from the model, to see how far it reaches where no rows are given.
DRAWN = 2000


@dataclass(frozen=True, eq=False)
class ColumnView:
    """A fitted estimator in its free columns; held: {position: value}; all other columns are integrated out.

    free: positions of columns. The value of a category is the position of its level.
    """

    model: Any
    free: tuple[int, ...]
    held: dict[int, float]

    @property
    def names(self) -> list[str]:
        """What axes call the free columns."""
        keys = column_keys(self.model)
        return [axis_name(keys[j]) for j in self.free]

    @property
    def columns(self) -> list[Column]:
        """The free columns, as the model knows them."""
        return [self.model.model_.schema.columns[j] for j in self.free]

    @property
    def levels(self) -> list[Labels | None]:
        """The levels of each free column; None where it is a number."""
        return [self.model.model_.levels.get(j) for j in self.free]

    @property
    def counts(self) -> list[bool]:
        """Which of the free columns hold whole numbers."""
        return [column.family.kind == "count" for column in self.columns]

    @property
    def seen(self) -> list[int]:
        """The columns that are not integrated out, free ones first."""
        return [*self.free, *self.held]

    @cached_property
    def classifier(self) -> Any:
        """Bayes' rule on the columns that are not integrated out, given that their values are there.

        A model without densities cannot integrate: the columns that are not seen stand at their means.
        """
        if not self.has_densities:
            return self.model.classifier_
        return marginal(self.model.classifier_, self.seen)

    @property
    def has_densities(self) -> bool:
        """Whether the model has a density for each class, and not only posteriors."""
        return isinstance(self.model.classifier_, BayesClassifier)

    def _blank(self, count: int) -> Array:
        """Rows of the model in which all values are missing but those held; (count, p)."""
        rows = np.full((count, self.model.n_features_in_), np.nan)
        rows[:, list(self.model.model_.levels)] = -1.0
        rows[:, list(self.held)] = list(self.held.values())
        return rows

    def rows(self, points: Array) -> Array:
        """Points as rows of the model, missing where a column is integrated out; (m, free) -> (m, p).

        Values of counts and categories are rounded to the nearest possible one.
        """
        rows = self._blank(len(points))
        for values, j, column in zip(points.T, self.free, self.columns, strict=True):
            rows[:, j] = _allowed_values(values, column, self.model.model_.levels.get(j))
        return rows

    def ellipses(self) -> tuple[Array, Array] | None:
        """Means (g, free) and covariances (g, free, free), given what is held; None where they are not Gaussian.

        Of a Student-t, location and shape, unless columns are held.
        """
        if not self.has_densities:
            return None
        numbers = [j for j in self.held if j not in self.model.model_.levels]  # levels are independent of numbers
        place = moments(self.model.classifier_, [*self.free, *numbers], bool(numbers))
        return None if place is None else given(*place, len(self.free), np.array([self.held[j] for j in numbers]))

    def drawn(self) -> Array:
        """Rows drawn from the model, in the free columns; (DRAWN, free). Without densities, how far its rows reach."""
        if not self.has_densities:
            return np.asarray(self.model.model_.reach())[:, list(self.free)]
        rows, _ = self.model.classifier_.sample(DRAWN, np.random.default_rng(0))
        return rows[:, list(self.free)]

    def values(self, X: Any) -> Array:
        """The free columns of a table or an array; (n, free), NaN where a value is missing or a level unknown."""
        source = open_source(X)
        keys, levels = column_keys(self.model), self.model.model_.levels
        return np.column_stack([_column(source, keys[j], j, levels.get(j)) for j in self.free])


def column_keys(model: Any) -> list[Any]:
    """The names of the columns, or their positions."""
    names = getattr(model, "feature_names_in_", None)
    return list(range(model.n_features_in_)) if names is None else list(names)


def axis_name(key: Any) -> str:
    """What an axis calls a column: its name, or x and its position."""
    return key if isinstance(key, str) else f"x{key}"


def _column(source: Any, key: Any, place: int, levels: Labels | None) -> Array:
    """A column by its name, or by its position if the model or X has no names."""
    if source.names is not None and isinstance(key, str):
        if key not in source.names:
            raise ClasswiseError(f"X has no column {key!r}; its columns are {list(source.names)}.")
        place = source.names.index(key)
    if place >= source.n_features:
        raise ClasswiseError(f"X has {source.n_features} columns, and this picture needs its column {place}.")
    if levels is None:
        return np.asarray(source.values.numbers(place), dtype=np.float64)
    codes = np.empty(len(source.values))
    source.values.coded(place).among(levels).write(codes)
    return np.where((codes >= 0) & (codes < len(levels)), codes, np.nan)


def _allowed_values(values: Array, column: Column, levels: Labels | None) -> Array:
    if levels is None and column.family.kind != "count":
        return values
    most = column.family.trials or np.inf if levels is None else len(levels) - 1
    return np.clip(np.round(values), 0, most)


# Names and values given by the caller, read and checked ---------------------------------------------------------------


def choose_columns(model: Any, columns: Any, at: Any, count: int) -> tuple[tuple[int, ...], dict[int, float]]:
    """The positions of `count` columns by name or position, and the values that others are held at: at={column: value}.

    None for the first columns that are not held, numbers before categories.
    """
    held = _read_held(model, {} if at is None else at)
    usable = [j for j in usable_columns(model) if j not in held]
    free = usable[:count] if columns is None else [find(model, key, "columns") for key in as_list(columns)]
    if len(set(free)) != count or len(free) != count:
        needed = "one column" if count == 1 else f"{count} different columns"
        raise ClasswiseError(f"columns={columns!r}: this picture is of {needed}.")
    if set(free) & set(held):
        raise ClasswiseError(f"columns={columns!r} and at={at!r} name a column twice; it is free, or held at a value.")
    return tuple(free), held


def read_model(m: Any) -> tuple[Any, Any]:
    """The model that has the densities, and the decision around it, if there is one."""
    decision = m if hasattr(m, "expected_costs") else None
    model = m if decision is None else getattr(m, "model_", m.model)
    if not hasattr(type(model), "classifier_"):
        raise ClasswiseError(
            f"{type(model).__name__} has no densities to look at in some columns alone; give a model such as QDA or "
            "NaiveBayes."
        )
    return model, decision


def refuse_posteriors(view: ColumnView) -> None:
    """Raise an error for a model without densities."""
    if not view.has_densities:
        raise ClasswiseError(
            f"{type(view.model).__name__} has no densities, only posteriors; give a model such as LDA or NaiveBayes."
        )


def usable_columns(model: Any) -> list[int]:
    """The positions of columns that the model uses: numbers and counts first, then categories."""
    silent = _left_out(model)
    kept = [j for j in range(model.n_features_in_) if j not in silent]
    return sorted(kept, key=lambda j: j in model.model_.levels)


def number_columns(model: Any) -> list[int]:
    """The positions of columns that are numbers or counts, and not categories."""
    return [j for j in usable_columns(model) if j not in model.model_.levels]


def as_list(columns: Any) -> list[Any]:
    """Columns as a list, also if only one is given."""
    return list(columns) if isinstance(columns, Sequence | np.ndarray) and not isinstance(columns, str) else [columns]


def find(model: Any, key: Any, option: str) -> int:
    """The position of a column that the model uses."""
    place = find_column(key, column_keys(model), option)
    if place in _left_out(model):
        raise ClasswiseError(f"{option} name the column {key!r}, which the model has left out: see schema_.")
    return place


def _left_out(model: Any) -> set[int]:
    if not isinstance(model.classifier_, BayesClassifier):
        return {j for j, note in model.model_.notes.items() if note.startswith("left out")}
    return unused_columns(model.classifier_.density)


def _read_held(model: Any, at: Any) -> dict[int, float]:
    if not isinstance(at, Mapping):
        raise ClasswiseError(f"at={at!r} is not a mapping from column to value, such as {{'width': 3.5}}.")
    places = {key: find(model, key, "The keys of at") for key in at}
    return {j: _read_value(key, at[key], model.model_.levels.get(j)) for key, j in places.items()}


def _read_value(key: Any, value: Any, levels: Labels | None) -> float:
    if levels is not None:
        if value not in levels.tolist():
            raise ClasswiseError(f"at holds the column {key!r} at {value!r}; its levels are {levels.tolist()}.")
        return float(levels.tolist().index(value))
    if not isinstance(value, Real) or not np.isfinite(float(value)):
        raise ClasswiseError(f"at holds the column {key!r} at {value!r}; give it a finite number.")
    return float(value)
