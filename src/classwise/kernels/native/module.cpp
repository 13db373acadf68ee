// The compiled kernels as a module of Python. classwise/kernels/__init__.py says what each function computes, and has
// the same in NumPy.
#define Py_LIMITED_API 0x030B0000
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <new>
#include <string>

#include "boosting.h"
#include "buffers.h"
#include "centers.h"
#include "evaluation.h"
#include "forest.h"
#include "kernels.h"
#include "memory.h"
#include "ordered.h"
#include "parallel.h"
#include "trees.h"

namespace {

// As in classwise/kernels/__init__.py: raised whenever functions change, so that none is called in another way.
const long INTERFACE = 5;

const Kernels *kernels = &KERNELS_PLAIN;

std::vector<const Kernels *> available() {
    std::vector<const Kernels *> found = {&KERNELS_PLAIN};
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) found.push_back(&KERNELS_AVX2);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw"))
        found.push_back(&KERNELS_AVX512);
#endif
    return found;
}

// Runs body, and turns what it throws into an error of Python.
template <class Body>
PyObject *guarded(Body body) {
    try {
        return body();
    } catch (const Raised &) {
    } catch (const Refused &problem) {
        PyErr_SetString(PyExc_ValueError, problem.what());
    } catch (const std::bad_alloc &) {
        PyErr_NoMemory();
    }
    return nullptr;
}

PyObject *none() {
    Py_INCREF(Py_None);
    return Py_None;
}

// A vector or matrix of so many numbers.
const double *numbers(const Buffer &buffer, ptrdiff_t count, const char *name) {
    if (buffer.size() != count) throw Refused(std::string(name) + " does not fit the rows.");
    return buffer.data<const double>(name);
}

// Moments --------------------------------------------------------------------------------------------------------------

// The sums of a part; weights start a line, and so do totals and products.
class PartialSums {
   public:
    PartialSums(const MomentsTask &task, ptrdiff_t P)
        : weights_((task.g + LINE - 1) / LINE * LINE), totals_(task.g * P),
          size_(weights_ + totals_ + (task.form == FULL ? task.g * P * P : task.form == POOLED ? P * P : task.g * P)),
          memory_(size_, Memory::CLEARED) {}
    bool is_there() const { return memory_.numbers; }
    MomentsSums sums() const {
        return {memory_.numbers, memory_.numbers + weights_, memory_.numbers + weights_ + totals_};
    }
    void add(const PartialSums &other) {
        for (ptrdiff_t i = 0; i < size_; i++) memory_.numbers[i] += other.memory_.numbers[i];
    }
    void clear() { std::fill_n(memory_.numbers, size_, 0.0); }

   private:
    static const ptrdiff_t LINE = 8;
    ptrdiff_t weights_, totals_, size_;
    Memory memory_;
};

// Sums the rows of all parts; false where there is no memory.
bool sum_parts(const MomentsTask &task, ptrdiff_t P, ptrdiff_t parts, ptrdiff_t threads, OrderedSums<PartialSums> &ordered) {
    std::atomic<bool> is_done{true};
    auto make = [&] { return std::unique_ptr<PartialSums>(new (std::nothrow) PartialSums(task, P)); };
    in_turn(parts, threads, [&](ptrdiff_t part) {
        auto own = ordered.take(make);
        ptrdiff_t n = task.rows.n, begin = n * part / parts, end = n * (part + 1) / parts;
        if (!own || !own->is_there() || !kernels->moments(task, begin, end, own->sums())) is_done = false;
        if (is_done) ordered.put(part, std::move(own));
    });
    return is_done;
}

// Without the padding, and with what is below the diagonal.
void write_sums(MomentsSums sums, const MomentsTask &task, ptrdiff_t P, double *weight, double *total, double *products) {
    ptrdiff_t p = task.rows.p, matrices = task.form == FULL ? task.g : task.form == POOLED ? 1 : 0;
    std::copy_n(sums.weight, task.g, weight);
    for (ptrdiff_t k = 0; k < task.g; k++) std::copy_n(sums.total + k * P, p, total + k * p);
    if (task.form == DIAGONAL)
        for (ptrdiff_t k = 0; k < task.g; k++) std::copy_n(sums.products + k * P, p, products + k * p);
    for (ptrdiff_t k = 0; k < matrices; k++)
        for (ptrdiff_t i = 0; i < p; i++)
            for (ptrdiff_t j = i; j < p; j++)
                products[(k * p + i) * p + j] = products[(k * p + j) * p + i] = sums.products[(k * P + i) * P + j];
}

