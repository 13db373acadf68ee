"""From a plan and statistics by fold to a chain of columns: means, covariances and terms of every fold."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from classwise.arrays import Array, Codes
from classwise.classifier.bayes import BayesClassifier
from classwise.classifier.plan import BlockPlan, Plan
from classwise.covariance import DiagonalCovariance, Fixed, FullCovariance, Recipe
from classwise.covariance.structures import tolerance
from classwise.selection.column_chain import LEAST_TERM, ColumnChain, ScoredRows, log_scales
from classwise.selection.crossing import PROBLEMS, Crossing, Fold, is_complete


@dataclass(frozen=True, eq=False)
class ChainRecipe:
    """How the columns of a plan are chained. recipe, floor: of the Gaussian columns; gaussian, others: the columns."""

    plan: BlockPlan
    crossing: Crossing
    recipe: Recipe
    floor: float
    gaussian: list[int]
    others: list[int]

    @classmethod
    def of(cls, plan: Plan, crossing: Crossing, columns: Sequence[int]) -> "ChainRecipe | None":
        """None where the model of some columns is not that of all, restricted: shrunk, spherical, with gaps."""
        removal = plan.numbers.removal() if isinstance(plan, BlockPlan) and plan.rank is None else None
        if removal is None or removal[0].shrinkage != Fixed(0.0):
            return None
        assert isinstance(plan, BlockPlan)
        recipe, floor = removal
        schema, joint = crossing.table.schema, recipe.structure is FullCovariance
        gaussian = [j for j in columns if j in set(schema.positions("gaussian"))]
        complete = all(is_complete(part.restrict(gaussian)) for part in crossing.statistics.parts) if gaussian else True
        complete = complete and not np.isnan(np.asarray(crossing.table.block(gaussian), dtype=np.float64)).any()
        if joint and (schema.candidates or not complete):
            return None
        if not joint and recipe.structure is not DiagonalCovariance:
            return None
        gaussian = gaussian if complete else []  # one by one, columns with gaps are like any others
        return cls(plan, crossing, recipe, floor, gaussian, [j for j in columns if j not in set(gaussian)])

    @property
    def is_joint(self) -> bool:
        return self.recipe.structure is FullCovariance

    def chain(self) -> ColumnChain:
        """The set of no columns, with all columns to be added."""
        rows, empty = self.rows, len(self.gaussian) if self.is_joint else 0
        terms = [self._terms(j) for j in self.others]
        means, variances, matrices = self._moments()
        values = np.asarray(self.crossing.table.block(self.gaussian), dtype=np.float64)[self.scored]
        away = (values.T[:, None] - rows.by_slot(means)) / np.sqrt(rows.spread(variances))
        if not self.is_joint:
            alone = -0.5 * away**2 + rows.spread(log_scales(variances))
            terms, away, variances = [*alone, *terms], away[:0], variances[:0]
        columns = self.others + self.gaussian if self.is_joint else self.gaussian + self.others
        shape = (len(terms), rows.classes, len(rows))
        return ColumnChain(
            rows,
            tuple(columns),
            rows.by_slot(self.log_priors)[None],
            np.maximum(np.array(terms), LEAST_TERM).reshape(shape),
            away[None],
            matrices[None],
            log_scales(variances),
            tolerance(max(empty, 1)),
        )

    @cached_property
    def scored(self) -> Codes:
        """The positions of the rows that are scored."""
        return np.flatnonzero(self.crossing.scored_weights)

    @cached_property
    def rows(self) -> ScoredRows:
        crossing, scored = self.crossing, self.scored
        shared = not self.gaussian or len(self.recipe.blend(self._training(crossing.each()[0])).values) == 1
        weights = crossing.scored_weights[scored]
        folds, codes = crossing.folds[scored], crossing.codes[scored]
        return ScoredRows(codes, folds, weights, len(crossing), len(crossing.labels), shared)

    @cached_property
    def log_priors(self) -> Array:
        """(F, g), -inf for a class that other folds lack."""
        priors = np.zeros((len(self.crossing), len(self.crossing.labels)))
        for f, fold in enumerate(self.crossing.each()):
            priors[f, self._known(fold)] = self.plan.class_priors(fold.training)
        with np.errstate(divide="ignore"):
            return np.log(priors)

    def _known(self, fold: Fold) -> Codes:
        """Where the classes of the other folds stand among all."""
        return np.searchsorted(self.crossing.labels, fold.training.labels)

    def _training(self, fold: Fold) -> Any:
        return fold.training.restrict(self.gaussian)

    def _moments(self) -> tuple[Array, Array, Array]:
        """Of the Gaussian columns: means (F, g, q), variances (q, k F) and correlations (q, q, k F)."""
        g, q, folds = len(self.crossing.labels), len(self.gaussian), len(self.crossing)
        k = 1 if self.rows.shared else g
        means: Array = np.zeros((folds, g, q))
        variances: Array = np.ones((q, k, folds))
        matrices: Array = np.zeros((q if self.is_joint else 0, q if self.is_joint else 0, k, folds))
        for f, fold in enumerate(self.crossing.each() if q else ()):
            training, known = self._training(fold), self._known(fold)
            own = [0] if k == 1 else known
            covariance = self.recipe.blend(training)
            means[f, known] = training.mean
            variances[:, own, f] = np.maximum(covariance.variances(), self._least(training)).T
            if self.is_joint:
                matrices[:, :, own, f] = np.moveaxis(covariance.matrices(), 0, -1)
        variances = variances.reshape(q, k * folds)
        scale = np.sqrt(np.where(variances > 0, variances, np.nan))  # a column that does not vary: NaN
        matrices = matrices.reshape(*matrices.shape[:2], k * folds)
        correlations = matrices / scale[:, None] / scale if self.is_joint else matrices
        return means, scale**2, correlations

    def _least(self, training: Any) -> Any:
        return self.floor * training.denoised().moments.overall_variance() if self.floor else 0.0

    def _terms(self, column: int) -> Array:
        """log p(x_j | k) of the rows, by the models of this column alone; (g, n), NaN if it cannot be fitted."""
        alone = self.crossing.restrict([column])
        terms = np.zeros((len(alone.codes), len(alone.labels)))
        try:
            for fold in alone.each():
                fit = fold.fit(self.plan)
                terms[fold.rows] = fold.spread(fit.labels, fit.apply(BayesClassifier.log_density, fold.read(fit)).T)
        except PROBLEMS:
            terms[:] = np.nan
        return np.take_along_axis(terms[self.scored].T, self.rows.slots, axis=0)
