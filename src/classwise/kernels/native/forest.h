// Growing one tree of a forest to its leaves (Breiman 2001; Geurts, Ernst and Wehenkel 2006).
//
// A node looks at columns in random order: at `drawn` of them, and on until one has two values. Of each it tries every
// cut, or one drawn between the least and the largest value, and it takes the cut with the least impurity
//
//     sum over sides of |c| (1 - sum_k c_k² / |c|²)        c_k: the rows of each class on one side, |c|: all of them
//
// Columns and cuts are drawn as scikit-learn does, from the same generator, and rounded as it does, so that ties end
// alike and both find the same trees.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

struct ForestTask {
    const float *values;     // (p, n)
    const uint32_t *ranks;   // (p, n): of each value among those of its column; null where cuts are drawn
    const float *distinct;   // the values by rank, one column after the other
    const int64_t *starts;   // (p + 1,): where the distinct values of each column begin
    const int32_t *classes;  // (n,)
    const int32_t *counts;   // (n,): how often each row takes part; 0 or 1 where cuts are drawn
    ptrdiff_t n, p, g;
    ptrdiff_t drawn, least;  // columns that a node looks at; rows of a leaf
    uint32_t state;          // of the generator
};

// Nodes in the order of the tree: all that is left of a node before all that is right of it; column: -1 at a leaf.
struct ForestTree {
    std::vector<int32_t> column;
    std::vector<double> threshold;
};

class ForestGrowth {
   public:
    explicit ForestGrowth(const ForestTask &task)
        : task_(task), state_(task.state), columns_(task.p), constant_(task.p), order_(rows_by_class(task)),
          moved_(order_.size()) {
        for (ptrdiff_t j = 0; j < task.p; j++) columns_[j] = static_cast<int32_t>(j);
        if (task.ranks) {
            keys_.resize(order_.size());
            sorted_.resize(order_.size());
        } else {
            values_.resize(order_.size());
        }
    }

    ForestTree grow() {
        ForestTree tree;
        std::vector<Node> waiting = {{0, static_cast<ptrdiff_t>(order_.size()), 0}};
        while (!waiting.empty()) {
            Node node = waiting.back();
            waiting.pop_back();
            Cut cut;
            if (may_be_cut(node)) cut = find_cut(node);
            tree.column.push_back(cut.column);
            tree.threshold.push_back(cut.threshold);
            if (cut.column < 0) continue;
            ptrdiff_t middle = divide(node, cut);
            waiting.push_back({middle, node.end, node.constants});
            waiting.push_back({node.begin, middle, node.constants});
        }
        return tree;
    }

   private:
    // Rows [begin, end) of the order; how many columns are known to have one value among them.
    struct Node {
        ptrdiff_t begin, end, constants;
        ptrdiff_t size() const { return end - begin; }
    };

    struct Cut {
        int32_t column = -1;
        double threshold = 0.0, impurity = std::numeric_limits<double>::infinity();
    };

    // The rows of a node that have one class: `end` is where they end in the node; their counts, and those on the left.
    struct Run {
        ptrdiff_t end;
        double count, left;
    };

    struct Sides {
        double left = 0.0, left_squares = 0.0, right_squares = 0.0;
        ptrdiff_t left_rows = 0;
    };

    // What sorts a row by rank; run: of its class in the node.
    struct Key {
        uint32_t rank;
        uint16_t run, count;
    };

    // A row takes about as long to be sorted as so many cells to be looked at. Below FEW_ROWS rows, or above MANY_RANKS
    // ranks, std::sort is faster than counting.
    static const ptrdiff_t CELLS_OF_ROW = 4, FEW_ROWS = 48, MANY_RANKS = 4096;

    // Partings keep the order of rows, so that those of one class stay together.
    static std::vector<int32_t> rows_by_class(const ForestTask &task) {
        std::vector<ptrdiff_t> places(task.g + 1, 0);
        for (ptrdiff_t i = 0; i < task.n; i++) places[task.classes[i] + 1] += task.counts[i] != 0;
        for (ptrdiff_t k = 0; k < task.g; k++) places[k + 1] += places[k];
        std::vector<int32_t> order(places[task.g]);
        for (ptrdiff_t i = 0; i < task.n; i++)
            if (task.counts[i]) order[places[task.classes[i]]++] = static_cast<int32_t>(i);
        return order;
    }

    // Marsaglia's xorshift (2003).
    uint32_t next() {
        if (state_ == 0) state_ = 1;
        state_ ^= state_ << 13;
        state_ ^= state_ >> 17;
        state_ ^= state_ << 5;
        return state_ & 0x7FFFFFFF;
    }

    // Values that differ by no more than this count as one, in single precision.
    static bool is_above(float high, float low) { return high > low + 1e-7f; }

    static double impurity(double squares, double count) { return 1.0 - squares / (count * count); }

