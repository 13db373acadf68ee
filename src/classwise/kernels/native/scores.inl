// Scores of a group of rows in registers, and Bayes' rule on them: one row a lane, so that everything works down the
// classes as the formulas do.

const ptrdiff_t GROUP = ROW_VECTORS * LANES;

#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#define EXCHANGE(i, s, LOW, HIGH)                     \
    {                                                 \
        vec low = LOW(v[i], v[i + s]);                \
        v[i + s] = HIGH(v[i], v[i + s]);              \
        v[i] = low;                                   \
    }

// The transpose of LANES vectors: lanes change places with vectors, one bit of their numbers at a time.
inline __attribute__((always_inline)) void transpose(vec *v) {
#if LANES == 8
#define L1(a, b) SHUFFLE(a, b, 0, 8, 2, 10, 4, 12, 6, 14)
#define H1(a, b) SHUFFLE(a, b, 1, 9, 3, 11, 5, 13, 7, 15)
#define L2(a, b) SHUFFLE(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define H2(a, b) SHUFFLE(a, b, 2, 3, 10, 11, 6, 7, 14, 15)
#define L4(a, b) SHUFFLE(a, b, 0, 1, 2, 3, 8, 9, 10, 11)
#define H4(a, b) SHUFFLE(a, b, 4, 5, 6, 7, 12, 13, 14, 15)
    EXCHANGE(0, 1, L1, H1) EXCHANGE(2, 1, L1, H1) EXCHANGE(4, 1, L1, H1) EXCHANGE(6, 1, L1, H1)
    EXCHANGE(0, 2, L2, H2) EXCHANGE(1, 2, L2, H2) EXCHANGE(4, 2, L2, H2) EXCHANGE(5, 2, L2, H2)
    EXCHANGE(0, 4, L4, H4) EXCHANGE(1, 4, L4, H4) EXCHANGE(2, 4, L4, H4) EXCHANGE(3, 4, L4, H4)
#elif LANES == 4
#define L1(a, b) SHUFFLE(a, b, 0, 4, 2, 6)
#define H1(a, b) SHUFFLE(a, b, 1, 5, 3, 7)
#define L2(a, b) SHUFFLE(a, b, 0, 1, 4, 5)
#define H2(a, b) SHUFFLE(a, b, 2, 3, 6, 7)
    EXCHANGE(0, 1, L1, H1) EXCHANGE(2, 1, L1, H1) EXCHANGE(0, 2, L2, H2) EXCHANGE(1, 2, L2, H2)
#else
#define L1(a, b) SHUFFLE(a, b, 0, 2)
#define H1(a, b) SHUFFLE(a, b, 1, 3)
    EXCHANGE(0, 1, L1, H1)
#endif
}

// d = x - origin of LANES rows and the first `count` of as many columns; the memory fetches what lies `ahead` meanwhile.
template <class T>
inline __attribute__((always_inline)) void read_tile(const T *rows, ptrdiff_t stride, ptrdiff_t ahead, const double *origin,
                                                     ptrdiff_t count, double *d) {
    vec v[LANES];
#pragma GCC unroll 8
    for (int i = 0; i < LANES; i++) {
        v[i] = load(rows + i * stride);
        __builtin_prefetch(rows + i * stride + ahead);
    }
    transpose(v);
#pragma GCC unroll 8
    for (int i = 0; i < LANES; i++)
        if (i < count) store(d + i * GROUP, v[i] - origin[i]);
}

// d = x - origin of a group of rows, column by column: (p, GROUP). Rows beyond the last are zero.
template <class T>
void read_rows(const ScoreTask &task, ptrdiff_t begin, ptrdiff_t length, double *d) {
    const Rows &rows = task.rows;
    const T *base = (const T *)rows.base + begin * rows.stride;
    if (length < GROUP || rows.p < LANES / 2 || (rows.p < LANES && !is_inside(rows, begin + GROUP - 1, LANES))) {
        for (ptrdiff_t j = 0; j < rows.p; j++)
            for (ptrdiff_t r = 0; r < length; r++) d[j * GROUP + r] = (double)base[r * rows.stride + j] - task.origin[j];
        return;
    }
    ptrdiff_t ahead = begin + 2 * GROUP <= rows.n ? GROUP * rows.stride : 0;
    for (ptrdiff_t r = 0; r < GROUP; r += LANES, base += LANES * rows.stride) {
        ptrdiff_t j = 0;
        for (; j + LANES <= rows.p; j += LANES) read_tile(base + j, rows.stride, ahead, task.origin + j, LANES, d + j * GROUP + r);
        if (j == rows.p) continue;
        j = rows.p > LANES ? rows.p - LANES : 0;  // the last columns, some for the second time, or all there are
        read_tile(base + j, rows.stride, ahead, task.origin + j, rows.p - j, d + j * GROUP + r);
    }
}

