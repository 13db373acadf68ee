"""Data frames of any library, through narwhals: what each column is, its values, labels; and frames made of values."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import NoneType
from typing import Any, Self

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

from classwise.arrays import DATES, Array, Codes, Labels, unmasked
from classwise.errors import ClasswiseError
from classwise.rows.codes import Coded, code_series, code_values, is_missing, pack_labels, whole_values
from classwise.rows.conversions import Moment, moment_of_objects
from classwise.rows.formats import marks_of
from classwise.rows.schema import Column, Conversion, Family, Schema
from classwise.rows.written_numbers import WrittenNumber, recognized


def open_frame(X: Any) -> "nw.DataFrame[Any] | None":
    """A frame of any library that narwhals knows; None, if it is no frame."""
    try:
        frame: Any = nw.from_native(X, pass_through=True, allow_series=True)
    except nw.exceptions.DuplicateError as problem:
        names = list(X.column_names if hasattr(X, "column_names") else X.columns)
        twice = next(name for name in names if names.count(name) > 1)
        raise ClasswiseError(
            f"Columns are distinguished by name, and several columns are called {twice!r}; rename or drop some of them."
        ) from problem
    if isinstance(frame, nw.LazyFrame):
        raise ClasswiseError("X is a lazy frame, whose rows are not here yet; give X.collect() instead.")
    if not isinstance(frame, (nw.DataFrame, nw.Series)) and hasattr(X, "__arrow_c_stream__"):
        frame = nw.from_arrow(X, backend="pyarrow")  # a stream of Arrow batches, which can be read once
    return frame if isinstance(frame, nw.DataFrame) else None


def made_dense(frame: "nw.DataFrame[Any]") -> "nw.DataFrame[Any]":
    """pandas' sparse columns, which narwhals does not know, as plain ones."""
    if nw.Unknown not in frame.schema.values() or not frame.implementation.is_pandas_like():
        return frame
    native = frame.to_native()
    plain = {name: dtype.subtype for name, dtype in native.dtypes.items() if hasattr(dtype, "fill_value")}
    return nw.from_native(native.astype(plain))


def of_no_kind(types: Mapping[Any, str]) -> ClasswiseError:
    """The error of columns that are neither numbers nor categories, by their types."""
    held = ", ".join(f"column {key!r} holds {type}" for key, type in types.items())
    them = "it" if len(types) == 1 else "them"
    return ClasswiseError(
        f"{held[0].upper()}{held[1:]}, which is neither a number nor a category; turn {them} into numbers or text, or "
        f"leave {them} out (--drop {','.join(map(str, types))} in the shell)."
    )


class ConvertedColumns(ABC):
    """Columns of text or dates that become numbers. Part of the rows is converted as all of them are."""

    _whole: Self | None = None  # itself would be a cycle, which keeps rows alive

    @cached_property
    def _conversions(self) -> dict[int, Conversion | None]:
        return {}

    def conversion(self, column: int) -> Conversion | None:
        """How the values of a column become numbers; None where they are numbers already, or never are."""
        if self._whole is not None:
            return self._whole.conversion(column)
        if column not in self._conversions:
            self._conversions[column] = self._conversion(column)
        return self._conversions[column]

    @abstractmethod
    def _conversion(self, column: int) -> Conversion | None: ...

    def _part_of(self, rows: Self) -> Self:
        self._whole = rows if rows._whole is None else rows._whole
        return self


