"""Files that are named on the command line: rows to learn from or to predict, models and statistics."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from shlex import quote
from typing import TYPE_CHECKING, Any

from classwise.cli.options import read_value
from classwise.cli.verbs import called, kept, note, say
from classwise.errors import ClasswiseError
from classwise.rows.databases import Query, read_address
from classwise.rows.files import BATCH, RowFile, no_such_column
from classwise.rows.streams import Stream, open_stream

if TYPE_CHECKING:  # so that --help does not import NumPy
    from classwise.engines.rows import Held
    from classwise.rows.roles import Roles


# Rows to learn from ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LearningRows:
    """Labeled rows, not yet read.

    file: the rows to be read at once; stream: the same rows in chunks; name: the name in messages.
    """

    file: RowFile
    stream: Stream
    roles: "Roles"
    name: str

    @property
    def named(self) -> dict[str, Any]:
        """The roles of the columns, as arguments of `compare`, `summarize` and `fit_source`."""
        return {"target": self.roles.target, "columns": list(self.roles.features), "weights": self.roles.weights}

    @property
    def is_small(self) -> bool:
        """Whether the rows are in files, and fit in memory."""
        from classwise import limits
        from classwise.engines.rows import expected_values

        expected = expected_values(self.stream, len(self.roles.features) + 1)
        return self.stream.kind == "file" and expected <= limits.MOST_HELD

    def held(self, is_examined: bool = False) -> "Held":
        """All rows with a label and a weight, in memory; columns of integers stay integers.

        is_examined: whether an examination has already reported rows without a label.
        """
        from classwise.engines.rows import Held
        from classwise.rows.roles import Counted, as_frame

        table, target = self.file.table(), str(self.roles.target)
        if not table.num_rows:
            raise ClasswiseError(f"{self.name} has no rows.")
        counted = Counted.of(as_frame(table), self.roles)
        if counted.unlabeled == counted.rows:
            raise ClasswiseError(f"The column {target!r} is empty: there are no labels to learn.")
        if counted.unlabeled and not is_examined:
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
    """Open the rows that the options of a command describe; "-" is standard input."""
    from classwise.rows.roles import Roles, level_columns

    exact, marks = [target, *level_columns(families)], None if missing is None else tuple(missing)
    with kept(data) as path:
        stream = open_stream(path, exact=exact, missing=marks)
        assert stream is not None
        columns, drop = as_written(columns or (), stream.names), as_written(drop, stream.names)
        refuse_absent([target, *drop], stream.names, called(data))
        chosen = [name for name in columns or stream.names if name not in drop]
        roles = Roles.read(stream.names, target, chosen or [target], weights, called(data))
        file = RowFile(path, tuple(roles.needed), marks, exact=frozenset(exact))
        yield LearningRows(file, stream, roles, called(data))


def as_written(names: Sequence[str], there: Sequence[str]) -> list[str]:
    """Names from the command line as the rows have them, which may begin or end with blanks.

    >>> as_written(["mass", "length"], [" mass ", "length", "length "])
    [' mass ', 'length']
    """
    bare: dict[str, str] = {}
    for name in there:
        bare.setdefault(name.strip(), name)
    return [name if name in there else bare.get(name, name) for name in names]


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


# Rows to predict ------------------------------------------------------------------------------------------------------


def answered_rows(data: str, model: Any, missing: Sequence[str] | None, also: Sequence[str] = ()) -> tuple[Any, Any]:
    """The columns of a file that the model reads, and the whole table.

    missing: texts that mark missing values, instead of those of the model. also: further columns that must exist.
    """
    from classwise.estimators.scoring import missing_marks, text_columns

    marks = tuple(missing) if missing else missing_marks(model)
    with kept(data) as path:
        query = read_address(path)
        table = (
            RowFile(path, None, marks, frozenset(text_columns(model))).table() if query is None else _all(query, marks)
        )
    names = list(getattr(model, "feature_names_in_", table.column_names))
    refuse_absent([*also, *names], table.column_names, called(data))
    return table.select(names), table


def _all(query: Query, marks: tuple[str, ...] | None) -> Any:
    """All rows of a query, as a pyarrow table."""
    import pyarrow as pa

    batches = list(replace(query, missing=marks).batches(None, BATCH))
    if not batches:
        raise ClasswiseError(f"{query.name} has no rows.")
    return pa.Table.from_batches(batches)


# Models and statistics on the command line: made by name, loaded from files, saved to files ---------------------------


MODELS = {
    "auto": "AutoClassifier",
    "lda": "LDA",
    "qda": "QDA",
    "rda": "RDA",
    "nearest-mean": "NearestMean",
    "naive-bayes": "NaiveBayes",
    "aode": "AODE",
    "mixture": "MixtureClassifier",
    "shrunken-centroids": "ShrunkenCentroids",
    "hdda": "HDDA",
    "robust": "RobustClassifier",
    "gaussian": "GaussianClassifier",
    "logistic": "BayesianLogistic",
    "forest": "ForestClassifier",
}


def make_model(name: str, options: dict[str, str], families: dict[str, str]) -> Any:
    """An estimator that is not fitted yet."""
    import classwise as cw

    if name not in MODELS:
        raise ClasswiseError(f"--model {name!r} is not one of {', '.join(MODELS)}.")
    given = {key: read_value(text) for key, text in options.items()}
    if families:
        given["families"] = families
    cls = getattr(cw, MODELS[name])
    unknown = [key for key in given if key not in cls().get_params()]
    if unknown:
        known = ", ".join(cls().get_params())
        raise ClasswiseError(f"{MODELS[name]} has no option {unknown[0]!r}; it has {known}.")
    return cls(**given)


def load(path: str) -> Any:
    """Load a model or statistics from a file; "-" is standard input."""
    import classwise as cw

    with kept(path) as file:
        return cw.load(file)


def load_model(path: str) -> Any:
    """Load a fitted model from a file; for statistics, the error says how to make a model of them."""
    import classwise as cw

    value = load(path)
    if isinstance(value, cw.ClassStatistics):
        raise ClasswiseError(
            f"{called(path)} holds statistics, not a model; classwise fit {quote(path)} -o model.cw makes one of them."
        )
    return value


def model_within(model: Any) -> Any:
    """The model inside a Decision; any other model is returned as it is."""
    from classwise.estimators import model_within as found

    return found(model)


def load_statistics(path: str) -> Any:
    """Load statistics from a file; from a model's file, the statistics that the model was made from."""
    import classwise as cw

    value = load(path)
    if isinstance(value, cw.ClassStatistics):
        return value
    kept = getattr(model_within(value), "statistics_", None)
    if not isinstance(kept, cw.ClassStatistics):
        what = "a stack, whose members have statistics of their own kinds" if kept else "a model without its statistics"
        raise ClasswiseError(f"{called(path)} holds {what}.")
    return kept