    // Finds the classes of a node; false where it is a leaf: too few rows, or all of one class.
    bool may_be_cut(const Node &node) {
        const int32_t *rows = order_.data() + node.begin;
        ptrdiff_t size = node.size();
        if (size < 2 || size < 2 * task_.least) return false;
        runs_.clear();
        for (ptrdiff_t at = 0; at < size;) {
            int32_t label = task_.classes[rows[at]];
            double count = 0.0;
            for (; at < size && task_.classes[rows[at]] == label; at++) count += task_.counts[rows[at]];
            runs_.push_back({at, count, 0.0});
        }
        count_ = squares_ = 0.0;
        for (const Run &run : runs_) {
            count_ += run.count;
            squares_ += run.count * run.count;
        }
        return impurity(squares_, count_) > std::numeric_limits<double>::epsilon();
    }

    // Columns are drawn without replacement (Fisher and Yates). In front are those known to have one value: the drawn
    // ones, the others, and those found here; at the end those that were drawn and have more.
    Cut find_cut(Node &node) {
        Cut best;
        ptrdiff_t end = task_.p, known = node.constants, drawn_known = 0, found = 0, visited = 0;
        while (end > known + found && (visited < task_.drawn || visited <= found + drawn_known)) {
            visited++;
            ptrdiff_t at = drawn_known + static_cast<ptrdiff_t>(next() % (end - found - drawn_known));
            if (at < known) {
                std::swap(columns_[drawn_known++], columns_[at]);
                continue;
            }
            at += found;
            int32_t column = columns_[at];
            bool varies = task_.ranks ? try_every_cut(node, column, best) : try_drawn_cut(node, column, best);
            std::swap(columns_[varies ? --end : known + found++], columns_[at]);
        }
        // Columns known to be constant keep their order for the other nodes.
        std::copy_n(constant_.begin(), known, columns_.begin());
        std::copy_n(columns_.begin() + known, found, constant_.begin() + known);
        node.constants = known + found;
        return best;
    }

    void take_better(int32_t column, double threshold, const Sides &sides, Cut &best) const {
        double right = count_ - sides.left;
        double found = right * impurity(sides.right_squares, right) + sides.left * impurity(sides.left_squares, sides.left);
        if (!(found < best.impurity)) return;
        best.impurity = found;
        best.column = column;
        best.threshold = threshold;
    }

    bool leaves_too_few(const Sides &sides, ptrdiff_t size) const {
        return sides.left_rows < task_.least || size - sides.left_rows < task_.least;
    }

    // Drawn cuts; whether the column has two values -------------------------------------------------------------------

    bool try_drawn_cut(const Node &node, int32_t column, Cut &best) {
        ptrdiff_t size = node.size();
        const float *values = task_.values + column * task_.n;
        const int32_t *rows = order_.data() + node.begin;
        float *own = values_.data();
        for (ptrdiff_t at = 0; at < size; at++) own[at] = values[rows[at]];
        float least, largest;
        find_range(own, size, least, largest);
        if (!is_above(largest, least)) return false;
        double low = least, high = largest, share = (high - low) * next() / double(0x7FFFFFFF), threshold = share + low;
        if (threshold == high) threshold = low;
        Sides sides;
        ptrdiff_t at = 0;
        for (const Run &run : runs_) {
            int32_t on_left = 0;
            for (; at < run.end; at++) on_left += own[at] <= threshold;
            double left = on_left, right = run.count - left;
            sides.left_rows += on_left;
            sides.left_squares += left * left;
            sides.right_squares += right * right;
        }
        sides.left = static_cast<double>(sides.left_rows);
        if (!leaves_too_few(sides, size)) take_better(column, threshold, sides, best);
        return true;
    }

    // Several minima at once, so that none waits for the one before.
    static void find_range(const float *values, ptrdiff_t size, float &least, float &largest) {
        const ptrdiff_t ABREAST = 8;
        float low[ABREAST], high[ABREAST];
        for (ptrdiff_t i = 0; i < ABREAST; i++) low[i] = high[i] = values[0];
        ptrdiff_t at = 0;
        for (; at + ABREAST <= size; at += ABREAST)
            for (ptrdiff_t i = 0; i < ABREAST; i++) {
                float value = values[at + i];
                low[i] = value < low[i] ? value : low[i];
                high[i] = value > high[i] ? value : high[i];
            }
        for (; at < size; at++) {
            low[0] = std::min(low[0], values[at]);
            high[0] = std::max(high[0], values[at]);
        }
        least = *std::min_element(low, low + ABREAST);
        largest = *std::max_element(high, high + ABREAST);
    }

    // Every cut; whether the column has two values --------------------------------------------------------------------

