"""Trying a model on every fold of rows in memory: its answers for rows that it had not seen, and their evaluation."""

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from sklearn.base import clone

from classwise.arrays import Array, Codes
from classwise.classifier.bayes import Calibration
from classwise.classifier.evaluation import Evaluation
from classwise.comparison.evidence import described
from classwise.comparison.references import Given, Reference, Twin
from classwise.comparison.trial import Trial, failed
from classwise.engines import in_threads
from classwise.errors import ClasswiseError
from classwise.estimators import SummaryEstimator
from classwise.selection.crossing import Crossing, Fold


def try_member(trial: Trial, crossing: Crossing, calibrate: bool, step: Callable[[], None]) -> Trial:
    """A member of the family on every fold, its options chosen on the other folds."""
    start = time.perf_counter()
    model: SummaryEstimator = trial.model
    answers = crossing.blank()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what there is to say is said when the best is fitted
        try:
            tuned = model._tune(crossing)
            folds = list(zip(crossing.each(), tuned.by_fold, strict=True))
            for (fold, _), answer in zip(folds, in_threads(_answer, folds), strict=True):
                answers[fold.rows] = answer
                step()
            trial = described(replace(trial, tuned=tuned), crossing)
        except (ClasswiseError, np.linalg.LinAlgError) as problem:
            return failed(replace(trial, seconds=time.perf_counter() - start), problem)
    trial = evaluated(trial, answers, crossing, calibrate)
    return replace(trial, seconds=time.perf_counter() - start)


def _answer(fold_and_model: tuple[Fold, SummaryEstimator]) -> Array:
    fold, model = fold_and_model
    return fold.log_posterior(fold.fit(model._plan()))


def try_reference(trial: Trial, crossing: Crossing, calibrate: bool, step: Callable[[], None]) -> Trial:
    """A classifier of scikit-learn's, fitted on the rows of all other folds."""
    start = time.perf_counter()
    reference: Reference | Given = trial.model
    trial, answers = replace(trial, model=reference.model), crossing.blank()
    try:
        for fold in crossing.each():
            answers[fold.rows] = reference.log_posterior(fold)
            step()
        trial = replace(trial, free_parameters=reference.count(crossing))
    except Exception as problem:  # whatever a model of somebody else's raises is the reason why it has no row
        return failed(replace(trial, seconds=time.perf_counter() - start), problem)
    trial = evaluated(trial, answers, crossing, calibrate)
    return replace(trial, seconds=time.perf_counter() - start)


def try_twin(trial: Trial, crossing: Crossing, step: Callable[[], None]) -> Trial:
    """Logistic regression, fitted on the rows of all other folds, and on all rows.

    It is not given a power: its probabilities are fitted to labels already.
    """
    start = time.perf_counter()
    twin: Twin = trial.model
    trial, answers = replace(trial, model=twin.model), crossing.blank()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what there is to say is said when the best is asked for
        try:
            for fold in crossing.each():
                answers[fold.rows] = twin.log_posterior(fold)
                step()
            trained = twin.trained(crossing)
        except (ClasswiseError, np.linalg.LinAlgError) as problem:
            return failed(replace(trial, seconds=time.perf_counter() - start), problem)
    count = (len(crossing.labels) - 1) * trained.classifier_.design.width
    trial = replace(trial, trained=trained, free_parameters=count)
    trial = evaluated(trial, answers, crossing, calibrate=False)
    return replace(trial, seconds=time.perf_counter() - start)


def try_stack(trial: Trial, crossing: Crossing, rows: Given, step: Callable[[], None]) -> Trial:
    """The stack, whose members and weights see all folds but one; fitted on all rows.

    Its own folds are those of the comparison, so that it is learned once. It has its power already.
    """
    start = time.perf_counter()
    stack = clone(trial.model)
    X, labels, weights = rows.training(crossing, np.zeros(0, dtype=np.intp))
    try:
        answers = stack._learn(X, labels, weights).log_posterior
    except (ClasswiseError, np.linalg.LinAlgError) as problem:
        return failed(replace(trial, seconds=time.perf_counter() - start), problem)
    for _ in crossing.each():
        step()
    trial = evaluated(replace(trial, trained=stack), answers, crossing, calibrate=False)
    return replace(trial, seconds=time.perf_counter() - start)


def evaluated(trial: Trial, answers: Array, crossing: Crossing, calibrate: bool) -> Trial:
    """With the evaluation of its posteriors (n, g), and of the same with a power."""
    parts = list(_told(crossing))
    as_is = tuple(_evaluations(answers, crossing, parts))
    trial = replace(trial, log_posterior=answers, as_is=as_is)
    if not calibrate:
        return trial
    calibration, by_fold = crossing.out_of_fold(answers).fit_by_fold()
    calibrated = tuple(_evaluations(answers, crossing, parts, by_fold))
    return replace(trial, calibration=calibration, calibrated=calibrated)


class _Part(NamedTuple):
    """The rows of a fold that tell something, and their weights."""

    fold: int
    rows: Codes
    weights: Array


def _told(crossing: Crossing) -> Sequence[_Part]:
    """By fold; folds without any such row are left out."""
    weights = crossing.telling
    parts = (fold.rows[weights[fold.rows] > 0] for fold in crossing.each())
    return [_Part(fold, rows, weights[rows]) for fold, rows in enumerate(parts) if len(rows)]


def _evaluations(
    answers: Array, crossing: Crossing, parts: Sequence[_Part], powers: Sequence[Calibration] | None = None
) -> list[Evaluation]:
    def evaluate(part: _Part) -> Evaluation:
        scores = answers[part.rows] if powers is None else powers[part.fold].power * answers[part.rows]
        return Evaluation.of(scores, crossing.codes[part.rows], crossing.labels, part.weights)

    return list(in_threads(evaluate, parts))
