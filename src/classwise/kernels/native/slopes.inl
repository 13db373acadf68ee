// The log loss of held-out rows under a power b of their posteriors, and its derivatives in log b:
//
//     loss = log sum exp(b u) - b u_own;  slope = b (E[u] - u_own);  bend = b² Var[u] + slope
//
// with means under P^b. A row loses no more than `most_lost`; one that would does not pull.

struct LaneSums {
    vec total, mean, square;
};

inline LaneSums lane_sums(const SlopesTask &task, ptrdiff_t at) {
    LaneSums sums = {};
    for (ptrdiff_t k = 0; k < task.g; k++) {
        vec u = load(task.logs + k * task.n + at), share = exp_of_negative(task.power * u);
        sums.total += share;
        sums.mean += share * u;
        sums.square += share * u * u;
    }
    return sums;
}

inline void add_slopes(const SlopesTask &task, ptrdiff_t row, double total, double mean, double square, double *sums) {
    double b = task.power, own = task.own[row], weight = task.weights[row];
    mean /= total;
    double variance = square / total - mean * mean;
    double lost = log(total) - b * own, slope = b * (mean - own);
    ptrdiff_t fold = task.folds[row], folds = task.folds_count;
    bool counts = lost < task.most_lost;
    sums[fold] += weight * (counts ? lost : task.most_lost);
    if (!counts) return;
    sums[folds + fold] += weight * slope;
    sums[2 * folds + fold] += weight * (b * b * (variance > 0 ? variance : 0.0) + slope);
}

void slopes(const SlopesTask &task, ptrdiff_t begin, ptrdiff_t end, double *sums) {
    ptrdiff_t row = begin;
    for (; row + LANES <= end; row += LANES) {
        LaneSums lanes = lane_sums(task, row);
        for (int i = 0; i < LANES; i++)
            add_slopes(task, row + i, lanes.total[i], lanes.mean[i], lanes.square[i], sums);
    }
    for (; row < end; row++) {
        double total = 0, mean = 0, square = 0;
        for (ptrdiff_t k = 0; k < task.g; k++) {
            double u = task.logs[k * task.n + row], share = exp(task.power * u);
            total += share;
            mean += share * u;
            square += share * u * u;
        }
        add_slopes(task, row, total, mean, square, sums);
    }
}
