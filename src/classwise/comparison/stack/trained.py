"""Fitted members, which compute posteriors of rows; and the recipes that make them."""

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

# Former names of members, which older files and scripts still use.
FORMER = {"own covariances, bent": "own covariances, Yeo-Johnson", "softmax, steps": "softmax, quantile steps"}


def current_name(name: str) -> str:
    """The current name of a member.

    >>> current_name("softmax, steps")
    'softmax, quantile steps'
    """
    return FORMER.get(name, name)


class Trained(ABC):
    """A fitted member. sees_rows: whether rows of numbers are enough, without the caller's table."""

    sees_rows: ClassVar[bool] = True

    @abstractmethod
    def log_posterior(self, rows: Array, X: Any = None) -> Array:
        """log P(k | x) of rows of numbers (m, p); X: the same rows in the caller's table; (g, m)."""

    @property
    def can_sample(self) -> bool:
        """Whether it is a generative model, from which rows can be drawn."""
        return False

    def sample(self, codes: Codes, generator: np.random.Generator) -> Array:
        """A row drawn for each of the given classes; (m,) -> (m, p)."""
        raise NotImplementedError

    def mark_reach(self, places: Array) -> None:  # noqa: B027  some members know no ranges
        """Write the lowest, middle and highest values of columns of numbers into places (3, p), where known."""

    def suits(self, count: int, width: int) -> bool:
        """Whether it scores this many classes for rows of this width; checks members that are loaded from files."""
        return self._scores(np.full((1, width), np.nan), count)

    def _scores(self, rows: Array, count: int) -> bool:
        scores = self.log_posterior(rows)
        return scores.shape == (count, len(rows)) and not np.isnan(scores).any()


class MadeOfSums(Trained):
    """A member that is made of sums over rows alone, to which the sums of further rows can be added."""

    sums: MemberSums

    def relearned(self, sums: MemberSums) -> Trained:
        """The same member, made of other sums."""
        made: Any = self
        return replace(made, sums=sums)

    @abstractmethod
    def summarize(self, rows: Array, codes: Codes, count: int, weights: Array) -> MemberSums:
        """The sums of further rows, for this member."""


@stored("ClassShares")
@dataclass(frozen=True, eq=False)
class TrainedShares(MadeOfSums):
    """The class shares as posteriors of every row. sums: the weight of each class."""

    sums: MemberSums

    def log_posterior(self, rows: Array, X: Any = None) -> Array:
        return np.repeat(self.sums.log_priors[:, None], len(rows), axis=1)

    def summarize(self, rows: Array, codes: Any, count: int, weights: Array) -> MemberSums:
        return MemberSums(sums_by(codes, weights, count))


@stored("GivenMember")
@dataclass(frozen=True, eq=False)
class TrainedGiven(Trained):
    """A classifier of the caller, which gets the caller's table.

    model: fitted on all rows; only classwise models can be saved.
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
    """A member that transforms rows first."""

    encoding: Encoding

    def mark_reach(self, places: Array) -> None:
        self.encoding.mark_reach(places)

    def suits(self, count: int, width: int) -> bool:
        """Checked on rows that have every level, and missing ones."""
        return self.encoding.width == width and self._scores(self.encoding.probes(), count)


class Bayesian(Transformed):
    """A member with a prior and a density per class, on transformed rows."""

    classifier: BayesClassifier

    def log_posterior(self, rows: Array, X: Any = None) -> Array:
        return self.classifier.log_posterior(self.encoding(rows))

    @property
    def can_sample(self) -> bool:
        return self.encoding.is_plain

    def sample(self, codes: Codes, generator: np.random.Generator) -> Array:
        return self.encoding.inverse(self.classifier.density.sample(codes, generator), generator)

    def _is_sound(self) -> bool:
        """Whether the density fits the transformed rows: the same number of columns, and the same levels."""
        density, encoding = self.classifier.density, self.encoding
        blocks = density.as_blocks()
        found = [pair for block in blocks for pair in zip(block.columns.tolist(), _levels(block.density), strict=False)]
        levels = enumerate(map(len, encoding.categories if encoding.is_plain else ()), encoding.n_numbers)
        return density.n_features == encoding.n_encoded and sorted(found) == list(levels)


def _levels(density: Density) -> list[int]:
    """The number of levels of each category."""
    if isinstance(density, OneDependence):
        return [len(place) for place in density.columns]
    return [column.probability.shape[1] for column in density.columns] if isinstance(density, Categorical) else []


class DensityRecipe(ABC):
    """How sums become the densities of the classes that have rows."""

    @abstractmethod
    def density(self, sums: MemberSums) -> Density:
        """The density of transformed rows."""

    def classifier(self, sums: MemberSums) -> BayesClassifier:
        """The classifier, whose labels are the positions of the classes."""
        return classifier_of(sums, self.density(sums))


def classifier_of(sums: MemberSums, density: Density) -> BayesClassifier:
    """The classifier of the classes that have rows; its labels are the positions of the classes."""
    return BayesClassifier(sums.present, np.exp(sums.log_priors[sums.present]), density)


@stored("Generative")
@dataclass(frozen=True, eq=False)
class Generative(MadeOfSums, Bayesian):
    """A generative member that a recipe makes from sums over rows."""

    encoding: Encoding
    recipe: DensityRecipe
    sums: MemberSums

    @cached_property
    def classifier(self) -> BayesClassifier:  # type: ignore[override]  # an attribute, made when it is first asked for
        return self.recipe.classifier(self.sums)

    def summarize(self, rows: Array, codes: Codes, count: int, weights: Array) -> MemberSums:
        return gather_sums(self.encoding, rows, codes, count, weights, self.sums.pairs is not None)

    def _outline(self) -> "FixedMember":
        """The same member without its sums."""
        return FixedMember(self.encoding, self.classifier)


@stored("FixedMember")
@dataclass(frozen=True, eq=False)
class FixedMember(Bayesian):
    """A generative member without sums, which cannot learn further."""

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
    """The result of cross-validating a member. log_posterior (n, g): out-of-fold; trained: the member fitted on all
    rows; note: the chosen options, in words.
    """

    log_posterior: Array
    trained: Trained
    note: str = ""


class ModelRecipe(ABC):
    """How transformed rows become a model; options, if any, are chosen on held-out rows."""

    def refuse(self, rows: FoldedRows, width: int) -> None:  # noqa: B027  most refuse nothing
        """Raise an error for a table that would take too long; width: its columns of numbers, before the transform."""

    def suits(self, rows: FoldedRows) -> bool:
        """Whether the model is of use for as many rows and classes as there are."""
        return True

    @abstractmethod
    def cross(self, rows: FoldedRows, encoding: Encoding) -> CrossValidated:
        """Try it on every fold, and learn from all rows."""


class Member(ABC):
    """A model that a stack can use. is_instant: whether it takes almost no time, so that it is always tried; is_ours:
    whether it is from classwise, so that it can be fitted at the same time as others; is_flat: whether most of its work
    is one list of tasks, none of which waits for another.
    """

    name: str
    is_flat: ClassVar[bool] = False
    is_instant: ClassVar[bool] = False
    is_ours: ClassVar[bool] = True

    def suits(self, rows: FoldedRows) -> bool:
        """Whether it is tried as one of a set of members; a member that is given by name is always tried."""
        return True

    @abstractmethod
    def cross(self, rows: FoldedRows) -> CrossValidated:
        """Try it on every fold, and learn from all rows."""
