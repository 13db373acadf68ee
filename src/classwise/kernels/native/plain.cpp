// Any processor: vectors of two doubles, which every 64-bit one has.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"
#include "memory.h"

#define LANES 2
#define TILE_ROWS 4
#define TILE_VECTORS 2
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

const Kernels KERNELS_PLAIN = {"plain", padded, moments, score, products, slopes, softmax, path, small_trees};
