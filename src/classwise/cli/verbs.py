"""What all commands (verbs) share: an example at the end of the help, one-line errors, notes instead of warnings.

Messages go to standard error, in color on a terminal; results go to standard output.
"""

import os
import shlex
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from classwise.cli.wording import WORDING, Wording, in_shell
from classwise.errors import ClasswiseError, MissingExtraError
from classwise.rows.sinks import STANDARD, spooled

# The exit code of a program that was ended by a signal: 128 plus the number of the signal.
INTERRUPTED, BROKEN_PIPE = 128 + 2, 128 + 13

EXAMPLE = "Example:"

# The key under which a context stores --debug.
DEBUG = "classwise.debug"

# The running command, as it was typed.
LINE = ContextVar("LINE", default="classwise")


# What the help calls the value of an option: by the option, or by its type.
VALUES = dict.fromkeys(("columns", "drop", "key", "features"), "COLUMNS") | {"target": "COLUMN", "weights": "COLUMN"}
VALUES |= dict.fromkeys(("output", "costs", "checkpoint"), "FILE") | dict.fromkeys(("label", "against"), "CLASS")
VALUES |= {"table": "TABLE", "priors": "PRIORS", "kind": "KIND", "format": "FORMAT", "by": "MEASURE"}
TYPES = {"bool": "", "str": "TEXT", "list[str]": "TEXT", "int": "NUMBER", "float": "NUMBER"}


def named_values(params: list[Any], context: Any) -> list[Any]:
    """The same parameters, whose help says COLUMN or NUMBER instead of the type that Python has for it."""
    for param in params:
        if param.param_type_name == "argument":
            param.display_type_rich = lambda ctx: None  # its name is enough
        elif param.metavar is None:
            type = param.display_type(context).strip("<>").removesuffix(" range")
            param.metavar = VALUES.get(param.name, TYPES.get(type, type))
    return params


class Verb(TyperCommand):
    """A command that accepts --debug anywhere among its options."""

    def get_params(self, ctx: Any) -> list[Any]:
        return named_values(super().get_params(ctx), ctx)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        LINE.set(shlex.join(["classwise", ctx.info_name, *args]))
        if "--debug" in args:
            ctx.find_root().meta[DEBUG] = True
        try:
            return super().parse_args(ctx, [arg for arg in args if arg != "--debug"])
        except typer.BadParameter as problem:
            if getattr(problem.param, "name", None) == "target" and not problem.message:
                say_which_targets(ctx.params.get("data"))
            raise

    def invoke(self, ctx: Any) -> Any:
        before = WORDING.set(Wording.of(self.params))
        try:
            with answering(ctx.find_root().meta.get(DEBUG, False)):
                self._refuse_two_readers(ctx)
                return super().invoke(ctx)
        finally:
            WORDING.reset(before)

    def _refuse_two_readers(self, ctx: Any) -> None:
        """Raise an error if several arguments name standard input, which can be read only once."""
        read = [p for p in self.params if p.param_type_name == "argument" or p.name == "costs"]
        names = {p.name: p.opts[0] if p.param_type_name == "option" else p.metavar or p.name for p in read}
        given = [names[p.name] for p in read for value in _as_list(ctx.params[p.name]) if value == "-"]
        if len(given) > 1:
            raise ClasswiseError(
                f"Standard input (-) can be read only once, and here it is {' and '.join(given)}; name a file."
            )


def say_which_targets(data: Any) -> None:
    """--target is missing: say which columns there are to choose from, if the file can be read."""
    from classwise.rows.files import RowFile

    with suppress(Exception):  # what is wrong with the file is said once its target is known
        names = RowFile(str(data)).names()
        say(f"Which column of {data} has the labels? --target takes one of {', '.join(map(repr, names))}.", style="red")


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


class Verbs(TyperGroup):
    """A group of commands, listed in the order in which they were added."""

    def get_params(self, ctx: Any) -> list[Any]:
        return named_values(super().get_params(ctx), ctx)

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands)


def add(app: typer.Typer, function: Callable[..., None], panel: str | None = None) -> None:
    """Add a command; the last line of its docstring is the example at the end of its help."""
    text, _, example = (function.__doc__ or "").rpartition(EXAMPLE)
    epilog = f"{EXAMPLE} {' '.join(example.split())}"
    name = function.__name__.rstrip("_")
    app.command(name, cls=Verb, help=flowing(text), epilog=epilog, rich_help_panel=panel)(function)


