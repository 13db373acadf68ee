"""Databases: tables and queries of DuckDB, in this process, and of PostgreSQL, through ADBC."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from classwise.errors import ClasswiseError, MissingExtraError
from classwise.rows.files import database, import_duckdb, no_such_column, quieten, unmarked, without
from classwise.rows.formats import marked
from classwise.rows.texts import quoted

SERVERS = ("postgresql://", "postgres://")
FILES = (".duckdb", ".ddb", ".db")
SELECTS = re.compile(r"\s*(select|with|from|values|table)\s", re.I)


@dataclass(frozen=True)
class Query:
    """Rows that a database makes.

    Parameters
    ----------
    text : str
        A query, or the name of a table.
    database : str, optional
        A DuckDB file, or the address of a PostgreSQL server; without one, DuckDB answers in this process, and
        files can be named in the query.
    missing : tuple of str, optional
        What stands for a missing value, besides NULL.
    inside : bool, optional
        Whether fits and `summarize` compute their sums inside the database, and no rows leave it; False reads
        the rows. By default, whichever is likely to be faster. Rows with missing numbers or with weights are
        always read.

    Examples
    --------
    >>> import classwise as cw
    >>> s = cw.summarize(cw.Query("SELECT x, x % 2 AS odd FROM range(10) AS t(x)"), target="odd")
    >>> s.weight.tolist()
    [5.0, 5.0]
    """

    text: str
    database: str | None = None
    missing: tuple[str, ...] | None = None
    inside: bool | None = None

    @property
    def name(self) -> str:
        """What errors call it; the address may hold a password, and stays out."""
        where = "" if self.database is None else f" in {_without_secrets(self.database)}"
        return f"the {'query' if self.is_select else 'table'} {' '.join(self.text.split())[:60]!r}{where}"

    @property
    def size(self) -> int:
        return 0

    @property
    def is_select(self) -> bool:
        """Whether it is a query, rather than the name of a table."""
        return SELECTS.match(self.text) is not None

    @property
    def is_remote(self) -> bool:
        """Whether a server answers."""
        return self.database is not None and self.database.startswith(SERVERS)

    @property
    def relation(self) -> str:
        """What stands after FROM in a query about it."""
        return f"({self.text.rstrip().rstrip(';')}) AS rows" if self.is_select else table_name(self.text)

    def count(self) -> int | None:
        return None

    def first(self, rows: int) -> "Query":
        """Some of the rows."""
        return replace(self, text=f"SELECT * FROM {self.relation} LIMIT {rows}")

    def mark(self) -> str:
        raise ClasswiseError(f"checkpoint is for files, and {self.name} is none: leave it out.")

    def names(self) -> list[str]:
        """The columns of the result."""
        if self.is_remote:
            with connected(self) as cursor:
                return list(_schema(cursor, self).names)
        with opened(self) as rows:
            return list(rows.columns)

    def batches(self, columns: Sequence[str] | None, rows: int) -> Iterator[Any]:
        found = _remote_batches(self, columns) if self.is_remote else _local_batches(self, columns, rows)
        return (marked(batch, self.missing) for batch in found)


def read_address(text: str) -> Query | None:
    """A query, a database file or a server's address, with the table after "#"; None, if it is none of them.

    A file that has such a name is that file.

    >>> read_address("shop.duckdb#people").text, read_address("people.csv")
    ('people', None)
    """
    if not text.endswith(FILES) and os.path.isfile(text):  # noqa: PTH113 (a query may be too long for a Path)
        return None
    address, _, table = text.partition("#")
    if address.startswith(SERVERS) or address.endswith(FILES):
        if not table:
            raise ClasswiseError(
                f"{_without_secrets(text)} is a database, and does not say which rows: add #table to the address, or "
                "give Query('SELECT ...', address)."
            )
        return Query(table, address)
    return Query(text) if SELECTS.match(text) else None


# DuckDB ---------------------------------------------------------------------------------------------------------------


@contextmanager
def opened(query: Query) -> Iterator[Any]:
    """A relation of DuckDB's; what it complains of becomes an error of one line."""
    with _session(query) as connection:
        yield connection.sql(query.text if query.is_select else f"FROM {table_name(query.text)}")


