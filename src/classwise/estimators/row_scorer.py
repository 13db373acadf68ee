"""A fitted model for one row at a time: as fast as a call from Python can be, for scoring online.

`predict_proba` of an estimator takes any table: it opens it, checks its columns and reads them by the model's schema.
For one row that takes longer than Bayes' rule itself. A scorer knows the columns, and takes a row as it is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from classwise.arrays import Array, Labels
from classwise.classifier.bayes import Classifier, FittedModel, ask
from classwise.errors import ClasswiseError, UnscorableError
from classwise.kernels.scores import Answer
from classwise.rows.codes import is_missing
from classwise.rows.schema import Schema


@dataclass(frozen=True, eq=False)
class RowScorer:
    """A model frozen for one row at a time. A row is a sequence of values in the order of the model's columns, or a
    mapping from the names of columns to values; what is missing is None, NaN, or not in the mapping.

    >>> import classwise as cw
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> scorer = cw.LDA().fit(X, y).scorer()
    >>> scorer.predict([5.9, 3.2, 4.8, 1.8])
    2
    >>> scorer.predict_proba([5.9, 3.2, 4.8, 1.8]).round(3)
    array([0.   , 0.249, 0.751])
    """

    classifier: Classifier
    labels: tuple[Any, ...]
    names: tuple[str, ...] | None
    width: int
    places: Mapping[int, Mapping[Any, int]]  # of each category: the position of each level
    strict: bool

    @classmethod
    def of(cls, model: FittedModel, strict: bool) -> "RowScorer":
        _refuse_conversions(model.schema)
        places = {j: _positions(levels) for j, levels in model.levels.items()}
        names = None if model.schema.names is None else tuple(model.schema.names)
        return cls(model.classifier, tuple(model.classifier.labels.tolist()), names, len(model.schema), places, strict)

    @property
    def classes_(self) -> Labels:
        """The labels, sorted; (g,)."""
        return self.classifier.labels

    def predict(self, row: Sequence[Any] | Mapping[str, Any]) -> Any:
        """The most probable label."""
        return self.labels[self._answer_row(Answer.DECISION, row)[0]]

    def predict_proba(self, row: Sequence[Any] | Mapping[str, Any]) -> Array:
        """P(k | x), in the order of `classes_`; (g,)."""
        return self._answer_row(Answer.POSTERIOR, row)[:, 0]

    def predict_log_proba(self, row: Sequence[Any] | Mapping[str, Any]) -> Array:
        """log P(k | x); (g,)."""
        return self._answer_row(Answer.LOG_POSTERIOR, row)[:, 0]

    def _answer_row(self, answer: Answer, row: Sequence[Any] | Mapping[str, Any]) -> Any:
        values = self._values(row)
        fused = self.classifier.fused(values, answer)
        if fused is not None:
            return fused
        if np.isinf(values).any():
            raise ClasswiseError("The row holds infinity, which no model can score.")
        if self.strict and (np.isnan(values).any() or any(values[0, j] < 0 for j in self.places)):
            raise ClasswiseError("The row has missing values, and the model has missing='error'.")
        with np.errstate(over="ignore", invalid="ignore"):
            try:
                return ask(answer, self.classifier, values)
            except UnscorableError:
                return ask(answer, self.classifier.observing(), values)

    def _values(self, row: Sequence[Any] | Mapping[str, Any]) -> Array:
        """The row as classifiers take it: levels by their positions, -1 where one is missing, NaN elsewhere; (1, p)."""
        given: Any = self._in_order(row) if isinstance(row, Mapping) else row
        if self.places:
            given = [self._code(j, value) if j in self.places else value for j, value in enumerate(given)]
        try:
            values = np.array([given], dtype=np.float64)
        except (TypeError, ValueError):
            raise ClasswiseError(f"A row is one number or level for each column, not {row!r}.") from None
        if values.shape != (1, self.width):
            raise ClasswiseError(f"The model has {self.width} columns, and the row {values.size} values.")
        return values

    def _code(self, column: int, value: Any) -> int:
        if is_missing(value):
            return -1
        levels = self.places[column]
        return levels.get(value, len(levels))

    def _in_order(self, row: Mapping[str, Any]) -> list[Any]:
        if self.names is None:
            raise ClasswiseError("The model was fitted to columns without names; give the row as a sequence of values.")
        unknown = [name for name in row if name not in self.names]
        if unknown:
            raise ClasswiseError(f"The row has {unknown[0]!r}, which is not a column of the model: {list(self.names)}.")
        return [row.get(name) for name in self.names]


def _positions(levels: Labels) -> dict[Any, int]:
    return {level: place for place, level in enumerate(levels.tolist())}


def _refuse_conversions(schema: Schema) -> None:
    """Dates and numbers that are written as text are converted where tables are read, and a scorer reads no table."""
    converted = [schema.name(j) for j, column in enumerate(schema) if column.conversion is not None]
    if converted:
        raise ClasswiseError(
            f"A scorer takes numbers and levels, and {converted[0]} is converted when a table is read; "
            "use predict_proba with a table of one row."
        )
