"""Spreadsheets to test with, written by hand: an .xlsx file is a ZIP of XML."""

import datetime as dt
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape
from zipfile import ZipFile

SHEET = (
    '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{}</sheetData></worksheet>'
)
RELATIONS = '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{}</Relationships>'
RELATED = (
    '<Relationship Id="r{}" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/{}" Target="{}"/>'
)
BOOK = (
    '<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets>{}</sheets></workbook>'
)
STYLES = (  # 1: a date, 2: a date and time
    '<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><cellXfs count="3">'
    '<xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="22"/></cellXfs></styleSheet>'
)


def write_xlsx(path: Path, sheets: Mapping[str, Sequence[Sequence[Any]]]) -> None:
    """A file of these sheets: rows of cells, None for an empty one."""
    with ZipFile(path, "w") as file:
        names = list(sheets)
        kinds = "".join(f'<sheet name="{name}" sheetId="{i}" r:id="r{i}"/>' for i, name in enumerate(names, 1))
        file.writestr("xl/workbook.xml", BOOK.format(kinds))
        related = [RELATED.format(i, "worksheet", f"worksheets/sheet{i}.xml") for i in range(1, len(names) + 1)]
        related.append(RELATED.format(len(names) + 1, "styles", "styles.xml"))
        file.writestr("xl/_rels/workbook.xml.rels", RELATIONS.format("".join(related)))
        file.writestr("_rels/.rels", RELATIONS.format(RELATED.format(1, "officeDocument", "xl/workbook.xml")))
        file.writestr("xl/styles.xml", STYLES)
        for i, rows in enumerate(sheets.values(), 1):
            written = "".join(_row(number, row) for number, row in enumerate(rows, 1))
            file.writestr(f"xl/worksheets/sheet{i}.xml", SHEET.format(written))


def _row(number: int, cells: Sequence[Any]) -> str:
    written = (_cell(f"{chr(65 + i)}{number}", cell) for i, cell in enumerate(cells) if cell is not None)
    return f'<row r="{number}">{"".join(written)}</row>'


def _cell(place: str, value: Any) -> str:
    if isinstance(value, bool):
        return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, dt.date):
        moment = value if isinstance(value, dt.datetime) else dt.datetime.combine(value, dt.time())
        days = (moment - dt.datetime(1899, 12, 30)) / dt.timedelta(days=1)
        return f'<c r="{place}" s="{2 if isinstance(value, dt.datetime) else 1}"><v>{days!r}</v></c>'
    if isinstance(value, (int, float)):
        return f'<c r="{place}"><v>{value!r}</v></c>'
    return f'<c r="{place}" t="inlineStr"><is><t>{escape(value)}</t></is></c>'


ODS = (
    '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body><office:spreadsheet>'
    '<table:table table:name="Rows">{}</table:table></office:spreadsheet></office:body></office:document-content>'
)
MANIFEST = (
    '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
    '<manifest:file-entry manifest:full-path="/" '
    'manifest:media-type="application/vnd.oasis.opendocument.spreadsheet"/></manifest:manifest>'
)


def write_ods(path: Path, rows: Sequence[Sequence[Any]]) -> None:
    """An OpenDocument file of one sheet: numbers, dates and text."""
    written = "".join(f"<table:table-row>{''.join(map(_ods_cell, row))}</table:table-row>" for row in rows)
    with ZipFile(path, "w") as file:
        file.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        file.writestr("META-INF/manifest.xml", MANIFEST)
        file.writestr("content.xml", ODS.format(written))


def _ods_cell(value: Any) -> str:
    if isinstance(value, (int, float)):
        kind = f'office:value-type="float" office:value="{value}"'
    elif isinstance(value, dt.date):
        kind = f'office:value-type="date" office:date-value="{value}"'
    else:
        kind = 'office:value-type="string"'
    return f"<table:table-cell {kind}><text:p>{escape(str(value))}</text:p></table:table-cell>"
