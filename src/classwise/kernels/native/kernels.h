// What the kernels are asked, in plain structs: the same for every instruction set.
//
// Only C headers here and in the files of an instruction set. An inline function of the C++ library, compiled for
// AVX-512 there, could be the one the linker keeps for everybody, and a processor without it would stop.
#pragma once
#include <stddef.h>
#include <stdint.h>

// n rows of p numbers, read where they lie. Of a matrix whose rows are contiguous: base, and `stride` numbers from one
// row to the next. Else the columns: their first numbers, and the numbers from one of their values to the next.
struct Rows {
    const void *base;
    const void *const *columns;
    const ptrdiff_t *strides;
    ptrdiff_t stride;
    ptrdiff_t n, p;
    bool is_single;  // float, not double
};

enum Form { FULL, POOLED, DIAGONAL };

// Sums about a provisional mean c_k of each class: weight_k = sum w, total_k = sum w r, products = sum w r r', where
// r = x - c_k. Features are padded (see `padded`), so that vectors need no tails; the first padded one has c_k = -1, and so
// r = 1 in every row.
struct MomentsTask {
    Rows rows;
    const void *codes;
    int code_size;
    const double *weights;      // or null
    const double *provisional;  // (g, P)
    ptrdiff_t g;
    Form form;
};

struct MomentsSums {
    double *weight;    // (g,)
    double *total;     // (g, P)
    double *products;  // (g, P, P), (P, P) or (g, P); of the squares only what is on or above the diagonal counts
};

enum Shape { LINEAR, QUADRATIC_DIAGONAL, QUADRATIC_FULL };
enum Answer { POSTERIOR, LOG_POSTERIOR, SCORES, DECISION };

// score_k(x) with d = x - origin:
//   LINEAR              constant_k + first_k . d                                     first (g, p)
//   QUADRATIC_DIAGONAL  constant_k + first_k . d + second_k . d²                     second (g, p)
//   QUADRATIC_FULL      constant_k - 1/2 |d V_k - first_k|²                          second: V' by rows (g, p (p + 1) / 2)
// Ties within `tie` of the largest are made equal to it. Calibrated scores are power * score + shift_k.
struct ScoreTask {
    Rows rows;
    Shape shape;
    ptrdiff_t g;
    const double *origin, *constant, *first, *second;
    double tie, power;
    const double *shift;  // or null, where nothing is calibrated
    Answer answer;
    double *out;        // (g, n), or null
    int64_t *decision;  // (n,), or null
    ptrdiff_t n_out;
};

// Of rows with log posteriors u (g, n), relative to the largest, of which `own` is that of their class: the log loss
// under the power b, and its first and second derivative in log b, summed by fold.
struct SlopesTask {
    const double *logs, *own, *weights;
    const int64_t *folds;
    ptrdiff_t g, n, folds_count;
    double power, most_lost;
};

// products_c = sum over rows of factor_c z z'; factors (c, n). z are the columns of the rows less a center; padded columns
// are minus theirs (see MomentsTask), and count among the q columns where that is 1.
struct ProductsTask {
    Rows columns;
    const double *factors;
    ptrdiff_t count, q;
    const double *center;  // (P,)
};

// Logistic regression; see softmax.inl. codes, weights: (n,), weights or null; origin (p,), constant (g,), first (g, p).
struct SoftmaxTask {
    Rows rows;
    const void *codes;
    int code_size;
    const double *weights;
    ptrdiff_t g;
    const double *origin, *constant, *first;
    double *factors;  // (g (g - 1) / 2, n), or null
};

// The losses of rows under Gaussians whose covariances are shrunk by several amounts; see paths.inl. t = vectors (x -
// origin); codes, weights (n,); offset (g, offset_length): of a class, or where offset_step is 1, of each of its rows.
struct PathTask {
    Rows rows;
    ptrdiff_t g, covariances, amounts;
    const double *origin, *vectors, *means, *inverse, *constant;  // (p,), (k, p, p), (g, p), (k, s, p), (k, s)
    const double *offset, *weights;
    const int64_t *codes;
    ptrdiff_t offset_length, offset_step;
};

// Sums over trees of at most MOST_SMALL_LEAVES leaves of what a table (L, g) has of the leaf of each row; see
// small_trees.inl. leaves (t, MOST_SMALL_LEAVES): their numbers, from left to right.
enum { MOST_SMALL_LEAVES = 16, SMALL_TREES_ROWS = 256 };

struct SmallCut {
    uint16_t column;
    int16_t cut, left;  // left: a bit for each leaf on the left of the cut; codes and cuts are less 2^15
};

struct SmallTreesTask {
    ptrdiff_t trees, g;
    const int32_t *starts;  // (t + 1,): where the cuts of each tree begin
    const SmallCut *cuts;
    const int32_t *leaves;
    const double *table;
};

struct Kernels {
    const char *name;
    ptrdiff_t (*padded)(ptrdiff_t p);
    bool (*moments)(const MomentsTask &task, ptrdiff_t begin, ptrdiff_t end, MomentsSums sums);
    bool (*score)(const ScoreTask &task, ptrdiff_t begin, ptrdiff_t end, bool *is_finite);
    bool (*products)(const ProductsTask &task, ptrdiff_t begin, ptrdiff_t end, double *products);  // (c, P, P)
    void (*slopes)(const SlopesTask &task, ptrdiff_t begin, ptrdiff_t end, double *sums);
    bool (*softmax)(const SoftmaxTask &task, ptrdiff_t begin, ptrdiff_t end, double *loss, double *gradient);  // (p + 1, g)
    bool (*path)(const PathTask &task, ptrdiff_t begin, ptrdiff_t end, double *sums);
    // Adds the sums of `count` rows (count, g); columns (p, SMALL_TREES_ROWS): the codes of a block of rows.
    void (*small_trees)(const SmallTreesTask &task, const int16_t *columns, ptrdiff_t count, double *sums);
};

extern const Kernels KERNELS_PLAIN;
#if defined(__x86_64__)
extern const Kernels KERNELS_AVX2;
extern const Kernels KERNELS_AVX512;
#endif
