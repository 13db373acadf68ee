"""Averaged one-dependence estimators: every column a category, numbers by the quantiles between which they lie."""

from dataclasses import dataclass

from classwise.comparison.stack.encoding import Encoding, binned, encode, few_valued
from classwise.comparison.stack.member import Crossed, Member, Recipe, cross_recipes, refuse_nothing
from classwise.comparison.stack.study import Study
from classwise.comparison.stack.sums import FoldSums, Sums
from classwise.densities import Density, OneDependence
from classwise.errors import ClasswiseError
from classwise.storage import stored

# How many rows at the rates of all rows each class is given in advance, and how many at those of the class each level.
SMOOTHING = 2.0
BACKOFFS = (1.0, 8.0)

# Pairs of levels, by class: more are too many to hold and to look up.
MOST_PAIRS = 4e7


@stored("OneDependenceRecipe")
@dataclass(frozen=True)
class Averaged(Recipe):
    """backoff: how many rows at the rates of the class each level of a parent is given."""

    backoff: float

    def _is_sound(self) -> bool:
        return self.backoff > 0

    def density(self, sums: Sums) -> Density:
        assert sums.pairs is not None
        return OneDependence.estimate(sums.pairs.select(sums.present), SMOOTHING, self.backoff)

    def __str__(self) -> str:
        return f"backing off by {self.backoff:g} rows"


@dataclass(frozen=True, eq=False)
class Dependence(Member):
    """bins: how many ranges a column of numbers is cut into; fewer where there are many columns."""

    name: str
    bins: int = 7

    def cross(self, study: Study) -> Crossed:
        encoding = self._encoding(study)
        folds = FoldSums.gather(study, encoding, pairs=True)
        refuse_nothing(folds.encoded)
        if all(len(category) < 2 for category in encoding.categories):
            raise ClasswiseError("No column varies.")
        recipes = [Averaged(backoff) for backoff in BACKOFFS]
        best, crossed = cross_recipes(study, encoding, folds, recipes)
        return Crossed(crossed.log_posterior, crossed.trained, str(recipes[best]))

    def _encoding(self, study: Study) -> Encoding:
        plain = encode(study.rows, study.levels, study.weights, few_valued(study.rows, study.numbers))
        for bins in range(self.bins, 1, -1):
            encoding = binned(plain, study.rows, study.weights, bins)
            levels = sum(len(category) for category in encoding.categories)
            if study.count * levels**2 <= MOST_PAIRS:
                return encoding
        raise ClasswiseError(f"The columns have {levels} levels in all, and too many pairs of them.")
