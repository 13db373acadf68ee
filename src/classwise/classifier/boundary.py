"""Discriminant functions and boundaries: the same classifier as polynomials.

    g_k(x)  = x'A x + b'x + c                       log_joint of class k, up to a constant that all classes share
    f_ij(x) = g_i(x) - g_j(x) = x'W x + w'x + w0    positive where class i wins over class j

They are in the columns of a section: some are free, some are held at a value, all others are integrated out.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from classwise.arrays import Array
from classwise.classifier.bayes import Calibration
from classwise.classifier.conics import curve, kind, roots
from classwise.classifier.polynomial import HTML, LATEX, PLAIN, Polynomial, normal_form, write
from classwise.densities import Gaussian
from classwise.errors import ClasswiseError
from classwise.rows.schema import Schema, find_column


class Section(NamedTuple):
    """Positions of free columns; positions of the others that stay, with the values they are held at."""

    free: list[int]
    held: dict[int, float]

    @property
    def kept(self) -> list[int]:
        """The columns of the marginal density: free ones first."""
        return [*self.free, *self.held]

    @property
    def at(self) -> dict[int, float]:
        """The values that columns are held at, by position among those kept."""
        return dict(enumerate(self.held.values(), start=len(self.free)))


def read_section(schema: Schema, columns: Any, at: Any) -> Section:
    """columns: the free ones, by name or position, or None for all that are not held; at: {column: value}."""
    held = _read_values(schema, {} if at is None else at)
    free = [j for j in range(len(schema)) if j not in held] if columns is None else schema.find(_listed(columns))
    twice = [j for i, j in enumerate(free) if j in free[:i] or j in held]
    if twice:
        raise ClasswiseError(f"columns and at name {schema.name(twice[0])} twice; it is free, or held at one value.")
    if not free:
        raise ClasswiseError("No column is left for the polynomial to be in: leave one free.")
    return Section(free, held)


def column_names(schema: Schema, columns: list[int]) -> tuple[str, ...]:
    """What formulas call columns: by their names, or x0, x1, ... by their positions; x where there is but one.

    >>> column_names(Schema.of_numbers(3), [0, 2]), column_names(Schema.of_numbers(1), [0])
    (('x0', 'x2'), ('x',))
    """
    names = schema.names or (tuple(f"x{j}" for j in range(len(schema))) if len(schema) > 1 else ("x",))
    return tuple(names[j] for j in columns)


def _listed(columns: Any) -> list[Any]:
    return [columns] if isinstance(columns, str) or not isinstance(columns, Iterable) else list(columns)


def _read_values(schema: Schema, at: Any) -> dict[int, float]:
    if not isinstance(at, Mapping):
        raise ClasswiseError(f"at={at!r} is not a mapping from column to value, such as {{'width': 3.5}}.")
    names = schema.names or range(len(schema))
    held = {find_column(key, names, "The keys of at"): _read_value(key, value) for key, value in at.items()}
    if len(held) < len(at):
        raise ClasswiseError(f"at={at!r} names a column twice; it is held at one value.")
    return held


def _read_value(key: Any, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not np.isfinite(number):
        raise ClasswiseError(f"at holds the column {key!r} at {value!r}; give it a finite number.")
    return number


# Discriminant functions, one for each class, and the boundaries between two of them -----------------------------------


class Discriminant(Polynomial):
    """g_k(x) = x'A x + b'x + c, with A (p, p) and b (p,); about the mean m of its class, (x - m)'A (x - m) + constant.

    Call it on rows, of an array or a frame. center, quadratic, linear, constant: its coefficients about the center.
    """

    @property
    def A(self) -> Array:  # noqa: N802
        """-1/2 C^-1; (p, p)."""
        return self.quadratic

    @property
    def b(self) -> Array:
        """C^-1 m; (p,)."""
        return self.expanded.linear

    @property
    def c(self) -> float:
        """-1/2 m'C^-1 m - 1/2 log|C| + log prior."""
        return self.expanded.constant

    def calibrated(self, calibration: Calibration, k: int) -> "Discriminant":
        """power g + shift_k: the calibrated log posterior, up to a term that all classes share."""
        power, shift = calibration.power, calibration.shift[k] if calibration.shift else 0.0
        quadratic, linear = power * self.quadratic, power * self.linear
        return replace(self, quadratic=quadratic, linear=linear, constant=power * self.constant + shift)

    def __str__(self) -> str:
        return write(self, PLAIN)

    __repr__ = __str__

    def _repr_latex_(self) -> str:
        return f"${write(self, LATEX)}$"

    def _repr_html_(self) -> str:
        return f"<p>{write(self, HTML)}</p>"


