"""Options that only rows held out can tell: dials, the strength of a prior, how sure to be."""

import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if

from classwise.arrays import Array
from classwise.calibration import Calibration
from classwise.covariance import NormalInverseWishart
from classwise.engines import BLAS
from classwise.errors import ClasswiseError
from classwise.estimators.answers import read_seed
from classwise.estimators.base import BayesEstimator
from classwise.estimators.crossing import Crossing
from classwise.estimators.fitted import required
from classwise.estimators.model import Model
from classwise.options import choose
from classwise.priors import Priors
from classwise.selection import OutOfFold
from classwise.statistics import ClassStatistics
from classwise.storage import stored

CALIBRATIONS = {None: False, "temperature": True}

# The fitted attributes that tell what was chosen.
CHOSEN = ("calibration_", "dials_", "prior_choice_")


class Chosen(NamedTuple):
    """Options by all folds, options for each fold by the others, and the fitted attributes that tell how."""

    options: dict[str, Any]
    without: Callable[[int], dict[str, Any]]
    record: dict[str, Any]


@stored("Tuned")
@dataclass(frozen=True, eq=False)
class Tuned:
    """A model with nothing left to choose, by all folds and for each fold by the others; and how it was chosen."""

    plain: "ChoosingEstimator"
    by_fold: tuple["ChoosingEstimator", ...]
    record: Mapping[str, Any]


class ChoosingEstimator(BayesEstimator):
    """An estimator some of whose options may be left to cross-validation.

    folds: a number of stratified folds, the fold of each row, or a splitter of scikit-learn's.
    calibrate: "temperature" raises posteriors to the power that suits rows held out.
    """

    calibrate: str | None
    folds: Any
    prior: Any

    @abstractmethod
    def _open_choices(self) -> dict[str, Any]:
        """The options that are left to choose, with their values."""

    @abstractmethod
    def _choose(self, crossing: Crossing) -> Chosen:
        """Values for them."""

    def _tune(self, crossing: Crossing) -> Tuned:
        """Everything that is to be chosen but the power, chosen."""
        nothing = Chosen({}, lambda fold: {}, {})
        options, without, record = self._choose(crossing) if self._open_choices() else nothing
        by_fold = tuple(self._with_options(without(fold)) for fold in range(len(crossing)))
        return Tuned(self._with_options(options), by_fold, record)

    def _with_options(self, options: dict[str, Any]) -> "ChoosingEstimator":
        return clone(self).set_params(**options, calibrate=None)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows X (n, p) and labels y (n,), as all estimators do.

        What is left to cross-validation is chosen by log loss, which takes another look at the rows.
        """
        if not self._is_choosing:
            return super().fit(X, y, sample_weight)
        crossing = Crossing.read(
            X,
            required(y),
            self.folds,
            families=self.families,
            weights=sample_weight,
            random_state=read_seed(self.random_state),
            strict=self._strict,
            quartics=self._needs_quartics,
            form=clone(self)._checked_form(),
        )
        with BLAS.held(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what there is to say is said of all rows
            tuned = self._tune(crossing)
            calibration = self._fit_power(tuned, crossing) if self.calibrate else None
        return self._adopt(tuned, calibration, crossing.statistics.total())

    def _adopt(self, tuned: Tuned, calibration: Calibration | None, statistics: ClassStatistics) -> Self:
        """Learn from statistics with everything chosen."""
        model = tuned.plain._make(statistics)
        self._keep(model.with_classifier(model.classifier.calibrated(calibration)), statistics)
        for name, value in tuned.record.items():
            setattr(self, name, value)
        if calibration is not None:
            self.calibration_ = calibration
        return self

    def _keep(self, model: Model | None, statistics: ClassStatistics) -> None:
        # What an earlier fit chose is no longer so.
        for name in CHOSEN:
            self.__dict__.pop(name, None)
        super()._keep(model, statistics)

    def with_priors(self, priors: Priors) -> Self:
        """The same model under other class priors: a new estimator, with nothing fitted again."""
        other = super().with_priors(priors)
        for name in CHOSEN:
            if name in self.__dict__:
                setattr(other, name, self.__dict__[name])
        if other.classifier_.calibration is not None:
            other.calibration_ = other.classifier_.calibration
        return other

    def _fit_power(self, tuned: Tuned, crossing: Crossing) -> Calibration:
        answers = crossing.blank()
        for fold, model in zip(crossing.each(), tuned.by_fold, strict=True):
            answers[fold.rows] = fold.log_posterior(fold.fit(model))
        return out_of_fold(answers, crossing).fit()

    @property
    def _is_choosing(self) -> bool:
        return choose("calibrate", self.calibrate, CALIBRATIONS) or bool(self._open_choices())

    @property
    def _has_given_prior(self) -> bool:
        return self._is_bayes and isinstance(self.prior, NormalInverseWishart)

    @available_if(lambda self: not self._is_choosing)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to those learned from so far; not where an option is left to cross-validation, which needs all rows
        twice.
        """
        return super().partial_fit(X, y, classes, sample_weight)

    def fit_statistics(self, statistics: ClassStatistics) -> Self:
        """Learn from statistics, gathered here or elsewhere; not where an option is left to cross-validation, which
        needs the rows.
        """
        if self._is_choosing:
            left = {**self._open_choices(), **({"calibrate": self.calibrate} if self.calibrate else {})}
            named = " and ".join(f"{name}={value!r}" for name, value in left.items())
            need = "needs" if len(left) == 1 else "need"
            raise ClasswiseError(f"{named} {need} the rows: call fit, or choose without them.")
        return super().fit_statistics(statistics)


def out_of_fold(log_posterior: Array, crossing: Crossing) -> OutOfFold:
    """The posteriors of rows held out that say something."""
    weights = crossing.telling
    told = slice(None) if weights.all() else np.flatnonzero(weights)
    return OutOfFold(log_posterior[told], crossing.codes[told], crossing.folds[told], weights[told])
