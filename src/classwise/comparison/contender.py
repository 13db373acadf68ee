"""A model that is ready to be asked about rows it has not seen: fitted without each fold, its powers chosen."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from classwise.arrays import Array, Codes
from classwise.comparison.evidence import summed_up
from classwise.comparison.references import ClassShares, Given, Reference, Twin
from classwise.comparison.trial import Trial
from classwise.estimators import crosses
from classwise.rows.reading import open_source
from classwise.selection.crossing import Crossing, Fold
from classwise.statistics import ClassStatistics


class HeldOut(NamedTuple):
    """Rows of one fold, as a fold of their own and as a table of pyarrow's."""

    fold: Fold
    rows: Any


# log P(k | x) of rows held out; (m, g).
Answer: TypeAlias = Callable[[HeldOut], Array]


@dataclass(frozen=True, eq=False)
class Contender:
    """answers: by fold, of the model of all others; powers: by fold, chosen on the others, where there are any.

    density: the model of all rows, where its evidence takes the density of every row.
    """

    trial: Trial
    answers: tuple[Answer, ...]
    powers: tuple[float, ...] | None = None
    density: Any = None


def contend(trial: Trial, crossing: Crossing, sample: Any, calibrate: bool) -> Contender:
    """Everything that is to be chosen, chosen, by the rows of a sample; sample: these, as a table of pyarrow's."""
    start = perf_counter()
    if crosses(trial.model):
        contender = _member(trial, crossing)
    elif isinstance(trial.model, Twin):
        contender, calibrate = _twin(trial, crossing), False
    elif isinstance(trial.model, ClassShares):
        contender = _shares(trial, crossing)
    else:
        contender = _reference(trial, crossing)
    if calibrate:
        contender = _calibrated(contender, crossing, sample)
    return replace(contender, trial=replace(contender.trial, seconds=perf_counter() - start))


def _member(trial: Trial, crossing: Crossing) -> Contender:
    """A member of the family: its dials and strengths are chosen by the sample, its covariances are of all rows."""
    tuned = trial.model._tune(crossing)
    fitted = [fold.fit(model._plan()) for fold, model in zip(crossing.each(), tuned.by_fold, strict=True)]
    trial, whole = summed_up(replace(trial, tuned=tuned), crossing.statistics.total())
    return Contender(trial, tuple(map(_asked, fitted)), density=None if trial.evidence else whole)


def _asked(fitted: Any) -> Answer:
    return lambda held: held.fold.log_posterior(fitted)


def _twin(trial: Trial, crossing: Crossing) -> Contender:
    """Logistic regression, fitted on the rows of the sample."""
    twin: Twin = trial.model
    fitted = [twin.fitted(fold) for fold in crossing.each()]
    trained = twin.trained(crossing)
    count = (len(crossing.labels) - 1) * trained.classifier_.design.width
    trial = replace(trial, model=twin.model, trained=trained, free_parameters=count)
    return Contender(trial, tuple(_answered(twin, model) for model in fitted))


def _reference(trial: Trial, crossing: Crossing) -> Contender:
    """Any other classifier, fitted on the rows of the sample."""
    other: Reference | Given = trial.model
    fitted = [other.fitted(fold) for fold in crossing.each()]
    trial = replace(trial, model=other.model, free_parameters=other.count(crossing))
    if isinstance(other, Given):
        return Contender(trial, tuple(_answered(other, model) for model in fitted))
    return Contender(trial, tuple(_encoded(other, model, crossing) for model in fitted))


def _answered(given: Given, fitted: Any) -> Answer:
    return lambda held: given.answer(fitted, held.fold, given.like(held.rows))


def _encoded(reference: Reference, fitted: Any, crossing: Crossing) -> Answer:
    schema, levels = crossing.table.schema, crossing.table.levels
    return lambda held: reference.answer(fitted, held.fold, held.fold.crossing.source.read_like(schema, levels))


def _shares(trial: Trial, crossing: Crossing) -> Contender:
    """The shares of the classes in all other folds: the statistics know them."""
    logs = []
    for fold in crossing.each():
        weight = np.zeros(len(crossing.labels))
        weight[np.searchsorted(crossing.labels, fold.training.labels)] = fold.training.weight
        with np.errstate(divide="ignore"):
            logs.append(np.log(weight / weight.sum()))
    trial = replace(trial, model=trial.model.model, free_parameters=len(crossing.labels) - 1)
    return Contender(trial, tuple(map(_constant, logs)))


def _constant(logs: Array) -> Answer:
    return lambda held: np.tile(logs, (len(held.fold.rows), 1))


def _calibrated(contender: Contender, crossing: Crossing, sample: Any) -> Contender:
    """With the powers that suit the posteriors of the sample."""
    answers = crossing.blank()
    for fold, answer in zip(crossing.each(), contender.answers, strict=True):
        if len(fold.rows):
            answers[fold.rows] = answer(held_out(crossing, fold, sample))
    calibration, by_fold = crossing.out_of_fold(answers).fit_by_fold()
    powers = [each.power for each in by_fold]
    powers += [calibration.power] * (len(crossing) - len(powers))  # folds of which the sample has no row
    return replace(contender, trial=replace(contender.trial, calibration=calibration), powers=tuple(powers))


def held_out(crossing: Crossing, fold: Fold, sample: Any) -> HeldOut:
    """The rows of the sample in one fold, as rows of a chunk are."""
    return part_of(crossing, sample.take(fold.rows), fold.training, crossing.codes[fold.rows])


def part_of(crossing: Crossing, rows: Any, training: ClassStatistics, codes: Codes) -> HeldOut:
    """Rows of one fold by themselves, to be asked about; training: the statistics of all other folds."""
    places, one = np.arange(len(codes)), np.zeros(len(codes), dtype=np.intp)
    own = replace(crossing, source=open_source(rows), places=places, codes=codes, folds=one)
    return HeldOut(Fold(own, places, training), rows)
