// Parts of the work on several threads of our own, which live as long as the work does.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <system_error>
#include <thread>
#include <vector>

// The next part of a span; others are in other lines of the cache.
struct Span {
    std::atomic<ptrdiff_t> next{0};
    char rest[64];
};

// work(part) for every part. Parts lie in so many spans, side by side, and a thread takes those of one span in order;
// when they are done, it takes what is left of the others. Where the system gives fewer threads, there are fewer.
template <class Work>
void in_spans(ptrdiff_t count, ptrdiff_t parts, ptrdiff_t threads, Work work) {
    std::vector<Span> spans(count);
    for (ptrdiff_t i = 0; i < count; i++) spans[i].next = parts * i / count;
    auto run = [&](ptrdiff_t thread) {
        for (ptrdiff_t i = thread; i < thread + count; i++) {
            ptrdiff_t span = i % count, end = parts * (span + 1) / count;
            for (ptrdiff_t part; (part = spans[span].next.fetch_add(1)) < end;) work(part);
        }
    };
    std::vector<std::thread> others;
    try {
        for (ptrdiff_t i = 1; i < threads && i < parts; i++) others.emplace_back(run, i);
    } catch (const std::system_error &) {
    }
    run(0);
    for (auto &other : others) other.join();
}

// A span for each thread: so threads first write to pages of memory that are far from each other. Of one page, the system
// would clear a copy for each of them, and throw all but one away.
template <class Work>
void parallel(ptrdiff_t parts, ptrdiff_t threads, Work work) {
    in_spans(std::max<ptrdiff_t>(1, std::min(threads, parts)), parts, threads, work);
}

// One span: parts are begun in their order.
template <class Work>
void in_turn(ptrdiff_t parts, ptrdiff_t threads, Work work) {
    in_spans(1, parts, threads, work);
}
