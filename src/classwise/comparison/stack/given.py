"""Any other classifier as a member: it sees the rows as they came."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from classwise.arrays import Array, Codes
from classwise.comparison.stack.member import Crossed, Member, Trained
from classwise.comparison.stack.study import Study
from classwise.errors import ClasswiseError
from classwise.storage import stored


@stored("GivenMember")
@dataclass(frozen=True, eq=False)
class GivenTrained(Trained):
    """model: fitted on all rows; it can be saved if it is one of classwise's."""

    model: Any

    def _is_sound(self) -> bool:
        return hasattr(self.model, "predict_proba") and len(self.model.classes_) > 1

    @property
    def sees_rows(self) -> bool:
        return False

    def log_posterior(self, rows: Array, X: Any = None) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(self.model.predict_proba(X)).T


@dataclass(frozen=True, eq=False)
class Given(Member):
    """model: fitted as it is on the rows of all folds but one; X: the table as it came."""

    name: str
    model: Any
    X: Any

    def cross(self, study: Study) -> Crossed:
        answers = study.blank()
        for _, rows in study.each():
            others = np.setdiff1d(np.arange(len(study.codes)), rows, assume_unique=True)
            fitted = self._fit(study, others)
            with np.errstate(divide="ignore"):
                logs = np.log(fitted.predict_proba(self._taken(study, rows)))
            answers[np.ix_(rows, np.searchsorted(study.labels, fitted.classes_))] = logs
        return Crossed(answers, GivenTrained(self._fit(study, np.arange(len(study.codes)))))

    def _fit(self, study: Study, rows: Codes) -> Any:
        weights = study.weights[rows]
        options = {}
        if not np.all(weights == weights[0]):
            if not has_fit_parameter(self.model, "sample_weight"):
                raise ClasswiseError(f"{type(self.model).__name__} takes no weights.")
            options = {"sample_weight": weights}
        return clone(self.model).fit(self._taken(study, rows), study.labels[study.codes[rows]], **options)

    def _taken(self, study: Study, rows: Codes) -> Any:
        return _safe_indexing(self.X if hasattr(self.X, "__getitem__") else np.asarray(self.X), study.places[rows])
