"""Leave-one-out: what a model that has never seen a row says of it, for every row."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from classwise.arrays import Array, Codes, Labels, finite, log_normalize, log_sum_exp
from classwise.classifier.bayes import BayesClassifier, class_priors
from classwise.classifier.plan import BlockPlan, Fit
from classwise.covariance import DiagonalCovariance
from classwise.densities import Constant, Copies, Gaussian, Unseen
from classwise.densities.families import within_ranges
from classwise.engines.progress import progress
from classwise.errors import ClasswiseError, NotAvailableError, SingularRowWarning
from classwise.rows.sources import Source
from classwise.rows.table import Table
from classwise.selection.downdates import Downdates, groups_of
from classwise.statistics import ClassStatistics

# log p(x | k) of rows (m, p), or what it is up to a term for each row; (g, m).
DensityMethod: TypeAlias = Callable[[BayesClassifier, Array], Array]


def _relative(classifier: BayesClassifier, rows: Array) -> Array:
    relative = classifier.density.relative(rows, np.zeros_like(classifier.log_prior))
    finite(relative.max(axis=0))
    return relative


@dataclass(frozen=True, eq=False)
class LeavingOut:
    """The rows of a fitted model, each left out by itself.

    codes (n,): the class of each row. recount: whether priors are counted without the row too, rather than kept.
    """

    fit: Fit
    source: Source
    labels: Labels
    codes: Codes
    weights: Array | None
    recount: bool

    @property
    def statistics(self) -> ClassStatistics:
        return self.fit.statistics

    @property
    def classifier(self) -> BayesClassifier:
        return self.fit.model.classifier

    def log_posteriors(self, rows: Array) -> Array:
        """log P(k | x); (n, g)."""
        scores = self.log_joints(rows, _relative)
        calibration = self.classifier.calibration
        scores = scores if calibration is None else calibration(scores)
        scored = np.isfinite(scores).any(axis=0)
        scores[:, scored] = log_normalize(scores[:, scored])
        return scores.T

    def log_evidence(self, rows: Array) -> Array:
        """log p(x); (n,)."""
        if not self.classifier.density.is_density:
            raise NotAvailableError("families='complement' is no density of rows, and there is no evidence of one.")
        scores = self.log_joints(rows, BayesClassifier.log_density)
        evidence = np.full(scores.shape[1], -np.inf)
        scored = np.isfinite(scores).any(axis=0)
        evidence[scored] = log_sum_exp(scores[:, scored])
        return evidence

    def log_joints(self, rows: Array, method: DensityMethod) -> Array:
        """log prior_k + log p(x | k) (g, n); by downdating where that serves, and else by fitting without each row.

        rows (n, p): as the model scores them, for downdating. asked: of the others; up to a common term will do for
        posteriors.
        """
        downdates = removal_of(self.fit)
        if downdates is not None and downdates.statistics.n_features < rows.shape[1]:
            rows = rows[:, [column.place for column in downdates.statistics.schema]]
        downdates = None if np.isnan(rows).any() else downdates
        scores = np.full((len(self.statistics.labels), len(self.codes)), -np.inf)
        left = np.arange(len(self.codes)) if downdates is None else self._downdate(downdates, rows, scores)
        singular = []
        with progress("Leaving rows out", len(left)) as bar:
            for row in left.tolist():
                if not self._refit_without(row, scores, method):
                    singular.append(row)
                bar.step()
        if singular:
            self._warn(singular)
        return scores

    def _downdate(self, downdates: Downdates, rows: Array, scores: Array) -> Codes:
        """The scores of all rows that the formulas serve; the positions of the others."""
        remaining: list[Codes] = [np.empty(0, dtype=np.intp)]
        for k, weight, own in groups_of(self.codes, self.weights):
            try:
                if self.statistics.weight[k] - weight <= 1e-9 * weight:
                    raise ClasswiseError("The class has no other row.")
                loss = downdates.log_density(rows[own], k, weight)
            except (ClasswiseError, np.linalg.LinAlgError):
                remaining.append(own)
                continue
            scores[:, own] = loss.log_density + self._log_prior(k, weight)[:, None]
            remaining.append(own[loss.doubtful])
        return np.concatenate(remaining)

    def _log_prior(self, k: int, weight: float) -> Array:
        if not self.recount:
            return self.classifier.log_prior[:, 0]
        left = self.statistics.weight.copy()
        left[k] -= weight
        with np.errstate(divide="ignore"):
            return np.log(class_priors(self.fit.plan.priors, self.statistics.labels, left))

    def _refit_without(self, row: int, scores: Array, method: DensityMethod) -> bool:
        """The scores of a row from a model fitted without it; whether there is such a model."""
        scores[:, row] = -np.inf
        try:
            other, table = self._without(row)
            log_density = other.apply(method, table)[:, 0]
        except (ClasswiseError, np.linalg.LinAlgError):
            return False
        known = np.searchsorted(self.statistics.labels, other.labels)
        priors = other.model.classifier if self.recount else self.classifier
        scores[known, row] = log_density + (priors.log_prior[:, 0] if self.recount else priors.log_prior[known, 0])
        return True

    def _without(self, row: int) -> tuple[Fit, Table]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what there is to say was said when all rows were fitted
            # Priors may name classes that have no other row.
            others = within_ranges(self._statistics_without(row), self.statistics).among(self.statistics.labels)
            other = self.fit.plan.fit(others)
        alone = self.source.take(slice(row, row + 1))
        return other, alone.read_like(other.model.schema, other.model.levels)

    def _statistics_without(self, row: int) -> ClassStatistics:
        """The statistics of all other rows: a difference, unless what is counted was itself learned from all rows."""
        plan = self.fit.plan
        if plan.is_sum_of_rows(self.statistics):
            return self.statistics - plan.summarize(self.read(np.array([row])), self.statistics)
        return plan.summarize(self.read(np.delete(np.arange(len(self.codes)), row)))

    def read(self, rows: Codes) -> Table:
        """Some rows, as a fit reads them; what columns are is known."""
        source, weights = self.source.take(rows), None if self.weights is None else self.weights[rows]
        return source.read(self.fit.plan.families, self.labels[rows], weights, known=self.statistics.schema.columns)

    def _warn(self, singular: list[int]) -> None:
        shown = ", ".join(map(str, singular[:10])) + (", ..." if len(singular) > 10 else "")
        rows = "1 row" if len(singular) == 1 else f"{len(singular)} rows"
        warnings.warn(
            f"Without {rows} the model cannot be fitted, and -inf stands there for every class: {shown}.",
            SingularRowWarning,
            stacklevel=4,
        )


def removal_of(fit: Fit) -> Downdates | None:
    """What leaves rows out by formula, where classes are Gaussians alone that were estimated from complete rows."""
    removal = fit.plan.numbers.removal() if isinstance(fit.plan, BlockPlan) and fit.plan.rank is None else None
    density, statistics = fit.model.classifier.density, fit.statistics
    if removal is None or fit.model.levels or isinstance(density, Unseen):
        return None
    blocks = density.as_blocks()
    columns = [block.columns.tolist() for block in blocks if isinstance(block.density, Gaussian)]
    if not columns or not {type(block.density) for block in blocks} <= {Gaussian, Constant, Copies}:
        return None
    statistics = statistics if len(columns[0]) == len(statistics.schema) else statistics.part(columns[0])
    if statistics.numbers.has_gaps or statistics.moments.weight.shape[1] != 1:
        return None
    recipe, floor = removal
    statistics = statistics.by_column() if recipe.structure is DiagonalCovariance else statistics
    return Downdates(statistics.denoised(), recipe, floor)
