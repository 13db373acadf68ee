"""What is tried: rows in memory, the ways in which they have been read, and every model that they are to judge."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from classwise import limits
from classwise.comparison.family import family, needs_full, twins
from classwise.comparison.references import Given, Reference, Twin, references
from classwise.comparison.stack import AutoClassifier
from classwise.comparison.trial import Trial, failed
from classwise.comparison.trying import try_member, try_reference, try_stack, try_twin
from classwise.engines import BLAS
from classwise.engines.progress import silent
from classwise.errors import ClasswiseError
from classwise.estimators import BayesianLogistic, ChoosingEstimator, Crossing
from classwise.rows.reading import open_source
from classwise.selection.first_pass import MOST_BYTES, Reading, bytes_by_fold
from classwise.statistics import DiagonalScatter, FullScatter, Scatter

# Nearest neighbors and softmax regression, ten times each, take minutes from about here on: rows times columns.
LONG = 2_000_000

# So does logistic regression with all of its curvature: multiplications in one pass over the rows.
LONG_NEWTON = 2_000_000_000

# And the stack: rows times columns times classes.
LONG_STACKING = 400_000

TOO_LONG = "Takes minutes on a table of this size; references=True insists."


@dataclass(eq=False)
class Trials:
    """Rows, and the ways in which they have been read."""

    X: Any
    y: Any
    folds: Any
    weights: Any
    groups: Any
    families: Any
    seed: int
    _crossings: dict[str, Crossing] = field(default_factory=dict)

    def crossing(self, families: Any = None, full: bool = True) -> Crossing:
        """The statistics by fold, for these families, with covariances or without; the folds are always the same."""
        families = self.families if families is None else families
        key = repr((families, full))
        if key not in self._crossings:
            form = FullScatter if full and self._bytes <= MOST_BYTES else DiagonalScatter
            first = next(iter(self._crossings.values()), None)
            if first is None:
                self._crossings[key] = self._read(families, full, form)
            else:
                self._crossings[key] = first.seen_as(families, full, form)
        return self._crossings[key]

    def _read(self, families: Any, quartics: bool, form: type[Scatter]) -> Crossing:
        return Crossing.read(
            self.X,
            self.y,
            self.folds,
            families=families,
            weights=self.weights,
            groups=self.groups,
            random_state=self.seed,
            quartics=quartics,
            form=form,
        )

    def _columns(self) -> int:
        return open_source(self.X).n_features

    @cached_property
    def _bytes(self) -> float:
        """What covariances by fold and class take."""
        folds = int(self.folds) if isinstance(self.folds, (int, np.integer)) else _count_folds(self.folds)
        classes = len(set(np.asarray(self.y, dtype=object).ravel().tolist()))
        return bytes_by_fold(self._columns(), classes, folds)

    def planned(self, models: Mapping[str, Any], rivals: bool | None) -> list[Trial]:
        """Everything that is going to be tried."""
        crossing = self.crossing()
        schema = crossing.table.schema
        numbers = len(schema.positions("gaussian"))
        missing = bool(crossing.statistics.total().missing_weight().any())
        members = family(numbers, missing)
        if not isinstance(self.families, str):
            members.pop("naive Bayes, best families", None)
        trials = [Trial(name, "family", model) for name, model in members.items()]
        pair = twins(len(crossing.labels), self.families)
        fits: dict[int, BayesianLogistic] = {}
        trials += [Trial(name, "twin", Twin(model, self.X, fits)) for name, model in pair.items()]
        if rivals is not False:
            trials += [Trial(name, "reference", model) for name, model in references(crossing).items()]
            trials.append(Trial("stack", "stack", AutoClassifier(folds=crossing.folds, families=self.families)))
        taken = sorted(set(models) & {trial.name for trial in trials})
        if taken:
            raise ClasswiseError(f"models has the name {taken[0]!r}, which is compared already; give it another.")
        trials += [self._given(name, model) for name, model in models.items()]
        return [self._checked(trial, rivals) for trial in trials]

    def _given(self, name: str, model: Any) -> Trial:
        if isinstance(model, ChoosingEstimator):
            return Trial(name, "given", model)
        if isinstance(model, BayesianLogistic):
            return Trial(name, "given", Twin(model, self.X))
        if not hasattr(model, "fit") or not hasattr(model, "predict_proba"):
            raise ClasswiseError(f"models[{name!r}] has no fit and predict_proba, and cannot be compared.")
        return Trial(name, "given", Given(model, self.X))

    def _checked(self, trial: Trial, rivals: bool | None) -> Trial:
        """With the reason, where it is not worth trying."""
        if isinstance(trial.model, ChoosingEstimator):
            if needs_full(trial.model) and self._bytes > MOST_BYTES:
                size = self._bytes / 1e9
                return failed(trial, ClasswiseError(f"Covariances by fold and class would take {size:.1f} GB."))
        elif trial.kind == "twin":
            if rivals is not True and self._newton_work() > LONG_NEWTON:
                return failed(trial, ClasswiseError(TOO_LONG))
        elif rivals is None and self._takes_long(trial):
            return failed(trial, ClasswiseError(TOO_LONG))
        elif trial.kind == "stack" and len(self.crossing().table) > limits.MOST_TRIED:
            return failed(
                trial, ClasswiseError(f"Tries {limits.MOST_TRIED} rows at most; fit AutoClassifier by itself.")
            )
        return trial

    def _takes_long(self, trial: Trial) -> bool:
        """Whether a reference, or the stack, takes long beside all the others."""
        crossing = self.crossing()
        if trial.kind == "stack":
            return len(crossing.table) * len(crossing.table.schema) * len(crossing.labels) > LONG_STACKING
        return isinstance(trial.model, Reference) and trial.model.work(crossing.table) > LONG

    def _newton_work(self) -> int:
        """Multiplications of one pass over the rows: products of all pairs of columns, for each pair of classes."""
        crossing = self.crossing()
        levels = sum(len(levels) for levels in crossing.table.levels.values())
        columns = len(crossing.table.schema) - len(crossing.table.levels) + levels + 1
        classes = len(crossing.labels)
        return len(crossing.table) * columns**2 * classes * (classes - 1) // 2

    def run(self, trial: Trial, calibrate: bool, step: Callable[[], None]) -> Trial:
        if trial.reason:
            return trial
        # Covariances are small: several threads on one of them would wait for each other longer than they work.
        with silent(), BLAS.held():
            if isinstance(trial.model, ChoosingEstimator):
                own = trial.model.families
                crossing = self.crossing() if is_auto(own) else self.crossing(own, needs_full(trial.model))
                return try_member(trial, crossing, calibrate, step)
            if isinstance(trial.model, Twin):
                return try_twin(trial, self.crossing(), step)
            if trial.kind == "stack":
                return try_stack(trial, self.crossing(), Given(trial.model, self.X), step)
            return try_reference(trial, self.crossing(), calibrate, step)


def is_auto(families: Any) -> bool:
    """Whether columns are what their types say."""
    return isinstance(families, str) and families == "auto"


def readings_of(families: Any, models: Mapping[str, Any]) -> tuple[Reading, ...]:
    """All ways in which the family, and models that were given, read the rows."""
    readings = [Reading(families, True)]
    if isinstance(families, str):
        readings.append(Reading("best", False))
    own = [model for model in models.values() if isinstance(model, ChoosingEstimator) and not is_auto(model.families)]
    readings += [Reading(model.families, needs_full(model)) for model in own]
    return tuple({reading.key: reading for reading in readings}.values())


def _count_folds(folds: Any) -> int:
    """How many there are, as far as it can be told before rows are read."""
    if hasattr(folds, "get_n_splits"):
        return int(folds.get_n_splits()) if hasattr(folds, "n_splits") else 10
    values = list(folds) if isinstance(folds, Iterable) and not isinstance(folds, str) else []
    pairs = bool(values) and isinstance(values[0], (tuple, list))
    return max(len(values) if pairs else len(set(np.asarray(values).ravel().tolist())), 2)
