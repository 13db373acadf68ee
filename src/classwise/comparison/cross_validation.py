"""The loop of a comparison: every candidate is prepared on the folds, and scored on held-out rows.

Rows in memory are read once and scored immediately. A stream is read twice: the first pass draws a sample, on which
options are chosen; the second pass scores every row, or as many rows as there is time for.
"""

import warnings
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from importlib.util import find_spec
from itertools import chain
from math import inf
from time import perf_counter
from typing import Any, ClassVar

import numpy as np

from classwise import limits
from classwise.arrays import Array
from classwise.classifier.bayes import Calibration
from classwise.classifier.decision import Policy, read_costs
from classwise.classifier.plan import refuse_few_classes
from classwise.comparison.candidates import AnyClassifier, Candidate, HeldOut, LogisticRegression, Size, Stack
from classwise.comparison.family import FamilyMember, family, logistic_models
from classwise.comparison.names import BASELINE, chosen
from classwise.comparison.references import references
from classwise.comparison.result import Comparison
from classwise.comparison.schedule import Slot, log_expected_time, scheduled
from classwise.comparison.stack import AutoClassifier
from classwise.comparison.trial import Trial
from classwise.comparison.verdict import CHANGED, ChangedRowsError, Ready, SecondPass, Verdict
from classwise.engines import BLAS, Rows, in_threads, kept_threads
from classwise.engines.memory import one_by_one
from classwise.engines.messages import Shared
from classwise.engines.progress import progress, silent
from classwise.engines.workers import away, has_workers
from classwise.errors import ClasswiseError
from classwise.estimators import BayesianLogistic, crosses
from classwise.rows.device_rows import to_host
from classwise.rows.roles import Counted, as_frame
from classwise.rows.sampling import SamplePart
from classwise.rows.sources import open_source
from classwise.selection import first_pass
from classwise.selection.crossing import Crossing
from classwise.selection.first_pass import FirstLook, Reading, bytes_by_fold, least_rows, look_at
from classwise.selection.folds import FoldAssigner
from classwise.statistics import DiagonalScatter, FullScatter

# What worker processes import when they start.
MODULES = ("classwise.comparison.cross_validation",)


@dataclass(frozen=True, eq=False)
class Request:
    """The options of `compare`: what to compare, and how to choose the winner.

    references: None leaves out those that would need a sample of a stream; calibrate: whether models get a temperature.
    """

    models: Mapping[str, Any] = field(default_factory=dict)
    only: Sequence[str] | None = None
    references: bool | None = None
    calibrate: bool = True
    rule: str = "best"
    by: str | None = None
    costs: Any = None
    time_limit: float | None = None


