// Vectors of LANES doubles, as GCC and Clang have them for every processor. LANES is set by the instruction set's file.

typedef double vec __attribute__((vector_size(8 * LANES)));
typedef double vec_loose __attribute__((vector_size(8 * LANES), aligned(8), may_alias));
typedef float half_loose __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int64_t ints __attribute__((vector_size(8 * LANES)));

inline __attribute__((always_inline)) vec load(const double *at) { return *(const vec_loose *)at; }
inline __attribute__((always_inline)) vec load(const float *at) {
    return __builtin_convertvector(*(const half_loose *)at, vec);
}
inline __attribute__((always_inline)) void store(double *at, vec value) { *(vec_loose *)at = value; }
inline __attribute__((always_inline)) vec all(double value) { return value - (vec){}; }
inline __attribute__((always_inline)) vec choose(ints mask, vec yes, vec no) {
    return (vec)((mask & (ints)yes) | (~mask & (ints)no));
}
inline __attribute__((always_inline)) vec larger(vec a, vec b) { return choose(a > b, a, b); }

inline bool any(ints mask) {
    int64_t found = 0;
    for (int i = 0; i < LANES; i++) found |= mask[i];
    return found != 0;
}

// exp(x) for x <= 0, to an ulp or so: x = n log 2 + r with |r| <= log(2) / 2, and Taylor's series of exp(r).
inline __attribute__((always_inline)) vec exp_of_negative(vec x) {
    const double LOG2_E = 1.4426950408889634074, HIGH = 6.93145751953125e-1, LOW = 1.42860682030941723212e-6;
    const double ROUND = 6755399441055744.0;  // 1.5 * 2^52: adding it leaves the nearest integer in the last bits
    x = larger(x, all(-745.5));
    vec shifted = x * LOG2_E + ROUND;
    vec n = shifted - ROUND;
    vec r = (x - n * HIGH) - n * LOW;
    vec s = all(1.0 / 6227020800.0);
    s = s * r + 1.0 / 479001600.0;
    s = s * r + 1.0 / 39916800.0;
    s = s * r + 1.0 / 3628800.0;
    s = s * r + 1.0 / 362880.0;
    s = s * r + 1.0 / 40320.0;
    s = s * r + 1.0 / 5040.0;
    s = s * r + 1.0 / 720.0;
    s = s * r + 1.0 / 120.0;
    s = s * r + 1.0 / 24.0;
    s = s * r + 1.0 / 6.0;
    s = s * r + 0.5;
    s = s * r + 1.0;
    s = s * r + 1.0;
    // 2^n in two factors, so that what is below the normal numbers is rounded, not lost.
    ints whole = (ints)shifted - (ints)all(ROUND);
    ints first = whole >> 1, second = whole - first;
    vec one = (vec)((first + 1023) << 52), two = (vec)((second + 1023) << 52);
    return s * one * two;
}

// log(1 + x) for 0 <= x < 2^52, to an ulp or so: 1 + x = 2^n (1 + f) with 1 + f between sqrt(1/2) and sqrt(2), and
// log(1 + f) = 2 atanh s, s = f / (2 + f), by its series.
inline __attribute__((always_inline)) vec log_of_one_plus(vec x) {
    const double LOG_2 = 6.93147180559945309417e-1, ROUND = 6755399441055744.0;
    const int64_t ROOT_OF_HALF = 0x3fe6a09e667f3bcd;  // its bits
    vec total = 1.0 + x;
    ints n = ((ints)total - ROOT_OF_HALF) >> 52;
    vec f = choose(n == 0, x, total * (vec)((1023 - n) << 52) - 1.0);
    vec s = f / (2.0 + f), z = s * s, sum = all(1.0 / 23.0);
#pragma GCC unroll 16
    for (int k = 21; k > 0; k -= 2) sum = sum * z + 1.0 / k;
    vec whole = (vec)(n + (ints)all(ROUND)) - ROUND;
    return 2.0 * s * sum + whole * LOG_2;
}
