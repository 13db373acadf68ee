// Rows in trees of few leaves, without walking (QuickScorer, Lucchese et al. 2015).
//
// At first a row may be in any leaf. Each cut that it is above rules out the leaves on the left of that cut; the first
// leaf that remains is its own. So all rows take the same steps, and a vector holds many of them.

const int CODES_AT_ONCE = 4 * LANES, VECTORS_AT_ONCE = 4;
typedef int16_t codes_vec __attribute__((vector_size(8 * LANES), aligned(2), may_alias));

// The leaves that remain for some rows; columns (p, SMALL_TREES_ROWS), from the first of these rows on.
inline void remaining(const SmallCut *cuts, const SmallCut *end, const int16_t *columns, codes_vec *remain) {
    for (int v = 0; v < VECTORS_AT_ONCE; v++) remain[v] = (codes_vec){} - 1;
    for (; cuts < end; cuts++) {
        const codes_vec *codes = (const codes_vec *)(columns + cuts->column * SMALL_TREES_ROWS);
        for (int v = 0; v < VECTORS_AT_ONCE; v++) remain[v] &= ~((codes_vec)(codes[v] > cuts->cut) & cuts->left);
    }
}

inline void add_leaf(const SmallTreesTask &task, const int32_t *leaves, uint16_t remain, double *sums) {
    const double *own = task.table + leaves[__builtin_ctz(remain)] * task.g;
    for (ptrdiff_t k = 0; k < task.g; k++) sums[k] += own[k];
}

void small_trees(const SmallTreesTask &task, const int16_t *columns, ptrdiff_t count, double *sums) {
    const ptrdiff_t step = CODES_AT_ONCE * VECTORS_AT_ONCE;
    for (ptrdiff_t tree = 0; tree < task.trees; tree++) {
        const SmallCut *cuts = task.cuts + task.starts[tree], *end = task.cuts + task.starts[tree + 1];
        const int32_t *leaves = task.leaves + tree * MOST_SMALL_LEAVES;
        for (ptrdiff_t first = 0; first < count; first += step) {
            codes_vec vectors[VECTORS_AT_ONCE];
            uint16_t remain[CODES_AT_ONCE * VECTORS_AT_ONCE];
            remaining(cuts, end, columns + first, vectors);
            memcpy(remain, vectors, sizeof remain);
            for (ptrdiff_t i = 0; i < step && first + i < count; i++)
                add_leaf(task, leaves, remain[i], sums + (first + i) * task.g);
        }
    }
}
