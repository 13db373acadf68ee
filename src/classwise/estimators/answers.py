"""The methods of all fitted models: labels, probabilities, evaluations, explanations; built on the Classifier
protocol.
"""

import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError

from classwise import limits
from classwise.arrays import Array, Labels
from classwise.classifier.bayes import Classifier, FittedModel, score
from classwise.classifier.decision import RejectCurve, reject_curve
from classwise.classifier.evaluation import Evaluation
from classwise.classifier.explanation import Explanation
from classwise.classifier.flip import smallest_flip
from classwise.classifier.shift import PriorShift, estimate_shift
from classwise.errors import ClasswiseError, NotAvailableError, whole
from classwise.estimators.fit_summary import FitSummary, SummaryTable, fit_summary, left_out
from classwise.estimators.importance import Importance, LossSums, loss_sums
from classwise.estimators.row_scorer import RowScorer
from classwise.estimators.unavailable import NO_SETS, ExplainsUnavailable
from classwise.kernels.scores import Answer
from classwise.rows.codes import code_labels, positions
from classwise.rows.device_rows import as_given, labels_at, to_host
from classwise.rows.schema import Schema
from classwise.rows.schema_report import SchemaReport
from classwise.rows.sources import Source, open_asked, open_row, required
from classwise.rows.table import INTEGRATE, Table


