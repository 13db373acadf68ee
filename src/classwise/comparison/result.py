"""The result of a comparison: who is ahead, by how much, and how sure that is."""

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone

from classwise.arrays import Array, Codes, Labels
from classwise.classifier.evaluation import Estimate, Evaluation, merged
from classwise.comparison.answer import Answer
from classwise.comparison.comparison_table import ComparisonLine, ComparisonTable
from classwise.comparison.family import FamilyMember
from classwise.comparison.names import found
from classwise.comparison.trial import Trial, simplicity
from classwise.errors import ClasswiseError, choose
from classwise.estimators import BayesianLogistic, warn_of_imputed
from classwise.estimators.held_out import held_out_importance
from classwise.estimators.importance import Importance
from classwise.storage import stored

# A model is as good as the best if it is no more than this many standard errors of the difference above it: the rule of
# one standard error (Breiman et al. 1984). A reference counts as better beyond two.
TIE_ERRORS = 1.0
CLEAR_ERRORS = 2.0

# A difference below this matters to nobody: of log loss, of the share of errors, of the Brier score; of costs, so many
# times the dearest mistake.
LITTLE = 1e-3

NO_COSTS = "by='cost' needs to know what mistakes cost: give compare costs={true: {decided: cost}}."

# How a winner may be chosen, and by what.
CHOICES = {"best": "best", "simplest": "simplest"}
ORDERS = {"log_loss": "log_loss", "error": "error", "brier": "brier", "cost": "cost"}