PyObject *moments(PyObject *, PyObject *args) {
    return guarded([&]() -> PyObject * {
        PyObject *rows_object, *codes_object, *weights_object, *weight_object, *mean_object, *rest_object, *scatter_object;
        int form;
        Py_ssize_t head, parts, threads;
        if (!PyArg_ParseTuple(args, "OOOinnnOOOO", &rows_object, &codes_object, &weights_object, &form, &head, &parts,
                              &threads, &weight_object, &mean_object, &rest_object, &scatter_object))
            throw Raised();
        RowsArgument rows(rows_object);
        Buffer codes(codes_object), weight(weight_object, true), mean(mean_object, true), rest(rest_object, true);
        Buffer scatter(scatter_object, true);
        Buffer weights = weights_object == Py_None ? Buffer() : Buffer(weights_object);
        MomentsTask task = {};
        task.rows = rows.rows;
        task.form = static_cast<Form>(form);
        task.g = weight.size();
        ptrdiff_t n = task.rows.n, p = task.rows.p, P = kernels->padded(p);
        if (!codes.is_integer() || codes.dimensions() != 1 || codes.size() != n) throw Refused("codes do not fit the rows.");
        task.code_size = static_cast<int>(codes.item_size());
        task.codes = codes.start();
        if (codes.stride(0) != 1 && n > 1) throw Refused("codes are not contiguous.");
        if (weights_object != Py_None) {
            task.weights = weights.data<const double>("weights");
            if (weights.size() != n) throw Refused("weights do not fit the rows.");
        }
        ptrdiff_t squares = form == FULL ? task.g * p * p : form == POOLED ? p * p : task.g * p;
        if (mean.size() != task.g * p || rest.size() != task.g * p || scatter.size() != squares)
            throw Refused("the arrays for results do not fit.");
        std::vector<double> centers = find_centers(task, head, P);
        task.provisional = centers.data();
        parts = std::max<Py_ssize_t>(parts, 1);
        OrderedSums<PartialSums> ordered(parts);
        bool is_done;
        {
            Released released;
            is_done = sum_parts(task, P, parts, threads, ordered);
        }
        if (!is_done) return PyErr_NoMemory();
        double *of_class = weight.data<double>("weight"), *means = mean.data<double>("mean"), *squared = scatter.data<double>("scatter");
        write_sums(ordered.total().sums(), task, P, of_class, means, squared);
        center_sums(task, P, of_class, means, rest.data<double>("rest"), squared);
        return none();
    });
}

// The least of the pivots of matrices (k, p, p).
PyObject *pivot(PyObject *, PyObject *args) {
    return guarded([&]() -> PyObject * {
        PyObject *object;
        if (!PyArg_ParseTuple(args, "O", &object)) throw Raised();
        Buffer matrices(object);
        if (matrices.dimensions() != 3 || matrices.length(1) != matrices.length(2)) throw Refused("matrices are not square.");
        ptrdiff_t p = matrices.length(1);
        std::vector<double> work(p * p);
        const double *values = matrices.data<const double>("matrices");
        double least = 1.0;
        for (ptrdiff_t k = 0; k < matrices.length(0); k++) least = std::min(least, least_pivot(values + k * p * p, p, work.data()));
        return PyFloat_FromDouble(least);
    });
}

// Products -------------------------------------------------------------------------------------------------------------

PyObject *products(PyObject *, PyObject *args) {
    return guarded([&]() -> PyObject * {
        PyObject *columns_object, *factors_object, *origin_object, *out_object;
        Py_ssize_t parts, threads;
        if (!PyArg_ParseTuple(args, "OOOnnO", &columns_object, &factors_object, &origin_object, &parts, &threads, &out_object))
            throw Raised();
        RowsArgument columns(columns_object);
        Buffer factors(factors_object), out(out_object, true);
        Buffer origin = origin_object == Py_None ? Buffer() : Buffer(origin_object);
        bool is_centered = origin_object != Py_None;
        if (factors.dimensions() != 2 || factors.length(1) != columns.rows.n) throw Refused("factors do not fit the columns.");
        ptrdiff_t n = columns.rows.n, p = columns.rows.p, q = p + is_centered, P = kernels->padded(q);
        std::vector<double> center(P);
        if (is_centered) {
            std::copy_n(numbers(origin, p, "origin"), p, center.data());
            center[p] = -1.0;
        }
        ProductsTask task = {columns.rows, factors.data<const double>("factors"), factors.length(0), q, center.data()};
        ptrdiff_t size = task.count * P * P;
        if (out.size() != task.count * q * q) throw Refused("out does not fit the columns and factors.");
        double *found = out.data<double>("out");
        std::vector<double> sums(parts * size);
        std::atomic<bool> is_done{true};
        {
            Released released;
            parallel(parts, threads, [&](ptrdiff_t part) {
                if (!kernels->products(task, n * part / parts, n * (part + 1) / parts, sums.data() + part * size)) is_done = false;
            });
            for (ptrdiff_t part = 1; part < parts; part++)
                for (ptrdiff_t i = 0; i < size; i++) sums[i] += sums[part * size + i];
        }
        if (!is_done) return PyErr_NoMemory();
        for (ptrdiff_t c = 0; c < task.count; c++)
            for (ptrdiff_t i = 0; i < q; i++)
                for (ptrdiff_t j = i; j < q; j++)
                    found[(c * q + i) * q + j] = found[(c * q + j) * q + i] = sums[(c * P + i) * P + j];
        return none();
    });
}

// Scores ---------------------------------------------------------------------------------------------------------------

const ptrdiff_t ROWS_OF_PART = 2048;

