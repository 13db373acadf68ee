"""A Student-t whose covariance all classes share, over numbers and indicators of levels together.

It is linear discriminant analysis with means and covariance integrated out; the strength of the prior is the one under
which the rows are most probable.
"""

from dataclasses import dataclass

from classwise.comparison.stack.encoding import encode
from classwise.comparison.stack.member import Crossed, Member, Recipe, cross_recipes, refuse_nothing
from classwise.comparison.stack.study import Study
from classwise.comparison.stack.sums import FoldSums, Sums
from classwise.covariance import FullCovariance, PriorForm, most_probable_form
from classwise.densities import Density, predictive
from classwise.storage import stored


@stored("SharedCovariance")
@dataclass(frozen=True)
class Shared(Recipe):
    """form: the prior."""

    form: PriorForm

    def density(self, sums: Sums) -> Density:
        assert sums.moments is not None
        statistics = sums.moments.denoised()
        prior = self.form.of(statistics.moments).within(FullCovariance)
        return predictive(prior.updated(statistics, shared=True))

    def __str__(self) -> str:
        return f"prior worth {max(self.form.freedom - 2, 0):.3g} rows"


@dataclass(frozen=True, eq=False)
class SharedCovariance(Member):
    """Numbers, perhaps bent, and an indicator for each frequent level."""

    name: str
    bend: bool = False

    def cross(self, study: Study) -> Crossed:
        encoding = encode(study.rows, study.levels, study.weights).with_indicators(study.rows, study.weights)
        encoding = study.bent(encoding) if self.bend else encoding
        folds = FoldSums.gather(study, encoding)
        refuse_nothing(folds.encoded)
        moments = folds.total().moments
        assert moments is not None
        recipe = Shared(most_probable_form(moments.denoised(), FullCovariance, shared=True))
        _, crossed = cross_recipes(study, encoding, folds, [recipe])
        return Crossed(crossed.log_posterior, crossed.trained, str(recipe))
