// Parts of the work on several threads of our own, which live as long as the work does.
#pragma once
#include <atomic>
#include <cstddef>
#include <system_error>
#include <thread>
#include <vector>

// work(part) for every part; a thread takes the next part that none has taken. Where the system gives fewer threads,
// there are fewer.
template <class Work>
void parallel(ptrdiff_t parts, ptrdiff_t threads, Work work) {
    std::atomic<ptrdiff_t> next{0};
    auto run = [&] {
        for (ptrdiff_t part; (part = next.fetch_add(1)) < parts;) work(part);
    };
    std::vector<std::thread> others;
    try {
        for (ptrdiff_t i = 1; i < threads && i < parts; i++) others.emplace_back(run);
    } catch (const std::system_error &) {
    }
    run();
    for (auto &other : others) other.join();
}
