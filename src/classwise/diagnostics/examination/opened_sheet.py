"""The sheet, from rows wherever they are: at most some number of them, with their labels."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from classwise import limits
from classwise.arrays import Array, Labels
from classwise.diagnostics.examination.examination import NUMBER, Remedies
from classwise.diagnostics.examination.sheet import Sheet, SheetColumn
from classwise.engines.drawn_rows import Drawing
from classwise.engines.rows import Rows, open_rows, own_engine
from classwise.errors import ClasswiseError
from classwise.rows.codes import code_values
from classwise.rows.files import TEXTS, RowFile
from classwise.rows.formats import MISSING, find_format
from classwise.rows.frames import read_labels
from classwise.rows.roles import Roles, as_frame, read_weights
from classwise.rows.schema import find_column, read_families
from classwise.rows.sources import Source, open_source
from classwise.rows.streams import FilePiece, Stream


@dataclass(frozen=True, eq=False)
class LabeledSample:
    """Rows in memory with their labels. known: which rows have one; class_weight: of each label in all rows, where
    these are a sample of more; total, unlabeled: how many rows have a label, and how many have none, in all.
    """

    source: Source
    labels: Labels
    known: NDArray[np.bool_]
    weights: Array | None
    total: int
    unlabeled: int
    class_weight: dict[Any, float] | None = None

    @classmethod
    def of(cls, source: Source, y: Any, weights: Array | None) -> "LabeledSample":
        labels, absent = read_labels(y)
        if len(labels) != len(source.values):
            raise ClasswiseError(f"X has {len(source.values)} rows and y has {len(labels)} labels; give each row one.")
        known = np.ones(len(labels), dtype=bool) if absent is None else ~absent
        unlabeled = int(np.count_nonzero(~known))
        if weights is not None and weights.shape != labels.shape:
            raise ClasswiseError(f"X has {len(labels)} rows and sample_weight has shape {weights.shape}.")
        if weights is not None:
            known = known & (weights > 0)
        if not known.any():
            raise ClasswiseError("No row has a label, so there is nothing to examine.")
        return cls(source, labels, known, weights, int(np.count_nonzero(known)), unlabeled)


def rows_examined(columns: int) -> int:
    """How many rows are looked at, of a table with this many columns."""
    return max(limits.EXAMINED_ROWS, limits.EXAMINED_VALUES // max(columns, 1))


def open_sheet(
    X: Any,
    y: Any,
    target: str | None,
    weights: str | None,
    sample_weight: Any,
    columns: Sequence[Any] | None,
    families: Any,
    missing: Sequence[str] | None,
    seed: int,
) -> Sheet:
    """The sheet of what `examine` was given."""
    X, twice = _with_unique_names(X)
    remedies = None
    if y is not None:
        if weights is not None:
            raise ClasswiseError(f"weights={weights!r} names a column, as target does: beside y give sample_weight.")
        labeled = LabeledSample.of(open_source(X), y, _weights(sample_weight))
        name = getattr(y, "name", None)
        target = target or (name if isinstance(name, str) else None)
    elif target is None:
        raise ClasswiseError("y is missing: give the labels, or target='...', the name of the column of them.")
    else:
        labeled, remedies = _of_source(X, target, weights, sample_weight, columns, families, missing, seed)
        columns = None
    if missing is not None and remedies is None:
        raise ClasswiseError("missing says what stands for a missing value in files; put nothing there in a table.")
    return _sheet(labeled, target, columns, families, remedies, seed, twice)


def _weights(sample_weight: Any) -> Array | None:
    return None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)


def _with_unique_names(X: Any) -> tuple[Any, tuple[str, ...]]:
    """A frame of pandas that has two columns of one name, with a number after the second; and which names those are."""
    names = X.columns if hasattr(X, "set_axis") and not own_engine(X) else None
    if names is None or getattr(names, "is_unique", True):
        return X, ()
    seen: dict[Any, int] = {}
    unique = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        unique.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return X.set_axis(unique, axis=1), tuple(str(name) for name, count in seen.items() if count > 1)


def _of_source(
    X: Any,
    target: str,
    weights: str | None,
    sample_weight: Any,
    columns: Sequence[Any] | None,
    families: Any,
    missing: Sequence[str] | None,
    seed: int,
) -> tuple[LabeledSample, Remedies | None]:
    """Rows whose labels are one of their columns: a table in memory, or any source."""
    frame: Any = None if own_engine(X) else nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        roles = Roles.read(frame.columns, target, columns, weights, "the table")
        return _parted(frame, roles, _weights(sample_weight)), None
    if sample_weight is not None:
        raise ClasswiseError("sample_weight goes with a table in memory: name the column of weights by weights='...'.")
    rows = open_rows(X, target=target, columns=columns, weights=weights, families=families, missing=missing)
    whole = rows.whole()
    labeled = _parted(whole, rows.roles, None) if whole is not None else _drawn(rows, seed)
    return labeled, _remedies(rows, labeled, missing)


def _parted(frame: Any, roles: Roles, sample_weight: Array | None) -> LabeledSample:
    own = sample_weight if roles.weights is None else read_weights(frame[roles.weights], roles.weights)
    features = open_source(frame.select(list(roles.features)).to_native())
    return LabeledSample.of(features, frame[roles.target].to_native(), own)


def _drawn(rows: Rows, seed: int) -> LabeledSample:
    """A uniform sample of rows that are too many to be held, in one pass."""
    rows.refuse_gone("An examination of so many rows")
    size = rows_examined(len(rows.roles.features))
    drawn = rows.gather(Drawing(rows.roles, size, 0, seed), "Drawing rows", numbered=True)
    if drawn is None or not drawn.weight:
        raise ClasswiseError(f"There are no rows to examine in {rows.name}.")
    labeled = _parted(as_frame(drawn.table()), rows.roles, None)
    total = drawn.rows - drawn.unlabeled
    return LabeledSample(
        labeled.source, labeled.labels, labeled.known, labeled.weights, total, drawn.unlabeled, drawn.weight
    )


def _remedies(rows: Rows, labeled: LabeledSample, missing: Sequence[str] | None) -> Remedies:
    opened = rows.open()
    path = next((piece.file.path for piece in _pieces(opened) if isinstance(piece, FilePiece)), None)
    is_text = path is not None and find_format(path)[0] in TEXTS
    marks = partial(marks_within, str(path), missing) if is_text else partial(_beside, missing or ())
    return Remedies(labeled.source.values.backend, path, rows.roles.features, marks)


def _pieces(opened: Any) -> Sequence[Any]:
    return opened.pieces if isinstance(opened, Stream) else ()


def _beside(others: Sequence[str], marks: Sequence[str]) -> list[str]:
    """These marks and others, each once."""
    return list(dict.fromkeys([*marks, *others]))


def marks_within(path: str, missing: Sequence[str] | None, marks: Sequence[str]) -> list[str]:
    """Marks as a text file writes them, -999.0 for -999, and those that stand for a missing value there already.

    Marks that are named replace the usual ones, so a list of marks must name those as well.
    """
    names = RowFile(path).names()
    batch = next(RowFile(path, missing=(), text=frozenset(names)).batches(), None)
    there = set() if batch is None else {text for column in batch.columns for text in column.unique().to_pylist()}
    numbers = {float(mark) for mark in marks if NUMBER.fullmatch(mark)}
    same = [text for text in there if text and numbers and NUMBER.fullmatch(text) and float(text) in numbers]
    words = [mark for mark in marks if not same or not NUMBER.fullmatch(mark)]
    return _beside(missing or [mark for mark in MISSING if mark in there], [*words, *sorted(same)])


def _sheet(
    labeled: LabeledSample,
    target: str | None,
    columns: Sequence[Any] | None,
    families: Any,
    remedies: Remedies | None,
    seed: int,
    twice: tuple[str, ...],
) -> Sheet:
    places = np.flatnonzero(labeled.known)
    keys = labeled.source.values.keys
    chosen = list(range(len(keys))) if columns is None else [find_column(key, keys, "columns") for key in columns]
    names, class_rows, class_weight = _classes(labeled, places)
    most = rows_examined(len(chosen))
    if len(places) > most:
        places = np.sort(np.random.default_rng(seed).choice(places, most, replace=False))
    rows = labeled.source if len(places) == len(labeled.known) else labeled.source.take(places)
    coded = code_values(labeled.labels[places])
    position = {label: k for k, label in enumerate(names)}
    y = np.array([position[label] for label in coded.names], dtype=np.intp)[coded.codes]
    given = read_families(families, keys, [False] * len(keys))
    return Sheet(
        target=target or "y",
        columns=tuple(SheetColumn.read(rows.values, j, given) for j in chosen),
        labels=np.array(names, dtype=object),
        y=y,
        class_rows=class_rows,
        class_weight=class_weight,
        total=labeled.total,
        unlabeled=labeled.unlabeled,
        remedies=remedies or _remedies_in_memory(labeled.source),
        seed=seed,
        twice=twice,
    )


def _classes(labeled: LabeledSample, places: Any) -> tuple[list[Any], Array, Array]:
    """The labels in order, and the rows and the weight of each, in all rows."""
    if labeled.class_weight is not None:
        names = _ordered(labeled.class_weight)
        weight = np.array([labeled.class_weight[name] for name in names])
        return names, weight, weight
    coded = code_values(labeled.labels[places])
    names = _ordered(coded.names)
    order = [coded.names.index(name) for name in names]
    rows = np.bincount(coded.codes, minlength=len(order))[order].astype(np.float64)
    weights = None if labeled.weights is None else labeled.weights[places]
    return names, rows, np.bincount(coded.codes, weights, minlength=len(order))[order].astype(np.float64)


def _ordered(labels: Any) -> list[Any]:
    try:
        return sorted(labels)
    except TypeError:  # labels of several types
        return sorted(labels, key=str)


def _remedies_in_memory(source: Source) -> Remedies:
    """A table that was read from a file knows its marks; which of them it had, it does not: NA is the most usual."""
    values = source.values
    known = None if values.backend != "pyarrow" else values.missing
    return Remedies(values.backend, marks=partial(_beside, ("NA",) if known == MISSING else known or ()))
