"""classwise serve: models that answer over HTTP."""

from typing import Annotated, Literal

import typer

from classwise.cli.saying import say

LIMITS = "Limits"


def serve(
    models: Annotated[
        list[str], typer.Argument(help="Models, the first of which answers by default.", metavar="[NAME=]MODEL...")
    ],
    host: Annotated[str, typer.Option(help="The address to listen on; 0.0.0.0 lets other machines ask.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen on.", min=1, max=65535)] = 8000,
    reload_seconds: Annotated[float, typer.Option(help="How often to look for new files; 0 for never.", min=0)] = 1.0,
    rows: Annotated[
        int, typer.Option("--max-rows", help="The most rows in a request.", min=1, rich_help_panel=LIMITS)
    ] = 1_000_000,
    body_bytes: Annotated[
        int, typer.Option("--max-bytes", help="The most bytes in a request.", min=1, rich_help_panel=LIMITS)
    ] = 32 * 2**20,
    log_level: Annotated[Literal["debug", "info", "warning", "error"], typer.Option(help="What to tell.")] = "info",
) -> None:
    """Answer over HTTP, until interrupted. A file that is replaced is read again.

    Example: classwise serve model.cw --port 8000
    """
    from classwise.serve import Limits
    from classwise.serve.running import run

    say(f"Answering at http://{host}:{port} until interrupted.")
    limits = Limits(rows=rows, body_bytes=body_bytes)
    run(models, host, port, limits=limits, reload_seconds=reload_seconds, log_level=log_level)
