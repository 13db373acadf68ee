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
};

// Nodes in the order of the tree: all that is left of a node before all that is right of it; column: -1 at a leaf.
struct GrownTree {
    std::vector<int32_t> column, cut, right;
    int32_t leaves = 0;
};

class TreeGrowth {
   public:
    explicit TreeGrowth(const GrowthTask &task)
        : task_(task), width_(2 + task.d), cells_(task.c * task.bins * width_), order_(task.m), moved_(task.m),
          left_(width_), rest_(width_), total_(width_) {
        for (ptrdiff_t i = 0; i < task.m; i++) order_[i] = static_cast<int32_t>(i);
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
    // Rows [begin, end) of a node, and its best cut. sums: how many rows, and their slopes and curvatures.
    struct Part {
        ptrdiff_t begin, end, left = -1, right = -1, column = -1, cut = 0;
        double gain = 0.0;
        std::vector<double> cells, sums, left_sums, right_sums;
    };

    Part root() {
        Part part;
        part.begin = 0;
        part.end = task_.m;
        part.sums.assign(width_, 0.0);
        for (ptrdiff_t i = 0; i < task_.m; i++) {
            part.sums[0] += 1.0;
            for (ptrdiff_t k = 0; k < task_.d; k++) part.sums[1 + k] += task_.slopes[i * task_.d + k];
            part.sums[1 + task_.d] += task_.curvatures[i];
        }
        fill_cells(part);
        find_cut(part);
        return part;
    }

    bool may_be_cut(const Part &part) const { return part.end - part.begin >= 2 * task_.least; }

    void fill_cells(Part &part) {
        part.cells.assign(cells_, 0.0);
        if (task_.d == 1) add_rows<1>(part);
        else add_rows<0>(part);
    }

    template <int D>
    void add_rows(Part &part) {
        const ptrdiff_t d = D ? D : task_.d, width = 2 + d;
        for (ptrdiff_t at = part.begin; at < part.end; at++) {
            ptrdiff_t i = order_[at];
            const uint8_t *codes = task_.codes + task_.rows[i] * task_.p;
            const double *slopes = task_.slopes + i * d, curvature = task_.curvatures[i];
            double *of_column = part.cells.data();
            for (ptrdiff_t j = 0; j < task_.c; j++, of_column += task_.bins * width) {
                double *cell = of_column + codes[task_.columns[j]] * width;
                cell[0] += 1.0;
                for (ptrdiff_t k = 0; k < d; k++) cell[1 + k] += slopes[k];
                cell[1 + d] += curvature;
            }
        }
    }

    double score(const double *sums) const {
        double squares = 0.0;
        for (ptrdiff_t k = 1; k <= task_.d; k++) squares += sums[k] * sums[k];
        return squares / (sums[1 + task_.d] + task_.ridge);
    }

    // Whether there is a row in it; where there is none, its sums are rounding.
    bool add_cell(const double *cell, std::vector<double> &sums) const {
        if (cell[0] == 0.0) return false;
        for (ptrdiff_t w = 0; w < width_; w++) sums[w] += cell[w];
        return true;
    }

    void find_cut(Part &part) {
        double most = -1.0;
        for (ptrdiff_t j = 0; j < task_.c; j++) {
            const double *cells = part.cells.data() + j * task_.bins * width_;
            std::fill(total_.begin(), total_.end(), 0.0);
            for (ptrdiff_t b = 0; b < task_.bins; b++) add_cell(cells + b * width_, total_);
            std::fill(left_.begin(), left_.end(), 0.0);
            for (ptrdiff_t b = 0; b + 1 < task_.bins; b++) {
                if (!add_cell(cells + b * width_, left_) || left_[0] < task_.least) continue;
                if (total_[0] - left_[0] < task_.least) break;
                for (ptrdiff_t w = 0; w < width_; w++) rest_[w] = total_[w] - left_[w];
                double gain = score(left_.data()) + score(rest_.data());
                if (gain > most) {
                    most = gain;
                    part.column = j;
                    part.cut = b;
                    part.left_sums = left_;
                    part.right_sums = rest_;
                }
            }
        }
        part.gain = part.column < 0 ? 0.0 : most - score(part.sums.data());
    }

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
        ptrdiff_t column = task_.columns[part.column], left = part.begin, right = 0;
        for (ptrdiff_t at = part.begin; at < part.end; at++) {
            int32_t i = order_[at];
            if (task_.codes[task_.rows[i] * task_.p + column] <= part.cut) order_[left++] = i;
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
        right.sums = parts_[which].right_sums;
        parts_[which].left = static_cast<ptrdiff_t>(parts_.size());
        parts_[which].right = parts_[which].left + 1;
        if (!is_last) fill_children(parts_[which], left, right);
        parts_[which].cells = {};
        parts_.push_back(std::move(left));
        parts_.push_back(std::move(right));
    }

    // The rows of the smaller child are added up, and those of the other are the rest.
    void fill_children(Part &parent, Part &left, Part &right) {
        bool is_left = left.end - left.begin <= right.end - right.begin;
        Part &smaller = is_left ? left : right, &larger = is_left ? right : left;
        if (!may_be_cut(larger)) return;
        fill_cells(smaller);
        larger.cells = std::move(parent.cells);
        for (ptrdiff_t i = 0; i < cells_; i++) larger.cells[i] -= smaller.cells[i];
        find_cut(larger);
        if (may_be_cut(smaller)) find_cut(smaller);
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
    const ptrdiff_t width_, cells_;
    std::vector<int32_t> order_, moved_;
    std::vector<double> left_, rest_, total_;
    std::vector<Part> parts_;
};