@dataclass(eq=False)
class CrossValidation(ABC):
    """Rows X with labels y and weights (or None) in folds; families: how most models read the columns."""

    what: ClassVar[str]
    is_streamed: ClassVar[bool]

    X: Any
    y: Any
    folds: Any
    weights: Any
    groups: Any
    families: Any
    seed: int
    _crossings: dict[str, Crossing] = field(default_factory=dict, init=False)
    _held: dict[tuple[str, bool, bool], list[HeldOut]] = field(default_factory=dict, init=False)

    def crossing(self, reading: Reading | None = None) -> Crossing:
        """The statistics by fold for a way of reading the columns; the folds are always the same."""
        reading = reading or Reading(self.families, True)
        if reading.key not in self._crossings:
            self._crossings[reading.key] = self._read(reading)
        return self._crossings[reading.key]

    @abstractmethod
    def _read(self, reading: Reading) -> Crossing:
        """Read the rows in this way for the first time."""

    @property
    @abstractmethod
    def _covariances(self) -> float:
        """The bytes of the covariances of all folds and classes."""

    @abstractmethod
    def _scored(self, time_limit: float | None) -> int:
        """How many rows are scored."""

    @abstractmethod
    def _judged(self, attempts: Sequence[Ready | Trial], time_limit: float | None) -> Sequence[Trial]:
        """The trials of candidates, scored on held-out rows; trials that are done, or failed, stay as they are."""

    @abstractmethod
    def _comparison(self, trials: Sequence[Trial], time_limit: float | None) -> Comparison:
        """The comparison of all trials."""

    def compare(self, request: Request) -> Comparison:
        """Compare the requested candidates, and choose the winner by the rule."""
        labels = self.crossing().labels
        priced = request.costs(labels) if callable(request.costs) else request.costs
        costs = None if priced is None else read_costs(priced, labels)
        candidates = self._candidates(request)
        trials = self.evaluate(candidates, request, None if costs is None else Policy(costs))
        found = self._comparison(trials, request.time_limit)
        return replace(found, costs=costs, time_limit=request.time_limit).choose(request.rule, request.by)

    def evaluate(
        self, candidates: Sequence[Candidate], request: Request, policy: Policy | None = None
    ) -> Sequence[Trial]:
        """The loop: prepare each candidate on the folds, and score it on held-out rows; policy: the costs of errors.

        Candidates without threads of their own are tried side by side, the longest first. Then others, one by one.
        """
        schedule = scheduled(candidates, self._size(request), request.time_limit)
        log_expected_time(schedule)
        with progress(self.what, len(candidates) * len(self.crossing())) as bar, kept_threads():

            def attempt(slot: Slot) -> Ready | Trial:
                return self._attempt(slot, partial(bar.step, slot.candidate.name), request.calibrate, policy)

            found = self._side_by_side([slot for slot in schedule if slot.candidate.in_threads], attempt)
            found |= {slot: attempt(slot) for slot in schedule if slot not in found}
            return self._judged([found[slot] for slot in schedule], request.time_limit)

    def _side_by_side(
        self, slots: Sequence[Slot], attempt: Callable[[Slot], Ready | Trial]
    ) -> dict[Slot, Ready | Trial]:
        """Candidates that share their work are tried one after the other."""
        together: dict[int, list[Slot]] = {}
        for slot in slots:
            together.setdefault(id(slot.candidate.work), []).append(slot)
        self._read_for_several([slot.candidate for slot in slots if not slot.refusal])
        tasks = sorted(together.values(), key=lambda some: -sum(slot.seconds for slot in some))
        with warnings.catch_warnings():  # which concerns all threads
            warnings.simplefilter("ignore")
            tried = in_threads(lambda some: [attempt(slot) for slot in some], tasks)
        return dict(zip(chain(*tasks), chain(*tried), strict=True))

    def _read_for_several(self, candidates: Sequence[Candidate]) -> None:
        """Read the rows in the ways that several candidates read them; others are read when they are tried."""
        ways = Counter(candidate.reading(self.families).key for candidate in candidates)
        for candidate in candidates:
            if ways[candidate.reading(self.families).key] > 1:
                with suppress(*candidate.problems):
                    self._parts(candidate)

    def _candidates(self, request: Request) -> list[Candidate]:
        crossing = self.crossing()
        numbers = len(crossing.table.schema.positions("gaussian"))
        missing = bool(crossing.statistics.total().missing_weight().any())
        members = family(numbers, missing)
        if not isinstance(self.families, str):
            members.pop("naive Bayes, best families", None)
        found: list[Candidate] = [FamilyMember(name, model) for name, model in members.items()]
        pair = logistic_models(len(crossing.labels), self.families)
        fits: dict[int, BayesianLogistic] = {}
        is_mode = all(model.predictive == "plugin" for model in pair.values())
        found += [LogisticRegression(name, model, fits=fits, is_mode=is_mode) for name, model in pair.items()]
        if request.references is not False:
            found.append(Stack("stack", AutoClassifier(folds=crossing.folds, families=self.families)))
            found += references(crossing.table)
        taken = sorted(set(request.models) & {candidate.name for candidate in found})
        if taken:
            raise ClasswiseError(f"models has the name {taken[0]!r}, which is compared already; give it another.")
        if request.only is not None:  # the class shares stay, because all others are compared with them
            kept = chosen(request.only, [candidate.name for candidate in found]) | {BASELINE}
            found = [candidate for candidate in found if candidate.name in kept]
        return [*found, *given(request.models)]

    def _size(self, request: Request) -> Size:
        crossing = self.crossing()
        table = crossing.table
        indicators = sum(len(levels) - 1 for levels in table.levels.values())
        columns = len(table.schema)
        return Size(
            len(table),
            columns,
            columns + indicators,
            len(crossing.labels),
            self._covariances,
            self.is_streamed,
            request.references is True,
            len(crossing),
            len(crossing.statistics.total().numbers.gaps),
            len(table.schema.positions("gaussian")),
            self._scored(request.time_limit),
        )

    def _attempt(self, slot: Slot, step: Callable[[], None], calibrate: bool, policy: Policy | None) -> Ready | Trial:
        """A candidate, prepared and, if the rows are at hand, scored."""
        return self._ready(slot, step, calibrate, policy)

    # Preparing ------------------------------------------------------------------------------------------------------

    def _ready(self, slot: Slot, step: Callable[[], None], calibrate: bool, policy: Policy | None) -> Ready | Trial:
        """The prepared candidate; or its trial, with the reason for the failure."""
        candidate = slot.candidate
        if slot.refusal:
            return replace(candidate.trial().failed(slot.refusal, slot.seconds), is_late=slot.is_late)
        start = perf_counter()
        # Covariances are so small that several BLAS threads would mostly wait for each other.
        with silent(), BLAS.held(), nullcontext() if candidate.in_threads else warnings.catch_warnings():
            if candidate.is_quiet and not candidate.in_threads:
                warnings.simplefilter("ignore")
            try:
                ready = self._prepared(candidate, calibrate and candidate.takes_temperature, step)
            except candidate.problems as problem:
                return candidate.trial().failed(problem, perf_counter() - start)
        return replace(ready, trial=replace(ready.trial, seconds=perf_counter() - start), policy=policy)

    def _prepared(self, candidate: Candidate, calibrate: bool, step: Callable[[], None]) -> Ready:
        """Fit the candidate without each fold, and score the rows of the fold, unless a stream will be scored later and
        no temperature is needed.
        """
        crossing, X = self.crossing(candidate.reading(self.families)), self._table_for(candidate)
        chosen = candidate.prepared(crossing, X)
        is_asked = calibrate or not self.is_streamed
        answers, models = crossing.blank() if is_asked else None, []

        def ask(held: HeldOut) -> tuple[Any, Array | None]:
            model = chosen.fit(held)
            answer = chosen.log_posterior(model, held) if is_asked and len(held) else None
            return model if self.is_streamed else None, answer

        parts = self._parts(candidate)
        several = in_threads if chosen.fits_folds_together(crossing) else one_by_one
        for held, (model, answer) in zip(parts, several(ask, parts, step), strict=True):
            models.append(model)
            if answers is not None and answer is not None:
                answers[held.fold.rows] = answer
        trial, whole = chosen.described(candidate.trial(), crossing)
        powers = None
        if calibrate and answers is not None:
            calibration, powers = temperatures(answers, crossing)
            trial = replace(trial, calibration=calibration)
        trial = replace(trial, log_posterior=None if self.is_streamed else answers)
        return Ready(chosen, trial, tuple(models), powers, whole)

    def _parts(self, candidate: Candidate) -> list[HeldOut]:
        """The rows of each fold, as a candidate reads them; shared by candidates that read them in the same way."""
        reading = candidate.reading(self.families)
        key = (reading.key, candidate.takes_pandas, candidate.takes_device)
        if key not in self._held:
            self._held[key] = list(HeldOut.each(self.crossing(reading), self._table_for(candidate)))
        return self._held[key]

    def _table_for(self, candidate: Candidate) -> Any:
        """The rows, in the kind of table that a candidate needs."""
        return self.X if candidate.takes_device else self._copied

    @cached_property
    def _copied(self) -> Any:
        """Rows of a device in NumPy; others as they are."""
        return to_host(self.X)


