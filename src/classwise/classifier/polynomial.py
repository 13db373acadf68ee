"""Polynomials of second degree about a center, f(x) = (x - c)'M (x - c) + v'(x - c) + v0; and how people write them.

About the origin the coefficients of rows that lie far from zero are large and cancel; about a center among the rows
they are as large as what they say.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from math import ceil, copysign, floor, isinf, log10, prod
from typing import Any, NamedTuple, Self

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array
from classwise.errors import ClasswiseError


@dataclass(frozen=True, eq=False, repr=False)
class Polynomial:
    """f(x) = (x - center)' quadratic (x - center) + linear'(x - center) + constant, in p columns.

    covariance (p, p): that of the rows within a class, which is the unit of distance. names: of the columns.
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
        shift = self.quadratic[:, held] @ away
        constant = self.constant + float((shift[held] + self.linear[held]) @ away)
        names, block = tuple(self.names[j] for j in free), np.ix_(free, free)
        linear = self.linear[free] + 2 * shift[free]
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


# ----------------------------------------------------------------------------------------------------------------------
# The normal form: the coordinates in which a polynomial of second degree has no mixed terms.
#
#     f = sum over k of curvature_k y_k² + tilt y_r + constant        x = center + origin + axes y
#
# First the columns are whitened by the covariance within a class, so that 1 is a standard deviation in every direction
# and f is what it is: log odds. There W has the curvatures as eigenvalues; in directions without curvature the slope
# that is left is the tilt, and where there is a tilt the constant is shifted away.
#
# What is zero does not depend on units. Log odds that curve or rise by less than FLAT in one standard deviation are
# flat. The constant is a curvature times a squared distance: it is zero below TOUCHING of the terms it is made of, so
# that a distance is zero below 1e-6 standard deviations.

FLAT = 1e-9
TOUCHING = 1e-12


@dataclass(frozen=True, eq=False)
class NormalForm:
    """curvatures (r,), none of them zero; origin (p,), relative to the center; axes (p, p)."""

    curvatures: Array
    tilt: float
    constant: float
    origin: Array
    axes: Array

    def points(self, coordinates: Array) -> Array:
        """y -> x - center; (m, p) -> (m, p)."""
        return self.origin + coordinates @ self.axes.T

    def coordinates(self, points: Array) -> Array:
        """x - center -> y; (m, p) -> (m, p)."""
        return np.asarray(np.linalg.solve(self.axes, (points - self.origin).T).T, dtype=np.float64)


def normal_form(polynomial: Polynomial) -> NormalForm:
    """The curvatures come first, the direction of the tilt next, directions along which nothing changes last."""
    root = whitening_root(polynomial)
    if np.isinf(polynomial.constant):  # a prior of zero: one class wins everywhere
        return NormalForm(np.zeros(0), 0.0, polynomial.constant, np.zeros(len(root)), root)
    curvatures, axes = np.linalg.eigh(root.T @ polynomial.quadratic @ root)
    curved = ~is_flat(curvatures)
    axes = np.column_stack([axes[:, curved], axes[:, ~curved]])
    curvatures, rank = curvatures[curved], int(curved.sum())
    axes[:, rank:] = _aligned_with(axes[:, rank:], root.T @ polynomial.linear)
    slopes = axes.T @ root.T @ polynomial.linear
    tilt = 0.0 if is_flat(slopes)[rank:].all() else float(slopes[rank])
    shift = np.zeros(len(slopes))
    shift[:rank] = -slopes[:rank] / (2 * curvatures)
    constant = _level(polynomial.constant, curvatures * shift[:rank] ** 2, [*curvatures, *slopes])
    if tilt:
        shift[rank], constant = -constant / tilt, 0.0
    return NormalForm(curvatures, tilt, constant, root @ axes @ shift, root @ axes)


def whitening_root(polynomial: Polynomial) -> Array:
    """T with T T' the covariance: x = center + T z, with z white; (p, p)."""
    scale = polynomial.deviations
    correlation = polynomial.covariance / np.outer(scale, scale)
    return scale[:, None] * np.linalg.cholesky(correlation)