class FrameSource(ConvertedColumns):
    """The columns of a frame."""

    def __init__(self, frame: "nw.DataFrame[Any]", texts: Mapping[str, Conversion] | None = None) -> None:
        self.backend: str | None = frame.implementation.value
        self.keys = list(frame.columns)
        self.names = tuple(self.keys) if all(isinstance(key, str) for key in self.keys) else None
        if self.names is None:  # pandas numbers columns that have no names
            frame = nw.from_native(frame.to_native().set_axis(list(map(str, range(len(self.keys)))), axis=1))
        self._dtypes: list[Any] = list(frame.schema.values())
        if nw.Unknown in self._dtypes:
            frame = made_dense(frame)
            self._dtypes = list(frame.schema.values())
        self.frame = frame
        self._coded: dict[int, Coded] = {}
        self._families: dict[int, Family | None] = {}
        self._texts = texts

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def missing(self) -> tuple[str, ...] | None:
        """What stood for a missing value in the file that the rows were read from; only Arrow tables have it."""
        return marks_of(self.frame.to_native()) if self.frame.implementation.is_pyarrow() else None

    def type(self, column: int) -> tuple[str, tuple[str, ...] | None]:
        """The type of a column as a schema writes it, and its declared order, where it has one."""
        dtype = self._dtype(column)
        if dtype == nw.Enum:
            return "Enum", tuple(getattr(dtype, "categories", ()))
        return (str(dtype) if dtype.is_numeric() or dtype == nw.Object else type(dtype).__name__), None

    def natural_family(self, column: int) -> Family | None:
        """The family that the type of a column stands for; None for a type that stands for none."""
        if column not in self._families:
            self._families[column] = self._natural_family(column)
        return self._families[column]

    def _natural_family(self, column: int) -> Family | None:
        dtype = self._dtype(column)
        # Without a single value nothing is known: a number by default, and whatever a later batch shows it to be.
        if dtype.is_numeric() or self._is_empty(column):
            return Family("gaussian")
        if dtype == nw.Boolean:
            return Family("bernoulli")
        if dtype in (nw.String, nw.Categorical, nw.Enum) or _is_moment(dtype):
            return Family("categorical")
        if dtype == nw.Object:
            return natural_family_of(self._series(column).to_numpy())
        return None

    def _is_empty(self, column: int) -> bool:
        """Whether a column has no value at all; text that was coded says so without another look."""
        if column in self._coded and self._dtype(column) == nw.String:
            return not self._coded[column].levels
        series = self._series(column)
        return bool(series.null_count() == len(series))

    def _conversion(self, column: int) -> Conversion | None:
        dtype = self._dtype(column)
        if _is_moment(dtype):
            return Moment(MOMENTS[dtype.base_type()], getattr(dtype, "time_zone", None) is not None)
        is_text = dtype == nw.String or (dtype == nw.Object and self.natural_family(column) == Family("categorical"))
        if is_text and self._texts is not None:
            return self._texts.get(str(self.keys[column]))
        if dtype == nw.Object:
            return conversion_of(self._series(column).to_numpy())
        return recognized(self.coded(column).levels) if is_text else None

    def converted(self, column: int, conversion: Conversion) -> Array:
        """A column as numbers, NaN where there is none; text and dates by a conversion, numbers as they are."""
        series, dtype, name = self._series(column), self._dtype(column), repr(self.keys[column])
        if dtype in (nw.String, nw.Categorical, nw.Enum):
            coded = self.coded(column)
            return conversion.numbers(np.array([*coded.names, None], dtype=object), name)[coded.codes]
        if dtype == nw.Datetime and getattr(dtype, "time_zone", None) is not None:
            series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        if dtype == nw.Decimal:
            series = series.cast(nw.Float64)
        return conversion.numbers(np.asarray(series.to_numpy()), name)

    def numbers(self, column: int) -> NDArray[Any]:
        """A column as numbers, NaN where there is none."""
        series, dtype = self._series(column), self._dtype(column)
        if dtype == nw.Decimal:
            series = series.cast(nw.Float64)
        return as_numbers(series.to_numpy(), repr(self.keys[column]))

    def coded(self, column: int) -> Coded:
        """A column as codes of its levels; cached."""
        if column not in self._coded:
            series = self._series(column)
            if _is_moment(series.dtype):
                series = nw.new_series("", _as_texts(series), nw.String, backend=series.implementation)
            values = code_values(series.to_numpy()) if series.dtype == nw.Object else code_series(series)
            self._coded[column] = values
        return self._coded[column]

    def take(self, part: slice | Codes) -> "FrameSource":
        """Some of the rows."""
        taken = FrameSource(self.frame[part])
        taken.keys, taken.names = self.keys, self.names
        return taken._part_of(self)

    def restrict(self, columns: Sequence[int]) -> "FrameSource":
        """Some of the columns; those that were coded stay coded."""
        part = FrameSource(self.frame.select([self.frame.columns[j] for j in columns]), self._texts)
        part.keys = [self.keys[j] for j in columns]
        part.names = None if self.names is None else tuple(part.keys)
        part._coded = {i: self._coded[j] for i, j in enumerate(columns) if j in self._coded}
        return part

    def _series(self, column: int) -> "nw.Series[Any]":
        return self._all_series[column]

    def _dtype(self, column: int) -> Any:
        return self._dtypes[column]

    @cached_property
    def _all_series(self) -> list["nw.Series[Any]"]:
        return list(self.frame.iter_columns())


# The types of dates and times.
MOMENTS: dict[Any, Any] = {nw.Date: "date", nw.Datetime: "datetime", nw.Time: "time", nw.Duration: "duration"}


def _is_moment(dtype: Any) -> bool:
    return dtype.base_type() in MOMENTS