def flowing(text: str) -> str:
    """Join the lines of each paragraph, so that the terminal breaks them at its own width.

    >>> flowing("One\\n    line.\\n\\n    Another.")
    'One line.\\n\\nAnother.'
    """
    return "\n\n".join(" ".join(part.split()) for part in text.strip().split("\n\n"))


@contextmanager
def answering(debug: bool = False) -> Iterator[None]:
    """Turn errors into an exit code and a line that says why, and warnings into notes."""
    try:
        with noting():
            yield
    except (typer.Exit, typer.Abort, typer.BadParameter):
        raise
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        _leave_pipes()
        raise typer.Exit(BROKEN_PIPE) from None
    except Exception as problem:
        if debug:
            traceback.print_exc()
        with suppress(BrokenPipeError):  # nobody reads the message
            say(f"classwise: {_reason(problem, debug)}", style="red")
        raise typer.Exit(1) from None


def _leave_pipes() -> None:
    """Redirect broken pipes to null: Python would raise another error when it closes them."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _reason(problem: Exception, debug: bool) -> str:
    """An error in one line. Bad data raises ValueError or OSError; any other error is a bug in classwise."""
    if isinstance(problem, FileNotFoundError) and problem.filename:
        return f"There is no file {str(problem.filename)!r}."
    if isinstance(problem, OSError) and problem.strerror:
        where = f"{problem.filename}: " if problem.filename else ""
        return f"{where}{problem.strerror}"
    line = " ".join(str(problem).split())
    if isinstance(problem, (ClasswiseError, MissingExtraError, ValueError)):
        return in_shell(line)
    hint = "" if debug else "; --debug shows where"
    return f"unexpected {type(problem).__name__}: {line}{hint}"


@contextmanager
def noting() -> Iterator[None]:
    """Print warnings for users as notes of one line, each once; hide those for programmers."""
    said: set[str] = set()

    def show(message: Any, category: type[Warning], *_: Any) -> None:
        text = " ".join(str(message).split())
        if text not in said:
            said.add(text)
            note(text)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show  # type: ignore[assignment]
        yield


# Messages ------------------------------------------------------------------------------------------------------------


def say(text: str = "", style: str = "") -> None:
    """Print a line on standard error, without markup; it is wrapped only on a terminal."""
    from rich.text import Text

    console = stderr_console()
    console.print(Text(text, style=style), soft_wrap=not console.is_terminal)


def note(text: str) -> None:
    """Print a note."""
    say(f"note: {in_shell(text)}", style="yellow")


def heading(text: str) -> None:
    say()
    say(text, style="bold")


def show_table(table: Any) -> None:
    """Print a Tabular; long cells are wrapped."""
    from classwise.tabular import rich_table

    stderr_console().print(rich_table(table.cells(), table.sides, overflow="fold"))


def stderr_console() -> Any:
    """A rich console for the current standard error, which tests and shells may replace."""
    from rich.console import Console

    class Plain(Console):
        """Raises BrokenPipeError when a pipe is closed, where rich would exit with its own code."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Plain(file=sys.stderr, highlight=False, emoji=False, width=None if sys.stderr.isatty() else width() or WIDE)


# The width of lines where standard error is not a terminal.
WIDE = 160


def width() -> int | None:
    """The width that the environment variable COLUMNS sets, if any."""
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdigit() else None


def print_lines(*lines: str) -> None:
    """Print lines on standard output, as they are."""
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


# Standard input instead of a file: "-" is a table, a model or statistics, whichever the command reads there -----------


@contextmanager
def kept(path: str) -> Iterator[str]:
    """A path that can be read more than once: standard input is copied to a temporary file first."""
    if path != STANDARD:
        yield path
        return
    if sys.stdin.isatty():
        note("reading from the keyboard; end with Ctrl-D.")
    with spooled() as copy:
        try:
            yield str(copy)
        except ClasswiseError as problem:  # its message names the copy
            raise ClasswiseError(str(problem).replace(str(copy), called(path))) from problem


def called(path: str) -> str:
    """The name of a path in messages."""
    return "standard input" if path == STANDARD else path
