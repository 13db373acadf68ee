"""Sparse rows: a scipy matrix of mostly zeros, such as the counts of words in documents. It never becomes dense.

Its p columns are alike: they have one family and no names. A value that is not stored is 0, and so is a stored 0. For
"bernoulli" a value is whether it is there: 1 for every number above 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from classwise.arrays import Array, Codes
from classwise.errors import ClasswiseError
from classwise.rows.schema import FOR_SPARSE, Schema

# What a family can take, besides zeros, in words and as the least value.
LEAST = {"gaussian": ("finite numbers", -np.inf), "poisson": ("whole numbers from 0 on", 0.0)}
COUNTED = ("numbers from 0 on", 0.0)


def is_sparse(X: Any) -> bool:
    """Whether X is a sparse matrix or array of scipy."""
    return bool(issparse(X))


def refuse_sparse() -> NoReturn:
    """The error of everything that takes dense rows only."""
    raise ClasswiseError(
        "X is a sparse matrix, and this takes dense rows: X.toarray(), if memory allows. Sparse rows are for "
        f"NaiveBayes, with one family for all columns: {', '.join(map(repr, FOR_SPARSE))}."
    )


@dataclass(frozen=True, eq=False)
class SparseValues:
    """The columns of a sparse matrix (n, p), as a source of rows has them."""

    matrix: Any

    backend = None
    names = None
    missing = None

    @property
    def keys(self) -> range:
        """The columns, by position."""
        return range(self.matrix.shape[1])

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def take(self, part: slice | Codes) -> "SparseValues":
        """Some of the rows."""
        return SparseValues(self.matrix[part])


def read_sparse(X: Any) -> SparseValues:
    """Any sparse matrix of numbers as rows in float64, each place stored once; X itself is left as it is."""
    if X.ndim != 2 or not all(X.shape):
        raise ClasswiseError(f"X must have rows and columns, and this sparse array has shape {X.shape}.")
    if X.dtype.kind not in "fiub":
        raise ClasswiseError(f"X is a sparse matrix of {X.dtype}; give one of numbers, such as X.astype(float).")
    matrix = csr_array(X, dtype=np.float64)
    if not (X.format == "csr" and X.has_canonical_format):
        matrix = matrix.copy() if np.shares_memory(matrix.indices, getattr(X, "indices", matrix.data)) else matrix
        matrix.sum_duplicates()
    return SparseValues(matrix)


@dataclass(frozen=True, eq=False)
class SparseRows:
    """Rows of a table that are a sparse matrix (n, p)."""

    values: Any

    @classmethod
    def of(cls, held: SparseValues, schema: Schema) -> "SparseRows":
        """The rows as a family takes them; an error names a column with a value that it cannot take."""
        family = schema.columns[0].family.name
        _refuse_unsuitable(held.matrix, schema, *LEAST.get(family, COUNTED))
        fractions = held.matrix.data != np.floor(held.matrix.data) if family == "poisson" else np.zeros(1, dtype=bool)
        if fractions.any():
            _refuse(held.matrix, fractions, schema, LEAST[family][0])
        if family != "bernoulli":
            return cls(held.matrix)
        there = (held.matrix.data > 0).astype(np.float64)
        return cls(csr_array((there, held.matrix.indices, held.matrix.indptr), shape=held.matrix.shape))

    def __len__(self) -> int:
        return int(self.values.shape[0])

    def take(self, part: Any) -> "SparseRows":
        if not isinstance(part, slice) or part.step not in (None, 1):
            return SparseRows(self.values[part])
        # Consecutive rows store consecutive values; scipy's own way to take them is slower than to sum them.
        start, stop, _ = part.indices(len(self))
        indptr = self.values.indptr[start : max(stop, start) + 1]
        held = slice(indptr[0], indptr[-1])
        columns = self.values.shape[1]
        stored = self.values.data[held], self.values.indices[held], indptr - indptr[0]
        return SparseRows(csr_array(stored, shape=(len(indptr) - 1, columns)))

    def matrix(self, columns: Sequence[int] | None = None) -> Any:
        """The rows as they are, sparse; columns: none or all, as they are alike."""
        return self.values if columns is None or len(columns) == self.values.shape[1] else self.values[:, columns]

    def plain(self) -> None:
        return None

    def codes(self, column: int, missing: int) -> Codes:
        raise TypeError("A sparse matrix has no categories.")

    @property
    def stored(self) -> float:
        """How many values a row stores, on average."""
        return max(self.values.nnz / max(len(self), 1), 1.0)


def _refuse_unsuitable(matrix: Any, schema: Schema, words: str, least: float) -> None:
    data: Array = matrix.data
    # NaN shows in the least value, and infinity in sums: one look is enough, except where there is no sum.
    lowest = data.min(initial=0.0)
    summed = schema.columns[0].family.name not in ("gaussian", "bernoulli")
    if lowest >= least and (summed or np.isfinite([lowest, data.max(initial=0.0)]).all()):
        return
    found = ~np.isfinite(data) | (data < least)
    if found.any():
        _refuse(matrix, found, schema, words)


def _refuse(matrix: Any, found: NDArray[np.bool_], schema: Schema, words: str) -> NoReturn:
    first = int(np.argmax(found))
    family, value = schema.columns[0].family, matrix.data[first]
    shown = "NaN" if np.isnan(value) else f"{value:g}"
    raise ClasswiseError(
        f"X contains {int(found.sum())} values that {family} cannot take in a sparse matrix, such as {shown} in "
        f"column {int(matrix.indices[first])}: it takes {words}, and no missing values; put other values there, or "
        "choose another family."
    )
