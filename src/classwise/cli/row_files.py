"""Files of rows that are named on the command line: to learn from, or to predict."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from classwise.cli.verbs import note
from classwise.errors import ClasswiseError
from classwise.rows.files import RowFile, no_such_column
from classwise.rows.sinks import STANDARD, spooled
from classwise.rows.streams import Stream, open_stream

if TYPE_CHECKING:  # NumPy would take its time, and help waits for nothing
    from classwise.engines.rows import Held
    from classwise.rows.roles import Roles


@contextmanager
def kept_rows(data: str) -> Iterator[str]:
    """A path that can be read more than once: standard input is copied to a temporary file first."""
    if data != STANDARD:
        yield data
        return
    if sys.stdin.isatty():
        note("reading rows from the keyboard; end with Ctrl-D.")
    with spooled() as path:
        yield str(path)


def called(data: str) -> str:
    """What messages call the rows."""
    return "standard input" if data == STANDARD else data


# To learn from --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LearningRows:
    """Rows with labels, not yet read.

    file: to be read at once; stream: the same rows, chunk by chunk; name: what messages call them.
    """

    file: RowFile
    stream: Stream
    roles: "Roles"
    name: str

    @property
    def named(self) -> dict[str, Any]:
        """The roles of the columns, as `compare`, `summarize` and `fit_source` take them."""
        return {"target": self.roles.target, "columns": list(self.roles.features), "weights": self.roles.weights}

    @property
    def is_small(self) -> bool:
        """Whether they are in files, and few enough to be held in memory."""
        from classwise import limits
        from classwise.engines.rows import expected_values

        expected = expected_values(self.stream, len(self.roles.features) + 1)
        return self.stream.kind == "file" and expected <= limits.MOST_HELD

    def held(self) -> "Held":
        """All rows that have a label and some weight, in memory; columns of whole numbers stay so."""
        from classwise.engines.rows import Held
        from classwise.rows.roles import Counted, as_frame

        table, target = self.file.table(), str(self.roles.target)
        if not table.num_rows:
            raise ClasswiseError(f"{self.name} has no rows.")
        counted = Counted.of(as_frame(table), self.roles)
        if counted.unlabeled == counted.rows:
            raise ClasswiseError(f"The column {target!r} is empty: there are no labels to learn.")
        if counted.unlabeled:
            note(f"{counted.unlabeled} of {counted.rows} rows have no {target}, and were left out.")
        y = counted.frame[target].to_numpy()
        refuse_many_classes(y, target)
        return Held(counted.frame.select(list(self.roles.features)).to_native(), y, counted.weights, None)


@contextmanager
def learning_rows(
    data: str,
    target: str,
    columns: Sequence[str] | None,
    drop: Sequence[str],
    weights: str | None,
    families: Any,
    missing: Sequence[str] | None,
) -> Iterator[LearningRows]:
    """Open the rows that the options of a verb describe; "-" is standard input."""
    from classwise.rows.roles import Roles, level_columns

    exact, marks = [target, *level_columns(families)], None if missing is None else tuple(missing)
    with kept_rows(data) as path:
        stream = open_stream(path, exact=exact, missing=marks)
        assert stream is not None
        refuse_absent([target, *drop], stream.names, called(data))
        chosen = [name for name in columns or stream.names if name not in drop]
        roles = Roles.read(stream.names, target, chosen or [target], weights, called(data))
        file = RowFile(path, tuple(roles.needed), marks, exact=frozenset(exact))
        yield LearningRows(file, stream, roles, called(data))


def refuse_absent(names: Sequence[str], there: Sequence[str], where: str) -> None:
    """Raise an error for the first column that the rows do not have."""
    for name in names:
        if name not in there:
            raise ClasswiseError(no_such_column(name, there, where))


def refuse_many_classes(y: Any, target: str) -> None:
    """Raise an error if most rows have different labels: such a column holds no classes. Numbers are refused sooner."""
    distinct, share = len(set(y.tolist())), 5 if y.dtype.kind in "fiu" else 2
    if distinct > max(20, len(y) // share):
        raise ClasswiseError(
            f"The column {target!r} has {distinct} different values in {len(y)} rows: it holds no classes. Name "
            "another with --target."
        )


# To predict -----------------------------------------------------------------------------------------------------------


def answered_rows(data: str, model: Any, missing: Sequence[str] | None, also: Sequence[str] = ()) -> tuple[Any, Any]:
    """The rows of a file as the model takes them, and the whole table.

    missing: what stands for a missing value, in place of what the model has learned. also: columns that must be there.
    """
    from classwise.estimators.scoring import missing_marks, text_columns

    marks = tuple(missing) if missing else missing_marks(model)
    with kept_rows(data) as path:
        table = RowFile(path, None, marks, frozenset(text_columns(model))).table()
    names = list(getattr(model, "feature_names_in_", table.column_names))
    refuse_absent([*also, *names], table.column_names, data)
    return table.select(names), table
