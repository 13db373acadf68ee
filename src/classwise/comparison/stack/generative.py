"""A Student-t of each class's own: what a normal-inverse-Wishart prior and the rows predict of the next row.

The prior's covariance lies between the pooled one and its diagonal, and is worth so many rows; both are chosen by the
log loss of rows held out. One decomposition of each class serves all strengths. Categories stand beside the numbers,
independent within a class:

    p(level | k) = (n_k,level + s q_level) / (n_k + s),   q_level = (n_level + 1) / (n + L)

so that a class with few rows borrows the rates of all rows.
"""

from dataclasses import dataclass
from functools import partial
from itertools import product as pairs_of

import numpy as np

from classwise.arrays import Array, Codes, log_sum_exp, slices
from classwise.comparison.stack.encoding import encode, few_valued
from classwise.comparison.stack.member import Crossed, Member, Recipe, cross_recipes, refuse_nothing
from classwise.comparison.stack.study import Study
from classwise.comparison.stack.sums import FoldSums, Sums, log_priors
from classwise.covariance import FullCovariance, PriorForm
from classwise.densities import Block, Categorical, Density, Levels, Product, predictive
from classwise.engines import in_threads
from classwise.errors import ClasswiseError
from classwise.selection import StrengthPath
from classwise.storage import stored

# How many rows, at the rates of all rows, a category of each class is given in advance.
SMOOTHING = 2.0

# How many rows the prior may be worth, and how near to the diagonal its covariance may lie.
ROWS = np.array([1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 10000.0])
DIAGONALS = (0.001, 0.03, 0.2, 0.6, 1.0)

# So many rows are enough to choose by, and to bend columns by.
ENOUGH_ROWS = 10_000

# Rows are scored in blocks of this many.
BLOCK_OF_ROWS = 2048

# The statistics of all folds and classes may take so many bytes.
MOST_BYTES = 2e9

# A table so wide that all of this takes more multiplications is looked at in one fold, at fewer places.
MANY = 3e11
FEW_DIAGONALS = (0.03, 0.2, 1.0)


@stored("OwnCovariances")
@dataclass(frozen=True)
class Strength(Recipe):
    """rows: what the prior is worth; diagonal: where its covariance lies."""

    rows: float
    diagonal: float

    def _is_sound(self) -> bool:
        return self.rows > 0 and 0 <= self.diagonal <= 1

    def density(self, sums: Sums) -> Density:
        blocks, width = [], 0
        if sums.moments is not None:
            statistics = sums.moments.denoised()
            width = statistics.n_features
            prior = PriorForm.worth(self.rows, self.diagonal).of(statistics.moments).within(FullCovariance)
            blocks.append(Block(np.arange(width), predictive(prior.updated(statistics, shared=False))))
        if sums.counts:
            blocks.append(Block(np.arange(width, width + len(sums.counts)), categories_of(sums)))
        return Product(tuple(blocks)) if len(blocks) > 1 else blocks[0].density

    def __str__(self) -> str:
        return f"prior worth {self.rows:g} rows, {self.diagonal:g} of the way to the diagonal"


def categories_of(sums: Sums) -> Categorical:
    """The categories of the classes that are there."""
    return Categorical(tuple(_levels(of[sums.present]) for of in sums.counts))


def _levels(weight: Array) -> Levels:
    overall = weight.sum(axis=0)
    rates = (overall + 1) / (overall.sum() + len(overall))
    total = weight.sum(axis=1, keepdims=True) + SMOOTHING
    ones = np.ones((len(weight), 1))
    probability = (weight + SMOOTHING * rates) / total
    return Levels(np.arange(len(overall)), probability, ones * rates.min(), ones, np.ones(len(overall)))


@dataclass(frozen=True, eq=False)
class OwnCovariances(Member):
    """Numbers Student-t, jointly; categories, and numbers with few values, independent beside them.

    bend: whether numbers are bent first.
    """

    name: str
    bend: bool = False

    def cross(self, study: Study) -> Crossed:
        encoding = encode(study.rows, study.levels, study.weights, few_valued(study.rows, study.numbers))
        _refuse_wide(study, encoding.n_numbers)
        if self.bend:
            if not encoding.n_numbers:
                raise ClasswiseError("There are no numbers to bend.")
            encoding = study.bent(encoding)
        folds = FoldSums.gather(study, encoding)
        refuse_nothing(folds.encoded)
        strength = _Search(study, folds).best() if encoding.n_numbers else Strength(1.0, 1.0)
        _, crossed = cross_recipes(study, encoding, folds, [strength])
        return Crossed(crossed.log_posterior, crossed.trained, str(strength) if encoding.n_numbers else "")


def _refuse_wide(study: Study, width: int) -> None:
    size = 24.0 * study.n_folds * study.count * width**2
    if size > MOST_BYTES:
        raise ClasswiseError(f"Covariances by fold and class would take {size / 1e9:.1f} GB.")


@dataclass(frozen=True, eq=False)
class _Search:
    """The strength with the least log loss on rows held out."""

    study: Study
    folds: FoldSums

    def best(self) -> Strength:
        diagonals, folds = self._places()
        tasks = list(pairs_of(range(len(diagonals)), folds))
        losses = np.zeros((len(diagonals), len(ROWS)))
        for (i, _), lost in zip(tasks, in_threads(partial(self._lose, diagonals), tasks), strict=True):
            losses[i] += lost
        # Of equals the last: nearer to the diagonal, and worth more rows.
        last = losses.size - 1 - int(losses[::-1, ::-1].argmin())
        place, rows = divmod(last, len(ROWS))
        return Strength(float(ROWS[rows]), diagonals[place])

    @property
    def _width(self) -> int:
        return self.folds.encoded.shape[1] - len(self.folds.counts)

    def _places(self) -> tuple[tuple[float, ...], list[int]]:
        """Where the prior's covariance may lie, and the folds that are looked at."""
        width, rows = self._width, min(len(self.study.codes), ENOUGH_ROWS)
        folds = [fold for fold, _ in self.study.each()]
        each = self.study.count * (10.0 * width**3 + 2.0 * rows / len(folds) * width**2)
        return (DIAGONALS, folds) if each * len(folds) * len(DIAGONALS) < MANY else (FEW_DIAGONALS, folds[:1])

    def _lose(self, diagonals: tuple[float, ...], task: tuple[int, int]) -> Array:
        """The log loss of some rows of a fold, for each worth of the prior; (s,)."""
        which, fold = task
        self.study.deadline.check()
        sums, study = self.folds.training(fold), self.study
        assert sums.moments is not None
        rows = study.held_out[fold]
        rows = rows[study.telling[rows] > 0][:: max(len(study.codes) // ENOUGH_ROWS, 1)]
        total = np.zeros(len(ROWS))
        if not len(rows):
            return total
        path = StrengthPath.of(sums.moments.denoised(), ROWS, diagonals[which])
        for part in slices(len(rows), BLOCK_OF_ROWS):
            own = rows[part]
            scores = path.elsewhere(self.folds.encoded[own, : self._width]) + self._offset(sums, own)[:, :, None]
            of_class = np.searchsorted(sums.present, study.codes[own])
            total += study.weights[own] @ (log_sum_exp(scores) - scores[of_class, np.arange(len(own))])
        return total

    def _offset(self, sums: Sums, rows: Codes) -> Array:
        """Log priors and what the categories say; (g, m)."""
        log_prior = log_priors(sums.weight)[sums.present, None]
        if not sums.counts:
            return np.repeat(log_prior, len(rows), axis=1)
        return categories_of(sums).relative(self.folds.encoded[rows, self._width :], log_prior)
