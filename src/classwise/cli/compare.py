"""classwise compare: which classifier to trust with these rows."""

import json
import sys
from dataclasses import dataclass
from shlex import quote
from typing import Annotated, Any

import typer

from classwise.cli import options as o
from classwise.cli.modeling import refuse_standard
from classwise.cli.rows import Learning, Roles, Rows, called, kept_rows, learn_rows, names, open_learning, pairs
from classwise.cli.saying import heading, note, print_lines, say, show_table, width
from classwise.errors import ClasswiseError


def compare(
    data: o.Data,
    target: o.Target,
    columns: o.Columns = None,
    drop: o.Drop = None,
    weights: o.Weights = None,
    families: o.Families = None,
    missing: o.Missing = None,
    stream: o.Streaming = None,
    folds: Annotated[int, typer.Option(help="How many parts take turns in being held out.", min=2)] = 10,
    seed: o.Seed = 0,
    references: Annotated[
        bool | None,
        typer.Option(
            help="Also try softmax regression and nearest neighbors, of scikit-learn; where they take long, too."
        ),
    ] = None,
    save: Annotated[
        str | None, typer.Option(help="Keep the winner in this file.", metavar="MODEL", rich_help_panel=o.OUTPUT)
    ] = None,
    keep: Annotated[
        str | None,
        typer.Option(
            help="Keep this model of the table in place of the winner, such as 'stack'.",
            metavar="NAME",
            rich_help_panel=o.OUTPUT,
        ),
    ] = None,
    html: Annotated[
        str | None,
        typer.Option(help="Write a report with pictures to this file.", metavar="FILE", rich_help_panel=o.OUTPUT),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The result as JSON.", rich_help_panel=o.OUTPUT)] = False,
    force: o.Force = False,
) -> None:
    """Find the classifier whose probabilities come true on rows it has not seen.

    LDA, QDA, all between them, nearest means, naive Bayes and logistic regression are tried on the same folds, and
    ranked by log loss. The best is the simplest of those that tie with the leader. Where there are more than 20
    million values, rows are read twice, and memory stays flat.

    Example: classwise compare penguins.csv --target species --save model.cw --html report.html
    """
    import classwise as cw
    from classwise.rows.writing import refuse_existing

    for option, path in {"--save": save, "--html": html}.items():
        refuse_standard(path, option)
        refuse_existing(path or "-", force)
    chosen: Any = pairs(families, "--families") or "auto"
    options: dict[str, Any] = {"folds": folds, "families": chosen, "random_state": seed}
    options["references"] = "auto" if references is None else references
    roles = Roles(target, names(columns), names(drop) or (), weights)
    with kept_rows(data) as path:
        rows = open_learning(path, roles, missing, chosen, called(data))
        if not rows.is_table if stream is None else stream:
            compared = _of_stream(rows, roles, html, options, called(data))
        else:
            compared = _of_table(learn_rows(path, roles, missing, chosen, called(data)), target, options)
    if save:
        cw.save(compared.kept(keep), save, source=called(data))
    _print(compared.as_json(target) if as_json else compared.comparison)
    _show_stack(compared.comparison)
    _show_advice(compared.advice)
    if html and compared.rows:
        compared.report(html, {"target": target, "seed": seed, "model": save, "families": chosen})
    _show_next(data, target, save, html)


@dataclass(frozen=True, eq=False)
class Compared:
    """A comparison, of which rows and columns, and what they advise; rows: where they were in memory."""

    comparison: Any
    name: str
    columns: list[str]
    advice: dict[str, str]
    rows: Rows | None = None

    def kept(self, name: str | None) -> Any:
        """The winner, or the model of this name, fitted on all rows."""
        try:
            return self.comparison.best if name is None else self.comparison.fitted(name)
        except KeyError as problem:
            raise ClasswiseError(f"--keep: {problem.args[0]}") from None

    def as_json(self, target: str) -> dict[str, Any]:
        """For scripts."""
        records = self.comparison.table().records()
        return {
            "data": {
                "source": self.name,
                "rows": len(self.rows) if self.rows else self.comparison.rows,
                "target": target,
                "columns": self.columns,
            },
            "labels": self.comparison.labels.tolist(),
            "best": self.comparison.winner.name,
            "model": " ".join(repr(self.comparison.best).split()),
            "summary": self.comparison.summary(),
            "advice": self.advice,
            "models": [dict(zip(records, values, strict=True)) for values in zip(*records.values(), strict=True)],
        }

    def report(self, path: str, about: dict[str, Any]) -> None:
        """As a page."""
        import classwise as cw

        assert self.rows is not None
        X, y, weights = self.rows.X, self.rows.y, self.rows.weights
        cw.write_report(self.comparison, X, y, path, sample_weight=weights, source=self.name, **about)


def _of_table(rows: Rows, target: str, options: dict[str, Any]) -> Compared:
    """All rows in memory: they are looked at closely, too."""
    import classwise as cw

    families = options["families"]
    refuse_many_classes(rows.y, target)
    _show_columns(cw.NaiveBayes(families=families).fit(rows.X, rows.y, rows.weights), rows.name, len(rows), target)
    comparison = cw.compare(rows.X, rows.y, sample_weight=rows.weights, **options)
    return Compared(comparison, rows.name, rows.X.column_names, _advice(rows, families), rows)


def _of_stream(rows: Learning, roles: Roles, html: str | None, options: dict[str, Any], name: str) -> Compared:
    """Rows that are read twice, and never are all in memory."""
    import classwise as cw

    if html:
        raise ClasswiseError(
            f"--html draws single rows, and {name} is read as a stream; leave it out, or read all rows by --no-stream."
        )
    found = cw.compare(
        rows.stream, target=roles.target, columns=rows.columns, weights=roles.weights, stream=True, **options
    )
    statistics = next((trial.statistics for trial in found.tried if trial.statistics is not None), None)
    if statistics is not None:
        described = cw.NaiveBayes(families=options["families"]).fit_statistics(statistics)
        _show_columns(described, name, found.rows, str(roles.target))
    return Compared(found, name, rows.columns, {})


def refuse_many_classes(y: Any, target: str) -> None:
    """A column whose values differ in most rows holds no classes; of numbers, fewer are suspicious."""
    distinct, share = len(set(y.tolist())), 5 if y.dtype.kind in "fiu" else 2
    if distinct > max(20, len(y) // share):
        raise ClasswiseError(
            f"The column {target!r} has {distinct} different values in {len(y)} rows: it holds no classes. Name "
            "another with --target."
        )


def _show_columns(described: Any, name: str, rows: int, target: str) -> None:
    """What each column was taken for."""
    report = described.schema_
    heading(f"{rows} rows of {name}; {target} from {len(report)} columns:")
    show_table(report.cells(), words=(0, 1, 2, 3, 6))
    say()


def _advice(rows: Rows, families: Any) -> dict[str, str]:
    import classwise as cw

    try:
        return cw.diagnose(rows.X, rows.y, rows.weights, families=families).advice
    except ClasswiseError as problem:
        note(str(problem))
        return {}


def _print(result: Any) -> None:
    """On standard output: in color where it is a terminal."""
    if isinstance(result, dict):
        print_lines(json.dumps(result, indent=2, ensure_ascii=False, default=float))
    elif sys.stdout.isatty():
        from rich.console import Console

        Console().print(result.table())
    else:
        print_lines(result.table().text(width()))


def _show_stack(comparison: Any) -> None:
    """What the stack is made of, if it was tried."""
    stacks = [trial.trained for trial in comparison.tried if trial.kind == "stack" and not trial.reason]
    for stack in stacks:
        heading("What the stack is made of (keep it by --keep stack):")
        show_table(stack.report_.cells(), words=(0, 6))
        say()


def _show_advice(advice: dict[str, str]) -> None:
    if advice:
        heading("What the data say:")
        for sentence in advice.values():
            say(f"- {sentence}")


def _show_next(data: str, target: str, save: str | None, html: str | None) -> None:
    heading("Next:")
    if html:
        say(f"  the report is in {html}; open it in a browser")
    if save:
        say(f"  classwise predict {quote(save)} new.csv --proba")
        say(f"  classwise explain {quote(save)} {quote(data)} --row 1")
    else:
        say(f"  classwise compare {quote(data)} --target {quote(target)} --save model.cw --html report.html")
