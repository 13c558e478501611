#include "runtime/arena.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "base/fail.h"

namespace tenon::runtime {
namespace {

struct Placed {
  int64_t begin = 0;
  int64_t end = 0;
  int first = 0;
  int last = 0;
};

constexpr int64_t kLargest = std::numeric_limits<int64_t>::max() / 4;

int64_t aligned(int64_t bytes) { return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment; }

}  // namespace

int64_t place(std::span<const Block> blocks, std::span<int64_t> offsets) {
  TENON_CHECK(blocks.size() == offsets.size(), "{} blocks, {} offsets", blocks.size(), offsets.size());
  std::vector<size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return blocks[a].bytes > blocks[b].bytes; });

  std::vector<Placed> placed;  // sorted by begin
  placed.reserve(blocks.size());
  int64_t total = 0;
  for (const size_t i : order) {
    const Block& block = blocks[i];
    if (block.bytes == 0) {
      offsets[i] = 0;
      continue;
    }
    int64_t begin = 0;
    if (block.bytes <= kLargest) {
      for (const Placed& other : placed) {
        if (other.last < block.first || block.last < other.first) {
          continue;
        }
        if (other.begin - begin >= block.bytes) {
          break;
        }
        begin = std::max(begin, other.end);
      }
    }
    if (block.bytes > kLargest || begin > kLargest) {
      fail("the intermediates do not fit in 64 bits of memory");
    }
    const Placed mine{begin, begin + aligned(block.bytes), block.first, block.last};
    placed.insert(std::upper_bound(placed.begin(), placed.end(), mine,
                                   [](const Placed& a, const Placed& b) { return a.begin < b.begin; }),
                  mine);
    offsets[i] = begin;
    total = std::max(total, mine.end);
  }
  return total;
}

}  // namespace tenon::runtime
