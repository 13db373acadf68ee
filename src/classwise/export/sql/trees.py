"""Trees as terms of a score: log of the mean over trees of P(k | leaf), or the sum of what leaves add to it.

The nodes are a table within the query, written as one packed text, which engines read a hundred times faster than
VALUES, and than nested CASEs, which SQLite does not take at all. Each row starts at the root of every tree, and goes on
to one of the children until it is in a leaf:

    nodes (v, c, x, lo, hi)    where column c is at most x on to lo, else to hi
    leaves (v, b0, b1, ...)    what is believed of each class

That is a recursive query. Spark limits the rows of those: there it is one join for each level, and as a row cannot be
numbered twice alike, all of its columns go along. DuckDB has functions of lists, which are faster: see folds.py.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from sqlglot import exp

from classwise import limits
from classwise.arrays import Array
from classwise.errors import ClasswiseError
from classwise.export.sql.arithmetic import IMPOSSIBLE, case, column, double, log, number, over, written
from classwise.export.sql.draft import Draft, Step, Written
from classwise.export.sql.tables import ENGINES, has_list_functions
from classwise.export.sql.tree_lists import DIGITS, TreeLists
from classwise.forest.forest import Forest
from classwise.forest.forest_model import ForestModel
from classwise.statistics.trees import LEAF, Trees

# What numbers rows, in the step before the trees.
NUMBER = "rn"


def add_forest(forest: Forest, model: ForestModel, draft: Draft, only_label: bool) -> None:
    """Scores of which softmax, to the forest's power, is P(k | x)."""

    def read(j: int) -> str:
        return draft.code(j) if j in forest.trees.levels else draft.refuse_infinite(draft.plain(j))

    add_trees(forest.trees, forest.of_leaves, draft, read)
    if forest.shift is not None:
        draft.add_constants(np.maximum(forest.shift / forest.power, IMPOSSIBLE))


def add_trees(trees: Trees, beliefs: Array, draft: Draft, read: Callable[[int], str]) -> None:
    """log of the mean over trees of beliefs (L, g), as a term of each class. read: what a column of the table is called
    that holds a number, NULL where it is missing, or the code of a level, -1 where it is missing.
    """
    seen = np.flatnonzero(beliefs.any(axis=0)).tolist()
    sums = add_sums(trees, beliefs[:, seen], draft, read)
    for k in range(beliefs.shape[1]):
        if k not in seen:  # a class without rows
            draft.add(k, number(IMPOSSIBLE))
    for k, name in zip(seen, sums, strict=True):
        draft.add(k, log(over(column(name), number(float(len(trees))))))


def add_sums(trees: Trees, of_leaves: Array, draft: Draft, read: Callable[[int], str]) -> list[str]:
    """Columns with the sums over trees of of_leaves (L, g); their names."""
    _refuse(trees, of_leaves, draft)
    used = np.unique(trees.column[trees.column != LEAF]).tolist()
    values = {j: _filled(trees, j, read(j), draft) for j in used}
    sums = [draft.name("trees") for _ in of_leaves.T]
    engine = ENGINES[draft.dialect.name]
    walk = (TreeLists if has_list_functions(draft.dialect.name) else Walk)(trees, of_leaves, values, sums)
    if walk.is_numbered:
        draft.steps.define(Step.DERIVED, NUMBER, written(engine.number, ()))
    for name in sums:
        draft.steps.define(Step.TREES, name, written("", walk.reads))
    draft.steps.walks.setdefault(Step.TREES, []).append(walk)
    return sums


def _refuse(trees: Trees, beliefs: Array, draft: Draft) -> None:
    if draft.dialect.name not in ENGINES:
        raise ClasswiseError(
            f"Trees are written for {', '.join(ENGINES)}, and not for {draft.dialect.name}; score the rows with "
            "predict."
        )
    count = 5 * (len(trees.column) - trees.n_leaves) + trees.n_leaves * (1 + beliefs.shape[1])
    if count > limits.SQL_NUMBERS:
        raise ClasswiseError(
            f"The trees have {trees.n_leaves} leaves, which takes a query of {count} numbers, and more than "
            f"{limits.SQL_NUMBERS} are not written; fit with fewer trees or a larger min_leaf, or score the rows with "
            "predict."
        )


def _filled(trees: Trees, j: int, name: str, draft: Draft) -> str:
    """A number, the mean where it is missing; a code, after the last where it is missing."""
    if j in trees.levels:
        is_missing = exp.LT(this=column(name), expression=exp.Literal.number(0))
        value = double(case((is_missing, exp.Literal.number(len(trees.levels[j]))), otherwise=column(name)))
    else:
        value = exp.Coalesce(this=column(name), expressions=[number(float(trees.means[j]))])
    return draft.define(Step.DERIVED, "value", value)


