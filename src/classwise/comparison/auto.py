"""The best probabilities without tuning: the member of the family that cross-validates best, with its power."""

from typing import Any, Self

from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError

from classwise.arrays import Array, Labels
from classwise.comparison.comparing import compare
from classwise.comparison.result import Comparison
from classwise.estimators import BayesEstimator, BayesianLogistic, required
from classwise.schema import Families
from classwise.storage import shown, stored


@stored("AutoClassifier", kind="model")
class AutoClassifier(ClassifierMixin, BaseEstimator):
    """Compares the whole family, and logistic regression, by cross-validated log loss, and is the winner.

    folds: how rows are held out: a number of stratified folds, the fold of each row, or a splitter of scikit-learn's.
    calibrate: "temperature" gives every model but logistic regression the power that suits its posteriors before they
        are compared; None does not.
    families: what columns are, where it is not what their type says; as in NaiveBayes.
    random_state: which rows are in which fold.

    `best_` is the winner, an estimator of classwise that can be asked for everything else; `comparison_` has the table.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> m = AutoClassifier().fit(X, y)
    >>> m.best_
    LDA(shrink='ledoit-wolf')
    >>> m.predict(X[:2]).tolist()
    [0, 0]
    """

    best_: BayesEstimator | BayesianLogistic
    comparison_: Comparison
    n_features_in_: int
    feature_names_in_: Labels

    def __init__(
        self,
        *,
        folds: Any = 10,
        calibrate: str | None = "temperature",
        families: Families = "auto",
        random_state: int = 0,
    ) -> None:
        self.folds = folds
        self.calibrate = calibrate
        self.families = families
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Learn from rows X (n, p) and labels y (n,): compare, choose, and fit the winner on all rows.

        groups (n,): rows of one group stay in one fold.
        """
        comparison = compare(
            X,
            required(y),
            self.folds,
            sample_weight=sample_weight,
            groups=groups,
            references=False,
            calibrate=self.calibrate,
            families=self.families,
            random_state=0 if self.random_state is None else self.random_state,
        )
        self.comparison_, self.best_ = comparison.slim(), comparison.best
        self.n_features_in_ = self.best_.n_features_in_
        if hasattr(self.best_, "feature_names_in_"):
            self.feature_names_in_ = self.best_.feature_names_in_
        return self

    def predict(self, X: Any) -> Labels:
        """The most probable label of each row; (n,)."""
        return self._best().predict(X)

    def predict_proba(self, X: Any) -> Array:
        """P(k | x); (n, g), columns in the order of `classes_`."""
        return self._best().predict_proba(X)

    def predict_log_proba(self, X: Any) -> Array:
        """log P(k | x), exact where the probability itself underflows; (n, g)."""
        return self._best().predict_log_proba(X)

    def decision_function(self, X: Any) -> Array:
        """log P(k | x) (n, g); for two classes the log odds of the second, (n,)."""
        return self._best().decision_function(X)

    @property
    def classes_(self) -> Labels:
        """The labels, sorted; (g,)."""
        return self._best().classes_

    def _best(self) -> BayesEstimator | BayesianLogistic:
        if not hasattr(self, "best_"):
            raise NotFittedError("This AutoClassifier is not fitted yet; call fit first.")
        return self.best_

    def _facts(self) -> dict[str, Any]:
        """What the header of a file tells; statistics are in the comparison, also where the winner has none."""
        facts = {name: fact for name, fact in self._best()._facts().items() if name != "statistics"}
        return {**facts, "options": shown(self.get_params(deep=False))}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags
