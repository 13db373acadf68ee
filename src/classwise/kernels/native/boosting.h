// Growing one boosted tree on codes, the best cut first (Friedman 2001; histograms as in LightGBM, Ke et al. 2017).
//
// A cell holds how many rows have a code, and the sums of their slopes and curvatures. A cut splits the cells of a column
// in two; with G and H the sums of slopes, one for each score, and of curvatures over one side,
//
//     gain = sum over sides of |G|² / (H + ridge)   -   the same of both sides together
//
// Sums are made in the order of the rows, so that NumPy, which does the same, finds the same tree to the last digit.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

struct GrowthTask {
    const uint8_t *codes;  // (n, p)
    ptrdiff_t n, p;
    const int32_t *rows;  // (m,): those that it is grown on
    ptrdiff_t m;
    const double *slopes, *curvatures;  // (m, d), (m,)
    ptrdiff_t d;
    const int32_t *columns;  // (c,): those that may be cut
    ptrdiff_t c, bins, leaves, least;
    double ridge, least_gain;
    double *work;  // (leaves, c, bins, d + 2): for cells
};

// Nodes in the order of the tree: all that is left of a node before all that is right of it; column: -1 at a leaf.
struct GrownTree {
    std::vector<int32_t> column, cut, right;
    int32_t leaves = 0;
};

// Node by node, one column after the other is counted and searched for cuts, so that its cells stay in the nearest cache.
class TreeGrowth {
   public:
    explicit TreeGrowth(const GrowthTask &task)
        : task_(task), d_(task.d), width_(2 + d_), of_column_(task.bins * width_), codes_(task.c * task.m),
          order_(task.m), moved_(task.m), left_(width_) {
        for (ptrdiff_t i = 0; i < task.m; i++) {
            order_[i] = static_cast<int32_t>(i);
            const uint8_t *codes = task.codes + task.rows[i] * task.p;
            for (ptrdiff_t j = 0; j < task.c; j++) codes_[j * task.m + i] = codes[task.columns[j]];
        }
    }

    // The tree, and the leaf of each row (n,), by its number.
    GrownTree grow(int32_t *leaf) {
        parts_.push_back(root());
        for (ptrdiff_t leaves = 1; leaves < task_.leaves; leaves++) {
            ptrdiff_t best = best_leaf();
            if (best < 0) break;
            split(best, leaves + 1 == task_.leaves);
        }
        GrownTree tree;
        write(0, tree, leaf);
        settle_others(tree, leaf);
        return tree;
    }

   private:
    // Rows [begin, end) of a node, and its best cut; most: what both sides of it score. cells (c, bins, width).
    struct Part {
        ptrdiff_t begin, end, left = -1, right = -1, column = -1, cut = 0;
        double most = -1.0, gain = 0.0;
        double *cells = nullptr;
        std::vector<double> sums, left_sums;
    };

    Part root() {
        Part part;
        part.begin = 0;
        part.end = task_.m;
        part.sums.assign(width_, 0.0);
        for (ptrdiff_t i = 0; i < task_.m; i++) add_row(i, part.sums.data());
        part.cells = task_.work;
        for (ptrdiff_t j = 0; j < task_.c; j++) {
            count_rows(part, j);
            find_cut(part, j);
        }
        settle_gain(part);
        return part;
    }

    bool may_be_cut(const Part &part) const { return part.end - part.begin >= 2 * task_.least; }

    void add_row(ptrdiff_t i, double *sums) const {
        const double *slopes = task_.slopes + i * d_;
        sums[0] += 1.0;
        for (ptrdiff_t k = 0; k < d_; k++) sums[1 + k] += slopes[k];
        sums[1 + d_] += task_.curvatures[i];
    }

    void count_rows(Part &part, ptrdiff_t j) const {
        double *cells = part.cells + j * of_column_;
        const uint8_t *codes = codes_.data() + j * task_.m;
        std::fill_n(cells, of_column_, 0.0);
        for (ptrdiff_t at = part.begin; at < part.end; at++) add_row(order_[at], cells + codes[order_[at]] * width_);
    }

    double score(const double *sums) const {
        double squares = 0.0;
        for (ptrdiff_t k = 1; k <= d_; k++) squares += sums[k] * sums[k];
        return squares / (sums[1 + d_] + task_.ridge);
    }

    // What both sides of a cut gain, with one division: a / b + c / d = (a d + c b) / (b d).
    double gain(const double *left, const double *total) const {
        double own = 0.0, others = 0.0;
        for (ptrdiff_t k = 1; k <= d_; k++) {
            double rest = total[k] - left[k];
            own += left[k] * left[k];
            others += rest * rest;
        }
        double h = left[1 + d_] + task_.ridge, of_others = total[1 + d_] - left[1 + d_] + task_.ridge;
        return (own * of_others + others * h) / (h * of_others);
    }