template <class T>
void read_columns(const ScoreTask &task, ptrdiff_t begin, ptrdiff_t length, double *d) {
    for (ptrdiff_t j = 0; j < task.rows.p; j++) {
        ptrdiff_t stride = task.rows.strides[j];
        const T *column = (const T *)task.rows.columns[j] + begin * stride;
        for (ptrdiff_t r = 0; r < length; r++) d[j * GROUP + r] = (double)column[r * stride] - task.origin[j];
    }
}

void read_group(const ScoreTask &task, ptrdiff_t begin, ptrdiff_t length, double *d) {
    if (length < GROUP)
        for (ptrdiff_t i = 0; i < task.rows.p * GROUP; i++) d[i] = 0.0;
    if (task.rows.columns) {
        if (task.rows.is_single) read_columns<float>(task, begin, length, d);
        else read_columns<double>(task, begin, length, d);
    } else if (task.rows.is_single) read_rows<float>(task, begin, length, d);
    else read_rows<double>(task, begin, length, d);
}

// K classes at a time: constant + first . d, and second . d² where IS_SQUARE.
template <int K, bool IS_SQUARE>
void sum_columns(const ScoreTask &task, ptrdiff_t k, const double *d, double *scores) {
    ptrdiff_t p = task.rows.p;
    const double *first = task.first + k * p, *second = IS_SQUARE ? task.second + k * p : 0;
    vec sums[K][ROW_VECTORS];
#pragma GCC unroll 8
    for (int c = 0; c < K; c++)
#pragma GCC unroll 8
        for (int v = 0; v < ROW_VECTORS; v++) sums[c][v] = all(task.constant[k + c]);
    for (ptrdiff_t j = 0; j < p; j++) {
        vec x[ROW_VECTORS];
#pragma GCC unroll 8
        for (int v = 0; v < ROW_VECTORS; v++) x[v] = load(d + j * GROUP + v * LANES);
#pragma GCC unroll 8
        for (int c = 0; c < K; c++)
#pragma GCC unroll 8
            for (int v = 0; v < ROW_VECTORS; v++) {
                if (IS_SQUARE) sums[c][v] += (second[c * p + j] * x[v] + first[c * p + j]) * x[v];
                else sums[c][v] += first[c * p + j] * x[v];
            }
    }
#pragma GCC unroll 8
    for (int c = 0; c < K; c++)
#pragma GCC unroll 8
        for (int v = 0; v < ROW_VECTORS; v++) store(scores + (k + c) * GROUP + v * LANES, sums[c][v]);
}

template <bool IS_SQUARE>
void sum_all_columns(const ScoreTask &task, const double *d, double *scores) {
    ptrdiff_t k = 0;
    for (; k + CLASSES_AT_ONCE <= task.g; k += CLASSES_AT_ONCE)
        sum_columns<CLASSES_AT_ONCE, IS_SQUARE>(task, k, d, scores);
    switch (task.g - k) {
        case 4: sum_columns<4, IS_SQUARE>(task, k, d, scores); break;
        case 3: sum_columns<3, IS_SQUARE>(task, k, d, scores); break;
        case 2: sum_columns<2, IS_SQUARE>(task, k, d, scores); break;
        case 1: sum_columns<1, IS_SQUARE>(task, k, d, scores); break;
    }
}

// Lane i: the sum of the lanes of v[i].
inline __attribute__((always_inline)) vec sum_lanes(vec *v) {
#if LANES == 8
#pragma GCC unroll 8
    for (int i = 0; i < 8; i += 2) v[i] = L1(v[i], v[i + 1]) + H1(v[i], v[i + 1]);
#pragma GCC unroll 8
    for (int i = 0; i < 8; i += 4) v[i] = L2(v[i], v[i + 2]) + H2(v[i], v[i + 2]);
    return L4(v[0], v[4]) + H4(v[0], v[4]);
#elif LANES == 4
#pragma GCC unroll 8
    for (int i = 0; i < 4; i += 2) v[i] = L1(v[i], v[i + 1]) + H1(v[i], v[i + 1]);
    return L2(v[0], v[2]) + H2(v[0], v[2]);
#else
    return L1(v[0], v[1]) + H1(v[0], v[1]);
#endif
}