@contextmanager
def _session(query: Query) -> Iterator[Any]:
    duckdb = import_duckdb()
    if query.database is not None and not Path(query.database).is_file():
        raise ClasswiseError(f"There is no file {query.database!r}.")
    try:
        with _connection(query.database) if query.database else database().cursor() as connection:
            quieten(connection)
            yield connection
    except duckdb.Error as problem:
        raise ClasswiseError(f"{query.name} cannot be read: {_one_line(problem)}") from problem


def _connection(path: str) -> Any:
    """One that only reads, unless this process writes to the file: then DuckDB takes none of another kind."""
    duckdb = import_duckdb()
    try:
        return duckdb.connect(path, read_only=True)
    except duckdb.ConnectionException:
        return duckdb.connect(path)


def _local_batches(query: Query, columns: Sequence[str] | None, size: int) -> Iterator[Any]:
    with opened(query) as rows:
        if columns is not None:
            _refuse_unknown(columns, list(rows.columns), query)
            rows = rows.project(", ".join(map(quoted, columns)))
        if query.missing is not None:
            rows = without(query.missing, rows)
        yield from rows.to_arrow_reader(size)


# PostgreSQL -----------------------------------------------------------------------------------------------------------


@contextmanager
def connected(query: Query) -> Iterator[Any]:
    """A cursor of ADBC's; what the server complains of becomes an error of one line."""
    adbc = import_adbc()
    try:
        with adbc.connect(query.database) as connection, connection.cursor() as cursor:
            yield cursor
    except adbc.Error as problem:
        raise ClasswiseError(f"{query.name} cannot be read: {_one_line(problem)}") from problem


def _remote_batches(query: Query, columns: Sequence[str] | None) -> Iterator[Any]:
    """The server sends its rows as they come, of the requested columns alone."""
    with connected(query) as cursor:
        schema = _schema(cursor, query)
        chosen = list(schema.names if columns is None else columns)
        _refuse_unknown(chosen, schema.names, query)
        picked = ", ".join(_as_arrow_has_it(schema.field(name), query.missing) for name in chosen)
        cursor.execute(f"SELECT {picked} FROM {query.relation}")
        yield from cursor.fetch_record_batch()


def _schema(cursor: Any, query: Query) -> Any:
    cursor.execute(f"SELECT * FROM {query.relation} LIMIT 0")
    return cursor.fetch_record_batch().schema


def _as_arrow_has_it(field: Any, missing: Sequence[str] | None) -> str:
    """ADBC hands decimals over as text: the server turns them into numbers."""
    name = quoted(field.name)
    is_decimal = (field.metadata or {}).get(b"ADBC:postgresql:typname", b"") == b"numeric"
    is_number = is_decimal or str(field.type).startswith(("int", "float", "double"))
    value = name if missing is None else unmarked(name, missing, is_number)
    return f"CAST({value} AS double precision) AS {name}" if is_decimal else f"{value} AS {name}"


def import_adbc() -> Any:
    """ADBC's driver for PostgreSQL, or an error that says how to get it."""
    if not find_spec("adbc_driver_postgresql") or not find_spec("pyarrow"):
        raise MissingExtraError('PostgreSQL takes adbc-driver-postgresql: pip install "classwise[files]".')
    from adbc_driver_postgresql import dbapi

    return dbapi


# ----------------------------------------------------------------------------------------------------------------------


def answered(query: Query, text: str) -> Any:
    """What the database of a query answers to another one, as a table of pyarrow's."""
    if query.is_remote:
        with connected(query) as cursor:
            cursor.execute(text)
            return cursor.fetch_arrow_table()
    with _session(query) as connection:
        return connection.sql(text).to_arrow_table()


def table_name(text: str) -> str:
    """A table's name as SQL writes it, with that of its schema, if it has one.

    >>> table_name("sales.people")
    '"sales"."people"'
    """
    return text if '"' in text else ".".join(map(quoted, text.split(".")))


def _refuse_unknown(columns: Sequence[str], names: Sequence[str], query: Query) -> None:
    for name in columns:
        if name not in names:
            raise ClasswiseError(no_such_column(name, names, query.name))


def _without_secrets(address: str) -> str:
    """An address without its user and password.

    >>> _without_secrets("postgresql://me:secret@host/shop")
    'postgresql://host/shop'
    """
    return re.sub(r"//[^/@]*@", "//", address.partition("?")[0].partition("#")[0])


def _one_line(problem: Exception) -> str:
    return " ".join(str(problem).split())[:300]
