"""Classification functions, as textbooks print them: one for each class, and the largest wins.

    g_k(x) = w_k'x + w_k0 + sum over categories of the offset of their level      (classes share a covariance)

Terms that all classes share are left out, for they change no decision: x'C^-1 x of a shared covariance, and of each
level the mean of its log probabilities over the classes. The softmax of the functions is the posterior. Where each
class has a covariance of its own, g_k keeps its quadratic terms.

One covariance for all classes also makes Fisher's directions possible: the projections in which class means lie
furthest apart, measured in within-class spread.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from classwise.arrays import Array, finite
from classwise.classifier.bayes import BayesClassifier
from classwise.classifier.boundary import Discriminant, discriminant
from classwise.classifier.polynomial import HTML, LATEX, PLAIN, Script, write
from classwise.densities import Block, Categorical, Constant, Gaussian
from classwise.densities.categorical import Levels
from classwise.densities.count_data import CountDensity
from classwise.errors import NotAvailableError
from classwise.tabular import html_table


@dataclass(frozen=True, eq=False)
class FisherProjection:
    """(x - center) @ directions, with directions (p, r), r = min(g - 1, p), the most discriminating first.

    Within a class the projected rows have covariance I.
    ratios (r,): each direction's share of the between-class variance. means (g, r): the class means, projected.
    """

    center: Array
    directions: Array
    ratios: Array
    means: Array

    def __call__(self, rows: Array) -> Array:
        return finite((rows - self.center) @ self.directions)

    def first(self, count: int | None) -> "FisherProjection":
        """The first directions alone; all of them for None."""
        if count is None:
            return self
        return FisherProjection(self.center, self.directions[:, :count], self.ratios[:count], self.means[:, :count])

    def _repr_html_(self) -> str:
        """The weight of each column of numbers in each direction, and the share of the between-class variance."""
        header = ("column", *(f"LD{i + 1}" for i in range(len(self.ratios))))
        rows = [(f"x{j}", *(f"{weight:.5g}" for weight in weights)) for j, weights in enumerate(self.directions)]
        shares = ("between-class variance", *(f"{ratio:.2%}" for ratio in self.ratios))
        return html_table([header, *rows, shares])


def overall_mean(means: Array, priors: Array) -> Array:
    """The sum over classes of prior_k m_k, computed so that rounding does not move means that are equal; (p,)."""
    return np.asarray(means[0] + priors @ (means - means[0]))


def fisher_projection(gaussian: Gaussian, priors: Array) -> FisherProjection:
    """The generalized eigenvectors of between-class against within-class covariance.

    Whitening by the shared covariance turns them into the principal axes of the class means.
    """
    means, covariance = gaussian.means, gaussian.covariance
    center = overall_mean(means, priors)
    whitened = np.sqrt(priors)[:, None] * covariance.whiten(means - center, 0)
    _, lengths, axes = np.linalg.svd(whitened, full_matrices=False)
    rank = min(len(means) - 1, means.shape[1])
    directions = covariance.project(axes[:rank].T, 0)
    squares = lengths[:rank] ** 2
    total = squares.sum()
    # A direction has no sign of its own: the largest coefficient is made positive.
    signs = np.sign(directions[np.abs(directions).argmax(axis=0), np.arange(rank)])
    directions = directions * signs
    return FisherProjection(center, directions, squares / total if total else squares, (means - center) @ directions)


def reduced(gaussian: Gaussian, priors: Array, rank: int) -> Gaussian:
    """The means moved into the space of the first directions: what lies across it no longer separates classes.

    Of directions D with D'C D = I the part of a mean within their space is C D D'(m - center). Hastie and Tibshirani
    (1996): it is maximum likelihood for means that lie in a space of this rank.
    """
    projection = fisher_projection(gaussian, priors)
    directions, covariance = projection.directions[:, :rank], gaussian.covariance.matrices()[0]
    return Gaussian(projection.center + projection.means[:, :rank] @ (covariance @ directions).T, gaussian.covariance)


def linear_functions(gaussian: Gaussian, model: BayesClassifier) -> tuple[Array, Array]:
    """w_k = C^-1 (m_k - center) (g, p) and w_k0 (g,): log P(k | x) is w_k'x + w_k0, up to a term that classes share.

        w_k0 = log prior_k - 1/2 (m_k - center)' C^-1 (m_k - center) - w_k' center

    Of a calibrated model, the power times both, and the shift.
    """
    center = overall_mean(gaussian.means, model.priors)
    whitened = gaussian.covariance.whiten(gaussian.means - center, 0)
    weights = gaussian.covariance.project(whitened.T, 0).T
    constants = model.log_prior[:, 0] - 0.5 * (whitened**2).sum(axis=1) - weights @ center
    if model.calibration is None:
        return weights, constants
    return model.calibration.power * weights, model.calibration(constants[:, None])[:, 0]


# This many terms of a linear function are written, and this many levels of a category: the largest.
LINEAR_TERMS = 30
LEVELS = 12

# Lines are about so long; they are broken before the sign of a term, but not inside of (x - 200).
WIDTH = 78
TERMS = r" (?=[-+] (?![\d.e]+\)))"

Offsets = dict[str, dict[str, float]]


@dataclass(frozen=True, eq=False, repr=False)
class ClassificationFunction:
    """The function of one class; numbers: its polynomial in the columns of numbers, with the constant.

    offsets: {column: {level: what it adds}}, of the columns that have levels.
    """

    label: Any
    numbers: Discriminant
    offsets: Offsets

    @property
    def constant(self) -> float:
        """What it is where every number is zero, less the offsets of levels."""
        return self.numbers.expanded.constant if self.numbers.names else self.numbers.constant

    @property
    def weights(self) -> dict[str, float]:
        """The coefficients of the linear terms, by column."""
        linear = self.numbers.expanded.linear.tolist() if self.numbers.names else []
        return dict(zip(self.numbers.names, linear, strict=True))

    def formula(self, script: Script) -> str:
        """The part in numbers."""
        if not self.numbers.names:
            return ("-" if self.numbers.constant < 0 else "") + script.number(abs(round(self.numbers.constant, 4)))
        return write(self.numbers, script, *(() if self.numbers.quadratic.any() else (LINEAR_TERMS,)))

    def __str__(self) -> str:
        terms = re.split(TERMS, f"{self.label} = {self.formula(PLAIN)}")
        levels = (_filled([f"{name}: {first}", *others]) for name, (first, *others) in self._listed.items())
        return "\n".join([_filled(terms), *("    " + of for of in levels)])

    @property
    def _listed(self) -> dict[str, list[str]]:
        return {name: _listed(of) for name, of in self.offsets.items()}

    __repr__ = __str__

    def _repr_latex_(self) -> str:
        lines = [rf"g_{{{LATEX.name(str(self.label))}}} &= {self.formula(LATEX)}"]
        lines += (rf"&\quad + {_cases(name, of)}" for name, of in self.offsets.items())
        return r"$\begin{aligned}" + r" \\ ".join(lines) + r"\end{aligned}$"

    def _repr_html_(self) -> str:
        levels = (f"<br>&emsp;{HTML.name(name)}: {escape(' '.join(of))}" for name, of in self._listed.items())
        return f"<p><b>{escape(str(self.label))}</b> = {self.formula(HTML)}{''.join(levels)}</p>"


class ClassificationFunctions(tuple[ClassificationFunction, ...]):
    """The functions of all classes, in the order of the labels; prints as equations, in a notebook as formulas."""

    __slots__ = ()

    def __str__(self) -> str:
        return "\n".join([*map(str, self), "", self.meaning])

    def __repr__(self) -> str:
        return str(self)

    def _repr_latex_(self) -> str:
        return "\n\n".join(function._repr_latex_() for function in self)

    def _repr_html_(self) -> str:
        return "".join(function._repr_html_() for function in self) + f"<p>{self.meaning}</p>"

    @property
    def meaning(self) -> str:
        """How to read them."""
        levels = " A text column adds the number beside its value." if any(each.offsets for each in self) else ""
        return f"The class with the largest value wins.{levels}"


def _largest(offsets: dict[str, float]) -> list[str]:
    """The levels with the largest offsets, in the order they came in."""
    kept = sorted(offsets, key=lambda level: -abs(offsets[level]))[:LEVELS]
    return [level for level in offsets if level in kept]


def _listed(offsets: dict[str, float]) -> list[str]:
    """
    >>> _listed({"Biscoe": 0.2134, "Dream": -1.5})
    ['Biscoe +0.21,', 'Dream -1.50']
    """
    shown = [f"{level} {offsets[level]:+.2f}" for level in _largest(offsets)]
    shown += [f"… ({len(offsets) - LEVELS} smaller ones)"] if len(offsets) > LEVELS else []
    return [*(f"{each}," for each in shown[:-1]), shown[-1]]


def _filled(pieces: list[str]) -> str:
    """Pieces side by side, on as many lines as it takes.

    >>> _filled(["a = 1 x", "+ 2 y"])
    'a = 1 x + 2 y'
    """
    lines = [pieces[0]]
    for piece in pieces[1:]:
        if len(lines[-1]) + len(piece) < WIDTH:
            lines[-1] += f" {piece}"
        else:
            lines.append(f"        {piece}")
    return "\n".join(lines)


def _cases(name: str, offsets: dict[str, float]) -> str:
    lines = [f"{offsets[level]:+.2f} & {LATEX.name(name)} = {LATEX.name(level)}" for level in _largest(offsets)]
    return r"\begin{cases}" + r" \\ ".join(lines).replace("inf", r"\infty") + r"\end{cases}"


# From densities -------------------------------------------------------------------------------------------------------


def classification_functions(
    model: BayesClassifier, names: Sequence[str], columns: Sequence[int]
) -> ClassificationFunctions:
    """The functions of some columns, the others integrated out; names: of all columns."""
    blocks = [_restricted(block, columns) for block in model.density.as_blocks()]
    kept = [block for block in blocks if block is not None]
    parts = [part for part in (_numbers(block, model, names, columns) for block in kept) if part]
    offsets = _offsets(kept, names)
    power = 1.0 if model.calibration is None else model.calibration.power
    shift = (model.calibration and model.calibration.shift) or (0.0,) * len(model.labels)
    functions = []
    for k, label in enumerate(model.labels.tolist()):
        constant = power * float(model.log_prior[k, 0]) + shift[k]
        of = {name: {level: power * float(values[k]) for level, values in own.items()} for name, own in offsets.items()}
        functions.append(ClassificationFunction(label, _joined([part[k] for part in parts], power, constant), of))
    return ClassificationFunctions(functions)


def _restricted(block: Block, columns: Sequence[int]) -> Block | None:
    """The block of these columns alone, counts aside; None where none of them is in it, or they say nothing."""
    inside = [i for i, j in enumerate(block.columns.tolist()) if j in columns]
    density = block.density
    if not inside or isinstance(density, Constant):
        return None
    if len(inside) == len(block.columns):
        return block
    kept = block.columns[inside]
    if isinstance(density, Gaussian):
        return Block(kept, density.marginal(inside))
    if isinstance(density, Categorical):
        return Block(kept, Categorical.of(density.columns[i] for i in inside))
    return block


def _numbers(block: Block, model: BayesClassifier, names: Sequence[str], columns: Sequence[int]) -> list[Discriminant]:
    """Of each class the polynomial of a block of numbers, without its prior; none for levels."""
    own = tuple(names[j] for j in block.columns)
    if isinstance(block.density, Gaussian):
        return _of_gaussian(block.density, overall_mean(block.density.means, model.priors), own)
    if isinstance(block.density, CountDensity) and np.isfinite(block.density.line).all():
        inside = np.isin(block.columns, columns)
        own, center = tuple(np.array(own)[inside].tolist()), block.density.average[inside]
        spread = np.diag(np.maximum(center, 1e-12))
        lines = zip(*(part[:, inside] for part in block.density.line), strict=True)
        return [Discriminant(center, 0 * spread, w, float(c.sum() + w @ center), spread, own) for w, c in lines]
    if isinstance(block.density, Categorical):
        return []
    raise NotAvailableError(
        f"Not all columns have a formula: {own[0]!r} is described by {type(block.density).__name__}. parameters_ has "
        "what was estimated of each column, and explain(row) says what each adds to the log odds."
    )


def _of_gaussian(gaussian: Gaussian, center: Array, names: tuple[str, ...]) -> list[Discriminant]:
    """About one center. Where classes share a covariance, without the quadratic term and the volume that they share."""
    own = [discriminant(gaussian, k, 0.0, names).about(center) for k in range(gaussian.count)]
    if len(gaussian.covariance.values) > 1:
        return own
    away = gaussian.means - center
    weights = away @ gaussian.covariance.precision(0)
    zero, at_center = np.zeros_like(own[0].quadratic), -0.5 * (weights * away).sum(axis=1)
    return [
        Discriminant(center, zero, w, float(c), own[0].covariance, names)
        for w, c in zip(weights, at_center, strict=True)
    ]


def _joined(parts: list[Discriminant], power: float, constant: float) -> Discriminant:
    """The sum of polynomials in different columns, times a power, and a constant."""
    names = tuple(name for part in parts for name in part.names)
    width = len(names)
    quadratic, covariance, start = np.zeros((width, width)), np.zeros((width, width)), 0
    for part in parts:
        own = slice(start, start + part.n_features)
        quadratic[own, own], covariance[own, own], start = power * part.quadratic, part.covariance, own.stop
    vectors = [np.concatenate([np.zeros(0), *(getattr(part, of) for part in parts)]) for of in ("center", "linear")]
    total = constant + power * sum(part.constant for part in parts)
    return Discriminant(vectors[0], quadratic, power * vectors[1], total, covariance, names)


def _offsets(blocks: list[Block], names: Sequence[str]) -> dict[str, dict[str, Array]]:
    """log p(level | k) less its mean over classes, by column and level; (g,) each."""
    pairs = [
        (names[j], column)
        for block in blocks
        if isinstance(block.density, Categorical)
        for j, column in zip(block.columns.tolist(), block.density.columns, strict=True)
    ]
    return {name: _of_levels(column) for name, column in pairs}


def _of_levels(column: Levels) -> dict[str, Array]:
    logs = column.log_probability
    names = [str(level) for level in column.names.tolist()]
    chosen = list(logs.T[: len(names)])
    if (column.missing < 1).any():
        names, chosen = [*names, "(missing)"], [*chosen, logs[:, -1]]
    return {
        name: log - log[np.isfinite(log)].mean() if np.isfinite(log).any() else log
        for name, log in zip(names, chosen, strict=True)
    }
