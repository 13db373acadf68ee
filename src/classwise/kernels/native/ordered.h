// Sums of parts that threads finish in any order, added in the order of the parts: the number of threads changes no digit.
#pragma once
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

// Sums are added to by sums.add(other), and cleared by sums.clear(). There are about as many as threads: those of a part
// that has been added serve another one, in memory that is in the cache.
template <class Sums>
class OrderedSums {
   public:
    explicit OrderedSums(ptrdiff_t parts) : ready_(parts) {
        free_.reserve(parts);  // no thread of ours may run out of memory for it
    }

    // Sums of zero, which make() makes where none are free.
    template <class Make>
    std::unique_ptr<Sums> take(Make make) {
        std::unique_ptr<Sums> found;
        {
            std::lock_guard<std::mutex> lock(mutex_);
            if (free_.empty()) return make();
            found = std::move(free_.back());
            free_.pop_back();
        }
        found->clear();
        return found;
    }

    // The sums of a part are done. They are added here and now, with those that waited for them; where another thread is
    // adding, it will add them.
    void put(ptrdiff_t part, std::unique_ptr<Sums> sums) {
        std::unique_lock<std::mutex> lock(mutex_);
        ready_[part] = std::move(sums);
        if (is_adding_) return;
        is_adding_ = true;
        for (; next_ < ready_.size() && ready_[next_]; next_++) {
            std::unique_ptr<Sums> own = std::move(ready_[next_]);
            if (!total_) {
                total_ = std::move(own);
                continue;
            }
            lock.unlock();
            total_->add(*own);
            lock.lock();
            free_.push_back(std::move(own));
        }
        is_adding_ = false;
    }

    // The sums of all parts, once they are done.
    Sums &total() { return *total_; }

   private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<Sums>> ready_, free_;
    std::unique_ptr<Sums> total_;
    size_t next_ = 0;
    bool is_adding_ = false;
};
