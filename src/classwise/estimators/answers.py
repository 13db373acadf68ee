"""What every fitted model answers: labels, probabilities, evaluations, reasons; once, on the Classifier protocol."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError

from classwise.arrays import Array, Labels
from classwise.classifier.bayes import Classifier, FittedModel, score
from classwise.classifier.decision import RejectCurve, reject_curve
from classwise.classifier.evaluation import Evaluation
from classwise.classifier.explanation import Explanation
from classwise.classifier.flip import smallest_flip
from classwise.classifier.shift import PriorShift, estimate_shift
from classwise.errors import ClasswiseError, whole
from classwise.estimators.columns import check_columns
from classwise.estimators.fit_summary import FitSummary, SummaryTable, fit_summary, left_out
from classwise.estimators.importance import Importance, LossSums, loss_sums
from classwise.rows.codes import code_labels, positions
from classwise.rows.schema import SchemaReport
from classwise.rows.sources import open_asked, open_row, required
from classwise.rows.table import INTEGRATE, Table


class Answers(ClassifierMixin, BaseEstimator):
    """Everything that can be asked of a model, whatever it is.

    A subclass has `model_`, a FittedModel, once it is fitted; it says what its priors are, and what each column adds to
    the log odds of a row.
    """

    # The attribute whose presence says that the estimator is fitted, and what to call for it.
    _fitted_by: ClassVar[tuple[str, str]] = ("model_", "fit")
    _remedy: ClassVar[str] = INTEGRATE

    if TYPE_CHECKING:  # what is declared is read from files, and only a stack keeps its labels by themselves
        classes_: Labels

    n_features_in_: int
    feature_names_in_: Labels

    @property
    def _fitted_model(self) -> FittedModel:
        """The fitted model: a classifier, and the columns of its rows."""
        model: FittedModel = self._fitted().model_
        return model

    @property
    def _strict(self) -> bool:
        """Whether missing values are refused."""
        return False

    @property
    def _integrates(self) -> bool:
        """Whether posteriors of rows with gaps are those of the columns that are there, exactly."""
        return False

    @property
    @abstractmethod
    def priors_(self) -> Array:
        """The prior of each class; (g,)."""

    @abstractmethod
    def _reasons(self, table: Table, first: int, second: int) -> Explanation:
        """What each column of the one row of a table adds to the log odds of two classes."""

    # Rows -----------------------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> Labels:
        """The most probable label of each row; (n,). Ties go to the first label."""
        chosen = self._apply(_decide, self._table(X))
        return self.classes_[chosen]

    def predict_proba(self, X: Any) -> Array:
        """P(k | x); (n, g), columns in the order of `classes_`."""
        return self._apply(_posterior, self._table(X)).T

    def predict_log_proba(self, X: Any) -> Array:
        """log P(k | x), exact where the probability itself underflows; (n, g)."""
        return self._apply(_log_posterior, self._table(X)).T

    def decision_function(self, X: Any) -> Array:
        """log P(k | x) (n, g); for two classes the log odds of the second, (n,)."""
        if len(self._fitted().classes_) > 2:
            return self.predict_log_proba(X)
        scores = self._apply(_announced, self._table(X))
        return np.asarray(scores[1] - scores[0])

    def evaluate(self, X: Any, y: Any, sample_weight: Any = None) -> Evaluation:
        """How good the model is on labeled rows: print the answer, or read its measures. Those of batches add up.

        >>> import classwise as cw
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> found = cw.LDA().fit(X[::2], y[::2]).evaluate(X[1::2], y[1::2])
        >>> print(found)
        Right on 96 of 100 rows (95 % interval 89 to 99), 75 rows.
        <BLANKLINE>
        measure             value     95 % interval
        accuracy           0.9600  0.8889 to 0.9863
        balanced accuracy  0.9600
        log loss           0.0779  0.0000 to 0.1602
        Brier score        0.0486
        AUC                0.9979
        calibration error  0.0269
        <BLANKLINE>
        class  precision  recall     f1  support
        0          1.000   1.000  1.000       25
        1          0.923   0.960  0.941       25
        2          0.958   0.920  0.939       25
        <BLANKLINE>
        true \\ predicted   0   1   2
        0                 25   0   0
        1                  0  24   1
        2                  0   2  23
        >>> found.confusion
        array([[25.,  0.,  0.],
               [ 0., 24.,  1.],
               [ 0.,  2., 23.]])
        """
        table = self._labeled(X, y, sample_weight)
        log_posterior = self._apply(_log_posterior, table).T
        return Evaluation.of(log_posterior, self._codes_of(table), self.classes_, table.weights)

    def reject_curve(self, X: Any, y: Any, sample_weight: Any = None) -> RejectCurve:
        """Error against coverage on labeled rows, as only the surest decisions are kept.

        >>> import classwise as cw
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> curve = cw.LDA().fit(X, y).reject_curve(X, y)
        >>> round(curve.at(1.0), 4), curve.at(0.9)
        (0.02, 0.0)
        """
        table = self._labeled(X, y, sample_weight)
        return reject_curve(self._apply(_posterior, table).T, self._codes_of(table), table.weights)

    def estimate_priors(self, X: Any) -> PriorShift:
        """The class priors of rows without labels, whose classes may be mixed in other shares than those learned from.

        A mapping from label to prior, for with_priors: the most probable priors, if the rows refute the model's, and
        else those of the model. It also has standard errors and the test.

        >>> import classwise as cw, numpy as np
        >>> rng = np.random.default_rng(0)
        >>> m = cw.LDA().fit(np.r_[rng.normal(0, 1, 500), rng.normal(3, 1, 500)][:, None], [0] * 500 + [1] * 500)
        >>> m.estimate_priors(np.r_[rng.normal(0, 1, 900), rng.normal(3, 1, 100)][:, None])
        PriorShift: the priors have shifted (chi-square 569.2, p = 8.17e-126)
          0: 0.5 -> 0.8995 ± 0.011
          1: 0.5 -> 0.1005 ± 0.011
        """
        return estimate_shift(self.predict_log_proba(X), self.classes_, self.priors_)

    def explain(self, row: Any, label: Any = None, against: Any = None) -> Explanation:
        """Why one row is taken for a class: what each column says, and the smallest change that changes the decision.

        row: a table of one row, a mapping from column to value, or the values in order. label: the most probable one,
        unless given; against: the most probable of the others. Shares of the log odds of the two labels add up to
        them, with the prior's and with what belongs to no single column: the volumes of joint Gaussians, what columns
        of a stack say together. A model of the rows takes the share of a column from its densities; logistic
        regression from its weight times how far the row is from the column's mean; a stack from what the log odds
        would be without the column.

        `flip` is the smallest change of one column, in its standard deviations, after which the model decides for
        another class; where you name classes, for the one of them that it does not decide for now.

        >>> import classwise as cw
        >>> m = cw.LDA().fit([[1, 0], [2, 1], [3, 0], [6, 2], [7, 0], [8, 1]], ["low"] * 3 + ["high"] * 3)
        >>> print(m.explain([4, 1]))
        low with probability 94.0 %, high with 6.0 %.
        <BLANKLINE>
        column    value  speaks for   odds  log odds
        column 0      4  low          x 77    +4.345
        column 1      1  high        x 4.9    -1.586
        prior            neither       x 1        +0
        total            low          x 16    +2.759
        <BLANKLINE>
        It would be high if column 0 were at least 4.32 (now 4).
        """
        model = self._fitted_model
        source = open_row(row, model.schema.names)
        check_columns(self, source)
        table = source.read_like(model.schema, model.levels)
        if len(table) != 1:
            raise ClasswiseError(f"explain takes one row, not {len(table)}.")
        scores = self._apply(_log_posterior, table)[:, 0]
        second = None if against is None else self._position(against)
        first = _best(scores, second) if label is None else self._position(label)
        other = _best(scores, first) if second is None else second
        reasons = self._reasons(table, first, other)
        best = _best(scores, None)
        wanted = None if label is None and against is None else other if first == best else first
        chances = np.exp(scores[[first, other]]).tolist()
        flip = smallest_flip(self._classifier, model, table, list(reasons.shares.values()), wanted)
        return replace(reasons, probability=chances[0], other_probability=chances[1], flip=flip)

    # Columns --------------------------------------------------------------------------------------------------------

    def importance(
        self, X: Any, y: Any, sample_weight: Any = None, *, repeats: int = 5, random_state: Any = 0
    ) -> Importance:
        """Which columns matter: how much the log loss on labeled rows rises without each of them.

            importance_j = mean over rows of  log P(y | x) - log P(y | x without x_j)

        A model that integrates missing values out is asked without the column, exactly. Logistic regression, a stack
        and models with missing="level" are asked with the values of the column shuffled among the rows, `repeats`
        times, by random_state. The standard error is that of the paired differences over rows, and over shuffles.
        Rows that the model has not learned from say most; `held_out_importance` holds rows out by itself.

        >>> import classwise as cw
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> print(cw.LDA().fit(X[::2], y[::2]).importance(X[1::2], y[1::2]))
        How much the log loss rises without each column (with all: 0.07794, 75 rows).
        <BLANKLINE>
        petal length (cm)  ███████████████████████████████████████████  0.0753 ± 0.0403
        petal width (cm)   █████████████████                            0.0301 ± 0.0531
        sepal length (cm)  █████                                        0.0081 ± 0.0101
        sepal width (cm)   ███                                          0.0049 ± 0.0198
        <BLANKLINE>
        ± is one standard error. Each column was integrated out exactly.
        """
        table = self._labeled(X, y, sample_weight)
        sums = self._loss_sums(table, whole("repeats", repeats, 1), read_seed(random_state))
        schema = self._fitted_model.schema
        return Importance.of(sums, schema.names or range(len(schema)), left_out(self), self._integrates)

    def _loss_sums(self, table: Table, repeats: int, seed: int) -> LossSums:
        """The losses of the rows of a table, with each column and without."""
        return loss_sums(self, table, repeats, seed)

    # What was fitted ------------------------------------------------------------------------------------------------

    def summary(self) -> FitSummary:
        """What was learned, to look at, and what `print(m)` shows: rows, priors, and what was estimated.

        Gaussian classifiers show the means of each class, and the log determinants of the covariances where classes
        have their own. LDA also has the coefficients of its linear discriminants, and each one's share of the
        between-class variance. Naive Bayes, AODE and mixtures show each column by itself, logistic regression its
        weights, a stack its members. Long tables are cut: `means_`, `covariances_`, `parameters_` and
        `coefficients()` have everything.

        >>> import classwise as cw
        >>> m = cw.QDA().fit([[1, 0], [2, 1], [3, 0], [6, 2], [7, 0], [9, 1]], ["low"] * 3 + ["high"] * 3)
        >>> print(m)
        QDA()
        6 rows, 2 classes, 2 columns
        <BLANKLINE>
        Classes
              rows  prior     log|C|
        high     3    0.5  -0.076961
        low      3    0.5    -1.9095
        <BLANKLINE>
        Means
              high      low
        x0  7.3333        2
        x1       1  0.33333
        """
        return fit_summary(self._fitted(), self._summary_tables())

    def _summary_tables(self) -> list[SummaryTable]:
        """What is to be told after the classes."""
        return []

    def _weight_learned(self) -> tuple[int, Array] | None:
        """How many rows were learned from, and the weight of each class (g,), where they are known."""
        return None

    def _log_determinants(self) -> Array | None:
        """log|C_k| of each class (g,), where it is worth telling: classes have their own, and it is of many columns."""
        return None

    @property
    def schema_(self) -> SchemaReport:
        """What each column was taken for: type, kind, family, levels, missing values; a table."""
        model = self._fitted_model
        return SchemaReport.of(model.schema, model.levels, model.missing, model.notes)

    @property
    def families_(self) -> dict[Any, str]:
        """The family of each column, by name (or position)."""
        schema = self._fitted_model.schema
        return {key: str(column.family) for key, column in zip(schema.names or range(len(schema)), schema, strict=True)}

    # ----------------------------------------------------------------------------------------------------------------

    def _table(self, X: Any, y: Any = None, sample_weight: Any = None) -> Table:
        model = self._fitted_model
        source = open_asked(X, model.schema.names)
        check_columns(self, source)
        return source.read_like(model.schema, model.levels, y, sample_weight)

    def _labeled(self, X: Any, y: Any, sample_weight: Any) -> Table:
        """Labeled rows that count."""
        return self._table(X, required(y), sample_weight).weighted()

    def _apply(self, function: Callable[[Any, Array], NDArray[Any]], table: Table) -> NDArray[Any]:
        """function(classifier, rows) of every chunk, side by side; where values are missing, of what is left."""
        return score(function, self._classifier, table, strict=self._strict, remedy=self._remedy)

    @property
    def _classifier(self) -> Classifier:
        """What makes posteriors of rows."""
        classifier: Classifier = self._fitted_model.classifier
        return classifier

    def _codes_of(self, table: Table) -> NDArray[Any]:
        return codes_among(self.classes_, table.labels)

    def _position(self, label: Any) -> int:
        return position_among(self.classes_, label)

    def __str__(self) -> str:
        """The summary of a fitted model; before, the options, as repr shows them."""
        try:
            return str(self.summary())
        except (ClasswiseError, NotFittedError):  # early batches do not make a model yet
            return repr(self)

    def _fitted(self) -> Self:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet; call {self._fitted_by[1]} first.")
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return self._fitted_by[0] in self.__dict__


# Of a classifier and rows (m, p), class by class; see Classifier.


def _decide(classifier: Classifier, rows: Array) -> NDArray[Any]:
    return classifier.decide(rows)


def _posterior(classifier: Classifier, rows: Array) -> Array:
    return classifier.posterior(rows)


def _log_posterior(classifier: Classifier, rows: Array) -> Array:
    return classifier.log_posterior(rows)


def _announced(classifier: Classifier, rows: Array) -> Array:
    return classifier.announced(rows)


def _best(scores: Array, but: int | None) -> int:
    """The position of the largest score, but for one."""
    candidates = [k for k in range(len(scores)) if k != but]
    return max(candidates, key=lambda k: float(scores[k]))


def codes_among(classes: Labels, labels: Labels | None) -> NDArray[Any]:
    """The positions of labels (n,) among sorted classes (g,); an error names one that is none of them."""
    distinct, codes = code_labels(required(labels))
    known = classes.tolist()
    unknown = [label for label in distinct.tolist() if label not in known]
    if unknown:
        raise ClasswiseError(f"y contains the label {unknown[0]!r}, which is not a class; the classes are {known}.")
    return positions(distinct, classes)[codes]


def position_among(classes: Labels, label: Any) -> int:
    """Where a label stands among the classes (g,)."""
    labels = classes.tolist()
    if label not in labels:
        raise ClasswiseError(f"{label!r} is not a class of the model; the classes are {labels}.")
    return int(labels.index(label))


def read_generator(random_state: Any) -> np.random.Generator:
    """A generator from whatever scikit-learn takes as a seed."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    return np.random.default_rng(random_state)


def read_seed(random_state: Any) -> int:
    """A seed from whatever scikit-learn takes for one; None is 0, so that the same rows give the same model."""
    if random_state is None or isinstance(random_state, (int, np.integer)):
        return int(random_state or 0)
    return int(read_generator(random_state).integers(2**31))
