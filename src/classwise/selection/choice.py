"""A choice by cross-validation: the losses of everything tried, by fold, and the least of them."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from classwise.arrays import Array
from classwise.classifier.plan import BlockPlan
from classwise.errors import ClasswiseError

V = TypeVar("V")


@dataclass(frozen=True, eq=False, repr=False)
class Choice(ABC, Generic[V]):
    """by_fold (folds, ...): the log loss of each value tried, summed over the rows of each fold; inf where a model
    cannot be fitted. weight (folds,): of those rows. what: the words for what is chosen; attribute: where a fitted
    estimator has the choice.
    """

    what: ClassVar[str]
    attribute: ClassVar[str]

    by_fold: Array
    weight: Array

    def _is_sound(self) -> bool:
        # A value that nothing could be fitted with has an infinite loss; NaN and minus infinity are no losses.
        lost = not np.isnan(self.by_fold).any() and bool((self.by_fold > -np.inf).all() and (self.weight >= 0).all())
        return lost and self.weight.shape == self.by_fold.shape[:1] and self.best is not None

    @abstractmethod
    def value(self, position: int) -> V:
        """The value tried at a position among all, flattened; simpler ones come later."""

    @abstractmethod
    def options(self, value: V) -> dict[str, Any]:
        """The options of an estimator that stand for a value."""

    @abstractmethod
    def settled(self, plan: BlockPlan, value: V) -> BlockPlan:
        """The plan with a value where a choice was left."""

    @property
    def log_loss(self) -> Array:
        """The mean over rows, inf where a model cannot be fitted."""
        return self.by_fold.sum(axis=0) / self.weight.sum()

    @property
    def best(self) -> V:
        """The value of least log loss; of equals, the simplest."""
        return self._least(self.log_loss)

    def best_without(self, fold: int) -> V:
        """The best by the rows of all other folds: for this fold, a choice made without its labels being scored."""
        return self._least(np.delete(self.by_fold, fold, axis=0).sum(axis=0))

    def _least(self, losses: Array) -> V:
        if not np.isfinite(losses).any():
            raise ClasswiseError(
                f"No {self.what} that were tried give covariances that have an inverse in every fold; drop columns "
                "that do not vary within classes, or use NaiveBayes."
            )
        backwards = losses.ravel()[::-1]
        return self.value(len(backwards) - 1 - int(backwards.argmin()))
