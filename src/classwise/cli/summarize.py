"""classwise summarize: rows to statistics that add up."""

from typing import Annotated, Any, Literal

import typer

from classwise.cli import options as o
from classwise.cli.modeling import keep, refuse_output, refuse_standard
from classwise.cli.rows import Roles, called, kept_rows, names, open_learning, pairs


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
    chosen: Any = pairs(families, "--families") or "auto"
    roles = Roles(target, names(columns), names(drop) or (), weights)
    with kept_rows(data) as path:
        rows = open_learning(path, roles, missing, chosen, called(data))
        statistics = cw.summarize(
            rows.stream,
            target=target,
            columns=rows.columns,
            weights=weights,
            families=chosen,
            on_error=on_error,
            checkpoint=checkpoint,
        )
    keep(statistics, output, source=called(data))