PyObject *score(PyObject *, PyObject *args) {
    return guarded([&]() -> PyObject * {
        PyObject *rows_object, *origin_object, *constant_object, *first_object, *second_object, *shift_object, *out_object;
        int shape, answer;
        double tie, power;
        Py_ssize_t threads;
        if (!PyArg_ParseTuple(args, "OiOOOOddOinO", &rows_object, &shape, &origin_object, &constant_object, &first_object,
                              &second_object, &tie, &power, &shift_object, &answer, &threads, &out_object))
            throw Raised();
        RowsArgument rows(rows_object);
        Buffer origin(origin_object), constant(constant_object), first(first_object), out(out_object, true);
        Buffer second = second_object == Py_None ? Buffer() : Buffer(second_object);
        Buffer shift = shift_object == Py_None ? Buffer() : Buffer(shift_object);
        ScoreTask task = {};
        task.rows = rows.rows;
        task.shape = static_cast<Shape>(shape);
        task.answer = static_cast<Answer>(answer);
        ptrdiff_t n = task.rows.n, p = task.rows.p, g = task.g = constant.size();
        task.constant = numbers(constant, g, "constant");
        task.origin = numbers(origin, p, "origin");
        task.first = numbers(first, g * p, "first");
        if (shape != LINEAR)
            task.second = numbers(second, shape == QUADRATIC_FULL ? g * (p * (p + 1) / 2) : g * p, "second");
        task.tie = tie;
        task.power = power;
        if (shift_object != Py_None) task.shift = numbers(shift, g, "shift");
        if (out.size() != (answer == DECISION ? n : g * n)) throw Refused("out does not fit the rows.");
        task.n_out = n;
        if (answer == DECISION) task.decision = out.data<int64_t>("out");
        else task.out = out.data<double>("out");
        ptrdiff_t parts = (n + ROWS_OF_PART - 1) / ROWS_OF_PART;
        std::atomic<bool> is_done{true}, is_finite{true};
        auto work = [&](ptrdiff_t part) {
            bool is_ours_finite = true;
            ptrdiff_t begin = part * ROWS_OF_PART;
            if (!kernels->score(task, begin, std::min(n, begin + ROWS_OF_PART), &is_ours_finite)) is_done = false;
            if (!is_ours_finite) is_finite = false;
        };
        if (parts == 1) work(0);
        else {
            Released released;
            parallel(parts, threads, work);
        }
        if (!is_done) return PyErr_NoMemory();
        return PyBool_FromLong(is_finite);
    });
}

// Temperatures ---------------------------------------------------------------------------------------------------------

PyObject *slopes(PyObject *, PyObject *args) {
    return guarded([&]() -> PyObject * {
        PyObject *logs_object, *own_object, *folds_object, *weights_object, *out_object;
        double power, most_lost;
        Py_ssize_t threads;
        if (!PyArg_ParseTuple(args, "OOOOddnO", &logs_object, &own_object, &folds_object, &weights_object, &power,
                              &most_lost, &threads, &out_object))
            throw Raised();
        Buffer logs(logs_object), own(own_object), folds(folds_object), weights(weights_object), out(out_object, true);
        if (logs.dimensions() != 2 || out.dimensions() != 2 || out.length(0) != 3) throw Refused("logs or out are no matrix.");
        ptrdiff_t n = logs.length(1), count = out.length(1);
        SlopesTask task = {numbers(logs, logs.size(), "logs"), numbers(own, n, "own"), numbers(weights, n, "weights"),
                           folds.data<const int64_t>("folds"), logs.length(0), n, count, power, most_lost};
        if (folds.size() != n) throw Refused("folds do not fit the rows.");
        ptrdiff_t parts = std::max<ptrdiff_t>(1, (n + ROWS_OF_PART - 1) / ROWS_OF_PART);
        std::vector<double> sums(parts * 3 * count);
        {
            Released released;
            parallel(parts, threads, [&](ptrdiff_t part) {
                ptrdiff_t begin = part * ROWS_OF_PART;
                kernels->slopes(task, begin, std::min(n, begin + ROWS_OF_PART), sums.data() + part * 3 * count);
            });
        }
        double *found = out.data<double>("out");
        std::fill_n(found, 3 * count, 0.0);
        for (ptrdiff_t part = 0; part < parts; part++)
            for (ptrdiff_t i = 0; i < 3 * count; i++) found[i] += sums[part * 3 * count + i];
        return none();
    });
}

// Logistic regression --------------------------------------------------------------------------------------------------

// Adds the gradient (p + 1, g); fills the factors, unless they are None; returns the loss.
PyObject *softmax(PyObject *, PyObject *args) {
    return guarded([&]() -> PyObject * {
        PyObject *rows_object, *codes_object, *weights_object, *objects[3], *gradient_object, *factors_object;
        if (!PyArg_ParseTuple(args, "OOOOOOOO", &rows_object, &codes_object, &weights_object, objects, objects + 1,
                              objects + 2, &gradient_object, &factors_object))
            throw Raised();
        RowsArgument rows(rows_object);
        Buffer codes(codes_object), origin(objects[0]), constant(objects[1]), first(objects[2]), gradient(gradient_object, true);
        Buffer weights = weights_object == Py_None ? Buffer() : Buffer(weights_object);
        Buffer factors = factors_object == Py_None ? Buffer() : Buffer(factors_object, true);
        SoftmaxTask task = {};
        task.rows = rows.rows;
        ptrdiff_t n = task.rows.n, p = task.rows.p, g = task.g = constant.size();
        if (!codes.is_integer() || codes.dimensions() != 1 || codes.size() != n) throw Refused("codes do not fit the rows.");
        if (codes.stride(0) != 1 && n > 1) throw Refused("codes are not contiguous.");
        task.codes = codes.start();
        task.code_size = static_cast<int>(codes.item_size());
        if (weights_object != Py_None) task.weights = numbers(weights, n, "weights");
        task.origin = numbers(origin, p, "origin");
        task.constant = numbers(constant, g, "constant");
        task.first = numbers(first, g * p, "first");
        double *sums = gradient.data<double>("gradient"), loss = 0.0;
        if (factors_object != Py_None) task.factors = factors.data<double>("factors");
        if (gradient.size() != g * (p + 1) || (task.factors && factors.size() != n * (g * (g - 1) / 2)))
            throw Refused("the arrays for results do not fit.");
        bool is_done;
        {
            Released released;
            is_done = kernels->softmax(task, 0, n, &loss, sums);
        }
        return is_done ? PyFloat_FromDouble(loss) : PyErr_NoMemory();
    });
}

// Paths ----------------------------------------------------------------------------------------------------------------

