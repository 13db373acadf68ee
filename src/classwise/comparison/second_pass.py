"""The second pass over a stream: every row is judged by models that have not seen its fold, and scores are added up."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array, Codes
from classwise.classifier.evaluation import Evaluation
from classwise.comparison.contender import Contender, HeldOut, part_of
from classwise.comparison.evidence import by_bic, own_densities
from classwise.comparison.trial import Trial, reason
from classwise.errors import ClasswiseError
from classwise.rows.labels import positions
from classwise.rows.roles import Chunk, as_arrow
from classwise.rows.sampling import ALL
from classwise.selection.crossing import Crossing
from classwise.selection.folds import Dealer, Hand


@dataclass(frozen=True, eq=False)
class Score:
    """What became of one model: its evaluations by fold, as it is and with its powers, and sums over all rows.

    problem: why it could not answer, or "".
    """

    as_is: dict[int, Evaluation] = field(default_factory=dict)
    calibrated: dict[int, Evaluation] = field(default_factory=dict)
    log_likelihood: float = 0.0
    seconds: float = 0.0
    problem: str = ""

    def __add__(self, other: "Score") -> "Score":
        return Score(
            _added(self.as_is, other.as_is),
            _added(self.calibrated, other.calibrated),
            self.log_likelihood + other.log_likelihood,
            self.seconds + other.seconds,
            self.problem or other.problem,
        )

    def given_to(self, contender: Contender) -> Trial:
        """The trial with all that was found out."""
        trial = replace(contender.trial, seconds=contender.trial.seconds + self.seconds)
        if self.problem:
            return replace(trial, reason=self.problem, tuned=None, trained=None, statistics=None)
        folds = sorted(self.as_is)
        trial = replace(
            trial,
            as_is=tuple(self.as_is[fold] for fold in folds),
            calibrated=tuple(self.calibrated[fold] for fold in folds) if self.calibrated else (),
        )
        return trial if contender.density is None else by_bic(trial, contender.density, self.log_likelihood)


def _added(ours: dict[int, Evaluation], theirs: dict[int, Evaluation]) -> dict[int, Evaluation]:
    return {**ours, **{fold: ours[fold] + one if fold in ours else one for fold, one in theirs.items()}}


@dataclass(frozen=True, eq=False)
class Verdict:
    """What some rows add: a score for each model, how many rows there were, and what tells them from others."""

    scores: tuple[Score, ...]
    rows: int
    mark: int

    def __add__(self, other: "Verdict") -> "Verdict":
        scores = tuple(ours + theirs for ours, theirs in zip(self.scores, other.scores, strict=True))
        return Verdict(scores, self.rows + other.rows, (self.mark + other.mark) & ALL)


class _Part(NamedTuple):
    """Rows of one fold that were held out; weights (m,), and among them those of rows that tell something."""

    fold: int
    held: HeldOut
    codes: Codes
    weights: Array
    telling: Array


@dataclass(frozen=True, eq=False)
class SecondPass:
    """A chunk of rows to what it adds. crossing: of the sample; kept (k,): the numbers of the folds that have rows."""

    dealer: Dealer
    contenders: tuple[Contender, ...]
    crossing: Crossing
    kept: Codes

    def __call__(self, chunk: Chunk) -> Verdict:
        hand = self.dealer.deal(chunk)
        nothing = Verdict(tuple(Score() for _ in self.contenders), hand.counted.rows, 0)
        if not len(hand.rows):
            return nothing
        parts = list(self._parts(hand))
        scores = tuple(self._score(contender, parts) for contender in self.contenders)
        return Verdict(scores, hand.counted.rows, hand.mark())

    def _parts(self, hand: Hand) -> Iterator[_Part]:
        """The rows of each fold by themselves."""
        labels, codes = hand.counted.coded()
        if not set(labels.tolist()) <= set(self.crossing.labels.tolist()):
            raise ChangedRowsError(CHANGED)
        codes = positions(labels, self.crossing.labels)[codes]
        weights = np.ones(len(codes)) if hand.counted.weights is None else hand.counted.weights
        order = np.argsort(hand.folds, kind="stable")
        rows = as_arrow(hand.counted.frame.select(list(self.dealer.roles.features))[order])
        ends = np.searchsorted(hand.folds[order], self.kept, side="right")
        starts = np.searchsorted(hand.folds[order], self.kept, side="left")
        for fold, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
            if end > start:
                own = order[start:end]
                held = self._held(fold, rows.slice(start, end - start), codes[own])
                telling = weights[own] * self._elsewhere[fold, codes[own]]
                yield _Part(fold, held, codes[own], weights[own], telling)

    def _held(self, fold: int, rows: Any, codes: Codes) -> HeldOut:
        return part_of(self.crossing, rows, self.crossing.each()[fold].training, codes)

    @cached_property
    def _elsewhere(self) -> NDArray[np.bool_]:
        return self.crossing.statistics.elsewhere(self.crossing.labels)

    def _score(self, contender: Contender, parts: list[_Part]) -> Score:
        start = perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                score = sum((self._of_part(contender, part) for part in parts), Score())
        except Exception as problem:  # whatever a model of somebody else's raises is the reason why it has no row
            if contender.trial.kind in ("family", "twin") and not isinstance(
                problem, (ClasswiseError, np.linalg.LinAlgError)
            ):
                raise
            score = Score(problem=reason(problem))
        return replace(score, seconds=perf_counter() - start)

    def _of_part(self, contender: Contender, part: _Part) -> Score:
        answers = contender.answers[part.fold](part.held)
        told = np.flatnonzero(part.telling)
        if len(told) < len(answers):
            answers = answers[told]
        codes, weights, labels = part.codes[told], part.telling[told], self.crossing.labels
        likelihood = 0.0
        if contender.density is not None:
            likelihood = float(own_densities(contender.density, part.held.fold, part.codes) @ part.weights)
        if not len(told):
            return Score(log_likelihood=likelihood)
        as_is = {part.fold: Evaluation.of(answers, codes, labels, weights)}
        if contender.powers is None:
            return Score(as_is, log_likelihood=likelihood)
        powered = Evaluation.of(contender.powers[part.fold] * answers, codes, labels, weights)
        return Score(as_is, {part.fold: powered}, likelihood)


CHANGED = (
    "The rows were not the same when they were read again, and a comparison of a stream reads them twice. Rows of a "
    "database have no order, unless a query gives them one: add ORDER BY. What can be read only once does not serve: "
    "write the rows to a file, or give a function that makes a new stream each time."
)


class ChangedRowsError(ClasswiseError):
    """Rows that are read twice have changed in between, or come in another order."""