// Of many features, rows are multiplied as they lie, without a transpose, and lanes are added at the end. Origin (P) and
// coefficients (g, P) are padded with zeros.
struct RowWise {
    const double *origin, *first;
    ptrdiff_t p, P;
};

// own_rk += (x_r - origin) first_k, for LANES features from j on.
template <int K, int R, class T>
inline __attribute__((always_inline)) void add_features(const RowWise &task, const T *const *rows, ptrdiff_t j, bool is_safe,
                                                        ptrdiff_t ahead, vec (&own)[K][R]) {
    vec x[R], origin = load(task.origin + j);
#pragma GCC unroll 8
    for (int r = 0; r < R; r++) {
        x[r] = some(rows[r], j, task.p, is_safe) - origin;
        __builtin_prefetch(rows[r] + j + ahead);
    }
#pragma GCC unroll 8
    for (int k = 0; k < K; k++) {
        vec slope = load(task.first + k * task.P + j);
#pragma GCC unroll 8
        for (int r = 0; r < R; r++) own[k][r] += slope * x[r];
    }
}

// The products of ROWS_AT_ONCE rows with K classes; sums (K, LANES rows, LANES). ahead: from a number to the one that is
// fetched meanwhile.
template <int K, class T>
void multiply_rows(const RowWise &task, const T *const *rows, bool is_safe, ptrdiff_t ahead, double *sums) {
    vec own[K][ROWS_AT_ONCE] = {};
    ptrdiff_t whole = task.p / LANES * LANES;
    for (ptrdiff_t j = 0; j < whole; j += LANES) add_features(task, rows, j, true, ahead, own);
    if (whole < task.p) add_features(task, rows, whole, is_safe, ahead, own);
#pragma GCC unroll 8
    for (int k = 0; k < K; k++)
#pragma GCC unroll 8
        for (int r = 0; r < ROWS_AT_ONCE; r++) store(sums + (k * LANES + r) * LANES, own[k][r]);
}

// The scores of LANES rows for K classes.
template <int K, class T>
void score_rows(const RowWise &task, const double *constant, const T *const *rows, bool is_safe, ptrdiff_t ahead,
                double *scores) {
    double sums[K * LANES * LANES];
    for (ptrdiff_t r = 0; r < LANES; r += ROWS_AT_ONCE)
        multiply_rows<K>(task, rows + r, is_safe, ahead, sums + r * LANES);
    for (ptrdiff_t k = 0; k < K; k++) {
        vec v[LANES];
#pragma GCC unroll 8
        for (int r = 0; r < LANES; r++) v[r] = load(sums + (k * LANES + r) * LANES);
        store(scores + k * GROUP, constant[k] + sum_lanes(v));
    }
}

// The scores of LANES rows for all classes, in blocks of about the same size.
template <class T>
void score_all_classes(const ScoreTask &task, RowWise at, const T *const *rows, bool is_safe, ptrdiff_t ahead,
                       double *scores) {
    const double *first = at.first;
    ptrdiff_t k = 0;
    for (ptrdiff_t blocks = (task.g + CLASSES_AT_ONCE - 1) / CLASSES_AT_ONCE; blocks > 0; blocks--) {
        ptrdiff_t count = (task.g - k + blocks - 1) / blocks;
        const double *constant = task.constant + k;
        double *own = scores + k * GROUP;
        at.first = first + k * at.P;
        switch (count) {
            case 5: score_rows<5>(at, constant, rows, is_safe, ahead, own); break;
            case 4: score_rows<4>(at, constant, rows, is_safe, ahead, own); break;
            case 3: score_rows<3>(at, constant, rows, is_safe, ahead, own); break;
            case 2: score_rows<2>(at, constant, rows, is_safe, ahead, own); break;
            case 1: score_rows<1>(at, constant, rows, is_safe, ahead, own); break;
        }
        k += count;
    }
}

