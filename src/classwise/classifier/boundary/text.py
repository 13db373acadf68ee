"""Polynomials as people write them: 0.99 length² - 2.1 length·width + 3.4 width - 7.2.

A term has the digits it takes to be right to a hundredth of log odds among the rows; where f changes by less than 1 in
a standard deviation, to a hundredth of that. Columns whose rows lie far from zero are written about a round number
among them, (year - 1900): about zero it would take too many digits.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from math import ceil, copysign, floor, isinf, log10, prod
from typing import NamedTuple

import numpy as np

from classwise.arrays import Array
from classwise.classifier.boundary.polynomial import Polynomial

# Terms are rounded by less than half of this, at rows within WITHIN standard deviations of the center.
ROUNDING = 0.01
WITHIN = 3.0

# A column is far from zero when its rows are, by this many standard deviations.
FAR = 20.0

# A round number is among the rows when it is at most so many standard deviations from their center.
AMONG = 10.0

# So many terms are written, the largest: all that a quadratic function of three columns has.
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


def write(polynomial: Polynomial, script: Script) -> str:
    """The polynomial in a script."""
    about = np.array(list(map(round_center, polynomial.center, polynomial.deviations)))
    every = list(rounded_terms(polynomial, about))
    shown = largest(every, polynomial.deviations)
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


def largest(every: list[Term], deviations: Array) -> list[Term]:
    """The terms that change most in a standard deviation, in the order they came in."""
    if len(every) <= MOST_TERMS:
        return every
    kept = np.argsort(-_sizes(every, deviations), kind="stable")[:MOST_TERMS]
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
