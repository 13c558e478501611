#include "runtime/memory/arena.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "base/fail.h"
#include "base/refused.h"

namespace tenon::runtime {
namespace {

constexpr int64_t kLargest = std::numeric_limits<int64_t>::max() / 4;
/// An order is good enough when it wastes no more than one part in so many.
constexpr int64_t kWaste = 64;

struct Placed {
  int64_t begin = 0;
  int64_t end = 0;
  int first = 0;
  int last = 0;
};

class ArenaLayout {
 public:
  explicit ArenaLayout(std::span<const Block> blocks) : blocks_(blocks) {
    order_.reserve(blocks.size());
    int64_t sum = 0;
    for (size_t i = 0; i < blocks.size(); ++i) {
      if (blocks[i].bytes > kLargest - sum) {
        refuse("the intermediates do not fit in 64 bits of memory");
      }
      if (blocks[i].bytes > 0) {
        sum += aligned(blocks[i].bytes);
        order_.push_back(i);
      }
    }
    measure_live();
  }

  Arena run(std::span<int64_t> offsets) {
    std::ranges::fill(offsets, 0);
    sort([&](size_t i) { return blocks_[i].bytes; });
    int64_t best = place_in_order(offsets);
    const auto good = [&] { return best <= live_aligned_ + live_aligned_ / kWaste; };
    std::vector<int64_t> others(good() ? 0 : offsets.size());
    const auto attempt = [&](const auto& key) {
      if (good()) {
        return;
      }
      sort(key);
      if (const int64_t bytes = place_in_order(others); bytes < best) {
        best = bytes;
        std::ranges::copy(others, offsets.begin());
      }
    };
    // What is there when most is, the largest first; what stays long; what comes first.
    attempt([&](size_t i) { return most_live_beside(i); });
    attempt([&](size_t i) { return blocks_[i].last - blocks_[i].first; });
    attempt([&](size_t i) { return -blocks_[i].first; });
    return {.bytes = best, .live = live_};
  }

 private:
  void measure_live() {
    int last = 0;
    for (const size_t i : order_) {
      last = std::max(last, blocks_[i].last);
    }
    live_at_.assign(static_cast<size_t>(last) + 2, 0);
    std::vector<int64_t> exact(live_at_.size(), 0);
    for (const size_t i : order_) {
      const Block& block = blocks_[i];
      live_at_[static_cast<size_t>(block.first)] += aligned(block.bytes);
      live_at_[static_cast<size_t>(block.last) + 1] -= aligned(block.bytes);
      exact[static_cast<size_t>(block.first)] += block.bytes;
      exact[static_cast<size_t>(block.last) + 1] -= block.bytes;
    }
    for (size_t t = 1; t < live_at_.size(); ++t) {
      live_at_[t] += live_at_[t - 1];
      exact[t] += exact[t - 1];
    }
    live_aligned_ = *std::ranges::max_element(live_at_);
    live_ = *std::ranges::max_element(exact);
  }

  int64_t most_live_beside(size_t i) const {
    const auto at = live_at_.begin() + blocks_[i].first;
    return *std::max_element(at, at + (blocks_[i].last - blocks_[i].first) + 1);
  }

  /// By falling key; of equal keys the larger first, then as they came.
  void sort(const auto& key) {
    std::ranges::sort(order_, [&](size_t a, size_t b) {
      const auto x = key(a);
      const auto y = key(b);
      return x != y ? x > y : blocks_[a].bytes != blocks_[b].bytes ? blocks_[a].bytes > blocks_[b].bytes : a < b;
    });
  }

  int64_t place_in_order(std::span<int64_t> offsets) {
    placed_.clear();
    placed_.reserve(order_.size());
    int64_t total = 0;
    for (const size_t i : order_) {
      const Block& block = blocks_[i];
      int64_t begin = 0;
      for (const Placed& other : placed_) {
        if (other.last < block.first || block.last < other.first) {
          continue;
        }
        if (other.begin - begin >= block.bytes) {
          break;
        }
        begin = std::max(begin, other.end);
      }
      const Placed mine{begin, begin + aligned(block.bytes), block.first, block.last};
      placed_.insert(std::ranges::upper_bound(placed_, mine.begin, {}, &Placed::begin), mine);
      offsets[i] = begin;
      total = std::max(total, mine.end);
    }
    return total;
  }

  std::span<const Block> blocks_;
  std::vector<size_t> order_;
  std::vector<Placed> placed_;  // sorted by begin
  std::vector<int64_t> live_at_;
  int64_t live_ = 0;
  int64_t live_aligned_ = 0;
};

}  // namespace

Arena place(std::span<const Block> blocks, std::span<int64_t> offsets) {
  TENON_CHECK(blocks.size() == offsets.size(), "{} blocks, {} offsets", blocks.size(), offsets.size());
  return ArenaLayout(blocks).run(offsets);
}

}  // namespace tenon::runtime
