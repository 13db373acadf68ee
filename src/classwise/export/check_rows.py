"""Rows to check an export with: drawn from the model, some with gaps, or given in a file."""

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from classwise.arrays import Array
from classwise.classifier.bayes import FittedModel
from classwise.errors import ClasswiseError, NotAvailableError
from classwise.estimators import model_within
from classwise.estimators.scoring import feature_columns, missing_marks, text_columns
from classwise.export.novelty import known_gaps
from classwise.rows.files import read_rows
from classwise.rows.frames import make_frame, open_frame
from classwise.rows.schema import Schema
from classwise.rows.table import Table
from classwise.rows.written_numbers import WrittenNumber

# This many rows are drawn; of each fourth, an eighth of the values is missing.
DRAWN = 256
WITH_GAPS = 4
GAPS = 1 / 8


@dataclass(frozen=True, eq=False)
class CheckRows:
    """X: a table as the model takes it; where: what messages call the rows; table: the same, read."""

    X: Any
    where: str
    table: Table

    def __len__(self) -> int:
        return len(self.table)

    def columns(self) -> dict[str, list[Any]]:
        """The values of each column of the model, by its name; None where one is missing."""
        schema, frame = self.table.schema, open_frame(self.X)
        names = schema.names or tuple(map(str, range(len(schema))))
        if frame is None:
            values = np.asarray(self.X, dtype=object).T.tolist()
        else:
            values = [frame[name].to_list() for name in (schema.names or frame.columns)]
        return {name: [None if v is None or v != v else v for v in of] for name, of in zip(names, values, strict=True)}

    @property
    def has_gap(self) -> Any:
        """Which rows lack a value; (n,)."""
        rows = np.asarray(self.table.rows, dtype=np.float64)
        gone = np.isnan(rows)
        for j in self.table.levels:
            gone[:, j] = rows[:, j] < 0
        return gone.any(axis=1)


def drawn_rows(model: Any) -> CheckRows:
    """Rows drawn from a model, or from the range of its columns, where it is none of rows."""
    inner = model_within(model)
    fitted = inner._fitted_model
    rows = _drawn(inner, fitted)
    if not inner._strict:
        has_novelty = getattr(model, "novelty", None) is not None
        _make_gaps(rows, fitted, known_gaps(rows.shape[1]) if has_novelty else rows.shape[1])
    schema = fitted.schema
    X = _as_written(make_frame(rows, schema, fitted.levels), schema)
    return CheckRows(X, f"{len(rows)} rows drawn from the model", inner._table(X))


def _drawn(inner: Any, fitted: FittedModel) -> Array:
    generator = np.random.default_rng(0)
    if hasattr(inner, "sample"):
        try:
            X, _ = inner.sample(DRAWN, random_state=0)
            return np.array(inner._table(X).rows, dtype=np.float64)
        except NotAvailableError:
            pass
    if not hasattr(fitted, "reach"):
        raise ClasswiseError("This model has no density to draw rows from; give a file of rows to check it with.")
    ends = np.asarray(fitted.reach())  # those that cannot sample know their range
    rows = generator.uniform(ends[0], ends[-1], (DRAWN, len(fitted.schema)))
    for j, levels in fitted.levels.items():
        rows[:, j] = generator.integers(max(len(levels), 1), size=DRAWN) if len(levels) else -1
    return np.asarray(rows)


def _make_gaps(rows: Array, fitted: FittedModel, most: int) -> None:
    """Leave values out, at most `most` in a row."""
    gone = np.random.default_rng(1).random(rows.shape) < GAPS
    gone[np.arange(len(rows)) % WITH_GAPS != 0] = False
    gone &= gone.cumsum(axis=1) <= most
    for j in range(rows.shape[1]):
        rows[gone[:, j], j] = -1.0 if j in fitted.levels else np.nan


def _as_written(X: Any, schema: Schema) -> Any:
    """With numbers as text, where the model reads them from text."""
    written = {c.name: c.conversion for c in schema if isinstance(c.conversion, WrittenNumber)}
    frame = open_frame(X)
    if not written or frame is None:
        return X
    texts = {name: [_text(value, rule) for value in frame[str(name)].to_list()] for name, rule in written.items()}
    series = [nw.new_series(str(name), of, nw.String(), backend=frame.implementation) for name, of in texts.items()]
    return frame.with_columns(*series).to_native()


def _text(value: Any, rule: WrittenNumber) -> str | None:
    if value is None or value != value:
        return None
    return f"{value:.3f}".replace(".", rule.decimal) + rule.unit


def given_rows(model: Any, path: str) -> CheckRows:
    """The rows of a file."""
    X = read_rows(path, feature_columns(model, None), missing=missing_marks(model), text=text_columns(model))
    return CheckRows(X, f"{len(X)} rows of {path}", model_within(model)._table(X))
