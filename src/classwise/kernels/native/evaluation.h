// What posteriors of held-out rows come to: mistakes, losses, and how often what was predicted happened.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

struct EvaluationTask {
    const double *logs;  // (n, g), up to a constant per row
    const int64_t *codes;
    const double *weights;
    ptrdiff_t n, g, bins;
    double least;  // of a probability, in losses
};

// confusion (g, g); bins (1 + g, 3, b): weight, weight times probability, observed weight, of the class that was decided
// for and then of each class; sums: of losses, of squared differences, of squared losses.
struct EvaluationSums {
    double *confusion, *bins, *sums;
};

// exp(log) / sum of a row, zero where every class has probability zero; the first class of the largest.
inline ptrdiff_t normalize_row(const double *logs, ptrdiff_t g, double *p) {
    ptrdiff_t decided = 0;
    for (ptrdiff_t k = 1; k < g; k++)
        if (logs[k] > logs[decided]) decided = k;
    double peak = logs[decided], total = 0.0;
    if (peak == -std::numeric_limits<double>::infinity()) peak = 0.0;
    for (ptrdiff_t k = 0; k < g; k++) total += p[k] = std::exp(logs[k] - peak);
    for (ptrdiff_t k = 0; k < g; k++) p[k] = total != 0 ? p[k] / total : 0.0;
    return decided;
}

inline void evaluate_rows(const EvaluationTask &task, EvaluationSums found) {
    ptrdiff_t g = task.g, b = task.bins;
    std::vector<double> p(g);
    auto bin = [&](double probability) { return std::min(static_cast<ptrdiff_t>(probability * b), b - 1); };
    for (ptrdiff_t i = 0; i < task.n; i++) {
        ptrdiff_t decided = normalize_row(task.logs + i * g, g, p.data()), code = task.codes[i];
        double w = task.weights[i], own = p[code], squares = 0.0;
        found.confusion[code * g + decided] += w;
        double *of_decided = found.bins + bin(p[decided]);
        of_decided[0] += w;
        of_decided[b] += w * p[decided];
        of_decided[2 * b] += decided == code ? w : 0.0;
        for (ptrdiff_t k = 0; k < g; k++) {
            double *of_class = found.bins + (1 + k) * 3 * b + bin(p[k]);
            of_class[0] += w;
            of_class[b] += w * p[k];
            squares += p[k] * p[k];
        }
        found.bins[(1 + code) * 3 * b + 2 * b + bin(own)] += w;
        double loss = -std::log(std::max(own, task.least));
        found.sums[0] += w * loss;
        found.sums[1] += w * (squares - 2 * own + 1);
        found.sums[2] += w * loss * loss;
    }
}