def _as_texts(series: "nw.Series[Any]") -> list[str | None]:
    """Dates and times as ISO 8601 writes them, where they are to be levels."""
    return [None if is_missing(value) else str(value) for value in series.to_list()]


def conversion_of(values: NDArray[Any]) -> Conversion | None:
    """How a column of objects becomes numbers, where all are dates, or all text that says numbers or dates."""
    held = [item for item in values.tolist() if not is_missing(item)]
    if held and all(isinstance(item, str) for item in held):
        return recognized(set(held))
    return moment_of_objects(held)


def natural_family_of(values: NDArray[Any]) -> Family:
    """The family of a column of objects, by the types of its values: numbers, yes and no, or levels."""
    items, flags = values.tolist(), {bool, np.bool_}
    kinds = set(map(type, items))
    if any(issubclass(kind, str) for kind in kinds):
        return Family("categorical")
    only_flags = not kinds.isdisjoint(flags) and all(type(item) in flags or is_missing(item) for item in items)
    return Family("bernoulli" if only_flags else "gaussian")


def as_numbers(values: NDArray[Any], name: str) -> NDArray[Any]:
    """An array of numbers, NaN where there is none; an error that names the column, where it holds something else."""
    if values.dtype.kind in "fiub" and values.dtype.itemsize <= 8:
        return values
    if values.dtype.kind in DATES and np.isnat(values).all():
        return np.full(len(values), np.nan)
    try:
        return _objects_as_numbers(values) if values.dtype.kind == "O" else values.astype(np.float64)
    except (TypeError, ValueError) as problem:
        raise ClasswiseError(
            f"Column {name} is to be a number, and it holds something else ({problem}); turn it into numbers, or "
            f"take it for a category: families={{{name}: 'categorical'}}."
        ) from problem


def _objects_as_numbers(values: NDArray[Any]) -> Array:
    items = values.tolist()
    kinds = set(map(type, items))
    if kinds <= {int, float, NoneType}:
        return values.astype(np.float64)
    if not kinds.isdisjoint({np.datetime64, np.timedelta64}):  # NumPy would count days, or nanoseconds
        raise TypeError("dates are no numbers")
    return np.array([np.nan if is_missing(item) else item for item in items], dtype=object).astype(np.float64)


def make_frame(rows: Array, schema: Schema, levels: dict[int, Labels]) -> Any:
    """Rows (n, p) as a table of the types that the schema names; an array, where it names no library."""
    columns = [_values(rows[:, j], schema.columns[j], levels.get(j)) for j in range(len(schema))]
    if schema.backend is None:
        return _make_array(columns, schema, levels)
    names = schema.names or tuple(str(j) for j in range(len(schema)))
    backend: Any = schema.backend
    types = [_narwhals_type(column, levels.get(j), backend) for j, column in enumerate(schema)]
    made = zip(names, columns, types, strict=True)
    series = {name: _make_series(name, values, type, backend) for name, values, type in made}
    return nw.from_dict(series).to_native()


def _make_series(name: str, values: list[Any], type: Any, backend: Any) -> "nw.Series[Any]":
    if backend == "pandas" and type.is_integer() and None in values:
        type = nw.Float64()  # whole numbers of pandas have no place for a missing one
    if type == nw.Categorical:  # older versions of narwhals cannot make one for Arrow, but can cast
        return nw.new_series(name, values, nw.String(), backend=backend).cast(type)
    return nw.new_series(name, values, type, backend=backend)


def _make_array(columns: list[list[Any]], schema: Schema, levels: dict[int, Labels]) -> NDArray[Any]:
    """All yes and no in an array of such; numbers, also those taken for levels, in one of numbers; else of objects."""
    others = ["O" if isinstance(column.conversion, Moment) else "f" for column in schema]
    kinds = {levels[j].dtype.kind if j in levels else others[j] for j in range(len(columns))}
    only_flags = kinds == {"b"} and not any(None in values for values in columns)
    plain = bool if only_flags else np.float64 if kinds <= set("fiu") else object
    array = np.empty((len(columns[0]), len(columns)), dtype=plain)
    for j, values in enumerate(columns):
        array[:, j] = [np.nan if value is None else value for value in values]
    return array


def _values(values: Array, column: Column, levels: Labels | None) -> list[Any]:
    """A column's values as Python objects, None for missing; whole numbers within the range of their type."""
    if levels is not None:
        names = [*levels.tolist(), None]
        return [names[int(code)] for code in values]
    if column.conversion is not None:
        return [None if np.isnan(value) else column.conversion.value(value) for value in values.tolist()]
    if column.type.startswith(("Int", "UInt")):
        limits = np.iinfo(column.type.lower())
        values = np.clip(values, limits.min, limits.max)
        return [
            None if np.isnan(value) else min(max(round(value), limits.min), limits.max) for value in values.tolist()
        ]
    return [None if np.isnan(value) else value for value in values.tolist()]


