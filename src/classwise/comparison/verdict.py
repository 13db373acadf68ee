"""The scores of candidates on held-out rows, by fold, which add up over chunks.

Rows in memory are one chunk, whose posteriors are known when all options have been chosen. A stream is read again in
chunks: every row, or every row of a sample, is scored by models that have not seen its fold.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array, Codes
from classwise.classifier.decision import Policy
from classwise.classifier.evaluation import Evaluation, merged, normalized
from classwise.comparison.candidates import Candidate, HeldOut
from classwise.comparison.trial import Trial, by_bic
from classwise.errors import ClasswiseError
from classwise.rows.codes import positions
from classwise.rows.roles import Chunk, as_arrow
from classwise.rows.sampling import ALL
from classwise.selection.crossing import Crossing
from classwise.selection.folds import FoldAssigner, FoldedChunk


class Version(NamedTuple):
    """The posteriors of a fold, as they are or with a temperature."""

    fold: int
    is_calibrated: bool


@dataclass(frozen=True, eq=False)
class Score:
    """The scores of one model: evaluations of its posteriors, and sums over all rows.

    problem: the error, if the model failed.
    """

    evaluations: dict[Version, Evaluation] = field(default_factory=dict)
    costs: dict[Version, float] = field(default_factory=dict)
    log_likelihood: float = 0.0
    seconds: float = 0.0
    problem: Exception | None = None

    def __add__(self, other: "Score") -> "Score":
        both, versions = (self.evaluations, other.evaluations), {**self.evaluations, **other.evaluations}
        return Score(
            {each: merged([found[each] for found in both if each in found]) for each in versions},
            {
                each: sum(score.costs.get(each, 0.0) for score in (self, other))
                for each in {**self.costs, **other.costs}
            },
            self.log_likelihood + other.log_likelihood,
            self.seconds + other.seconds,
            self.problem or other.problem,
        )

    def by_fold(self, calibrated: bool) -> tuple[Evaluation, ...]:
        """The evaluations of the folds, in order."""
        return tuple(self.evaluations[each] for each in sorted(self.evaluations) if each.is_calibrated == calibrated)

    def costs_by_fold(self, calibrated: bool) -> tuple[float, ...]:
        """The costs of the rows of each fold, if costs were given."""
        return tuple(self.costs[each] for each in sorted(self.costs) if each.is_calibrated == calibrated)


@dataclass(frozen=True, eq=False)
class Ready:
    """A candidate with its options chosen, ready to be scored on held-out rows.

    trial: with the log posteriors, if they are known. models: for each fold, the model of the other folds, if rows are
    read again. powers: by fold, fitted on the others, if it has a temperature. whole: the model of all rows, if its
    evidence needs the density of every row. policy: the costs of mistakes, if given.
    """

    candidate: Candidate
    trial: Trial
    models: tuple[Any, ...]
    powers: tuple[float, ...] | None = None
    whole: Any = None
    policy: Policy | None = None

    def score(self, parts: Sequence[HeldOut], each: Callable[..., Iterable[Score]] = map) -> Score:
        """The score on held-out rows; each: the map over the parts, which may use threads."""
        start = perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                score = sum(each(self._score, parts), Score())
        except self.candidate.problems as problem:
            score = Score(problem=problem)
        return replace(score, seconds=perf_counter() - start)

    def _score(self, held: HeldOut) -> Score:
        answers, likelihood = self._answers(held), 0.0
        if self.whole is not None:
            likelihood = float(self.candidate.own_log_density(self.whole, held) @ held.weights)
        scored = np.flatnonzero(held.scored)
        if not len(scored):
            return Score(log_likelihood=likelihood)
        if len(scored) < len(held):
            answers = answers[scored]
        codes, weights, labels = held.codes[scored], held.scored[scored], held.fold.crossing.labels
        versions = {Version(held.number, False): answers}
        if self.powers is not None:
            versions[Version(held.number, True)] = self.powers[held.number] * answers
        found = {each: Evaluation.of(logs, codes, labels, weights, auc=False) for each, logs in versions.items()}
        costs = (
            {}
            if self.policy is None
            else {each: paid(self.policy, logs, codes, weights) for each, logs in versions.items()}
        )
        return Score(found, costs, likelihood)

    def _answers(self, held: HeldOut) -> Array:
        if self.trial.log_posterior is not None:
            return self.trial.log_posterior[held.fold.rows]
        return self.candidate.log_posterior(self.models[held.number], held)

    def judged(self, score: Score) -> Trial:
        """The trial with the score."""
        seconds = self.trial.seconds + score.seconds
        if score.problem:
            return self.trial.failed(score.problem, seconds)
        trial = replace(
            self.trial,
            as_is=score.by_fold(False),
            calibrated=score.by_fold(True),
            costs=score.costs_by_fold(False),
            calibrated_costs=score.costs_by_fold(True),
            seconds=seconds,
        )
        return trial if self.whole is None else by_bic(trial, self.whole, score.log_likelihood)


def paid(policy: Policy, log_posterior: Array, codes: Codes, weights: Array) -> float:
    """The total cost of the decisions of least expected cost; log_posterior (m, g): up to a constant per row."""
    posterior, _ = normalized(log_posterior)
    return float(policy.costs[codes, policy.decide(posterior).codes] @ weights)


# The second pass over a stream ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Verdict:
    """The part of some rows: a score for each model, the number of rows, and a checksum (mark) of them."""

    scores: tuple[Score, ...]
    rows: int
    mark: int

    def __add__(self, other: "Verdict") -> "Verdict":
        scores = tuple(ours + theirs for ours, theirs in zip(self.scores, other.scores, strict=True))
        return Verdict(scores, self.rows + other.rows, (self.mark + other.mark) & ALL)


@dataclass(frozen=True, eq=False)
class SecondPass:
    """From a chunk of rows to its verdict. crossing: of the sample that options were chosen by; kept (k,): the numbers
    of the folds with rows; share: of the rows that are scored, drawn at random.
    """

    assigner: FoldAssigner
    ready: tuple[Ready, ...]
    crossing: Crossing
    kept: Codes
    share: float = 1.0

    def __call__(self, chunk: Chunk) -> Verdict:
        folded = self.assigner.assign(chunk)
        if not len(folded.rows):
            return Verdict(tuple(Score() for _ in self.ready), folded.counted.rows, 0)
        parts = list(self._parts(folded.sampled(self.share, self.assigner.seed)))
        return Verdict(tuple(one.score(parts) for one in self.ready), folded.counted.rows, folded.mark())

    def _parts(self, folded: FoldedChunk) -> Iterator[HeldOut]:
        """The rows of each fold, separately."""
        labels, codes = folded.counted.coded()
        if not set(labels.tolist()) <= set(self.crossing.labels.tolist()):
            raise ChangedRowsError(CHANGED)
        codes = positions(labels, self.crossing.labels)[codes]
        weights = np.ones(len(codes)) if folded.counted.weights is None else folded.counted.weights
        order = np.argsort(folded.folds, kind="stable")
        rows = as_arrow(folded.counted.frame.select(list(self.assigner.roles.features))[order])
        ends = np.searchsorted(folded.folds[order], self.kept, side="right")
        starts = np.searchsorted(folded.folds[order], self.kept, side="left")
        for fold, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
            if end > start:
                own = order[start:end]
                scored = weights[own] * self._elsewhere[fold, codes[own]]
                part = rows.slice(start, end - start)
                yield HeldOut.of_chunk(self.crossing, fold, part, codes[own], weights[own], scored)

    @cached_property
    def _elsewhere(self) -> NDArray[np.bool_]:
        return self.crossing.statistics.elsewhere(self.crossing.labels)


CHANGED = (
    "The rows were not the same when they were read again, and a comparison of a stream reads them twice. Rows of a "
    "database have no order, unless a query gives them one: add ORDER BY. What can be read only once does not serve: "
    "write the rows to a file, or give a function that makes a new stream each time."
)


class ChangedRowsError(ClasswiseError):
    """Rows changed, or came in another order, when they were read a second time."""
