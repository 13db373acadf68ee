"""classwise studio: a local page to see the classes, move the dials and watch the boundary."""

import os
import sys
from typing import Annotated, Any

import typer

from classwise.cli import options as o
from classwise.cli.verbs import say
from classwise.errors import ClasswiseError

PAGE = "The page"


def studio(
    data: Annotated[
        str | None, typer.Argument(help="A file of rows; without it, an example is opened.", metavar="[DATA]")
    ] = None,
    target: Annotated[
        str | None, o.rows_option("--target", "-t", help="The column that holds the labels; else the page asks.")
    ] = None,
    drop: o.Drop = None,
    families: o.Families = None,
    missing: o.Missing = None,
    example: Annotated[
        str | None, o.rows_option("--example", help="A table that comes with classwise; by default penguins.")
    ] = None,
    view: Annotated[
        str, typer.Option(help="A view that was kept: what follows # in the address.", rich_help_panel=PAGE)
    ] = "",
    port: Annotated[
        int, typer.Option(help="The port to listen on; 0 for one that is free.", min=0, max=65535, rich_help_panel=PAGE)
    ] = 0,
    host: Annotated[
        str,
        typer.Option(
            help="The address to listen on; another than this machine's lets others in.", rich_help_panel=PAGE
        ),
    ] = "127.0.0.1",
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.", rich_help_panel=PAGE)
    ] = True,
    upload_bytes: Annotated[
        int, typer.Option("--max-upload", help="The most bytes of an uploaded file.", min=1, rich_help_panel=PAGE)
    ] = 256 * 2**20,
) -> None:
    """Open a local page: the best model in a sentence, the classes in a picture, and a dial for every option.

    Dials redraw the picture at once, because every model follows from statistics that are gathered once. The page also
    compares all models, explains points, teaches the theory in eight lessons, and has a pad to draw your own classes.
    Only this machine can open it, and only with the token in its address. Ctrl-C stops it.

    Example: classwise studio penguins.csv --target species
    """
    from pathlib import Path

    from classwise.studio import run
    from classwise.studio.options import Opening
    from classwise.studio.state import Open

    if data is not None and example is not None:
        raise ClasswiseError(f"Give a file or an example, not both: {data} and --example {example}.")
    sources: dict[str, Any] = {}
    if data is None:
        first = Open(example=example or "penguins")
    else:
        if not any(mark in data for mark in "*?:#") and not Path(data).exists():
            raise ClasswiseError(f"{data}: there is no such file.")
        sources[data] = data
        given: dict[str, Any] = {
            "drop": list(o.names(drop)),
            "families": o.pairs(families, "--families"),
            "missing": missing,
        }
        first = Open(name=data, opening=Opening(target or "", **given))
    run(sources, first, host=host, port=port, view=view, browser=browser, say=say, upload_bytes=upload_bytes)
    # Work in threads cannot be stopped from outside, and Python aborts where a library of C++ is still in one.
    sys.stderr.flush()
    os._exit(0)
