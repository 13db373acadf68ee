// Arrays of Python, by the buffer protocol: no header of NumPy, and one build for every version of Python.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "kernels.h"

// A problem with an argument; becomes a ValueError.
struct Refused : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Python has already set an error.
struct Raised {};

class Buffer {
   public:
    Buffer() = default;
    explicit Buffer(PyObject *object, bool is_written = false) {
        if (PyObject_GetBuffer(object, &view_, PyBUF_STRIDES | PyBUF_FORMAT | (is_written ? PyBUF_WRITABLE : 0)))
            throw Raised();
        is_held_ = true;
    }
    Buffer(Buffer &&other) noexcept : view_(other.view_), is_held_(other.is_held_) { other.is_held_ = false; }
    Buffer(const Buffer &) = delete;
    Buffer &operator=(Buffer &&other) noexcept {
        std::swap(view_, other.view_);
        std::swap(is_held_, other.is_held_);
        return *this;
    }
    ~Buffer() {
        if (is_held_) PyBuffer_Release(&view_);
    }

    int dimensions() const { return view_.ndim; }
    ptrdiff_t length(int axis) const { return view_.shape[axis]; }
    ptrdiff_t size() const { return view_.len / view_.itemsize; }
    ptrdiff_t item_size() const { return view_.itemsize; }
    // From one number to the next along an axis, in numbers.
    ptrdiff_t stride(int axis) const { return view_.strides[axis] / view_.itemsize; }
    bool is(char format) const { return view_.format && view_.format[0] == format && !view_.format[1]; }
    bool is_integer() const { return view_.format && std::strchr("bhilqBHILQ?", view_.format[0]) && !view_.format[1]; }
    bool is_signed() const { return std::strchr("bhilq", view_.format[0]) != nullptr; }

    // The numbers of an array that is contiguous in C order.
    template <class T>
    T *data(const char *name) const {
        if (!PyBuffer_IsContiguous(&view_, 'C') || view_.itemsize != sizeof(T))
            throw Refused(std::string(name) + " is not contiguous, or of another type.");
        return static_cast<T *>(view_.buf);
    }
    const void *start() const { return view_.buf; }

   private:
    Py_buffer view_{};
    bool is_held_ = false;
};

// Rows as kernels read them, of a matrix or of a tuple of columns; holds what it points to.
class RowsArgument {
   public:
    explicit RowsArgument(PyObject *object) {
        if (PyTuple_Check(object)) read_columns(object);
        else read_matrix(object);
    }
    Rows rows{};

   private:
    void read_matrix(PyObject *object) {
        held_.emplace_back(object);
        const Buffer &matrix = held_.back();
        if (matrix.dimensions() != 2) throw Refused("rows are not a matrix.");
        take_type(matrix);
        rows.n = matrix.length(0);
        rows.p = matrix.length(1);
        if (matrix.stride(1) == 1 || rows.p == 1) {
            rows.base = matrix.start();
            rows.stride = matrix.stride(0);
            return;
        }
        for (ptrdiff_t j = 0; j < rows.p; j++)
            add(static_cast<const char *>(matrix.start()) + j * matrix.stride(1) * matrix.item_size(), matrix.stride(0));
        point();
    }
    void read_columns(PyObject *object) {
        rows.p = PyTuple_Size(object);
        for (ptrdiff_t j = 0; j < rows.p; j++) {
            held_.emplace_back(PyTuple_GetItem(object, j));
            const Buffer &column = held_.back();
            if (column.dimensions() != 1 || (j && column.length(0) != rows.n)) throw Refused("columns differ in length.");
            rows.n = column.length(0);
            take_type(column, j > 0);
            add(column.start(), column.stride(0));
        }
        point();
    }
    void take_type(const Buffer &buffer, bool is_further = false) {
        bool is_single = buffer.is('f');
        if ((!is_single && !buffer.is('d')) || (is_further && is_single != rows.is_single))
            throw Refused("rows are not all of float64, or all of float32.");
        rows.is_single = is_single;
    }
    void add(const void *start, ptrdiff_t stride) {
        columns_.push_back(start);
        strides_.push_back(stride);
    }
    void point() {
        rows.columns = columns_.data();
        rows.strides = strides_.data();
    }

    std::vector<Buffer> held_;
    std::vector<const void *> columns_;
    std::vector<ptrdiff_t> strides_;
};

// Other threads of Python run while this lives.
class Released {
   public:
    Released() : state_(PyEval_SaveThread()) {}
    ~Released() { PyEval_RestoreThread(state_); }

   private:
    PyThreadState *state_;
};
