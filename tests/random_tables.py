"""Random tables with all that makes outlets disagree: gaps, offsets, counts, yes and no, hostile names and labels."""

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

NAMES = [
    "x",
    'a "quoted" name',
    "it's; DROP TABLE new; --",
    "größe (cm)",
    "two words",
    "select",
    "back\\slash %s {0}",
    "日本 🐧",
    "comma, semicolon; tab\t",
    "2",
    "*/ end",
    "#hash [1]",
]

LEVELS = [
    ["red", "Red", "RED", "blue"],  # case tells them apart
    ["O'Fallon", 'say "when"', "x'; --", "line\nbreak", "%s {0}"],
    ["0123", "10115", "7", "80331"],  # text that looks like numbers
    ["Zürich", "ZÜRICH", "東京", "🐧", "back\\slash"],
]

LABELS: list[list[Any]] = [
    ["A", "a", "A_2"],  # in a database, posterior_a is posterior_A
    [False, True],
    ["it's", 'so "so"', "x; --", "ünï 🐧", "two words"],
    [-3, 0, 12],
    ["no", "yes"],
    [1, 2],
    [2**40, 2**40 + 1, 2**40 + 2],
    ["1", "02", "3.0"],
    ["posterior", "label", "reject!", "NULL"],
]

ARROW = {
    "number": pa.float64(),
    "whole": pa.int64(),
    "text": pa.string(),
    "yes/no": pa.bool_(),
    "date": pa.date32(),
    "comma": pa.string(),  # numbers with decimal commas
}


@dataclass(frozen=True, eq=False)
class RandomTable:
    """Rows to learn from with their labels, and rows to score, which have an id before; types of each column."""

    rows: pa.Table
    labels: Any
    new: pa.Table
    types: dict[str, str]
    families: dict[str, str]

    @property
    def columns(self) -> list[str]:
        return list(self.types)

    @cached_property
    def features(self) -> pa.Table:
        """The rows to score, without their id."""
        return self.new.select(self.columns)

    @property
    def levels(self) -> dict[str, str]:
        """The families that a model without densities knows."""
        return {name: family for name, family in self.families.items() if family == "categorical"}

    @property
    def classes(self) -> list[Any]:
        return sorted(set(self.labels.tolist()))

    @property
    def numbers(self) -> list[str]:
        """The columns that joint Gaussians describe."""
        described = ("number", "date", "comma")
        return [name for name, kind in self.types.items() if kind in described and name not in self.families]

    def for_engine(self) -> dict[str, tuple[str, list[Any]]]:
        """The rows to score as the tests' databases take them."""
        kinds = {"id": "whole"} | self.types
        given = {"id": self.new["id"].to_pylist()} | self.for_json()
        return {name: ({"comma": "text"}.get(kind, kind), given[name]) for name, kind in kinds.items()}

    def for_json(self) -> dict[str, list[Any]]:
        """The rows to score, without their id, by column; dates are text."""
        dates = [name for name, kind in self.types.items() if kind == "date"]
        written = {name: [day and day.isoformat() for day in self.new[name].to_pylist()] for name in dates}
        return self.features.to_pydict() | written

    def as_numbers(self, name: str) -> list[float | None] | None:
        """The numbers that dates and text stand for, None for any other column."""
        values = self.new[name].to_pylist()
        if self.types[name] == "date":
            return [None if value is None else float((value - dt.date(1970, 1, 1)).days) for value in values]
        if self.types[name] != "comma":
            return None
        return [None if value is None else float(value.replace(",", ".")) for value in values]


def random_table(seed: int, count: int = 160, scored: int = 40) -> RandomTable:
    """The same table for the same seed; classes differ in every column."""
    generator = np.random.default_rng(seed)
    known = LABELS[seed % len(LABELS)]
    codes = generator.permutation(np.arange(count + scored) % len(known))
    names = iter(generator.permutation(NAMES).tolist())
    types: dict[str, str] = {}
    families: dict[str, str] = {}
    columns: dict[str, list[Any]] = {}
    for kind, family, values in _columns(generator, codes, LEVELS[seed % len(LEVELS)]):
        name = next(names)
        types[name] = kind
        families |= {name: family} if family else {}
        gone = generator.random(len(codes)) < (0.08 if generator.random() < 0.7 else 0.0)
        columns[name] = [None if gap else value for gap, value in zip(gone, values.tolist(), strict=True)]
    table = pa.table({name: pa.array(of, ARROW[types[name]]) for name, of in columns.items()})
    new = table.slice(count).add_column(0, "id", [pa.array(range(100, 100 + scored))])
    return RandomTable(table.slice(0, count), np.array(known)[codes[:count]], new, types, families)


def _columns(generator: np.random.Generator, codes: Any, levels: list[str]) -> Iterator[tuple[str, str | None, Any]]:
    """Type, family where it is asked for, and values of each column: two to four numbers, and some of all else."""
    size, shift = len(codes), generator.normal(size=(9, codes.max() + 1))
    offset = float(generator.choice([0.0, 1e6]))
    together = generator.normal(size=size)
    for j in range(generator.integers(2, 5)):
        values = generator.normal(shift[j][codes], 1.0) + 0.7 * together
        yield "number", None, values * 10.0 ** generator.integers(-3, 4) + offset
    days = np.datetime64("2026-01-01") + np.rint(generator.normal(20 * shift[4][codes], 30.0)).astype("m8[D]")
    prices = generator.normal(5 + shift[8][codes], 1.0)
    commas = np.array([f"{price:.2f}".replace(".", ",") for price in prices], dtype=object)
    others: list[tuple[str, str | None, Any]] = [
        ("number", "lognormal", np.exp(generator.normal(0.7 * shift[5][codes], 0.8))),
        ("whole", "poisson", generator.poisson(np.exp(1 + 0.4 * shift[6][codes]))),
        ("whole", "categorical", (codes + generator.integers(4, size=size)) % 5 - 1),
        ("date", None, days),
        ("comma", None, commas),
        ("yes/no", None, generator.random(size) < 1 / (1 + np.exp(shift[7][codes]))),
        ("text", None, np.array(levels, dtype=object)[(codes + generator.integers(3, size=size)) % len(levels)]),
    ]
    kept = generator.random(len(others)) < 0.6
    kept[-1] = True  # text always
    yield from (column for column, is_kept in zip(others, kept, strict=True) if is_kept)
