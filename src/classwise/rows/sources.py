"""Sources in memory: arrays, and any frame that narwhals knows, which are read as tables."""

import warnings
from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils.validation import check_array

from classwise.arrays import DATES, Array, Codes, Labels, unmasked
from classwise.errors import ClasswiseError, MissingLabelWarning
from classwise.rows.codes import Coded, code_values
from classwise.rows.conversions import Moment, array_kind
from classwise.rows.device_rows import (
    DeviceLabels,
    DeviceMatrix,
    is_on_device,
    read_device_labels,
    read_device_rows,
    to_host,
)
from classwise.rows.frames import (
    ConvertedColumns,
    FrameSource,
    as_numbers,
    conversion_of,
    natural_family_of,
    of_no_kind,
    open_frame,
    read_labels,
)
from classwise.rows.schema import Column, Conversion, Families, Family, Schema, family_of_sparse, read_families
from classwise.rows.sparse import SparseRows, SparseValues, is_sparse, read_sparse, refuse_sparse
from classwise.rows.table import Columns, Matrix, Table, TableRows


class Values(Protocol):
    """Where columns come from."""

    backend: str | None
    keys: list[Any]
    names: tuple[str, ...] | None

    @property
    def missing(self) -> tuple[str, ...] | None: ...

    def __len__(self) -> int: ...

    def type(self, column: int) -> tuple[str, tuple[str, ...] | None]: ...

    def natural_family(self, column: int) -> Family | None: ...

    def conversion(self, column: int) -> Conversion | None: ...

    def numbers(self, column: int) -> NDArray[Any]: ...

    def converted(self, column: int, conversion: Conversion) -> Array: ...

    def coded(self, column: int) -> Coded: ...

    def take(self, part: slice | Codes) -> Self: ...

    def restrict(self, columns: Sequence[int]) -> Self: ...


# What the values of an array are taken for, and what that is called in a schema.
GAUSSIAN = Family("gaussian")
ARRAY_FAMILIES = {"b": Family("bernoulli")}
ARRAY_TYPES = {"gaussian": "Float64", "bernoulli": "Boolean", "categorical": "Object"}


class ArraySource(ConvertedColumns):
    """The columns of an array: numbers, yes and no, dates, or objects."""

    backend: str | None = None
    missing: tuple[str, ...] | None = None

    def __init__(self, values: NDArray[Any], names: tuple[str, ...] | None = None) -> None:
        self.values = values
        self.names = names
        self.keys: list[Any] = list(names or range(values.shape[1]))
        self._families: dict[int, Family] = {}

    def __len__(self) -> int:
        return len(self.values)

    def type(self, column: int) -> tuple[str, None]:
        return ARRAY_TYPES[self.natural_family(column).name], None

    def natural_family(self, column: int) -> Family:
        """The family that the values of a column stand for."""
        if column not in self._families:
            kind = self.values.dtype.kind
            objects = natural_family_of(self.values[:, column]) if kind == "O" else None
            self._families[column] = objects or ARRAY_FAMILIES.get(kind, GAUSSIAN)
        return self._families[column]

    def _conversion(self, column: int) -> Conversion | None:
        values = self.values[:, column]
        if values.dtype.kind in DATES:
            return None if np.isnat(values).all() else Moment(array_kind(values.dtype))
        return conversion_of(values) if values.dtype.kind == "O" else None

    def numbers(self, column: int) -> NDArray[Any]:
        return as_numbers(self.values[:, column], str(column))

    def converted(self, column: int, conversion: Conversion) -> Array:
        return conversion.numbers(self.values[:, column], repr(self.keys[column]))

    def coded(self, column: int) -> Coded:
        return code_values(self.values[:, column])

    def take(self, part: slice | Codes) -> "ArraySource":
        return ArraySource(self.values[part], self.names)._part_of(self)

    def restrict(self, columns: Sequence[int]) -> "ArraySource":
        names = None if self.names is None else tuple(self.names[j] for j in columns)
        return ArraySource(self.values[:, columns], names)


