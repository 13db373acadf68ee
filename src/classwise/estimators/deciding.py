"""Decisions as an estimator: least expected cost, or none, or something never seen."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from classwise.arrays import Array, Labels
from classwise.decision import Policy, read_costs
from classwise.errors import ClasswiseError
from classwise.options import choose, fraction

LAWS = {"leave-one-out": False, "chi-square": True}


class Decisions(NamedTuple):
    """What is announced of each row, what it is expected to cost, and which rows are refused or novel; (n,) each."""

    labels: Labels
    cost: Array
    refused: NDArray[np.bool_]
    novel: NDArray[np.bool_]


class Decision(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Decide at least expected cost, refuse what is better not decided, and tell what the model has never seen.

    model: an estimator; one that is fitted is used as it is, until fit is called here.
    costs: what it costs to decide for label j when label i is true: costs[i][j], as a matrix in the order of sorted
        labels or as a mapping {true: {decided: cost}}; what is left out costs 1 if wrong, 0 if right.
    reject: what it costs not to decide; or {"posterior": 0.9}, the least posterior to decide with. Rejected rows are
        announced as reject_label.
    novelty: the share of ordinary rows that may be taken for novel, such as 0.01. A row is novel if log_evidence is
        below that of all but this share of the rows learned from, each left out in turn (law="leave-one-out"); or, for
        Gaussian classes, if it is further from every class than the chi-square law allows (law="chi-square"). Novel
        rows are announced as novel_label.

    >>> import classwise as cw
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> m = cw.Decision(cw.LDA(calibrate="temperature"), costs={0: {1: 20}}, reject=0.3).fit(X, y)
    >>> labels, counts = np.unique(m.predict(X).astype(str), return_counts=True)
    >>> dict(zip(labels.tolist(), counts.tolist()))
    {'0': 185, '1': 248, 'reject': 136}
    """

    def __init__(
        self,
        model: Any,
        *,
        costs: Any = None,
        reject: Any = None,
        novelty: float | None = None,
        law: str = "leave-one-out",
        reject_label: Any = "reject",
        novel_label: Any = "novel",
    ) -> None:
        self.model = model
        self.costs = costs
        self.reject = reject
        self.novelty = novelty
        self.law = law
        self.reject_label = reject_label
        self.novel_label = novel_label

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model, and find how ordinary its rows are."""
        self._checked_novelty()
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        model = clone(self.model).fit(X, y, **weights)
        read_policy(self.costs, self.reject, model.classes_)
        self.__dict__.pop("threshold_", None)
        if self.novelty is not None:
            self._learn_novelty(model, X, y, sample_weight)
        self.model_ = model
        if hasattr(model, "n_features_in_"):
            self.n_features_in_ = model.n_features_in_
        if hasattr(model, "feature_names_in_"):
            self.feature_names_in_ = model.feature_names_in_
        return self

    def _learn_novelty(self, model: Any, X: Any, y: Any, sample_weight: Any) -> None:
        """How ordinary the rows are to each other; the chi-square law needs no rows."""
        exact = choose("law", self.law, LAWS)
        if not hasattr(model, "distances" if exact else "leave_one_out_evidence"):
            what = "distances to Gaussian classes" if exact else "a model of the rows"
            raise ClasswiseError(
                f"novelty with law={self.law!r} needs {what}, and {type(model).__name__} has none; give a model "
                "such as QDA, or the best_ of an AutoClassifier."
            )
        if exact:
            model.distances(_safe_indexing(X, [0]))  # refuses other columns now, rather than at predict
            return
        weights = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        kept = np.flatnonzero(weights > 0)  # a weight of zero is no row
        rows, labels = _safe_indexing(X, kept), _safe_indexing(y, kept)
        evidence = model.leave_one_out_evidence(rows, labels, None if sample_weight is None else weights[kept])
        self.threshold_ = lower_quantile(evidence, weights[kept], self.novelty or 0.0)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows decided rightly; what is rejected or novel is not."""
        right = [decided == own for decided, own in zip(self.predict(X).tolist(), np.asarray(y).tolist(), strict=True)]
        return float(np.average(right, weights=sample_weight))

    def decide(self, X: Any) -> Decisions:
        """What is announced of each row, at what expected cost, and why not."""
        model = self._fitted_model()
        policy = read_policy(self.costs, self.reject, model.classes_)
        decided = policy.decide(model.predict_proba(X).T)
        novel = self._is_novel(X, len(decided.codes))
        labels = model.classes_[decided.codes]
        if decided.refused.any() or novel.any():
            labels = labels.astype(object)
            labels[decided.refused] = self.reject_label
            labels[novel] = self.novel_label
        return Decisions(labels, decided.cost, decided.refused & ~novel, novel)

    def predict(self, X: Any) -> Labels:
        """The label announced for each row; (n,)."""
        return self.decide(X).labels

    def predict_proba(self, X: Any) -> Array:
        """P(k | x), of the model; (n, g)."""
        return np.asarray(self._fitted_model().predict_proba(X))

    def expected_costs(self, X: Any) -> Array:
        """What each decision is expected to cost; (n, g)."""
        model = self._fitted_model()
        policy = read_policy(self.costs, self.reject, model.classes_)
        return policy.expected(model.predict_proba(X).T).T

    @property
    def classes_(self) -> Labels:
        """The labels of the model, sorted; (g,)."""
        return np.asarray(self._fitted_model().classes_)

    # ----------------------------------------------------------------------------------------------------------------

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

    def _checked_novelty(self) -> float | None:
        choose("law", self.law, LAWS)
        return None if self.novelty is None else fraction("novelty", self.novelty)

    def _is_novel(self, X: Any, count: int) -> NDArray[np.bool_]:
        share = self._checked_novelty()
        if share is None:
            return np.zeros(count, dtype=bool)
        if choose("law", self.law, LAWS):
            distances = self._fitted_model().distances(X)
            return np.asarray(distances.min(axis=1) > chi2.isf(share, self._fitted_model().n_features_in_))
        if not hasattr(self, "threshold_"):
            raise ClasswiseError("novelty by leave-one-out is learned from rows: call fit, or use law='chi-square'.")
        return np.asarray(self._fitted_model().log_evidence(X) < self.threshold_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags


def read_policy(costs: Any, reject: Any, labels: Labels) -> Policy:
    """reject: a cost, {"posterior": least}, or None."""
    matrix = read_costs(costs, labels)
    if reject is None:
        return Policy(matrix)
    if isinstance(reject, dict) and set(reject) == {"posterior"}:
        return Policy(matrix, least_posterior=fraction("reject['posterior']", reject["posterior"]))
    if isinstance(reject, (int, float, np.number)) and not isinstance(reject, bool) and np.isfinite(reject):
        return Policy(matrix, refusing=float(reject))
    raise ClasswiseError(f"reject={reject!r} is not an option; give a cost, or {{'posterior': 0.9}}.")


def lower_quantile(values: Array, weights: Array, share: float) -> float:
    """The value below which a new one lies with probability `share`: of weight n, that of rank share (n + 1).

    Of too few values for so small a share, the least.

    >>> lower_quantile(np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 2.0]), 0.5)
    2.0
    """
    order = np.argsort(values)
    place = np.searchsorted(np.cumsum(weights[order]), np.floor(share * (weights.sum() + 1)) - 1e-9)
    return float(values[order][min(int(place), len(values) - 1)])
