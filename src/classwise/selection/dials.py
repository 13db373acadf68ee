"""The dials by themselves: share and shrink chosen by cross-validated log loss."""

from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array, Codes, sums_by
from classwise.classifier.plan import BlockPlan
from classwise.covariance import Fixed, is_cv, read_dials, read_shrinkage
from classwise.densities import Density, Gaussian, Product
from classwise.densities.blocks import refuse_constant
from classwise.densities.numbers import Estimated
from classwise.engines import in_threads
from classwise.engines.messages import Shared
from classwise.engines.progress import progress
from classwise.engines.workers import away
from classwise.errors import ClasswiseError, SingularCovarianceError
from classwise.selection.choice import Choice
from classwise.selection.crossing import Crossing, Fold, is_complete, selection_weights
from classwise.selection.path import Path
from classwise.storage import stored

# What is tried: ends, and more values where little changes much.
SHARES = (0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 1.0)
SHRINKS = (0.0, 1e-5, 1e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.7, 0.85, 1.0)

# Where numbers are missing, each pair of values takes a fit of its own: fewer are tried.
FEW_SHARES = (0.0, 0.1, 0.35, 0.65, 0.9, 1.0)
FEW_SHRINKS = (0.0, 1e-3, 0.01, 0.1, 0.3, 0.7)

# Gaps are filled as these expect: the first that can be fitted.
MIDDLE_DIALS = ((0.5, 0.1), (0.9, 0.5), (1.0, 1.0))


@stored("DialChoice", loose=("by_fold",))
@dataclass(frozen=True, eq=False, repr=False)
class DialChoice(Choice[tuple[Any, Any]]):
    """The cross-validated log loss of every share and shrink that was tried (shares, shrinks), and the best of them:
    of equals, the one that shares and shrinks most.
    """

    what = "share and shrink"
    attribute = "dials_"

    shares: tuple[Any, ...]
    shrinks: tuple[Any, ...]

    def _is_sound(self) -> bool:
        return self.by_fold.shape[1:] == (len(self.shares), len(self.shrinks)) and super()._is_sound()

    def value(self, position: int) -> tuple[Any, Any]:
        i, j = divmod(position, len(self.shrinks))
        return self.shares[i], self.shrinks[j]

    def options(self, value: tuple[Any, Any]) -> dict[str, Any]:
        return dict(zip(("share", "shrink"), value, strict=True))

    def settled(self, plan: BlockPlan, value: tuple[Any, Any]) -> BlockPlan:
        return with_dials(plan, *value)

    def __repr__(self) -> str:
        share, shrink = self.best
        tried = f"{len(self.shares)} x {len(self.shrinks)}"
        return f"DialChoice(share={share}, shrink={shrink}, log loss {self.log_loss.min():.4g}, best of {tried})"


def with_dials(plan: BlockPlan, share: Any, shrink: Any) -> BlockPlan:
    """The plan with other values of the dials."""
    numbers = plan.numbers
    assert isinstance(numbers, Estimated)
    sharing, shrinkage = read_dials(share, shrink)
    recipe = replace(numbers.recipe, sharing=sharing, shrinkage=shrinkage)
    return plan.learning(replace(numbers, recipe=recipe, dials=(share, shrink)))


def choose_dials(plan: BlockPlan, crossing: Crossing) -> DialChoice:
    """Every value of the dials that are set to "cv", with the other as it is; plan has no other choices to make."""
    assert isinstance(plan.numbers, Estimated)
    share, shrink = plan.numbers.dials
    whole = _has_path(shrink, crossing)
    shares = (SHARES if whole else FEW_SHARES) if is_cv(share) else (share,)
    shrinks = (SHRINKS if whole else FEW_SHRINKS) if is_cv(shrink) else (shrink,)
    refuse_constant(crossing.statistics.total())
    weights = selection_weights(plan.priors, crossing)
    tries = Tries(plan, crossing.shared, shares, shrinks, weights)
    losses = tries.by_path() if whole else tries.one_by_one()
    return DialChoice(losses, sums_by(crossing.folds, weights, len(crossing)), shares, shrinks)


def _has_path(shrink: Any, crossing: Crossing) -> bool:
    """Amounts of shrinking that are numbers, and no gaps in the columns of the Gaussian."""
    some = bool(crossing.table.schema.positions("gaussian"))
    complete = all(is_complete(part.of_numbers()) for part in crossing.statistics.parts)
    return some and complete and (is_cv(shrink) or isinstance(read_shrinkage(shrink), Fixed))


