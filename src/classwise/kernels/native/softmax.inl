// A pass of logistic regression: the losses of rows by softmax, their gradient, and the factors of their
// curvature.
//
//     s_k = constant_k + first_k . d, d = x - origin;   p_k = exp s_k / sum exp s;   z = (d, 1)
//     loss = -log p_own;   gradient_k = sum w (p_k - [k = own]) z;   factor_kl = w p_k p_l of each row, k < l
//
// Rows are scored in groups, one row a lane.

// The classes and weights of a group of rows; weights are 0 beyond the last. factors: where they go, `step` from one pair
// of classes to the next, or null.
struct SoftmaxGroup {
    int64_t codes[GROUP];
    double weights[GROUP];
    double *factors;
    ptrdiff_t step;
};

void read_softmax_group(const SoftmaxTask &task, ptrdiff_t begin, ptrdiff_t length, SoftmaxGroup &group) {
    MomentsTask coded = {};
    coded.codes = task.codes;
    coded.code_size = task.code_size;
    read_codes(coded, begin, length, group.codes);
    for (ptrdiff_t r = 0; r < length; r++) group.weights[r] = task.weights ? task.weights[begin + r] : 1.0;
    for (ptrdiff_t r = length; r < GROUP; r++) group.codes[r] = 0, group.weights[r] = 0.0;
}

// w p_k p_l of a vector of rows, for the pairs k < l.
inline void write_factors(const double *shares, ptrdiff_t g, vec weight, double *factors, ptrdiff_t step) {
    for (ptrdiff_t k = 0; k < g; k++) {
        vec weighted = weight * load(shares + k * GROUP);
        for (ptrdiff_t l = k + 1; l < g; l++, factors += step) store(factors, weighted * load(shares + l * GROUP));
    }
}

// The scores of a vector of rows become weighted residuals, in place; returns their weighted losses.
inline vec leave_residuals(double *scores, ptrdiff_t g, const SoftmaxGroup &group, ptrdiff_t r) {
    ints code;
    __builtin_memcpy(&code, group.codes + r, sizeof code);
    vec weight = load(group.weights + r), peak = load(scores);
    for (ptrdiff_t k = 1; k < g; k++) peak = larger(load(scores + k * GROUP), peak);
    // The sum of the shares is 1 for a class of the largest score, and a rest that keeps its digits where it is small.
    vec rest = {}, leaders = all(-1.0), own = {};
    for (ptrdiff_t k = 0; k < g; k++) {
        vec score = load(scores + k * GROUP), share = exp_of_negative(score - peak);
        ints is_below = score < peak;
        rest += choose(is_below, share, (vec){});
        leaders += choose(is_below, (vec){}, all(1.0));
        own = choose(code == k, score, own);
        store(scores + k * GROUP, share);
    }
    rest += leaders;
    vec inverse = 1.0 / (1.0 + rest), others = {};
    for (ptrdiff_t k = 0; k < g; k++) {
        vec share = inverse * load(scores + k * GROUP);
        others += choose(code == k, (vec){}, share);
        store(scores + k * GROUP, share);
    }
    if (group.factors) write_factors(scores, g, weight, group.factors + r, group.step);
    for (ptrdiff_t k = 0; k < g; k++)  // p - 1 of the own class is minus the others, for the same reason
        store(scores + k * GROUP, weight * choose(code == k, -others, load(scores + k * GROUP)));
    return weight * (log_of_one_plus(rest) + (peak - own));
}

// sums (p + 1, g, LANES) += residual_k z, for K classes from k on, of a group of rows d (p, GROUP); lanes are added later.
template <int K>
void add_gradients(const double *d, const double *residuals, ptrdiff_t k, ptrdiff_t g, ptrdiff_t p, double *sums) {
    vec own[K][ROW_VECTORS];
#pragma GCC unroll 8
    for (int c = 0; c < K; c++)
#pragma GCC unroll 8
        for (int v = 0; v < ROW_VECTORS; v++) own[c][v] = load(residuals + (k + c) * GROUP + v * LANES);
    for (ptrdiff_t j = 0; j <= p; j++) {
        double *target = sums + (j * g + k) * LANES;
        vec x[ROW_VECTORS];
#pragma GCC unroll 8
        for (int v = 0; v < ROW_VECTORS; v++) x[v] = j < p ? load(d + j * GROUP + v * LANES) : all(1.0);
#pragma GCC unroll 8
        for (int c = 0; c < K; c++) {
            vec sum = load(target + c * LANES);
#pragma GCC unroll 8
            for (int v = 0; v < ROW_VECTORS; v++) sum += own[c][v] * x[v];
            store(target + c * LANES, sum);
        }
    }
}

void add_all_gradients(const double *d, const double *residuals, ptrdiff_t g, ptrdiff_t p, double *sums) {
    ptrdiff_t k = 0;
    for (; k + CLASSES_AT_ONCE <= g; k += CLASSES_AT_ONCE) add_gradients<CLASSES_AT_ONCE>(d, residuals, k, g, p, sums);
    switch (g - k) {
        case 4: add_gradients<4>(d, residuals, k, g, p, sums); break;
        case 3: add_gradients<3>(d, residuals, k, g, p, sums); break;
        case 2: add_gradients<2>(d, residuals, k, g, p, sums); break;
        case 1: add_gradients<1>(d, residuals, k, g, p, sums); break;
    }
}

// Factors of a group that is not full, beside those of all rows.
void copy_factors(const SoftmaxTask &task, ptrdiff_t begin, ptrdiff_t length, const double *factors) {
    for (ptrdiff_t c = 0; c < task.g * (task.g - 1) / 2; c++)
        for (ptrdiff_t r = 0; r < length; r++) task.factors[c * task.rows.n + begin + r] = factors[c * GROUP + r];
}

// The losses and gradients (p + 1, g) of rows [begin, end), added to the sums; false where there is no memory.
bool softmax(const SoftmaxTask &task, ptrdiff_t begin, ptrdiff_t end, double *loss, double *gradient) {
    ptrdiff_t p = task.rows.p, g = task.g, pairs = g * (g - 1) / 2;
    Memory memory(LANES * g * (p + 1) + GROUP * (p + g + pairs), Memory::CLEARED);
    double *sums = memory.numbers;
    if (!sums) return false;
    double *d = sums + LANES * g * (p + 1), *scores = d + GROUP * p, *last = scores + GROUP * g;
    ScoreTask scoring = {};
    scoring.rows = task.rows;
    scoring.g = g;
    scoring.origin = task.origin;
    scoring.constant = task.constant;
    scoring.first = task.first;
    vec lost = {};
    for (ptrdiff_t at = begin; at < end; at += GROUP) {
        ptrdiff_t length = end - at < GROUP ? end - at : GROUP;
        bool is_full = length == GROUP;
        SoftmaxGroup group = {};
        read_softmax_group(task, at, length, group);
        if (task.factors) group.factors = is_full ? task.factors + at : last, group.step = is_full ? task.rows.n : GROUP;
        read_group(scoring, at, length, d);
        sum_all_columns<false>(scoring, d, scores);
        for (ptrdiff_t r = 0; r < GROUP; r += LANES) lost += leave_residuals(scores + r, g, group, r);
        add_all_gradients(d, scores, g, p, sums);
        if (task.factors && !is_full) copy_factors(task, at, length, last);
    }
    for (int i = 0; i < LANES; i++) *loss += lost[i];
    for (ptrdiff_t j = 0; j < g * (p + 1); j++)
        for (int i = 0; i < LANES; i++) gradient[j] += sums[j * LANES + i];
    return true;
}
