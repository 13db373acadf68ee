"""Tables for people: aligned text, colors on a terminal, HTML in notebooks and pages, a data frame for code.

A table is its cells, text in rows with the header first, and its sides: "<" for a column of words, which begin at the
left, and ">" for one of numbers, which end at the right. Columns beyond the sides that are given are numbers.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.util import find_spec
from typing import Any, ClassVar, TypeAlias

from classwise.errors import MissingExtraError

Cells: TypeAlias = Sequence[Sequence[str]]


def aligned(cells: Cells, sides: str = "<") -> list[str]:
    """The lines of a table as plain text.

    >>> print("\\n".join(aligned([("class", "rows"), ("a", "7"), ("b", "12")])))
    class  rows
    a         7
    b        12
    """
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    every = sides.ljust(len(widths), ">")
    lines = ("  ".join(f"{c:{s}{w}}" for c, s, w in zip(row, every, widths, strict=True)) for row in cells)
    return [line.rstrip() for line in lines]


def html_table(cells: Cells, words: str = "", rows: Sequence[str] = ()) -> str:
    """The same as HTML. words: sides, where cells of words are to be of the class "word"; rows: attributes of each row
    below the header, such as "class='best'".

    >>> html_table([("class", "rows"), ("<b>", "7")])
    '<table><thead><tr><th>class</th><th>rows</th></tr></thead><tbody><tr><td>&lt;b&gt;</td><td>7</td></tr></tbody></table>'
    """
    marks = [" class='word'" if side == "<" else "" for side in words.ljust(len(cells[0]), ">")]
    header, *body = (
        "".join(f"<{tag}{mark}>{escape(cell)}</{tag}>" for cell, mark in zip(row, marks, strict=True))
        for tag, row in zip(["th"] + ["td"] * len(cells), cells, strict=False)
    )
    attributes = [f" {row}" if row else "" for row in rows] or [""] * len(body)
    lines = "".join(f"<tr{attribute}>{row}</tr>" for attribute, row in zip(attributes, body, strict=True))
    return f"<table><thead><tr>{header}</tr></thead><tbody>{lines}</tbody></table>"


def rich_table(cells: Cells, sides: str = "<", rows: Sequence[str] = (), **columns: Any) -> Any:
    """The same for rich, which prints on terminals; rows: the style of each below the header; columns: as rich says."""
    from rich.table import Table
    from rich.text import Text

    # Text is printed as it is: square brackets are no markup.
    table = Table(box=None, pad_edge=False, header_style="bold")
    for cell, side in zip(cells[0], sides.ljust(len(cells[0]), ">"), strict=True):
        table.add_column(Text(cell), justify="left" if side == "<" else "right", **columns)
    for row, style in zip(cells[1:], rows or [""] * len(cells[1:]), strict=True):
        table.add_row(*map(Text, row), style=style)
    return table


def data_frame(records: Mapping[str, Sequence[Any]], backend: Any = None) -> Any:
    """Columns of plain values as a data frame of the library named, or of pandas, polars or pyarrow: what is there."""
    import narwhals as nw

    chosen: Any = backend or next((name for name in ("pandas", "polars", "pyarrow") if find_spec(name)), None)
    if chosen is None:
        raise MissingExtraError("A table with named columns takes pandas, polars or pyarrow: pip install pandas.")
    if isinstance(chosen, str) and not find_spec(chosen):
        raise MissingExtraError(f"A table of {chosen} needs {chosen}: pip install {chosen}.")
    return nw.from_dict(dict(records), backend=chosen).to_native()


class Tabular:
    """A result that is a table: it prints as text, and as HTML in a notebook."""

    sides: ClassVar[str]

    def cells(self) -> list[tuple[str, ...]]:
        """The table as text, header first."""
        raise NotImplementedError

    def __str__(self) -> str:
        return "\n".join(aligned(self.cells(), self.sides))

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return html_table(self.cells())


@dataclass(frozen=True, eq=False, repr=False)
class LabeledTable(Tabular):
    """Numbers with a label for each row and a name for each column.

    corner: what the labels are; shares: columns from 0 to 1, which are shown with three digits.

    >>> LabeledTable("class", ["a", "b"], {"recall": [0.5, float("nan")], "rows": [8.0, 0.0]}, ("recall",))
    class  recall  rows
    a       0.500     8
    b           -     0
    """

    sides = "<"

    corner: str
    labels: Sequence[Any]
    columns: Mapping[str, Sequence[float]]
    shares: Collection[str] = ()

    def cells(self) -> list[tuple[str, ...]]:
        """The table as text, header first; what is not defined is a dash."""
        texts = [
            [_share(value) if name in self.shares else count_text(value) for value in values]
            for name, values in self.columns.items()
        ]
        return [(self.corner, *self.columns), *zip(map(str, self.labels), *texts, strict=True)]

    def records(self) -> dict[str, list[Any]]:
        """The table as columns of plain values."""
        return {self.corner: list(self.labels)} | {name: list(values) for name, values in self.columns.items()}

    def frame(self, backend: str | None = None) -> Any:
        """The same as a data frame: of pandas, polars or pyarrow, whichever is there, or of the one named."""
        return data_frame(self.records(), backend)


def _share(value: float) -> str:
    return "-" if value != value else f"{value:.3f}"


def count_text(value: float) -> str:
    """A number of rows: whole, or with up to two digits where rows have weights.

    >>> count_text(12.0), count_text(1234567.5)
    ('12', '1234567.5')
    """
    return f"{value:.2f}".rstrip("0").rstrip(".")
