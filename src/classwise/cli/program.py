"""The program `classwise`: all commands, in the order of its help."""

from typing import Annotated

import typer

from classwise import __version__
from classwise.cli import export
from classwise.cli.compare import compare, examine
from classwise.cli.datasets import datasets
from classwise.cli.evaluate import evaluate, importance
from classwise.cli.explain import explain, plot
from classwise.cli.learn import fit, info, merge, subtract, summarize
from classwise.cli.predict import predict, sample
from classwise.cli.select import select
from classwise.cli.studio import studio
from classwise.cli.verbs import DEBUG, Verbs, add, flowing

ABOUT = """Classify by modeling each class: which classifier to trust, and the model in a file.

Rows come from CSV, TSV, JSON, Parquet or Arrow files, compressed or not; "-" is standard input or output. Tables go to
standard output, all else to standard error."""

app = typer.Typer(
    cls=Verbs,
    name="classwise",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example: classwise datasets penguins -o penguins.csv; classwise compare penguins.csv --target species",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"classwise {__version__}")
        raise typer.Exit


@app.callback(help=flowing(ABOUT))
def classwise(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Print the traceback of an error; may also follow the command.")
    ] = False,
) -> None:
    """All commands."""
    context.meta[DEBUG] = debug


add(app, examine, "Choose")
add(app, compare, "Choose")
add(app, select, "Choose")
add(app, studio, "Choose")
add(app, fit, "Choose")
add(app, evaluate, "Use")
add(app, importance, "Use")
add(app, predict, "Use")
add(app, explain, "Use")
add(app, sample, "Use")
add(app, plot, "Use")
add(app, info, "Use")
add(app, summarize, "Statistics that add up")
add(app, merge, "Statistics that add up")
add(app, subtract, "Statistics that add up")
app.add_typer(export.app, name="export", rich_help_panel="Elsewhere")
add(app, export.serve, "Elsewhere")
add(app, datasets, "Tables to try it on")
