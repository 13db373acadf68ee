// Rows fall through trees: a row goes left where its code is at most the cut, and right elsewhere.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels.h"

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

// A code less 2^15: AVX2 compares signed numbers alone.
inline int16_t signed_code(uint16_t code) { return static_cast<int16_t>(code ^ 0x8000); }

// Trees of few leaves as small_trees.inl reads them.
struct SmallTrees {
    std::vector<int32_t> starts{0}, leaves;
    std::vector<SmallCut> cuts;

    // Whether all trees are so small; nodes of tree t: [starts[t], starts[t + 1]).
    static bool suit(const int64_t *starts, ptrdiff_t count) {
        for (ptrdiff_t tree = 0; tree < count; tree++)
            if (starts[tree + 1] - starts[tree] > 2 * MOST_SMALL_LEAVES - 1) return false;
        return true;
    }
    // numbers: of the leaves, by node.
    void add(const Node *root, const int32_t *numbers) {
        leaves.resize(leaves.size() + MOST_SMALL_LEAVES);
        add_node(root, numbers, leaves.data() + leaves.size() - MOST_SMALL_LEAVES, 0);
        starts.push_back(static_cast<int32_t>(cuts.size()));
    }

   private:
    // How many leaves there are up to the last one of this node.
    int add_node(const Node *node, const int32_t *numbers, int32_t *found, int first) {
        if (!node->right) {
            if (first < MOST_SMALL_LEAVES) found[first] = *numbers;
            return first + 1;
        }
        size_t own = cuts.size();
        cuts.push_back({node->column, signed_code(node->cut), 0});
        int middle = add_node(node + 1, numbers + 1, found, first);
        cuts[own].left = static_cast<int16_t>((1u << middle) - (1u << first));
        return add_node(node + node->right, numbers + node->right, found, middle);
    }
};
