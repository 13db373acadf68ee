// Processors with AVX2 and FMA: vectors of four doubles, sixteen of them.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"
#include "memory.h"

#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx2,fma")
#endif

#define LANES 4
#define TILE_ROWS 4
#define TILE_VECTORS 3
#define ROW_VECTORS 2
#define CLASSES_AT_ONCE 5
#define ROWS_AT_ONCE 2
#define LINES_AT_ONCE 4

namespace {
#include "vectors.inl"
#include "moments.inl"
#include "products.inl"
#include "scores.inl"
#include "slopes.inl"
#include "softmax.inl"
#include "paths.inl"
#include "small_trees.inl"
}  // namespace

#if defined(__clang__)
#pragma clang attribute pop
#endif

const Kernels KERNELS_AVX2 = {"avx2", padded, moments, score, products, slopes, softmax, path, small_trees};
#endif
