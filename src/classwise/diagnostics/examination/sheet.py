"""The table as the checks see it: for each column its values as codes, and as numbers where it holds some."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classwise.arrays import Array, Codes
from classwise.diagnostics.examination.examination import Key, Remark, Remedies
from classwise.errors import ClasswiseError
from classwise.rows.codes import Coded, code_values, is_missing
from classwise.rows.conversions import Moment
from classwise.rows.schema import Conversion, Family
from classwise.rows.sources import Values
from classwise.rows.written_numbers import WrittenNumber

# A number with at most this many distinct values is looked at level by level, as a category is.
FEW_LEVELS = 50

GAUSSIAN = Family("gaussian")


@dataclass(frozen=True, eq=False)
class SheetColumn:
    """key: its name, or its position where there is none; family: None where no model takes such a column.

    conversion: how its values become numbers, where they are dates, or numbers that are written for people. raw (n,):
    its numbers; given: its levels, where it is no number, or its text before a conversion. Neither, where it is nothing
    that a model takes.
    """

    key: Key
    type: str
    family: Family | None
    asked: bool = False
    raw: NDArray[Any] | None = None
    given: Coded | None = None
    conversion: Conversion | None = None

    @classmethod
    def read(cls, values: Values, j: int, asked: Mapping[int, Family]) -> "SheetColumn":
        """The column at a position; asked: families that were given, by position."""
        key = values.keys[j]
        key = key if isinstance(key, str) else j
        kind, is_asked = values.type(j)[0], j in asked
        rule = None if is_asked and asked[j].has_levels else values.conversion(j)
        family = asked.get(j) or (GAUSSIAN if rule else values.natural_family(j))
        if family is None:
            return cls(key, kind, None)
        if family.has_levels:
            return cls(key, kind, family, is_asked, None, values.coded(j))
        if rule is not None:
            texts = values.coded(j) if isinstance(rule, WrittenNumber) else None
            return cls(key, kind, family, is_asked, values.converted(j, rule), texts, rule)
        try:
            numbers = np.asarray(values.numbers(j))
        except ClasswiseError:
            return cls(key, kind, None)
        return cls(key, kind, family, is_asked, numbers) if numbers.ndim == 1 else cls(key, kind, None)

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.key if isinstance(self.key, str) else f"column {self.key}"

    @cached_property
    def coded(self) -> tuple[Codes, NDArray[Any]]:
        """Codes (n,), -1 where nothing stands, and the distinct values that occur; those of numbers in order."""
        if self.raw is not None:
            known = ~self.missing
            codes = np.full(len(self.raw), -1, dtype=np.intp)
            levels, codes[known] = np.unique(self.raw[known], return_inverse=True)
            return codes, levels
        given = self.given or code_values(np.zeros(0))
        here = np.array([not is_missing(name) for name in given.names] + [False])
        here[:-1] &= np.bincount(given.codes[given.codes >= 0], minlength=len(given.names)) > 0
        place = np.where(here, np.cumsum(here) - 1, -1)
        levels = np.empty(int(here.sum()), dtype=object)
        levels[:] = [name for name, is_here in zip(given.names, here, strict=False) if is_here]
        return place[given.codes], levels

    @property
    def codes(self) -> Codes:
        return self.coded[0]

    @property
    def levels(self) -> NDArray[Any]:
        return self.coded[1]

    @property
    def distinct(self) -> int:
        """How many different values there are."""
        return len(self.levels)

    @cached_property
    def counts(self) -> Codes:
        """How often each value occurs."""
        return np.bincount(self.codes[self.codes >= 0], minlength=self.distinct)

    @cached_property
    def missing(self) -> NDArray[np.bool_]:
        """Where nothing stands; (n,)."""
        if self.raw is None:
            return self.codes < 0
        return np.isnan(self.raw) if self.raw.dtype.kind == "f" else np.zeros(len(self.raw), dtype=bool)

    @property
    def present(self) -> int:
        """How many rows have a value."""
        return len(self.missing) - int(np.count_nonzero(self.missing))

    @property
    def is_readable(self) -> bool:
        return self.raw is not None or self.given is not None

    @property
    def is_number(self) -> bool:
        return self.raw is not None and self.raw.dtype.kind != "b"

    @property
    def may_count(self) -> bool:
        """Whether its numbers may be row numbers, which dates, amounts of money and percents are not."""
        return self.conversion is None or (isinstance(self.conversion, WrittenNumber) and not self.conversion.unit)

    @property
    def is_moment(self) -> bool:
        """Whether it holds dates or times."""
        return isinstance(self.conversion, Moment)

    @cached_property
    def is_text(self) -> bool:
        return self.raw is None and self.distinct > 0 and all(isinstance(level, str) for level in self.levels)

    @cached_property
    def is_whole(self) -> bool:
        """Whether it holds whole numbers alone."""
        return self.is_number and self.distinct > 0 and bool(np.all(np.floor(self.levels) == self.levels))

    def written(self, number: float) -> list[str]:
        """The texts that say a number, where it was converted from text; else none."""
        if self.given is None or not isinstance(self.conversion, WrittenNumber):
            return []
        return [text for text in self.given.levels if self.conversion.number(text) == number]

    @property
    def has_few_levels(self) -> bool:
        return self.is_readable and (not self.is_number or self.distinct <= FEW_LEVELS)


@dataclass(frozen=True, eq=False)
class Sheet:
    """Columns and the codes y (n,) of the labels, of rows that have one.

    target: what messages call the labels; labels: the classes in order, with class_rows of each and class_weight, of
    all rows; total: how many rows have a label, and may be more than are here; unlabeled: how many have none.
    settled: columns that were remarked on, with the kind of the remark; there is one for each column at most.
    """

    target: str
    columns: tuple[SheetColumn, ...]
    labels: NDArray[Any]
    y: Codes
    class_rows: Array
    class_weight: Array
    total: int
    unlabeled: int
    remedies: Remedies
    seed: int = 0
    twice: tuple[str, ...] = ()
    settled: Mapping[Key, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.y)

    @property
    def is_sample(self) -> bool:
        return len(self) < self.total

    @property
    def open(self) -> list[SheetColumn]:
        """The columns that nothing was said of, and that can be read."""
        return [column for column in self.columns if column.is_readable and column.key not in self.settled]

    def after(self, remark: Remark) -> "Sheet":
        """With the columns of a remark settled."""
        return replace(self, settled={**self.settled, **dict.fromkeys(remark.columns, remark.kind)})

    @cached_property
    def learned(self) -> NDArray[np.bool_]:
        """Half of the rows of each class, by chance, to learn from; the others are held out. (n,)"""
        order = np.lexsort((np.random.default_rng(self.seed).random(len(self)), self.y))
        learned = np.zeros(len(self), dtype=bool)
        learned[order[::2]] = True
        return learned
