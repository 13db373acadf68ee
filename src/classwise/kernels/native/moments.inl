// Weights, sums and products of residuals by class, block by block: residuals are packed into panels of TILE_COLUMNS
// columns that stay in cache, rows of a class side by side, and multiplied in tiles that stay in registers.

const ptrdiff_t TILE_COLUMNS = TILE_VECTORS * LANES;
static_assert(TILE_COLUMNS % TILE_ROWS == 0, "the columns of a tile are in one panel");
const ptrdiff_t UNIT = TILE_ROWS > LANES ? TILE_ROWS : LANES;

// Blocks: what is packed stays in the second-level cache (by class) or in the first (all classes alike). A tile goes
// through CHUNK rows at a time, whose panel stays in the first.
const ptrdiff_t BLOCK_BY_CLASS = 98304, BLOCK_ALIKE = 4096, FEWEST_ROWS = 128, MOST_ROWS = 4096, CHUNK = 128,
                ROWS_NOT_PACKED = 1024;

// Squares of few classes and features have so many copies of their sums.
const ptrdiff_t COPIES = 2, MOST_COPIED = 512;

ptrdiff_t padded(ptrdiff_t p) { return (p + UNIT - 1) / UNIT * UNIT; }

template <class T>
void widen(const void *codes, ptrdiff_t begin, ptrdiff_t length, int64_t *wide) {
    for (ptrdiff_t i = 0; i < length; i++) wide[i] = ((const T *)codes)[begin + i];
}