def is_flat(values: Array) -> NDArray[np.bool_]:
    """Which coefficients are zero: below FLAT, or rounding relative to the largest."""
    return np.abs(values) <= FLAT + TOUCHING * np.abs(values).max(initial=0.0)


def _aligned_with(basis: Array, slope: Array) -> Array:
    """The same space, with a basis whose first direction is that of the slope within it; (p, q) -> (p, q)."""
    within = np.column_stack([basis.T @ slope, np.eye(basis.shape[1])])
    return basis @ np.linalg.qr(within)[0]


def _level(constant: float, squares: Array, coefficients: list[float]) -> float:
    """What is left of the constant when squares are complete: v0 - sum of curvature_k shift_k²."""
    left = constant - float(squares.sum())
    terms = np.abs([constant, *squares, *coefficients])
    size = TOUCHING * terms.max() if not is_flat(np.array(coefficients)).all() else FLAT
    return 0.0 if abs(left) <= size else left


# As people write them: 0.99 length² - 2.1 length·width + 3.4 width - 7.2 ----------------------------------------------
#
# A term has the digits it takes to be right to a hundredth of log odds among the rows; where f changes by less than 1
# in a standard deviation, to a hundredth of that. Columns whose rows lie far from zero are written about a round number
# among them, (year - 1900): about zero it would take too many digits.

# Terms are rounded by less than half of this, at rows within WITHIN standard deviations of the center.
ROUNDING = 0.01
WITHIN = 3.0

# A column is far from zero when its rows are, by this many standard deviations.
FAR = 20.0

# A round number is among the rows when it is at most this many standard deviations from their center.
AMONG = 10.0

# This many terms are written, the largest: all that a quadratic function of three columns has.
MOST_TERMS = 10


class Term(NamedTuple):
    """A coefficient and its columns: two of a square or product, one of a linear term, none of the constant."""

    coefficient: float
    columns: tuple[int, ...]


@dataclass(frozen=True)
class Script:
    """How names and numbers are written, squared, multiplied and left out."""

    name: Callable[[str], str]
    number: Callable[[float], str]
    square: str
    times: str
    gap: str
    rest: str

    def factor(self, name: str, about: float) -> str:
        """x, or (x - 1e8)."""
        if not about:
            return self.name(name)
        return f"({self.name(name)} {'-' if about > 0 else '+'} {self.number(abs(about))})"

    def product(self, factors: list[str]) -> str:
        """x² or x·y."""
        if len(factors) == 2 and factors[0] == factors[1]:
            return factors[0] + self.square
        return self.times.join(factors)

    def term(self, coefficient: float, factors: list[str]) -> str:
        """A term without its sign."""
        number = self.number(abs(coefficient))
        if not factors:
            return number
        return self.product(factors) if number == "1" else f"{number}{self.gap}{self.product(factors)}"


def write(polynomial: Polynomial, script: Script, most: int = MOST_TERMS) -> str:
    """The polynomial in a script; of more terms than this, the largest."""
    about = np.array(list(map(round_center, polynomial.center, polynomial.deviations)))
    every = list(rounded_terms(polynomial, about))
    shown = largest(every, polynomial.deviations, most)
    factors = list(map(script.factor, polynomial.names, about))
    parts = [(t.coefficient, script.term(t.coefficient, [factors[j] for j in t.columns])) for t in shown]
    if len(shown) < len(every):
        parts.append((1.0, script.rest.format(len(every) - len(shown))))
    return _joined(parts) or "0"


def rounded_terms(polynomial: Polynomial, about: Array) -> Iterator[Term]:
    """The terms about a point, each with the digits that matter; without those that have none."""
    every = terms(polynomial.about(about))
    if isinf(polynomial.constant):
        return iter(every[-1:])
    changes = _sizes(terms(polynomial)[:-1], polynomial.deviations)
    rounding = ROUNDING * min(changes.max() or abs(polynomial.constant) or 1.0, 1.0)
    reach = (np.abs(polynomial.center - about) + WITHIN * polynomial.deviations).tolist()
    places = (ceil(log10(prod(reach[j] for j in t.columns) / rounding)) for t in every)
    short = (Term(round(t.coefficient, digits), t.columns) for t, digits in zip(every, places, strict=True))
    return (term for term in short if term.coefficient)


