"""Arguments and options that several verbs share, and how their text is read."""

import json
import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeAlias

import typer

from classwise.errors import ClasswiseError

ROWS, OUTPUT = "Rows", "Output"

Data: TypeAlias = Annotated[str, typer.Argument(help="A file of rows, or - for standard input.", metavar="DATA")]
ModelFile: TypeAlias = Annotated[str, typer.Argument(help="A model that fit or compare has saved.", metavar="MODEL")]

Target: TypeAlias = Annotated[
    str, typer.Option("--target", "-t", help="The column that holds the labels.", rich_help_panel=ROWS)
]
Columns: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--columns", "-c", help="Columns to learn from, by commas; all unless given.", rich_help_panel=ROWS),
]
Drop: TypeAlias = Annotated[
    list[str] | None, typer.Option("--drop", "-d", help="Columns to leave out, by commas.", rich_help_panel=ROWS)
]
Weights: TypeAlias = Annotated[
    str | None, typer.Option("--weights", "-w", help="The column that holds weights.", rich_help_panel=ROWS)
]
Families: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--families",
        help="What columns are, where their values do not tell: visits=poisson, zip=categorical.",
        metavar="COLUMN=FAMILY",
        rich_help_panel=ROWS,
    ),
]
Missing: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--missing",
        help="What stands for a missing value, besides nothing, instead of what the model has learned, or of NA, N/A, "
        "NaN, null, None, ? and .",
        metavar="TEXT",
        rich_help_panel=ROWS,
    ),
]
Output: TypeAlias = Annotated[
    str,
    typer.Option(
        "--output", "-o", help="Where to write; its end tells the format. - is standard output.", rich_help_panel=OUTPUT
    ),
]
Force: TypeAlias = Annotated[
    bool, typer.Option("--force", "-f", help="Replace files that exist.", rich_help_panel=OUTPUT)
]
OutputFormat: TypeAlias = Annotated[
    Literal["csv", "tsv", "json", "jsonl", "parquet", "arrow"] | None,
    typer.Option(
        "--format",
        help="The format, where the name does not tell.",
        rich_help_panel=OUTPUT,
    ),
]
Streaming: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--stream/--no-stream",
        help="Read rows as they come, with flat memory, or all at once; unless told, by how many there are.",
        rich_help_panel=ROWS,
    ),
]
Seed: TypeAlias = Annotated[int, typer.Option("--seed", help="Which random numbers to use.")]


def names(values: Sequence[str] | None) -> tuple[str, ...]:
    """Names separated by commas, or from an option given several times.

    >>> names(["a,b", "c"]), names(None)
    (('a', 'b', 'c'), ())
    """
    return tuple(name.strip() for value in values or () for name in value.split(",") if name)


def pairs(values: Sequence[str] | None, option: str) -> dict[str, str]:
    """NAME=VALUE pairs, separated by commas.

    >>> pairs(["a=x,b=binomial(3)"], "--families")
    {'a': 'x', 'b': 'binomial(3)'}
    """
    given = [pair for value in values or () for pair in re.split(r",(?=[^,]*=)", value)]
    for pair in given:
        if "=" not in pair:
            raise ClasswiseError(f"{option} takes NAME=VALUE, not {pair!r}.")
    return {name.strip(): value.strip() for name, value in (pair.rsplit("=", 1) for pair in given)}


def families_of(values: Sequence[str] | None) -> Any:
    """The value of --families, as models take it."""
    return pairs(values, "--families") or "auto"


def read_value(text: str) -> Any:
    """A number, true, false, null or a piece of JSON; else the text itself.

    >>> read_value("0.5"), read_value("oas"), read_value("true")
    (0.5, 'oas', True)
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text
