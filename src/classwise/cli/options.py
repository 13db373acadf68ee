"""Arguments and options that several verbs take."""

from typing import Annotated, Literal, TypeAlias

import typer

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
