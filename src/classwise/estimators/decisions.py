"""Decisions as an estimator: decide at least expected cost, reject uncertain rows, detect novel rows."""

from collections.abc import Sequence
from copy import copy
from types import NoneType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from classwise.arrays import Array, Labels
from classwise.classifier.decision import Policy, read_costs
from classwise.classifier.shift import learned_threshold
from classwise.engines import open_rows
from classwise.errors import ClasswiseError, choose, fraction
from classwise.estimators.unavailable import WRAPPED, ExplainsUnavailable
from classwise.rows.frames import read_labels
from classwise.storage import shown, stored

LAWS = {"leave-one-out": False, "chi-square": True}


class Decisions(NamedTuple):
    """The label of each row, its expected cost, and which rows are rejected (refused) or novel; (n,) each.

    The cost of a novel row is NaN, because it belongs to none of the classes. So is the cost of a row that is rejected
    for its low posterior, because rejecting it has no price.
    """

    labels: Labels
    cost: Array
    refused: NDArray[np.bool_]
    novel: NDArray[np.bool_]


@stored("Decision", kind="model", loose=("costs",))
class Decision(ExplainsUnavailable, MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Decide at least expected cost, reject rows that are better left undecided, and detect novel rows.

    Parameters
    ----------
    model : estimator
        An estimator. If it is fitted, it is used as it is until fit is called here.
    costs : matrix, mapping or function, optional
        costs[i][j] is the cost of deciding for label j when label i is true: a matrix in the order of sorted
        labels, or a mapping {true: {decided: cost}}. Pairs that a mapping leaves out cost 1 if wrong, 0 if
        right.
    reject : float or mapping, optional
        The cost of leaving a row undecided; or {"posterior": 0.9}, the least posterior of a decided label; or
        {"coverage": 0.9}, to decide only rows whose prediction set of this coverage has one class.
    novelty : float, optional
        The share of ordinary rows that may be flagged as novel, such as 0.01.
    law : str, default="leave-one-out"
        The rule for novelty. With "leave-one-out" a row is novel if its log_evidence is below that of all but
        this share of the training rows, each left out in turn. With "chi-square", for Gaussian classes, a row
        is novel if it is further from every class than the chi-square law allows. A row with gaps is compared
        with rows of the same gaps.
    reject_label, novel_label : label, default="auto"
        The labels of rejected and novel rows. "auto" is "reject" and "novel", or, where labels are numbers,
        -1 and -2, or the next numbers below the labels. Predictions then have the type of the labels, and
        scikit-learn's metrics count two more classes. reject_label_ and novel_label_ hold the labels in use.

    Attributes
    ----------
    classes_
        The labels, sorted.
    announced_
        All labels that predict may return: the classes, and with reject or novelty their labels; of one
        dtype.
    model_
        The fitted model without the scikit-learn interface.
    novel_label_
        The label of novel rows.
    reject_label_
        The label of rejected rows.
    threshold_
        The log evidence below which a row is novel.

    Examples
    --------
    >>> import classwise as cw
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> m = cw.Decision(cw.LDA(calibrate="temperature"), costs={0: {1: 20}}, reject=0.3).fit(X, y)
    >>> labels, counts = np.unique(m.predict(X), return_counts=True)
    >>> dict(zip(labels.tolist(), counts.tolist()))
    {-1: 118, 0: 186, 1: 265}
    """

    def __init__(
        self,
        model: Any,
        *,
        costs: Any = None,
        reject: Any = None,
        novelty: float | None = None,
        law: str = "leave-one-out",
        reject_label: Any = "auto",
        novel_label: Any = "auto",
    ) -> None:
        self.model = model
        self.costs = costs
        self.reject = reject
        self.novelty = novelty
        self.law = law
        self.reject_label = reject_label
        self.novel_label = novel_label

    _unavailable = WRAPPED

    model_: Any
    threshold_: float
    n_features_in_: int
    feature_names_in_: Labels

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model, and with novelty, learn the threshold below which rows are novel.

        Parameters
        ----------
        X : array or table of shape (n, p)
            Rows to learn from.
        y : array of shape (n,)
            The labels of the rows.
        sample_weight : array of shape (n,), optional
            The weight of each row: two counts a row twice, zero not at all; by default all are one.

        Returns
        -------
        estimator
            The estimator itself, fitted.
        """
        share = self._checked_novelty()
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        model = clone(self.model).fit(X, y, **weights)
        self._policy(model.classes_)
        self.__dict__.pop("threshold_", None)
        if share is not None:
            self._learn_novelty(model, share, X, y, sample_weight)
        if read_coverage(self.reject) is not None:
            model.calibrate_sets(X, y, sample_weight)
        return self._keep(model)

    def fit_source(
        self, source: Any, *, target: str, columns: Sequence[str] | None = None, weights: str | None = None
    ) -> Self:
        """Fit the model to a source of rows, by its own fit_source.

        Parameters
        ----------
        source : path, pattern, query, table or stream
            Rows, as for the other estimators. With novelty or reject={"coverage": ...}, which are learned from single
            rows, they must fit in memory.
        target : str
            The column of labels.
        columns : sequence of str, optional
            The columns to learn from; by default all others.
        weights : str, optional
            The column of weights; by default all rows have weight one.

        Returns
        -------
        estimator
            The estimator itself, fitted.
        """
        named: dict[str, Any] = {"target": target, "columns": columns, "weights": weights}
        if self._checked_novelty() is None and read_coverage(self.reject) is None:
            model = clone(self.model).fit_source(source, **named)
            self._policy(model.classes_)
            self.__dict__.pop("threshold_", None)
            return self._keep(model)
        held = open_rows(source, **named, families=self.model.get_params().get("families", "auto")).held()
        if held is None:
            option = f"reject={self.reject!r}" if self.novelty is None else f"novelty={self.novelty!r}"
            raise ClasswiseError(
                f"{option} is learned from single rows, and these are too many to hold in memory; fit it to a sample "
                "of them."
            )
        return self.fit(held.X, held.y, held.weights)

    def _keep(self, model: Any) -> Self:
        self.model_ = model
        if hasattr(model, "n_features_in_"):
            self.n_features_in_ = model.n_features_in_
        if hasattr(model, "feature_names_in_"):
            self.feature_names_in_ = model.feature_names_in_
        return self

    def _learn_novelty(self, model: Any, share: float, X: Any, y: Any, sample_weight: Any) -> None:
        """Learn the threshold of novelty from the evidence of rows left out; the chi-square law needs no rows."""
        exact = choose("law", self.law, LAWS)
        if not hasattr(model, "distances" if exact else "leave_one_out_evidence"):
            raise ClasswiseError(_no_novelty(model, self.law, exact))
        if exact:
            model.distances(_safe_indexing(X, [0]))  # raises the error for other columns now, rather than at predict
            return
        weights = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        missing = read_labels(y)[1]
        labeled = np.ones(len(weights), dtype=bool) if missing is None else ~missing
        kept = np.flatnonzero(labeled & (weights > 0))  # rows of weight zero or without a label do not count
        rows, labels, weights = _safe_indexing(X, kept), _safe_indexing(y, kept), weights[kept]
        evidence = model.leave_one_out_evidence(rows, labels, None if sample_weight is None else weights)
        self.threshold_ = learned_threshold(model._ordinary(share), evidence, model.present(rows), weights, share)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows decided correctly; rejected and novel rows count as wrong.

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
        float
            The share of rows.
        """
        labels, missing = read_labels(y)
        right = np.array([own == label for own, label in zip(self.predict(X).tolist(), labels.tolist(), strict=True)])
        return float(np.average(right if missing is None else right & ~missing, weights=sample_weight))

    def decide(self, X: Any) -> Decisions:
        """The label of each row, its expected cost, and whether the row is rejected or novel.

        Parameters
        ----------
        X : array or table of shape (n, p)
            Rows.

        Returns
        -------
        Decisions
            Labels, costs, and which rows are rejected or novel.
        """
        model = self._fitted_model()
        decided = self._policy(model.classes_).decide(model.predict_proba(X).T)
        coverage = read_coverage(self.reject)
        if coverage is not None:
            decided = decided.without(model.prediction_sets(X, coverage).sum(axis=1) > 1)
        novel = self._is_novel(X, len(decided.codes))
        labels = model.classes_[decided.codes]
        labels = _marked(labels, decided.refused & ~novel, self.reject_label_)
        labels = _marked(labels, novel, self.novel_label_)
        return Decisions(labels, np.where(novel, np.nan, decided.cost), decided.refused & ~novel, novel)

    def predict(self, X: Any) -> Labels:
        """The label of each row, which may be reject_label_ or novel_label_; (n,).

        Parameters
        ----------
        X : array or table of shape (n, p)
            Rows to classify.

        Returns
        -------
        array of shape (n,)
            The labels.
        """
        return self.decide(X).labels

    def predict_proba(self, X: Any) -> Array:
        """P(k | x) of the model; (n, g).

        Parameters
        ----------
        X : array or table of shape (n, p)
            Rows.

        Returns
        -------
        array of shape (n, g)
            The probability of each class, in the order of `classes_`.
        """
        return np.asarray(self._fitted_model().predict_proba(X))

    @available_if(lambda self: self._model.prediction_sets)  # type: ignore[untyped-decorator]
    def prediction_sets(self, X: Any, coverage: float = 0.9, *, per_class: bool = False) -> NDArray[np.bool_]:
        """The classes that each row may belong to, by the model; costs, reject and novelty have no influence; (n, g).

        Parameters
        ----------
        X : array or table of shape (n, p)
            Rows.
        coverage : float, default=0.9
            How often a set should hold the true class.
        per_class : bool, default=False
            Whether each class by itself should have this coverage.

        Returns
        -------
        array of bool of shape (n, g)
            Whether each class is in the set of each row, in the order of `classes_`.
        """
        return np.asarray(self._fitted_model().prediction_sets(X, coverage, per_class=per_class))

    def explain(self, row: Any, label: Any = None, against: Any = None) -> Any:
        """Why the model assigns a row to a class; costs, reject and novelty have no influence.

        Parameters
        ----------
        row : table of one row, mapping or sequence
            The row: a table of one row, a mapping from column to value, or the values in order.
        label : label, optional
            The class.
        against : label, optional
            The class to compare with; by default the most probable of the others.

        Returns
        -------
        Explanation
            The share of each column, and the smallest change that changes the decision.
        """
        return self._fitted_model().explain(row, label, against)

    def evaluate(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Log loss, calibration and error of the model on labeled rows; costs, reject and novelty have no influence.

        `score` is the share of rows that the Decision decides correctly.

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
        """
        return self._fitted_model().evaluate(X, y, sample_weight)

    def importance(self, X: Any, y: Any, sample_weight: Any = None, **options: Any) -> Any:
        """Which columns matter to the probabilities of the model.

        Parameters
        ----------
        X : array or table of shape (n, p)
            Rows.
        y : array of shape (n,)
            The labels of the rows.
        sample_weight : array of shape (n,), optional
            The weight of each row: two counts a row twice, zero not at all; by default all are one.
        **options : dict
            Further options, as for the method of the model.

        Returns
        -------
        Importance
            The importance of each column, with its standard error.
        """
        return self._fitted_model().importance(X, y, sample_weight, **options)

    def expected_costs(self, X: Any) -> Array:
        """The expected cost of each decision; (n, g).

        Parameters
        ----------
        X : array or table of shape (n, p)
            Rows.

        Returns
        -------
        array of shape (n, g)
            The cost of each decision.
        """
        model = self._fitted_model()
        return self._policy(model.classes_).expected(model.predict_proba(X).T).T

    @property
    def classes_(self) -> Labels:
        """The labels of the model, sorted; (g,)."""
        return np.asarray(self._fitted_model().classes_)

    def with_priors(self, priors: Any) -> Self:
        """A new Decision: the same costs, reject and novelty, with the model under other class priors.

        Novelty by leave-one-out is an error, because its threshold was learned under the priors of fit.

        Parameters
        ----------
        priors : str, mapping or sequence
            The class priors: "empirical", "uniform", a mapping from label to probability, or a sequence in the
            order of the sorted labels.

        Returns
        -------
        estimator
            A new estimator; this one stays as it is.
        """
        if self.novelty is not None and not choose("law", self.law, LAWS):
            raise ClasswiseError(
                f"novelty={self.novelty!r} by law={self.law!r} was learned under the priors of fit, and other ones are "
                "not for it; give the model its priors before fit, or use law='chi-square'."
            )
        other = copy(self)
        other.model_ = self._fitted_model().with_priors(priors)
        return other

    @property
    def reject_label_(self) -> Any:
        """The label of rejected rows."""
        return _refusal_label(self.reject_label, "reject", -1, self.classes_)

    @property
    def novel_label_(self) -> Any:
        """The label of novel rows."""
        return _refusal_label(self.novel_label, "novel", -2, self.classes_)

    @property
    def announced_(self) -> Labels:
        """All labels that predict may return: the classes, and with reject or novelty their labels; of one dtype."""
        options = [(self.reject, self.reject_label_), (self.novelty, self.novel_label_)]
        labels = self.classes_
        for label in [label for option, label in options if option is not None]:
            labels = _marked(np.append(labels, labels[:1]), np.arange(len(labels) + 1) == len(labels), label)
        return labels

    # ----------------------------------------------------------------------------------------------------------------

    @property
    def _model(self) -> Any:
        """The model, fitted or not."""
        return self.__dict__.get("model_", self.model)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Why there are no prediction sets, the model says."""
            return self._model.prediction_sets if name == "prediction_sets" else super().__getattr__(name)

    def _fitted_model(self) -> Any:
        if hasattr(self, "model_"):
            return self.model_
        try:
            check_is_fitted(self.model)
        except NotFittedError as problem:
            raise NotFittedError("This Decision is not fitted yet; call fit, or give it a model that is.") from problem
        return self.model

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def _policy(self, classes: Labels) -> Policy:
        for name, text, option in (("reject_label", "reject", self.reject), ("novel_label", "novel", self.novelty)):
            label = _refusal_label(getattr(self, name), text, -1, classes)
            if option is not None and label in classes.tolist():
                raise ClasswiseError(f"{name}={label!r} is one of the classes, {classes.tolist()}; give another.")
        return read_policy(self.costs, None if read_coverage(self.reject) is not None else self.reject, classes)

    def _facts(self) -> dict[str, Any]:
        """The facts in the header of a file."""
        return {**self._fitted_model()._facts(), "options": shown(self.get_params(deep=False))}

    def _is_sound(self) -> bool:
        self._checked_novelty()
        if hasattr(self, "classes_"):
            self._policy(self.classes_)
        plain = all(isinstance(label, (str, int, float, NoneType)) for label in (self.reject_label, self.novel_label))
        return plain and all(
            isinstance(model, BaseEstimator) for model in (self.model, getattr(self, "model_", self.model))
        )

    def _checked_novelty(self) -> float | None:
        choose("law", self.law, LAWS)
        if self.novelty is None:
            return None
        share = fraction("novelty", self.novelty)
        if share in (0, 1):
            raise ClasswiseError(f"novelty={self.novelty!r} is not an option; give a share between 0 and 1, or None.")
        return share

    def _is_novel(self, X: Any, count: int) -> NDArray[np.bool_]:
        share = self._checked_novelty()
        if share is None:
            return np.zeros(count, dtype=bool)
        model = self._fitted_model()
        if choose("law", self.law, LAWS):
            freedom = model.present(X)[:, model._numbers_block()[0]].sum(axis=1)
            return np.asarray(model.distances(X).min(axis=1) > chi2.isf(share, np.maximum(freedom, 1)))
        if not hasattr(self, "threshold_"):
            raise ClasswiseError("novelty by leave-one-out is learned from rows: call fit, or use law='chi-square'.")
        return np.asarray(model.log_evidence(X) < self._thresholds(model, model.present(X), share))

    def _thresholds(self, model: Any, present: NDArray[np.bool_], share: float) -> Array:
        """The threshold of each row, which depends on its gaps; (n,)."""
        gaps = ~present.all(axis=1)
        thresholds = np.full(len(present), self.threshold_)
        if gaps.any():
            thresholds[gaps] = model._ordinary(share).thresholds(self.threshold_, present[gaps])
        return thresholds

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.model)
        tags.input_tags = inner.input_tags
        if inner.classifier_tags is not None:
            tags.classifier_tags = inner.classifier_tags
        return tags


def model_within(model: Any) -> Any:
    """The model inside a Decision; any other estimator is returned as it is."""
    while isinstance(model, Decision):
        model = model._fitted_model()
    return model


def read_coverage(reject: Any) -> float | None:
    """The coverage of prediction sets, of which only those of one class are decided; None for other rules."""
    if not (isinstance(reject, dict) and set(reject) == {"coverage"}):
        return None
    coverage = fraction("reject['coverage']", reject["coverage"])
    if coverage in (0, 1):
        raise ClasswiseError(f"reject={reject!r} is not an option; give a coverage between 0 and 1, such as 0.9.")
    return coverage


def read_policy(costs: Any, reject: Any, labels: Labels) -> Policy:
    """reject: a cost, {"posterior": least}, or None."""
    matrix = read_costs(costs, labels)
    if read_coverage(reject) is not None:
        raise ClasswiseError(
            f"reject={reject!r} compares rows with the scores of training rows, which only the model itself does; "
            "give a cost, or {'posterior': 0.9}."
        )
    if reject is None:
        return Policy(matrix)
    if isinstance(reject, dict) and set(reject) == {"posterior"}:
        return Policy(matrix, least_posterior=fraction("reject['posterior']", reject["posterior"]))
    if isinstance(reject, (int, float, np.number)) and not isinstance(reject, bool) and np.isfinite(reject):
        return Policy(matrix, refusing=float(reject))
    raise ClasswiseError(
        f"reject={reject!r} is not an option; give a cost, {{'posterior': 0.9}} or {{'coverage': 0.9}}."
    )


def _refusal_label(given: Any, text: str, below: int, classes: Labels) -> Any:
    """The label of rejected or novel rows. given: the option; "auto" is the text, or, where the classes are numbers, a
    number `below` the smallest of them.

    >>> _refusal_label("auto", "reject", -1, np.array([0, 1])), _refusal_label("auto", "reject", -1, np.array([-1, 1]))
    (-1, -2)
    """
    if not (isinstance(given, str) and given == "auto"):
        return given
    if classes.dtype.kind not in "iuf":
        return text
    return type(classes[0].item())(min(0, np.floor(classes[0])) + below)


def _marked(labels: Labels, where: NDArray[np.bool_], label: Any) -> Labels:
    """Labels with another label in some places; a mixture of numbers and text becomes objects."""
    if not where.any():
        return labels
    kinds = {labels.dtype.kind, np.asarray(label).dtype.kind}
    common = np.result_type(labels, np.asarray(label)) if kinds <= set("iuf") or kinds == {"U"} else np.dtype(object)
    if common.kind == "f" and "f" not in kinds:  # unsigned integers and a signed one: keep all digits
        common = np.dtype(np.int64 if labels.max() <= np.iinfo(np.int64).max else object)
    marked = labels.astype(common)
    marked[where] = label
    return marked


def _no_novelty(model: Any, law: str, exact: bool) -> str:
    what = "distances to Gaussian classes" if exact else "a model of the rows"
    remedy = (
        "make the Decision the last step of the pipeline instead"
        if hasattr(model, "steps")
        else "give a model such as QDA or NaiveBayes"
    )
    return f"novelty with law={law!r} needs {what}, and {type(model).__name__} has none; {remedy}."