def refuse_output(path: str, force: bool) -> None:
    """Raise an error, before any work, if the file exists, or if a model would be printed on a terminal."""
    from classwise.rows.sinks import refuse_existing, refuse_terminal

    refuse_existing(path, force)
    refuse_terminal(path, "A file of classwise")


def keep(value: Any, path: str, **options: Any) -> None:
    """Save a model or statistics, and say where; "-" is standard output."""
    from classwise.rows.sinks import STANDARD, writing
    from classwise.storage import as_bytes, save

    if path == STANDARD:
        with writing(path) as file:
            file.write(as_bytes(value, **options))
    else:
        save(value, path, **options)
    where = "on standard output" if path == STANDARD else f"in {path}"
    say(f"{_named(value)} {where}.")


def _named(value: Any) -> str:
    """What was saved, and its verb."""
    import classwise as cw
    from classwise.diagnostics.advice import counted

    if not isinstance(value, cw.ClassStatistics):
        return f"{' '.join(repr(value).split())} is"
    classes = "1 class" if len(value.labels) == 1 else f"{len(value.labels)} classes"
    return f"The statistics of {counted(value.rows, 'row')} in {classes} are"


def refuse_standard(path: str | None, option: str) -> None:
    """Raise an error if an option that needs a file names standard output."""
    if path == "-":
        raise ClasswiseError(f"{option} takes the name of a file, and - is standard output, where other things go.")


def find_label(text: str, labels: Any) -> Any:
    """The label with this text."""
    for label in labels.tolist():
        if str(label) == text:
            return label
    raise ClasswiseError(f"{text!r} is not a class; the classes are {', '.join(map(str, labels.tolist()))}.")
