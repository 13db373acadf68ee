// Weighted products of columns, as second derivatives are made of: a block of rows is packed once, and for each factor
// multiplied by itself with one side weighted.

void weigh_by(const double *B, double *A, const double *factor, ptrdiff_t length, ptrdiff_t rows, ptrdiff_t P) {
    for (ptrdiff_t j = 0; j < P; j += TILE_COLUMNS) {
        ptrdiff_t width = P - j < TILE_COLUMNS ? P - j : TILE_COLUMNS, start = place(j, 0, rows, P);
        for (ptrdiff_t i = 0; i < length; i++)
            for (ptrdiff_t v = 0; v < width; v += LANES)
                store(A + start + i * width + v, factor[i] * load(B + start + i * width + v));
    }
}

bool products(const ProductsTask &task, ptrdiff_t begin, ptrdiff_t end, double *sums) {
    ptrdiff_t P = padded(task.q), rows = BLOCK_BY_CLASS / 4 / P;
    rows = rows < FEWEST_ROWS ? FEWEST_ROWS : rows > MOST_ROWS ? MOST_ROWS : rows;
    Memory panels(2 * rows * P);
    double *B = panels.numbers;
    int64_t *codes = (int64_t *)malloc(sizeof(int64_t) * rows);
    ptrdiff_t *position = (ptrdiff_t *)malloc(sizeof(ptrdiff_t) * rows);
    bool is_done = B && codes && position;
    if (is_done) {
        double *A = B + rows * P;
        for (ptrdiff_t i = 0; i < rows; i++) codes[i] = 0, position[i] = i;
        MomentsTask packing = {};  // residuals about the center, all of one class
        packing.rows = task.columns;
        packing.provisional = task.center;
        packing.g = 1;
        for (ptrdiff_t at = begin; at < end; at += rows) {
            ptrdiff_t length = end - at < rows ? end - at : rows;
            pack(packing, Block{at, length, rows, codes, position}, B, nullptr, P);
            Ahead nothing = {(const char *)B, 0};
            for (ptrdiff_t c = 0; c < task.count; c++) {
                weigh_by(B, A, task.factors + c * task.columns.n + at, length, rows, P);
                multiply(A, B, 0, length, rows, sums + c * P * P, P, nothing);
            }
        }
    }
    free(codes);
    free(position);
    return is_done;
}
