// Memory for numbers, from the start of a line of the cache on: vectors that lie across two lines take longer to load,
// and wait longer for what has just been stored. Of each file its own, as what is compiled for AVX-512 must not be
// everybody's.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

namespace {

class Memory {
   public:
    enum Start { AS_FOUND, CLEARED };

    // Of so many numbers; `numbers` is null where there is no memory.
    explicit Memory(ptrdiff_t count, Start start = AS_FOUND)
        : held_(start == CLEARED ? calloc(sizeof(double) * count + LINE, 1) : malloc(sizeof(double) * count + LINE)) {
        numbers = held_ ? (double *)(((uintptr_t)held_ + LINE - 1) / LINE * LINE) : nullptr;
    }
    Memory(const Memory &) = delete;
    ~Memory() { free(held_); }
    double *numbers;

   private:
    static const uintptr_t LINE = 64;
    void *held_;
};

}  // namespace
