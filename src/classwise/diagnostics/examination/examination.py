"""An examination: what each column was taken for, what is wrong with the table, and the remedies, in the shell and in
Python; as text, HTML and JSON.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from shlex import quote
from textwrap import wrap
from typing import Any, TypeAlias

from classwise import limits
from classwise.diagnostics.advice import counted, listed, percent
from classwise.rows.texts import NUMBER_WRITTEN
from classwise.tabular import Cells, aligned, html_table

Key: TypeAlias = str | int

# A number as programs write it.
NUMBER = re.compile(NUMBER_WRITTEN)

PROBLEM, NOTE = "problem", "note"


@dataclass(frozen=True)
class Remedy:
    """flag: what to add in the shell; argument: what to write in Python; either is empty without a remedy there.
    when: what comes before both in a sentence, such as "If not".
    """

    flag: str = ""
    argument: str = ""
    when: str = ""


NOTHING = Remedy()


@dataclass(frozen=True)
class Remark:
    """kind: one or two words, such as "id"; severity: "problem" (you should act) or "note" (done for you, or good to
    know); columns: those it is about; message: a sentence; flag, argument, when: as for a Remedy.
    """

    kind: str
    severity: str
    columns: tuple[Key, ...]
    message: str
    flag: str = ""
    argument: str = ""
    when: str = ""

    @classmethod
    def of(cls, kind: str, severity: str, columns: Sequence[Key], message: str, remedy: Remedy = NOTHING) -> "Remark":
        return cls(kind, severity, tuple(columns), message, **asdict(remedy))

    def remedy(self, shell: bool) -> str:
        """The remedy, as the end of a sentence; empty without one."""
        change = self.flag if shell else self.argument
        return f"{self.when}: {change}" if change else ""

    def record(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return asdict(self) | {"columns": list(self.columns)}


# How columns are left out, by the library that holds the table; None is an array.
DROPS = {
    "pandas": "X.drop(columns={names})",
    "polars": "X.drop({names})",
    "pyarrow": "X.drop_columns({names})",
    None: "np.delete(X, {names}, axis=1)",
}


@dataclass(frozen=True)
class Remedies:
    """What can be done about columns, in the words of the place that the table came from.

    backend: the library that holds it, None for an array. path: the file that it came from, if it did; kept: all
    columns, where rows are not in memory. marks: what to name where some texts are to stand for missing values there.
    """

    backend: str | None
    path: str | None = None
    kept: tuple[str, ...] = ()
    marks: Callable[[Sequence[str]], Sequence[str]] = tuple

    def drop(self, keys: Sequence[Key], when: str = "To leave it out") -> Remedy:
        """Leave columns out."""
        if not self.kept:
            argument = DROPS.get(self.backend, DROPS["pandas"]).format(names=list(keys))
        else:
            argument = f"columns={[name for name in self.kept if name not in keys]}"
        return Remedy(_flag("--drop", keys), argument, when if len(keys) == 1 else when.replace(" it ", " them "))

    def missing(self, texts: Mapping[Key, Sequence[Any]], numbers: bool = False) -> Remedy:
        """Take values of columns for missing ones; numbers: whether the columns are numbers, rather than text."""
        marks = list(self.marks([str(text) for column in texts.values() for text in column]))
        flag = " ".join(f"--missing {quote(mark)}" for mark in marks)
        if self.path is not None:
            argument = f"classwise.rows.files.read_rows({self.path!r}, missing={marks})"
        elif numbers:
            unknown = ", ".join(
                f"{key!r}: {{{', '.join(f'{_value(v)}: np.nan' for v in column)}}}" for key, column in texts.items()
            )
            argument = f"X.replace({{{unknown}}})" if self.backend == "pandas" else ""
        else:
            names = list(texts)
            argument = f"X[{names}] = X[{names}].apply(pd.to_numeric, errors='coerce')"
            argument = argument if self.backend == "pandas" else ""
        return Remedy(flag, argument, "To take it for missing" if len(marks) == 1 else "To take them for missing")

    def family(self, keys: Sequence[Key], family: str) -> Remedy:
        """Take columns for what they are."""
        flag = _flag("--families", [f"{key}={family}" for key in keys])
        named = ", ".join(f"{key!r}: {family!r}" for key in keys)
        return Remedy(flag, f"families={{{named}}}", f"To take {'it' if len(keys) == 1 else 'them'} so")


def _value(text: str) -> str:
    """A number as Python writes it, or text that a number is written with.

    >>> _value("-999"), _value("inf"), _value("-999,0")
    ('-999', 'np.inf', "'-999,0'")
    """
    return text.replace("inf", "np.inf") if NUMBER.fullmatch(text) else repr(text)


def _flag(option: str, texts: Sequence[Key]) -> str:
    """An option with names separated by commas; empty where a name cannot be given so, for it has a comma itself.

    >>> _flag("--drop", ["a", "b c"]), _flag("--drop", ["a,b"]), _flag("--drop", [0])
    ("--drop 'a,b c'", '', '')
    """
    fits = all(isinstance(text, str) and text == text.strip() and text and "," not in text for text in texts)
    return f"{option} {quote(','.join(map(str, texts)))}" if fits else ""


# All of it ------------------------------------------------------------------------------------------------------------


WIDTH = 80
SIDES = "<<><"
TITLES = {"problem": "Problems", "note": "Notes"}
CLEAN = "Nothing was found to be wrong with it."


@dataclass(frozen=True)
class ColumnLine:
    """One column: what it was taken for, and why; missing: the share of rows without a value."""

    name: Key
    type: str
    taken_for: str
    missing: float
    why: str


@dataclass(frozen=True, eq=False, repr=False)
class Examination:
    """What a table holds, and what is wrong with it; prints as a report.

    target: what the labels are called; rows: how many have one, of which examined were looked at; labels, class_rows:
    the classes, and the rows of each. columns: a line for each, in order. findings: the most important first, problems
    before notes; each has `kind`, `severity` ("problem" or "note"), `columns`, `message`, `flag` (what to add in the
    shell) and `argument` (what to write in Python).
    """

    target: str
    rows: int
    examined: int
    labels: tuple[Any, ...]
    class_rows: tuple[int, ...]
    columns: tuple[ColumnLine, ...]
    findings: tuple[Remark, ...]

    @property
    def problems(self) -> tuple[Remark, ...]:
        """The findings to act on."""
        return tuple(remark for remark in self.findings if remark.severity == PROBLEM)

    @property
    def flags(self) -> str:
        """The flags that fix all problems, in the shell."""
        return " ".join(remark.flag for remark in self.problems if remark.flag)

    def heading(self) -> list[str]:
        """How many rows, columns and classes there are."""
        rows = zip(self.labels, self.class_rows, strict=True)
        shown = listed((f"{label} ({count})" for label, count in rows), 5)
        classes = f"{len(self.labels)} classes" if len(self.labels) != 1 else "1 class"
        size = f"{counted(self.rows, 'row')}, {counted(len(self.columns), 'column')}"
        lines = [f"{size}; {self.target} has {classes}: {shown}."]
        if self.examined < self.rows:
            lines.append(f"Looked at: {self.examined} of these rows, drawn by chance.")
        return lines

    def remarks(self, shell: bool = False, width: int = WIDTH) -> list[str]:
        """The findings as lines of text, with flags for the shell, or arguments for Python."""
        lines = []
        for severity, title in TITLES.items():
            found = [remark for remark in self.findings if remark.severity == severity]
            lines += ["", title] if found else []
            for remark in found:
                lines += wrap(remark.message, width, initial_indent="- ", subsequent_indent="  ")
                remedy = remark.remedy(shell)
                lines += [f"  {remedy}"] if remedy else []
        return lines[1:] or [CLEAN]

    def text(self, shell: bool = False, width: int = WIDTH, most: int | None = None) -> str:
        """All of it as text. most: of more columns the first are shown; by default limits.EXAMINED_LINES."""
        heading = [line for text in self.heading() for line in wrap(text, width)]
        cells, more = self._cells(limits.EXAMINED_LINES if most is None else most)
        table = [line if len(line) <= width else f"{line[: width - 3]}..." for line in aligned(cells, SIDES)]
        return "\n".join([*heading, "", *self.remarks(shell, width), "", *table, *more])

    def _cells(self, most: int) -> tuple[Cells, list[str]]:
        more = len(self.columns) - most
        rows = [(str(c.name), c.taken_for, percent(c.missing) if c.missing else "", c.why) for c in self.columns[:most]]
        cells = [("column", "taken for", "missing", "why"), *rows]
        return cells, [f"... and {counted(more, 'more column')}"] if more > 0 else []

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        cells, more = self._cells(limits.EXAMINED_LINES)
        heading = "".join(f"<p>{escape(line)}</p>" for line in self.heading())
        return heading + self.findings_html() + html_table(cells, SIDES) + "".join(f"<p>{line}</p>" for line in more)

    def findings_html(self, shell: bool = False) -> str:
        """The findings alone, as HTML."""
        parts = []
        for severity, title in TITLES.items():
            found = [_item(remark, shell) for remark in self.findings if remark.severity == severity]
            parts += [f"<h4>{title}</h4><ul>{''.join(found)}</ul>"] if found else []
        return "".join(parts) or f"<p>{CLEAN}</p>"

    def records(self) -> dict[str, Any]:
        """All of it as plain values, for JSON."""
        plain = [label.item() if hasattr(label, "item") else label for label in self.labels]
        return {
            "target": self.target,
            "rows": self.rows,
            "examined": self.examined,
            "classes": [{"label": label, "rows": rows} for label, rows in zip(plain, self.class_rows, strict=True)],
            "columns": [asdict(column) for column in self.columns],
            "findings": [remark.record() for remark in self.findings],
        }


def _item(remark: Remark, shell: bool) -> str:
    change = remark.flag if shell else remark.argument
    remedy = f" {escape(remark.when)}: <code>{escape(change)}</code>" if change else ""
    return f"<li>{escape(remark.message)}{remedy}</li>"
