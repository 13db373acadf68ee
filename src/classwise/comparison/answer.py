"""The answer of a comparison: a sentence on which model wins and how certain that is, and a line per kind of model."""

import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from html import escape
from importlib.util import find_spec
from math import ceil
from shutil import get_terminal_size
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from classwise.classifier.evaluation import Estimate, merged
from classwise.classifier.evaluation_text import percents
from classwise.comparison.names import BASELINE, kind_of
from classwise.comparison.trial import Trial, simplicity
from classwise.diagnostics.advice import classes, listed
from classwise.engines.progress import span
from classwise.tabular import aligned, html_table

if TYPE_CHECKING:
    from classwise.comparison.result import Comparison

# The most lines for models, and the width: an answer fits on a terminal of 80 x 24 characters.
MOST_LINES = 8
WIDTH = 80

# The names of the measures.
MEASURES = {"log_loss": "log loss", "error": "error", "brier": "Brier score", "cost": "cost"}
RULES = {
    "best": "Best: least {} on unseen rows. As good: within one standard error of it.",
    "simplest": "Simplest: fewest parameters within one standard error of the least {}.",
}


@dataclass(frozen=True)
class AnswerLine:
    """The best model of a kind. name: for `fitted`; model: the name in plain words; verdict: against the best."""

    name: str
    model: str
    kind: str
    accuracy: float
    log_loss: float
    verdict: str
    cost: float | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Answer:
    """The answer of a comparison: at most 20 lines of 80 columns; HTML in a notebook; `records()` for JSON."""

    comparison: "Comparison"

    # What it says ---------------------------------------------------------------------------------------------------

    @cached_property
    def sentence(self) -> str:
        """Which model wins, on how many of 100 rows it is right, how certain that is, and which models are as good."""
        if not self.comparison.members:
            return "No model could be fitted in every fold."
        return " ".join([self._of_winner(), *self._doubts()])

    def _of_winner(self) -> str:
        winner = self.comparison.winner
        rows = merged(winner.final)
        _, low, high = percents(rows.accuracy, *winner.accuracy_interval)
        share = "every unseen row" if rows.accuracy == 1 else f"{_percent(rows.accuracy)} of 100 unseen rows"
        of = " of 100" if rows.accuracy == 1 else ""
        dear = f"costs {_costs(winner.estimate('cost'))} per unseen row and " if self.comparison.by == "cost" else ""
        sure = f"(95 % interval {low} to {high}{of})"
        return f"{_begun(winner)} {dear}is right on {share} {sure}; {self._ties()}."

    def _ties(self) -> str:
        """How many other models are as good, and which of them is the simplest."""
        comparison, winner, leader = self.comparison, self.comparison.winner, self.comparison.leader
        others = [trial for trial in comparison.tied if trial is not winner]
        if not others:
            return f"no other model{' that uses the columns' if self._is_idle else ''} does as well"
        if winner is not leader:
            return f"it is the simplest of {len(others) + 1} models that do as well as the best, {leader.title}"
        simplest = min(others, key=simplicity)
        is_simpler = simplicity(simplest) < simplicity(winner)
        if len(others) == 1:
            return f"{simplest.title} does as well{', and is simpler' if is_simpler else ''}"
        rest = f"the simplest of them is {simplest.title}" if is_simpler else "none of them is simpler"
        return f"{len(others)} of the {len(comparison.members) - 1} others do as well, {rest}"

    def _doubts(self) -> Iterator[str]:
        """What a reader should know before trusting the winner."""
        comparison = self.comparison
        better = [trial for trial in comparison.trials if comparison.is_clearly_better(trial)]
        for trial in better:
            yield (
                f"{_begun(trial)}, a reference model that cannot be chosen, does better still: its "
                f"{MEASURES[comparison.by]} is lower by {self._difference(trial)}."
            )
        if self._is_idle:
            weak = f"{_begun(comparison.winner)} is not clearly better than always naming the most frequent class"
            yield f"{weak}." if better else f"{weak}: these columns hardly tell the classes apart."
        absent = comparison.labels[merged(comparison.winner.final).support == 0]
        if len(absent):
            has = "has" if len(absent) == 1 else "have"
            yield f"{classes(absent.tolist()).capitalize()} {has} too few rows to be held out and tried."

    @property
    def _is_idle(self) -> bool:
        """Whether the class shares, which use no columns, are not clearly worse than the winner."""
        comparison = self.comparison
        baseline = [trial for trial in comparison.trials if trial.group == kind_of(BASELINE) and not trial.reason]
        return any(not comparison.is_clearly_worse(trial) for trial in baseline)

    @cached_property
    def lines(self) -> tuple[AnswerLine, ...]:
        """The best of each kind, the winner first, and at the end the class shares, which use no columns."""
        if not self.comparison.members:
            return ()
        best: dict[str, Trial] = {}
        for trial in self._in_order():
            best.setdefault(trial.group, trial)
        baseline = best.pop(kind_of(BASELINE), None)
        room = MOST_LINES - (baseline is not None)
        return tuple(map(self._line, [*list(best.values())[:room], *([baseline] if baseline else ())]))

    def _in_order(self) -> Iterator[Trial]:
        """The winner, then all others, best first; softmax regression only if it is clearly better."""
        comparison = self.comparison
        yield comparison.winner
        for trial in comparison.trials:
            is_double = trial.group == "softmax" and not comparison.is_clearly_better(trial)
            if not (trial.reason or is_double):
                yield trial

    def _line(self, trial: Trial) -> AnswerLine:
        rows = merged(trial.final)
        cost = trial.estimate("cost").value if self.comparison.by == "cost" else None
        kind, verdict = "given" if trial.is_given else trial.group, self._verdict(trial)
        return AnswerLine(trial.name, trial.title, kind, rows.accuracy, rows.log_loss, verdict, cost)

    def _verdict(self, trial: Trial) -> str:
        comparison = self.comparison
        if trial is comparison.leader:
            return "best"
        if trial is comparison.winner:
            return "simplest, as good"
        if comparison.is_clearly_better(trial):
            return f"better by {self._difference(trial)}"
        return "as good" if comparison.ties(trial) else f"worse by {self._difference(trial)}"

    def _difference(self, trial: Trial) -> str:
        """The absolute difference of a model to the best."""
        above = self.comparison.above_best(trial)
        scale, unit = (100, " %") if self.comparison.by == "error" else (1, "")
        value, error = scale * abs(above.value), scale * above.error
        digits = 1 if unit else 3
        if round(value, digits) == 0:
            return f"under {10.0**-digits:.{digits}f}{unit}"
        return f"{value:.{digits}f} ± {error:.{digits}f}{unit}"

    @property
    def rule(self) -> str:
        """How the winner was chosen."""
        return RULES[self.comparison.rule].format(MEASURES[self.comparison.by])

    @property
    def matters(self) -> str:
        """The heading of the importance of columns, with the name of the model if it is not the winner."""
        model = self.comparison.asked
        if model is self.comparison.winner:
            return "What matters (how much log loss rises without a column):"
        return f"What matters to {model.title} (more log loss without it):"

    @cached_property
    def left_out(self) -> tuple[Trial, ...]:
        """Models that were left out for their time, and one of each kind of which no model could be fitted."""
        failed = [trial for trial in self.comparison.tried if trial.reason]
        fitted = {trial.group for trial in self.comparison.tried if not trial.reason}
        kinds = {trial.group: trial for trial in reversed(failed)}
        return tuple(
            trial for trial in failed if trial.is_late or (trial.group not in fitted and kinds[trial.group] is trial)
        )

    def notes(self, shell: bool = False) -> list[str]:
        """The notes below the table: the rule, what was left out, and where to find all models. shell: whether to name
        flags instead of arguments.
        """
        count = len(self.comparison.tried)
        every = f"All {count} models: {'--all' if shell else '.table()'}."
        other = "--rule simplest" if shell else ".choose('simplest')"
        if any(simplicity(trial) < simplicity(self.comparison.winner) for trial in self.comparison.tied):
            every += f" The simplest that is as good: {other}."
        rule = [self.rule] if self.comparison.members else []
        return [*rule, *self._left_out(shell), every, *self.comparison.remarks]

    def _left_out(self, shell: bool) -> Iterator[str]:
        late = [trial for trial in self.left_out if trial.is_late]
        if late:
            # The two logistic regressions share their fits, so that their time counts once.
            shared = [trial for trial in late if trial.kind == "logistic"]
            late = [trial for trial in late if trial not in shared[1:]]
            limit = (self.comparison.time_limit or 0) + sum(trial.seconds for trial in late)
            enough = f"{10 * ceil(limit / 10)}"
            shown = listed((f"{trial.title} (about {span(trial.seconds)})" for trial in late), 3)
            more = f"--time {enough}" if shell else f"time_limit={enough}"
            yield f"Left out for time: {shown}; {more} adds {'it' if len(late) == 1 else 'them'}."
        failed = [trial for trial in self.left_out if not trial.is_late]
        if failed:
            shown = listed((trial.title for trial in failed), 4)
            yield f"Could not be fitted: {shown}; {'--all' if shell else '.table()'} says why."

    # Output ---------------------------------------------------------------------------------------------------------

    def cells(self) -> list[list[str]]:
        """The lines as text, header first."""
        has_cost = self.comparison.by == "cost"
        header = ["model", "accuracy", "log loss", *(["cost"] if has_cost else ()), "against the best"]
        return [header, *(self._cells(line, has_cost) for line in self.lines)]

    def _cells(self, line: AnswerLine, has_cost: bool) -> list[str]:
        cost = [f"{line.cost:.3g}"] if has_cost else []
        return [line.model, f"{_percent(line.accuracy)} %", f"{line.log_loss:.3f}", *cost, line.verdict]

    def text(self, width: int = WIDTH, shell: bool = False) -> str:
        """Plain text of at most this width; shell: whether to name flags instead of arguments."""
        return "\n".join(line for line, _ in self.styled(width, shell))

    def styled(self, width: int = WIDTH, shell: bool = False) -> list[tuple[str, str]]:
        """Lines of text, each with its style on a terminal."""
        heading = [(line, "bold") for line in wrap(self.sentence, width)]
        notes = [(line, "") for note in self.notes(shell) for line in wrap(note, width)]
        return [*heading, ("", ""), *self._table(width), *notes]

    def _table(self, width: int) -> list[tuple[str, str]]:
        """The table in lines of this width; long names are wrapped, numbers never."""
        if not self.lines:
            return [(line, "") for reason in self.comparison.table().failures() for line in wrap(reason, width)]
        cells = self.cells()
        room = max(width - sum(2 + max(map(len, column)) for column in list(zip(*cells, strict=True))[1:]), 12)
        folded, styles = [], []
        for i, (name, *rest) in enumerate(cells):
            first, *more = wrap(name, room, subsequent_indent="  ")
            folded += [[first, *rest], *([part] + [""] * len(rest) for part in more)]
            style = STYLES.get(self.lines[i - 1].verdict.split()[0], "dim") if i else "bold"
            styles += [style] * (1 + len(more))
        return list(zip(aligned(folded, "<" + ">" * (len(cells[0]) - 2) + "<"), styles, strict=True))

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        if sys.stdout is None or not sys.stdout.isatty():
            return self.text()
        width = min(get_terminal_size().columns, WIDTH)
        if not find_spec("rich"):
            return self.text(width)
        from rich.console import Console

        console = Console()
        with console.capture() as captured:
            console.print(self)
        return captured.get().rstrip("\n")

    def __rich_console__(self, console: Any, options: Any) -> Any:
        """For rich consoles: the sentence and the winner in bold, models as good in plain, the rest dim."""
        from rich.text import Text

        for line, style in self.styled(min(options.max_width, WIDTH)):
            yield Text(line, style=style)

    def _repr_html_(self) -> str:
        """The sentence, the lines, and all models in a collapsible section."""
        every = self.comparison.table()
        notes = "<br>".join(map(escape, self.notes()))
        styles = [
            "style='font-weight: bold'" if line.name == self.comparison.winner.name else "" for line in self.lines
        ]
        small = html_table(self.cells(), rows=styles) if self.lines else ""
        details = f"<details><summary>All {len(every.lines)} models</summary>{every._repr_html_()}</details>"
        return f"<p><b>{escape(self.sentence)}</b></p>{small}<p>{notes}</p>{details}"

    def records(self) -> dict[str, Any]:
        """The answer as plain values."""
        comparison = self.comparison
        return {
            "sentence": self.sentence,
            "winner": comparison.winner.name if comparison.members else None,
            "rule": comparison.rule,
            "by": comparison.by,
            "lines": [asdict(line) for line in self.lines],
            "left_out": [{"name": trial.name, "reason": trial.reason} for trial in self.left_out],
        }


# The style of lines on a terminal, by the first word of their verdict.
STYLES = {"best": "bold green", "simplest,": "bold green", "as": "", "better": "bold"}


def _begun(trial: Trial) -> str:
    """A name at the beginning of a sentence, capitalized unless the caller gave it."""
    return trial.name if trial.is_given else trial.title[0].upper() + trial.title[1:]


def _percent(share: float) -> str:
    """A share in percent with one digit, or with more so that less than 1 is not rounded to 100.

    >>> _percent(0.9942), _percent(0.99996), _percent(1.0)
    ('99.4', '99.996', '100.0')
    """
    digits = 1
    while share < 1 and digits < 6 and round(100 * share, digits) == 100:
        digits += 1
    return f"{100 * share:.{digits}f}"


def _costs(cost: Estimate) -> str:
    return f"{cost.value:.3g} (95 % interval {cost.low:.3g} to {cost.high:.3g})"
