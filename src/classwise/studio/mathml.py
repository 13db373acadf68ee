"""The equation of a boundary, typeset: f(x) = x'W x + w'x + w0 in MathML, which browsers draw by themselves."""

from dataclasses import dataclass
from html import escape
from itertools import combinations
from typing import Any

import numpy as np

from classwise.arrays import Array
from classwise.classifier.boundary import Boundary, boundary
from classwise.classifier.polynomial import Script, plain_number, write
from classwise.plot.regions import rivals
from classwise.plot.view import View
from classwise.studio.scene import Scene

# Points on each side of the grid that shows which classes meet; of more pairs, this many are written.
SIDE = 61
MOST_PAIRS = 6


def equations(scene: Scene) -> dict[str, Any]:
    """The boundary of each pair of classes that meet in the picture; a sentence where there is none to write."""
    view, labels = scene.view, scene.table.labels
    if view.polynomials is None:
        return {"pairs": [], "sentence": _no_polynomial(view)}
    shown = _rivals(scene)
    found = [boundary(view.polynomials[i], view.polynomials[j]) for i, j in shown]
    return {
        "sentence": "",
        "more": len(list(combinations(labels, 2))) - len(shown),
        "pairs": [
            {
                "classes": [str(labels[i]), str(labels[j])],
                "kind": f.kind,
                "formula": formula(f),
                "matrices": matrices(f),
            }
            for (i, j), f in zip(shown, found, strict=True)
        ],
    }


def _rivals(scene: Scene) -> list[tuple[int, int]]:
    sides = [np.linspace(low, high, SIDE) for low, high in scene.box[: scene.count]]
    grid = np.column_stack([values.ravel() for values in np.meshgrid(*sides)])
    return rivals(scene.view.scores(grid), scene.view.model.priors_)[:MOST_PAIRS]


def _no_polynomial(view: View) -> str:
    if not view.has_densities:
        return "This model has posteriors but no densities: its boundary has no equation of second degree."
    return (
        "With the Bayes estimate classes are Student-t, and with text columns there are strips: the boundary is exact "
        "in the picture, but no polynomial of second degree."
    )


# MathML ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MathScript(Script):
    """Polynomials as the row of a formula; every part is an element."""

    def factor(self, name: str, about: float) -> str:
        if not about:
            return self.name(name)
        sign = "−" if about > 0 else "+"
        return f"<mrow><mo>(</mo>{self.name(name)}<mo>{sign}</mo>{self.number(abs(about))}<mo>)</mo></mrow>"

    def product(self, factors: list[str]) -> str:
        if len(factors) == 2 and factors[0] == factors[1]:
            return f"<msup>{factors[0]}<mn>2</mn></msup>"
        return self.times.join(factors)

    def term(self, coefficient: float, factors: list[str]) -> str:
        number = plain_number(abs(coefficient))
        if factors and number == "1":
            return self.product(factors)
        return (
            "<mrow>"
            + self.gap.join([self.number(abs(coefficient)), *([self.product(factors)] if factors else [])])
            + "</mrow>"
        )


def math_number(value: float) -> str:
    """A number; powers of ten are set as such.

    >>> math_number(0.5), math_number(1e8)
    ('<mn>0.5</mn>', '<msup><mn>10</mn><mn>8</mn></msup>')
    """
    sign = "<mo>−</mo>" if value < 0 else ""
    mantissa, _, exponent = plain_number(abs(value)).partition("e")
    if not exponent:
        return f"{sign}<mn>{mantissa}</mn>"
    power = f"<msup><mn>10</mn><mn>{exponent.replace('-', '−')}</mn></msup>"
    return f"{sign}{power}" if mantissa == "1" else f"{sign}<mn>{mantissa}</mn><mo>·</mo>{power}"


def _math_name(name: str) -> str:
    return f"<mi mathvariant='normal'>{escape(name)}</mi>"


MATHML = MathScript(
    _math_name, math_number, "", "<mo>·</mo>", "<mspace width='0.2em'/>", "<mtext>… ({} smaller terms)</mtext>"
)


def formula(f: Boundary) -> str:
    """f(x) = 0, written out: an element for each term, so that a long formula is broken between them."""
    written = write(f, MATHML).replace("> + <", ">\n<mo>+</mo><").replace("> - <", ">\n<mo>−</mo><")
    written = f"<mo>−</mo>{written[1:]}" if written.startswith("-") else written
    return " ".join(f"<math>{term}</math>" for term in f"{written}\n<mo>=</mo><mn>0</mn>".split("\n"))


def matrices(f: Boundary) -> str:
    """W, w and w0, in the units of the columns."""
    parts = [_named("W", f.W), _named("w", f.w[:, None]), f"<mrow>{_zero}<mo>=</mo>{math_number(_digits(f.w0))}</mrow>"]
    return "<math display='block'><mrow>" + "<mspace width='1.6em'/>".join(parts) + "</mrow></math>"


_zero = "<msub><mi>w</mi><mn>0</mn></msub>"


def _named(name: str, values: Array) -> str:
    rows = "".join(
        "<mtr>" + "".join(f"<mtd><mrow>{math_number(_digits(value))}</mrow></mtd>" for value in row) + "</mtr>"
        for row in values.tolist()
    )
    return f"<mrow><mi>{name}</mi><mo>=</mo><mo>(</mo><mtable>{rows}</mtable><mo>)</mo></mrow>"


def _digits(value: float) -> float:
    """Four digits, as one reads them."""
    return float(f"{value:.4g}") + 0.0
