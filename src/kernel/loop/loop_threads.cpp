#include "kernel/loop/loop_threads.h"

#include <algorithm>

#include "kernel/loop/loop_walk.h"

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

constexpr int64_t kAccessBytes = 16;
constexpr int64_t kMostIterations = 8;
constexpr int64_t kWarp = 32;

Extent scale_along(const Affine& at, int axis) {
  const auto term = std::ranges::find(at.terms, axis, &Term::axis);
  return term == at.terms.end() ? Extent(0) : term->scale;
}

/// What the loops bound to threads of a phase have in them.
struct ThreadLoops {
  bool is_plain = true;
  int64_t element_bytes = 0;  // the most of an element of accesses whose elements lie side by side

  ThreadLoops(const Kernel& kernel, const Block& block, int thread = -1) : kernel_(kernel) { look(block, thread); }

 private:
  void add(int buffer, const Affine& at, int thread) {
    const Buffer& what = kernel_.buffers.at(static_cast<size_t>(buffer));
    is_plain = is_plain && !is_private_scratch(what);
    if (thread >= 0 && scale_along(at, thread) == Extent(1)) {
      element_bytes = std::max(element_bytes, static_cast<int64_t>(byte_size(what.dtype)));
    }
  }

  void look(const Block& block, int thread) {
    for (const Statement& statement : block) {
      if (const auto* const loop = std::get_if<Loop>(&statement.what)) {
        const Axis& axis = kernel_.axes.at(static_cast<size_t>(loop->axis));
        const bool is_thread = is_of_threads(kernel_, *loop);
        is_plain = is_plain && !(thread >= 0 && (is_thread || loop->unless >= 0 || axis.tile_of == thread)) &&
                   axis.binding != Binding::lanes;
        look(loop->body, is_thread ? loop->axis : thread);
      } else if (const auto* const define = std::get_if<Define>(&statement.what)) {
        const auto* const load = std::get_if<Load>(&kernel_.values.at(static_cast<size_t>(define->value)).what);
        if (load != nullptr) add(load->buffer, load->at, thread);
      } else if (const auto* const store = std::get_if<Store>(&statement.what)) {
        add(store->buffer, store->at, thread);
      } else if (std::get_if<Product>(&statement.what) != nullptr) {
        is_plain = false;
      }
    }
  }

  const Kernel& kernel_;
};

}  // namespace

int64_t iterations_of_thread(const Kernel& kernel, const Phase& phase) {
  const ThreadLoops loops(kernel, phase.body);
  if (!loops.is_plain || loops.element_bytes == 0) return 1;
  const int64_t threads = threads_of(kernel, phase);
  int64_t count = std::min(kAccessBytes / loops.element_bytes, kMostIterations);
  while (count > 1 && threads % (count * kWarp) != 0)
    count /= 2;
  return count;
}

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

Extent private_scratch_bytes(const Kernel& kernel) {
  Kernel shared = kernel;
  for (Buffer& buffer : shared.buffers) {
    if (is_private_scratch(buffer)) buffer.elements = 0;
  }
  return scratch_bytes(kernel) - scratch_bytes(shared);
}

bool uses_block_scratch(const Kernel& kernel, const Phase& phase) {
  bool found = false;
  const auto look = [&](int buffer) {
    const Buffer& used = kernel.buffers.at(static_cast<size_t>(buffer));
    found = found || (used.role == Role::scratch && !is_private_scratch(used));
  };
  for_each_statement(phase.body, [&](const Statement& statement) {
    if (const auto* const define = std::get_if<Define>(&statement.what)) {
      const auto* const load = std::get_if<Load>(&kernel.values.at(static_cast<size_t>(define->value)).what);
      if (load != nullptr) look(load->buffer);
    } else if (const auto* const store = std::get_if<Store>(&statement.what)) {
      look(store->buffer);
    }
    found = found || std::get_if<Product>(&statement.what) != nullptr;
  });
  return found;
}

int64_t parts_of(const Kernel& kernel, const Loop& loop, int accumulator) {
  return std::max<int64_t>(parts_in(kernel, loop.body, accumulator), 1) * own_extent(kernel, loop);
}

}  // namespace tenon::loops
