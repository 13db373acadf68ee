"""Members that have learned, each of which makes posteriors of rows; and the recipes that they are made by."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from classwise.arrays import Array, Codes, slices, sums_by
from classwise.classifier.bayes import BayesClassifier
from classwise.comparison.stack.folded_rows import FoldedRows
from classwise.comparison.stack.sums import MemberSums, gather_sums
from classwise.comparison.stack.transforms import Encoding
from classwise.densities import Categorical, Density, OneDependence
from classwise.engines import in_threads
from classwise.storage import stored

# Rows are scored in blocks of this many numbers.
BLOCK = 1 << 18

# What members were called before: models that were saved then, and scripts, still name them so.
FORMER = {"own covariances, bent": "own covariances, Yeo-Johnson", "softmax, steps": "softmax, quantile steps"}


def current_name(name: str) -> str:
    """What a member is called now.

    >>> current_name("softmax, steps")
    'softmax, quantile steps'
    """
    return FORMER.get(name, name)


class Trained(ABC):
    """A member that has learned. sees_rows: whether rows as the table has them are all that it looks at."""

    sees_rows: ClassVar[bool] = True

    @abstractmethod
    def log_posterior(self, rows: Array, X: Any = None) -> Array:
        """log P(k | x) of rows as the table has them (m, p); X: the same rows as they came; (g, m)."""

    @property
    def can_sample(self) -> bool:
        """Whether it is a model of the rows, and not only of the labels."""
        return False

    def sample(self, codes: Codes, generator: np.random.Generator) -> Array:
        """A row of the table for each class given; (m,) -> (m, p)."""
        raise NotImplementedError

    def mark_reach(self, places: Array) -> None:  # noqa: B027  some know of none
        """Write into places (3, p) how far columns of numbers reach, where it knows: lowest, middle and highest."""

    def suits(self, count: int, width: int) -> bool:
        """Whether it scores so many classes, of rows with so many columns: asked of a member from a file."""
        return self._scores(np.full((1, width), np.nan), count)

    def _scores(self, rows: Array, count: int) -> bool:
        scores = self.log_posterior(rows)
        return scores.shape == (count, len(rows)) and not np.isnan(scores).any()


class MadeOfSums(Trained):
    """Made of nothing but sums over rows, which add up with those of further rows."""

    sums: MemberSums

    def relearned(self, sums: MemberSums) -> Trained:
        """The same made of other sums."""
        made: Any = self
        return replace(made, sums=sums)

    @abstractmethod
    def summarize(self, rows: Array, codes: Codes, count: int, weights: Array) -> MemberSums:
        """The sums of further rows, as this member sees them."""


@stored("ClassShares")
@dataclass(frozen=True, eq=False)
class TrainedShares(MadeOfSums):
    """The shares of the classes: what is known of a row before it is looked at. sums: the weight of each class."""

    sums: MemberSums

    def log_posterior(self, rows: Array, X: Any = None) -> Array:
        return np.repeat(self.sums.log_priors[:, None], len(rows), axis=1)

    def summarize(self, rows: Array, codes: Any, count: int, weights: Array) -> MemberSums:
        return MemberSums(sums_by(codes, weights, count))


@stored("GivenMember")
@dataclass(frozen=True, eq=False)
class TrainedGiven(Trained):
    """A classifier of the caller's, which sees the rows as they came.

    model: fitted on all rows; it can be saved if it is one of classwise's.
    """

    model: Any

    def _is_sound(self) -> bool:
        return hasattr(self.model, "predict_proba") and len(self.model.classes_) > 1

    sees_rows: ClassVar[bool] = False

    def log_posterior(self, rows: Array, X: Any = None) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(self.model.predict_proba(X)).T

    def suits(self, count: int, width: int) -> bool:
        return len(self.model.classes_) == count and self.model.n_features_in_ == width


class Transformed(Trained):
    """Sees rows through a transform."""

    encoding: Encoding

    def mark_reach(self, places: Array) -> None:
        self.encoding.mark_reach(places)

    def suits(self, count: int, width: int) -> bool:
        """It scores rows with every level, and with none."""
        return self.encoding.width == width and self._scores(self.encoding.probes(), count)


class Bayesian(Transformed):
    """A prior and a density per class, of transformed rows."""

    classifier: BayesClassifier

    def log_posterior(self, rows: Array, X: Any = None) -> Array:
        return self.classifier.log_posterior(self.encoding(rows))

    @property
    def can_sample(self) -> bool:
        return self.encoding.is_plain

    def sample(self, codes: Codes, generator: np.random.Generator) -> Array:
        return self.encoding.inverse(self.classifier.density.sample(codes, generator), generator)

    def _is_sound(self) -> bool:
        """The density is of rows as the transform makes them: as many columns, and levels where these have them."""
        density, encoding = self.classifier.density, self.encoding
        blocks = density.as_blocks()
        found = [pair for block in blocks for pair in zip(block.columns.tolist(), _levels(block.density), strict=False)]
        levels = enumerate(map(len, encoding.categories if encoding.is_plain else ()), encoding.n_numbers)
        return density.n_features == encoding.n_encoded and sorted(found) == list(levels)


def _levels(density: Density) -> list[int]:
    """How many levels each column of categories has."""
    if isinstance(density, OneDependence):
        return [len(place) for place in density.columns]
    return [column.probability.shape[1] for column in density.columns] if isinstance(density, Categorical) else []


class DensityRecipe(ABC):
    """How sums become the densities of the classes that are there."""

    @abstractmethod
    def density(self, sums: MemberSums) -> Density:
        """Of transformed rows."""

    def classifier(self, sums: MemberSums) -> BayesClassifier:
        """Its labels are the positions of the classes."""
        return classifier_of(sums, self.density(sums))


def classifier_of(sums: MemberSums, density: Density) -> BayesClassifier:
    """The densities of the classes that are there, with their priors; its labels are the positions of the classes."""
    return BayesClassifier(sums.present, np.exp(sums.log_priors[sums.present]), density)


@stored("Generative")
@dataclass(frozen=True, eq=False)
class Generative(MadeOfSums, Bayesian):
    """Made by a recipe from sums over rows."""

    encoding: Encoding
    recipe: DensityRecipe
    sums: MemberSums

    @cached_property
    def classifier(self) -> BayesClassifier:  # type: ignore[override]  # an attribute, made when it is first asked for
        return self.recipe.classifier(self.sums)

    def summarize(self, rows: Array, codes: Codes, count: int, weights: Array) -> MemberSums:
        return gather_sums(self.encoding, rows, codes, count, weights, self.sums.pairs is not None)

    def _outline(self) -> "FixedMember":
        """The same without the sums."""
        return FixedMember(self.encoding, self.classifier)


@stored("FixedMember")
@dataclass(frozen=True, eq=False)
class FixedMember(Bayesian):
    """Not made of sums: it stays as it is."""

    encoding: Encoding
    classifier: BayesClassifier


def scored(classifier: BayesClassifier, encoded: Array) -> Array:
    """log P(k | x) of transformed rows, in threads; (m, g)."""
    size = max(BLOCK // classifier.density.width, 16)
    parts = [encoded[part] for part in slices(len(encoded), size)]
    return np.concatenate(in_threads(classifier.log_posterior, parts), axis=1).T


# Recipes --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CrossValidated:
    """log_posterior (n, g): of each row, under the member that had not seen its fold; trained: the member of all rows;
    note: what was chosen, in words.
    """

    log_posterior: Array
    trained: Trained
    note: str = ""


class ModelRecipe(ABC):
    """How transformed rows become a model, chosen by rows held out where there is something to choose."""

    def refuse(self, rows: FoldedRows, width: int) -> None:  # noqa: B027  most refuse none
        """Refuse a table that would take too long, before its columns of numbers, so many, are transformed further."""

    @abstractmethod
    def cross(self, rows: FoldedRows, encoding: Encoding) -> CrossValidated:
        """Try it on every fold, and learn from all rows."""


class Member(ABC):
    """What can be tried on rows. is_instant: it takes no time to speak of, and is tried however little is left.
    is_ours: it may be tried beside others.
    """

    name: str
    is_instant: ClassVar[bool] = False
    is_ours: ClassVar[bool] = True

    @abstractmethod
    def cross(self, rows: FoldedRows) -> CrossValidated:
        """Try it on every fold, and learn from all rows."""
