"""classwise datasets: tables to try the other verbs on."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, NamedTuple

import typer

from classwise.cli import options as o
from classwise.cli.verbs import print_lines, say
from classwise.errors import ClasswiseError
from classwise.rows.formats import Format
from classwise.rows.sinks import STANDARD, write_rows


class ExampleTable(NamedTuple):
    """A table that comes with classwise. drawn: the function that draws its rows, if they are random."""

    about: str
    target: str = "label"
    drawn: Callable[..., Any] | None = None


def datasets(
    name: Annotated[
        str | None, typer.Argument(help="The table to write; without it, all tables are listed.", metavar="NAME")
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(
            "--rows", "-n", help="The number of rows, for a table that is drawn at random; by default 400.", min=1
        ),
    ] = None,
    seed: o.Seed = 0,
    output: o.Output = "-",
    format: o.OutputFormat = None,
    force: o.Force = False,
) -> None:
    """Write a table to try classwise on, or list all tables.

    The penguins were measured near Palmer Station, Antarctica (Horst, Hill and Gorman 2020, CC0). The petals are a
    worked example. All others are drawn at random from known distributions.

    Example: classwise datasets penguins -o penguins.csv
    """
    known = _examples()
    if name is None:
        from classwise.tabular import aligned

        cells = [("name", "target", "what it is"), *((name, each.target, each.about) for name, each in known.items())]
        print_lines(*aligned(cells, "<<<"))
        return
    if name not in known:
        raise ClasswiseError(f"There is no table {name!r}; there are {', '.join(known)}.")
    table = _table(name, known[name], rows, seed)
    write_rows(table, output, format=None if format is None else Format(format), force=force)
    if output != STANDARD:
        say(f"{table.num_rows} rows are in {output}; their classes are in the column {known[name].target}.")


def _examples() -> dict[str, ExampleTable]:
    """All tables by name."""
    from classwise import datasets as made

    between = "two Gaussian classes; the boundary between them:"
    return {
        "penguins": ExampleTable("344 penguins of three species: numbers, text and missing values", "species"),
        "petals": ExampleTable("8 petal lengths of two kinds, small enough to work by hand"),
        "banana": ExampleTable("two classes like half moons, which no Gaussian fits", drawn=made.banana),
        "simplex": ExampleTable("ten classes, each as far from every other", drawn=made.simplex),
    } | {
        kind.replace(" ", "-"): ExampleTable(f"{between} {kind}", drawn=partial(made.gaussians, covariances=kind))
        for kind in made.BOUNDARIES
    }


def _table(name: str, example: ExampleTable, rows: int | None, seed: int) -> Any:
    """The table, as one of pyarrow's."""
    import pyarrow as pa

    from classwise import datasets as made

    if example.drawn is None and rows is not None:
        raise ClasswiseError(f"--rows is for tables that are drawn at random, and {name} is not; leave it out.")
    if name == "penguins":
        return made.load_penguins("pyarrow")
    X, y = made.petals() if example.drawn is None else example.drawn(rows or 400, random_state=seed)
    return pa.table({f"x{j}": column for j, column in enumerate(X.T)} | {example.target: y})
