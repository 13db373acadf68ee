"""What a fitted logistic model answers: labels, probabilities with their intervals, reasons, boundaries."""

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from classwise.arrays import Array, Labels
from classwise.classifier.boundary import Boundary
from classwise.classifier.decision import RejectCurve, reject_curve
from classwise.classifier.evaluation import Evaluation
from classwise.classifier.explanation import Explanation
from classwise.classifier.shift import PriorShift, estimate_shift
from classwise.engines import MemoryEngine
from classwise.errors import ClasswiseError, UnscorableError, choose, fraction
from classwise.estimators.columns import check_columns
from classwise.estimators.fitted import SCORING_SIZE, codes_among, position_among, required
from classwise.estimators.report import SchemaReport
from classwise.logistic import MISSING, LogisticClassifier, LogisticModel, linear_boundary, linear_explanation
from classwise.logistic.predictive import POINTS
from classwise.rows.checks import refuse_unsuitable
from classwise.rows.reading import open_asked, open_row
from classwise.rows.table import Table


class LogisticAnswers(BaseEstimator):
    """Everything that can be asked of the model."""

    missing: str
    predictive: str
    model_: LogisticModel
    n_features_in_: int
    feature_names_in_: Labels

    def predict(self, X: Any) -> Labels:
        """The most probable label of each row; (n,). Ties go to the first label."""
        return self.classes_[self._apply(LogisticClassifier.decide, self._table(X))]

    def predict_proba(self, X: Any) -> Array:
        """P(k | x), averaged over the posterior of the weights; (n, g), columns in the order of `classes_`."""
        return self._apply(LogisticClassifier.posterior, self._table(X)).T

    def predict_log_proba(self, X: Any) -> Array:
        """log P(k | x), exact where the probability itself underflows; (n, g)."""
        return self._apply(LogisticClassifier.log_posterior, self._table(X)).T

    def decision_function(self, X: Any) -> Array:
        """log P(k | x) (n, g); for two classes the log odds of the second, (n,)."""
        scores = self._apply(LogisticClassifier.log_posterior, self._table(X))
        return scores.T if len(scores) > 2 else np.asarray(scores[1] - scores[0])

    def predict_interval(self, X: Any, level: float = 0.95) -> Array:
        """The central credible interval of P(k | x, weights), as the weights vary over their posterior; (n, g, 2).

        Exact for two classes. For more it is taken from 2048 points of the posterior, and its ends are good to about
        a hundredth of its width.

        >>> import classwise as cw
        >>> m = cw.BayesianLogistic(precision=1.0).fit([[0], [1], [2], [3]], ["no", "no", "yes", "yes"])
        >>> m.predict_interval([[3]])[0, 1].round(2).tolist(), round(float(m.predict_proba([[3]])[0, 1]), 2)
        ([0.16, 0.99], 0.71)
        """
        tail = (1 - fraction("level", level)) / 2
        ends = self._apply(lambda model, rows: model.interval(rows, tail, 1 - tail), self._table(X))
        return ends.transpose(2, 1, 0)

    def evaluate(self, X: Any, y: Any, sample_weight: Any = None) -> Evaluation:
        """Error, log loss, Brier score, confusion and calibration on labeled rows; evaluations of batches add up."""
        table = self._table(X, required(y), sample_weight).weighted()
        log_posterior = self._apply(LogisticClassifier.log_posterior, table).T
        return Evaluation.of(log_posterior, self._codes_of(table), self.classes_, table.weights)

    def estimate_priors(self, X: Any) -> PriorShift:
        """The class priors of rows without labels, whose classes may be mixed in other shares than those learned from.

        As of the other estimators; it takes posteriors alone. The result is for with_priors.
        """
        log_posterior = self._apply(LogisticClassifier.log_posterior, self._table(X)).T
        return estimate_shift(log_posterior, self.classes_, self.priors_)

    def reject_curve(self, X: Any, y: Any, sample_weight: Any = None) -> RejectCurve:
        """Error against coverage on labeled rows, as only the surest decisions are kept."""
        table = self._table(X, required(y), sample_weight).weighted()
        posterior = self._apply(LogisticClassifier.posterior, table).T
        return reject_curve(posterior, self._codes_of(table), table.weights)

    def explain(self, row: Any, label: Any = None, against: Any = None) -> Explanation:
        """Each column's share of the log odds of one label against another, for one row, at the most probable weights.

        A column's share is its weight times how far the row is from the mean of the column; what is left, the log odds
        of a row that is average in everything, is called the prior. They add up to the log odds. For the probit link
        they are the shares of the score, scaled to the log odds. row, label, against: as in the other estimators.

        >>> import classwise as cw
        >>> m = cw.BayesianLogistic(precision=1.0).fit([[1, 0], [2, 1], [6, 2], [7, 0]], ["low", "low", "high", "high"])
        >>> print(m.explain([3, 1]))
        log odds of 'low' against 'high': +0.3427
          prior     +0.01226
          0      3  +0.3947
          1      1  -0.06422
        """
        source = open_row(row, self._fitted().model_.schema.names)
        check_columns(self, source)
        table = source.read_like(self.model_.schema, self.model_.levels)
        if len(table) != 1:
            raise ClasswiseError(f"explain takes one row, not {len(table)}.")
        scores = self._apply(LogisticClassifier.log_posterior, table)[:, 0]
        second = None if against is None else self._position(against)
        first = _best(scores, second) if label is None else self._position(label)
        second = _best(scores, first) if second is None else second
        values = np.asarray(table.rows, dtype=np.float64)[0]
        return linear_explanation(self.model_, values, table.shown(0), first, second)

    def boundary(
        self, first: Any, second: Any, *, columns: Any = None, at: Mapping[Any, Any] | None = None
    ) -> Boundary:
        """f(x) = w'x + w0, at the most probable weights: positive where `first` is more probable than `second`.

        columns: the boundary in these columns of numbers alone, by name or position; the others stand at their means,
        or where `at` holds them: {column: value}. A category is held at a level, or stands between its levels.
        f is the log odds, and for the probit link the score. With two classes, P(first | x) is 1/2 where f = 0, also
        averaged over the posterior; with more, averaging bends the line a little.

        >>> import classwise as cw
        >>> m = cw.BayesianLogistic(precision=1.0).fit([[1, 0], [2, 1], [6, 2], [7, 0]], ["low", "low", "high", "high"])
        >>> m.boundary("high", "low").kind
        'line'
        """
        pair = self._position(first), self._position(second)
        return linear_boundary(self.model_, *pair, columns, at)

    # What was fitted ------------------------------------------------------------------------------------------------

    @property
    def classifier_(self) -> LogisticClassifier:
        """Labels, columns, likelihood and beliefs about the weights: what predicts, as `predictive` says now."""
        classifier = self._fitted().model_.classifier
        return classifier if self.predictive == classifier.predictive else classifier.predicting(self.predictive)

    @property
    def classes_(self) -> Labels:
        """The labels, sorted; (g,)."""
        return self.classifier_.labels

    @property
    def schema_(self) -> SchemaReport:
        """What each column was taken for: type, kind, levels, missing values; a table."""
        model = self._fitted().model_
        return SchemaReport.of(model.schema, model.levels, model.missing, model.notes)

    @property
    def families_(self) -> dict[Any, str]:
        """What each column was taken for, by name (or position)."""
        schema = self._fitted().model_.schema
        return {key: str(column.family) for key, column in zip(schema.names or range(len(schema)), schema, strict=True)}

    @property
    def priors_(self) -> Array:
        """The share of each class among the rows learned from, or what with_priors was given; (g,)."""
        shift, shares = self.classifier_.shift, self.model_.shares
        return shares * np.exp(shift) if shift else shares

    # Rows -----------------------------------------------------------------------------------------------------------

    def _table(self, X: Any, y: Any = None, sample_weight: Any = None) -> Table:
        self._fitted()
        source = open_asked(X, self.model_.schema.names)
        check_columns(self, source)
        return source.read_like(self.model_.schema, self.model_.levels, y, sample_weight)

    def _apply(self, function: Callable[[LogisticClassifier, Array], NDArray[Any]], table: Table) -> NDArray[Any]:
        """function(classifier, rows) of every chunk, side by side."""
        model, allow_missing = self.classifier_, choose("missing", self.missing, MISSING)

        def score(chunk: Table) -> NDArray[Any]:
            if not allow_missing:
                _refuse_missing(chunk)
            try:
                with np.errstate(over="ignore", invalid="ignore"):
                    return function(model, chunk.rows)
            except UnscorableError:
                refuse_unsuitable(chunk, allow_missing=True)
                raise

        return MemoryEngine().apply(score, table, self._scoring_rows())

    def _scoring_rows(self) -> int:
        """So many rows at once that what is computed of them fits in cache, or of draws and lattices in memory."""
        design, likelihood = self.classifier_.design, self.classifier_.likelihood
        plain = max(SCORING_SIZE // (design.room + 2 * likelihood.classes**2), design.merged_rows // 16)
        many = 64 * SCORING_SIZE // (POINTS * likelihood.classes)
        return max(min(plain, many), 64)

    def _codes_of(self, table: Table) -> NDArray[Any]:
        return codes_among(self.classes_, table.labels)

    def _position(self, label: Any) -> int:
        return position_among(self.classes_, label)

    def _fitted(self) -> Self:
        if not hasattr(self, "model_"):
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet; call fit first.")
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")


def _refuse_missing(chunk: Table) -> None:
    try:
        refuse_unsuitable(chunk, allow_missing=False)
    except ClasswiseError as problem:
        raise ClasswiseError(str(problem).replace("missing='integrate'", "missing='mean'")) from None


def _best(scores: Array, but: int | None) -> int:
    """The position of the largest score, but for one."""
    candidates = [k for k in range(len(scores)) if k != but]
    return max(candidates, key=lambda k: float(scores[k]))
