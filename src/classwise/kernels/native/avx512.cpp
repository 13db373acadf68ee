// Processors with AVX-512: vectors of eight doubles, thirty-two of them.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"
#include "memory.h"

#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,avx512f,avx512dq,avx512vl,avx512bw"))), apply_to = function)
#else
#pragma GCC target("avx2,fma,avx512f,avx512dq,avx512vl,avx512bw,prefer-vector-width=512")
#endif

#define LANES 8
#define TILE_ROWS 8
#define TILE_VECTORS 3
#define ROW_VECTORS 4
#define CLASSES_AT_ONCE 5
#define ROWS_AT_ONCE 4
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

const Kernels KERNELS_AVX512 = {"avx512", padded, moments, score, products, slopes, softmax, path, small_trees};
#endif
