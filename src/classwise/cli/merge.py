"""classwise merge: the statistics of all rows, from those of parts."""

from typing import Annotated

import typer

from classwise.cli import options as o
from classwise.cli.modeling import keep, load_statistics, refuse_output


def merge(
    parts: Annotated[
        list[str], typer.Argument(help="Statistics (.cws), or models that keep theirs.", metavar="PART...")
    ],
    output: Annotated[str, typer.Option("--output", "-o", help="Where to keep the sum (.cws); - is standard output.")],
    force: o.Force = False,
) -> None:
    """Add statistics of parts: the sum is that of all rows, whatever the order.

    Example: classwise merge day-1.cws day-2.cws -o both.cws
    """
    refuse_output(output, force)
    first, *others = map(load_statistics, parts)
    total = sum(others, first)
    keep(total, output, source=parts)
