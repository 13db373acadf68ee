"""A member: a way to make posteriors of rows, tried on rows held out and learned from all."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from classwise.arrays import Array, Codes, slices
from classwise.classifier.bayes import BayesClassifier
from classwise.comparison.stack.encoding import Encoding
from classwise.comparison.stack.study import Study
from classwise.comparison.stack.sums import FoldSums, Sums, gather_sums, log_priors
from classwise.densities import Block, Categorical, Density, OneDependence, Product
from classwise.engines import in_threads
from classwise.errors import ClasswiseError
from classwise.storage import stored

# Rows are scored in blocks of this many numbers.
BLOCK = 1 << 18

# The most that a row can lose where members' options are compared: a few hopeless rows must not decide.
MOST_LOST = 36.0


class Trained(ABC):
    """A member that has learned."""

    @abstractmethod
    def log_posterior(self, rows: Array, X: Any = None) -> Array:
        """log P(k | x) of rows as the table has them (m, p); X: the same rows as they came; (g, m)."""

    @property
    def sees_rows(self) -> bool:
        """Whether rows as the table has them are all that it looks at."""
        return True

    @property
    def can_sample(self) -> bool:
        """Whether it is a model of the rows, and not only of the labels."""
        return False

    def sample(self, codes: Codes, generator: np.random.Generator) -> Array:
        """A row of the table for each class given; (m,) -> (m, p)."""
        raise NotImplementedError

    @property
    def statistics(self) -> Sums | None:
        """What it was made of, if that adds up."""
        return None

    def relearned(self, sums: Sums) -> "Trained":
        """The same made of other statistics."""
        raise NotImplementedError

    def summarize(self, rows: Array, codes: Codes, count: int, weights: Array) -> Sums | None:
        """The statistics of further rows, as this member sees them."""
        return None


@dataclass(frozen=True, eq=False)
class Crossed:
    """log_posterior (n, g): of each row, under the member that had not seen its fold; trained: the member of all rows;
    note: what was chosen, in words.
    """

    log_posterior: Array
    trained: Trained
    note: str = ""


class Member(ABC):
    """What can be tried on rows. is_instant: it takes no time to speak of, and is tried however little is left."""

    name: str
    is_instant: ClassVar[bool] = False

    @abstractmethod
    def cross(self, study: Study) -> Crossed:
        """Try it on every fold, and learn from all rows."""


class Recipe(ABC):
    """How statistics become the densities of the classes that are there."""

    @abstractmethod
    def density(self, sums: Sums) -> Density:
        """Of encoded rows."""

    def classifier(self, sums: Sums) -> BayesClassifier:
        """Its labels are the positions of the classes."""
        present = sums.present
        return BayesClassifier(present, np.exp(log_priors(sums.weight)[present]), self.density(sums))


class Seeing(Trained):
    """A prior and a density per class, of rows as an encoding shows them."""

    encoding: Encoding

    @abstractmethod
    def _classifier(self) -> BayesClassifier:
        """Of encoded rows."""

    def log_posterior(self, rows: Array, X: Any = None) -> Array:
        return self._classifier().log_posterior(self.encoding(rows))

    @property
    def can_sample(self) -> bool:
        return self.encoding.is_plain

    def sample(self, codes: Codes, generator: np.random.Generator) -> Array:
        return self.encoding.back(self._classifier().density.sample(codes, generator), generator)

    def _is_sound(self) -> bool:
        return describes(self._classifier().density, self.encoding)


@stored("Generative")
@dataclass(frozen=True, eq=False)
class Generative(Seeing):
    """Made by a recipe from sums over rows."""

    encoding: Encoding
    recipe: Recipe
    sums: Sums

    @cached_property
    def classifier(self) -> BayesClassifier:
        return self.recipe.classifier(self.sums)

    def _classifier(self) -> BayesClassifier:
        return self.classifier

    @property
    def statistics(self) -> Sums:
        return self.sums

    def relearned(self, sums: Sums) -> Self:
        return replace(self, sums=sums)

    def summarize(self, rows: Array, codes: Codes, count: int, weights: Array) -> Sums:
        return gather_sums(self.encoding, rows, codes, count, weights, self.sums.pairs is not None)

    def _outline(self) -> "Fixed":
        """The same without the sums."""
        return Fixed(self.encoding, self.classifier)


@stored("FixedMember")
@dataclass(frozen=True, eq=False)
class Fixed(Seeing):
    """Not made of sums: it stays as it is."""

    encoding: Encoding
    classifier: BayesClassifier

    def _classifier(self) -> BayesClassifier:
        return self.classifier


def describes(density: Density, encoding: Encoding) -> bool:
    """Whether a density is of rows as an encoding shows them: as many columns, and levels where these have them."""
    blocks = density.blocks if isinstance(density, Product) else (Block(np.arange(density.n_features), density),)
    found = [pair for block in blocks for pair in zip(block.columns.tolist(), _levels(block.density), strict=False)]
    levels = enumerate(map(len, encoding.categories if encoding.is_plain else ()), encoding.n_numbers)
    return density.n_features == encoding.n_encoded and sorted(found) == list(levels)


def _levels(density: Density) -> list[int]:
    """How many levels each column of categories has."""
    if isinstance(density, OneDependence):
        return [len(place) for place in density.columns]
    return [column.probability.shape[1] for column in density.columns] if isinstance(density, Categorical) else []


def cross_recipes(study: Study, encoding: Encoding, folds: FoldSums, recipes: Sequence[Recipe]) -> tuple[int, Crossed]:
    """The best of some recipes by log loss, tried on every fold; and which it is."""
    answers = [study.blank() for _ in recipes]
    for fold, rows in study.each():
        sums = folds.training(fold)
        for recipe, answer in zip(recipes, answers, strict=True):
            answer[np.ix_(rows, sums.present)] = scored(recipe.classifier(sums), folds.encoded[rows])
    best = least_lost(study, answers)
    return best, Crossed(answers[best], Generative(encoding, recipes[best], folds.total()))


def least_lost(study: Study, answers: Sequence[Array]) -> int:
    """Which of some log posteriors (n, g) of rows held out has the least log loss; the first of equals."""
    rows = np.flatnonzero(study.telling)
    lost = [study.telling[rows] @ np.maximum(answer[rows, study.codes[rows]], -MOST_LOST) for answer in answers]
    return int(np.argmax(lost))


def scored(classifier: BayesClassifier, encoded: Array) -> Array:
    """log P(k | x); (m, g)."""
    size = max(BLOCK // classifier.density.width, 16)
    parts = [encoded[part] for part in slices(len(encoded), size)]
    return np.concatenate(list(in_threads(classifier.log_posterior, parts)), axis=1).T


def refuse_nothing(encoded: Array) -> None:
    """Refuse rows of which nothing is seen."""
    if not encoded.shape[1]:
        raise ClasswiseError("No column is left that it could learn from.")
