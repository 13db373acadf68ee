"""A fitted estimator: its statistics, the model made of them, and the rows that the model can score."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError

from classwise.arrays import BLOCK_SIZE, Array, Labels
from classwise.classifier.bayes import BayesClassifier, Priors
from classwise.engines import MemoryEngine
from classwise.errors import ClasswiseError, NotAvailableError, UnscorableError, choose
from classwise.estimators.columns import check_columns
from classwise.estimators.model import Model
from classwise.estimators.report import SchemaReport
from classwise.rows.checks import refuse_unscorable, refuse_unsuitable
from classwise.rows.labels import code_labels, positions
from classwise.rows.reading import open_asked
from classwise.rows.schema import Families
from classwise.rows.table import Table
from classwise.selection import Downdates
from classwise.statistics import ClassStatistics, Scatter
from classwise.statistics.chunks import MISSING
from classwise.storage import shown

# Rows are scored in chunks of this many numbers, so that what is computed from a chunk is still in cache.
SCORING_SIZE = 3 * BLOCK_SIZE

# Where a chunk is first put together column by column, twice as long ones pay: threads then wait less for each other.
COPIED_SCORING_SIZE = 6 * BLOCK_SIZE


class Fitted(BaseEstimator):
    """What was learned, and what it is asked with.

    families, smoothing, min_frequency and missing say what becomes of columns that are not numbers, and of values that
    are not there.
    """

    estimate: str
    families: Families
    smoothing: float
    min_frequency: float
    missing: str
    priors: Priors
    ties: str
    random_state: Any

    statistics_: ClassStatistics
    n_features_in_: int
    feature_names_in_: Labels
    _model: Model | None

    @abstractmethod
    def _model_of(self, statistics: ClassStatistics) -> Model:
        """The model that these statistics make."""

    @abstractmethod
    def _summarize(self, table: Table, form: type[Scatter], before: ClassStatistics | None = None) -> ClassStatistics:
        """The statistics of rows, to be added to those of rows before."""

    @abstractmethod
    def fit_statistics(self, statistics: ClassStatistics) -> Self:
        """Learn from statistics, gathered here or elsewhere."""

    @property
    def model_(self) -> Model:
        """The fitted classifier, with what each column was taken for."""
        model = self._fitted()._model
        if model is None:
            model = self._model = self._model_of(self.statistics_)
        return model

    @property
    def classifier_(self) -> BayesClassifier:
        """Labels, priors and densities."""
        return self.model_.classifier

    @property
    def schema_(self) -> SchemaReport:
        """What each column was taken for: type, kind, family, levels, missing values; a table."""
        return self.model_.report()

    @property
    def families_(self) -> dict[Any, str]:
        """The family of each column, by name (or position)."""
        schema = self.model_.schema
        return {key: str(column.family) for key, column in zip(schema.names or range(len(schema)), schema, strict=True)}

    @property
    def log_marginal_likelihood_(self) -> float:
        """log p(rows | labels) with all parameters integrated out: for estimate="bayes" with a proper prior."""
        evidence = self.model_.log_evidence
        if evidence is None:
            raise NotAvailableError(
                "There is no closed-form marginal likelihood for this model: it takes estimate='bayes' with a proper "
                "prior, smoothing above 0, no min_frequency, no missing='level', no counts, and no gaps if covariances "
                "are full."
            )
        return evidence

    @property
    def parameters_(self) -> dict[Any, dict[Any, Array]]:
        """What was estimated of each column, by name (or position): each an array over the classes, (g,).

        Numbers have a mean and a variance, their logarithms likewise, counts a rate or a chance, categories the
        probability of each level.

        >>> import classwise as cw
        >>> m = cw.NaiveBayes().fit([["red"], ["blue"], ["red"], ["red"]], ["a", "a", "b", "b"])
        >>> m.parameters_[0]["red"]
        array([0.5 , 0.75])
        """
        keys = self.model_.schema.names or range(len(self.model_.schema))
        return dict(zip(keys, self.classifier_.density.parameters(), strict=True))

    @property
    def classes_(self) -> Labels:
        """The labels, sorted; (g,)."""
        return self._fitted().statistics_.labels

    @property
    def priors_(self) -> Array:
        """The prior of each class; (g,)."""
        return self.classifier_.priors

    # Rows -----------------------------------------------------------------------------------------------------------

    def _table(self, X: Any, y: Any = None, sample_weight: Any = None) -> Table:
        self._fitted()
        source = open_asked(X, self.statistics_.schema.names)
        check_columns(self, source)
        return source.read_like(self.model_.schema, self.model_.levels, y, sample_weight)

    def _apply(self, function: Callable[[BayesClassifier, Array], NDArray[Any]], table: Table) -> NDArray[Any]:
        """function(classifier, rows) of every chunk, side by side; where values are missing, of what is left."""
        whole = self.classifier_
        observing, strict = whole.observing(), self._strict

        def score(chunk: Table) -> NDArray[Any]:
            rows = chunk.rows
            if strict and chunk.levels:
                refuse_unsuitable(chunk, allow_missing=False)
            try:
                with np.errstate(over="ignore", invalid="ignore"):
                    return function(whole, rows)
            except UnscorableError:
                refuse_unsuitable(chunk, allow_missing=not strict)
            return score_with_gaps(chunk, rows)

        def score_with_gaps(chunk: Table, rows: Array) -> NDArray[Any]:
            try:
                with np.errstate(over="ignore", invalid="ignore"):
                    return function(observing, np.asarray(rows, dtype=np.float64))
            except UnscorableError:
                if self.smoothing == 0:
                    refuse_unscorable(chunk)
            raise UnscorableError(
                "Some rows have probability zero, or lie too far from every class to be scored in float64."
            )

        size = COPIED_SCORING_SIZE if table.is_copied else SCORING_SIZE
        return MemoryEngine().apply(score, table, max(size // whole.density.width, 64))

    def _codes_of(self, table: Table) -> NDArray[Any]:
        return codes_among(self.classes_, table.labels)

    def _position(self, label: Any) -> int:
        return position_among(self.classes_, label)

    # State ----------------------------------------------------------------------------------------------------------

    def _fitted(self) -> Self:
        if not hasattr(self, "statistics_"):
            name = type(self).__name__
            raise NotFittedError(f"This {name} is not fitted yet; call fit, partial_fit or fit_statistics first.")
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "statistics_")

    # Files ----------------------------------------------------------------------------------------------------------

    def _facts(self) -> dict[str, Any]:
        """What the header of a file tells."""
        facts = self._fitted().statistics_._facts() | {"options": shown(self.get_params(deep=False))}
        return facts if self._model is None else facts | self._model.schema.facts()

    def _outline(self) -> Self:
        """The same, with the model made before what it is made of is left out."""
        if hasattr(self, "statistics_") and self._model is None:
            self._model = self._model_of(self.statistics_)
        return self

    def _is_sound(self) -> bool:
        seeded = self.random_state is None or (type(self.random_state) is int and self.random_state >= 0)
        return seeded and (not hasattr(self, "statistics_") or self._is_of_its_statistics())

    def _is_of_its_statistics(self) -> bool:
        schema, model = self.statistics_.schema, self._model
        names = tuple(getattr(self, "feature_names_in_", ())) or None
        named = self.n_features_in_ == len(schema) and names == schema.names
        return named and (model is None or model.is_of(self.statistics_))

    # ----------------------------------------------------------------------------------------------------------------

    @property
    def _strict(self) -> bool:
        return not choose("missing", self.missing, MISSING)

    @property
    def _is_bayes(self) -> bool:
        return isinstance(self.estimate, str) and self.estimate == "bayes"

    def _unfitted(self) -> Self:
        """The same options, all that was chosen from rows included, with nothing fitted."""
        return clone(self)

    def _roughly(self) -> Self:
        """The same options, with less patience where models are many; nothing fitted."""
        return clone(self)

    @property
    def _is_sum_of_rows(self) -> bool:
        """Whether statistics without a row are those of all rows less those of the row."""
        return True

    def _downdates(self) -> Downdates | None:
        """What leaves rows out by formula, where the model is a Gaussian that allows it."""
        return None


def required(y: Any) -> Any:
    """The labels themselves, or an error where there are none."""
    if y is None:
        raise ClasswiseError("This estimator requires y to be passed, but the target y is None.")
    return y


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
