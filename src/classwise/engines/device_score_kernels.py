"""Kernels of Triton for scores and Bayes' rule, of rows of torch in float32 on a CUDA device: one pass over the rows.

    few classes               linear and diagonal scores class by class, for a tile of rows
    few columns and classes   a thread has whole rows, and multiplies by triangular matrices in float32
    more                      tiles are multiplied by three products of shorter floats (tf32x3), which keep nearly as
                              many digits

Rows and means are taken as differences from an origin near all means, so that float32 holds them well.
"""

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import torch
import triton
import triton.language as tl

from classwise.arrays import Array
from classwise.engines.device_kernels import held, padded

# Few: their scores, and rows of this many columns, fit in the registers of threads.
FEW_CLASSES = 8
FEW_COLUMNS = 16

LINEAR, DIAGONAL, FULL = 0, 1, 2
ANSWERS = {"scores": 0, "posterior": 1, "log_posterior": 2, "log_evidence": 3, "decide": 4}


class DeviceCoefficients(NamedTuple):
    """Of a model, on a device, with zeros up to widths that are powers of two: (P,), (g, P), and by form (g, P) or
    (P, G) of LINEAR, (g, P) of DIAGONAL, (g, P, P) of FULL; (G,), (g,) and (g,).

    is_triangular: FULL matrices are transposed, and lower triangular.
    """

    origin: Any
    means: Any
    matrices: Any
    constants: Any
    freedom: Any
    tails: Any
    form: int
    is_triangular: bool
    is_student: bool


# What was sent to devices before, for as long as the scores are there.
SENT: WeakKeyDictionary[Any, dict[Any, DeviceCoefficients]] = WeakKeyDictionary()


def answer(scores: Any, name: str, rows: Any) -> Any:
    """As device_scores.answer; None where some row has no finite score."""
    count, is_single = len(scores.constants), name in ("log_evidence", "decide")
    dtype = torch.int32 if name == "decide" else torch.float32
    out = torch.empty((len(rows),) if is_single else (len(rows), count), dtype=dtype, device=rows.device)
    flag = torch.zeros(1, dtype=torch.int32, device=rows.device)
    own = SENT.setdefault(scores, {})
    if rows.device not in own:
        own[rows.device] = _linear_model(scores, rows) if hasattr(scores, "slopes") else _quadratic_model(scores, rows)
    _launch(own[rows.device], rows, out, flag, count, ANSWERS[name])
    if int(flag.item()):
        return None
    return out if is_single else out.T


def _linear_model(scores: Any, rows: Any) -> DeviceCoefficients:
    count, width = len(scores.constants), padded(rows.shape[1])
    # What float32 cuts off the origin is a matter of the constants.
    cut = scores.origin - scores.origin.astype(np.float32)
    constants = _constants(scores.constants - cut @ scores.slopes, rows)
    few = count <= FEW_CLASSES
    slopes = held(scores.slopes.T, rows, count, width) if few else held(scores.slopes, rows, width, padded(count))
    origin = held(scores.origin, rows, width)
    return DeviceCoefficients(origin, origin, slopes, constants, constants, constants, LINEAR, False, False)


def _quadratic_model(scores: Any, rows: Any) -> DeviceCoefficients:
    count, width = len(scores.constants), padded(rows.shape[1])
    is_diagonal, is_student = scores.whitening.ndim == 2, scores.freedom is not None
    origin = scores.means.mean(axis=0).astype(np.float32).astype(np.float64)
    matrices = scores.whitening if is_student else scores.whitening * np.sqrt(scores.power)
    freedom = scores.freedom if is_student else np.ones(count)
    tails = scores.power * np.array([scores.tail(k) for k in range(count)]) if is_student else freedom
    few = not is_diagonal and count <= FEW_CLASSES and rows.shape[1] <= FEW_COLUMNS
    is_triangular = few and not np.tril(matrices, -1).any()
    turned = np.swapaxes(matrices, 1, 2) if is_triangular else matrices
    return DeviceCoefficients(
        held(origin, rows, width),
        held(scores.means - origin, rows, count, width),
        held(turned, rows, *((count, width) if is_diagonal else (count, width, width))),
        _constants(scores.constants, rows),
        held(freedom, rows, count),
        held(tails, rows, count),
        DIAGONAL if is_diagonal else FULL,
        is_triangular,
        is_student,
    )


def _constants(values: Array, rows: Any) -> Any:
    """With -inf for classes that are none."""
    wide = np.full(padded(len(values)), -np.inf, dtype=np.float32)
    wide[: len(values)] = values
    return torch.from_numpy(wide).to(rows.device, non_blocking=True)


