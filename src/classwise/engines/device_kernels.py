"""Kernels of Triton for rows of torch in float32 on a CUDA device: one pass over the rows for each answer.

Products of a block of rows are float32, by IEEE rules or by three products of shorter floats (tf32x3); sums of blocks
are float64.
"""

from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl

from classwise.arrays import Array

# Tiles are as wide as the columns, or as the classes, in powers of two.
WIDEST = 64

# Rows of a block whose products are summed in float32, and blocks that each program adds up at least.
BLOCK = 32
LEAST_BLOCKS = 32

# So many programs for each multiprocessor keep all of them busy to the end.
PROGRAMS = 48

# The rows and scores of so many columns and classes fit in the registers of a thread.
SMALL_FEATURES = 16
SMALL_CLASSES = 8

LINEAR, DIAGONAL, FULL = 0, 1, 2
ANSWERS = {"scores": 0, "posterior": 1, "log_posterior": 2, "log_evidence": 3, "decide": 4}


def suits(features: int, classes: int = 1) -> bool:
    """Whether tiles are wide enough."""
    return features <= WIDEST and classes <= WIDEST


def _padded(size: int) -> int:
    return max(16, triton.next_power_of_2(size))


def _held(values: Array, rows: Any, *shape: int) -> Any:
    """Numbers of a model in float32, with zeros up to a shape, on the device of rows."""
    wide = np.zeros(shape, dtype=np.float32)
    wide[tuple(slice(size) for size in values.shape)] = values
    return torch.from_numpy(wide).to(rows.device)


# Sums by class --------------------------------------------------------------------------------------------------------


def class_sums(
    rows: Any, order: Any, bounds: Any, provisional: Array, weights: Any, diagonal: bool
) -> tuple[Array, Array]:
    """sum w r (g, p), and sum w r r' (g, p, p) or sum w r² (g, p), for r = x - c_k with provisional means c (g, p).

    order (n,): positions of the rows, sorted by class; bounds (g + 1,): where each begins there.
    """
    count, features = provisional.shape
    width = _padded(features)
    starts, stops, classes = _tasks(rows, bounds)
    tasks, length = len(starts), width if diagonal else width * width
    totals = torch.empty((tasks, width), dtype=torch.float64, device=rows.device)
    products = torch.empty((tasks, length), dtype=torch.float64, device=rows.device)
    places = torch.from_numpy(np.stack([starts, stops, classes])).to(rows.device)
    short = None if weights is None else weights.to(torch.float32)
    _class_sums[(tasks,)](
        rows, rows.stride(0), rows.stride(1), order, places, tasks, _held(provisional, rows, count, width), short,
        totals, products,
        FEATURES=features, P=width, BLOCK=BLOCK, DIAGONAL=diagonal, WEIGHTED=short is not None, PRECISION="ieee",
        num_warps=1 if width <= 16 else 4, num_stages=3,
    )  # fmt: skip
    belongs = torch.from_numpy((classes == np.arange(count)[:, None]).astype(np.float64)).to(rows.device)
    sums = (belongs @ totals).cpu().numpy()[:, :features]
    gathered = (belongs @ products).cpu().numpy()
    if diagonal:
        return sums, gathered[:, :features]
    return sums, gathered.reshape(count, width, width)[:, :features, :features]


