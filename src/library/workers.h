// Independent rows on the threads of a run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>

#include "base/pool.h"

namespace tenon::library {

/// Who runs a step.
struct Workers {
  Pool& pool;
  int threads = 0;                          // at most so many; 0: all
  std::function<void()> before_chunk = {};  // on any thread; may throw, which ends the step
};

/// Elements of a chunk, against the cost of claiming it.
inline constexpr int64_t kChunkElements = 16384;

/// Call f(begin, end) on ranges that together cover [0, count), side by side where there is enough to do: `each` is
/// about how many elements one row is.
template <class F>
void for_rows(const Workers& workers, int64_t count, int64_t each, const F& f) {
  const int64_t grain = std::max<int64_t>(1, kChunkElements / std::max<int64_t>(1, each));
  workers.pool.parallel_for(
      count, grain,
      [&](int64_t first, int64_t last, int) {
        for (int64_t at = first; at < last; at += grain) {
          if (workers.before_chunk) {
            workers.before_chunk();
          }
          f(at, std::min(last, at + grain));
        }
      },
      workers.threads);
}

}  // namespace tenon::library
