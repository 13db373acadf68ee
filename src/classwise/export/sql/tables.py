"""Tables within a query: numbers packed into one text, which engines read a hundred times faster than VALUES."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# Columns of these names hold whole numbers.
WHOLE = ("v", "c", "lo", "hi", "tree_nodes")


@dataclass(frozen=True)
class TableEngine:
    """How an engine reads a packed text as a table.

    rows: of items that stand in one text, each with an alias i; part: the p-th number of an item, from 1 on; whole,
    fraction: types; number: what tells rows apart; is_recursive: whether it can ask itself for as long as it takes;
    has_list_functions: whether functions are applied to lists, and fast.
    """

    rows: str
    part: str
    whole: str
    fraction: str
    number: str = "ROW_NUMBER() OVER ()"
    is_recursive: bool = True
    has_list_functions: bool = False

    def table(self, numbers: Mapping[str, Sequence[str]]) -> str:
        """Columns of numbers, as a SELECT; those called v, c, lo and hi are whole."""
        kinds = [self.whole if name in WHOLE else self.fraction for name in numbers]
        parts = [
            f"CAST({self.part.format(p=p)} AS {kind}) AS {name}"
            for p, (name, kind) in enumerate(zip(numbers, kinds, strict=True), 1)
        ]
        text = " ".join(map(":".join, zip(*numbers.values(), strict=True)))
        return f"SELECT {', '.join(parts)} FROM {self.rows.format(text=text)}"

    def lists(self, numbers: Mapping[str, Sequence[str]]) -> str:
        """Lists of numbers, as the columns of one row."""
        kinds = {name: "BIGINT" if name in WHOLE else self.fraction for name in numbers}
        columns = [f"CAST('[{','.join(of)}]' AS {kinds[name]}[]) AS {name}" for name, of in numbers.items()]
        return f"SELECT {', '.join(columns)}"


SPLIT = "SPLIT_PART(i, ':', {p})"
# SQLite has no such function, but JSON: the text becomes a list of lists.
ENGINES = {
    # In DuckDB one thread would number rows, and then do all that follows; UUIDs are drawn by every thread.
    "duckdb": TableEngine(
        "(SELECT UNNEST(STRING_SPLIT('{text}', ' ')) AS i) AS t",
        SPLIT,
        "INTEGER",
        "DOUBLE",
        "UUID()",
        has_list_functions=True,
    ),
    "postgres": TableEngine("UNNEST(STRING_TO_ARRAY('{text}', ' ')) AS t(i)", SPLIT, "INTEGER", "DOUBLE PRECISION"),
    "sqlite": TableEngine(
        "JSON_EACH('[[' || REPLACE(REPLACE('{text}', ' ', '],['), ':', ',') || ']]')",
        "JSON_EXTRACT(value, '$[' || ({p} - 1) || ']')",
        "INTEGER",
        "REAL",
    ),
    "spark": TableEngine(
        "(SELECT EXPLODE(SPLIT('{text}', ' ')) AS i) AS t",
        SPLIT,
        "INT",
        "DOUBLE",
        "MONOTONICALLY_INCREASING_ID()",
        is_recursive=False,
    ),
}


def has_list_functions(dialect: str) -> bool:
    """Whether an engine applies functions to lists, and fast."""
    return dialect in ENGINES and ENGINES[dialect].has_list_functions
