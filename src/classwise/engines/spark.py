"""Rows of Spark: executors summarize their partitions as Arrow batches, and small statistics meet in a tree."""

import pickle
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from classwise.engines.protocol import S
from classwise.errors import ClasswiseError

# Spark's batches are short: so many rows of them are put together for a chunk.
CHUNK = 1 << 16

# So many tasks add the statistics of many partitions, before they are sent here.
FAN = 16

# A row that holds a statistic.
PART = "part binary"

TOLD = re.compile(r"classwise\.errors\.\w+: (.*)")


def is_spark(rows: Any) -> bool:
    """Whether rows are a DataFrame of Spark, classic or Connect; which need not be installed."""
    return type(rows).__module__.startswith("pyspark.sql.") and hasattr(rows, "mapInArrow")


@dataclass(frozen=True, eq=False)
class SparkEngine:
    """rows: a DataFrame. A task that fails is done again by Spark, and what it adds counts once."""

    rows: Any

    def names(self) -> list[str]:
        """The columns."""
        return list(self.rows.columns)

    def gather(self, summarize: Callable[[Any], S], columns: Sequence[str]) -> S | None:
        """The sum of summarize(chunk); None, where there are no rows."""
        parts = self._mapped(columns, partial(_summarize_partition, summarize), PART)
        with _complaining():
            if self._has_many_partitions():
                parts = self._quietly(parts.repartition(FAN).mapInArrow, _add_parts, PART)
            return _total(pickle.loads(row.part) for row in parts.collect())

    def _has_many_partitions(self) -> bool:
        """Whether their statistics are better added by executors first; Spark Connect does not tell how many."""
        return ".connect." in type(self.rows).__module__ or self.rows.rdd.getNumPartitions() > 2 * FAN

    def apply(self, function: Callable[[Any], Any], columns: Sequence[str], schema: Any) -> Any:
        """function(chunk) of each, as a DataFrame of the same session. schema: of the result, as Spark writes it."""
        return self._mapped(columns, partial(_apply_partition, function), schema)

    def _mapped(self, columns: Sequence[str], function: Callable[[Iterator[Any]], Iterator[Any]], schema: Any) -> Any:
        chosen = self.rows.select(*("`" + name.replace("`", "``") + "`" for name in columns))
        return self._quietly(chosen.mapInArrow, function, schema)

    @staticmethod
    def _quietly(verb: Callable[..., Any], *arguments: Any) -> Any:
        """Without Spark's warning of a new pandas, which Arrow batches have nothing to do with."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
            return verb(*arguments)


def _summarize_partition(summarize: Callable[[Any], S], batches: Iterator[Any]) -> Iterator[Any]:
    return _sent(_total(map(summarize, _chunks(batches))))


def _add_parts(batches: Iterator[Any]) -> Iterator[Any]:
    return _sent(_total(pickle.loads(part.as_py()) for batch in batches for part in batch.column(0)))


def _total(parts: Iterable[S]) -> S | None:
    total: S | None = None
    for part in parts:
        total = part if total is None else total + part
    return total


def _sent(total: Any) -> Iterator[Any]:
    """A statistic as a row; no row, where there is none."""
    import pyarrow as pa

    if total is not None:
        yield pa.RecordBatch.from_arrays([pa.array([pickle.dumps(total)], pa.binary())], ["part"])


def _apply_partition(function: Callable[[Any], Any], batches: Iterator[Any]) -> Iterator[Any]:
    for chunk in _chunks(batches):
        yield from function(chunk).to_batches()


def _chunks(batches: Iterator[Any]) -> Iterator[Any]:
    """Batches put together until they have enough rows; tables of pyarrow's."""
    import pyarrow as pa

    held: list[Any] = []
    for batch in batches:
        held.append(batch)
        if sum(len(one) for one in held) >= CHUNK:
            yield pa.Table.from_batches(held)
            held = []
    if sum(len(one) for one in held):
        yield pa.Table.from_batches(held)


@contextmanager
def _complaining() -> Iterator[None]:
    """What a worker complained of is an error here, without Spark's pages around it."""
    from pyspark.errors import PySparkException

    try:
        yield
    except Exception as problem:
        told = TOLD.findall(str(problem))
        if not told or not (isinstance(problem, PySparkException) or type(problem).__module__.startswith("py4j")):
            raise
        raise ClasswiseError(told[-1]) from problem
