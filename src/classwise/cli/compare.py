"""classwise compare: which classifier to trust with these rows."""

import json
import sys
from shlex import quote
from typing import Annotated, Any

import typer

from classwise.cli import options as o
from classwise.cli.rows import Roles, Rows, learn_rows, names, pairs
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
    html: Annotated[
        str | None,
        typer.Option(help="Write a report with pictures to this file.", metavar="FILE", rich_help_panel=o.OUTPUT),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The result as JSON.", rich_help_panel=o.OUTPUT)] = False,
    force: o.Force = False,
) -> None:
    """Find the classifier whose probabilities come true on rows it has not seen.

    LDA, QDA, all between them, nearest means, naive Bayes and logistic regression are tried on the same folds, and
    ranked by log loss. The best is the simplest of those that tie with the leader.

    Example: classwise compare penguins.csv --target species --save model.cw --html report.html
    """
    import classwise as cw
    from classwise.sources.writing import refuse_existing

    for path in filter(None, (save, html)):
        refuse_existing(path, force)
    rows = learn_rows(data, Roles(target, names(columns), names(drop) or (), weights), missing)
    chosen: Any = pairs(families, "--families") or "auto"
    refuse_many_classes(rows.y, target)
    _show_columns(rows, target, chosen)
    comparison = cw.compare(
        rows.X,
        rows.y,
        folds,
        sample_weight=rows.weights,
        references="auto" if references is None else references,
        families=chosen,
        random_state=seed,
    )
    advice = _advice(rows, chosen)
    _print(_result(comparison, advice, rows, target) if as_json else comparison)
    _show_advice(advice)
    if save:
        cw.save(comparison.best, save, source=rows.name)
    if html:
        about: Any = {"source": rows.name, "target": target, "seed": seed, "model": save}
        cw.write_report(comparison, rows.X, rows.y, html, sample_weight=rows.weights, families=chosen, **about)
    _show_next(data, target, save, html)


def refuse_many_classes(y: Any, target: str) -> None:
    """A column whose values differ in most rows holds no classes; of numbers, fewer are suspicious."""
    distinct, share = len(set(y.tolist())), 5 if y.dtype.kind in "fiu" else 2
    if distinct > max(20, len(y) // share):
        raise ClasswiseError(
            f"The column {target!r} has {distinct} different values in {len(y)} rows: it holds no classes. Name "
            "another with --target."
        )


def _show_columns(rows: Rows, target: str, families: Any) -> None:
    import classwise as cw

    report = cw.NaiveBayes(families=families).fit(rows.X, rows.y, rows.weights).schema_
    heading(f"{len(rows)} rows of {rows.name}; {target} from {len(report)} columns:")
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


def _result(comparison: Any, advice: dict[str, str], rows: Rows, target: str) -> dict[str, Any]:
    records = comparison.table().records()
    return {
        "data": {"source": rows.name, "rows": len(rows), "target": target, "columns": rows.X.column_names},
        "labels": comparison.labels.tolist(),
        "best": comparison.winner.name,
        "model": " ".join(repr(comparison.best).split()),
        "summary": comparison.summary(),
        "advice": advice,
        "models": [dict(zip(records, values, strict=True)) for values in zip(*records.values(), strict=True)],
    }


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
