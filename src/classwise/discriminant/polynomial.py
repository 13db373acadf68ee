"""A polynomial of second degree about a center: f(x) = (x - c)'M (x - c) + v'(x - c) + v0.

About the origin the coefficients of rows that lie far from zero are large and cancel; about a center among the rows
they are as large as what they say.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import narwhals as nw
import numpy as np

from classwise.arrays import Array
from classwise.errors import ClasswiseError


@dataclass(frozen=True, eq=False, repr=False)
class Polynomial:
    """f(x) = (x - center)' quadratic (x - center) + linear'(x - center) + constant, in p columns.

    covariance (p, p): that of the rows within a class, which tells near from far. names: of the columns.
    """

    center: Array
    quadratic: Array
    linear: Array
    constant: float
    covariance: Array
    names: tuple[str, ...]

    def __call__(self, rows: Any) -> Array:
        """f at each row of an array (n, p), or of a frame that has the columns; (n,)."""
        away = read_rows(rows, self.names) - self.center
        return np.asarray(((away @ self.quadratic + self.linear) * away).sum(axis=1) + self.constant)

    @property
    def n_features(self) -> int:
        return len(self.names)

    @cached_property
    def deviations(self) -> Array:
        """The standard deviation of each column within a class; (p,)."""
        return np.sqrt(np.diagonal(self.covariance))

    def about(self, point: Any) -> Self:
        """The same function about another point: linear' = linear + 2 M s, constant' = f(point), s = point - center."""
        point = read_rows(np.reshape(point, (1, -1)), self.names)[0]
        linear = self.linear + 2 * self.quadratic @ (point - self.center)
        return replace(self, center=point, linear=linear, constant=float(self(point[None])[0]))

    @cached_property
    def expanded(self) -> Self:
        """About the origin, for reading."""
        return self.about(np.zeros(self.n_features))

    def slice(self, at: Mapping[int, float]) -> Self:
        """The function of the other columns where some, by position, are held at a value."""
        held, free = list(at), [j for j in range(self.n_features) if j not in at]
        away = np.array(list(at.values())) - self.center[held]
        bent = self.quadratic[:, held] @ away
        constant = self.constant + float((bent[held] + self.linear[held]) @ away)
        names, block = tuple(self.names[j] for j in free), np.ix_(free, free)
        linear = self.linear[free] + 2 * bent[free]
        return replace(
            self,
            center=self.center[free],
            quadratic=self.quadratic[block],
            linear=linear,
            constant=constant,
            covariance=self.covariance[block],
            names=names,
        )

    def among(self, names: tuple[str, ...], places: list[int]) -> Self:
        """The same function of more columns, where its own stand at some places: it does not depend on the others."""
        if len(places) == len(names):
            return self
        center, linear = np.zeros(len(names)), np.zeros(len(names))
        quadratic, covariance = np.zeros((len(names), len(names))), np.eye(len(names))
        center[places], linear[places] = self.center, self.linear
        quadratic[np.ix_(places, places)], covariance[np.ix_(places, places)] = self.quadratic, self.covariance
        return replace(self, center=center, quadratic=quadratic, linear=linear, covariance=covariance, names=names)

    def homogeneous(self, about: Any = None) -> Array:
        """Q, symmetric, with f(x) = [x; 1]'Q [x; 1]; about a point c it is [x - c; 1] on both sides; (p + 1, p + 1)."""
        form = self.expanded if about is None else self.about(about)
        half = form.linear[:, None] / 2
        return np.block([[form.quadratic, half], [half.T, np.array([[form.constant]])]])

    def homogeneous_vector(self, about: Any = None) -> Array:
        """q with f(x) = q'[x; 1], where f is linear; about a point c it is q'[x - c; 1]; (p + 1,)."""
        if self.quadratic.any():
            raise ClasswiseError(
                "One vector holds a linear function, and this one is quadratic: homogeneous() is its matrix."
            )
        form = self.expanded if about is None else self.about(about)
        return np.append(form.linear, form.constant)


def read_rows(rows: Any, names: tuple[str, ...]) -> Array:
    """The columns of these names, of a frame; an array as it is, if it has as many; (n, p)."""
    frame = nw.from_native(rows, pass_through=True)
    if isinstance(frame, nw.DataFrame) and all(isinstance(name, str) for name in frame.columns):
        rows = _select(frame, names)
    values = np.asarray(rows, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] != len(names):
        shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
        raise ClasswiseError(f"Rows have shape {values.shape}; the polynomial takes (n, {len(names)}): {shown}.")
    return values


def _select(frame: "nw.DataFrame[Any]", names: tuple[str, ...]) -> Array:
    lacking = [name for name in names if name not in frame.columns]
    if lacking:
        raise ClasswiseError(f"The rows lack the column {lacking[0]!r}; the polynomial is in {', '.join(names)}.")
    return np.column_stack([frame[name].cast(nw.Float64).to_numpy() for name in names])
