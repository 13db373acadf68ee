"""Peak memory of NaiveBayes().fit beyond the table, each measurement in a process of its own.

Run as a script, this is that process; resident memory and what Python allocates are measured in separate ones, since
keeping account of the second takes memory itself:

    python benchmarks/mixed_memory.py resident
    python benchmarks/mixed_memory.py traced
"""

import json
import subprocess
import sys
import tracemalloc
import warnings
from collections.abc import Callable
from typing import Any

import pandas as pd
import pyarrow as pa
from memory import peak, restart_peak
from mixed_tables import read_connections

from classwise import DegenerateColumnWarning, IgnoredColumnWarning, NaiveBayes

PROCESSES = 3

# Every so many rows are fitted first, which loads what is imported on the first call.
STEP = 50

Fit = Callable[[pd.DataFrame, pd.Series], Any]


def measure_memory() -> dict[str, Any]:
    """What was fitted, and the peaks of several processes; bytes."""
    resident = [_in_a_process("resident") for _ in range(PROCESSES)]
    traced = [_in_a_process("traced") for _ in range(PROCESSES)]
    about = {key: resident[0][key] for key in ("table", "rows", "columns", "labels", "table_bytes")}
    return {
        **about,
        "resident_bytes": [each["extra_bytes"] for each in resident],
        "traced_bytes": [each["extra_bytes"] for each in traced],
    }


def _in_a_process(kind: str) -> dict[str, Any]:
    done = subprocess.run([sys.executable, __file__, kind], stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(done.stdout))


def main(kind: str) -> None:
    name, X, y = read_connections()
    about = {"table": name, "rows": len(X), "columns": X.shape[1], "labels": y.nunique()}
    _fit(X[::STEP], y[::STEP])
    extra = {"resident": _resident, "traced": _traced}[kind](X, y)
    print(json.dumps({**about, "table_bytes": int(X.memory_usage(deep=True).sum()), "extra_bytes": extra}))


def _fit(X: pd.DataFrame, y: pd.Series) -> NaiveBayes:
    with warnings.catch_warnings():
        # Such tables have columns that do not vary within the rare classes, which is not what is measured here.
        warnings.simplefilter("ignore", DegenerateColumnWarning)
        warnings.simplefilter("ignore", IgnoredColumnWarning)
        return NaiveBayes().fit(X, y)


def _resident(X: pd.DataFrame, y: pd.Series) -> int:
    # Freed memory that Arrow holds on to would be used again without counting as extra.
    pa.default_memory_pool().release_unused()
    before = restart_peak()
    _fit(X, y)
    return peak() - before


def _traced(X: pd.DataFrame, y: pd.Series) -> int:
    tracemalloc.start()
    _fit(X, y)
    return tracemalloc.get_traced_memory()[1]


if __name__ == "__main__":
    main(*sys.argv[1:])