# From the step before to what all trees say ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Walk:
    """beliefs (L, g): of leaves; values: what the columns that trees cut are called; sums: what the sums of the beliefs
    of each class are to be called.
    """

    trees: Trees
    beliefs: Array
    values: dict[int, str]
    sums: list[str]
    is_numbered: ClassVar[bool] = True

    @property
    def reads(self) -> list[str]:
        return [*self.values.values(), NUMBER]

    def steps(self, source: str, kept: Sequence[str], name: str, dialect: str) -> list[Written]:
        """Parts of a query, of which the last has the columns kept of the source, and the sums."""
        engine = ENGINES[dialect]
        tables = [
            Written(f"{name}_nodes", engine.table(self._nodes()), materialized=engine.is_recursive),
            Written(f"{name}_leaves", engine.table(self._leaves()), materialized=engine.is_recursive),
            Written(f"{name}_roots", engine.table({"v": [*map(str, self.trees.starts[:-1].tolist())]})),
        ]
        walk = self._recursive if engine.is_recursive else self._level_by_level
        return [*tables, *walk(source, kept, name)]

    def _recursive(self, source: str, kept: Sequence[str], name: str) -> list[Written]:
        step = self._step()
        walk = (
            f"SELECT d.{NUMBER} AS r, t.v AS v FROM {source} AS d CROSS JOIN {name}_roots AS t\n  UNION ALL\n"
            f"  SELECT w.r, {step} FROM {name}_walk AS w JOIN {name}_nodes AS n ON n.v = w.v "
            f"JOIN {source} AS d ON d.{NUMBER} = w.r"
        )
        sums = ", ".join(f"SUM(l.b{k}) AS {of}" for k, of in enumerate(self.sums))
        total = f"SELECT w.r, {sums} FROM {name}_walk AS w JOIN {name}_leaves AS l ON l.v = w.v GROUP BY w.r"
        columns = ", ".join([*(f"d.{of}" for of in kept), *(f"s.{of}" for of in self.sums)])
        joined = f"SELECT {columns} FROM {source} AS d JOIN {name}_sums AS s ON s.r = d.{NUMBER}"
        return [
            Written(f"{name}_walk", walk, recursive=True),
            Written(f"{name}_sums", total),
            Written(name, joined),
        ]

    def _level_by_level(self, source: str, kept: Sequence[str], name: str) -> list[Written]:
        along = dict.fromkeys([*kept, *self.reads])
        columns = ", ".join(f"d.{of}" for of in along)
        made = [Written(f"{name}_0", f"SELECT {columns}, t.v FROM {source} AS d CROSS JOIN {name}_roots AS t")]
        for level in range(int(self.trees.depth.max())):
            next_v = f"CASE WHEN n.v IS NULL THEN d.v ELSE {self._step()} END AS v"
            text = f"SELECT {columns}, {next_v} FROM {made[-1].name} AS d LEFT JOIN {name}_nodes AS n ON n.v = d.v"
            made.append(Written(f"{name}_{level + 1}", text))
        sums = ", ".join(f"SUM(l.b{k}) AS {of}" for k, of in enumerate(self.sums))
        groups = ", ".join(dict.fromkeys([f"d.{NUMBER}", *(f"d.{of}" for of in kept)]))
        first = "".join(f"d.{of}, " for of in kept)
        joined = f"{made[-1].name} AS d JOIN {name}_leaves AS l ON l.v = d.v"
        return [*made, Written(name, f"SELECT {first}{sums} FROM {joined} GROUP BY {groups}")]

    def _step(self) -> str:
        """Where a row d goes from a node n."""
        if not self.values:  # nothing is cut, and no row comes here
            return "n.lo"
        branches = " ".join(f"WHEN {j} THEN d.{of}" for j, of in self.values.items())
        return f"CASE WHEN CASE n.c {branches} END <= n.x THEN n.lo ELSE n.hi END"

    def _nodes(self) -> dict[str, list[str]]:
        trees = self.trees
        inner = np.flatnonzero(trees.column != LEAF)
        if not len(inner):
            return {"v": ["-1"], "c": ["-1"], "x": ["0"], "lo": ["-1"], "hi": ["-1"]}
        starts, columns = trees.starts[trees.tree_of[inner]], trees.column[inner].tolist()
        cuts = [repr(float(trees.cuts[j][at])) for j, at in zip(columns, trees.cut[inner].tolist(), strict=True)]
        whole = {"lo": starts + trees.left[inner], "hi": starts + trees.right[inner]}
        texts = {of: [*map(str, numbers.tolist())] for of, numbers in whole.items()}
        return {"v": [*map(str, inner.tolist())], "c": [*map(str, columns)], "x": cuts, **texts}

    def _leaves(self) -> dict[str, list[str]]:
        beliefs = {f"b{k}": [f"{value:.{DIGITS}g}" for value in of.tolist()] for k, of in enumerate(self.beliefs.T)}
        return {"v": [*map(str, self.trees.leaf_nodes.tolist())], **beliefs}