class Answers(ExplainsUnavailable, ClassifierMixin, BaseEstimator):
    """The methods that all classifiers share.

    A fitted subclass has `model_`, a FittedModel. It defines its priors, and what each column adds to the log odds of a
    row.
    """

    _unavailable = NO_SETS

    # Whether a sparse matrix will do.
    _takes_sparse: ClassVar[bool] = False

    # The attribute that only a fitted estimator has, and the method that sets it.
    _fitted_by: ClassVar[tuple[str, str]] = ("model_", "fit")
    _remedy: ClassVar[str] = INTEGRATE

    if TYPE_CHECKING:  # declared attributes are read from files, and only a stack stores its labels as an attribute
        classes_: Labels

    n_features_in_: int
    feature_names_in_: Labels

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        """In a notebook: the options, as scikit-learn shows them, and what was estimated."""
        try:
            bundle: dict[str, str] = super()._repr_mimebundle_(**options)
            if "text/html" in bundle and self.__sklearn_is_fitted__():
                bundle["text/html"] += self.summary()._repr_html_()
        except ClasswiseError:  # the first batches may be too few rows for a model
            return {"text/plain": repr(self)}
        return bundle

    def __dir__(self) -> list[str]:
        """The names that there are. scikit-learn asks for every attribute, which takes enough rows for a model."""
        try:
            return list(super().__dir__())
        except ClasswiseError:
            return list(object.__dir__(self))

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
    def _has_reach(self) -> bool:
        """Whether the model knows how far rows reach in each column."""
        return True

    @property
    def _integrates(self) -> bool:
        """Whether missing values are integrated out exactly."""
        return False

    @property
    @abstractmethod
    def priors_(self) -> Array:
        """The prior of each class; (g,)."""

    @abstractmethod
    def _reasons(self, table: Table, first: int, second: int) -> Explanation:
        """The share of each column in the log odds of two classes, for a table of one row."""

    # Rows -----------------------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> Labels:
        """The most probable label of each row; (n,). Ties go to the first label.

        Parameters
        ----------
        X : array or table of shape (n, p)
            Rows to classify.

        Returns
        -------
        array of shape (n,)
            The labels.
        """
        chosen = self._answer(Answer.DECISION, X)
        return labels_at(self.classes_, chosen)

    def predict_proba(self, X: Any) -> Array:
        """P(k | x); (n, g), columns in the order of `classes_`.

        Parameters
        ----------
        X : array or table of shape (n, p)
            Rows.

        Returns
        -------
        array of shape (n, g)
            The probability of each class, in the order of `classes_`.
        """
        return self._answer(Answer.POSTERIOR, X).T

    def predict_log_proba(self, X: Any) -> Array:
        """log P(k | x), exact where the probability itself underflows; (n, g).

        Parameters
        ----------
        X : array or table of shape (n, p)
            Rows.

        Returns
        -------
        array of shape (n, g)
            The log of the probability of each class.
        """
        return self._answer(Answer.LOG_POSTERIOR, X).T

    def decision_function(self, X: Any) -> Array:
        """log P(k | x) (n, g); for two classes the log odds of the second, (n,).

        Parameters
        ----------
        X : array or table of shape (n, p)
            Rows.

        Returns
        -------
        array of shape (n, g), or (n,) for two classes
            The log of the posteriors, or the log odds of the second class.
        """
        if len(self._fitted().classes_) > 2:
            return self.predict_log_proba(X)
        scores = self._answer(Answer.SCORES, X)
        return scores[1, :] - scores[0, :]

    def scorer(self) -> RowScorer:
        """The model frozen for one row at a time, which takes microseconds: for scoring online.

        Returns
        -------
        RowScorer
            Takes a row as a sequence of values, or as a mapping from column names to values.

        Examples
        --------
        >>> import classwise as cw
        >>> scorer = cw.QDA().fit([[1], [2], [3], [6], [7], [9]], ["low"] * 3 + ["high"] * 3).scorer()
        >>> scorer.predict([4]), scorer.predict_proba([4]).round(2)
        ('low', array([0.27, 0.73]))
        """
        return RowScorer.of(self._fitted_model, self._strict)

    def evaluate(self, X: Any, y: Any, sample_weight: Any = None) -> Evaluation:
        """How good the model is on labeled rows: print the result, or read its measures. Results of batches add up.

        Parameters
        ----------
        X : array or table of shape (n, p)
            Rows.
        y : array of shape (n,)
            The labels of the rows.
        sample_weight : array of shape (n,), optional
            The weight of each row: two counts a row twice, zero not at all; by default all are one.

        Returns
        -------
        Evaluation
            The measures; they add up over batches.

        Examples
        --------
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
        log_posterior = self._apply(Answer.LOG_POSTERIOR, table).T
        return Evaluation.of(log_posterior, self._codes_of(table), self.classes_, table.weights)

    def reject_curve(self, X: Any, y: Any, sample_weight: Any = None) -> RejectCurve:
        """Error against coverage on labeled rows, if only the rows with the highest posteriors are decided.

        Parameters
        ----------
        X : array or table of shape (n, p)
            Rows.
        y : array of shape (n,)
            The labels of the rows.
        sample_weight : array of shape (n,), optional
            The weight of each row: two counts a row twice, zero not at all; by default all are one.

        Returns
        -------
        RejectCurve
            The error at each coverage.

        Examples
        --------
        >>> import classwise as cw
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> curve = cw.LDA().fit(X, y).reject_curve(X, y)
        >>> round(curve.at(1.0), 4), curve.at(0.9)
        (0.02, 0.0)
        """
        table = self._labeled(X, y, sample_weight)
        return reject_curve(self._apply(Answer.POSTERIOR, table).T, self._codes_of(table), table.weights)

    def estimate_priors(self, X: Any) -> PriorShift:
        """The class priors of unlabeled rows, which may differ from the priors of the training rows (prior shift).

        The result maps each label to its prior, for `with_priors`. The priors are the maximum likelihood estimate if
        the shift is significant (p < 0.05), and else those of the model. It also has standard errors and the test.

        Parameters
        ----------
        X : array or table of shape (n, p)
            Rows.

        Returns
        -------
        PriorShift
            The priors by label, with standard errors and the test.

        Examples
        --------
        >>> import classwise as cw, numpy as np
        >>> rng = np.random.default_rng(0)
        >>> m = cw.LDA().fit(np.r_[rng.normal(0, 1, 500), rng.normal(3, 1, 500)][:, None], [0] * 500 + [1] * 500)
        >>> m.estimate_priors(np.r_[rng.normal(0, 1, 900), rng.normal(3, 1, 100)][:, None])
        PriorShift: the priors have shifted (chi-square 569.2, p = 8.17e-126)
          0: 0.5 -> 0.8995 ± 0.011
          1: 0.5 -> 0.1005 ± 0.011
        """
        return estimate_shift(to_host(self.predict_log_proba(X)), self.classes_, self.priors_)

    def explain(self, row: Any, label: Any = None, against: Any = None) -> Explanation:
        """Why a row is assigned to a class: each column's share of the log odds, and the smallest change that flips it.

        Parameters
        ----------
        row : table of one row, mapping or sequence
            A table of one row, a mapping from column to value, or the values in order.
        label : label, optional
            The class to explain; by default the most probable one.
        against : label, optional
            The class to compare it with; by default the most probable of the others.

        Returns
        -------
        Explanation
            The share of each column, and the smallest change that changes the decision.

        Notes
        -----
        The log odds of the two classes are the sum of the prior's share, the share of each column, and a part that
        belongs to no single column: the volumes of joint Gaussians, or the interaction of columns in a stack. The share
        of a column comes from its densities in generative models; from its weight times the distance from its mean in
        logistic regression; from its cuts in a forest; and from the log odds without the column in a stack.

        `flip` is the smallest change of one column, in standard deviations, after which the model decides for another
        class. If you name classes, it is the smallest change to the named class that is not decided for now.

        Examples
        --------
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
        source = open_row(row, model.schema.names, self._takes_sparse)
        check_columns(self, source)
        table = source.read_like(model.schema, model.levels)
        if len(table) != 1:
            raise ClasswiseError(f"explain takes one row, not {len(table)}.")
        scores = self._apply(Answer.LOG_POSTERIOR, table)[:, 0]
        second = None if against is None else self._position(against)
        first = _best(scores, second) if label is None else self._position(label)
        other = _best(scores, first) if second is None else second
        reasons = self._reasons(table, first, other)
        best = _best(scores, None)
        wanted = None if label is None and against is None else other if first == best else first
        chances = np.exp(scores[[first, other]]).tolist()
        found = replace(reasons, probability=chances[0], other_probability=chances[1])
        if model.schema.is_sparse or not self._has_reach:
            return replace(found, searched=False)
        return replace(found, flip=smallest_flip(self._classifier, model, table, list(reasons.shares.values()), wanted))

    # Columns --------------------------------------------------------------------------------------------------------

    def importance(
        self, X: Any, y: Any, sample_weight: Any = None, *, repeats: int = 5, random_state: Any = 0
    ) -> Importance:
        """Which columns matter: how much the log loss on labeled rows rises without each column.

            importance_j = mean over rows of  log P(y | x) - log P(y | x without x_j)

        Generative models integrate the column out exactly. For logistic regression, forests, stacks and models with
        missing="level", the values of the column are shuffled among the rows, `repeats` times, with the seed
        random_state. The standard error is that of the paired differences, over rows and over shuffles. Use rows that
        the model was not fitted on; `held_out_importance` holds rows out by itself.

        Parameters
        ----------
        X : array or table of shape (n, p)
            Rows.
        y : array of shape (n,)
            The labels of the rows.
        sample_weight : array of shape (n,), optional
            The weight of each row: two counts a row twice, zero not at all; by default all are one.
        repeats : int, default=5
            How often a column is shuffled, where the model cannot integrate it out.
        random_state : int, RandomState or Generator, default=0
            The seed of what is drawn at random.

        Returns
        -------
        Importance
            The importance of each column, with its standard error.

        Examples
        --------
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
        self._refuse_sparse("importance")
        table = self._labeled(X, y, sample_weight)
        sums = self._loss_sums(table, whole("repeats", repeats, 1), read_seed(random_state))
        schema = self._fitted_model.schema
        return Importance.of(sums, schema.names or range(len(schema)), left_out(self), self._integrates)

    def _loss_sums(self, table: Table, repeats: int, seed: int) -> LossSums:
        """Sums over the rows of a table: their log losses, with all columns and without each."""
        return loss_sums(self, table, repeats, seed)

    # What was fitted ------------------------------------------------------------------------------------------------

    def summary(self) -> FitSummary:
        """The fitted model as tables: rows, priors and estimates. `print(m)` shows the same.

        Gaussian classifiers show the class means, and the log determinants of the covariances if each class has its
        own. LDA also shows the coefficients of its linear discriminants, and the share of the between-class variance of
        each. Naive Bayes, AODE and mixtures show each column, logistic regression its weights, a forest its trees, a
        stack its members. Long tables are cut: `means_`, `covariances_`, `parameters_` and `coefficients()` have all
        numbers.

        Returns
        -------
        FitSummary
            The tables; it prints as text, and as HTML in notebooks.

        Examples
        --------
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
        """The tables of the summary that follow the table of classes."""
        return []

    def _weight_learned(self) -> tuple[int, Array] | None:
        """The number of training rows, and the weight of each class (g,); None where they are unknown."""
        return None

    def _log_determinants(self) -> Array | None:
        """log|C_k| of each class (g,), if each class has its own covariance; else None."""
        return None

    @property
    def schema_(self) -> SchemaReport:
        """How the model reads each column, as a table: type, kind, family, levels, missing values."""
        model = self._fitted_model
        return SchemaReport.of(model.schema, model.levels, model.missing, model.notes)

    @property
    def families_(self) -> dict[Any, str]:
        """The family of each column, by name (or position)."""
        schema = self._fitted_model.schema
        return {key: str(column.family) for key, column in zip(schema.names or range(len(schema)), schema, strict=True)}

    # ----------------------------------------------------------------------------------------------------------------

    def _refuse_sparse(self, name: str) -> None:
        """Refuse what looks at the columns of a model one by one, where it was fitted on a sparse matrix."""
        if self._fitted_model.schema.is_sparse:
            raise NotAvailableError(
                f"{name} looks at columns one by one, and is not for a model that was fitted on a sparse matrix; fit "
                "it on X.toarray(), or on fewer columns. explain and parameters_ are for sparse ones too."
            )

    def _table(self, X: Any, y: Any = None, sample_weight: Any = None) -> Table:
        model = self._fitted_model
        source = open_asked(X, model.schema.names, self._takes_sparse)
        check_columns(self, source)
        return source.read_like(model.schema, model.levels, y, sample_weight)

    def _labeled(self, X: Any, y: Any, sample_weight: Any) -> Table:
        """Labeled rows, without those of weight zero."""
        return self._table(X, required(y), sample_weight).weighted()

    def _answer(self, function: Answer | Callable[[Any, Array], NDArray[Any]], X: Any) -> Any:
        """function(classifier, rows), side by side, as the same kind of array as X."""
        return as_given(X, self._applied(function, self._table(X)))

    def _apply(self, function: Answer | Callable[[Any, Array], NDArray[Any]], table: Table) -> NDArray[Any]:
        """function(classifier, rows) of every chunk, side by side. Missing values are integrated out or replaced."""
        found: NDArray[Any] = to_host(self._applied(function, table))
        return found

    def _applied(self, function: Answer | Callable[[Any, Array], NDArray[Any]], table: Table) -> Any:
        """The same, on the device of the rows if they are on one."""
        return score(function, self._classifier, table, strict=self._strict, remedy=self._remedy)

    @property
    def _classifier(self) -> Classifier:
        """The classifier that computes posteriors."""
        classifier: Classifier = self._fitted_model.classifier
        return classifier

    def _codes_of(self, table: Table) -> NDArray[Any]:
        return codes_among(self.classes_, table.labels)

    def _position(self, label: Any) -> int:
        return position_among(self.classes_, label)

    def __str__(self) -> str:
        """The summary of a fitted model; for a model that is not fitted, its repr."""
        try:
            return str(self.summary())
        except (ClasswiseError, NotFittedError):  # the first batches may not be enough for a model
            return repr(self)

    def _fitted(self) -> Self:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet; call {self._fitted_by[1]} first.")
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return self._fitted_by[0] in self.__dict__


