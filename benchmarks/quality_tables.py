"""The tables of the study as the recorded peers had them: the same rows, labels and folds."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

FOLDS = 5
FEWEST_OF_CLASS = 5
MOST_ROWS = 5000
MOST_COLUMNS = 800

# Columns that are no features: row numbers, how others split the table, and one that gives the label away.
NOT_FEATURES = ("split", "is_train", "alive", "speaker", "rownames", "row.names")

Texts = NDArray[np.str_]
Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Table:
    """rows X (n, p) as the file has them, text and gaps and all; labels y (n,)."""

    name: str
    X: pd.DataFrame
    y: Texts

    @property
    def labels(self) -> Texts:
        """The g labels, sorted."""
        return np.unique(self.y)

    @property
    def codes(self) -> Codes:
        """The position of each row's label among the labels; (n,)."""
        return np.searchsorted(self.labels, self.y)

    def shape(self) -> dict[str, int]:
        return {"n": len(self.y), "p": self.X.shape[1], "g": len(self.labels)}


def read_tables(folder: Path, only: str = "") -> list[Table]:
    """The tables of the folder's manifest.csv (name, file, target, classes), small ones first."""
    with (folder / "manifest.csv").open() as manifest:
        entries = [entry for entry in csv.DictReader(manifest) if entry["classes"]]
    chosen = [entry for entry in entries if not only or entry["name"] in only.split(",")]
    tables = [read_table(folder, entry) for entry in chosen]
    return sorted((t for t in tables if t.X.shape[1] <= MOST_COLUMNS), key=lambda t: (len(t.y), t.X.shape[1]))


def read_table(folder: Path, entry: dict[str, str]) -> Table:
    """Rows whose label has at least five rows; at most 5,000 of them, drawn with seed 0."""
    table, target = pd.read_csv(folder / entry["file"]), entry["target"]
    if "+" in target:
        parts = target.split("+")
        table[target] = table[parts].astype(str).agg("-".join, axis=1)
        table = table.drop(columns=parts)
    table = table.dropna(subset=[target])
    table = table.drop(columns=[column for column in NOT_FEATURES if column in table.columns])
    y = table.pop(target).astype(str).to_numpy()
    table, y = of_frequent_labels(table, y)
    if len(y) > MOST_ROWS:
        drawn = np.random.default_rng(0).permutation(len(y))[:MOST_ROWS]
        table, y = of_frequent_labels(table.iloc[drawn], y[drawn])
    return Table(entry["name"], table, y)


def of_frequent_labels(table: pd.DataFrame, y: Texts) -> tuple[pd.DataFrame, Texts]:
    labels, counts = np.unique(y, return_counts=True)
    kept = np.isin(y, labels[counts >= FEWEST_OF_CLASS])
    return table[kept].reset_index(drop=True), y[kept]


def folds(y: Texts) -> Iterator[tuple[Codes, Codes]]:
    """Five stratified folds, shuffled with seed 0: the rows to learn from, and those held out."""
    return StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(np.zeros(len(y)), y)