def _narwhals_type(column: Column, levels: Labels | None, backend: str) -> Any:
    """The type of a sampled column: as it was, or a plain one where that cannot hold what was drawn."""
    if isinstance(column.conversion, WrittenNumber):
        return nw.Float64()
    if column.conversion is not None:
        moment = next(type for type, kind in MOMENTS.items() if kind == column.conversion.kind)
        if backend == "pandas" and moment in (nw.Date, nw.Time) and column.type != moment.__name__:
            return nw.Object()  # pandas has no such type of its own
        return nw.Datetime(time_zone="UTC") if column.conversion.zoned else moment()
    if column.type in ("Date", "Datetime", "Time", "Duration"):  # taken for levels, which are text
        return nw.String()
    if column.type == "Enum" and column.declared is not None:
        return nw.Enum(column.declared)
    if column.type in ("Object", "Unknown") or column.type.startswith("Decimal"):
        kind = "f" if levels is None else levels.dtype.kind
        return {"b": nw.Boolean(), "O": nw.String(), "i": nw.Int64()}.get(kind, nw.Float64())
    return getattr(nw, column.type)()


# Labels, from arrays, lists and columns, as an array of the type that their values have -------------------------------


def read_labels(y: Any) -> tuple[Labels, NDArray[np.bool_] | None]:
    """The labels (n,), and which are missing, if some are: whatever stands there has no meaning.

    >>> read_labels([1, None, 2])
    (array([1, 1, 2]), array([False,  True, False]))
    """
    if isinstance(y, str):
        raise ClasswiseError(f"y is the text {y!r}, not a label for each row; give the labels, as in y=table[{y!r}].")
    if type(y) is not np.ndarray:
        series = _as_series(y)
        if series is not None:
            return _read_series(series)
        y = _as_array(unmasked(y))
    labels = y if y.ndim == 1 else np.asarray(column_or_1d(y, warn=True))
    if labels.dtype.kind == "O":
        return _read_objects(labels)
    missing = np.isnan(labels) if labels.dtype.kind == "f" else np.isnat(labels) if labels.dtype.kind in DATES else None
    return labels, missing if missing is not None and missing.any() else None


def _as_series(y: Any) -> "nw.Series[Any] | None":
    """A column of any library, or the one column of a frame."""
    if isinstance(y, (list, tuple, np.ndarray)):
        return None
    series = nw.from_native(y, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return series
    if hasattr(y, "__arrow_c_array__") and not hasattr(y, "__arrow_c_stream__"):
        import pyarrow as pa

        return nw.from_native(pa.chunked_array([pa.array(y)]), series_only=True)
    frame = open_frame(y)
    if frame is None:
        return None
    column_or_1d(np.empty(frame.shape, dtype=bool), warn=True)  # says what it says of arrays
    return frame[:, 0]


def _read_series(series: "nw.Series[Any]") -> tuple[Labels, NDArray[np.bool_] | None]:
    if series.dtype == nw.Boolean or series.dtype.is_integer():
        return whole_values(series)
    if series.dtype not in (nw.String, nw.Categorical, nw.Enum):
        return read_labels(np.asarray(series.to_native()))
    coded = code_series(series)
    missing = np.array([*map(is_missing, coded.names), True])[coded.codes]
    names = pack_labels([*coded.names] or [None])
    names = names.astype(object) if names.dtype.kind == "f" else names  # who declares fractions categories has classes
    return names[coded.codes], missing if missing.any() else None


def _as_array(y: Any) -> NDArray[Any]:
    """A list as an array: integers mixed with NaN, or with very large ones, stay what they are."""
    values = np.asarray(y)
    return np.array(y, dtype=object) if isinstance(y, (list, tuple)) and values.dtype.kind == "f" else values


def _read_objects(labels: Labels) -> tuple[Labels, NDArray[np.bool_] | None]:
    """Objects that are all yes and no, or all numbers, as such."""
    distinct = set(labels.tolist())
    present = [label for label in distinct if not is_missing(label)]
    missing = None
    if len(present) < len(distinct):
        missing = np.array([is_missing(label) for label in labels.tolist()])
    dtype = pack_labels(present).dtype
    if dtype.kind == "O":
        return labels, missing
    return (labels if missing is None else np.where(missing, present[0], labels)).astype(dtype), missing