@dataclass(frozen=True, eq=False)
class Tries:
    """Values to try on a plan; weights (n,): 0 for rows that say nothing."""

    plan: BlockPlan
    shared: Shared[Crossing]
    shares: tuple[Any, ...]
    shrinks: tuple[Any, ...]
    weights: Array

    @property
    def crossing(self) -> Crossing:
        return self.shared.value

    def by_path(self) -> Array:
        """All amounts of shrinking at once, for each share; (folds, shares, shrinks)."""
        with progress("Choosing dials", len(self.crossing)) as bar:
            folds = range(len(self.crossing))
            return np.array(in_threads(lambda fold: away(Tries.path_losses, self, fold), folds, bar.step))

    def path_losses(self, number: int) -> Array:
        """The losses of the rows of a fold; (shares, shrinks)."""
        fold = self.crossing.each()[number]
        try:
            gaussian = GaussianSplit.of(fold, with_dials(self.plan, 1.0, 1.0))
        except SingularCovarianceError:  # no feature varies within classes
            return np.full((len(self.shares), len(self.shrinks)), np.inf)
        if not len(gaussian.columns):  # no number varies at all: the dials make no difference
            return np.zeros((len(self.shares), len(self.shrinks)))
        kept = fold.rows[self.weights[fold.rows] > 0]
        numbers, scores = gaussian.split(np.isin(fold.rows, kept, assume_unique=True))
        codes = np.searchsorted(fold.training.labels, self.crossing.labels[self.crossing.codes[kept]])
        statistics = fold.training.part(gaussian.columns.tolist())
        amounts = np.array(self.shrinks, dtype=np.float64)
        losses = []
        for share in self.shares:
            tried = with_dials(self.plan, share, 1.0).numbers
            assert isinstance(tried, Estimated)
            path = Path.of(statistics, tried.recipe, amounts)
            losses.append(path.losses(numbers, codes, scores, self.weights[kept]))
        return np.stack(losses)

    def one_by_one(self) -> Array:
        """Each pair of values is a model of its own, on rows whose gaps were filled once; (folds, shares, shrinks)."""
        losses = np.zeros((len(self.crossing), len(self.shares), len(self.shrinks)))
        possible = self._possible()
        middle = self.crossing.started([with_dials(self.plan, *dials) for dials in MIDDLE_DIALS])
        with progress("Choosing dials", losses.size) as bar:
            for f, fold in enumerate(self.crossing.each()):
                filled = fold.completed(middle)
                for (i, share), (j, shrink) in product(enumerate(self.shares), enumerate(self.shrinks)):
                    plan = with_dials(self.plan, share, shrink)
                    losses[f, i, j] = filled.loss(plan, self.weights) if possible[i, j] else np.inf
                    bar.step(f"share {share}, shrink {shrink}")
        return losses

    def _possible(self) -> NDArray[np.bool_]:
        """Which pairs EM can fit to all rows; without shrinking it may have nowhere to go; (shares, shrinks).

        The less is shared, the more rows it takes: where one share is too little, smaller ones are too.
        """
        possible = np.ones((len(self.shares), len(self.shrinks)), dtype=bool)
        if self.shrinks[0] == 0:
            for i in reversed(range(len(self.shares))):
                if not self._is_fitted(with_dials(self.plan, self.shares[i], 0.0)):
                    possible[: i + 1, 0] = False
                    break
        return possible

    def _is_fitted(self, plan: BlockPlan) -> bool:
        try:
            plan.roughly().model(self.crossing.statistics.total())
        except (ClasswiseError, np.linalg.LinAlgError):
            return False
        return True


@dataclass(frozen=True, eq=False)
class GaussianSplit:
    """Rows held out (m, p), which of their columns are the Gaussian's, and the density of the others, with priors."""

    rows: Array
    columns: Codes
    others: Density | None
    log_prior: Array

    @classmethod
    def of(cls, fold: Fold, plan: BlockPlan) -> "GaussianSplit":
        """plan: with a Gaussian that is easily fitted; it is not looked at."""
        fit = fold.fit(plan)
        density, rows = fit.model.classifier.density, fold.read(fit).rows
        others = tuple(block for block in density.as_blocks() if not isinstance(block.density, Gaussian))
        columns = cls.columns_of(density)
        return cls(rows, columns, Product(others) if others else None, fit.model.classifier.log_prior)

    @staticmethod
    def columns_of(density: Density) -> Codes:
        """The columns of the Gaussian."""
        blocks = density.as_blocks()
        return next((block.columns for block in blocks if isinstance(block.density, Gaussian)), np.empty(0, np.intp))

    def split(self, kept: Any) -> tuple[Array, Array]:
        """The Gaussian's columns of some rows, and the log joint of the class and all other columns; (m, r), (g, m)."""
        rows = np.asarray(self.rows[kept], dtype=np.float64)
        numbers = rows if len(self.columns) == rows.shape[1] else rows[:, self.columns]
        if self.others is None:
            return numbers, self.log_prior
        return numbers, self.others.observed(rows, self.log_prior)
