"""The dials by themselves: share and shrink chosen by cross-validated log loss."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from classwise.arrays import Array, Codes, Labels
from classwise.covariance import Fixed, Recipe, read_sharing, read_shrinkage
from classwise.errors import ClasswiseError
from classwise.estimators.crossing import Crossing
from classwise.priors import class_priors
from classwise.selection import Path

# What is tried: ends, and more values where little changes much.
SHARES = (0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 1.0)
SHRINKS = (0.0, 1e-5, 1e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.7, 0.85, 1.0)


@dataclass(frozen=True, eq=False, repr=False)
class DialChoice:
    """The cross-validated log loss of every share and shrink that was tried, and the best of them.

    log_loss (shares, shrinks): the mean over rows, inf where a model cannot be fitted.
    """

    shares: tuple[Any, ...]
    shrinks: tuple[Any, ...]
    log_loss: Array

    def __repr__(self) -> str:
        share, shrink = self.best
        tried = f"{len(self.shares)} x {len(self.shrinks)}"
        return f"DialChoice(share={share}, shrink={shrink}, log loss {self.log_loss.min():.4g}, best of {tried})"

    @property
    def best(self) -> tuple[Any, Any]:
        """The share and shrink of least log loss; of equals, the one that shares and shrinks most: the simplest."""
        if not np.isfinite(self.log_loss).any():
            raise ClasswiseError(
                "No share and shrink that were tried give covariances that have an inverse in every fold; drop columns "
                "that do not vary, or use NaiveBayes."
            )
        flipped = self.log_loss[::-1, ::-1]
        row, column = np.unravel_index(int(flipped.argmin()), flipped.shape)
        return self.shares[::-1][int(row)], self.shrinks[::-1][int(column)]


def choose_dials(model: Any, crossing: Crossing) -> DialChoice:
    """Every value of the dials that are set to "cv", with the other as it is."""
    shares = SHARES if _is_cv(model.share) else (model.share,)
    shrinks = SHRINKS if _is_cv(model.shrink) else (model.shrink,)
    plain = clone(model).set_params(share=shares[-1], shrink=shrinks[-1])
    if _is_plain(plain, crossing):
        return DialChoice(shares, shrinks, _by_path(plain, crossing, shares, shrinks))
    return DialChoice(shares, shrinks, _one_by_one(plain, crossing, shares, shrinks))


def _is_cv(dial: Any) -> bool:
    return isinstance(dial, str) and dial == "cv"


def _is_plain(model: Any, crossing: Crossing) -> bool:
    """Gaussians over all columns, complete rows, and amounts of shrinking that are numbers."""
    statistics = crossing.statistics.parts
    complete = all(not len(part.numbers.gaps) and part.moments.weight.shape[1] == 1 for part in statistics)
    gaussian = len(crossing.table.schema.positions("gaussian")) == len(crossing.table.schema)
    return complete and gaussian and isinstance(read_shrinkage(model.shrink), Fixed)


def _by_path(model: Any, crossing: Crossing, shares: tuple[Any, ...], shrinks: tuple[Any, ...]) -> Array:
    losses, rows = np.zeros((len(shares), len(shrinks))), np.asarray(crossing.table.rows, dtype=np.float64)
    recipe: Recipe = model._recipe()
    weights = crossing.table.weights
    for held_out, training in zip(crossing.held_out(), crossing.statistics.training(), strict=True):
        with np.errstate(divide="ignore"):
            log_prior = np.log(class_priors(model.priors, training.labels, training.weight))
        held_out = _taught(held_out, training.labels[np.isfinite(log_prior)], crossing)
        codes = np.searchsorted(training.labels, crossing.labels[crossing.codes[held_out]])
        own = None if weights is None else weights[held_out]
        for i, share in enumerate(shares):
            path = Path.of(training, replace(recipe, sharing=read_sharing(share)), np.array(shrinks, dtype=np.float64))
            losses[i] += path.losses(rows[held_out], codes, log_prior, own)
    return losses / (len(rows) if weights is None else weights.sum())


def _taught(rows: Codes, labels: Labels, crossing: Crossing) -> Codes:
    """The rows of these classes: one that no other fold has, or whose prior is zero, says nothing of the dials."""
    known = np.isin(np.arange(len(crossing.labels)), np.searchsorted(crossing.labels, labels))
    return rows[known[crossing.codes[rows]]]


def _one_by_one(model: Any, crossing: Crossing, shares: tuple[Any, ...], shrinks: tuple[Any, ...]) -> Array:
    """Mixed columns, or gaps: each pair of values is a model of its own."""
    losses = np.full((len(shares), len(shrinks)), np.inf)
    weights = np.ones(len(crossing.codes)) if crossing.table.weights is None else crossing.table.weights
    for i, share in enumerate(shares):
        for j, shrink in enumerate(shrinks):
            try:
                (answer,) = crossing.log_posteriors([clone(model).set_params(share=share, shrink=shrink)])
            except ClasswiseError:
                continue
            own = answer[np.arange(len(weights)), crossing.codes]
            taught = np.isfinite(own) | np.isfinite(answer).all(axis=1)
            losses[i, j] = -weights[taught] @ own[taught] / weights.sum()
    return losses
