// Weights, sums and products of residuals by class, block by block: residuals are packed into panels of TILE_COLUMNS
// columns that stay in cache, rows of a class side by side, and multiplied in tiles that stay in registers.

const ptrdiff_t TILE_COLUMNS = TILE_VECTORS * LANES;
static_assert(TILE_COLUMNS % TILE_ROWS == 0, "the columns of a tile are in one panel");
const ptrdiff_t UNIT = TILE_ROWS > LANES ? TILE_ROWS : LANES;

// Blocks: what is packed stays in the second-level cache (by class) or in the first (all classes alike).
const ptrdiff_t BLOCK_BY_CLASS = 98304, BLOCK_ALIKE = 4096, FEWEST_ROWS = 128, MOST_ROWS = 4096;

ptrdiff_t padded(ptrdiff_t p) { return (p + UNIT - 1) / UNIT * UNIT; }

inline int64_t code_at(const MomentsTask &task, ptrdiff_t row) {
    switch (task.code_size) {
        case 1: return ((const uint8_t *)task.codes)[row];
        case 2: return ((const int16_t *)task.codes)[row];
        case 4: return ((const int32_t *)task.codes)[row];
        default: return ((const int64_t *)task.codes)[row];
    }
}

// Where column j of row q of a block of `rows` rows lies among panels.
inline ptrdiff_t place(ptrdiff_t j, ptrdiff_t q, ptrdiff_t rows, ptrdiff_t P) {
    ptrdiff_t start = j / TILE_COLUMNS * TILE_COLUMNS;
    ptrdiff_t width = P - start < TILE_COLUMNS ? P - start : TILE_COLUMNS;
    return start * rows + q * width + (j - start);
}

struct Block {
    ptrdiff_t begin, length, rows;  // its first row, how many there are, and for how many there is space
    const int64_t *codes;           // (length,)
    const ptrdiff_t *position;      // where each row is packed
};

// The last lanes of a row, which belong to the next row, set to zero.
inline __attribute__((always_inline)) vec without_tail(vec value, ptrdiff_t kept) {
    ints lane;
    for (int i = 0; i < LANES; i++) lane[i] = i;
    return choose(lane < kept, value, (vec){});
}

template <class T>
inline __attribute__((always_inline)) vec some(const T *row, ptrdiff_t j, ptrdiff_t p, bool is_safe) {
    if (j + LANES <= p) return load(row + j);
    if (is_safe) return without_tail(load(row + j), p - j);
    vec value = {};
    for (ptrdiff_t i = 0; i < LANES && j + i < p; i++) value[i] = row[j + i];
    return value;
}

// Whether a full vector may be read from the last lanes of a row: not where the matrix ends there.
inline bool is_inside(const Rows &rows, ptrdiff_t row, ptrdiff_t P) {
    return row * rows.stride + P <= (rows.n - 1) * rows.stride + rows.p;
}

template <class T>
void pack_rows(const MomentsTask &task, const Block &block, double *packed, ptrdiff_t P) {
    const Rows &rows = task.rows;
    for (ptrdiff_t i = 0; i < block.length; i++) {
        const T *row = (const T *)rows.base + (block.begin + i) * rows.stride;
        const double *center = task.provisional + block.codes[i] * P;
        bool is_safe = is_inside(rows, block.begin + i, P);
        for (ptrdiff_t j = 0; j < P; j += LANES)
            store(packed + place(j, block.position[i], block.rows, P), some(row, j, rows.p, is_safe) - load(center + j));
    }
}

template <class T>
void pack_columns(const MomentsTask &task, const Block &block, double *packed, ptrdiff_t P) {
    for (ptrdiff_t j = 0; j < P; j++) {
        ptrdiff_t start = place(j, 0, block.rows, P), step = place(j, 1, block.rows, P) - start;
        double *target = packed + start;
        if (j >= task.rows.p) {
            for (ptrdiff_t i = 0; i < block.length; i++) target[i * step] = 0.0;
            continue;
        }
        ptrdiff_t stride = task.rows.strides[j];
        const T *column = (const T *)task.rows.columns[j] + block.begin * stride;
        for (ptrdiff_t i = 0; i < block.length; i++)
            target[block.position[i] * step] = (double)column[i * stride] - task.provisional[block.codes[i] * P + j];
    }
}

void pack(const MomentsTask &task, const Block &block, double *packed, ptrdiff_t P) {
    if (task.rows.columns) {
        if (task.rows.is_single) pack_columns<float>(task, block, packed, P);
        else pack_columns<double>(task, block, packed, P);
    } else if (task.rows.is_single) pack_rows<float>(task, block, packed, P);
    else pack_rows<double>(task, block, packed, P);
}