def _best(scores: Array, but: int | None) -> int:
    """The position of the largest score; but: a position to leave out."""
    candidates = [k for k in range(len(scores)) if k != but]
    return max(candidates, key=lambda k: float(scores[k]))


def codes_among(classes: Labels, labels: Labels | None) -> NDArray[Any]:
    """The positions of labels (n,) among sorted classes (g,); an unknown label is an error."""
    distinct, codes = code_labels(required(labels))
    known = classes.tolist()
    unknown = [label for label in distinct.tolist() if label not in known]
    if unknown:
        raise ClasswiseError(f"y contains the label {unknown[0]!r}, which is not a class; the classes are {known}.")
    return positions(distinct, classes)[codes]


def position_among(classes: Labels, label: Any) -> int:
    """The position of a label among the classes (g,)."""
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
    """A seed from whatever scikit-learn takes as one. None becomes 0, so that the same rows give the same model."""
    if random_state is None or isinstance(random_state, (int, np.integer)):
        return int(random_state or 0)
    return int(read_generator(random_state).integers(2**31))


def refuse_wide(schema: Schema) -> None:
    """Refuse to write out, column by column, a model of a sparse matrix with very many columns."""
    if schema.is_sparse and len(schema) > limits.EXPORTED_COLUMNS:
        raise ClasswiseError(
            f"The model has {len(schema)} columns, those of a sparse matrix, and at most {limits.EXPORTED_COLUMNS} are "
            "exported or served; fit it on fewer, such as CountVectorizer(max_features=2000) makes."
        )


