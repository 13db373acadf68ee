"""Arguments and options that several commands share, and the functions that parse them."""

import json
import re
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, Literal, TypeAlias

import typer

from classwise.errors import ClasswiseError

ROWS, OUTPUT = "Rows", "Output"

# Options under the help headings "Rows" and "Output".
rows_option, output_option = (partial(typer.Option, rich_help_panel=panel) for panel in (ROWS, OUTPUT))

Data: TypeAlias = Annotated[str, typer.Argument(help="A file of rows, or - for standard input.", metavar="DATA")]
ModelFile: TypeAlias = Annotated[
    str, typer.Argument(help="A model that fit or compare has saved; - for standard input.", metavar="MODEL")
]
Texts: TypeAlias = list[str] | None

TARGET = rows_option("--target", "-t", help="The column that holds the labels.")
Target: TypeAlias = Annotated[str, TARGET]
Columns: TypeAlias = Annotated[
    Texts, rows_option("--columns", "-c", help="Columns to learn from, separated by commas; by default all.")
]
Drop: TypeAlias = Annotated[Texts, rows_option("--drop", "-d", help="Columns to leave out, separated by commas.")]
Weights: TypeAlias = Annotated[
    str | None, rows_option("--weights", "-w", help="The column that holds weights; a row of weight 2 counts twice.")
]
FAMILIES = "How to model a column whose type is misleading, such as visits=poisson or zip=categorical."
Families: TypeAlias = Annotated[Texts, rows_option("--families", help=FAMILIES, metavar="COLUMN=FAMILY")]
MISSING = "Text that marks a missing value, besides an empty cell; by default "
Missing: TypeAlias = Annotated[
    Texts, rows_option("--missing", help=f"{MISSING}NA, N/A, NaN, null, None, ? and .", metavar="TEXT")
]
ModelsMissing: TypeAlias = Annotated[
    Texts, rows_option("--missing", help=f"{MISSING}what the model was fitted with.", metavar="TEXT")
]
STREAM = "Read the rows in chunks, for tables larger than memory, or all at once. By default their number decides."
Streaming: TypeAlias = Annotated[bool | None, rows_option("--stream/--no-stream", help=STREAM)]
Seed: TypeAlias = Annotated[
    int, typer.Option("--seed", help="A seed for random numbers: the same seed gives the same result.")
]

Output: TypeAlias = Annotated[
    str,
    output_option(
        "--output",
        "-o",
        help="A file (.csv, .parquet, ...) or a table (zoo.duckdb#name) to write to; - is standard output.",
    ),
]
OutputFile: TypeAlias = Annotated[
    str, output_option("--output", "-o", help="The file to write; - is standard output.", metavar="FILE")
]
OutputFormat: TypeAlias = Annotated[
    Literal["csv", "tsv", "json", "jsonl", "parquet", "arrow"] | None,
    output_option("--format", help="csv, tsv, json, jsonl, parquet or arrow; by default what the file name suggests."),
]
Force: TypeAlias = Annotated[bool, output_option("--force", "-f", help="Replace files that exist.")]


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
    """The value of a text that is JSON, such as a number, true, false or null; else the text itself.

    >>> read_value("0.5"), read_value("oas"), read_value("true")
    (0.5, 'oas', True)
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text
