"""Comparing more rows than memory holds, in two passes: one to learn and draw a sample, one to judge every row."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.util import find_spec
from typing import Any

import numpy as np

from classwise.classifier.plan import refuse_few_classes
from classwise.comparison.contender import Contender, contend
from classwise.comparison.family import needs_full
from classwise.comparison.references import ClassShares, Given
from classwise.comparison.result import Comparison
from classwise.comparison.second_pass import CHANGED, ChangedRowsError, SecondPass, Verdict
from classwise.comparison.trial import Trial, failed
from classwise.comparison.trials import Trials, is_auto, readings_of
from classwise.engines import BLAS, Rows
from classwise.engines.progress import progress, silent
from classwise.errors import ClasswiseError
from classwise.estimators import crosses
from classwise.rows.roles import Counted, as_frame
from classwise.rows.sampling import Part
from classwise.selection.crossing import Crossing
from classwise.selection.first_pass import (
    FirstLook,
    Reading,
    bytes_by_fold,
    least_rows,
    look_at,
)
from classwise.selection.folds import Dealer

NEEDS_ROWS = "Needs rows in memory, and these are read as a stream; references=True fits it on a sample of them."


@dataclass(frozen=True, eq=False)
class Streamed:
    """Rows that are read twice. folds: how many; sample: rows to choose by."""

    rows: Rows
    folds: int
    sample: int
    seed: int
    families: Any

    def compare(self, models: Mapping[str, Any], rivals: bool | None, calibrate: bool) -> Comparison:
        """Both passes, and the choices between them."""
        readings = readings_of(self.families, models)
        look = self._first(readings)
        trials = self._trials(look, readings)
        planned = trials.planned(models, rivals)
        with progress("Choosing", len(planned)) as bar:
            ready = []
            for trial in planned:
                ready.append(trials.prepare(trial, calibrate))
                bar.step(trial.name)
        contenders = tuple(one for one in ready if isinstance(one, Contender))
        verdict = self._second(trials, contenders, look)
        judged = {c.trial.name: s.given_to(c) for c, s in zip(contenders, verdict.scores, strict=True)}
        done = tuple(judged[one.trial.name] if isinstance(one, Contender) else one for one in ready)
        nobody = np.zeros(0, dtype=np.intp)
        return Comparison(
            done, trials.crossing().labels, nobody, nobody, None, look.rows, (self._remark(trials, look),)
        )

    def _first(self, readings: tuple[Reading, ...]) -> FirstLook:
        look = look_at(self.rows, self._dealer, readings, self.sample)
        refuse_few_classes(look.tallies[0].labels)
        return look

    def _second(self, trials: "StreamTrials", contenders: tuple[Contender, ...], look: FirstLook) -> Verdict:
        kept = np.flatnonzero(look.tallies[0].rows)
        judge = SecondPass(self._dealer, contenders, trials.crossing(), kept)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what there is to say is said when the best is fitted
            least = least_rows(self.rows, self.folds)
            # To ask every model about a row takes many times as long as to read it.
            verdict = self.rows.gather(judge, "Pass 2/2", least, numbered=True, ahead=1)
        if verdict is None or (verdict.rows, verdict.mark) != (look.rows, look.mark):
            raise ChangedRowsError(CHANGED)
        return verdict

    @cached_property
    def _dealer(self) -> Dealer:
        return Dealer(self.rows.roles, self.folds, self.seed)

    def _trials(self, look: FirstLook, readings: tuple[Reading, ...]) -> "StreamTrials":
        part = look.sample.whole()
        counted = Counted.of(as_frame(part.table), self.rows.roles)
        labels, codes = counted.coded()
        X, y = part.table.select(list(self.rows.roles.features)), labels[codes]
        return StreamTrials(
            X, y, self.folds, counted.weights, None, self.families, self.seed, look=look, part=part, read=readings
        )

    def _remark(self, trials: "StreamTrials", look: FirstLook) -> str:
        drawn = len(trials.part.rows)
        counted = int(look.tallies[0].rows.sum())
        if drawn == counted:
            return f"All {counted:,} rows were scored in a second pass; options and powers were chosen by all of them."
        return (
            f"All {counted:,} rows were scored in a second pass. Dials, strengths of priors and powers were chosen by "
            f"{drawn:,} of them, drawn by chance; what is not of the family was fitted on these alone."
        )


@dataclass(eq=False)
class StreamTrials(Trials):
    """Trials whose statistics are of all rows, and whose rows are a sample of them: X, y and weights are its own."""

    look: FirstLook = field(kw_only=True)
    part: Part = field(kw_only=True)
    read: tuple[Reading, ...] = field(kw_only=True)

    def crossing(self, families: Any = None, full: bool = True) -> Crossing:
        """The statistics by fold of all rows, beside the rows of the sample."""
        key = Reading(self.families if families is None else families, full).key
        if key not in self._crossings:
            self._crossings[key] = self._crossed([reading.key for reading in self.read].index(key))
        return self._crossings[key]

    def _crossed(self, position: int) -> Crossing:
        return Crossing.of_look(
            self.look, position, self.read[position].families, self.X, self.y, self.weights, self.part
        )

    @cached_property
    def _bytes(self) -> float:
        tally = self.look.tallies[0]
        return bytes_by_fold(tally.statistics.n_features, len(tally.labels), len(tally.rows))

    def _given(self, name: str, model: Any) -> Trial:
        trial = super()._given(name, model)
        if type(trial.model) is Given and find_spec("pandas"):  # what classifiers from elsewhere take
            return replace(trial, model=Given(model, self.X.to_pandas()))
        return trial

    def _checked(self, trial: Trial, rivals: bool | None) -> Trial:
        if trial.kind == "reference" and not isinstance(trial.model, ClassShares) and rivals is not True:
            return failed(trial, ClasswiseError(NEEDS_ROWS))
        if trial.kind == "stack":
            return failed(trial, ClasswiseError("Needs the rows in memory."))
        return super()._checked(trial, rivals)

    def prepare(self, trial: Trial, calibrate: bool) -> Contender | Trial:
        """Ready for the second pass; or the trial as it is, with the reason why it is not."""
        if trial.reason:
            return trial
        own = trial.model.families if crosses(trial.model) else "auto"
        crossing = self.crossing() if is_auto(own) else self.crossing(own, needs_full(trial.model))
        with silent(), BLAS.held(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return contend(trial, crossing, self.X, calibrate)
            except (ClasswiseError, np.linalg.LinAlgError) as problem:
                return failed(trial, problem)
            except Exception as problem:
                if trial.kind in ("family", "twin"):
                    raise
                return failed(trial, problem)