# Columns at predict must match those at fit: the same number, names and order -----------------------------------------


def remember_columns(estimator: Any, schema: Schema) -> None:
    """Set scikit-learn's n_features_in_, and feature_names_in_ where the columns have names."""
    estimator.n_features_in_ = len(schema.columns)
    if schema.names is not None:
        estimator.feature_names_in_ = np.array(schema.names, dtype=object)
    else:
        vars(estimator).pop("feature_names_in_", None)


def check_columns(estimator: Any, source: Source) -> None:
    """Raise an error if the columns are not those of fit; it names the ones that differ."""
    name, known = type(estimator).__name__, vars(estimator).get("feature_names_in_")
    if known is not None and source.names is not None and source.names != tuple(known):
        raise ClasswiseError(_describe_difference(list(known), list(source.names)))
    given, expected = source.n_features, estimator.n_features_in_
    if given != expected:
        raise ClasswiseError(f"X has {given} features, but {name} is expecting {expected} features as input.")
    if known is not None and source.names is None:
        _warn(f"X does not have valid feature names, but {name} was fitted with feature names")
    if known is None and source.names is not None:
        _warn(f"X has feature names, but {name} was fitted without feature names")


def _warn(message: str) -> None:
    warnings.warn(message, UserWarning, stacklevel=5)


def _describe_difference(known: list[str], given: list[str]) -> str:
    parts = ["The feature names should match those that were passed during fit."]
    unseen, missing = ([n for n in given if n not in known], [n for n in known if n not in given])
    if unseen:
        parts.append("Feature names unseen at fit time:\n" + "".join(f"- {n}\n" for n in unseen[:5]))
    if missing:
        parts.append("Feature names seen at fit time, yet now missing:\n" + "".join(f"- {n}\n" for n in missing[:5]))
    if not unseen and not missing:
        place = next(i for i, (a, b) in enumerate(zip(known, given, strict=False)) if a != b)
        parts.append(
            "Feature names must be in the same order as they were in fit.\n"
            f"Column {place} is '{given[place]}' and was '{known[place]}'; reorder with X[model.feature_names_in_].\n"
        )
    return " ".join(parts)
