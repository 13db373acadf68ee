"""Results that are tables: the same cells as aligned text, and as HTML in a notebook."""

from html import escape
from typing import ClassVar


class Tabular:
    """Prints as a table. sides: "<" or ">" for each column, where its cells are aligned."""

    sides: ClassVar[str]

    def cells(self) -> list[tuple[str, ...]]:
        """The table as text, header first."""
        raise NotImplementedError

    def __str__(self) -> str:
        cells = self.cells()
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        rows = ("  ".join(f"{c:{s}{w}}" for c, s, w in zip(row, self.sides, widths, strict=True)) for row in cells)
        return "\n".join(row.rstrip() for row in rows)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        header, *rows = self.cells()
        head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