def given(models: Mapping[str, Any]) -> Iterator[Candidate]:
    """The caller's models as candidates."""
    for name, model in models.items():
        if isinstance(model, Candidate):
            yield replace(model, name=name, is_given=True)
        elif crosses(model):
            yield FamilyMember(name, model, is_given=True)
        elif isinstance(model, BayesianLogistic):
            yield LogisticRegression(name, model, is_given=True)
        elif hasattr(model, "fit") and hasattr(model, "predict_proba"):
            yield AnyClassifier(name, model, is_given=True)
        else:
            raise ClasswiseError(f"models[{name!r}] has no fit and predict_proba, and cannot be compared.")


def temperatures(answers: Array, crossing: Crossing) -> tuple[Calibration, tuple[float, ...]]:
    """The temperature fitted to out-of-fold posteriors (n, g); and for each fold, the power (1 / temperature) fitted to
    the other folds.
    """
    calibration, by_fold = crossing.out_of_fold(answers).fit_by_fold()
    powers = [each.power for each in by_fold]
    powers += [calibration.power] * (len(crossing) - len(powers))  # folds without rows in the sample
    return calibration, tuple(powers)


# Rows in memory -------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class InMemory(CrossValidation):
    """Rows in memory: one chunk, whose posteriors are known as soon as a candidate is prepared."""

    what = "Comparing"
    is_streamed = False

    def __post_init__(self) -> None:
        if isinstance(self.folds, Iterator):
            self.folds = list(self.folds)  # pairs from a splitter can be iterated only once

    def _read(self, reading: Reading) -> Crossing:
        form = FullScatter if reading.full and self._covariances <= first_pass.MOST_BYTES else DiagonalScatter
        for first in self._crossings.values():
            return first.seen_as(reading.families, reading.full, form)
        crossing = Crossing.read(
            self.X,
            self.y,
            self.folds,
            families=reading.families,
            weights=self.weights,
            groups=self.groups,
            random_state=self.seed,
            quartics=reading.full,
            form=form,
        )
        if not crossing.scored_weights.any():
            raise ClasswiseError(
                "No class has rows in two folds, so no model can be tried; give more rows of each class."
            )
        return crossing

    @cached_property
    def _covariances(self) -> float:
        folds = int(self.folds) if isinstance(self.folds, (int, np.integer)) else _count_folds(self.folds)
        classes = len(set(np.asarray(to_host(self.y), dtype=object).ravel().tolist()))
        return bytes_by_fold(open_source(self.X).n_features, classes, folds)

    def _scored(self, time_limit: float | None) -> int:
        return len(self.crossing().table)

    def workers_pay(self, request: Request) -> bool:
        """Whether there is work for longer than processes take to start, and its digits are the same there: pickled
        rows lie side by side.
        """
        is_plain = type(self.X) is np.ndarray and self.X.ndim == 2 and self.X.dtype.char in "df" and self.X.flags.forc
        return is_plain and request.only is None and self.X.size > limits.COMPARE_WORKER_VALUES

    def __getstate__(self) -> dict[str, Any]:
        """What workers need: the rows as they were read, and none of the tables that are made of these."""
        state = {name: value for name, value in self.__dict__.items() if name not in ("_shared", "_copied")}
        read = {key: crossing.shared for key, crossing in list(self._crossings.items())}
        return {**state, "X": None, "y": None, "weights": None, "groups": None, "_crossings": read, "_held": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = {**state, "_crossings": {key: of.value for key, of in state["_crossings"].items()}}

    @cached_property
    def _shared(self) -> Shared["InMemory"]:
        return Shared(self)

    def _attempt(self, slot: Slot, step: Callable[[], None], calibrate: bool, policy: Policy | None) -> Trial:
        """The trial of a candidate; workers take those whose work is many small pieces, of which much is Python."""
        if slot.refusal or not slot.candidate.is_in_pieces or not has_workers():
            return self._tried(slot, step, calibrate, policy)
        trial = away(_tried, self._shared, slot, calibrate, policy)
        for _ in range(len(self.crossing())):
            step()
        return trial

    def _tried(self, slot: Slot, step: Callable[[], None], calibrate: bool, policy: Policy | None) -> Trial:
        ready = self._ready(slot, step, calibrate, policy)
        if isinstance(ready, Trial):
            return ready
        return ready.judged(ready.score(self._parts(ready.candidate), in_threads))

    def _judged(self, attempts: Sequence[Ready | Trial], time_limit: float | None) -> list[Trial]:
        return [one for one in attempts if isinstance(one, Trial)]

    def _comparison(self, trials: Sequence[Trial], time_limit: float | None) -> Comparison:
        crossing = self.crossing()
        return Comparison(tuple(trials), crossing.labels, crossing.codes, crossing.folds, crossing.table.schema.backend)


def _tried(shared: Shared[InMemory], slot: Slot, calibrate: bool, policy: Policy | None) -> Trial:
    return shared.value._tried(slot, lambda: None, calibrate, policy)


def _count_folds(folds: Any) -> int:
    """The number of folds, as far as it is known before rows are read."""
    if hasattr(folds, "get_n_splits"):
        return int(folds.get_n_splits()) if hasattr(folds, "n_splits") else 10
    values = list(folds) if isinstance(folds, Iterable) and not isinstance(folds, str) else []
    pairs = bool(values) and isinstance(values[0], (tuple, list))
    return max(len(values) if pairs else len(set(np.asarray(values).ravel().tolist())), 2)


# Rows of a stream -----------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class TwoPasses(CrossValidation):
    """Rows of a stream, which is read twice. X, y, weights: of the sample from the first pass, whose statistics are of
    all rows; readings: the ways in which the first pass read the columns; part: the folds of the sample.
    """

    what = "Choosing"
    is_streamed = True

    rows: Rows
    assigner: FoldAssigner
    readings: tuple[Reading, ...]
    look: FirstLook
    part: SamplePart

    @classmethod
    def read(
        cls, rows: Rows, folds: int, sample: int, seed: int, families: Any, models: Mapping[str, Any]
    ) -> "TwoPasses":
        """The first pass. models: those of the caller, each of which may read the columns in its own way."""
        assigner = FoldAssigner(rows.decided, folds, seed)
        ways = [Reading(families, True), *([Reading("best", False)] if isinstance(families, str) else ())]
        ways += [candidate.reading(families) for candidate in given(models)]
        readings = tuple({reading.key: reading for reading in ways}.values())
        look = look_at(rows, assigner, readings, sample)
        refuse_few_classes(look.tallies[0].labels)
        part = look.sample.whole()
        counted = Counted.of(as_frame(part.table), rows.roles)
        labels, codes = counted.coded()
        X, y = part.table.select(list(rows.roles.features)), labels[codes]
        return cls(X, y, folds, counted.weights, None, families, seed, rows, assigner, readings, look, part)

    def _read(self, reading: Reading) -> Crossing:
        position = [each.key for each in self.readings].index(reading.key)
        return Crossing.of_look(self.look, position, reading.families, self.X, self.y, self.weights, self.part)

    @property
    def _covariances(self) -> float:
        tally = self.look.tallies[0]
        return bytes_by_fold(tally.statistics.n_features, len(tally.labels), len(tally.rows))

    def _table_for(self, candidate: Candidate) -> Any:
        return self._pandas if candidate.takes_pandas else self.X

    @cached_property
    def _pandas(self) -> Any:
        return self.X.to_pandas() if find_spec("pandas") else self.X

    @property
    def _counted(self) -> int:
        """The number of rows with a label and a weight."""
        return int(self.look.tallies[0].rows.sum())

    def _share(self, time_limit: float | None) -> float:
        """The share of the rows that are scored: all without a time limit."""
        most = inf if time_limit is None else limits.SCORED_VALUES
        return min(most / (self._counted * len(self.rows.roles.features)), 1.0)

    def _scored(self, time_limit: float | None) -> int:
        return round(self._counted * self._share(time_limit))

    def _judged(self, attempts: Sequence[Ready | Trial], time_limit: float | None) -> list[Trial]:
        share = self._share(time_limit)
        ready = tuple(one for one in attempts if isinstance(one, Ready))
        if share < 1:  # evidence is of all rows
            ready = tuple(replace(one, whole=None) for one in ready)
        scores = iter(self._second(ready, share).scores)
        waiting = iter(ready)
        return [next(waiting).judged(next(scores)) if isinstance(one, Ready) else one for one in attempts]

    def _second(self, ready: tuple[Ready, ...], share: float) -> Verdict:
        kept = np.flatnonzero(self.look.tallies[0].rows)
        judge = SecondPass(self.assigner, ready, self.crossing(), kept, share)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit of the winner gives the warnings
            least = least_rows(self.rows, self.assigner.folds)
            # Scoring a row by every model takes many times as long as reading it.
            verdict = self.rows.gather(judge, "Pass 2/2", least, numbered=True, ahead=1)
        if verdict is None or (verdict.rows, verdict.mark) != (self.look.rows, self.look.mark):
            raise ChangedRowsError(CHANGED)
        return verdict

    def _comparison(self, trials: Sequence[Trial], time_limit: float | None) -> Comparison:
        none, labels = np.zeros(0, dtype=np.intp), self.crossing().labels
        remark = self._remark(self._share(time_limit))
        return Comparison(tuple(trials), labels, none, none, None, self.look.rows, (remark,))

    def _remark(self, share: float) -> str:
        drawn, counted = len(self.part.rows), self._counted
        some = f"About {share * counted:,.0f} of {counted:,} rows, drawn at random, were"
        scored = f"All {counted:,} rows were" if share == 1 else some
        scored += " scored in a second pass" + ("" if share == 1 else "; time_limit=None scores all")
        if drawn == counted:
            return f"{scored}, and options were chosen by all of them."
        return (
            f"{scored}. Options and temperatures were chosen by {drawn:,} of them, drawn at random; logistic "
            "regression and references were fitted on these alone."
        )
