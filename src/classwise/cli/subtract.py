"""classwise subtract: statistics without some of the rows."""

from typing import Annotated

import typer

from classwise.cli import options as o
from classwise.cli.modeling import keep, load_statistics, refuse_output


def subtract(
    whole: Annotated[str, typer.Argument(help="Statistics (.cws) of all rows.", metavar="WHOLE")],
    parts: Annotated[list[str], typer.Argument(help="Statistics of the rows to take away.", metavar="PART...")],
    output: Annotated[str, typer.Option("--output", "-o", help="Where to keep the rest (.cws); - is standard output.")],
    force: o.Force = False,
) -> None:
    """Take the statistics of some rows away: what is left is that of all others.

    Example: classwise subtract both.cws day-1.cws -o rest.cws
    """
    refuse_output(output, force)
    rest = load_statistics(whole)
    for part in parts:
        rest = rest - load_statistics(part)
    keep(rest, output, source=whole)
