"""Leave-one-out: what a model that has never seen a row says of it, for every row."""

import warnings
from dataclasses import dataclass

import numpy as np

from classwise.arrays import Array, Codes, Labels, log_sum_exp
from classwise.classifier.bayes import BayesClassifier, class_priors
from classwise.engines.progress import progress
from classwise.errors import ClasswiseError, SingularRowWarning
from classwise.estimators.fitted import Fitted
from classwise.rows.reading import Source
from classwise.rows.table import Table
from classwise.selection import Downdates, groups_of
from classwise.statistics import ClassStatistics


@dataclass(frozen=True, eq=False)
class LeavingOut:
    """The rows of a fitted model, each left out by itself.

    codes (n,): the class of each row. recount: whether priors are counted without the row too, rather than kept.
    """

    model: Fitted
    source: Source
    labels: Labels
    codes: Codes
    weights: Array | None
    recount: bool

    @property
    def statistics(self) -> ClassStatistics:
        return self.model.statistics_

    def log_posteriors(self, downdates: Downdates | None, rows: Array) -> Array:
        """log P(k | x); (n, g)."""
        scores = self.log_joints(downdates, rows)
        calibration = self.model.classifier_.calibration
        scores = scores if calibration is None else calibration(scores)
        scored = np.isfinite(scores).any(axis=0)
        scores[:, scored] -= log_sum_exp(scores[:, scored])
        return scores.T

    def log_joints(self, downdates: Downdates | None, rows: Array) -> Array:
        """log prior_k + log p(x | k) (g, n); by downdating where that serves, and else by fitting without each row.

        rows (n, p): as the model scores them, for downdating.
        """
        scores = np.full((len(self.statistics.labels), len(self.codes)), -np.inf)
        left = np.arange(len(self.codes)) if downdates is None else self._downdate(downdates, rows, scores)
        singular = []
        with progress("Leaving rows out", len(left)) as bar:
            for row in left.tolist():
                if not self._refit_without(row, scores):
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
            return self.model.classifier_.log_prior[:, 0]
        left = self.statistics.weight.copy()
        left[k] -= weight
        with np.errstate(divide="ignore"):
            return np.log(class_priors(self.model.priors, self.statistics.labels, left))

    def _refit_without(self, row: int, scores: Array) -> bool:
        """The scores of a row from a model fitted without it; whether there is such a model."""
        scores[:, row] = -np.inf
        try:
            fitted, table = self._without(row)
            log_density = fitted._apply(BayesClassifier.log_density, table)[:, 0]
        except (ClasswiseError, np.linalg.LinAlgError):
            return False
        known = np.searchsorted(self.statistics.labels, fitted.classes_)
        priors = fitted.classifier_ if self.recount else self.model.classifier_
        scores[known, row] = log_density + (priors.log_prior[:, 0] if self.recount else priors.log_prior[known, 0])
        return True

    def _without(self, row: int) -> tuple[Fitted, Table]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what there is to say was said when all rows were fitted
            # Priors may name classes that have no other row.
            others = self._statistics_without(row).among(self.statistics.labels)
            fitted = self.model._unfitted().fit_statistics(others)
        alone = self.source.take(slice(row, row + 1))
        return fitted, alone.read_like(fitted.model_.schema, fitted.model_.levels)

    def _statistics_without(self, row: int) -> ClassStatistics:
        """The statistics of all other rows: a difference, unless what is counted was itself learned from all rows."""
        form = type(self.statistics.moments.scatter)
        if self.model._is_sum_of_rows:
            return self.statistics - self.model._summarize(self.read(np.array([row])), form, self.statistics)
        return self.model._summarize(self.read(np.delete(np.arange(len(self.codes)), row)), form)

    def read(self, rows: Codes) -> Table:
        """Some rows, as a fit reads them; what columns are is known."""
        source, weights = self.source.take(rows), None if self.weights is None else self.weights[rows]
        return source.read(self.model.families, self.labels[rows], weights, known=self.statistics.schema.columns)

    def _warn(self, singular: list[int]) -> None:
        shown = ", ".join(map(str, singular[:10])) + (", ..." if len(singular) > 10 else "")
        rows = "1 row" if len(singular) == 1 else f"{len(singular)} rows"
        warnings.warn(
            f"Without {rows} the model cannot be fitted, and -inf stands there for every class: {shown}.",
            SingularRowWarning,
            stacklevel=4,
        )