class Boundary(Polynomial):
    """f(x) = x'W x + w'x + w0, positive where the first class wins; W (p, p), w (p,).

    Call it on rows, of an array or a frame: f is the log odds. center, quadratic, linear, constant: the coefficients
    about a point halfway between the two means, f(x) = (x - c)'W (x - c) + v'(x - c) + v0, which f is computed from.

    >>> f = Boundary(np.zeros(2), np.diag([1.0, 4.0]), np.zeros(2), -1.0, np.eye(2), ("x", "y"))
    >>> f, f.kind
    (x² + 4 y² - 1 = 0, 'ellipse')
    """

    @property
    def W(self) -> Array:  # noqa: N802
        """1/2 (C_j^-1 - C_i^-1); zero where classes share a covariance; (p, p)."""
        return self.quadratic

    @property
    def w(self) -> Array:
        """C_i^-1 m_i - C_j^-1 m_j; (p,)."""
        return self.expanded.linear

    @property
    def w0(self) -> float:
        """The constant about the origin."""
        return self.expanded.constant

    @cached_property
    def kind(self) -> str:
        """What f = 0 is.

        One column: "point", "two points". Two: "line", "circle", "ellipse", "parabola", "hyperbola", "pair of lines",
        "parallel lines", "point". More: "plane", "sphere", "ellipsoid", "paraboloid", "hyperbolic paraboloid",
        "hyperboloid", "cone", "elliptic cylinder", "parabolic cylinder", "hyperbolic cylinder", "pair of planes",
        "parallel planes", "point", "line", "flat". Any number: "nowhere", "everywhere".
        """
        return kind(self, normal_form(self))

    def roots(self) -> Array:
        """Where f = 0, in ascending order; for one feature. None where f is zero nowhere, or everywhere."""
        return roots(self)

    def curve(self, box: Any, count: int = 200) -> list[Array]:
        """f = 0 inside the box ((low, high), (low, high)), for two features; pieces of `count` points each, (count, 2).

        Points are solved for, so that every one lies on the boundary, and no branch is missed. Where f touches zero in
        one point, the only piece is that point, (1, 2).
        """
        return curve(self, box, count)

    def __str__(self) -> str:
        return f"{write(self, PLAIN)} = 0"

    __repr__ = __str__

    def _repr_latex_(self) -> str:
        return f"${write(self, LATEX)} = 0$"

    def _repr_html_(self) -> str:
        return f"<p>{write(self, HTML)} = 0 <small>({self.kind})</small></p>"


def discriminant(gaussian: Gaussian, k: int, log_prior: float, names: tuple[str, ...]) -> Discriminant:
    """-1/2 (x - m)'C^-1 (x - m) - 1/2 log|C| + log prior."""
    own = min(k, len(gaussian.covariance.values) - 1)  # position 0 where all classes share one
    precision, half_log_det = gaussian.covariance.precision(own), gaussian.covariance.half_log_det[own]
    mean, covariance = gaussian.means[k], gaussian.matrices()[k]
    constant = float(log_prior - half_log_det)
    return Discriminant(mean, -0.5 * precision, np.zeros(len(mean)), constant, covariance, names)


def boundary(first: Discriminant, second: Discriminant) -> Boundary:
    """f = g_first - g_second, about the point halfway between their centers."""
    center = first.center + (second.center - first.center) / 2
    g, h = first.about(center), second.about(center)
    return Boundary(
        center,
        g.quadratic - h.quadratic,
        g.linear - h.linear,
        g.constant - h.constant,
        (g.covariance + h.covariance) / 2,
        g.names,
    )
