"""Kernels of Triton for sums by class, of rows of torch in float32 on a CUDA device: one pass over the rows.

A program goes through rows of one class, block after block. Products of a block are float32 by IEEE rules, and sums of
blocks are float64. Scores are in device_score_kernels.
"""

from typing import Any, NamedTuple

import numpy as np
import torch
import triton
import triton.language as tl

from classwise.arrays import Array

# Tiles are as wide as the columns, or as the classes, in powers of two from 16 on.
WIDEST = 64

# A program adds up this many blocks at least.
LEAST_BLOCKS = 32


class Tiling(NamedTuple):
    """Rows of a block, whose sums are float32; warps of a program; programs of each multiprocessor. As measured."""

    block: int
    warps: int
    programs: int


NARROW, WIDE, ALONE = Tiling(32, 1, 24), Tiling(32, 4, 8), Tiling(256, 8, 4)

# Of this many classes, each may have all the programs that a device can run.
FEW_CLASSES = 8


def suits(features: int, classes: int = 1) -> bool:
    """Whether tiles are wide enough."""
    return features <= WIDEST and classes <= WIDEST


def padded(size: int) -> int:
    return max(16, triton.next_power_of_2(size))


def held(values: Array, rows: Any, *shape: int) -> Any:
    """Numbers of a model in float32, with zeros up to a shape, on the device of rows."""
    wide = np.zeros(shape, dtype=np.float32)
    wide[tuple(slice(size) for size in values.shape)] = values
    return torch.from_numpy(wide).to(rows.device, non_blocking=True)  # or it would wait for what is under way


# Sums by class --------------------------------------------------------------------------------------------------------


def class_sums(
    rows: Any, order: Any, bounds: Any, provisional: Array, weights: Any, diagonal: bool
) -> tuple[Array, Array]:
    """sum w r (g, p), and sum w r r' (g, p, p) or sum w r² (g, p), for r = x - c_k with provisional means c (g, p).

    order (n,): positions of the rows, sorted by class; bounds (g + 1,): where each begins there, on the device.
    """
    count, features = provisional.shape
    width = padded(features)
    tiling = ALONE if diagonal else NARROW if width == 16 else WIDE
    parts = _parts(rows, count, tiling)
    totals = torch.empty((parts, count, width), dtype=torch.float64, device=rows.device)
    products = torch.empty((*totals.shape, 1 if diagonal else width), dtype=torch.float64, device=rows.device)
    short = None if weights is None else weights.to(torch.float32)
    _class_sums[(count, parts)](
        rows, rows.stride(0), rows.stride(1), order, bounds, held(provisional, rows, count, width), short,
        totals, products,
        FEATURES=features, P=width, BLOCK=tiling.block, DIAGONAL=diagonal, WEIGHTED=short is not None,
        num_warps=tiling.warps, num_stages=2 if diagonal else 3,
    )  # fmt: skip
    sums, gathered = totals.sum(0).cpu().numpy(), products.sum(0).cpu().numpy()
    squares = gathered[:, :features, 0] if diagonal else gathered[:, :features, :features]
    return sums[:, :features], squares


def _parts(rows: Any, count: int, tiling: Tiling) -> int:
    """How many programs share the rows of each class: as many as keep the device busy, were all rows of one class."""
    processors = torch.cuda.get_device_properties(rows.device).multi_processor_count if rows.is_cuda else 1
    most = max(processors * tiling.programs * min(count, FEW_CLASSES) // count, 1)
    return max(min(most, len(rows) // (LEAST_BLOCKS * tiling.block * count)), 1)


@triton.jit
def _class_sums(
    rows, by_row, by_column, order, bounds, provisional, weights, totals, products,
    FEATURES: tl.constexpr, P: tl.constexpr, BLOCK: tl.constexpr, DIAGONAL: tl.constexpr, WEIGHTED: tl.constexpr,
):  # fmt: skip
    # Classes are the first axis: programs that run at the same time read rows that lie near each other.
    k, part = tl.program_id(0), tl.program_id(1)
    first, last = tl.load(bounds + k), tl.load(bounds + k + 1)
    size = tl.cdiv(tl.cdiv(last - first, tl.num_programs(1)), BLOCK) * BLOCK
    start = tl.minimum(first + part * size, last)
    stop = tl.minimum(start + size, last)
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
        squares += _squares(scaled, r, DIAGONAL)
    if whole < stop:
        r, scaled = _residuals(
            rows, by_row, by_column, order, whole, stop, center, weights, FEATURES, P, BLOCK, WEIGHTED, True
        )
        away += scaled
        squares += _squares(scaled, r, DIAGONAL)
    place = (part * tl.num_programs(0) + k).to(tl.int64) * P
    tl.store(totals + place + columns, tl.sum(away.to(tl.float64), axis=0))
    if DIAGONAL:
        tl.store(products + place + columns, squares)
    else:
        tl.store(products + place * P + columns[:, None] * P + columns[None, :], squares)


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
def _squares(scaled, r, DIAGONAL: tl.constexpr):
    if DIAGONAL:
        found = tl.sum(scaled * r, axis=0).to(tl.float64)
    else:
        found = tl.dot(tl.trans(scaled), r, input_precision="ieee").to(tl.float64)
    return found
