"""classwise summarize: rows to statistics that add up."""

from typing import Annotated, Any

import typer

from classwise.cli import options as o
from classwise.cli.rows import Roles, learn_rows, names, pairs
from classwise.cli.saying import say


def summarize(
    data: o.Data,
    target: o.Target,
    output: Annotated[str, typer.Option("--output", "-o", help="Where to keep the statistics (.cws).")],
    columns: o.Columns = None,
    drop: o.Drop = None,
    weights: o.Weights = None,
    families: o.Families = None,
    missing: o.Missing = None,
    force: o.Force = False,
) -> None:
    """Gather the statistics that every model is made from, in one pass over the rows.

    Statistics of different files, days or machines add up: see merge.

    Example: classwise summarize penguins.csv --target species -o day-1.cws
    """
    import classwise as cw
    from classwise.sources.writing import refuse_existing

    refuse_existing(output, force)
    rows = learn_rows(data, Roles(target, names(columns), names(drop) or (), weights), missing)
    chosen: Any = pairs(families, "--families") or "auto"
    statistics = cw.summarize(rows.X, rows.y, rows.weights, families=chosen)
    cw.save(statistics, output, source=rows.name)
    say(f"{statistics!r} is in {output}.")