PyObject *path(PyObject *, PyObject *args) {
    return guarded([&]() -> PyObject * {
        PyObject *rows_object, *objects[8], *out_object;
        Py_ssize_t threads;
        if (!PyArg_ParseTuple(args, "OOOOOOOOOnO", &rows_object, objects, objects + 1, objects + 2, objects + 3, objects + 4,
                              objects + 5, objects + 6, objects + 7, &threads, &out_object))
            throw Raised();
        RowsArgument rows(rows_object);
        Buffer origin(objects[0]), vectors(objects[1]), means(objects[2]), inverse(objects[3]), constant(objects[4]);
        Buffer offset(objects[5]), codes(objects[6]), weights(objects[7]), out(out_object, true);
        if (vectors.dimensions() != 3 || means.dimensions() != 2 || offset.dimensions() != 2)
            throw Refused("vectors, means or offset have other dimensions.");
        PathTask task = {};
        task.rows = rows.rows;
        ptrdiff_t n = task.rows.n, p = task.rows.p, s = task.amounts = out.size(), k = task.covariances = vectors.length(0);
        task.g = means.length(0);
        task.origin = numbers(origin, p, "origin");
        task.vectors = numbers(vectors, k * p * p, "vectors");
        task.means = numbers(means, task.g * p, "means");
        task.inverse = numbers(inverse, k * s * p, "inverse");
        task.constant = numbers(constant, k * s, "constant");
        task.weights = numbers(weights, n, "weights");
        task.codes = codes.data<const int64_t>("codes");
        task.offset_length = offset.length(1);
        task.offset_step = task.offset_length == n && n > 1;
        task.offset = numbers(offset, task.g * (task.offset_step ? n : 1), "offset");
        if (codes.size() != n || (k != 1 && k != task.g)) throw Refused("codes or vectors do not fit the rows.");
        for (ptrdiff_t i = 0; i < n; i++)
            if (task.codes[i] < 0 || task.codes[i] >= task.g) throw Refused("codes are beyond the classes.");
        ptrdiff_t parts = std::max<ptrdiff_t>(1, (n + ROWS_OF_PART - 1) / ROWS_OF_PART);
        std::vector<double> sums(parts * s);
        std::atomic<bool> is_done{true};
        {
            Released released;
            parallel(parts, threads, [&](ptrdiff_t part) {
                ptrdiff_t begin = part * ROWS_OF_PART;
                if (!kernels->path(task, begin, std::min(n, begin + ROWS_OF_PART), sums.data() + part * s)) is_done = false;
            });
        }
        if (!is_done) return PyErr_NoMemory();
        double *found = out.data<double>("out");
        std::fill_n(found, s, 0.0);
        for (ptrdiff_t part = 0; part < parts; part++)
            for (ptrdiff_t i = 0; i < s; i++) found[i] += sums[part * s + i];
        return none();
    });
}

// Evaluations ----------------------------------------------------------------------------------------------------------

PyObject *evaluate(PyObject *, PyObject *args) {
    return guarded([&]() -> PyObject * {
        PyObject *logs_object, *codes_object, *weights_object, *confusion_object, *bins_object, *sums_object;
        double least;
        if (!PyArg_ParseTuple(args, "OOOdOOO", &logs_object, &codes_object, &weights_object, &least, &confusion_object,
                              &bins_object, &sums_object))
            throw Raised();
        Buffer logs(logs_object), codes(codes_object), weights(weights_object);
        Buffer confusion(confusion_object, true), bins(bins_object, true), sums(sums_object, true);
        if (logs.dimensions() != 2 || bins.dimensions() != 3) throw Refused("logs or bins have other dimensions.");
        ptrdiff_t n = logs.length(0), g = logs.length(1), b = bins.length(2);
        EvaluationTask task = {numbers(logs, n * g, "logs"), codes.data<const int64_t>("codes"),
                               numbers(weights, n, "weights"), n, g, b, least};
        if (codes.size() != n || confusion.size() != g * g || bins.size() != (1 + g) * 3 * b || sums.size() != 3)
            throw Refused("codes or the arrays for results do not fit.");
        for (ptrdiff_t i = 0; i < n; i++)
            if (task.codes[i] < 0 || task.codes[i] >= g) throw Refused("codes are beyond the classes.");
        EvaluationSums found = {confusion.data<double>("confusion"), bins.data<double>("bins"), sums.data<double>("sums")};
        {
            Released released;
            std::fill_n(found.confusion, g * g, 0.0);
            std::fill_n(found.bins, bins.size(), 0.0);
            std::fill_n(found.sums, 3, 0.0);
            evaluate_rows(task, found);
        }
        return none();
    });
}

// Labels ---------------------------------------------------------------------------------------------------------------

const ptrdiff_t LABELS_OF_PART = 1 << 17;

template <class T>
void find_range(const T *labels, ptrdiff_t n, ptrdiff_t threads, T &lowest, T &highest) {
    ptrdiff_t parts = (n + LABELS_OF_PART - 1) / LABELS_OF_PART;
    std::vector<T> low(parts, std::numeric_limits<T>::max()), high(parts, std::numeric_limits<T>::min());
    parallel(parts, threads, [&](ptrdiff_t part) {
        T least = low[part], most = high[part];
        for (ptrdiff_t i = part * LABELS_OF_PART; i < std::min(n, (part + 1) * LABELS_OF_PART); i++) {
            least = std::min(least, labels[i]);
            most = std::max(most, labels[i]);
        }
        low[part] = least;
        high[part] = most;
    });
    lowest = *std::min_element(low.begin(), low.end());
    highest = *std::max_element(high.begin(), high.end());
}

