"""Scores of rows on a device, linear and quadratic, and Bayes' rule there."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from classwise.arrays import TIE, Array
from classwise.engines.device import (
    DeviceEngine,
    away_from,
    block_rows,
    exact_product,
    has_kernels,
    on_device_of,
    values_of,
    widened,
)
from classwise.errors import UnscorableError
from classwise.rows.device_rows import has_double, namespace
from classwise.rows.table import Table


@dataclass(frozen=True, eq=False)
class LinearScores:
    """c_k + (x - o)'L_k; origin (p,), slopes (p, g), constants (g,).

    reach: how large the terms of such a sum are, added without their signs.
    """

    # Sums of terms this large keep a log posterior to 1e-4 in float32; beyond, float64 serves.
    short_reach: ClassVar[float] = 2048.0

    origin: Array
    slopes: Array
    constants: Array
    reach: float = np.inf

    @property
    def width(self) -> int:
        """How many numbers an evaluation holds per row."""
        return self.slopes.shape[0] + 4 * len(self.constants)

    def __call__(self, rows: Any) -> Any:
        """(m, p) -> (g, m)."""
        scores = exact_product(away_from(rows, self.origin), on_device_of(self.slopes, rows)) + on_device_of(
            self.constants, rows
        )
        return namespace(rows).matrix_transpose(scores)


@dataclass(frozen=True, eq=False)
class QuadraticScores:
    """c_k - power / 2 q_k, q_k = |(x - m_k) V_k|²; with freedom, c_k - power (v_k + p) / 2 log(1 + q_k / v_k).

    means (g, p); whitening V (g, p, p), or (g, p) where it is diagonal; freedom v (g,), or None; dimension: p of the
    Student-t; reach: how large the terms of a sum (x - m_k) V_k are, added without their signs.
    """

    # The same; but distances are squared.
    short_reach: ClassVar[float] = 256.0

    means: Array
    whitening: Array
    constants: Array
    power: float = 1.0
    freedom: Array | None = None
    dimension: int = 0
    reach: float = np.inf

    @property
    def width(self) -> int:
        """How many numbers an evaluation holds per row."""
        return 3 * self.means.shape[1] + 4 * len(self.constants)

    def __call__(self, rows: Any) -> Any:
        """(m, p) -> (g, m)."""
        xp, wide = namespace(rows), widened(rows)
        return xp.stack([self._score(xp, wide, k) for k in range(len(self.means))], axis=0)

    def _score(self, xp: Any, rows: Any, k: int) -> Any:
        away, own = away_from(rows, self.means[k]), on_device_of(self.whitening[k], rows)
        white = away * own if own.ndim == 1 else exact_product(away, own)
        distances = xp.sum(white * white, axis=1)
        if self.freedom is None:
            return float(self.constants[k]) - 0.5 * self.power * distances
        freedom = float(self.freedom[k])
        return float(self.constants[k]) - self.power * self.tail(k) * xp.log1p(distances / freedom)

    def tail(self, k: int) -> float:
        """(v_k + p) / 2, of a Student-t."""
        assert self.freedom is not None
        return 0.5 * (float(self.freedom[k]) + self.dimension)


Scores = LinearScores | QuadraticScores


def answer_in_place(scores: Scores, name: str, table: Table) -> Any:
    """What is made of the scores of a table's rows: of all at once, where a kernel does it without further memory.

    None, where they take a float64 that the device has not.
    """
    if scores.reach > scores.short_reach and not has_double(values_of(table)):
        return None
    size = max(len(table), 1) if _kernels(scores, values_of(table)) else block_rows(scores.width)
    return DeviceEngine().apply(lambda rows: answer(scores, name, rows), table, size)


def answer(scores: Scores, name: str, rows: Any) -> Any:
    """What is made of scores (g, m): "scores", "posterior", "log_posterior"; (m,): "log_evidence", "decide".

    In the precision of the rows. A row without a finite score is an error; callers handle gaps.
    """
    kernels = _kernels(scores, rows)
    if kernels is not None:
        found = kernels.answer(scores, name, rows)
    else:
        with np.errstate(invalid="ignore"):  # libraries on top of NumPy may warn of the infinity that is refused below
            found = _ruled(namespace(rows), name, scores(rows), rows.dtype)
    if found is None:
        raise UnscorableError("Some rows hold NaN or infinity, or lie too far from every class.")
    return found


def _kernels(scores: Scores, rows: Any) -> Any:
    """The kernels for such scores, where there are some, and float32 is enough."""
    if not has_kernels(rows) or scores.reach > scores.short_reach:
        return None
    from classwise.engines import device_kernels, device_score_kernels

    return device_score_kernels if device_kernels.suits(rows.shape[1], len(scores.constants)) else None


def _ruled(xp: Any, name: str, scores: Any, dtype: Any) -> Any:
    """Bayes' rule, of scores (g, m) that tie where they differ by rounding; None, where some are no numbers."""
    peak = xp.max(scores, axis=0)
    if not bool(xp.all(xp.isfinite(peak))):
        return None
    leading = scores >= peak - TIE
    if name == "decide":
        return xp.argmax(xp.astype(leading, xp.int8), axis=0)
    scores = xp.where(leading, peak, scores)
    if name != "scores":
        scores = scores - peak
        powers = xp.exp(scores)
        among = xp.sum(powers, axis=0)
        ruled = {"posterior": lambda: powers / among, "log_posterior": lambda: scores - xp.log(among)}
        scores = ruled.get(name, lambda: peak + xp.log(among))()
    return xp.astype(scores, dtype, copy=False)