def _launch(model: DeviceCoefficients, rows: Any, out: Any, flag: Any, count: int, what: int) -> None:
    """The kernel that serves, in blocks and warps as measured."""
    features, width = rows.shape[1], len(model.origin)
    given = (rows, rows.stride(0), rows.stride(1), len(rows), *model[:6], out, flag)
    shared: dict[str, Any] = {"FEATURES": features, "COUNT": count, "P": width, "WHAT": what}
    if model.form != FULL and count <= FEW_CLASSES:
        kernel, size, warps = _few_classes, 64, 1 if width == 16 else 4
        shared |= {"G": max(triton.next_power_of_2(count), 2), "FORM": model.form, "STUDENT": model.is_student}
    elif model.is_triangular:
        kernel, size, warps = _few_columns, 64, 1
        shared |= {"STUDENT": model.is_student}
    else:
        kernel, size, warps = _many, 64, 1 if width == 16 else 2 if width == 32 else 4
        shared |= {"G": padded(count), "FORM": model.form, "STUDENT": model.is_student}
    kernel[(triton.cdiv(len(rows), size),)](*given, BLOCK=size, num_warps=warps, **shared)


@triton.jit
def _few_classes(
    rows, by_row, by_column, length, origin, means, matrices, constants, freedom, tails, out, flag,
    FEATURES: tl.constexpr, COUNT: tl.constexpr, P: tl.constexpr, G: tl.constexpr, BLOCK: tl.constexpr,
    FORM: tl.constexpr, STUDENT: tl.constexpr, WHAT: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.arange(0, P)
    classes = tl.arange(0, G)
    x = _away(rows, row, by_row, by_column, length, origin, FEATURES, P)
    scores = tl.full([BLOCK, G], float("-inf"), dtype=tl.float32)
    for k in tl.static_range(COUNT):
        own = tl.load(matrices + k * P + columns)[None, :]
        if FORM == 0:
            score = tl.sum(x * own, axis=1) + tl.load(constants + k)
        else:
            white = (x - tl.load(means + k * P + columns)[None, :]) * own
            score = _density(tl.sum(white * white, axis=1), k, constants, freedom, tails, STUDENT)
        scores = tl.where((classes == k)[None, :], score[:, None], scores)
    _finish(scores, row, row < length, classes, out, flag, COUNT, WHAT)


@triton.jit
def _few_columns(
    rows, by_row, by_column, length, origin, means, matrices, constants, freedom, tails, out, flag,
    FEATURES: tl.constexpr, COUNT: tl.constexpr, P: tl.constexpr, BLOCK: tl.constexpr,
    STUDENT: tl.constexpr, WHAT: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = row < length
    x = ()
    for i in tl.static_range(FEATURES):
        value = tl.load(rows + row * by_row + i * by_column, mask=inside, other=0.0)
        x = x + (value - tl.load(origin + i),)
    if WHAT < 3:
        scores = ()
        for k in tl.static_range(COUNT):
            distance = _distance(x, k, means, matrices, FEATURES, P)
            scores = scores + (_density(distance, k, constants, freedom, tails, STUDENT),)
        _finish_each(scores, row, inside, out, flag, COUNT, WHAT)
    else:  # one class after another: nothing of it is kept but the largest score, and the sum
        peak = tl.full([BLOCK], float("-inf"), dtype=tl.float32)
        among = tl.zeros([BLOCK], dtype=tl.float32)
        first = tl.zeros([BLOCK], dtype=tl.int32)
        for k in range(COUNT):
            distance = _distance(x, k, means, matrices, FEATURES, P)
            score = _density(distance, k, constants, freedom, tails, STUDENT)
            first = tl.where(score > peak, k, first)
            higher = tl.maximum(peak, score)
            if WHAT == 3:
                base = tl.where(higher == float("-inf"), 0.0, higher)  # of classes that never are
                among = among * tl.exp(peak - base) + tl.exp(score - base)
            peak = higher
        _flag(peak, inside, flag)
        tl.store(out + row, first if WHAT == 4 else peak + tl.log(among), mask=inside)


@triton.jit
def _distance(x, k, means, matrices, FEATURES: tl.constexpr, P: tl.constexpr):
    """|(x - m_k) V_k|², by a matrix that is lower triangular as it is stored."""
    away = ()
    for i in tl.static_range(FEATURES):
        away = away + (x[i] - tl.load(means + k * P + i),)
    distance = tl.zeros(x[0].shape, dtype=tl.float32)
    for j in tl.static_range(FEATURES):
        white = away[0] * tl.load(matrices + (k * P + j) * P)
        for i in tl.static_range(1, j + 1):
            white += away[i] * tl.load(matrices + (k * P + j) * P + i)
        distance += white * white
    return distance


@triton.jit
def _many(
    rows, by_row, by_column, length, origin, means, matrices, constants, freedom, tails, out, flag,
    FEATURES: tl.constexpr, COUNT: tl.constexpr, P: tl.constexpr, G: tl.constexpr, BLOCK: tl.constexpr,
    FORM: tl.constexpr, STUDENT: tl.constexpr, WHAT: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.arange(0, P)
    classes = tl.arange(0, G)
    x = _away(rows, row, by_row, by_column, length, origin, FEATURES, P)
    if FORM == 0:
        slopes = tl.load(matrices + columns[:, None] * G + classes[None, :])
        scores = tl.dot(x, slopes, input_precision="tf32x3") + tl.load(constants + classes)[None, :]
    else:
        scores = tl.full([BLOCK, G], float("-inf"), dtype=tl.float32)
        for k in range(COUNT):
            white = x - tl.load(means + k * P + columns)[None, :]
            if FORM == 1:
                white = white * tl.load(matrices + k * P + columns)[None, :]
            else:
                own = tl.load(matrices + k * P * P + columns[:, None] * P + columns[None, :])
                white = tl.dot(white, own, input_precision="tf32x3")
            score = _density(tl.sum(white * white, axis=1), k, constants, freedom, tails, STUDENT)
            scores = tl.where((classes == k)[None, :], score[:, None], scores)
    _finish(scores, row, row < length, classes, out, flag, COUNT, WHAT)


@triton.jit
def _away(rows, row, by_row, by_column, length, origin, FEATURES: tl.constexpr, P: tl.constexpr):
    """A tile of rows, about the origin; zeros beyond."""
    columns = tl.arange(0, P)
    real = (row < length)[:, None] & (columns < FEATURES)[None, :]
    x = tl.load(rows + row[:, None] * by_row + columns[None, :] * by_column, mask=real, other=0.0)
    return x - tl.load(origin + columns)[None, :]


@triton.jit
def _density(distance, k, constants, freedom, tails, STUDENT: tl.constexpr):
    """c - q / 2, or c - (v + p) / 2 log(1 + q / v)."""
    if STUDENT:
        score = tl.load(constants + k) - tl.load(tails + k) * _log1p(distance / tl.load(freedom + k))
    else:
        score = tl.load(constants + k) - 0.5 * distance
    return score


@triton.jit
def _log1p(u):
    """log(1 + u), u >= 0: below 1/2 by 2 artanh(u / (2 + u)), where the sum 1 + u would cost digits."""
    s = u / (2.0 + u)
    t = s * s
    series = 2.0 * s * (1.0 + t * (1 / 3 + t * (1 / 5 + t * (1 / 7 + t * (1 / 9 + t / 11)))))
    return tl.where(u < 0.5, series, tl.log(1.0 + u))


@triton.jit
def _flag(peak, inside, flag):
    """Count rows whose largest score is no number: infinity less itself is, as NaN, not equal to zero."""
    bad = tl.sum((inside & ((peak - peak) != 0.0)).to(tl.int32), axis=0)
    tl.atomic_add(flag, bad, mask=bad > 0)


@triton.jit
def _finish(scores, row, inside, classes, out, flag, COUNT: tl.constexpr, WHAT: tl.constexpr):
    """Bayes' rule, and the answer, of a tile of scores; those of padding are -inf."""
    peak = tl.max(scores, axis=1)
    _flag(peak, inside, flag)
    place = out + row[:, None] * COUNT + classes[None, :]
    real = inside[:, None] & (classes < COUNT)[None, :]
    if WHAT == 0:
        tl.store(place, scores, mask=real)
    elif WHAT == 4:
        tl.store(out + row, tl.argmax(scores, axis=1), mask=inside)
    else:
        shifted = scores - peak[:, None]
        powers = tl.exp(shifted)
        among = tl.sum(powers, axis=1)
        if WHAT == 1:
            tl.store(place, powers / among[:, None], mask=real)
        elif WHAT == 2:
            tl.store(place, shifted - tl.log(among)[:, None], mask=real)
        else:
            tl.store(out + row, peak + tl.log(among), mask=inside)


@triton.jit
def _finish_each(scores, row, inside, out, flag, COUNT: tl.constexpr, WHAT: tl.constexpr):
    """The same of scores, posteriors and their logarithms, where a thread has the scores of all classes."""
    peak = scores[0]
    for k in tl.static_range(1, COUNT):
        peak = tl.maximum(peak, scores[k])
    _flag(peak, inside, flag)
    if WHAT == 0:
        for k in tl.static_range(COUNT):
            tl.store(out + row * COUNT + k, scores[k], mask=inside)
    else:
        among = tl.zeros(peak.shape, dtype=tl.float32)
        for k in tl.static_range(COUNT):
            among += tl.exp(scores[k] - peak)
        for k in tl.static_range(COUNT):
            if WHAT == 1:
                tl.store(out + row * COUNT + k, tl.exp(scores[k] - peak) / among, mask=inside)
            else:
                tl.store(out + row * COUNT + k, scores[k] - peak - tl.log(among), mask=inside)