template <class T>
PyObject *label_range_of(const Buffer &labels, ptrdiff_t threads) {
    T lowest, highest;
    const T *values = labels.data<const T>("labels");
    {
        Released released;
        find_range(values, labels.size(), threads, lowest, highest);
    }
    return std::numeric_limits<T>::is_signed ? Py_BuildValue("LL", (long long)lowest, (long long)highest)
                                             : Py_BuildValue("KK", (unsigned long long)lowest, (unsigned long long)highest);
}

// Once all labels are known to occur, codes are all that is left to write.
const ptrdiff_t LABELS_OF_BLOCK = 4096;

// Codes of labels [begin, end), and which numbers occur; whether all are in [lowest, lowest + range).
template <class T>
bool code_part(const T *labels, T lowest, int16_t *codes, ptrdiff_t begin, ptrdiff_t end, std::vector<uint8_t> &seen) {
    uint64_t start = static_cast<uint64_t>(lowest), last = seen.size() - 1, outside = 0;
    bool are_all_seen = false;
    for (ptrdiff_t at = begin; at < end; at += LABELS_OF_BLOCK) {
        ptrdiff_t stop = std::min(end, at + LABELS_OF_BLOCK);
        for (ptrdiff_t i = at; i < stop; i++) {
            uint64_t code = static_cast<uint64_t>(labels[i]) - start;
            outside |= code | (last - code);  // the highest bit is set where code > last
            codes[i] = static_cast<int16_t>(code);
        }
        if (outside >> 63) return false;
        for (ptrdiff_t i = at; i < stop && !are_all_seen; i++) seen[codes[i]] = 1;
        are_all_seen = are_all_seen || !std::memchr(seen.data(), 0, seen.size());
    }
    return true;
}

// Codes of labels, where all are in [lowest, lowest + range): whether they are.
template <class T>
bool code_labels_of(const Buffer &labels, T lowest, int16_t *codes, uint8_t *present, ptrdiff_t range, ptrdiff_t threads) {
    const T *values = labels.data<const T>("labels");
    ptrdiff_t n = labels.size(), parts = (n + LABELS_OF_PART - 1) / LABELS_OF_PART;
    std::vector<std::vector<uint8_t>> seen(parts, std::vector<uint8_t>(range));
    std::atomic<bool> is_inside{true};
    Released released;
    parallel(parts, threads, [&](ptrdiff_t part) {
        ptrdiff_t begin = part * LABELS_OF_PART, end = std::min(n, begin + LABELS_OF_PART);
        if (!code_part(values, lowest, codes, begin, end, seen[part])) is_inside = false;
    });
    for (auto &some : seen)
        for (ptrdiff_t code = 0; code < range; code++) present[code] |= some[code];
    return is_inside;
}

template <class Use>
PyObject *by_type(const Buffer &labels, Use use) {
    if (!labels.is_integer() || labels.dimensions() != 1) throw Refused("labels are not a vector of integers.");
    switch (labels.item_size()) {
        case 1: return labels.is_signed() ? use(int8_t{}) : use(uint8_t{});
        case 2: return labels.is_signed() ? use(int16_t{}) : use(uint16_t{});
        case 4: return labels.is_signed() ? use(int32_t{}) : use(uint32_t{});
        default: return labels.is_signed() ? use(int64_t{}) : use(uint64_t{});
    }
}

PyObject *label_range(PyObject *, PyObject *args) {
    return guarded([&]() -> PyObject * {
        PyObject *object;
        Py_ssize_t threads;
        if (!PyArg_ParseTuple(args, "On", &object, &threads)) throw Raised();
        Buffer labels(object);
        if (!labels.size()) throw Refused("there are no labels.");
        return by_type(labels, [&](auto zero) { return label_range_of<decltype(zero)>(labels, threads); });
    });
}

PyObject *label_codes(PyObject *, PyObject *args) {
    return guarded([&]() -> PyObject * {
        PyObject *object, *lowest_object, *codes_object, *present_object;
        Py_ssize_t threads;
        if (!PyArg_ParseTuple(args, "OOOOn", &object, &lowest_object, &codes_object, &present_object, &threads)) throw Raised();
        Buffer labels(object), lowest(lowest_object), codes(codes_object, true), present(present_object, true);
        if (codes.size() != labels.size() || lowest.item_size() != labels.item_size() || present.size() > 32767)
            throw Refused("codes, lowest or present do not fit the labels.");
        return by_type(labels, [&](auto zero) {
            using T = decltype(zero);
            return PyBool_FromLong(code_labels_of<T>(labels, *lowest.data<const T>("lowest"), codes.data<int16_t>("codes"),
                                                     present.data<uint8_t>("present"), present.size(), threads));
        });
    });
}

// Trees ----------------------------------------------------------------------------------------------------------------

const ptrdiff_t ROWS_IN_CACHE = 1024;

// Of fewer rows, preparing small trees would take longer than walking through them.
const ptrdiff_t FEWEST_SMALL_ROWS = 64;

