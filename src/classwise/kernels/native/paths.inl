// The losses of rows under Gaussians whose covariances are shrunk by several amounts s, in the coordinates of their
// eigenvectors, where every amount is a sum of the same squares:
//
//     score_ks = constant_ks + sum_i inverse_ksi (t_i - mean_ki)² + offset_k;   loss_s = log sum_k exp score_ks - score_own

// out_l = sum_j lines_lj d_j for R lines (R, p) and a group of rows d (p, GROUP).
template <int R>
inline __attribute__((always_inline)) void multiply_lines(const double *lines, ptrdiff_t p, const double *d, double *out) {
    vec sums[R][ROW_VECTORS] = {};
    for (ptrdiff_t j = 0; j < p; j++)
#pragma GCC unroll 8
        for (int v = 0; v < ROW_VECTORS; v++) {
            vec x = load(d + j * GROUP + v * LANES);
#pragma GCC unroll 8
            for (int a = 0; a < R; a++) sums[a][v] += lines[a * p + j] * x;
        }
#pragma GCC unroll 8
    for (int a = 0; a < R; a++)
#pragma GCC unroll 8
        for (int v = 0; v < ROW_VECTORS; v++) store(out + a * GROUP + v * LANES, sums[a][v]);
}

void multiply_all_lines(const double *lines, ptrdiff_t count, ptrdiff_t p, const double *d, double *out) {
    ptrdiff_t l = 0;
    for (; l + LINES_AT_ONCE <= count; l += LINES_AT_ONCE) multiply_lines<LINES_AT_ONCE>(lines + l * p, p, d, out + l * GROUP);
    for (; l < count; l++) multiply_lines<1>(lines + l * p, p, d, out + l * GROUP);
}

// scores (g, s, GROUP) of a group of rows d (p, GROUP); turned, squares (p, GROUP) are overwritten.
void score_path(const PathTask &task, ptrdiff_t begin, ptrdiff_t length, const double *d, double *turned, double *squares,
                double *scores) {
    ptrdiff_t p = task.rows.p, s = task.amounts, last = task.covariances - 1;
    for (ptrdiff_t k = 0; k < task.g; k++) {
        ptrdiff_t own = k < last ? k : last;
        if (k == own) multiply_all_lines(task.vectors + own * p * p, p, p, d, turned);
        for (ptrdiff_t i = 0; i < p; i++)
            for (ptrdiff_t r = 0; r < GROUP; r += LANES) {
                vec away = load(turned + i * GROUP + r) - task.means[k * p + i];
                store(squares + i * GROUP + r, away * away);
            }
        double *of_class = scores + k * s * GROUP;
        multiply_all_lines(task.inverse + own * s * p, s, p, squares, of_class);
        for (ptrdiff_t a = 0; a < s; a++)
            for (ptrdiff_t r = 0; r < GROUP; r++) {
                ptrdiff_t row = task.offset_step && r < length ? begin + r : 0;
                of_class[a * GROUP + r] += task.constant[own * s + a] + task.offset[k * task.offset_length + row];
            }
    }
}

void add_losses(const PathTask &task, ptrdiff_t begin, ptrdiff_t length, const double *scores, double *sums) {
    ptrdiff_t s = task.amounts;
    for (ptrdiff_t a = 0; a < s; a++)
        for (ptrdiff_t r = 0; r < length; r += LANES) {
            const double *at = scores + a * GROUP + r;
            vec peak = load(at), total = {};
            for (ptrdiff_t k = 1; k < task.g; k++) peak = larger(load(at + k * s * GROUP), peak);
            for (ptrdiff_t k = 0; k < task.g; k++) total += exp_of_negative(load(at + k * s * GROUP) - peak);
            for (ptrdiff_t i = 0; i < LANES && r + i < length; i++) {
                ptrdiff_t row = begin + r + i;
                if (task.weights[row] == 0) continue;
                sums[a] += task.weights[row] * (log(total[i]) + peak[i] - at[task.codes[row] * s * GROUP + i]);
            }
        }
}

// The losses of rows [begin, end), added to sums (s,); false where there is no memory.
bool path(const PathTask &task, ptrdiff_t begin, ptrdiff_t end, double *sums) {
    ptrdiff_t p = task.rows.p;
    Memory memory(GROUP * (3 * p + task.g * task.amounts));
    double *d = memory.numbers;
    if (!d) return false;
    double *turned = d + GROUP * p, *squares = turned + GROUP * p, *scores = squares + GROUP * p;
    ScoreTask reading = {};
    reading.rows = task.rows;
    reading.origin = task.origin;
    for (ptrdiff_t at = begin; at < end; at += GROUP) {
        ptrdiff_t length = end - at < GROUP ? end - at : GROUP;
        read_group(reading, at, length, d);
        score_path(task, at, length, d, turned, squares, scores);
        add_losses(task, at, length, scores, sums);
    }
    return true;
}