// products[i, j] += sum over rows of a_i b_j, for TILE_ROWS columns i and V vectors of columns j.
template <int V>
void tile(const double *a, ptrdiff_t a_step, const double *b, ptrdiff_t b_step, ptrdiff_t count, double *products,
          ptrdiff_t P) {
    vec sums[TILE_ROWS][V] = {};
    for (ptrdiff_t q = 0; q < count; q++, a += a_step, b += b_step) {
        vec right[V];
#pragma GCC unroll 8
        for (int v = 0; v < V; v++) right[v] = load(b + v * LANES);
#pragma GCC unroll 8
        for (int i = 0; i < TILE_ROWS; i++)
#pragma GCC unroll 8
            for (int v = 0; v < V; v++) sums[i][v] += a[i] * right[v];
    }
#pragma GCC unroll 8
    for (int i = 0; i < TILE_ROWS; i++)
#pragma GCC unroll 8
        for (int v = 0; v < V; v++) store(products + i * P + v * LANES, load(products + i * P + v * LANES) + sums[i][v]);
}

// products += A' B on and above the diagonal, for `count` packed rows from row q on; A is B with its rows weighted.
void multiply(const double *A, const double *B, ptrdiff_t q, ptrdiff_t count, ptrdiff_t rows, double *products,
              ptrdiff_t P) {
    for (ptrdiff_t j = 0; j < P; j += TILE_COLUMNS) {
        ptrdiff_t width = P - j < TILE_COLUMNS ? P - j : TILE_COLUMNS;
        const double *b = B + place(j, q, rows, P);
        for (ptrdiff_t i = 0; i < j + width; i += TILE_ROWS) {
            // Within the panel on the diagonal, columns before i are below it.
            ptrdiff_t skip = i > j ? (i - j) / LANES * LANES : 0;
            const double *a = A + place(i, q, rows, P);
            ptrdiff_t a_step = place(i, q + 1, rows, P) - place(i, q, rows, P);
            double *target = products + i * P + j + skip;
            switch ((width - skip) / LANES) {
                case 1: tile<1>(a, a_step, b + skip, width, count, target, P); break;
                case 2: tile<2>(a, a_step, b + skip, width, count, target, P); break;
                default: tile<TILE_VECTORS>(a, a_step, b + skip, width, count, target, P);
            }
        }
    }
}

void add_row(double *total, const double *packed, ptrdiff_t q, ptrdiff_t rows, ptrdiff_t P) {
    for (ptrdiff_t j = 0; j < P; j += LANES)
        store(total + j, load(total + j) + load(packed + place(j, q, rows, P)));
}

// A block's rows weighted, as B is packed.
void weigh(const double *B, double *A, const double *weights, const Block &block, ptrdiff_t P) {
    for (ptrdiff_t i = 0; i < block.length; i++)
        for (ptrdiff_t j = 0; j < P; j += LANES) {
            ptrdiff_t at = place(j, block.position[i], block.rows, P);
            store(A + at, weights[block.begin + i] * load(B + at));
        }
}

void add_weights(const MomentsTask &task, const Block &block, double *weight) {
    if (task.weights)
        for (ptrdiff_t i = 0; i < block.length; i++) weight[block.codes[i]] += task.weights[block.begin + i];
    else
        for (ptrdiff_t i = 0; i < block.length; i++) weight[block.codes[i]] += 1.0;
}

// Rows of a class side by side: positions by counting, and where each class starts (g + 1).
void arrange(const int64_t *codes, ptrdiff_t length, ptrdiff_t g, ptrdiff_t *position, ptrdiff_t *start) {
    for (ptrdiff_t k = 0; k <= g; k++) start[k] = 0;
    for (ptrdiff_t i = 0; i < length; i++) start[codes[i] + 1]++;
    for (ptrdiff_t k = 0; k < g; k++) start[k + 1] += start[k];
    for (ptrdiff_t i = 0; i < length; i++) position[i] = start[codes[i]]++;
    for (ptrdiff_t k = g; k > 0; k--) start[k] = start[k - 1];
    start[0] = 0;
}

void multiply_by_class(const double *A, const double *B, const ptrdiff_t *start, ptrdiff_t rows, ptrdiff_t g,
                       MomentsSums sums, ptrdiff_t P) {
    for (ptrdiff_t k = 0; k < g; k++) {
        if (start[k] == start[k + 1]) continue;
        multiply(A, B, start[k], start[k + 1] - start[k], rows, sums.products + k * P * P, P);
        for (ptrdiff_t q = start[k]; q < start[k + 1]; q++) add_row(sums.total + k * P, A, q, rows, P);
    }
}

// Sums and squares of one residual; the vectors of a class lie together.
inline __attribute__((always_inline)) void add_squares(double *total, double *squares, vec residual, vec weighted) {
    store(total, load(total) + weighted);
    store(squares, load(squares) + weighted * residual);
}

