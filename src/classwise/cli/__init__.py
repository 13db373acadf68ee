"""The command line: each verb reads its options, calls the library and prints the result."""

from importlib.util import find_spec


def main() -> None:
    """Run the command line."""
    if not find_spec("typer"):
        raise SystemExit('classwise: the command line takes typer and more: pip install "classwise[cli]".')
    from classwise.cli.program import app

    app(prog_name="classwise")


__all__ = ["main"]
