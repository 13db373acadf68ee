"""Names: of the table, of its columns, and of the columns of the result. All are quoted, so that any name is safe."""

from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from classwise.errors import ClasswiseError
from classwise.export.sql.dialects import Dialect
from classwise.export.sql.draft import check_text
from classwise.schema import Schema, label_columns

OUTPUTS = {"label": "", "posteriors": "posterior_", "scores": "score_"}


def read_table(table: Any) -> exp.Table:
    """A table by its name; dots separate catalog, schema and name, unless the parts come one by one.

    >>> read_table("main.people").sql(), read_table(["odd.name"]).sql()
    ('"main"."people"', '"odd.name"')
    """
    parts = table.split(".") if isinstance(table, str) else list(table) if isinstance(table, Sequence) else []
    if not (1 <= len(parts) <= 3 and all(isinstance(part, str) and part for part in parts)):
        raise ClasswiseError(
            f"table={table!r} is not a name; give one such as 'people' or 'main.people', or its parts, such as "
            "('main', 'odd.name')."
        )
    for part in parts:
        check_text(part, "a part of table")
    name, *outer = [exp.to_identifier(part, quoted=True) for part in reversed(parts)]
    return exp.Table(this=name, **dict(zip(("db", "catalog"), outer, strict=False)))


def feature_names(schema: Schema, features: Sequence[str] | None, dialect: Dialect) -> list[str]:
    """What the model's columns are called in the table: each another column of it."""
    if features is None and schema.names is None:
        raise ClasswiseError(
            f"The model was fitted on {len(schema)} columns without names; say with features=[...] what they are "
            "called in the table."
        )
    names = _texts("features", schema.names if features is None else features)
    if len(names) != len(schema):
        raise ClasswiseError(f"features has {len(names)} names, and the model has {len(schema)} columns.")
    _refuse_twins(names, dialect)
    return names


def _refuse_twins(names: Sequence[str], dialect: Dialect) -> None:
    """Refuse columns of the model that are one to the engine: both would be read from it, and the answers be wrong."""
    known: dict[str, str] = {}
    for name in names:
        key = name.lower() if dialect.folds_case else name
        if key in known:
            raise ClasswiseError(
                f"The model has the columns {known[key]!r} and {name!r}, and {dialect.name} takes these names for one; "
                "call one of them otherwise, such as in a view of the table, and say so with features=[...]."
            )
        known[key] = name


def key_names(columns: Sequence[str], results: Sequence[str]) -> list[str]:
    """The columns to carry along: no name twice, and none that the result has."""
    names = _texts("columns", columns)
    known = {name.lower() for name in results}
    for name in names:
        if name.lower() in known:
            raise ClasswiseError(
                f"columns names {name!r}, and the result has a column of that name already; rename it in a view, or "
                "leave it out."
            )
        known.add(name.lower())
    return names


def result_names(output: Any, labels: Sequence[Any], dialect: Dialect) -> list[str]:
    """The columns of the result after those that are carried."""
    if not isinstance(output, str) or output not in OUTPUTS:
        raise ClasswiseError(f"output={output!r} is not an option; choose {', '.join(map(repr, OUTPUTS))}.")
    if output == "label":
        return ["label"]
    names = label_columns(OUTPUTS[output], labels)
    for name in names:
        check_text(name, "a column of the result")
        size, most = len(name.encode()), dialect.longest_name
        if most is not None and size > most:
            raise ClasswiseError(
                f"The column {name!r} of the result has {size} bytes, and {dialect.name} cuts names after {most}; fit "
                "with shorter labels, or ask for output='label'."
            )
    return names


def _texts(option: str, names: Any) -> list[str]:
    if isinstance(names, str) or not all(isinstance(name, str) and name for name in names):
        raise ClasswiseError(f"{option}={names!r} must be a list of column names.")
    for name in names:
        check_text(name, f"among {option}")
    return list(names)
