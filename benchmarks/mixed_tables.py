"""Tables of numbers and levels: one that is timed, and one that is weighed."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

ROWS = 1_000_000
CLASSES = 3
LEVELS = [f"level {i}" for i in range(10)]
NUMBERS = [f"number {j}" for j in range(10)]
CATEGORIES = [f"category {j}" for j in range(10)]

# Where this names a folder with this file, it is the table that is weighed.
FOLDER = "CLASSWISE_DATA"
CONNECTIONS = "kddcup99_10pct.csv.gz"

# Its shape: rows, numbers that are whole and that are not, levels of each text column, labels.
CONNECTION_ROWS = 494_021
WHOLE, REAL = 23, 15
TEXTS = (3, 66, 11)
CONNECTION_LABELS = 23


def draw_mixed(rows: int = ROWS, seed: int = 0) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """Numbers around the means of their class, and levels by the frequencies of their class; labels (n,)."""
    generator = np.random.default_rng(seed)
    y = generator.integers(CLASSES, size=rows)
    columns: dict[str, Any] = {}
    for name in NUMBERS:
        columns[name] = generator.standard_normal(rows) + generator.normal(scale=0.3, size=CLASSES)[y]
    for name in CATEGORIES:
        # Levels of about equal frequency, none of them rare.
        frequencies = generator.dirichlet(np.full(len(LEVELS), 5.0), size=CLASSES)
        columns[name] = pd.Categorical.from_codes(draw_codes(frequencies, y, generator), LEVELS)
    return pd.DataFrame(columns), y


def draw_codes(
    frequencies: NDArray[np.float64], y: NDArray[np.int64], generator: np.random.Generator
) -> NDArray[np.int64]:
    """A level for each row, by the frequencies (g, L) of its class."""
    bounds = frequencies.cumsum(axis=1)[:, :-1]
    lots = generator.random(len(y))
    codes = np.empty(len(y), dtype=np.int64)
    for k, bound in enumerate(bounds):
        rows = y == k
        codes[rows] = np.searchsorted(bound, lots[rows], side="right")
    return codes


def as_arrow(X: pd.DataFrame) -> pa.Table:
    """The same with dictionary columns."""
    return pa.Table.from_pandas(X, preserve_index=False)


def read_connections() -> tuple[str, pd.DataFrame, pd.Series]:
    """What the table is, its rows, and their labels: kddcup99, where it is at hand, else one of the same shape."""
    path = Path(os.environ.get(FOLDER, "")) / CONNECTIONS
    if FOLDER in os.environ and path.exists():
        X = pd.read_csv(path)
        return CONNECTIONS, X, X.pop("label")
    return f"synthetic, of the shape of {CONNECTIONS}", *draw_connections()


def draw_connections(seed: int = 0) -> tuple[pd.DataFrame, pd.Series]:
    """Text, whole numbers and real ones, with labels that are text, of which a few are most rows."""
    generator = np.random.default_rng(seed)
    labels = np.array([f"label {k}" for k in range(CONNECTION_LABELS)])
    share = 0.5 ** np.arange(CONNECTION_LABELS)
    y = generator.choice(CONNECTION_LABELS, size=CONNECTION_ROWS, p=share / share.sum())
    y[: 2 * CONNECTION_LABELS] = np.repeat(np.arange(CONNECTION_LABELS), 2)  # the rarest too
    columns: dict[str, Any] = {}
    for count in TEXTS:
        names = np.array([f"level {i}" for i in range(count)])
        frequencies = generator.dirichlet(np.ones(count), size=CONNECTION_LABELS)
        columns[f"text of {count}"] = pd.Series(names[draw_codes(frequencies, y, generator)], dtype="str")
    for j in range(WHOLE):
        columns[f"whole {j}"] = generator.poisson(generator.gamma(2.0, 5.0, size=CONNECTION_LABELS)[y])
    for j in range(REAL):
        columns[f"real {j}"] = generator.beta(2, 2, size=CONNECTION_ROWS)
    return pd.DataFrame(columns), pd.Series(labels[y], dtype="str")
