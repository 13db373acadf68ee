"""classwise subtract: statistics without some of the rows."""

from typing import Annotated

import typer

from classwise.cli import options as o
from classwise.cli.modeling import load_statistics
from classwise.cli.saying import say


def subtract(
    whole: Annotated[str, typer.Argument(help="Statistics (.cws) of all rows.", metavar="WHOLE")],
    parts: Annotated[list[str], typer.Argument(help="Statistics of the rows to take away.", metavar="PART...")],
    output: Annotated[str, typer.Option("--output", "-o", help="Where to keep the rest (.cws).")],
    force: o.Force = False,
) -> None:
    """Take the statistics of some rows away: what is left is that of all others.

    Example: classwise subtract both.cws day-1.cws -o rest.cws
    """
    import classwise as cw
    from classwise.sources.writing import refuse_existing

    refuse_existing(output, force)
    rest = load_statistics(whole)
    for part in parts:
        rest = rest - load_statistics(part)
    cw.save(rest, output, source=whole)
    say(f"{rest!r} is in {output}.")