// The scores of a group of rows; of rows beyond the last, those of the last.
template <class T>
void score_row_wise(const ScoreTask &task, const RowWise &row_wise, ptrdiff_t begin, ptrdiff_t length, double *scores) {
    const Rows &all_rows = task.rows;
    for (ptrdiff_t at = 0; at < length; at += LANES) {
        const T *rows[LANES];
        for (ptrdiff_t r = 0; r < LANES; r++)
            rows[r] = (const T *)all_rows.base + (begin + (at + r < length ? at + r : length - 1)) * all_rows.stride;
        bool is_safe = at + LANES <= length && is_inside(all_rows, begin + at + LANES - 1, row_wise.P);
        ptrdiff_t ahead = begin + at + 2 * LANES <= all_rows.n ? LANES * all_rows.stride : 0;
        score_all_classes(task, row_wise, rows, is_safe, ahead, scores + at);
    }
}

// R rows of V' at a time: z = d V - first, whose squares are summed.
template <int R>
inline __attribute__((always_inline)) void add_distances(const double *lines, ptrdiff_t i, const double *first,
                                                         const double *d, vec *distance) {
    vec z[R][ROW_VECTORS];
    const double *line[R];
#pragma GCC unroll 8
    for (int a = 0; a < R; a++) {
        line[a] = lines + (i + a) * (i + a + 1) / 2;
#pragma GCC unroll 8
        for (int v = 0; v < ROW_VECTORS; v++) z[a][v] = all(-first[i + a]);
    }
    for (ptrdiff_t j = 0; j <= i; j++) {
#pragma GCC unroll 8
        for (int v = 0; v < ROW_VECTORS; v++) {
            vec x = load(d + j * GROUP + v * LANES);
#pragma GCC unroll 8
            for (int a = 0; a < R; a++) z[a][v] += line[a][j] * x;
        }
    }
#pragma GCC unroll 8
    for (int b = 1; b < R; b++)
#pragma GCC unroll 8
        for (int v = 0; v < ROW_VECTORS; v++) {
            vec x = load(d + (i + b) * GROUP + v * LANES);
#pragma GCC unroll 8
            for (int a = b; a < R; a++) z[a][v] += line[a][i + b] * x;
        }
#pragma GCC unroll 8
    for (int a = 0; a < R; a++)
#pragma GCC unroll 8
        for (int v = 0; v < ROW_VECTORS; v++) distance[v] += z[a][v] * z[a][v];
}

void sum_distances(const ScoreTask &task, const double *d, double *scores) {
    ptrdiff_t p = task.rows.p;
    for (ptrdiff_t k = 0; k < task.g; k++) {
        const double *lines = task.second + k * (p * (p + 1) / 2), *first = task.first + k * p;
        vec distance[ROW_VECTORS] = {};
        ptrdiff_t i = 0;
        for (; i + LINES_AT_ONCE <= p; i += LINES_AT_ONCE) add_distances<LINES_AT_ONCE>(lines, i, first, d, distance);
        for (; i < p; i++) add_distances<1>(lines, i, first, d, distance);
        for (int v = 0; v < ROW_VECTORS; v++)
            store(scores + k * GROUP + v * LANES, task.constant[k] - 0.5 * distance[v]);
    }
}

// The largest score of each row; what is not finite is noted. Scores that tie with it become equal to it.
inline vec level(const ScoreTask &task, double *scores, vec *strange) {
    vec peak = load(scores);
    for (ptrdiff_t k = 1; k < task.g; k++) peak = larger(load(scores + k * GROUP), peak);
    for (ptrdiff_t k = 0; k < task.g; k++) {
        vec score = load(scores + k * GROUP);
        *strange += choose(score <= 1.7976931348623157e308, (vec){}, all(1.0));  // NaN, or beyond numbers
        store(scores + k * GROUP, choose(score >= peak - task.tie, peak, score));
    }
    *strange += choose(peak >= -1.7976931348623157e308, (vec){}, all(1.0));
    return peak;
}

inline void calibrate(const ScoreTask &task, double *scores) {
    for (ptrdiff_t k = 0; k < task.g; k++)
        store(scores + k * GROUP, task.power * load(scores + k * GROUP) + task.shift[k]);
}