class Source:
    """Rows whose columns are known by name, and not yet read."""

    def __init__(self, values: Values | SparseValues) -> None:
        self.values: Any = values
        self.names = values.names
        self.n_features = len(values.keys)

    def take(self, part: slice | Codes) -> "Source":
        """Some of the rows, as a source of their own."""
        return type(self)(self.values.take(part))

    def restrict(self, columns: Sequence[int]) -> "Source":
        """Some of the columns, as a source of their own."""
        return type(self)(self.values.restrict(columns))

    def read(
        self,
        families: Families = "auto",
        y: Any = None,
        weights: Any = None,
        strict: bool = False,
        known: Sequence[Column | None] = (),
    ) -> Table:
        """As a table, to learn from.

        known: what rows learned from before have shown columns to be, None where they have not. strict: a missing
        label is an error.
        """
        schema, length = self._schema(families, known), len(self.values)
        rows, levels = self._rows(schema, None)
        labels, labeled = (None, None) if y is None else _read_labels(self._near(y), length, strict)
        return Table(rows, schema, levels, labels, _read_weights(weights, length, labeled))

    def read_like(self, schema: Schema, levels: dict[int, Labels], y: Any = None, weights: Any = None) -> Table:
        """As a table of rows that a model can score: the same families, categories as positions among its levels."""
        rows = self._sparse_rows(schema) if schema.is_sparse else self._rows(schema, levels)[0]
        labels, known = (None, None) if y is None else _read_labels(self._near(y), len(self.values), strict=False)
        return Table(rows, schema, levels, labels, _read_weights(weights, len(self.values), known))

    def _near(self, y: Any) -> Any:
        """Labels of a device: there, where the rows are there too."""
        if isinstance(y, np.ndarray):
            return y
        held = isinstance(self.values, ArraySource) and isinstance(self.values.values, DeviceMatrix)
        return (read_device_labels(y) if held else to_host(y)) if is_on_device(y) else y

    def _schema(self, families: Families, known: Sequence[Column | None]) -> Schema:
        values = self.values
        plain = isinstance(values, ArraySource) and values.values.dtype.kind in "fiu" and values.names is None
        if plain and not known and isinstance(families, str) and families == "auto":
            return Schema.of_numbers(self.n_features, ARRAY_TYPES["gaussian"])
        return Schema(tuple(self._columns(families, known)), values.backend, values.missing)

    def _columns(self, families: Families, known: Sequence[Column | None]) -> list[Column]:
        seen = {j: column for j, column in enumerate(known) if column is not None}
        others = [j for j in range(self.n_features) if j not in seen]
        by_name = not isinstance(families, str)
        chosen = read_families(families, self.values.keys, ())
        rules = {j: None if j in chosen and chosen[j].has_levels else self.values.conversion(j) for j in others}
        natural = self._natural(others, rules)
        if isinstance(families, str):
            numbers = [j in natural and not natural[j].has_levels for j in range(self.n_features)]
            chosen = read_families(families, self.values.keys, numbers)
        types = [self.values.type(j) for j in range(self.n_features)]
        columns = []
        for j, (type, declared) in enumerate(types):
            name = None if self.names is None else self.names[j]
            family, given, rule = chosen.get(j, natural.get(j)), by_name and j in chosen, rules.get(j)
            if j in seen:
                family, given, rule = seen[j].family, seen[j].asked, seen[j].conversion
            assert family is not None
            columns.append(Column(name, type, family, given, declared, j, rule))
        return columns

    def _natural(self, columns: Sequence[int], rules: Mapping[int, Conversion | None]) -> dict[int, Family]:
        """The families that types and values stand for; an error names all columns that stand for none."""
        found = {j: GAUSSIAN if rules[j] else self.values.natural_family(j) for j in columns}
        refused = {self.values.keys[j]: self.values.type(j)[0] for j, family in found.items() if family is None}
        if refused:
            raise of_no_kind(refused)
        return {j: family for j, family in found.items() if family is not None}

    def _rows(self, schema: Schema, known: dict[int, Labels] | None) -> tuple[TableRows, dict[int, Labels]]:
        if isinstance(self.values, ArraySource) and not schema.levels and self.values.values.dtype.kind in "fiub":
            held: Any = self.values.values
            return held if isinstance(held, DeviceMatrix) else Matrix(held), {}
        levels, placed = {}, {}
        for j in schema.levels:
            coded, key = self.values.coded(j), self.values.keys[j]
            if known is None:
                levels[j] = coded.sorted_levels(f"column {key!r}")
            else:
                levels[j] = known[j]
                _refuse_other_kind(coded, known[j], key)
            placed[j] = coded.among(levels[j])
        columns = [placed[j] if j in placed else self._numbers(j, column) for j, column in enumerate(schema.columns)]
        return Columns(columns), levels

    def _sparse_rows(self, schema: Schema) -> SparseRows:
        """As the rows of a sparse matrix, for a model that was fitted on one."""
        values = self.values
        plain = isinstance(values, ArraySource) and values.values.dtype.kind in "fiub"
        rows = values.values if plain else np.column_stack([values.numbers(j) for j in range(self.n_features)])
        return SparseRows.of(read_sparse(csr_array(np.asarray(rows))), schema)

    def _numbers(self, j: int, column: Column) -> NDArray[Any]:
        if column.conversion is not None:
            return self.values.converted(j, column.conversion)
        natural, found = self.values.natural_family(j), self.values.conversion(j)
        if natural == GAUSSIAN and found is None:
            return self.values.numbers(j)
        is_text = natural is not None and natural.kind == "category"
        if is_text and found is None and not self.values.coded(j).levels:
            return np.full(len(self.values), np.nan)
        if found is not None and np.isnan(empty := self.values.converted(j, found)).all():
            return empty
        if is_text or found is not None:
            raise ClasswiseError(
                f"Column {self.values.keys[j]!r} is to be a {column.family.kind} ({column.family}), and it holds "
                f"{'text' if found is None else found.what}; turn it into numbers, or take it for a category when "
                "fitting."
            )
        return self.values.numbers(j)


