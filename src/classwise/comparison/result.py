"""The result of a comparison: which model leads, by how much, and how certain that is."""

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
from classwise.comparison.trial import Trial, ranked, simplicity
from classwise.errors import ClasswiseError, choose
from classwise.estimators import BayesianLogistic, warn_of_imputed
from classwise.estimators.held_out import held_out_importance
from classwise.estimators.importance import Importance
from classwise.storage import stored

# A model is as good as the best if its loss exceeds that of the best by at most this many standard errors of the
# difference: the rule of one standard error (Breiman et al. 1984). A reference counts as better beyond two.
TIE_ERRORS = 1.0
CLEAR_ERRORS = 2.0

# A smaller difference does not matter, in log loss, error or Brier score; in costs, times the largest cost.
LITTLE = 1e-3

NO_COSTS = "by='cost' needs to know what mistakes cost: give compare costs={true: {decided: cost}}."

# The rules by which a winner is chosen, and the measures to rank by.
CHOICES = {"best": "best", "simplest": "simplest"}
ORDERS = {"log_loss": "log_loss", "error": "error", "brier": "brier", "cost": "cost"}


@stored("Comparison")
@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """The result of `compare`: trials of many models on the same folds; prints as an answer.

    tried: all trials, in the order in which they were tried.
    labels (g,): of the classes.
    codes, folds (n,): the class and the fold of each row that has a label and a weight; empty for a stream.
    backend: the data frame library of the rows, if any.
    streamed: the number of rows, if they were read as a stream; else 0.
    remarks: further sentences of the answer.
    rule, by: how the winner is chosen, as in `choose`.
    costs (g, g): of mistakes, if given.
    time_limit: the seconds that the models were expected to take at most.
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
        """The number of rows in the comparison."""
        return self.streamed or len(self.codes)

    def choose(self, rule: str = "best", by: str | None = None) -> "Comparison":
        """The same comparison with the winner chosen by another rule; nothing is computed again.

        rule: "best" chooses the least value of the measure `by` on held-out rows; "simplest", the fewest free
            parameters within one standard error of the best.
        by: "log_loss", "error", "brier", or "cost" if `compare` was given costs; by default unchanged.

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
        """All trials, best first; models that could not be fitted come last."""
        return (*ranked(self.tried, self.by), *(trial for trial in self.tried if trial.reason))

    def __getitem__(self, name: str) -> Trial:
        by_name = {trial.name: trial for trial in self.tried}
        known = name if name in by_name else found(name, by_name)
        if known is None:
            raise KeyError(f"{name!r} was not compared; these were: {list(by_name)}.")
        return by_name[known]

    @cached_property
    def members(self) -> tuple[Trial, ...]:
        """All trials that can win, best first: every fitted model except references."""
        return tuple(trial for trial in self.trials if trial.may_win)

    @cached_property
    def leader(self) -> Trial:
        """The best of the models that can win, even if others are as good."""
        if not self.members:
            reasons = "; ".join(f"{trial.name}: {trial.reason}" for trial in self.tried if trial.reason)
            raise ClasswiseError(f"No model could be fitted in every fold: {reasons}")
        return self.members[0]

    def above_best(self, trial: Trial) -> Estimate:
        """How much a trial's log loss, or other ranking measure, exceeds the leader's, with the standard error of the
        difference.
        """
        return trial.above(self.leader, self.by)

    def ties(self, trial: Trial) -> bool:
        """Whether a trial is as good as the leader: the difference is within one standard error, or negligible."""
        above = self.above_best(trial)
        dearest = 1.0 if self.by != "cost" or self.costs is None else float(np.abs(self.costs).max())
        return above.value <= max(TIE_ERRORS * above.error, LITTLE * dearest)

    @cached_property
    def tied(self) -> tuple[Trial, ...]:
        """The leader, and all models that can win and are as good."""
        return tuple(trial for trial in self.members if trial is self.leader or self.ties(trial))

    @cached_property
    def winner(self) -> Trial:
        """The winner by the rule: the leader, or the model with the fewest free parameters among those as good."""
        return self.leader if self.rule == "best" or not self.tied else min(self.tied, key=simplicity)

    @cached_property
    def best(self) -> Any:
        """The winner, fitted on all rows; with a temperature if that lowers its log loss."""
        return self.fitted(self.winner)

    def fitted(self, trial: Trial | str) -> Any:
        """A model of the comparison, fitted on all rows with its chosen options; trial: a trial, or its name."""
        trial = self[trial] if isinstance(trial, str) else trial
        if trial.trained is not None:
            if isinstance(trial.trained, BayesianLogistic):
                # Warn only now, and about this model alone.
                warn_of_imputed(trial.trained.model_.schema, trial.trained.model_.missing)
            return trial.trained
        if trial.tuned is None or trial.statistics is None:
            why = trial.reason or "it is a reference model, not an estimator of classwise; fit it yourself"
            raise ClasswiseError(f"{trial.name} cannot be had from a comparison: {why}")
        return FamilyMember.fitted(trial)

    @property
    def evaluations(self) -> dict[str, Evaluation]:
        """The evaluation of every model on held-out rows, by name; the winner first, then in the order of rank."""
        ranked = [trial for trial in self.trials if not trial.reason]
        first = [self.winner] if self.members else []
        return {trial.name: merged(trial.final) for trial in (*first, *ranked)}

    @property
    def asked(self) -> Trial:
        """The model whose importance is computed: the winner; or, if a stack wins, the best single model, which is much
        faster.
        """
        single = [trial for trial in self.members if not trial.is_stack]
        return single[0] if self.winner.is_stack and single else self.winner

    def importance(self, X: Any, y: Any, sample_weight: Any = None, *, random_state: int = 0) -> Importance:
        """Which columns matter to the winner on held-out rows. The winner is fitted again without each of five folds;
        if it is a stack, the best single model takes its place (`asked`).

        X, y, sample_weight: the rows of the comparison.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the user has not asked for the model here
            model = clone(self.fitted(self.asked))
        if np.ndim(model.get_params().get("folds", 0)):  # a stack that was fitted on the folds of the comparison
            model.set_params(folds=len(self.asked.as_is))
        return held_out_importance(model, X, y, sample_weight, repeats=1, random_state=random_state)

    def slim(self) -> "Comparison":
        """The same comparison without the posteriors of single rows, which take memory."""
        return replace(self, tried=tuple(replace(trial, log_posterior=None) for trial in self.tried))

    def _outline(self) -> "Comparison":
        """The same comparison without data on single rows."""
        return replace(self, codes=self.codes[:0], folds=self.folds[:0])

    def _is_sound(self) -> bool:
        parts = {len(trial.as_is) for trial in self.tried if not trial.reason}
        return len(self.tried) > 0 and len(parts) <= 1 and self.codes.shape == self.folds.shape

    # Output ---------------------------------------------------------------------------------------------------------

    def answer(self) -> Answer:
        """Which model wins, how certain that is, and the best model of each kind. The comparison prints this answer."""
        return Answer(self)

    def table(self) -> ComparisonTable:
        """All models as a table, for a terminal or a notebook; `.frame()` returns a data frame."""
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
        """The sentences of the answer, without its table."""
        return [self.answer().sentence, *self.remarks]

    def is_clearly_better(self, trial: Trial) -> bool:
        """Whether a model that cannot win is better than the leader by more than two standard errors."""
        if trial.may_win or trial.reason:
            return False
        above = self.above_best(trial)
        return above.value < -CLEAR_ERRORS * above.error

    def is_clearly_worse(self, trial: Trial) -> bool:
        """Whether a model is worse than the leader by more than two standard errors."""
        above = self.above_best(trial)
        return above.value > CLEAR_ERRORS * above.error

    def __repr__(self) -> str:
        return repr(self.answer())

    def _repr_html_(self) -> str:
        return self.answer()._repr_html_()

    def plot(self, axes: Any = None) -> Any:
        """Draw the log loss of every model with its interval, best first; matplotlib axes."""
        from classwise.plot import draw_comparison

        return draw_comparison(self.table().lines, axes)

    def reliability(self, *names: str, label: Any = None, axes: Any = None) -> Any:
        """Draw reliability: observed frequencies against predicted probabilities, on held-out rows.

        names: the models to draw. A single model, by default the winner, is drawn with and without its temperature.
        label: use the probability of this class instead of the probability of the predicted class.
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
