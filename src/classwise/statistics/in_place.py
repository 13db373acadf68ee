"""Statistics of rows that stay on a device: only sums by class leave it, and become moments as all others do."""

from typing import Any

import numpy as np

from classwise.arrays import Array, Labels
from classwise.engines.device import on_device_of, values_of
from classwise.engines.device_sums import ClassedRows
from classwise.rows.codes import code_labels
from classwise.rows.device_rows import DeviceLabels, dtype_of, from_host, namespace
from classwise.rows.table import Table
from classwise.statistics.by_class import ClassStatistics
from classwise.statistics.gaps import Gaps, Numbers
from classwise.statistics.moments import Moments, centered, provisional_means
from classwise.statistics.parts import NUMBERS, QUARTICS
from classwise.statistics.quartics import Quartics
from classwise.statistics.scatter import DiagonalScatter, FullScatter, PooledScatter, Scatter
from classwise.statistics.statistic import Statistic


def summarize_in_place(table: Table, form: type[Scatter], quartics: bool) -> ClassStatistics | None:
    """The statistics of a table on a device; None where columns are other than Gaussian, or some value is missing."""
    schema, table = table.schema, table.weighted()
    if table.labels is None or len(schema.places["gaussian"]) < len(schema) or not len(table):
        return None
    labels, rows = _classed(table)
    with np.errstate(all="ignore"):
        moments = _moments(rows, FullScatter if quartics else form)
    seen = np.flatnonzero(moments.weight[:, 0] > 0)
    found = moments.select(seen)
    if not found.are_finite:  # who names the columns looks at single values
        return None
    parts: dict[str, Statistic] = {NUMBERS.name: Numbers(_in_form(found, form), Gaps.empty(len(schema)))}
    if quartics:
        parts[QUARTICS.name] = Quartics(moments, *rows.quartic_sums(moments.mean, moments.rest)).select(seen)
    return ClassStatistics(labels[seen], found.weight[:, 0], len(table), schema, parts)


def _classed(table: Table) -> tuple[Labels, ClassedRows]:
    """The labels that there may be, and the rows with their classes, on the device."""
    values: Any = values_of(table)
    held: Any = table.labels
    labels, codes = (held.names, held.positions) if isinstance(held, DeviceLabels) else code_labels(held)
    if not isinstance(held, DeviceLabels):
        xp = namespace(values)
        codes = from_host(codes, values, xp.int8 if len(labels) < 128 else xp.int32)
    weights = None if table.weights is None else on_device_of(table.weights, values)
    return labels, ClassedRows(values, codes, len(labels), weights)


def _moments(rows: ClassedRows, form: type[Scatter]) -> Moments:
    some, codes = rows.pilot()
    present = np.unique(codes)
    start, places = np.zeros((rows.count, some.shape[1])), np.searchsorted(codes, present)
    start[present] = some[places]
    # In the precision of the rows: differences from them are then exact.
    near = provisional_means(start, some, codes, rows.count)
    provisional = near.astype(dtype_of(rows.rows)).astype(np.float64)
    weight, total, products = rows.sums(provisional, diagonal=form is DiagonalScatter)
    moments = centered(provisional, weight[:, None], total, _scatter(form)(products))
    return _in_form(moments, form)


def _scatter(form: type[Scatter]) -> type[Scatter]:
    """Gathered by class, whatever is pooled afterwards."""
    return DiagonalScatter if form is DiagonalScatter else FullScatter


def _in_form(moments: Moments, form: type[Scatter]) -> Moments:
    if isinstance(moments.scatter, form):
        return moments
    values: Array = moments.scatter.pooled() if form is PooledScatter else moments.scatter.diagonals()
    return Moments(moments.weight, moments.mean, moments.rest, form(values))