void read_codes(const MomentsTask &task, ptrdiff_t begin, ptrdiff_t length, int64_t *wide) {
    switch (task.code_size) {
        case 1: widen<uint8_t>(task.codes, begin, length, wide); break;
        case 2: widen<int16_t>(task.codes, begin, length, wide); break;
        case 4: widen<int32_t>(task.codes, begin, length, wide); break;
        default: widen<int64_t>(task.codes, begin, length, wide);
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

// From a number to the one that the memory fetches meanwhile.
const ptrdiff_t BYTES_AHEAD = 8192;

// One row's residuals, packed at its place; where there is a total, their weighted sum grows too.
template <class T>
inline __attribute__((always_inline)) void pack_row(const T *row, ptrdiff_t p, bool is_safe, const double *center,
                                                    double *packed, ptrdiff_t q, ptrdiff_t rows, ptrdiff_t P,
                                                    double weight, double *total) {
    for (ptrdiff_t start = 0; start < P; start += TILE_COLUMNS) {
        ptrdiff_t width = P - start < TILE_COLUMNS ? P - start : TILE_COLUMNS;
        double *target = packed + start * rows + q * width;
        for (ptrdiff_t v = 0, j = start; v < width; v += LANES, j += LANES) {
            vec residual = some(row, j, p, is_safe) - load(center + j);
            store(target + v, residual);
            if (P > TILE_COLUMNS) __builtin_prefetch(row + j + BYTES_AHEAD / sizeof(T));  // see `after` for others
            if (total) store(total + j, load(total + j) + weight * residual);
        }
    }
}

template <class T>
void pack_rows(const MomentsTask &task, const Block &block, double *packed, double *total, ptrdiff_t P) {
    const Rows &rows = task.rows;
    for (ptrdiff_t i = 0; i < block.length; i++) {
        ptrdiff_t row = block.begin + i, own = block.codes[i] * P;
        const T *numbers = (const T *)rows.base + row * rows.stride;
        pack_row(numbers, rows.p, is_inside(rows, row, P), task.provisional + own, packed, block.position[i], block.rows,
                 P, task.weights ? task.weights[row] : 1.0, total ? total + own : total);
    }
}

template <class T>
void pack_columns(const MomentsTask &task, const Block &block, double *packed, double *total, ptrdiff_t P) {
    for (ptrdiff_t j = 0; j < P; j++) {
        ptrdiff_t start = place(j, 0, block.rows, P), step = place(j, 1, block.rows, P) - start;
        double *target = packed + start;
        const T zero = 0, *column = &zero;
        ptrdiff_t stride = 0;
        if (j < task.rows.p) {
            stride = task.rows.strides[j];
            column = (const T *)task.rows.columns[j] + block.begin * stride;
        }
        for (ptrdiff_t i = 0; i < block.length; i++)
            target[block.position[i] * step] = (double)column[i * stride] - task.provisional[block.codes[i] * P + j];
        for (ptrdiff_t i = 0; total && i < block.length; i++)
            total[block.codes[i] * P + j] +=
                (task.weights ? task.weights[block.begin + i] : 1.0) * target[block.position[i] * step];
    }
}

void pack(const MomentsTask &task, const Block &block, double *packed, double *total, ptrdiff_t P) {
    if (task.rows.columns) {
        if (task.rows.is_single) pack_columns<float>(task, block, packed, total, P);
        else pack_columns<double>(task, block, packed, total, P);
    } else if (task.rows.is_single) pack_rows<float>(task, block, packed, total, P);
    else pack_rows<double>(task, block, packed, total, P);
}

// What the next block will read: the memory fetches it, a step for each row and tile, while this one is multiplied.
struct Ahead {
    const char *next;
    ptrdiff_t step;
};

// products[i, j] += sum over rows of a_i b_j, for TILE_ROWS columns i and V vectors of columns j; and where W is not 0,
// the same for the next TILE_ROWS columns i and the last W of the vectors: two tiles below each other in one pass.
template <int V, int W>
void tile(const double *a, ptrdiff_t a_step, const double *b, ptrdiff_t b_step, ptrdiff_t count, double *products,
          ptrdiff_t P, Ahead &ahead) {
    vec sums[TILE_ROWS][V + W] = {};
    const char *next = ahead.next;
    for (ptrdiff_t q = 0; q < count; q++, a += a_step, b += b_step, next += ahead.step) {
        __builtin_prefetch(next, 0, 2);
        __builtin_prefetch(next + 64, 0, 2);
        vec right[V];
#pragma GCC unroll 8
        for (int v = 0; v < V; v++) right[v] = load(b + v * LANES);
#pragma GCC unroll 8
        for (int i = 0; i < TILE_ROWS; i++) {
#pragma GCC unroll 8
            for (int v = 0; v < V; v++) sums[i][v] += a[i] * right[v];
#pragma GCC unroll 8
            for (int w = 0; w < W; w++) sums[i][V + w] += a[TILE_ROWS + i] * right[V - W + w];
        }
    }
    ahead.next = next;
#pragma GCC unroll 8
    for (int i = 0; i < TILE_ROWS; i++) {
        double *above = products + i * P, *below = products + (TILE_ROWS + i) * P + (V - W) * LANES;
#pragma GCC unroll 8
        for (int v = 0; v < V; v++) store(above + v * LANES, load(above + v * LANES) + sums[i][v]);
#pragma GCC unroll 8
        for (int w = 0; w < W; w++) store(below + w * LANES, load(below + w * LANES) + sums[i][V + w]);
    }
}

// Tiles on the diagonal have fewer vectors the lower they are: those of 2 and of 1 take as many registers as one of 3.
const bool IS_PAIRED = TILE_ROWS == LANES && TILE_VECTORS == 3;

// products += A' B on and above the diagonal, for `count` packed rows from row q on; A is B with its rows weighted.
void multiply_chunk(const double *A, const double *B, ptrdiff_t q, ptrdiff_t count, ptrdiff_t rows, double *products,
                    ptrdiff_t P, Ahead &ahead) {
    for (ptrdiff_t j = 0; j < P; j += TILE_COLUMNS) {
        ptrdiff_t width = P - j < TILE_COLUMNS ? P - j : TILE_COLUMNS;
        const double *b = B + place(j, q, rows, P);
        for (ptrdiff_t i = 0; i < j + width; i += TILE_ROWS) {
            // Within the panel on the diagonal, columns before i are below it.
            ptrdiff_t skip = i > j ? (i - j) / LANES * LANES : 0;
            const double *a = A + place(i, q, rows, P);
            ptrdiff_t a_step = place(i, q + 1, rows, P) - place(i, q, rows, P);
            double *target = products + i * P + j + skip;
            ptrdiff_t vectors = (width - skip) / LANES;
            if (vectors == 1) tile<1, 0>(a, a_step, b + skip, width, count, target, P, ahead);
            else if (vectors == TILE_VECTORS) tile<TILE_VECTORS, 0>(a, a_step, b + skip, width, count, target, P, ahead);
            else if (IS_PAIRED && i >= j) {
                tile<2, 1>(a, a_step, b + skip, width, count, target, P, ahead);
                i += TILE_ROWS;
            } else tile<2, 0>(a, a_step, b + skip, width, count, target, P, ahead);
        }
    }
}

void multiply(const double *A, const double *B, ptrdiff_t q, ptrdiff_t count, ptrdiff_t rows, double *products,
              ptrdiff_t P, Ahead &ahead) {
    for (ptrdiff_t end = q + count; q < end; q += CHUNK)
        multiply_chunk(A, B, q, end - q < CHUNK ? end - q : CHUNK, rows, products, P, ahead);
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
                       double *products, ptrdiff_t P, Ahead &ahead) {
    for (ptrdiff_t k = 0; k < g; k++)
        if (start[k] < start[k + 1])
            multiply(A, B, start[k], start[k + 1] - start[k], rows, products + k * P * P, P, ahead);
}

// Sums and squares of one residual; the vectors of a class lie together.
inline __attribute__((always_inline)) void add_squares(double *total, double *squares, vec residual, vec weighted) {
    store(total, load(total) + weighted);
    store(squares, load(squares) + weighted * residual);
}

// Sums of rows that follow each other go to one copy after the other, `step` numbers apart: a sum that has just been
// stored is not there yet to be added to.
template <class T>
void squares_of_rows(const MomentsTask &task, const Block &block, MomentsSums sums, ptrdiff_t step, ptrdiff_t P) {
    const Rows &rows = task.rows;
    for (ptrdiff_t i = 0; i < block.length; i++) {
        ptrdiff_t at = block.codes[i] * P, to = at + i % COPIES * step;
        const T *row = (const T *)rows.base + (block.begin + i) * rows.stride;
        bool is_safe = is_inside(rows, block.begin + i, P);
        double weight = task.weights ? task.weights[block.begin + i] : 1.0;
        for (ptrdiff_t j = 0; j < P; j += LANES) {
            vec residual = some(row, j, rows.p, is_safe) - load(task.provisional + at + j);
            __builtin_prefetch(row + j + BYTES_AHEAD / sizeof(T));
            add_squares(sums.total + to + j, sums.products + to + j, residual, weight * residual);
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

// Squares of rows that lie side by side are summed as they are read, and nothing is packed.
bool is_packed(const MomentsTask &task) { return task.form != DIAGONAL || task.rows.columns; }

ptrdiff_t rows_of_block(const MomentsTask &task, ptrdiff_t P) {
    if (!is_packed(task)) return ROWS_NOT_PACKED;
    ptrdiff_t most = (task.form == FULL ? BLOCK_BY_CLASS : BLOCK_ALIKE) / P;
    ptrdiff_t rows = task.form == FULL && most > CHUNK * task.g ? CHUNK * task.g : most;
    return rows < FEWEST_ROWS ? FEWEST_ROWS : rows > MOST_ROWS ? MOST_ROWS : rows;
}

// Where features are padded, the column after the last is 1 (see `provisional`), and its products are the sums.
inline bool has_ones(const MomentsTask &task, ptrdiff_t P) { return task.rows.p < P; }

// Of features in one panel, which are multiplied in a time near to that of reading them.
Ahead after(const Rows &rows, const Block &block, ptrdiff_t P) {
    ptrdiff_t size = (rows.is_single ? sizeof(float) : sizeof(double)) * rows.stride, end = block.begin + block.length;
    if (rows.columns || P > TILE_COLUMNS || end + block.length > rows.n) return {(const char *)block.codes, 0};
    return {(const char *)rows.base + end * size, P == TILE_COLUMNS ? (size + 1) / 2 : size};
}

void add_block(const MomentsTask &task, const Block &block, ptrdiff_t *position, ptrdiff_t *start, double *A, double *B,
               MomentsSums sums, ptrdiff_t step, ptrdiff_t P) {
    if (!has_ones(task, P)) add_weights(task, block, sums.weight);
    if (!is_packed(task)) {
        if (task.rows.is_single) squares_of_rows<float>(task, block, sums, step, P);
        else squares_of_rows<double>(task, block, sums, step, P);
        return;
    }
    if (task.form == FULL) arrange(block.codes, block.length, task.g, position, start);
    bool is_summed = task.form == POOLED || (task.form == FULL && !has_ones(task, P));
    pack(task, block, B, is_summed ? sums.total : nullptr, P);
    if (A != B) weigh(B, A, task.weights, block, P);
    Ahead ahead = after(task.rows, block, P);
    if (task.form == FULL) multiply_by_class(A, B, start, block.rows, task.g, sums.products, P, ahead);
    else if (task.form == DIAGONAL) squares_of_packed(block, A, B, sums, P);
    else multiply(A, B, 0, block.length, block.rows, sums.products, P, ahead);
}

// The sums and weights of classes, from the products with the column of ones.
void read_ones(const MomentsTask &task, MomentsSums sums, ptrdiff_t P) {
    ptrdiff_t one = task.rows.p;
    for (ptrdiff_t k = 0; k < task.g; k++) {
        double *total = sums.total + k * P;
        if (task.form == FULL)
            for (ptrdiff_t j = 0; j <= one; j++) total[j] = sums.products[(k * P + j) * P + one];
        sums.weight[k] = total[one];
    }
}

// Adds what is in a buffer (count), and clears it.
void move_sums(double *buffer, ptrdiff_t count, double *sums) {
    for (ptrdiff_t i = 0; i < count; i++) sums[i] += buffer[i];
    for (ptrdiff_t i = 0; i < count; i++) buffer[i] = 0.0;
}

// The sums over rows [begin, end); false where there is no memory. Sums of few thousand rows are added to those of all:
// their rounding errors do not grow with the number of rows.
bool moments(const MomentsTask &task, ptrdiff_t begin, ptrdiff_t end, MomentsSums sums) {
    ptrdiff_t P = padded(task.rows.p), rows = rows_of_block(task, P), g = task.g, size = g * P;
    ptrdiff_t sizes = task.form == DIAGONAL ? 2 * size : size;  // of sums, and of squares after them
    ptrdiff_t copies = !is_packed(task) && size <= MOST_COPIED ? COPIES : 1;
    Memory sums_of_block(copies * sizes, Memory::CLEARED), panels(is_packed(task) ? 2 * rows * P : 0);
    double *total = sums_of_block.numbers, *B = panels.numbers;
    ptrdiff_t *position = (ptrdiff_t *)malloc(sizeof(ptrdiff_t) * (rows + g + 1));
    int64_t *codes = (int64_t *)malloc(sizeof(int64_t) * rows);
    bool is_done = total && B && position && codes;
    if (is_done) {
        double *A = task.weights && is_packed(task) ? B + rows * P : B;
        for (ptrdiff_t i = 0; i < rows; i++) position[i] = i;
        bool is_leveled = g * 8 > rows;  // a class has few rows of a block: clearing would cost more than adding
        MomentsSums some = {sums.weight, total, task.form == DIAGONAL ? total + size : sums.products};
        for (ptrdiff_t at = begin; at < end; at += rows) {
            ptrdiff_t length = end - at < rows ? end - at : rows, step = copies > 1 ? sizes : 0;
            read_codes(task, at, length, codes);
            Block block = {at, length, rows, codes, position};
            add_block(task, block, position, position + rows, A, B, is_leveled ? sums : some, is_leveled ? 0 : step, P);
            for (ptrdiff_t copy = 0; copy < copies && !is_leveled; copy++) {
                move_sums(total + copy * sizes, size, sums.total);
                if (task.form == DIAGONAL) move_sums(total + copy * sizes + size, size, sums.products);
            }
        }
        if (has_ones(task, P)) read_ones(task, sums, P);
    }
    free(position);
    free(codes);
    return is_done;
}
