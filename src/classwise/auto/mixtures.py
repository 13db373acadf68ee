"""A mixture of Gaussians for each class: it follows classes that are bent or in pieces."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from classwise.arrays import Array, Codes
from classwise.auto.covariances import categories_of
from classwise.auto.encoding import encode, few_valued
from classwise.auto.member import Crossed, Fixed, Member, least_lost, scored
from classwise.auto.study import Study
from classwise.auto.sums import FoldSums, Sums, log_priors
from classwise.classifier import BayesClassifier
from classwise.densities import Block, Density, Product
from classwise.errors import ClasswiseError
from classwise.mixture import fit_mixture

# How many components each class may have, with a covariance of each class's own, and with one for all.
OWN = (2, 3)
TIED = (2, 4)

# Rows times columns squared times components: with more, EM takes too long.
MOST_WORK = 4e8


@dataclass(frozen=True, eq=False)
class Mixtures(Member):
    """On bent numbers; categories, and numbers with few values, independent beside them.

    tied: whether one covariance serves all components of all classes.
    """

    name: str
    tied: bool = False

    def cross(self, study: Study) -> Crossed:
        encoding = encode(study.rows, study.levels, study.weights, few_valued(study.rows, study.numbers))
        if not encoding.n_numbers:
            raise ClasswiseError("There are no numbers.")
        choices = TIED if self.tied else OWN
        _refuse_large(study, encoding.n_numbers, choices[-1])
        encoding = study.bent(encoding)
        folds = FoldSums.gather(study, encoding)
        answers = [study.blank() for _ in choices]
        for fold, rows in study.each():
            others = np.setdiff1d(np.arange(len(study.codes)), rows, assume_unique=True)
            sums = folds.training(fold)
            for components, answer in zip(choices, answers, strict=True):
                classifier = self._classifier(study, folds.encoded, others, sums, components)
                answer[np.ix_(rows, sums.present)] = scored(classifier, folds.encoded[rows])
        best = least_lost(study, answers)
        everything = np.arange(len(study.codes))
        classifier = self._classifier(study, folds.encoded, everything, folds.total(), choices[best])
        return Crossed(answers[best], Fixed(encoding, classifier), f"{choices[best]} components")

    def _classifier(self, study: Study, encoded: Array, rows: Codes, sums: Sums, components: int) -> BayesClassifier:
        """Of some rows, whose sums are given; its labels are the positions of the classes."""
        width, present = encoded.shape[1] - len(sums.counts), sums.present
        codes = np.searchsorted(present, study.codes[rows])
        numbers, weights = np.ascontiguousarray(encoded[rows, :width]), study.weights[rows]
        options: dict[str, Any] = {"tied": self.tied, "deadline": study.deadline}
        density: Density = fit_mixture(numbers, codes, len(present), components, weights, study.seed, **options)
        if sums.counts:
            beside = Block(np.arange(width, encoded.shape[1]), categories_of(sums))
            density = Product((Block(np.arange(width), density), beside))
        return BayesClassifier(present, np.exp(log_priors(sums.weight)[present]), density)


def _refuse_large(study: Study, width: int, components: int) -> None:
    if len(study.codes) * width**2 * study.count * components > MOST_WORK:
        raise ClasswiseError("The table is so large that mixtures would take too long.")