def _tasks(rows: Any, bounds: Any) -> tuple[Any, Any, Any]:
    """Where tasks begin and end among the rows sorted by class, and their classes.

    Rows that lie near each other in memory, whatever their classes, are read at about the same time.
    """
    processors = torch.cuda.get_device_properties(rows.device).multi_processor_count if rows.is_cuda else 1
    size = max(-(-int(bounds[-1]) // (processors * PROGRAMS)), LEAST_BLOCKS * BLOCK)
    size = -(-size // BLOCK) * BLOCK
    starts = [np.arange(start, stop, size) for start, stop in zip(bounds[:-1], bounds[1:], strict=True)]
    classes = np.repeat(np.arange(len(starts)), [len(own) for own in starts])
    every = np.concatenate(starts).astype(np.int64)
    stops = np.minimum(every + size, bounds[1:][classes])
    along = (every - bounds[:-1][classes]) / np.maximum(np.diff(bounds), 1)[classes]
    turn = np.argsort(along, kind="stable")
    return every[turn], stops[turn].astype(np.int64), classes[turn].astype(np.int64)


@triton.jit
def _class_sums(
    rows, by_row, by_column, order, places, tasks, provisional, weights, totals, products,
    FEATURES: tl.constexpr, P: tl.constexpr, BLOCK: tl.constexpr, DIAGONAL: tl.constexpr, WEIGHTED: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    task = tl.program_id(0)
    start, stop = tl.load(places + task), tl.load(places + tasks + task)
    k = tl.load(places + 2 * tasks + task)
    columns = tl.arange(0, P)
    center = tl.load(provisional + k * P + columns)
    away = tl.zeros([BLOCK, P], dtype=tl.float32)
    squares = tl.zeros([P] if DIAGONAL else [P, P], dtype=tl.float64)
    whole = start + (stop - start) // BLOCK * BLOCK
    for at in range(start, whole, BLOCK):
        r, scaled = _residuals(
            rows, by_row, by_column, order, at, stop, center, weights, FEATURES, P, BLOCK, WEIGHTED, False
        )
        away += scaled
        squares += _squares(scaled, r, DIAGONAL, PRECISION)
    if whole < stop:
        r, scaled = _residuals(
            rows, by_row, by_column, order, whole, stop, center, weights, FEATURES, P, BLOCK, WEIGHTED, True
        )
        away += scaled
        squares += _squares(scaled, r, DIAGONAL, PRECISION)
    tl.store(totals + task * P + columns, tl.sum(away.to(tl.float64), axis=0))
    if DIAGONAL:
        tl.store(products + task * P + columns, squares)
    else:
        tl.store(products + task * P * P + columns[:, None] * P + columns[None, :], squares)


@triton.jit
def _residuals(
    rows, by_row, by_column, order, at, stop, center, weights,
    FEATURES: tl.constexpr, P: tl.constexpr, BLOCK: tl.constexpr, WEIGHTED: tl.constexpr, TAIL: tl.constexpr,
):  # fmt: skip
    """x - c of a block, and the same times weights; TAIL: the block may be longer than the task."""
    columns = tl.arange(0, P)
    place = at + tl.arange(0, BLOCK)
    if TAIL:
        inside = place < stop
        row = tl.load(order + place, mask=inside, other=0)
        real = inside[:, None] & (columns < FEATURES)[None, :]
        x = tl.load(rows + row[:, None] * by_row + columns[None, :] * by_column, mask=real, other=0.0)
        r = tl.where(real, x - center[None, :], 0.0)
    else:
        row = tl.load(order + place)
        place_of = rows + row[:, None] * by_row + columns[None, :] * by_column
        if P == FEATURES:
            x = tl.load(place_of)
        else:
            x = tl.load(place_of, mask=(columns < FEATURES)[None, :], other=0.0)
        r = x - center[None, :]
    scaled = r
    if WEIGHTED:
        scaled = r * tl.load(weights + row)[:, None]
    return r, scaled


@triton.jit
def _squares(scaled, r, DIAGONAL: tl.constexpr, PRECISION: tl.constexpr):
    if DIAGONAL:
        found = tl.sum(scaled * r, axis=0).to(tl.float64)
    else:
        found = tl.dot(tl.trans(scaled), r, input_precision=PRECISION).to(tl.float64)
    return found


# Scores ---------------------------------------------------------------------------------------------------------------


def answer(scores: Any, name: str, rows: Any) -> Any:
    """As device_scores.answer; None where some row has no finite score."""
    count, features = len(scores.constants), rows.shape[1]
    classes, width = _padded(count), _padded(features)
    is_single = name in ("log_evidence", "decide")
    dtype = torch.int32 if name == "decide" else torch.float32
    out = torch.empty((len(rows),) if is_single else (len(rows), count), dtype=dtype, device=rows.device)
    flag = torch.zeros(1, dtype=torch.int32, device=rows.device)
    if hasattr(scores, "slopes"):
        _answer_linear(scores, rows, out, flag, name, classes, width)
    else:
        _answer_quadratic(scores, rows, out, flag, name, classes, width)
    if int(flag.item()):
        return None
    return out if is_single else out.T


def _constants(values: Array, rows: Any, classes: int) -> Any:
    wide = np.full(classes, -np.inf, dtype=np.float32)
    wide[: len(values)] = values
    return torch.from_numpy(wide).to(rows.device)


def _answer_linear(scores: Any, rows: Any, out: Any, flag: Any, name: str, classes: int, width: int) -> None:
    # What float32 cuts off the origin is a matter of the constants.
    cut = scores.origin - scores.origin.astype(np.float32)
    constants = scores.constants - cut @ scores.slopes
    origin, count = _held(scores.origin, rows, width), len(constants)
    if _is_small(rows.shape[1], count):
        slopes = _held(scores.slopes.T, rows, count, width)
        unused = (constants, constants)
        return _answer_small(rows, (origin, origin, slopes), constants, unused, LINEAR, False, out, flag, name)
    size = 64
    _linear[(triton.cdiv(len(rows), size),)](
        rows, rows.stride(0), rows.stride(1), len(rows), count,
        origin, _held(scores.slopes, rows, width, classes), _constants(constants, rows, classes), out, flag,
        FEATURES=rows.shape[1], P=width, G=classes, BLOCK=size, WHAT=ANSWERS[name], PRECISION="tf32x3", num_warps=2,
    )  # fmt: skip
    return None


def _answer_quadratic(scores: Any, rows: Any, out: Any, flag: Any, name: str, classes: int, width: int) -> None:
    count, diagonal, student = len(scores.constants), scores.whitening.ndim == 2, scores.freedom is not None
    whitening = scores.whitening if student else scores.whitening * np.sqrt(scores.power)
    freedom = scores.freedom if student else np.ones(count)
    tails = scores.power * np.array([scores.tail(k) for k in range(count)]) if student else freedom
    means = [_held(part, rows, count, width) for part in (scores.means, scores.means - scores.means.astype(np.float32))]
    shape, form = ((count, width), DIAGONAL) if diagonal else ((count, width, width), FULL)
    if _is_small(rows.shape[1], count) and (diagonal or not np.tril(whitening, -1).any()):
        turned = whitening if diagonal else np.swapaxes(whitening, 1, 2)
        models = (*means, _held(turned, rows, *shape))
        return _answer_small(rows, models, scores.constants, (freedom, tails), form, student, out, flag, name)
    size = 128 if diagonal else 64
    _quadratic[(triton.cdiv(len(rows), size),)](
        rows, rows.stride(0), rows.stride(1), len(rows), count,
        *means, _held(whitening, rows, *shape), _constants(scores.constants, rows, classes),
        _held(freedom, rows, count), _held(tails, rows, count), out, flag,
        FEATURES=rows.shape[1], P=width, G=classes, BLOCK=size, DIAGONAL=diagonal,
        STUDENT=student, WHAT=ANSWERS[name], PRECISION="tf32x3", num_warps=4 if width > 32 or diagonal else 2,
    )  # fmt: skip
    return None


def _answer_small(
    rows: Any, models: Any, constants: Array, tails: Any, form: int, student: bool, out: Any, flag: Any, name: str
) -> None:  # fmt: skip
    count, size = len(constants), 256
    _small[(triton.cdiv(len(rows), size),)](
        rows, rows.stride(0), rows.stride(1), len(rows), *models, _held(constants, rows, count),
        *(_held(part, rows, count) for part in tails), out, flag,
        FEATURES=rows.shape[1], COUNT=count, P=models[0].shape[-1], BLOCK=size, FORM=form, STUDENT=student,
        WHAT=ANSWERS[name], num_warps=4,
    )  # fmt: skip


def _is_small(features: int, classes: int) -> bool:
    """Whether a thread can hold rows, and the scores of all classes, in its registers."""
    return features <= SMALL_FEATURES and classes <= SMALL_CLASSES


@triton.jit
def _small(
    rows, by_row, by_column, length, means, cut, models, constants, freedom, tail, out, flag,
    FEATURES: tl.constexpr, COUNT: tl.constexpr, P: tl.constexpr, BLOCK: tl.constexpr, FORM: tl.constexpr,
    STUDENT: tl.constexpr, WHAT: tl.constexpr,
):  # fmt: skip
    """Few columns and classes: a thread has whole rows, and no two threads need to meet."""
    row = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = row < length
    x = ()
    for i in tl.static_range(FEATURES):
        x = x + (tl.load(rows + row * by_row + i * by_column, mask=inside, other=0.0),)
    scores = ()
    for k in tl.static_range(COUNT):
        found = tl.zeros([BLOCK], dtype=tl.float32)
        if FORM == 0:
            for i in tl.static_range(FEATURES):
                found += (x[i] - tl.load(means + i)) * tl.load(models + k * P + i)
            scores = scores + (found + tl.load(constants + k),)
        else:
            away = ()
            for i in tl.static_range(FEATURES):
                away = away + (x[i] - tl.load(means + k * P + i) - tl.load(cut + k * P + i),)
            for j in tl.static_range(FEATURES):
                if FORM == 1:
                    white = away[j] * tl.load(models + k * P + j)
                else:
                    white = tl.zeros([BLOCK], dtype=tl.float32)
                    for i in tl.static_range(j + 1):  # whitenings are triangular
                        white += away[i] * tl.load(models + (k * P + j) * P + i)
                found += white * white
            scores = scores + (_density(found, k, constants, freedom, tail, STUDENT),)
    _finish_small(scores, row, inside, out, flag, COUNT, WHAT)


@triton.jit
def _density(distance, k, constants, freedom, tail, STUDENT: tl.constexpr):
    """c - q / 2, or c - (v + p) / 2 log(1 + q / v)."""
    if STUDENT:
        score = tl.load(constants + k) - tl.load(tail + k) * _log1p(distance / tl.load(freedom + k))
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
def _finish_small(scores, row, inside, out, flag, COUNT: tl.constexpr, WHAT: tl.constexpr):
    peak = scores[0]
    for k in tl.static_range(1, COUNT):
        peak = tl.maximum(peak, scores[k])
    bad = tl.sum((inside & ((peak - peak) != 0.0)).to(tl.int32), axis=0)
    tl.atomic_add(flag, bad, mask=bad > 0)
    if WHAT == 0:
        for k in tl.static_range(COUNT):
            tl.store(out + row * COUNT + k, scores[k], mask=inside)
    elif WHAT == 4:
        first = tl.full(peak.shape, COUNT - 1, dtype=tl.int32)
        for k in tl.static_range(COUNT):
            first = tl.where(scores[COUNT - 1 - k] == peak, COUNT - 1 - k, first)
        tl.store(out + row, first, mask=inside)
    else:
        among = tl.zeros(peak.shape, dtype=tl.float32)
        for k in tl.static_range(COUNT):
            among += tl.exp(scores[k] - peak)
        log_among = tl.log(among)
        if WHAT == 1:
            for k in tl.static_range(COUNT):
                tl.store(out + row * COUNT + k, tl.exp(scores[k] - peak) / among, mask=inside)
        elif WHAT == 2:
            for k in tl.static_range(COUNT):
                tl.store(out + row * COUNT + k, scores[k] - peak - log_among, mask=inside)
        else:
            tl.store(out + row, peak + log_among, mask=inside)


@triton.jit
def _linear(
    rows, by_row, by_column, length, count, origin, slopes, constants, out, flag,
    FEATURES: tl.constexpr, P: tl.constexpr, G: tl.constexpr, BLOCK: tl.constexpr, WHAT: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.arange(0, P)
    classes = tl.arange(0, G)
    real = (row < length)[:, None] & (columns < FEATURES)[None, :]
    x = tl.load(rows + row[:, None] * by_row + columns[None, :] * by_column, mask=real, other=0.0)
    away = tl.where(real, x - tl.load(origin + columns)[None, :], 0.0)
    weights = tl.load(slopes + columns[:, None] * G + classes[None, :])
    scores = tl.dot(away, weights, input_precision=PRECISION) + tl.load(constants + classes)[None, :]
    _finish(scores, row, row < length, classes, count, out, flag, WHAT)


@triton.jit
def _quadratic(
    rows, by_row, by_column, length, count, means, cut, whitening, constants, freedom, tail, out, flag,
    FEATURES: tl.constexpr, P: tl.constexpr, G: tl.constexpr, BLOCK: tl.constexpr, DIAGONAL: tl.constexpr,
    STUDENT: tl.constexpr, WHAT: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.arange(0, P)
    classes = tl.arange(0, G)
    real = (row < length)[:, None] & (columns < FEATURES)[None, :]
    x = tl.load(rows + row[:, None] * by_row + columns[None, :] * by_column, mask=real, other=0.0)
    scores = tl.full([BLOCK, G], float("-inf"), dtype=tl.float32)
    for k in range(count):
        away = x - tl.load(means + k * P + columns)[None, :] - tl.load(cut + k * P + columns)[None, :]
        if DIAGONAL:
            white = away * tl.load(whitening + k * P + columns)[None, :]
        else:
            own = tl.load(whitening + k * P * P + columns[:, None] * P + columns[None, :])
            white = tl.dot(away, own, input_precision=PRECISION)
        distance = tl.sum(white * white, axis=1)
        score = _density(distance, k, constants, freedom, tail, STUDENT)
        scores = tl.where((classes == k)[None, :], score[:, None], scores)
    _finish(scores, row, row < length, classes, count, out, flag, WHAT)


@triton.jit
def _finish(scores, row, inside, classes, count, out, flag, WHAT: tl.constexpr):
    """Bayes' rule, and the answer; scores of padding are -inf."""
    peak = tl.max(scores, axis=1)
    # Infinity less itself, as NaN, is not equal to zero.
    bad = tl.sum((inside & ((peak - peak) != 0.0)).to(tl.int32), axis=0)
    tl.atomic_add(flag, bad, mask=bad > 0)
    place = out + row[:, None] * count + classes[None, :]
    real = inside[:, None] & (classes < count)[None, :]
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