struct Trees {
    Trees(PyObject *codes_object, PyObject *starts_object, PyObject *nodes_object, PyObject *numbers_object)
        : codes_(codes_object), starts_(starts_object), nodes_(nodes_object), numbers_(numbers_object) {
        if (codes_.dimensions() != 2) throw Refused("codes are not a matrix.");
        rows = codes_.length(0);
        p = codes_.length(1);
        codes = codes_.data<const uint16_t>("codes");
        starts = starts_.data<const int64_t>("starts");
        count = starts_.size() - 1;
        nodes = nodes_.data<const Node>("nodes");
        numbers = numbers_.data<const int32_t>("numbers");
        if (numbers_.size() != nodes_.size()) throw Refused("the numbers of leaves do not fit the nodes.");
    }
    // use(tree, first row, how many rows, their leaves), for blocks of rows that stay in cache.
    template <class Use>
    void each(ptrdiff_t threads, Use use) const {
        parallel((rows + ROWS_IN_CACHE - 1) / ROWS_IN_CACHE, threads, [&](ptrdiff_t part) {
            ptrdiff_t begin = part * ROWS_IN_CACHE, end = std::min(rows, begin + ROWS_IN_CACHE);
            int32_t leaves[ROWS_IN_CACHE];
            for (ptrdiff_t tree = 0; tree < count; tree++) {
                for (ptrdiff_t i = begin; i < end; i += ABREAST) {
                    // The last group takes rows of the one before along, where there are such.
                    ptrdiff_t first = std::max<ptrdiff_t>(begin, std::min<ptrdiff_t>(i, end - ABREAST));
                    settle(tree, first, end, leaves + (first - begin));
                }
                use(tree, begin, end - begin, leaves);
            }
        });
    }
    // The sums over trees of what a table (L, g) has of the leaf of each row; (n, g).
    void sum(const double *table, ptrdiff_t g, ptrdiff_t threads, double *sums) const {
        std::fill_n(sums, rows * g, 0.0);
        if (rows >= FEWEST_SMALL_ROWS && SmallTrees::suit(starts, count)) return sum_small(table, g, threads, sums);
        each(threads, [&](ptrdiff_t, ptrdiff_t begin, ptrdiff_t length, const int32_t *of_rows) {
            double *own = sums + begin * g;
            for (ptrdiff_t i = 0; i < length; i++)
                for (ptrdiff_t k = 0; k < g; k++) own[i * g + k] += table[of_rows[i] * g + k];
        });
    }
    ptrdiff_t rows, p, count;

   private:
    void sum_small(const double *table, ptrdiff_t g, ptrdiff_t threads, double *sums) const {
        SmallTrees small;
        for (ptrdiff_t tree = 0; tree < count; tree++) small.add(nodes + starts[tree], numbers + starts[tree]);
        SmallTreesTask task = {count, g, small.starts.data(), small.cuts.data(), small.leaves.data(), table};
        parallel((rows + SMALL_TREES_ROWS - 1) / SMALL_TREES_ROWS, threads, [&](ptrdiff_t part) {
            ptrdiff_t begin = part * SMALL_TREES_ROWS, length = std::min<ptrdiff_t>(SMALL_TREES_ROWS, rows - begin);
            std::vector<int16_t> columns(p * SMALL_TREES_ROWS);
            for (ptrdiff_t i = 0; i < length; i++)
                for (ptrdiff_t j = 0; j < p; j++) columns[j * SMALL_TREES_ROWS + i] = signed_code(codes[(begin + i) * p + j]);
            kernels->small_trees(task, columns.data(), length, sums + begin * g);
        });
    }

    // The leaves of at most ABREAST rows; of fewer, the first is followed several times.
    void settle(ptrdiff_t tree, ptrdiff_t first, ptrdiff_t end, int32_t *leaves) const {
        const Node *at[ABREAST];
        std::vector<uint16_t> few;
        const uint16_t *own = codes + first * p;
        ptrdiff_t count = std::min<ptrdiff_t>(ABREAST, end - first);
        if (count < ABREAST) {
            few.resize(ABREAST * p);
            std::copy_n(own, count * p, few.data());
            own = few.data();
        }
        fall(nodes + starts[tree], own, p, at);
        for (ptrdiff_t i = 0; i < count; i++) leaves[i] = numbers[at[i] - nodes];
    }

    Buffer codes_, starts_, nodes_, numbers_;
    const uint16_t *codes;
    const int64_t *starts;
    const Node *nodes;
    const int32_t *numbers;
};

// What stands for missing values: of a category negative ones are missing, of a number NaN.
struct Blanks {
    const double *values;
    const uint8_t *is_level;
    double filled(double x, ptrdiff_t j) const { return (is_level[j] ? !(x >= 0) : x != x) ? values[j] : x; }
};

template <class T>
void code_rows(const Rows &rows, const double *cuts, const int64_t *starts, Blanks blanks, ptrdiff_t begin, ptrdiff_t end,
               uint16_t *codes) {
    for (ptrdiff_t j = 0; j < rows.p; j++) {
        const T *first = rows.columns ? (const T *)rows.columns[j] : (const T *)rows.base + j;
        ptrdiff_t stride = rows.columns ? rows.strides[j] : rows.stride;
        for (ptrdiff_t i = begin; i < end; i++)
            codes[i * rows.p + j] = cuts_below(cuts + starts[j], starts[j + 1] - starts[j], blanks.filled(first[i * stride], j));
    }
}

PyObject *cut_codes(PyObject *, PyObject *args) {
    return guarded([&]() -> PyObject * {
        PyObject *rows_object, *cuts_object, *starts_object, *blanks_object, *levels_object, *out_object;
        Py_ssize_t threads;
        if (!PyArg_ParseTuple(args, "OOOOOnO", &rows_object, &cuts_object, &starts_object, &blanks_object, &levels_object,
                              &threads, &out_object))
            throw Raised();
        RowsArgument argument(rows_object);
        const Rows &rows = argument.rows;
        Buffer cuts_held(cuts_object), starts_held(starts_object), blank(blanks_object), level(levels_object), out(out_object, true);
        const double *cuts = cuts_held.data<const double>("cuts");
        const int64_t *starts = starts_held.data<const int64_t>("starts");
        Blanks blanks = {numbers(blank, rows.p, "blanks"), level.data<const uint8_t>("levels")};
        uint16_t *codes = out.data<uint16_t>("out");
        if (starts_held.size() != rows.p + 1 || level.size() != rows.p || out.size() != rows.n * rows.p)
            throw Refused("cuts, levels or out do not fit the rows.");
        {
            Released released;
            parallel((rows.n + ROWS_IN_CACHE - 1) / ROWS_IN_CACHE, threads, [&](ptrdiff_t part) {
                ptrdiff_t begin = part * ROWS_IN_CACHE, end = std::min(rows.n, begin + ROWS_IN_CACHE);
                if (rows.is_single) code_rows<float>(rows, cuts, starts, blanks, begin, end, codes);
                else code_rows<double>(rows, cuts, starts, blanks, begin, end, codes);
            });
        }
        return none();
    });
}

