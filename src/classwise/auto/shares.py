"""The shares of the classes: what is known of a row before it is looked at."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from classwise.arrays import Array, sums_by
from classwise.auto.member import Crossed, Member, Trained
from classwise.auto.study import Study
from classwise.auto.sums import Sums, log_priors
from classwise.storage import stored


@stored("ClassShares")
@dataclass(frozen=True, eq=False)
class Shares(Trained):
    """sums: the weight of each class."""

    sums: Sums

    def log_posterior(self, rows: Array, X: Any = None) -> Array:
        return np.repeat(log_priors(self.sums.weight)[:, None], len(rows), axis=1)

    @property
    def statistics(self) -> Sums:
        return self.sums

    def relearned(self, sums: Sums) -> "Shares":
        return Shares(sums)

    def summarize(self, rows: Array, codes: Any, count: int, weights: Array) -> Sums:
        return Sums(sums_by(codes, weights, count))


@dataclass(frozen=True, eq=False)
class ClassShares(Member):
    """In every stack it keeps a probability of zero from being announced."""

    name: str = "class shares"
    is_instant: ClassVar[bool] = True

    def cross(self, study: Study) -> Crossed:
        answers = study.blank()
        for fold, rows in study.each():
            answers[rows] = log_priors(study.training_weight(fold))
        return Crossed(answers, Shares(Sums(study.class_weight.sum(axis=0))))