    bool try_every_cut(const Node &node, int32_t column, Cut &best) {
        ptrdiff_t size = node.size(), at = 0;
        const uint32_t *ranks = task_.ranks + column * task_.n;
        const int32_t *rows = order_.data() + node.begin;
        uint32_t least = ranks[rows[0]], largest = least;
        for (size_t run = 0; run < runs_.size(); run++)
            for (; at < runs_[run].end; at++) {
                uint32_t rank = ranks[rows[at]];
                keys_[at] = {rank, static_cast<uint16_t>(run), static_cast<uint16_t>(task_.counts[rows[at]])};
                least = std::min(least, rank);
                largest = std::max(largest, rank);
            }
        const float *distinct = task_.distinct + task_.starts[column];
        if (!is_above(distinct[largest], distinct[least])) return false;
        ptrdiff_t range = static_cast<ptrdiff_t>(largest - least) + 1, width = static_cast<ptrdiff_t>(runs_.size());
        for (Run &run : runs_) run.left = 0.0;
        if (range * (width + 1) <= CELLS_OF_ROW * size) sweep_cells(column, least, range, size, distinct, best);
        else sweep_rows(column, sorted(least, range, size), size, distinct, best);
        return true;
    }

    // The keys by rank.
    const Key *sorted(uint32_t least, ptrdiff_t range, ptrdiff_t size) {
        if (size < FEW_ROWS || range > MANY_RANKS) {
            std::sort(keys_.begin(), keys_.begin() + size, [](const Key &a, const Key &b) { return a.rank < b.rank; });
            return keys_.data();
        }
        places_.assign(range + 1, 0);
        for (ptrdiff_t at = 0; at < size; at++) places_[keys_[at].rank - least + 1]++;
        for (ptrdiff_t rank = 1; rank < range; rank++) places_[rank] += places_[rank - 1];
        for (ptrdiff_t at = 0; at < size; at++) sorted_[places_[keys_[at].rank - least]++] = keys_[at];
        return sorted_.data();
    }

    void sweep_rows(int32_t column, const Key *keys, ptrdiff_t size, const float *distinct, Cut &best) {
        Sides sides = all_on_right();
        for (ptrdiff_t at = 0; at + 1 < size; at++) {
            move_left(runs_[keys[at].run], keys[at].count, sides);
            sides.left_rows++;
            if (keys[at].rank != keys[at + 1].rank)
                try_between(column, distinct[keys[at].rank], distinct[keys[at + 1].rank], size, sides, best);
        }
    }

    // The same where many rows share few ranks: classes are counted by rank.
    void sweep_cells(int32_t column, uint32_t least, ptrdiff_t range, ptrdiff_t size, const float *distinct, Cut &best) {
        const ptrdiff_t width = static_cast<ptrdiff_t>(runs_.size());
        cells_.assign(range * width, 0);
        places_.assign(range, 0);
        for (ptrdiff_t at = 0; at < size; at++) {
            ptrdiff_t rank = keys_[at].rank - least;
            cells_[rank * width + keys_[at].run] += keys_[at].count;
            places_[rank]++;
        }
        Sides sides = all_on_right();
        ptrdiff_t before = -1;
        distinct += least;
        for (ptrdiff_t rank = 0; rank < range; rank++) {
            if (!places_[rank]) continue;
            if (before >= 0) try_between(column, distinct[before], distinct[rank], size, sides, best);
            for (ptrdiff_t k = 0; k < width; k++)
                if (cells_[rank * width + k]) move_left(runs_[k], cells_[rank * width + k], sides);
            sides.left_rows += places_[rank];
            before = rank;
        }
    }

    Sides all_on_right() const {
        Sides sides;
        sides.right_squares = squares_;
        return sides;
    }

    // (c + w)² = c² + w (w + 2 c): counts are integers, so that nothing is rounded.
    static void move_left(Run &run, double count, Sides &sides) {
        sides.left_squares += count * (count + 2.0 * run.left);
        sides.right_squares += count * (count - 2.0 * (run.count - run.left));
        sides.left += count;
        run.left += count;
    }

    void try_between(int32_t column, float below, float above, ptrdiff_t size, const Sides &sides, Cut &best) const {
        if (!leaves_too_few(sides, size) && is_above(above, below)) take_better(column, below / 2.0 + above / 2.0, sides, best);
    }

    // Rows keep their order on both sides; where the right one begins.
    ptrdiff_t divide(const Node &node, const Cut &cut) {
        const float *values = task_.values + cut.column * task_.n;
        ptrdiff_t left = node.begin, right = 0;
        for (ptrdiff_t at = node.begin; at < node.end; at++) {
            int32_t row = order_[at];
            bool is_left = values[row] <= cut.threshold;
            order_[left] = row;
            moved_[right] = row;
            left += is_left;
            right += !is_left;
        }
        std::copy_n(moved_.begin(), right, order_.begin() + left);
        return left;
    }

    const ForestTask &task_;
    uint32_t state_;
    std::vector<int32_t> columns_, constant_, order_, moved_;
    std::vector<Run> runs_;  // of the node at hand; with its counts, and the sum of their squares by class
    double count_ = 0.0, squares_ = 0.0;
    std::vector<float> values_;
    std::vector<Key> keys_, sorted_;
    std::vector<int32_t> cells_, places_;
};