PyObject *leaves(PyObject *, PyObject *args) {
    return guarded([&]() -> PyObject * {
        PyObject *codes, *starts, *nodes, *numbers, *out_object;
        Py_ssize_t threads;
        if (!PyArg_ParseTuple(args, "OOOOnO", &codes, &starts, &nodes, &numbers, &threads, &out_object)) throw Raised();
        Trees trees(codes, starts, nodes, numbers);
        Buffer out(out_object, true);
        int32_t *found = out.data<int32_t>("out");
        if (out.size() != trees.count * trees.rows) throw Refused("out does not fit the trees and rows.");
        {
            Released released;
            trees.each(threads, [&](ptrdiff_t tree, ptrdiff_t begin, ptrdiff_t length, const int32_t *of_rows) {
                std::copy_n(of_rows, length, found + tree * trees.rows + begin);
            });
        }
        return none();
    });
}

PyObject *leaf_sums(PyObject *, PyObject *args) {
    return guarded([&]() -> PyObject * {
        PyObject *codes, *starts, *nodes, *numbers, *table_object, *out_object;
        Py_ssize_t threads;
        if (!PyArg_ParseTuple(args, "OOOOOnO", &codes, &starts, &nodes, &numbers, &table_object, &threads, &out_object))
            throw Raised();
        Trees trees(codes, starts, nodes, numbers);
        Buffer table(table_object), out(out_object, true);
        const double *beliefs = table.data<const double>("table");
        double *sums = out.data<double>("out");
        ptrdiff_t g = table.length(1);
        if (out.size() != trees.rows * g) throw Refused("out does not fit the rows and classes.");
        {
            Released released;
            trees.sum(beliefs, g, threads, sums);
        }
        return none();
    });
}

void refuse_beyond(const GrowthTask &task) {
    for (ptrdiff_t i = 0; i < task.m; i++)
        if (task.rows[i] < 0 || task.rows[i] >= task.n) throw Refused("rows are beyond the codes.");
    for (ptrdiff_t j = 0; j < task.c; j++)
        if (task.columns[j] < 0 || task.columns[j] >= task.p) throw Refused("columns are beyond the codes.");
    for (ptrdiff_t i = 0; i < task.n * task.p; i++)
        if (task.codes[i] >= task.bins) throw Refused("codes are beyond the bins.");
}

PyObject *grow(PyObject *, PyObject *args) {
    return guarded([&]() -> PyObject * {
        PyObject *codes_object, *rows_object, *slopes_object, *curvatures_object, *columns_object, *work_object, *column_object,
            *cut_object, *leaf_object;
        GrowthTask task = {};
        if (!PyArg_ParseTuple(args, "OOOOOnnnddOOOO", &codes_object, &rows_object, &slopes_object, &curvatures_object,
                              &columns_object, &task.bins, &task.leaves, &task.least, &task.ridge, &task.least_gain,
                              &work_object, &column_object, &cut_object, &leaf_object))
            throw Raised();
        Buffer codes(codes_object), rows(rows_object), slopes(slopes_object), curvatures(curvatures_object), columns(columns_object);
        Buffer work(work_object, true), column(column_object, true), cut(cut_object, true), leaf(leaf_object, true);
        if (codes.dimensions() != 2 || slopes.dimensions() != 2) throw Refused("codes or slopes are not matrices.");
        task.codes = codes.data<const uint8_t>("codes");
        task.n = codes.length(0);
        task.p = codes.length(1);
        task.rows = rows.data<const int32_t>("rows");
        task.m = rows.size();
        task.d = slopes.length(1);
        task.slopes = numbers(slopes, task.m * task.d, "slopes");
        task.curvatures = numbers(curvatures, task.m, "curvatures");
        task.columns = columns.data<const int32_t>("columns");
        task.c = columns.size();
        int32_t *node_columns = column.data<int32_t>("column"), *cuts = cut.data<int32_t>("cut"), *leaves = leaf.data<int32_t>("leaf");
        if (leaf.size() != task.n || column.size() != 2 * task.leaves - 1 || cut.size() != column.size())
            throw Refused("leaf, column or cut do not fit the rows and leaves.");
        task.work = work.data<double>("work");
        if (work.size() < task.leaves * task.c * task.bins * (task.d + 2)) throw Refused("there is too little room to work in.");
        size_t nodes;
        {
            Released released;
            refuse_beyond(task);
            std::fill_n(leaves, task.n, -1);
            GrownTree tree = TreeGrowth(task).grow(leaves);
            nodes = tree.column.size();
            std::copy(tree.column.begin(), tree.column.end(), node_columns);
            std::copy(tree.cut.begin(), tree.cut.end(), cuts);
        }
        return PyLong_FromSize_t(nodes);
    });
}