template <class T>
void squares_of_rows(const MomentsTask &task, const Block &block, MomentsSums sums, ptrdiff_t P) {
    const Rows &rows = task.rows;
    for (ptrdiff_t i = 0; i < block.length; i++) {
        ptrdiff_t at = block.codes[i] * P;
        const T *row = (const T *)rows.base + (block.begin + i) * rows.stride;
        bool is_safe = is_inside(rows, block.begin + i, P);
        double weight = task.weights ? task.weights[block.begin + i] : 1.0;
        for (ptrdiff_t j = 0; j < P; j += LANES) {
            vec residual = some(row, j, rows.p, is_safe) - load(task.provisional + at + j);
            add_squares(sums.total + at + j, sums.products + at + j, residual, weight * residual);
        }
    }
}

void squares_of_packed(const Block &block, const double *A, const double *B, MomentsSums sums, ptrdiff_t P) {
    for (ptrdiff_t i = 0; i < block.length; i++)
        for (ptrdiff_t j = 0; j < P; j += LANES) {
            ptrdiff_t at = place(j, block.position[i], block.rows, P), to = block.codes[i] * P + j;
            add_squares(sums.total + to, sums.products + to, load(B + at), load(A + at));
        }
}

ptrdiff_t rows_of_block(const MomentsTask &task, ptrdiff_t P) {
    ptrdiff_t rows = (task.form == FULL ? BLOCK_BY_CLASS : BLOCK_ALIKE) / P;
    return rows < FEWEST_ROWS ? FEWEST_ROWS : rows > MOST_ROWS ? MOST_ROWS : rows;
}

void add_block(const MomentsTask &task, const Block &block, ptrdiff_t *position, ptrdiff_t *start, double *A, double *B,
               MomentsSums sums, ptrdiff_t P) {
    add_weights(task, block, sums.weight);
    if (task.form == DIAGONAL && !task.rows.columns) {
        if (task.rows.is_single) squares_of_rows<float>(task, block, sums, P);
        else squares_of_rows<double>(task, block, sums, P);
        return;
    }
    if (task.form == FULL) arrange(block.codes, block.length, task.g, position, start);
    pack(task, block, B, P);
    if (A != B) weigh(B, A, task.weights, block, P);
    if (task.form == FULL) multiply_by_class(A, B, start, block.rows, task.g, sums, P);
    else if (task.form == DIAGONAL) squares_of_packed(block, A, B, sums, P);
    else {
        multiply(A, B, 0, block.length, block.rows, sums.products, P);
        for (ptrdiff_t i = 0; i < block.length; i++)
            add_row(sums.total + block.codes[i] * P, A, i, block.rows, P);
    }
}

// The sums over rows [begin, end); false where there is no memory. Sums of few thousand rows are added to those of all:
// their rounding errors do not grow with the number of rows.
bool moments(const MomentsTask &task, ptrdiff_t begin, ptrdiff_t end, MomentsSums sums) {
    ptrdiff_t P = padded(task.rows.p), rows = rows_of_block(task, P), g = task.g;
    ptrdiff_t sizes = task.form == DIAGONAL ? g * P : 0;
    double *B = (double *)malloc(sizeof(double) * (2 * rows * P + g * P + sizes));
    ptrdiff_t *position = (ptrdiff_t *)malloc(sizeof(ptrdiff_t) * (rows + g + 1));
    int64_t *codes = (int64_t *)malloc(sizeof(int64_t) * rows);
    bool is_done = B && position && codes;
    if (is_done) {
        double *A = task.weights ? B + rows * P : B, *total = B + 2 * rows * P, *squares = total + g * P;
        for (ptrdiff_t i = 0; i < rows; i++) position[i] = i;
        MomentsSums some = {sums.weight, total, task.form == DIAGONAL ? squares : sums.products};
        bool is_leveled = g * 8 > rows;  // a class has few rows of a block: clearing would cost more than adding
        for (ptrdiff_t i = 0; i < g * P + sizes; i++) total[i] = 0.0;
        for (ptrdiff_t at = begin; at < end; at += rows) {
            ptrdiff_t length = end - at < rows ? end - at : rows;
            for (ptrdiff_t i = 0; i < length; i++) codes[i] = code_at(task, at + i);
            Block block = {at, length, rows, codes, position};
            add_block(task, block, position, position + rows, A, B, is_leveled ? sums : some, P);
            if (is_leveled) continue;
            for (ptrdiff_t i = 0; i < g * P; i++) sums.total[i] += total[i];
            for (ptrdiff_t i = 0; i < sizes; i++) sums.products[i] += squares[i];
            for (ptrdiff_t i = 0; i < g * P + sizes; i++) total[i] = 0.0;
        }
    }
    free(B);
    free(position);
    free(codes);
    return is_done;
}
