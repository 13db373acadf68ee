"""classwise merge: the statistics of all rows, from those of parts."""

from typing import Annotated

import typer

from classwise.cli import options as o
from classwise.cli.modeling import load_statistics
from classwise.cli.saying import say


def merge(
    parts: Annotated[
        list[str], typer.Argument(help="Statistics (.cws), or models that keep theirs.", metavar="PART...")
    ],
    output: Annotated[str, typer.Option("--output", "-o", help="Where to keep the sum (.cws).")],
    force: o.Force = False,
) -> None:
    """Add statistics of parts: the sum is that of all rows, whatever the order.

    Example: classwise merge day-1.cws day-2.cws -o both.cws
    """
    import classwise as cw
    from classwise.sources.writing import refuse_existing

    refuse_existing(output, force)
    first, *others = map(load_statistics, parts)
    total = sum(others, first)
    cw.save(total, output, source=parts)
    say(f"{total!r} is in {output}.")
