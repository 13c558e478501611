#include "kernel/loop/loop_threads.h"

#include <algorithm>

namespace tenon::loops {
namespace {

bool is_of_threads(const Kernel& kernel, const Loop& loop) {
  return kernel.axes.at(static_cast<size_t>(loop.axis)).binding == Binding::threads;
}

/// One too many stands for any number of threads beyond: products of these do not overflow.
int64_t bounded(int64_t threads) { return std::min(threads, kMostThreads + 1); }

int64_t own_extent(const Kernel& kernel, const Loop& loop) {
  return is_of_threads(kernel, loop) ? bounded(thread_extent(kernel, loop.axis)) : 1;
}

/// Of the first nest; 0 where there is none.
int64_t threads_in(const Kernel& kernel, const Block& block) {
  for (const Statement& statement : block) {
    const auto* loop = std::get_if<Loop>(&statement.what);
    if (loop == nullptr) {
      continue;
    }
    const int64_t inside = threads_in(kernel, loop->body);
    if (inside != 0 || is_of_threads(kernel, *loop)) {
      return bounded(std::max<int64_t>(inside, 1) * own_extent(kernel, *loop));
    }
  }
  return 0;
}

/// To where it is fed first; 0 where it is not.
int64_t parts_in(const Kernel& kernel, const Block& block, int accumulator) {
  for (const Statement& statement : block) {
    if (const auto* fed = std::get_if<Accumulate>(&statement.what); fed && fed->accumulator == accumulator) {
      return 1;
    }
    if (const auto* loop = std::get_if<Loop>(&statement.what)) {
      if (const int64_t inside = parts_in(kernel, loop->body, accumulator); inside != 0) {
        return bounded(inside * own_extent(kernel, *loop));
      }
    }
  }
  return 0;
}

}  // namespace

int64_t thread_extent(const Kernel& kernel, int axis) {
  return kernel.axes.at(static_cast<size_t>(axis)).extent.constant().value_or(1);
}

int64_t threads_of(const Kernel& kernel, const Phase& phase) {
  return std::max<int64_t>(threads_in(kernel, phase.body), 1);
}

int64_t most_threads(const Kernel& kernel) {
  int64_t most = 1;
  for (const Phase& phase : kernel.phases) {
    most = std::max(most, threads_of(kernel, phase));
  }
  return most;
}

int64_t parts_of(const Kernel& kernel, const Loop& loop, int accumulator) {
  return std::max<int64_t>(parts_in(kernel, loop.body, accumulator), 1) * own_extent(kernel, loop);
}

}  // namespace tenon::loops