class SparseSource(Source):
    """The rows of a sparse matrix: columns without names, all of one family."""

    def _schema(self, families: Families, known: Sequence[Column | None]) -> Schema:
        return Schema.of_sparse(self.n_features, family_of_sparse(families))

    def _rows(self, schema: Schema, known: dict[int, Labels] | None) -> tuple[TableRows, dict[int, Labels]]:
        if not schema.is_sparse:
            raise ClasswiseError(
                "X is a sparse matrix, and the model was fitted on dense rows; give X.toarray(), or fit it on a sparse "
                "matrix."
            )
        return self._sparse_rows(schema), {}

    def _sparse_rows(self, schema: Schema) -> SparseRows:
        return SparseRows.of(self.values, schema)


def _refuse_other_kind(coded: Coded, levels: Labels, key: Any) -> None:
    """Text where there were numbers, or numbers where there was text, is no new level but another column."""
    given, known = coded.levels[:1], levels.tolist()[:1]
    if given and known and isinstance(given[0], str) != isinstance(known[0], str):
        held, was = (_sort_of(value[0]) for value in (given, known))
        raise ClasswiseError(f"Column {key!r} holds {held}, such as {given[0]!r}, and it held {was} during fit.")


def _sort_of(level: Any) -> str:
    if isinstance(level, str):
        return "text"
    return "yes and no" if isinstance(level, (bool, np.bool_)) else "numbers"


def open_source(X: Any, texts: Mapping[str, Conversion] | None = None, sparse: bool = False) -> Source:
    """An array, or any frame that narwhals knows (pandas, polars, pyarrow, ...), ready to be read.

    texts: the columns of text that hold dates or numbers, where that was decided before; by default, values decide.
    sparse: whether a sparse matrix will do.
    A source is returned as it is: a server passes one whose columns it has checked.
    """
    if isinstance(X, Source):
        return X
    if isinstance(X, np.ndarray):
        return Source(ArraySource(_read_array(X)))
    if is_sparse(X):
        return SparseSource(read_sparse(X)) if sparse else refuse_sparse()
    if is_on_device(X):
        there = read_device_rows(X)
        rows: Any = there if isinstance(there, DeviceMatrix) else _read_array(there)
        return Source(ArraySource(rows))
    frame = open_frame(X)
    if frame is None:
        return Source(ArraySource(_read_array(X)))
    if not all(frame.shape):
        check_array(np.empty(frame.shape, dtype=bool))  # no rows, no columns: the same message as for arrays
    return Source(FrameSource(frame, texts))


def open_asked(X: Any, names: tuple[str, ...] | None, sparse: bool = False) -> Source:
    """The rows of a prediction: as they were at fit, or one row as a Series or a mapping from its columns."""
    is_row = (isinstance(X, Mapping) or _is_named_row(X)) and not is_sparse(X)
    return open_row(X, names) if is_row else open_source(X, sparse=sparse)


def _is_named_row(row: Any) -> bool:
    return hasattr(row, "to_dict") and getattr(row, "ndim", 2) == 1


def open_row(row: Any, names: tuple[str, ...] | None, sparse: bool = False) -> Source:
    """One row: a table of one row, a mapping from column to value, or the values in order."""
    if is_sparse(row):
        return open_source(row, sparse=sparse)
    if _is_named_row(row):
        row = row.to_dict()
    if isinstance(row, Mapping):
        row = list(row.values()) if names is None else _in_order(row, names)
    if not isinstance(row, (list, tuple, np.ndarray)) or np.ndim(np.asarray(row, dtype=object)) != 1:
        return open_source(row)
    values = np.empty((1, len(row)), dtype=object)
    values[0] = list(row)
    return Source(ArraySource(values, names if names is not None and len(names) == len(row) else None))


def _in_order(row: Mapping[str, Any], names: tuple[str, ...]) -> list[Any]:
    """The values of a row, each column with one."""
    for name in names:
        if name not in row:
            raise ClasswiseError(f"The row lacks the column {name!r}; give every column a value, None if missing.")
        if isinstance(row[name], (list, tuple, np.ndarray)):
            raise ClasswiseError(
                f"A mapping is one row, and it holds a {type(row[name]).__name__} in column {name!r}; for several rows "
                "give a table."
            )
    return [row[name] for name in names]