    void find_cut(Part &part, ptrdiff_t j) {
        double *left = left_.data();
        const double *total = part.sums.data(), *cell = part.cells + j * of_column_;
        std::fill_n(left, width_, 0.0);
        for (ptrdiff_t b = 0; b + 1 < task_.bins; b++, cell += width_) {
            if (cell[0] == 0.0) continue;  // where there is no row, sums are rounding
            for (ptrdiff_t w = 0; w < width_; w++) left[w] += cell[w];
            if (left[0] < task_.least) continue;
            if (total[0] - left[0] < task_.least) break;
            double found = gain(left, total);
            if (found > part.most) {
                part.most = found;
                part.column = j;
                part.cut = b;
                part.left_sums.assign(left, left + width_);
            }
        }
    }

    void settle_gain(Part &part) const { part.gain = part.column < 0 ? 0.0 : part.most - score(part.sums.data()); }

    ptrdiff_t best_leaf() const {
        ptrdiff_t best = -1;
        double most = task_.least_gain;
        for (size_t i = 0; i < parts_.size(); i++)
            if (parts_[i].left < 0 && parts_[i].gain > most) {
                most = parts_[i].gain;
                best = static_cast<ptrdiff_t>(i);
            }
        return best;
    }

    // Rows keep their order on both sides; where the right one begins.
    ptrdiff_t divide(const Part &part) {
        const uint8_t *codes = codes_.data() + part.column * task_.m;
        ptrdiff_t left = part.begin, right = 0;
        for (ptrdiff_t at = part.begin; at < part.end; at++) {
            int32_t i = order_[at];
            if (codes[i] <= part.cut) order_[left++] = i;
            else moved_[right++] = i;
        }
        std::copy_n(moved_.begin(), right, order_.begin() + left);
        return left;
    }

    void split(ptrdiff_t which, bool is_last) {
        ptrdiff_t middle = divide(parts_[which]);
        Part left, right;
        left.begin = parts_[which].begin;
        left.end = right.begin = middle;
        right.end = parts_[which].end;
        left.sums = parts_[which].left_sums;
        right.sums = parts_[which].sums;
        for (ptrdiff_t w = 0; w < width_; w++) right.sums[w] -= left.sums[w];
        parts_[which].left = static_cast<ptrdiff_t>(parts_.size());
        parts_[which].right = parts_[which].left + 1;
        if (!is_last) fill_children(parts_[which], left, right);
        parts_.push_back(std::move(left));
        parts_.push_back(std::move(right));
    }

    // The rows of the smaller child are added up, and those of the other are the rest.
    void fill_children(Part &parent, Part &left, Part &right) {
        bool is_left = left.end - left.begin <= right.end - right.begin;
        Part &smaller = is_left ? left : right, &larger = is_left ? right : left;
        if (!may_be_cut(larger)) return;
        smaller.cells = task_.work + ++counted_ * task_.c * of_column_;
        larger.cells = parent.cells;
        for (ptrdiff_t j = 0; j < task_.c; j++) {
            count_rows(smaller, j);
            double *rest = larger.cells + j * of_column_;
            const double *taken = smaller.cells + j * of_column_;
            for (ptrdiff_t i = 0; i < of_column_; i++) rest[i] -= taken[i];
            find_cut(larger, j);
            if (may_be_cut(smaller)) find_cut(smaller, j);
        }
        settle_gain(larger);
        settle_gain(smaller);
    }

    void write(ptrdiff_t which, GrownTree &tree, int32_t *leaf) const {
        const Part &part = parts_[which];
        size_t place = tree.column.size();
        tree.column.push_back(part.left < 0 ? -1 : task_.columns[part.column]);
        tree.cut.push_back(part.left < 0 ? 0 : static_cast<int32_t>(part.cut));
        tree.right.push_back(0);
        if (part.left >= 0) {
            write(part.left, tree, leaf);
            tree.right[place] = static_cast<int32_t>(tree.column.size());
            write(part.right, tree, leaf);
            return;
        }
        int32_t number = tree.leaves++;
        tree.right[place] = -1 - number;
        for (ptrdiff_t at = part.begin; at < part.end; at++) leaf[task_.rows[order_[at]]] = number;
    }

    // Rows that it was not grown on fall through it; theirs is marked by -1.
    void settle_others(const GrownTree &tree, int32_t *leaf) const {
        for (ptrdiff_t i = 0; i < task_.n; i++) {
            if (leaf[i] >= 0) continue;
            const uint8_t *codes = task_.codes + i * task_.p;
            size_t node = 0;
            while (tree.column[node] >= 0)
                node = codes[tree.column[node]] <= tree.cut[node] ? node + 1 : static_cast<size_t>(tree.right[node]);
            leaf[i] = -1 - tree.right[node];
        }
    }

    const GrowthTask &task_;
    const ptrdiff_t d_, width_, of_column_;
    ptrdiff_t counted_ = 0;       // how many nodes below the root were counted: the others are what is left
    std::vector<uint8_t> codes_;  // (c, m)
    std::vector<int32_t> order_, moved_;
    std::vector<double> left_;
    std::vector<Part> parts_;
};
