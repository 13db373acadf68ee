"""What is said to people: on standard error, in color on a terminal."""

import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any


def say(text: str = "", style: str = "") -> None:
    """A line, as wide as it is."""
    console = stderr_console()
    console.print(_text(text, style), soft_wrap=not console.is_terminal)


def note(text: str) -> None:
    """Something worth knowing that is no error."""
    say(f"note: {text}", style="yellow")


def heading(text: str) -> None:
    say()
    say(text, style="bold")


def show_table(cells: Sequence[Sequence[str]], words: Iterable[int] = (0,)) -> None:
    """A table as text, header first; words: the columns that are words, not numbers."""
    from rich.table import Table

    table, left = Table(box=None, pad_edge=False, header_style="bold"), set(words)
    for i, cell in enumerate(cells[0]):
        table.add_column(_text(cell), justify="left" if i in left else "right", overflow="fold")
    for row in cells[1:]:
        table.add_row(*map(_text, row))
    stderr_console().print(table)


def stderr_console() -> Any:
    """Made anew each time, for whatever standard error is now."""
    from rich.console import Console

    class Plain(Console):
        """One that leaves a pipe that was closed to us: rich would end the program, with an exit code of its own."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Plain(file=sys.stderr, highlight=False, emoji=False, width=None if sys.stderr.isatty() else width() or WIDE)


# Where nobody looks, lines are not broken before this.
WIDE = 160


def width() -> int | None:
    """What the environment says about the width, where no terminal does."""
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdigit() else None


def _text(text: str, style: str = "") -> Any:
    """As it is: square brackets are no markup."""
    from rich.text import Text

    return Text(text, style=style)


def print_lines(*lines: str) -> None:
    """On standard output, as they are."""
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()
