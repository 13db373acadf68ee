"""Rows of Spark: executors summarize their partitions as Arrow batches, and small statistics meet in a tree."""

import pickle
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from classwise.engines.engine import AddedColumns, S, beside, total
from classwise.errors import ClasswiseError
from classwise.rows.roles import Chunk

# Spark's batches are short: at least this many rows of them are put together for a chunk.
CHUNK = 1 << 16

# This many tasks add the statistics of many partitions, before they are sent here.
FAN = 16

# A row that holds a statistic.
PART = "part binary"

# The column that holds the number of each row: that of its partition, and its place there.
NUMBER = "classwise row number"

# The message of an error of ours, within the text of one of Spark's.
OWN_MESSAGE = re.compile(r"classwise\.errors\.\w+: (.*)")


def is_spark(rows: Any) -> bool:
    """Whether rows are a DataFrame of Spark, classic or Connect; which need not be installed."""
    return type(rows).__module__.startswith("pyspark.sql.") and hasattr(rows, "mapInArrow")


@dataclass(frozen=True, eq=False)
class SparkEngine:
    """A chunk is some batches of a partition. A task that fails is done again by Spark, and what it adds counts once.

    count: how many rows of a table have a number.
    """

    count: Callable[[Any], int] = len

    def numbering(self, count: Callable[[Any], int]) -> "SparkEngine":
        return replace(self, count=count)

    def names(self, rows: Any) -> list[str]:
        return list(rows.columns)

    def select(self, rows: Any, columns: Sequence[str], numbered: bool = False) -> Any:
        from pyspark.sql import functions

        number = [functions.monotonically_increasing_id().alias(NUMBER)] if numbered else []
        return rows.select(*("`" + name.replace("`", "``") + "`" for name in columns), *number)

    def first(self, rows: Any, columns: Sequence[str], count: int) -> Any:
        """The first rows, of the columns of text alone."""
        types = dict(rows.dtypes)
        texts = [name for name in columns if types.get(name) == "string"]
        quoted = [f"`{name.replace('`', '``')}`" for name in texts]
        return rows.select(*quoted).limit(count).toArrow() if texts else None

    def gather(self, summarize: Callable[[Any], S], rows: Any, size: int) -> S:
        parts = _quietly(rows.mapInArrow, partial(_summarize_partition, summarize, max(size, CHUNK), self.count), PART)
        with _own_errors():
            if _has_many_partitions(rows):
                parts = _quietly(parts.repartition(FAN).mapInArrow, _add_parts, PART)
            return total(pickle.loads(row.part) for row in parts.collect())

    def apply(self, answer: AddedColumns, rows: Any, size: int) -> Any:
        """A DataFrame of the same session."""
        from pyspark.sql import types

        kinds = {"b": types.BooleanType(), "i": types.LongType(), "u": types.LongType(), "f": types.DoubleType()}
        kept = [rows.schema[name] for name in answer.carried.values()]
        added = [
            types.StructField(name, kinds.get(values.dtype.kind, types.StringType()))
            for name, values in answer.empty.items()
        ]
        schema = types.StructType([*kept, *added])
        return _quietly(rows.mapInArrow, partial(_answer_partition, answer, max(size, CHUNK)), schema)


def _has_many_partitions(rows: Any) -> bool:
    """Whether their statistics are better added by executors first; Spark Connect does not say how many."""
    return ".connect." in type(rows).__module__ or rows.rdd.getNumPartitions() > 2 * FAN


def _quietly(verb: Callable[..., Any], *arguments: Any) -> Any:
    """Without Spark's warning of a new pandas, which Arrow batches have nothing to do with."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        return verb(*arguments)


def _summarize_partition(
    summarize: Callable[[Any], S], size: int, count: Callable[[Any], int], batches: Iterator[Any]
) -> Iterator[Any]:
    return _sent(total(map(summarize, _numbered(_chunks(batches, size), count))))


def _numbered(tables: Iterator[Any], count: Callable[[Any], int]) -> Iterator[Chunk]:
    """The chunks of a partition, whose rows have numbers from its own first on, if they are to have some."""
    first: int | None = None
    for table in tables:
        if NUMBER not in table.column_names:
            yield Chunk(table)
            continue
        first = table[NUMBER][0].as_py() if first is None else first
        table = table.drop_columns([NUMBER])
        yield Chunk(table, first)
        first += count(table)


def _add_parts(batches: Iterator[Any]) -> Iterator[Any]:
    return _sent(total(pickle.loads(part.as_py()) for batch in batches for part in batch.column(0)))


def _sent(statistic: Any) -> Iterator[Any]:
    """A statistic as a row; no row, where there is none."""
    import pyarrow as pa

    if statistic is not None:
        yield pa.RecordBatch.from_arrays([pa.array([pickle.dumps(statistic)], pa.binary())], ["part"])


def _answer_partition(answer: AddedColumns, size: int, batches: Iterator[Any]) -> Iterator[Any]:
    for chunk in _chunks(batches, size):
        yield from beside(answer, Chunk(chunk)).to_batches()


def _chunks(batches: Iterator[Any], size: int) -> Iterator[Any]:
    """Batches put together until they have enough rows; tables of pyarrow's."""
    import pyarrow as pa

    held: list[Any] = []
    for batch in batches:
        held.append(batch)
        if sum(len(one) for one in held) >= size:
            yield pa.Table.from_batches(held)
            held = []
    if sum(len(one) for one in held):
        yield pa.Table.from_batches(held)


@contextmanager
def _own_errors() -> Iterator[None]:
    """Raise an error of ours in a worker as that error, without Spark's text around it."""
    from pyspark.errors import PySparkException

    try:
        yield
    except Exception as problem:
        messages = OWN_MESSAGE.findall(str(problem))
        if not messages or not (isinstance(problem, PySparkException) or type(problem).__module__.startswith("py4j")):
            raise
        raise ClasswiseError(messages[-1]) from problem
