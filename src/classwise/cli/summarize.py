"""classwise summarize, merge, subtract and info: statistics that add up, and what a file holds."""

import json
from dataclasses import asdict
from typing import Annotated, Any, Literal

import typer

from classwise.cli import options as o
from classwise.cli.model_files import keep, load_statistics, refuse_output, refuse_standard
from classwise.cli.row_files import called, learning_rows
from classwise.cli.verbs import print_lines


def summarize(
    data: o.Data,
    target: o.Target,
    output: Annotated[
        str, typer.Option("--output", "-o", help="Where to keep the statistics (.cws); - is standard output.")
    ],
    columns: o.Columns = None,
    drop: o.Drop = None,
    weights: o.Weights = None,
    families: o.Families = None,
    missing: o.Missing = None,
    on_error: Annotated[
        Literal["raise", "skip"],
        typer.Option(help="Whether a file that cannot be read ends the work, or is left out and counted."),
    ] = "raise",
    checkpoint: Annotated[
        str | None,
        typer.Option(help="Keep what finished files add up to in this file; after a crash, go on from there."),
    ] = None,
    force: o.Force = False,
) -> None:
    """Gather the statistics that every model is made from, in one pass over the rows, however many.

    Statistics of different files, days or machines add up: see merge.

    Example: classwise summarize penguins.csv --target species -o day-1.cws
    """
    import classwise as cw

    refuse_output(output, force)
    refuse_standard(checkpoint, "--checkpoint")
    chosen = o.families_of(families)
    with learning_rows(data, target, o.names(columns), o.names(drop), weights, chosen, missing) as rows:
        options: dict[str, Any] = {"families": chosen, "on_error": on_error, "checkpoint": checkpoint}
        statistics = cw.summarize(rows.stream, **rows.named, **options)
    keep(statistics, output, source=called(data))


def merge(
    parts: Annotated[
        list[str], typer.Argument(help="Statistics (.cws), or models that keep theirs.", metavar="PART...")
    ],
    output: Annotated[str, typer.Option("--output", "-o", help="Where to keep the sum (.cws); - is standard output.")],
    force: o.Force = False,
) -> None:
    """Add the statistics of parts. The sum is that of all rows, in whatever order they are added.

    Example: classwise merge day-1.cws day-2.cws -o both.cws
    """
    refuse_output(output, force)
    first, *others = map(load_statistics, parts)
    total = sum(others, first)
    keep(total, output, source=parts)


def subtract(
    whole: Annotated[str, typer.Argument(help="Statistics (.cws) of all rows.", metavar="WHOLE")],
    parts: Annotated[list[str], typer.Argument(help="Statistics of the rows to take away.", metavar="PART...")],
    output: Annotated[str, typer.Option("--output", "-o", help="Where to keep the rest (.cws); - is standard output.")],
    force: o.Force = False,
) -> None:
    """Subtract the statistics of some rows. What is left is that of all others.

    Example: classwise subtract both.cws day-1.cws -o rest.cws
    """
    refuse_output(output, force)
    rest = load_statistics(whole)
    for part in parts:
        rest = rest - load_statistics(part)
    keep(rest, output, source=whole)


def info(
    path: Annotated[str, typer.Argument(help="A model (.cw) or statistics (.cws).", metavar="FILE")],
    as_json: Annotated[bool, typer.Option("--json", help="The same as JSON.")] = False,
) -> None:
    """Show what a file holds and where it comes from, without reading its numbers.

    Example: classwise info model.cw
    """
    from classwise.storage import describe

    about = describe(path)
    print_lines(json.dumps(asdict(about), indent=2, default=str) if as_json else str(about))
