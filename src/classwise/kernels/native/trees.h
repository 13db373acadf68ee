// Rows fall through trees: a row goes left where its code is at most the cut, and right elsewhere.
#pragma once
#include <cstddef>
#include <cstdint>

// The left child of a node follows it, and the right one is `right` nodes away. At a leaf `right` is 0, and the cut so
// high that no code is above it: a row that has arrived stays.
struct Node {
    int32_t right;
    uint16_t column, cut;
};

// So many rows at once: while one waits for its next node, the others go on. Every so many steps, we see who has arrived.
const int ABREAST = 16, STEPS = 4;

// The nodes where rows of codes (p each) arrive. No branch depends on a code: a processor would guess it wrong half of
// the time.
inline void fall(const Node *root, const uint16_t *codes, ptrdiff_t p, const Node **at) {
    for (int i = 0; i < ABREAST; i++) at[i] = root;
    for (int32_t is_falling = 1; is_falling;) {
        for (int step = 0; step < STEPS; step++)
            for (int i = 0; i < ABREAST; i++) {
                const Node *node = at[i];
                int32_t left = node->right != 0, is_right = codes[i * p + node->column] > node->cut;
                at[i] = node + (left + (-is_right & (node->right - left)));
            }
        is_falling = 0;
        for (int i = 0; i < ABREAST; i++) is_falling |= at[i]->right;
    }
}

// How many of `count` rising cuts lie below x. No branch depends on x here either.
inline uint16_t cuts_below(const double *cuts, ptrdiff_t count, double x) {
    const double *at = cuts;
    while (count > 1) {
        ptrdiff_t half = count / 2;
        at += (at[half - 1] < x) * half;
        count -= half;
    }
    return static_cast<uint16_t>(at - cuts + (count == 1 && *at < x));
}