def terms(polynomial: Polynomial) -> list[Term]:
    """Squares and products, linear terms, the constant."""
    M, v = polynomial.quadratic.tolist(), polynomial.linear.tolist()
    p = range(polynomial.n_features)
    quadratic = [Term(M[j][k] * (1 if j == k else 2), (j, k)) for j in p for k in p if j <= k]
    return [*quadratic, *(Term(v[j], (j,)) for j in p), Term(polynomial.constant, ())]


def largest(every: list[Term], deviations: Array, most: int = MOST_TERMS) -> list[Term]:
    """The terms that change most in a standard deviation, in the order they came in."""
    if len(every) <= most:
        return every
    kept = np.argsort(-_sizes(every, deviations), kind="stable")[:most]
    return [every[i] for i in sorted(kept)]


def _sizes(every: list[Term], deviations: Array) -> Array:
    """How much each term changes in a standard deviation."""
    scale = deviations.tolist()
    return np.array([abs(t.coefficient) * prod(scale[j] for j in t.columns) for t in every])


def round_center(center: float, deviation: float) -> float:
    """Zero, or the roundest number among rows that are far from zero.

    >>> round_center(5.1, 0.8), round_center(197.4, 6.6), round_center(100000004.59, 2.0), round_center(1.00034, 1e-5)
    (0.0, 200.0, 100000000.0, 1.0003)
    """
    return round(float(center), -floor(log10(2 * AMONG * deviation))) if abs(center) > FAR * deviation else 0.0


def _joined(parts: list[tuple[float, str]]) -> str:
    text = "".join((" - " if copysign(1, value) < 0 else " + ") + part for value, part in parts)
    return "-" + text[3:] if text.startswith(" - ") else text[3:]


def plain_number(value: float) -> str:
    """A number, with an exponent where it is very large or small and that is shorter.

    >>> plain_number(74160.0), plain_number(1e8), plain_number(100000030.0), plain_number(0.0001234)
    ('74160', '1e8', '100000030', '0.0001234')
    """
    if isinf(value):
        return "∞"
    fixed = np.format_float_positional(value, trim="-")
    short = np.format_float_scientific(value, trim="-", exp_digits=1).replace("e+", "e")
    return fixed if 1e-4 <= abs(value) < 1e6 or len(fixed) <= len(short) else short


def latex_number(value: float) -> str:
    """A number for LaTeX.

    >>> latex_number(1e8), latex_number(1.5e-12)
    ('10^{8}', '1.5 \\\\cdot 10^{-12}')
    """
    mantissa, _, exponent = plain_number(value).replace("∞", r"\infty").partition("e")
    power = f"10^{{{exponent}}}"
    return (power if mantissa == "1" else rf"{mantissa} \cdot {power}") if exponent else mantissa


def _plain_name(name: str) -> str:
    return name if re.fullmatch(r"[\w.]+", name) else f"[{name}]"


def _latex_name(name: str) -> str:
    """A letter as a variable, with its number below; a word upright."""
    if letter := re.fullmatch(r"([A-Za-z])(\d*)", name):
        return letter[1] + (f"_{{{letter[2]}}}" if letter[2] else "")
    plain = name.translate({ord(c): " " for c in "\\^~"})
    return r"\mathrm{" + re.sub(r"([_&%$#{}])", r"\\\1", plain).replace(" ", "~") + "}"


PLAIN = Script(_plain_name, plain_number, "²", "·", " ", "… ({} smaller terms)")
LATEX = Script(_latex_name, latex_number, "^2", r"\,", r"\,", r"\cdots\;(\text{{{} smaller terms}})")
HTML = Script(lambda name: f"<var>{escape(name)}</var>", plain_number, "<sup>2</sup>", "·", " ", PLAIN.rest)