void refuse_unsuitable(const ForestTask &task) {
    const int32_t most = task.ranks ? 65535 : 1;
    for (ptrdiff_t i = 0; i < task.n; i++) {
        if (task.classes[i] < 0 || task.classes[i] >= task.g) throw Refused("classes are beyond their number.");
        if (task.counts[i] < 0 || task.counts[i] > most) throw Refused("counts are negative or too large.");
    }
    for (ptrdiff_t j = 0; task.ranks && j < task.p; j++) {
        const uint32_t *ranks = task.ranks + j * task.n, *largest = std::max_element(ranks, ranks + task.n);
        if (task.n && *largest >= task.starts[j + 1] - task.starts[j]) throw Refused("ranks are beyond the distinct values.");
    }
}

// ranks, distinct and starts are None where cuts are drawn.
PyObject *grow_forest_tree(PyObject *, PyObject *args) {
    return guarded([&]() -> PyObject * {
        PyObject *values_object, *ranks_object, *distinct_object, *starts_object, *classes_object, *counts_object,
            *column_object, *threshold_object;
        unsigned int state;
        ForestTask task = {};
        if (!PyArg_ParseTuple(args, "OOOOOOnnnIOO", &values_object, &ranks_object, &distinct_object, &starts_object,
                              &classes_object, &counts_object, &task.g, &task.drawn, &task.least, &state, &column_object,
                              &threshold_object))
            throw Raised();
        Buffer values(values_object), classes(classes_object), counts(counts_object);
        Buffer column(column_object, true), threshold(threshold_object, true), ranks, distinct, starts;
        if (values.dimensions() != 2 || task.g > 65536) throw Refused("values are no matrix, or classes too many.");
        task.values = values.data<const float>("values");
        task.p = values.length(0);
        task.n = values.length(1);
        task.classes = classes.data<const int32_t>("classes");
        task.counts = counts.data<const int32_t>("counts");
        task.state = state;
        if (classes.size() != task.n || counts.size() != task.n) throw Refused("classes or counts do not fit the rows.");
        if (ranks_object != Py_None) {
            ranks = Buffer(ranks_object);
            distinct = Buffer(distinct_object);
            starts = Buffer(starts_object);
            task.ranks = ranks.data<const uint32_t>("ranks");
            task.distinct = distinct.data<const float>("distinct");
            task.starts = starts.data<const int64_t>("starts");
            if (ranks.size() != task.n * task.p || starts.size() != task.p + 1 || task.starts[task.p] != distinct.size())
                throw Refused("ranks or distinct values do not fit the rows.");
        }
        int32_t *columns = column.data<int32_t>("column");
        double *thresholds = threshold.data<double>("threshold");
        size_t nodes;
        {
            Released released;
            refuse_unsuitable(task);
            ForestTree tree = ForestGrowth(task).grow();
            nodes = tree.column.size();
            if (static_cast<ptrdiff_t>(nodes) > std::min(column.size(), threshold.size()))
                throw Refused("there is too little room for the nodes.");
            std::copy(tree.column.begin(), tree.column.end(), columns);
            std::copy(tree.threshold.begin(), tree.threshold.end(), thresholds);
        }
        return PyLong_FromSize_t(nodes);
    });
}

// Instruction sets -----------------------------------------------------------------------------------------------------

PyObject *instruction_sets(PyObject *, PyObject *) {
    PyObject *names = PyList_New(0);
    for (const Kernels *some : available()) {
        PyObject *name = PyUnicode_FromString(some->name);
        PyList_Append(names, name);
        Py_DECREF(name);
    }
    return names;
}

PyObject *choose(PyObject *, PyObject *args) {
    const char *name;
    if (!PyArg_ParseTuple(args, "s", &name)) return nullptr;
    for (const Kernels *some : available())
        if (!std::strcmp(some->name, name)) {
            kernels = some;
            return none();
        }
    PyErr_Format(PyExc_ValueError, "This processor has no %s.", name);
    return nullptr;
}

PyMethodDef methods[] = {
    {"moments", moments, METH_VARARGS, "Weights, means and scatter by class."},
    {"pivot", pivot, METH_VARARGS, "The least share of a variance that the columns before leave."},
    {"products", products, METH_VARARGS, "Sums over rows of products of columns, by factors."},
    {"score", score, METH_VARARGS, "Scores of rows by class, posteriors or decisions; whether all are finite."},
    {"slopes", slopes, METH_VARARGS, "The loss of held-out rows under a power, and its derivatives, by fold."},
    {"softmax", softmax, METH_VARARGS, "The loss of rows by softmax, its gradient, and the factors of its curvature."},
    {"path", path, METH_VARARGS, "The losses of rows under covariances that are shrunk by several amounts."},
    {"evaluate", evaluate, METH_VARARGS, "Mistakes, losses and reliability of posteriors."},
    {"label_range", label_range, METH_VARARGS, "The lowest label and the highest."},
    {"label_codes", label_codes, METH_VARARGS, "Labels less the lowest, and which of them there are; whether all are in range."},
    {"cut_codes", cut_codes, METH_VARARGS, "How many cuts of its column each value lies above."},
    {"leaves", leaves, METH_VARARGS, "The leaf that each row falls into, tree by tree."},
    {"leaf_sums", leaf_sums, METH_VARARGS, "The sums over trees of what a table holds of the leaves of each row."},
    {"grow", grow, METH_VARARGS, "The nodes of a boosted tree, and the leaf of each row; how many nodes."},
    {"grow_forest_tree", grow_forest_tree, METH_VARARGS, "The nodes of a tree that is grown to its leaves; how many."},
    {"instruction_sets", instruction_sets, METH_NOARGS, "The instruction sets that this processor has."},
    {"choose", choose, METH_VARARGS, "Use one of them."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef module = {PyModuleDef_HEAD_INIT, "_native", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__native() {
    kernels = available().back();
    PyObject *created = PyModule_Create(&module);
    if (created) PyModule_AddIntConstant(created, "INTERFACE", INTERFACE);
    return created;
}
