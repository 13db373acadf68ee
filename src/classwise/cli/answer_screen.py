"""The final screen of `classwise compare` in 80 x 24 characters: answer, importance, advice and the next commands."""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from shlex import quote
from textwrap import wrap
from typing import Any

from classwise.cli.verbs import heading, print_lines, say, stderr_console, width

# A terminal has 24 lines, and the prompt takes the last. The bars of importance show at most MOST_BARS columns, and are
# left out if there is room for fewer than FEWEST_BARS.
LINES = 23
MOST_BARS, FEWEST_BARS = 5, 2

# Flags that the next command does not repeat.
NOT_REPEATED = {"target", "save", "keep", "html", "as_json", "every", "force"}


@dataclass(frozen=True, eq=False)
class Screen:
    """answer: of the comparison; bars: from the most lines and a width to the bars of importance; advice: sentences;
    commands: the next commands, in parts.
    """

    answer: Any
    bars: Callable[[int, int], list[str]]
    advice: Sequence[str]
    commands: Sequence[Sequence[str]]

    def show(self) -> None:
        """Print all parts. The answer must fit on the screen; advice is printed above it if there is no room below."""
        wide = self._width()
        answer = self.answer.styled(wide, shell=True)
        following = [line for command in self.commands for line in continued(command, wide)]
        room = LINES - len(answer) - len(following) - 2
        bars = self._bars(min(room - 2, MOST_BARS), wide)
        room -= len(bars) + 2 if bars else 0
        advice = [line for one in self.advice for line in _item(one, wide)]
        if len(advice) + 2 > room:
            self._advise(advice)
            advice = []
        say()
        self._print(answer)
        if bars:
            heading(self.answer.matters)
            self._lines(bars)
        self._advise(advice)
        if following:
            heading("Next:")
            self._lines(following)

    def _bars(self, most: int, wide: int) -> list[str]:
        return self.bars(most, wide) if self.answer.lines and most >= FEWEST_BARS else []

    def _advise(self, lines: Sequence[str]) -> None:
        if lines:
            heading("What the data say:")
            self._lines(lines)

    def _lines(self, lines: Sequence[str]) -> None:
        for line in lines:
            say(line)

    def _width(self) -> int:
        """The width of the terminal, or of the environment's COLUMNS; at most 80."""
        from classwise.comparison.answer import WIDTH

        return min(stderr_console().width if sys.stdout.isatty() else width() or WIDTH, WIDTH)

    def _print(self, answer: Sequence[tuple[str, str]]) -> None:
        """Print the answer on standard output, in color on a terminal."""
        if not sys.stdout.isatty():
            print_lines(*(line for line, _ in answer))
            return
        from rich.console import Console
        from rich.text import Text

        console = Console(highlight=False)
        for line, style in answer:
            console.print(Text(line, style=style), no_wrap=True, overflow="ignore", crop=False)


def next_commands(
    context: Any, data: str, target: str, save: str | None, html: str | None, leaks: Sequence[str] = ()
) -> list[list[str]]:
    """At most two commands to copy, in parts, with the given flags; context: typer's context of the command; leaks:
    flags that leave out columns that give the label away, or tell rows apart. They come before anything is saved.
    """
    flags = given_flags(context)
    if leaks and not save:
        return [["classwise compare", quote(data), f"--target {quote(target)}", *flags, *leaks]]
    if not save:
        wanted = ["--save model.cw", *([] if html else ["--html report.html"])]
        return [["classwise compare", quote(data), f"--target {quote(target)}", *flags, *wanted]]
    costs = [flag for flag in flags if flag.startswith("--costs ")]
    return [
        ["classwise evaluate", quote(save), "test.csv", f"--target {quote(target)}"],
        ["classwise predict", quote(save), "new.csv", "--proba", *costs],
    ]


def given_flags(context: Any) -> list[str]:
    """The flags that were given on the command line, as text with their values."""
    flags: list[str] = []
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name)
        is_flag = parameter.param_type_name == "option" and parameter.name not in NOT_REPEATED
        if is_flag and getattr(source, "name", "") == "COMMANDLINE":
            flags += _flag(parameter, context.params[parameter.name])
    return flags


def _flag(option: Any, value: Any) -> Iterator[str]:
    if isinstance(value, bool):
        yield option.opts[0] if value else option.secondary_opts[0]
        return
    for one in value if isinstance(value, (list, tuple)) else [value]:
        yield f"{option.opts[0]} {quote(f'{one:g}' if isinstance(one, float) else str(one))}"


def continued(parts: Sequence[str], wide: int) -> list[str]:
    """A command wrapped to this width, with backslashes that continue it; a flag stays on a line with its value.

    >>> continued(["classwise compare", "rows.csv", "--target y"], 32)
    ['  classwise compare rows.csv \\\\', '    --target y']
    """
    lines = [f"  {parts[0]}"]
    for part in parts[1:]:
        if len(lines[-1]) + len(part) + 3 > wide:
            lines.append(f"    {part}")
        else:
            lines[-1] += f" {part}"
    return [*(f"{line} \\" for line in lines[:-1]), lines[-1]]


def _item(sentence: str, wide: int) -> list[str]:
    return wrap(sentence, wide, initial_indent="- ", subsequent_indent="  ")
