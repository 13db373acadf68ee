"""classwise info: what a file holds."""

from dataclasses import asdict
from typing import Annotated

import typer

from classwise.cli.saying import print_lines


def info(
    path: Annotated[str, typer.Argument(help="A model (.cw) or statistics (.cws).", metavar="FILE")],
    as_json: Annotated[bool, typer.Option("--json", help="The same as JSON.")] = False,
) -> None:
    """Say what a file of classwise holds and where it comes from, without reading its numbers.

    Example: classwise info model.cw
    """
    import json

    from classwise.storage import describe

    about = describe(path)
    print_lines(json.dumps(asdict(about), indent=2, default=str) if as_json else str(about))
