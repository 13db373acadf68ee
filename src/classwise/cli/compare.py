"""classwise examine and compare: what is wrong with a table, and which model predicts it best."""

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from classwise.cli import options as o
from classwise.cli.answer_screen import Screen, next_commands
from classwise.cli.files import LearningRows, learning_rows, refuse_standard
from classwise.cli.predict import read_costs
from classwise.cli.verbs import LINE, called, heading, note, print_lines, say, show_table, width
from classwise.errors import ClasswiseError
from classwise.rows.sinks import refuse_existing

if TYPE_CHECKING:
    from classwise.engines.rows import Held

# At most this many notes on columns are printed; --all prints the table of all columns.
MOST_NOTES = 6

# Findings that say what a note on a column would say.
SAID = {"constant", "id", "date", "decimal comma"}

# Findings about a target that nothing can be learned of, and about columns with which no answer is valid.
NO_CLASSES, MISLEADING = {"target", "one class"}, {"leak", "id", "index"}

HOW = "How to choose"


def examine(
    data: o.Data,
    target: o.Target,
    columns: o.Columns = None,
    drop: o.Drop = None,
    weights: o.Weights = None,
    families: o.Families = None,
    missing: o.Missing = None,
    seed: o.Seed = 0,
    all_columns: Annotated[bool, o.output_option("--all", help="Print a line for every column, however many.")] = False,
    as_json: Annotated[bool, o.output_option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Show how each column is read and why, what is wrong with the table, and which flag fixes it.

    It finds columns that leak the label, row numbers and ids, copies of other columns, dates and numbers that can be
    read in two ways, placeholders for missing values, classes with one or two rows, contradictory rows, and more. The
    suggested flags work with compare and fit; examine itself changes nothing. A table with more than 2 million values
    is sampled.

    Example: classwise examine penguins.csv --target species
    """
    import classwise as cw

    chosen = o.families_of(families)
    with learning_rows(data, target, o.names(columns), o.names(drop), weights, chosen, missing) as rows:
        found = cw.examine(rows.stream, **rows.named, families=chosen, missing=missing, random_state=seed)
    if as_json:
        print_lines(json.dumps({"data": rows.name} | found.records(), indent=2, ensure_ascii=False, default=str))
        return
    most = len(found.columns) if all_columns else None
    print_lines(found.text(shell=True, width=width() or 80, most=most))
    if any(remark.kind in NO_CLASSES for remark in found.findings):
        return
    heading("Next:")
    given = {"--columns": columns, "--drop": drop, "--families": families, "--missing": missing}
    flags = [f"{flag} {quote(value)}" for flag, values in given.items() for value in values or ()]
    flags += [f"--weights {quote(weights)}"] if weights else []
    command = ["classwise compare", quote(data), "--target", quote(target), *flags, found.flags]
    say("  " + " ".join(filter(None, command)))


def compare(
    context: typer.Context,
    data: o.Data,
    target: o.Target,
    columns: o.Columns = None,
    drop: o.Drop = None,
    weights: o.Weights = None,
    families: o.Families = None,
    missing: o.Missing = None,
    stream: o.Streaming = None,
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--models",
            "-m",
            help="Compare only these kinds, separated by commas: lda, qda, rda, nearest-mean, naive-bayes, logistic, "
            "stack, softmax, nearest-neighbors; or single models by name.",
            metavar="KIND",
            rich_help_panel=HOW,
        ),
    ] = None,
    rule: Annotated[
        Literal["best", "simplest"],
        typer.Option(help="Choose the best model, or the simplest one that is as good.", rich_help_panel=HOW),
    ] = "best",
    by: Annotated[
        Literal["log-loss", "error", "brier", "cost"] | None,
        typer.Option(
            help="What to minimize on held-out rows: log-loss, error, brier or cost. By default log-loss, or cost with "
            "--costs.",
            rich_help_panel=HOW,
        ),
    ] = None,
    costs: Annotated[
        str | None,
        typer.Option(
            help="A file with the cost of each error: true classes down the first column, decisions along the top.",
            metavar="FILE",
            rich_help_panel=HOW,
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(
            "--time",
            help="About how many seconds it may take; by default 60. Models that would take longer are left out.",
            min=0,
            metavar="SECONDS",
            rich_help_panel=HOW,
        ),
    ] = None,
    folds: Annotated[
        int, typer.Option(help="The number of folds for cross-validation.", min=2, rich_help_panel=HOW)
    ] = 10,
    seed: o.Seed = 0,
    references: Annotated[
        bool | None,
        typer.Option(
            help="Also try the stack, and as references scikit-learn's softmax regression and nearest neighbors (on a "
            "sample, if the rows are a stream).",
            rich_help_panel=HOW,
        ),
    ] = None,
    every: Annotated[
        bool, o.output_option("--all", "-a", help="Print all models and measures, and how each column is read.")
    ] = False,
    save: Annotated[str | None, o.output_option(help="Save the winner to this file.", metavar="MODEL")] = None,
    keep: Annotated[
        str | None,
        o.output_option(help="Save this model instead of the winner, such as lda or stack.", metavar="NAME"),
    ] = None,
    html: Annotated[
        str | None, o.output_option(help="Write a report with pictures to this file.", metavar="FILE")
    ] = None,
    as_json: Annotated[bool, o.output_option("--json", help="Print the result as JSON.")] = False,
    force: o.Force = False,
) -> None:
    """Find the classifier that does best on held-out rows, and say how certain that is.

    Cross-validates LDA, QDA, models between them, nearest means, naive Bayes, logistic regression and a stack of
    several models on the same folds, and ranks them by log loss. The answer names the winner and lists the best model
    of each kind; --all lists every model. Above 20 million values the rows are read twice as a stream, in little
    memory.

    Example: classwise compare penguins.csv --target species --save model.cw --html report.html
    """
    import classwise as cw
    from classwise import limits

    for option, path in {"--save": save, "--html": html}.items():
        refuse_standard(path, option)
        refuse_existing(path or "-", force)
    chosen = o.families_of(families)
    options: dict[str, Any] = {"folds": folds, "families": chosen, "random_state": seed, "rule": rule}
    options["references"] = "auto" if references is None else references
    options["only"] = o.names(models) or None
    options["time_limit"] = limits.COMPARE_SECONDS if seconds is None else seconds
    options["by"] = by.replace("-", "_") if by else None
    if by == "cost" and costs is None:
        raise ClasswiseError("--by cost needs to know what mistakes cost: give a table with --costs.")
    with (
        learning_rows(data, target, o.names(columns), o.names(drop), weights, chosen, missing) as rows,
        expected_time_noted(),
    ):
        examination = _examined(rows, chosen, missing)
        if not rows.is_small if stream is None else stream:
            compared = _of_stream(rows, costs, options, examination)
        else:
            compared = _of_table(rows, costs, options, examination)
        if save:
            cw.save(compared.kept(keep), save, source=called(data))
        if html:  # now, because a copy of standard input is removed afterwards
            compared.report(html, {"seed": seed, "model": save, "families": chosen, "examination": examination})
    if as_json:
        print_lines(json.dumps(compared.as_json(), indent=2, ensure_ascii=False, default=float))
        return
    if every:
        _show_all(compared)
    following = next_commands(context, data, target, save, html, _leaks(examination))
    Screen(compared.comparison.answer(), compared.bars, compared.advised, following).show()


@dataclass(frozen=True, eq=False)
class Compared:
    """A comparison. described: a model that knows how each column is read; diagnosis: of the rows, or None; held: the
    rows, if they are in memory.
    """

    comparison: Any
    rows: LearningRows
    described: Any = None
    diagnosis: Any = None
    held: "Held | None" = None
    seed: int = field(default=0, kw_only=True)

    def kept(self, name: str | None) -> Any:
        """The winner, or the model of this name, fitted on all rows."""
        try:
            return self.comparison.best if name is None else self.comparison.fitted(name)
        except KeyError as problem:
            raise ClasswiseError(f"--keep: {problem.args[0]}") from None

    @property
    def advised(self) -> list[str]:
        """At most three sentences of advice, worded for the command line."""
        return [] if self.diagnosis is None else list(self.diagnosis.sentences(shell=True))

    def bars(self, most: int, wide: int) -> list[str]:
        """The columns that matter most to the winner on held-out rows, as lines with bars."""
        return [] if self.importance is None else self.importance.bars(most, wide)

    @cached_property
    def importance(self) -> Any:
        """The importance of columns to the winner on held-out rows; None if rows are read as a stream."""
        return None if self.held is None else self.comparison.importance(*self.held[:3], random_state=self.seed)

    def as_json(self) -> dict[str, Any]:
        """The result as JSON, for scripts."""
        records = self.comparison.table().records()
        return {
            "data": {
                "source": self.rows.name,
                "rows": len(self.held.y) if self.held else self.comparison.rows,
                "target": self.rows.roles.target,
                "columns": list(self.rows.roles.features),
            },
            "labels": self.comparison.labels.tolist(),
            "answer": self.comparison.answer().records(),
            "best": self.comparison.winner.name,
            "model": " ".join(repr(self.comparison.best).split()),
            "summary": self.comparison.summary(),
            "advice": {} if self.diagnosis is None else self.diagnosis.advice,
            "models": [dict(zip(records, values, strict=True)) for values in zip(*records.values(), strict=True)],
        }

    def report(self, path: str, about: dict[str, Any]) -> None:
        """Write the HTML report."""
        import classwise as cw

        X: Any
        y: Any
        weights: Any
        about |= {"source": self.rows.name, "target": self.rows.roles.target, "command": LINE.get()}
        if self.held is None:
            X, y, weights = self.rows.stream, None, self.rows.roles.weights
        else:
            X, y, weights, _ = self.held
            about |= {"advice": self.advised, "importance": self.importance}
        cw.write_report(self.comparison, X, y, path, sample_weight=weights, **about)


def _of_table(rows: LearningRows, costs: str | None, options: dict[str, Any], examination: Any) -> Compared:
    """Compare rows that are held in memory, and diagnose them."""
    import classwise as cw

    held, families = rows.held(is_examined=True), options["families"]
    with warnings.catch_warnings():
        for said in (cw.IgnoredColumnWarning, cw.DegenerateColumnWarning):  # by the notes on columns
            warnings.simplefilter("ignore", said)
        described = cw.NaiveBayes(families=families).fit(*held[:3])
        _show_rows(described, rows, len(held.y), examination)
        _show_findings(examination)
        priced = read_costs(costs, described.classes_)
        comparison = cw.compare(held.X, held.y, sample_weight=held.weights, costs=priced, **options)
    diagnosis = _diagnosis(held, families, comparison)
    return Compared(comparison, rows, described, diagnosis, held, seed=options["random_state"])


def _of_stream(rows: LearningRows, costs: str | None, options: dict[str, Any], examination: Any) -> Compared:
    """Compare rows that are read twice as a stream, and never held in memory."""
    import classwise as cw

    _show_findings(examination)
    # The table of costs needs the labels, which are known after the first pass.
    priced = partial(read_costs, costs) if costs else None
    found = cw.compare(rows.stream, **rows.named, stream=True, costs=priced, **options)
    statistics = next((trial.statistics for trial in found.tried if trial.statistics is not None), None)
    described = None
    if statistics is not None:
        described = cw.NaiveBayes(families=options["families"]).fit_statistics(statistics)
        _show_rows(described, rows, found.rows, examination)
    return Compared(found, rows, described)


def _diagnosis(held: "Held", families: Any, comparison: Any) -> Any:
    """The diagnosis of the rows, with the result of the comparison; None if it fails."""
    import classwise as cw

    try:
        return cw.diagnose(*held[:3], families=families, held_out=comparison.evaluations)
    except ClasswiseError as problem:
        note(str(problem))
        return None


# From this many seconds on, a limit of ten saves time: quick models are tried under any limit.
LONG_SECONDS = 20


@contextmanager
def expected_time_noted() -> Iterator[None]:
    """Print what the comparison logs, its expected duration, as a note."""
    import logging  # takes a while

    class Noting(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            hint = " --time 10 would leave out what is slow." if vars(record).get("seconds", 0) > LONG_SECONDS else ""
            note(record.getMessage() + hint)

    log, handler = logging.getLogger("classwise.comparison"), Noting()
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


# What is printed before the answer -----------------------------------------------------------------------------------


def _show_rows(described: Any, rows: LearningRows, count: int, examination: Any) -> None:
    """Print the number of rows and columns, and the notes on columns that no finding speaks of."""
    from classwise.diagnostics.advice import counted

    columns = list(described.schema_)
    heading(f"{counted(count, 'row')} of {rows.name}; {rows.roles.target} from {counted(len(columns), 'column')}.")
    found = () if examination is None else examination.findings
    said = {key for remark in found if remark.kind in SAID for key in remark.columns}
    noted = [column for column in columns if column.note and column.name not in said]
    for column in noted[:MOST_NOTES]:
        say(f"  {column.name}: {column.note}")
    if len(noted) > MOST_NOTES:
        say(f"  {len(noted) - MOST_NOTES} more columns have a note: --all prints them.")


def _examined(rows: LearningRows, families: Any, missing: list[str] | None) -> Any:
    """What is wrong with the table; None if it cannot be examined: the fit then gives the error."""
    import classwise as cw

    try:
        return cw.examine(rows.stream, **rows.named, families=families, missing=missing)
    except ClasswiseError:
        return None


def _leaks(examination: Any) -> list[str]:
    """The flags that leave out columns that give the label away, or tell rows apart: no answer is valid with them."""
    problems = () if examination is None else examination.problems
    return [one.flag for one in problems if one.kind in MISLEADING and one.flag]


def _show_findings(examination: Any) -> None:
    """Print what is wrong with the table, and what fixes it."""
    if examination is not None and examination.findings:
        for line in examination.remarks(shell=True):
            say(line)


def _show_all(compared: Compared) -> None:
    """Print how each column is read, the members of the stack, and all models."""
    if compared.described is not None:
        show_table(compared.described.schema_)
        say()
    for trial in compared.comparison.tried:
        if trial.is_stack and not trial.reason:
            heading("What the stack is made of:")
            show_table(trial.trained.report_)
            say()
    print_lines(compared.comparison.table().text(width(), shell=True), "")