def read_table(
    X: Any, y: Any = None, weights: Any = None, families: Families = "auto", strict: bool = False, sparse: bool = False
) -> Table:
    """Rows, labels and weights as a table; sparse: whether a sparse matrix will do.

    >>> import pandas as pd
    >>> table = read_table(pd.DataFrame({"length": [1, 2], "color": ["red", "blue"]}), ["a", "b"])
    >>> table.schema.names, table.rows
    (('length', 'color'), array([[1., 1.],
           [2., 0.]]))
    """
    return open_source(X, sparse=sparse).read(families, y, weights, strict)


def read_counted(
    X: Any, y: Any, weights: Any = None, families: Families = "auto", strict: bool = False, sparse: bool = False
) -> tuple[Source, Table, NDArray[np.bool_]]:
    """The rows that count, as a source and as a table, and which of all rows (n,) they are.

    A row of weight zero, or without a label, is no row: folds must not see it, nor its levels.
    """
    source = open_source(X, sparse=sparse)
    table = source.read(families, y, weights, strict)
    counted = np.ones(len(table), dtype=bool) if table.weights is None else table.weights > 0
    if counted.all():
        return source, table, counted
    kept = table.weighted()
    source = source.take(np.flatnonzero(counted))
    return source, source.read(families, kept.labels, kept.weights, strict), counted


def _read_array(X: Any) -> NDArray[Any]:
    if type(X) is np.ndarray and X.ndim == 2 and X.size and X.dtype.kind in "fiub" and X.dtype.itemsize <= 8:
        return X  # what scikit-learn's check would say yes to, which takes longer than fitting a small table
    # NumPy would make text of numbers mixed with text, and numbers of yes and no mixed with numbers.
    values = np.array(X, dtype=object) if isinstance(X, (list, tuple)) else unmasked(X)
    kind = values.dtype.kind if isinstance(values, np.ndarray) else ""
    if kind in (*"OUST", *DATES):
        objects = values if kind in DATES else values.astype(object)
        return _simplest(check_array(objects, dtype=None, ensure_all_finite=False, input_name="X"))
    rows = check_array(values, dtype="numeric", ensure_all_finite=False, input_name="X")
    return rows if rows.dtype.kind in "fiub" and rows.dtype.itemsize <= 8 else rows.astype(np.float64)


def _simplest(values: NDArray[Any]) -> NDArray[Any]:
    """Objects that are all of one kind, as an array of that kind."""
    kinds = set(map(type, values.ravel().tolist())) if values.dtype.kind == "O" else set()
    if kinds and kinds <= {float, NoneType}:
        return values.astype(np.float64)
    simple = {frozenset({bool}): np.bool_, frozenset({int}): np.int64}.get(frozenset(kinds))
    try:
        return values if simple is None else values.astype(simple)
    except OverflowError:  # integers beyond 2**63
        return values


def required(y: Any) -> Any:
    """The labels themselves, or an error where there are none."""
    if y is None:
        raise ClasswiseError("This estimator requires y to be passed, but the target y is None.")
    return y


def _read_labels(y: Any, length: int, strict: bool) -> tuple[Any, NDArray[np.bool_] | None]:
    """The labels, and which rows have one, where not all do."""
    labels: Any
    labels, missing = (y, None) if isinstance(y, DeviceLabels) else read_labels(y)
    if len(labels) != length:
        raise ClasswiseError(f"X has {length} rows and y has {len(labels)} labels; every row needs one label.")
    if missing is None:
        return labels, None
    count = int(missing.sum())
    if strict:
        raise ClasswiseError(f"y contains missing labels in {count} rows; remove those rows or give them a label.")
    if count == length:
        raise ClasswiseError("y contains missing labels in every row, so there is nothing to learn from.")
    warnings.warn(f"{count} of {length} rows have no label and were left out.", MissingLabelWarning, stacklevel=5)
    return np.where(missing, labels[~missing][:1], labels), ~missing  # their weight will be zero


def _read_weights(weights: Any, length: int, labeled: NDArray[np.bool_] | None) -> Array | None:
    """The weights, zero for rows without a label."""
    if weights is None:
        return None if labeled is None else labeled.astype(np.float64)
    values = np.asarray(unmasked(to_host(weights)), dtype=np.float64)
    if values.ndim == 0:
        values = np.full(length, float(values))
    if values.shape != (length,):
        raise ClasswiseError(f"X has {length} rows and weights have shape {values.shape}; every row needs one weight.")
    bad = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if len(bad):
        raise ClasswiseError(f"Weights must be finite and not negative; row {bad[0]} has weight {values[bad[0]]}.")
    if not values.any():
        raise ClasswiseError("Every weight is zero, so there are no rows to learn from.")
    return values if labeled is None else values * labeled
