"""Averaged one-dependence by lists, in an engine that applies functions to them: a number for each pair of levels.

    s_a = log p(a | k) + sum over the other columns j of log p(x_j | a, k)      for each level a that the row may have
    log p(x | k) = log sum of exp s_a, up to the number of parents

A row has one level of each parent, or all of them where it is missing. The table of pairs is a list, row by row, with a
last column of zeros for what is missing; pairs of levels of the same column are zero too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from classwise.arrays import Array
from classwise.densities import OneDependence
from classwise.export.sql.arithmetic import IMPOSSIBLE
from classwise.export.sql.draft import Written
from classwise.export.sql.tables import ENGINES


@dataclass(frozen=True, eq=False)
class PairLists:
    """codes: what the place of each column is called, -1 where it is missing; sums: what log p of each class is to be
    called.
    """

    density: OneDependence
    codes: Sequence[str]
    sums: list[str]
    is_numbered: ClassVar[bool] = False

    @property
    def reads(self) -> Sequence[str]:
        return self.codes

    def steps(self, source: str, kept: Sequence[str], name: str, dialect: str) -> list[Written]:
        """Parts of a query, of which the last has the columns kept of the source, and the sums."""
        lists = self._lists()
        classes = range(len(self.sums))
        places = [f"{place} AS pair_of{j}" for j, place in enumerate(self._places())]
        at = f"SELECT {', '.join([*kept, *lists, *places, self._levels()])} FROM {source} CROSS JOIN {name}_lists"
        scores = ", ".join(f"{self._scores(k)} AS pair_scores{k}" for k in classes)
        tops = ", ".join(f"pair_scores{k}, LIST_MAX(pair_scores{k}) AS pair_top{k}" for k in classes)
        sums = ", ".join(f"{_log_sum(k)} AS {of}" for k, of in enumerate(self.sums))
        return [
            Written(f"{name}_lists", ENGINES[dialect].lists(lists), materialized=True),
            Written(f"{name}_at", at),
            Written(f"{name}_scores", f"SELECT {', '.join([*kept, scores])} FROM {name}_at"),
            Written(f"{name}_top", f"SELECT {', '.join([*kept, tops])} FROM {name}_scores"),
            Written(name, f"SELECT {', '.join([*kept, sums])} FROM {name}_top"),
        ]

    @cached_property
    def _spans(self) -> list[range]:
        """The levels of each column, among all."""
        ends = np.cumsum([len(place) for place in self.density.columns]).tolist()
        return [range(start, end) for start, end in zip([0, *ends], ends, strict=False)]

    @property
    def _width(self) -> int:
        return len(self.density.logs) + 1

    def _places(self) -> list[str]:
        """The level of each column, from 1 on; the last one where it is missing."""
        pairs = zip(self.codes, self._spans, strict=True)
        return [f"CASE WHEN {code} < 0 THEN {self._width} ELSE {code} + {span.start + 1} END" for code, span in pairs]

    def _levels(self) -> str:
        """The levels of the parents that the row may have, from 0 on."""
        lists = [
            f"CASE WHEN {code} < 0 THEN RANGE({span.start}, {span.stop}) ELSE [{code} + {span.start}] END"
            for code, span in zip(self.codes, self._spans, strict=True)
            if len(span) > 1
        ]
        return f"LIST_CONCAT({', '.join(lists)}) AS pair_levels"

    def _scores(self, k: int) -> str:
        terms = [f"pair_logs{k}[a * {self._width} + pair_of{j}]" for j in range(len(self.codes))]
        return f"LIST_TRANSFORM(pair_levels, LAMBDA a: {' + '.join([f'pair_own{k}[a + 1]', *terms])})"

    def _lists(self) -> dict[str, list[str]]:
        found = {}
        for k in range(len(self.sums)):
            logs = np.maximum(self.density.logs[:, :, k], IMPOSSIBLE)
            table = np.pad(logs, ((0, 0), (0, 1)))
            for span in self._spans:
                table[span.start : span.stop, span.start : span.stop] = 0.0
            found[f"pair_own{k}"], found[f"pair_logs{k}"] = _texts(np.diag(logs)), _texts(table.ravel())
        return found


def _texts(numbers: Array) -> list[str]:
    return [repr(value).removesuffix(".0") for value in numbers.tolist()]


def _log_sum(k: int) -> str:
    return f"pair_top{k} + LN(LIST_SUM(LIST_TRANSFORM(pair_scores{k}, LAMBDA s: EXP(s - pair_top{k}))))"