// exp(score) / sum, or score - log sum, in place; lanes of one vector.
inline void normalize(const ScoreTask &task, double *scores, vec peak) {
    vec sum = {};
    bool is_log = task.answer == LOG_POSTERIOR;
    for (ptrdiff_t k = 0; k < task.g; k++) {
        vec relative = load(scores + k * GROUP) - peak, share = exp_of_negative(relative);
        sum += share;
        store(scores + k * GROUP, is_log ? relative : share);
    }
    if (is_log)
        for (int i = 0; i < LANES; i++) sum[i] = log(sum[i]);
    else sum = 1.0 / sum;
    for (ptrdiff_t k = 0; k < task.g; k++) {
        vec value = load(scores + k * GROUP);
        store(scores + k * GROUP, is_log ? value - sum : value * sum);
    }
}

inline void decide(const ScoreTask &task, const double *scores, vec peak, int64_t *decision) {
    ints first = {};
    for (ptrdiff_t k = task.g - 1; k >= 0; k--) {
        ints leads = load(scores + k * GROUP) >= peak;
        first = (leads & k) | (~leads & first);
    }
    for (int i = 0; i < LANES; i++) decision[i] = first[i];
}

void answer_group(const ScoreTask &task, ptrdiff_t begin, ptrdiff_t length, double *scores, vec *strange) {
    for (ptrdiff_t r = 0; r < length; r += LANES) {
        double *own = scores + r;
        vec peak = level(task, own, strange);
        if (task.shift) {
            calibrate(task, own);
            peak = level(task, own, strange);
        }
        if (task.answer == DECISION) {
            int64_t codes[LANES];
            decide(task, own, peak, codes);
            for (ptrdiff_t i = 0; i < LANES && r + i < length; i++) task.decision[begin + r + i] = codes[i];
        } else if (task.answer != SCORES) normalize(task, own, peak);
    }
    if (task.answer == DECISION) return;
    for (ptrdiff_t k = 0; k < task.g; k++) {
        double *out = task.out + k * task.n_out + begin;
        const double *own = scores + k * GROUP;
        if (length == GROUP)
            for (ptrdiff_t r = 0; r < GROUP; r += LANES) store(out + r, load(own + r));
        else
            for (ptrdiff_t r = 0; r < length; r++) out[r] = own[r];
    }
}

// From so many features on, rows are scored as they lie.
const ptrdiff_t MANY_FEATURES = 32;

bool are_row_wise(const ScoreTask &task) {
    return task.shape == LINEAR && !task.rows.columns && task.rows.p >= MANY_FEATURES;
}

// Origin and coefficients with zeros after the last feature, written to `target` (1 + g, P).
RowWise pad(const ScoreTask &task, ptrdiff_t P, double *target) {
    ptrdiff_t p = task.rows.p;
    for (ptrdiff_t k = 0; k <= task.g; k++) {
        const double *from = k ? task.first + (k - 1) * p : task.origin;
        for (ptrdiff_t j = 0; j < P; j++) target[k * P + j] = j < p ? from[j] : 0.0;
    }
    return {target, target + P, p, P};
}

// Answers for rows [begin, end); false where there is no memory. is_finite: left as it is, or set to false.
bool score(const ScoreTask &task, ptrdiff_t begin, ptrdiff_t end, bool *is_finite) {
    bool is_row_wise = are_row_wise(task);
    ptrdiff_t P = (task.rows.p + LANES - 1) / LANES * LANES, own = is_row_wise ? (1 + task.g) * P : GROUP * task.rows.p;
    Memory memory(own + GROUP * task.g);
    double *d = memory.numbers;
    if (!d) return false;
    double *scores = d + own;
    RowWise row_wise = is_row_wise ? pad(task, P, d) : RowWise{};
    vec strange = {};
    for (ptrdiff_t at = begin; at < end; at += GROUP) {
        ptrdiff_t length = end - at < GROUP ? end - at : GROUP;
        if (!is_row_wise) read_group(task, at, length, d);
        if (is_row_wise && task.rows.is_single) score_row_wise<float>(task, row_wise, at, length, scores);
        else if (is_row_wise) score_row_wise<double>(task, row_wise, at, length, scores);
        else if (task.shape == LINEAR) sum_all_columns<false>(task, d, scores);
        else if (task.shape == QUADRATIC_DIAGONAL) sum_all_columns<true>(task, d, scores);
        else sum_distances(task, d, scores);
        answer_group(task, at, length, scores, &strange);
    }
    for (int i = 0; i < LANES; i++)
        if (strange[i] != 0.0) *is_finite = false;
    return true;
}