@stored("Comparison")
@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Trials of many models on the same folds; prints as an answer.

    labels (g,); codes and folds (n,): the class and the fold of each row that has a label and a weight; backend: the
    library of frames that the rows came in, if they did. streamed: how many rows were read as a stream, of which
    nothing is kept row by row, so that codes and folds are empty; 0 for rows in memory. remarks: what else there is to
    say. rule, by: how the winner is chosen, as `choose` takes them; costs (g, g): what mistakes cost, if that was
    given; time_limit: how many seconds models were expected to take at most.
    """

    tried: tuple[Trial, ...]
    labels: Labels
    codes: Codes
    folds: Codes
    backend: Any = None
    streamed: int = 0
    remarks: tuple[str, ...] = ()
    rule: str = "best"
    by: str = "log_loss"
    costs: Array | None = None
    time_limit: float | None = None

    @property
    def rows(self) -> int:
        """How many rows were compared on."""
        return self.streamed or len(self.codes)

    def choose(self, rule: str = "best", by: str | None = None) -> "Comparison":
        """The same comparison, with its winner chosen by another rule; nothing is computed again.

        rule: "best", the least of what `by` says on rows held out; or "simplest", fewest free parameters among those
            that are as good: within one standard error of the best.
        by: "log_loss", "error", "brier", or "cost", where `compare` was given costs; as it is unless given.

        >>> import classwise as cw
        >>> from sklearn.datasets import load_iris
        >>> comparison = cw.compare(*load_iris(return_X_y=True), only=["lda", "qda"])
        >>> comparison.winner.name, comparison.choose("simplest", by="error").winner.name
        ('LDA, Ledoit-Wolf', 'LDA')
        """
        rule = choose("rule", rule, CHOICES)
        by = self.by if by is None else choose("by", by, ORDERS)
        if by == "cost" and self.costs is None:
            raise ClasswiseError(NO_COSTS)
        return replace(self, rule=rule, by=by)

    @cached_property
    def trials(self) -> tuple[Trial, ...]:
        """From the best on; what could not be fitted comes last."""
        fitted = [trial for trial in self.tried if not trial.reason]
        ranked = sorted(fitted, key=lambda trial: trial.estimate(self.by).value)
        return (*ranked, *(trial for trial in self.tried if trial.reason))

    def __getitem__(self, name: str) -> Trial:
        by_name = {trial.name: trial for trial in self.tried}
        known = name if name in by_name else found(name, by_name)
        if known is None:
            raise KeyError(f"{name!r} was not compared; these were: {list(by_name)}.")
        return by_name[known]

    @cached_property
    def members(self) -> tuple[Trial, ...]:
        """All that can win, from the best on: every model that was fitted, but for references."""
        return tuple(trial for trial in self.trials if trial.may_win)

    @cached_property
    def leader(self) -> Trial:
        """The best of those that can win, however close others are."""
        if not self.members:
            reasons = "; ".join(f"{trial.name}: {trial.reason}" for trial in self.tried if trial.reason)
            raise ClasswiseError(f"No model could be fitted in every fold: {reasons}")
        return self.members[0]

    def above_best(self, trial: Trial) -> Estimate:
        """How much larger a trial's log loss, or what else is ranked by, is than the leader's, with the standard error
        of the difference.
        """
        return trial.above(self.leader, self.by)

    def ties(self, trial: Trial) -> bool:
        """Whether it is as good as the leader: the difference is within its standard error, or too small to matter."""
        above = self.above_best(trial)
        dearest = 1.0 if self.by != "cost" or self.costs is None else float(np.abs(self.costs).max())
        return above.value <= max(TIE_ERRORS * above.error, LITTLE * dearest)

    @cached_property
    def tied(self) -> tuple[Trial, ...]:
        """The leader, and all that can win and are as good."""
        return tuple(trial for trial in self.members if trial is self.leader or self.ties(trial))

    @cached_property
    def winner(self) -> Trial:
        """By the rule: the leader, or of those that are as good the one with fewest free parameters."""
        return self.leader if self.rule == "best" or not self.tied else min(self.tied, key=simplicity)

    @cached_property
    def best(self) -> Any:
        """The winner, fitted on all rows, with its temperature if that helps."""
        return self.fitted(self.winner)

    def fitted(self, trial: Trial | str) -> Any:
        """A model of the comparison, or its name, fitted on all rows with what was chosen."""
        trial = self[trial] if isinstance(trial, str) else trial
        if trial.trained is not None:
            if isinstance(trial.trained, BayesianLogistic):
                # Said now, and of this model alone: while many are compared it would be noise.
                warn_of_imputed(trial.trained.model_.schema, trial.trained.model_.missing)
            return trial.trained
        if trial.tuned is None or trial.statistics is None:
            why = trial.reason or "it is a yardstick, not an estimator of classwise; fit it yourself"
            raise ClasswiseError(f"{trial.name} cannot be had from a comparison: {why}")
        return FamilyMember.fitted(trial)

    @property
    def evaluations(self) -> dict[str, Evaluation]:
        """What every model did on held-out rows, by its name; the winner first, then by log loss."""
        ranked = [trial for trial in self.trials if not trial.reason]
        first = [self.winner] if self.members else []
        return {trial.name: merged(trial.final) for trial in (*first, *ranked)}

    @property
    def asked(self) -> Trial:
        """The model that importance is asked of: the winner; for a stack the best single model, which answers in a
        fraction of the time.
        """
        single = [trial for trial in self.members if not trial.is_stack]
        return single[0] if self.winner.is_stack and single else self.winner

    def importance(self, X: Any, y: Any, sample_weight: Any = None, *, random_state: int = 0) -> Importance:
        """Which columns matter to the winner, on rows held out: it is fitted again without each of five folds. Where a
        stack wins, the best single model is asked in its place: `asked`.

        X, y, sample_weight: the rows that were compared on.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what there is to say of a model is said to who has it
            model = clone(self.fitted(self.asked))
        if np.ndim(model.get_params().get("folds", 0)):  # a stack was learned on the folds of the comparison
            model.set_params(folds=len(self.asked.as_is))
        return held_out_importance(model, X, y, sample_weight, repeats=1, random_state=random_state)

    def slim(self) -> "Comparison":
        """The same without posteriors of rows, which take room."""
        return replace(self, tried=tuple(replace(trial, log_posterior=None) for trial in self.tried))

    def _outline(self) -> "Comparison":
        """Without anything of single rows."""
        return replace(self, codes=self.codes[:0], folds=self.folds[:0])

    def _is_sound(self) -> bool:
        parts = {len(trial.as_is) for trial in self.tried if not trial.reason}
        return len(self.tried) > 0 and len(parts) <= 1 and self.codes.shape == self.folds.shape

    # Looking --------------------------------------------------------------------------------------------------------

    def answer(self) -> Answer:
        """Who wins, how sure that is, and the best model of each kind: what the comparison prints."""
        return Answer(self)

    def table(self) -> ComparisonTable:
        """All models: a table on a terminal and in a notebook; `.frame()` for code."""
        return ComparisonTable(tuple(map(self._line, self.trials)), self.summary(), self.backend)

    def _line(self, trial: Trial) -> ComparisonLine:
        if trial.reason:
            return ComparisonLine(trial.name, trial.kind, seconds=trial.seconds, reason=trial.reason)
        error = trial.estimate("error")
        return ComparisonLine(
            trial.name,
            trial.kind,
            Estimate(1 - error.value, error.error, 1 - error.high, 1 - error.low),
            error,
            trial.estimate("log_loss", calibrated=False),
            trial.estimate("log_loss", calibrated=True) if trial.calibrated else None,
            trial.temperature,
            trial.estimate("brier"),
            trial.estimate("calibration_error"),
            trial.estimate("cost") if trial.costs else None,
            self.above_best(trial) if self.members else None,
            trial.free_parameters,
            trial.log_evidence,
            trial.evidence,
            trial.seconds,
            self._note(trial),
            uses_power=trial.uses_power,
        )

    def _note(self, trial: Trial) -> str:
        if not self.members:
            return ""
        if trial is self.winner:
            return "best"
        return "better" if self.is_clearly_better(trial) else "as good" if self.ties(trial) else ""

    def summary(self) -> list[str]:
        """The answer in sentences, without its table."""
        return [self.answer().sentence, *self.remarks]

    def is_clearly_better(self, trial: Trial) -> bool:
        """Whether a model that cannot win is ahead of all that can, by more than two standard errors."""
        if trial.may_win or trial.reason:
            return False
        above = self.above_best(trial)
        return above.value < -CLEAR_ERRORS * above.error

    def is_clearly_worse(self, trial: Trial) -> bool:
        """Whether it is worse than the best by more than two standard errors."""
        above = self.above_best(trial)
        return above.value > CLEAR_ERRORS * above.error

    def __repr__(self) -> str:
        return repr(self.answer())

    def _repr_html_(self) -> str:
        return self.answer()._repr_html_()

    def plot(self, axes: Any = None) -> Any:
        """Log loss of every model with its interval, best first; matplotlib axes."""
        from classwise.plot import draw_comparison

        return draw_comparison(self.table().lines, axes)

    def reliability(self, *names: str, label: Any = None, axes: Any = None) -> Any:
        """What models announce against what comes true, as is and with the temperature; the winner, or those named.

        label: the probability of this class, rather than of the class decided for.
        """
        from classwise.plot import draw_reliability

        trials = [self[name] for name in names] or [self.winner]
        curves = {}
        for trial in trials:
            if trial.reason:
                raise ClasswiseError(f"{trial.name} could not be fitted: {trial.reason}")
            curves[trial.name if len(trials) > 1 else "as is"] = merged(trial.as_is)
            if trial.calibrated and len(trials) == 1:
                curves["calibrated"] = merged(trial.calibrated)
        return draw_reliability(curves, trials[0].name if len(trials) == 1 else "", label, axes)
