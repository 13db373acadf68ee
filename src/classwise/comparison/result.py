"""The result of a comparison: who is ahead, by how much, and how sure that is."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from classwise.arrays import Codes, Labels
from classwise.classifier.evaluation import Estimate, merged
from classwise.comparison.comparison_table import ComparisonLine, ComparisonTable
from classwise.comparison.family import FamilyMember
from classwise.comparison.trial import Trial
from classwise.errors import ClasswiseError
from classwise.estimators import BayesianLogistic, warn_of_imputed
from classwise.storage import stored

# Two models tie if their log losses differ by no more than this many standard errors of the difference: the rule of
# one standard error (Breiman et al. 1984). A reference counts as better beyond two.
TIE_ERRORS = 1.0
CLEAR_ERRORS = 2.0

# A difference of log loss below this is a tie in any case: it matters to nobody.
LITTLE = 1e-3


@stored("Comparison")
@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Trials of many models on the same folds; prints as a table.

    labels (g,); codes and folds (n,): the class and the fold of each row that has a label and a weight; backend: the
    library of frames that the rows came in, if they did. streamed: how many rows were read as a stream, of which
    nothing is kept row by row, so that codes and folds are empty; 0 for rows in memory. remarks: what else there is to
    say.
    """

    tried: tuple[Trial, ...]
    labels: Labels
    codes: Codes
    folds: Codes
    backend: Any = None
    streamed: int = 0
    remarks: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """How many rows were compared on."""
        return self.streamed or len(self.codes)

    @cached_property
    def trials(self) -> tuple[Trial, ...]:
        """By log loss, with the power if that helps; what could not be fitted comes last."""
        fitted = [trial for trial in self.tried if not trial.reason]
        ranked = sorted(fitted, key=lambda trial: trial.estimate("log_loss").value)
        return (*ranked, *(trial for trial in self.tried if trial.reason))

    def __getitem__(self, name: str) -> Trial:
        found = [trial for trial in self.tried if trial.name == name]
        if not found:
            raise KeyError(f"{name!r} was not compared; these were: {[trial.name for trial in self.tried]}.")
        return found[0]

    @cached_property
    def members(self) -> tuple[Trial, ...]:
        """The members of the family, and logistic regression, that could be fitted, by log loss."""
        return tuple(trial for trial in self.trials if trial.is_ours)

    @cached_property
    def leader(self) -> Trial:
        """The member of the family of least log loss."""
        if not self.members:
            reasons = "; ".join(f"{trial.name}: {trial.reason}" for trial in self.tried if trial.reason)
            raise ClasswiseError(f"No member of the family could be fitted in every fold: {reasons}")
        return self.members[0]

    def behind(self, trial: Trial) -> Estimate:
        """How much larger a trial's log loss is than the leader's, with the standard error of the difference."""
        return trial.behind(self.leader)

    def ties(self, trial: Trial) -> bool:
        """Whether the difference to the leader is within its standard error, or too small to matter."""
        behind = self.behind(trial)
        return behind.value <= max(TIE_ERRORS * behind.error, LITTLE)

    @cached_property
    def winner(self) -> Trial:
        """Of the members that tie with the leader, the one with fewest free parameters; of equals, the better."""
        tied = [self.leader, *(trial for trial in self.members if self.ties(trial))]
        return min(tied, key=lambda trial: trial.free_parameters or 0)

    @cached_property
    def best(self) -> Any:
        """The winner, fitted on all rows, with its power if that helps."""
        return self.fitted(self.winner)

    def fitted(self, trial: Trial | str) -> Any:
        """A member of the family, or its name, fitted on all rows with what was chosen in the comparison."""
        trial = self[trial] if isinstance(trial, str) else trial
        if trial.trained is not None:
            if isinstance(trial.trained, BayesianLogistic):
                # Said now, and of this model alone: while many are compared it would be noise.
                warn_of_imputed(trial.trained.model_.schema, trial.trained.model_.missing)
            return trial.trained
        if trial.tuned is None or trial.statistics is None:
            raise ClasswiseError(f"{trial.name} is not an estimator of classwise; fit it yourself.")
        return FamilyMember.fitted(trial)

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

    def table(self) -> ComparisonTable:
        """All models: a table on a terminal and in a notebook; `.frame()` for code."""
        return ComparisonTable(tuple(map(self._line, self.trials)), self.summary(), self.backend)

    def _line(self, trial: Trial) -> ComparisonLine:
        if trial.reason:
            return ComparisonLine(trial.name, trial.kind, seconds=trial.seconds, reason=trial.reason)
        return ComparisonLine(
            trial.name,
            trial.kind,
            trial.estimate("error"),
            trial.estimate("log_loss", calibrated=False),
            trial.estimate("log_loss", calibrated=True) if trial.calibrated else None,
            trial.power,
            trial.estimate("brier"),
            trial.estimate("calibration_error"),
            self.behind(trial) if self.members else None,
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
        return "better" if self.is_clearly_better(trial) else "tie" if self.ties(trial) else ""

    def summary(self) -> list[str]:
        """What the table says, in sentences."""
        if not self.members:
            return ["No member of the family could be fitted in every fold."]
        winner, leader = self.winner, self.leader
        loss = winner.estimate("log_loss")
        power = f" with its posteriors to the power {winner.power:.2g}" if winner.uses_power else ""
        sentences = [f"Best: {winner.name}, log loss {loss.value:.4g} ± {loss.high - loss.value:.2g}{power}."]
        tied = [trial for trial in self.members if trial is not winner and self.ties(trial)]
        if winner is not leader:
            ahead = winner.behind(leader)
            sentences.append(
                f"{leader.name} is ahead by {ahead.value:.2g}, with a standard error of {ahead.error:.2g}: a tie, and "
                f"{winner.name} is simpler."
            )
        elif tied:
            tie = "1 other, which is no simpler" if len(tied) == 1 else f"{len(tied)} others, none of them simpler"
            sentences.append(f"It ties with {tie}.")
        others = [trial for trial in self.trials if not trial.is_ours and not trial.reason]
        sentences += [self._about(trial) for trial in others if self.is_clearly_better(trial)]
        return [*sentences, *self.remarks]

    def is_clearly_better(self, trial: Trial) -> bool:
        """Whether a model from elsewhere is ahead of the family by more than two standard errors of the difference."""
        ahead = self.behind(trial)
        return not trial.is_ours and ahead.value < -CLEAR_ERRORS * ahead.error

    def _about(self, trial: Trial) -> str:
        """A reference that does better deserves a word."""
        ahead = self.behind(trial)
        name = "The stack of AutoClassifier" if trial.is_stack else trial.name
        return f"{name} does better, by {-ahead.value:.2g} with a standard error of {ahead.error:.2g}."

    def __repr__(self) -> str:
        return repr(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def plot(self, axes: Any = None) -> Any:
        """Log loss of every model with its interval, best first; matplotlib axes."""
        from classwise.plot import draw_comparison

        return draw_comparison(self.table().lines, axes)

    def reliability(self, *names: str, label: Any = None, axes: Any = None) -> Any:
        """What models announce against what comes true, as is and with the power; the best, or those named.

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
