// Points near the means of classes, about which sums are taken, and the means and scatter that the sums come to.
//
// With a center c_k, sums t = sum w r and P = sum w r r' of residuals r = x - c_k, and d = t / n:
//
//   mean = c_k + d, with what rounding cuts off;   scatter = P - n d d'
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels.h"

inline int64_t class_of(const MomentsTask &task, ptrdiff_t row) {
    switch (task.code_size) {
        case 1: return static_cast<const uint8_t *>(task.codes)[row];
        case 2: return static_cast<const int16_t *>(task.codes)[row];
        case 4: return static_cast<const int32_t *>(task.codes)[row];
        default: return static_cast<const int64_t *>(task.codes)[row];
    }
}

inline double number_at(const Rows &rows, ptrdiff_t i, ptrdiff_t j) {
    const void *start = rows.columns ? rows.columns[j] : rows.base;
    ptrdiff_t at = rows.columns ? i * rows.strides[j] : i * rows.stride + j;
    return rows.is_single ? static_cast<const float *>(start)[at] : static_cast<const double *>(start)[at];
}

// The first row of each class, moved by the mean residual of those of the first `head` rows that are of the class:
// near its mean, and equal to it where the class is constant; (g, P). The first padded feature is 0 in every row and has
// the center -1: its residuals are 1, and products with it are sums.
inline std::vector<double> find_centers(const MomentsTask &task, ptrdiff_t head, ptrdiff_t P) {
    ptrdiff_t p = task.rows.p, found = 0;
    std::vector<double> centers(task.g * P), away(task.g * P), counts(task.g);
    std::vector<bool> is_seen(task.g);
    for (ptrdiff_t i = 0; i < task.rows.n && (i < head || found < task.g); i++) {
        int64_t k = class_of(task, i);
        double *center = centers.data() + k * P, *sums = away.data() + k * P;
        if (!is_seen[k]) {
            is_seen[k] = true;
            found++;
            for (ptrdiff_t j = 0; j < p; j++) center[j] = number_at(task.rows, i, j);
        }
        if (i >= head) continue;
        counts[k] += 1;
        for (ptrdiff_t j = 0; j < p; j++) sums[j] += number_at(task.rows, i, j) - center[j];
    }
    for (ptrdiff_t k = 0; k < task.g; k++)
        for (ptrdiff_t j = 0; j < p && counts[k] > 0; j++) centers[k * P + j] += away[k * P + j] / counts[k];
    for (ptrdiff_t k = 0; k < task.g && p < P; k++) centers[k * P + p] = -1.0;
    return centers;
}

// total becomes the mean (g, p), rest what rounding cuts off it, and products the scatter.
inline void center_sums(const MomentsTask &task, ptrdiff_t P, const double *weight, double *total, double *rest,
                        double *products) {
    ptrdiff_t p = task.rows.p;
    std::vector<double> offset(p);
    for (ptrdiff_t k = 0; k < task.g; k++) {
        double n = weight[k], *mean = total + k * p;
        for (ptrdiff_t j = 0; j < p; j++) {
            double center = task.provisional[k * P + j], d = offset[j] = n != 0 ? mean[j] / n : 0.0;
            double sum = center + d, virtual_d = sum - center;
            mean[j] = sum;
            rest[k * p + j] = (center - (sum - virtual_d)) + (d - virtual_d);
        }
        double *own = products + (task.form == FULL ? k * p * p : task.form == DIAGONAL ? k * p : 0);
        if (task.form == DIAGONAL)
            for (ptrdiff_t j = 0; j < p; j++) own[j] -= n * offset[j] * offset[j];
        else
            for (ptrdiff_t i = 0; i < p; i++)
                for (ptrdiff_t j = 0; j < p; j++) own[i * p + j] -= n * (offset[i] * offset[j]);
    }
}

// The least share of a column's variance that the columns before it leave, in a matrix (p, p) that is symmetric: the
// least squared pivot of Cholesky's factor of its correlations. 0 where there is none; work (p, p).
inline double least_pivot(const double *matrix, ptrdiff_t p, double *work) {
    double least = 1.0;
    for (ptrdiff_t i = 0; i < p; i++) {
        double variance = matrix[i * p + i], left = 1.0;
        if (!(variance > 0)) return 0.0;
        double *row = work + i * p, scale = std::sqrt(variance);
        for (ptrdiff_t j = 0; j < i; j++) {
            double *other = work + j * p, sum = matrix[i * p + j] / scale / std::sqrt(matrix[j * p + j]);
            for (ptrdiff_t l = 0; l < j; l++) sum -= row[l] * other[l];
            row[j] = sum / other[j];
            left -= row[j] * row[j];
        }
        if (!(left > 0)) return 0.0;
        row[i] = std::sqrt(left);
        least = std::min(least, left);
    }
    return least;
}
