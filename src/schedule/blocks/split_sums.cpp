#include "schedule/blocks/split_sums.h"

#include <algorithm>
#include <iterator>

#include "kernel/loop/loop_walk.h"
#include "schedule/blocks/phase_edit.h"
#include "schedule/draft/affine.h"

namespace tenon::schedule {
namespace {

using loops::Affine;
using loops::Block;
using loops::Kernel;
using loops::Loop;

constexpr int64_t kShortest = 256;               // that is worth cutting
constexpr int64_t kParts = 128;                  // at most
constexpr int64_t kPart = 32;                    // steps at least
constexpr int64_t kElements = int64_t{1} << 18;  // that are worked on at once, about

/// The only loop of a block; null: there is none, or several, or something but definitions before it.
template <class AnyBlock>
auto only_loop(AnyBlock& block) -> decltype(std::get_if<Loop>(&block[0].what)) {
  decltype(std::get_if<Loop>(&block[0].what)) found = nullptr;
  for (auto& statement : block) {
    if (auto* const loop = std::get_if<Loop>(&statement.what)) {
      if (found != nullptr) return nullptr;
      found = loop;
    } else if (found == nullptr && std::get_if<loops::Define>(&statement.what) == nullptr) {
      return nullptr;
    }
  }
  return found;
}

bool is_of_threads(const Kernel& kernel, const Loop& loop) {
  return kernel.axes[static_cast<size_t>(loop.axis)].binding == loops::Binding::threads;
}

bool has_loops(const Loop& loop) {
  return std::ranges::any_of(loop.body,
                             [](const loops::Statement& each) { return std::get_if<Loop>(&each.what) != nullptr; });
}

/// What the loop stores is of each of its steps alone, and nothing reads it there.
bool stores_its_own(const Kernel& kernel, const Loop& sum) {
  bool holds = true;
  for_each_statement(sum.body, [&](const loops::Statement& statement) {
    const auto* const store = std::get_if<loops::Store>(&statement.what);
    const auto* const loop = std::get_if<Loop>(&statement.what);
    holds = holds && (loop == nullptr || (loop->unless < 0 && !loop->digit)) &&
            std::get_if<loops::Product>(&statement.what) == nullptr &&
            (store == nullptr || (scale_along(store->at, sum.axis) != Extent(0) &&
                                  std::ranges::none_of(kernel.values, [&](const loops::Value& value) {
                                    const auto* const load = std::get_if<loops::Load>(&value.what);
                                    return load != nullptr && load->buffer == store->buffer;
                                  })));
  });
  return holds;
}

bool is_sum(const Kernel& kernel, const Loop& loop) {
  const loops::Axis& axis = kernel.axes[static_cast<size_t>(loop.axis)];
  const auto is_plain = [&](int accumulator) {
    return kernel.accumulators[static_cast<size_t>(accumulator)].position < 0;
  };
  const int64_t shortest = has_loops(loop) ? 2 : kShortest;
  return axis.binding == loops::Binding::serial && axis.tile_of < 0 && loop.unless < 0 && !loop.digit &&
         !loop.begins.empty() && axis.extent.constant().value_or(shortest) >= shortest &&
         stores_its_own(kernel, loop) && std::ranges::all_of(loop.begins, is_plain);
}

/// The loop inside of all that are bound to threads; null: the kernel has another form.
template <class AnyPhase>
auto innermost_of_threads(const Kernel& kernel, AnyPhase& phase) -> decltype(only_loop(phase.body)) {
  auto* thread = only_loop(phase.body);
  if (thread == nullptr || !is_of_threads(kernel, *thread)) return nullptr;
  while (thread->begins.empty()) {
    auto* const inner = only_loop(thread->body);
    if (inner == nullptr || !is_of_threads(kernel, *inner)) return thread;
    thread = inner;
  }
  return nullptr;
}

/// The axes that are bound to threads around a loop, and its own.
std::vector<int> thread_axes(const Kernel& kernel) {
  std::vector<int> axes;
  for (const Loop* loop = only_loop(kernel.phases.front().body); loop != nullptr && is_of_threads(kernel, *loop);
       loop = only_loop(loop->body)) {
    axes.push_back(loop->axis);
  }
  return axes;
}

/// Each step of each element reads something that no other does: there is so much to read that writing parts, too, is
/// little beside it.
bool reads_much(const Kernel& kernel, const Loop& sum) {
  const auto moves = [&](const loops::Statement& each) {
    const auto* const define = std::get_if<loops::Define>(&each.what);
    if (define == nullptr) return false;
    const auto* const load = std::get_if<loops::Load>(&kernel.values[static_cast<size_t>(define->value)].what);
    const auto moves_along = [&](int axis) {
      return kernel.axes[static_cast<size_t>(axis)].extent == Extent(1) || scale_along(load->at, axis) != Extent(0);
    };
    return load != nullptr && std::ranges::all_of(thread_axes(kernel), moves_along) && moves_along(sum.axis) &&
           std::ranges::all_of(kernel.phases.front().grid, moves_along);
  };
  bool found = false;
  for_each_statement(sum.body, [&](const loops::Statement& each) { found = found || moves(each); });
  return found;
}

/// The loop bound to threads that has the reduction; null: the kernel has another form.
template <class AnyKernel>
auto threads_with_sum(AnyKernel& kernel) -> decltype(only_loop(kernel.phases.front().body)) {
  if (kernel.phases.size() != 1) return nullptr;
  auto* const thread = innermost_of_threads(kernel, kernel.phases.front());
  if (thread == nullptr || !thread->begins.empty()) return nullptr;
  auto* const sum = only_loop(thread->body);
  return sum != nullptr && is_sum(kernel, *sum) && reads_much(kernel, *sum) ? thread : nullptr;
}

class SplitSums {
 public:
  explicit SplitSums(Kernel& kernel)
      : kernel_(kernel), whole_(kernel.phases.front()), thread_(*threads_with_sum(kernel)) {}

  void run() {
    const Loop sum = *only_loop(thread_.body);
    const int axis = sum.axis;
    const Extent all = kernel_.axes[static_cast<size_t>(axis)].extent;
    number_elements();
    const Extent count = max(Extent(1), min(Extent(kParts), floordiv(kElements, max(Extent(1), elements_))));
    const Extent part = max(Extent(has_loops(sum) ? 1 : kPart), ceildiv(all, count));
    const int parts = add_axis(kernel_, {.extent = ceildiv(all, part), .name = "part"});
    const int within = add_axis(kernel_, {.extent = part, .name = "within", .tile_of = parts, .total = all});
    const int again = add_axis(kernel_, {.extent = ceildiv(all, part), .name = "part"});
    loops::Phase second = whole_;
    Loop& second_thread = *innermost_of_threads(kernel_, second);
    cut(sum, parts, within);
    combine(second_thread, sum, again);
    substitute_axis(kernel_, axis, add(scale(affine_axis(parts), part), affine_axis(within)));
    kernel_.axes[static_cast<size_t>(parts)].binding = loops::Binding::blocks;
    whole_.grid.push_back(parts);
    kernel_.phases.push_back(std::move(second));
  }

 private:
  /// Which of all elements a thread has.
  void number_elements() {
    std::vector<int> counters;
    elements_ = 1;
    const auto add_axis_of = [&](const Affine& index, const Extent& count) {
      element_ = add(element_, scale(index, elements_));
      elements_ = elements_ * count;
    };
    std::vector<int> threads = thread_axes(kernel_);
    std::ranges::reverse(threads);  // the innermost runs fastest
    for (const int each : threads) {
      const loops::Axis& axis = kernel_.axes[static_cast<size_t>(each)];
      counters.push_back(axis.tile_of);
      axis.tile_of < 0 ? add_axis_of(affine_axis(each), axis.extent)
                       : add_axis_of(add(affine_axis(each), scale(affine_axis(axis.tile_of), axis.extent)), axis.total);
    }
    for (const int each : whole_.grid) {
      const bool is_counter = std::ranges::find(counters, each) != counters.end();
      if (!is_counter) add_axis_of(affine_axis(each), kernel_.axes[static_cast<size_t>(each)].extent);
    }
  }

  Affine at(int part) const { return add(scale(affine_axis(part), elements_), element_); }

  /// The first phase: what a part gives goes to memory.
  void cut(const Loop& sum, int parts, int within) {
    Block body = before(thread_.body);
    body.push_back({Loop{.axis = within, .begins = sum.begins, .body = sum.body, .unless = -1}});
    for (const int accumulator : sum.begins) {
      const Dtype dtype = kernel_.accumulators[static_cast<size_t>(accumulator)].dtype;
      partials_.push_back(static_cast<int>(kernel_.buffers.size()));
      kernel_.buffers.push_back({.dtype = dtype,
                                 .role = loops::Role::partial,
                                 .elements = elements_ * kernel_.axes[static_cast<size_t>(parts)].extent});
      const int result = add_value(kernel_, {.what = loops::Result{accumulator}, .dtype = dtype});
      body.push_back({loops::Store{.buffer = partials_.back(), .at = at(parts), .inside = {}, .value = result}});
    }
    thread_.body = std::move(body);
  }

  /// The second one: parts in the place of steps.
  void combine(Loop& thread, const Loop& sum, int parts) {
    Block inner;
    std::vector<int> begins;
    for (size_t i = 0; i < sum.begins.size(); ++i) {
      const loops::Accumulator given = kernel_.accumulators[static_cast<size_t>(sum.begins[i])];
      const loops::Load load{.buffer = partials_[i], .at = at(parts), .inside = {}, .lookups = {}};
      const int value = add_value(kernel_, {.what = load, .dtype = given.dtype});
      inner.push_back({loops::Define{value}});
      begins.push_back(static_cast<int>(kernel_.accumulators.size()));
      inner.push_back({loops::Accumulate{begins.back()}});
      kernel_.accumulators.push_back(given);
      kernel_.accumulators.back().input = value;
    }
    for (size_t i = 0; i < begins.size(); ++i)
      results_of(sum.begins[i], begins[i]);
    *only_loop(thread.body) = {.axis = parts, .begins = begins, .body = std::move(inner), .unless = -1};
  }

  /// What the phase reads as the result of one accumulator becomes that of another; what the first phase stores stays.
  void results_of(int from, int to) {
    bool is_stored = false;  // of the values that read it, the last is the first phase's
    for (size_t i = kernel_.values.size(); i-- > 0;) {
      auto* const result = std::get_if<loops::Result>(&kernel_.values[i].what);
      if (result == nullptr || result->accumulator != from) continue;
      if (is_stored) result->accumulator = to;
      is_stored = true;
    }
  }

  static Block before(const Block& block) {
    Block defines;
    std::ranges::copy_if(block, std::back_inserter(defines), [](const loops::Statement& each) {
      return std::get_if<loops::Define>(&each.what) != nullptr;
    });
    const auto loop = std::ranges::find_if(
        block, [](const loops::Statement& each) { return std::get_if<Loop>(&each.what) != nullptr; });
    defines.resize(std::min(defines.size(), static_cast<size_t>(loop - block.begin())));
    return defines;
  }

  Kernel& kernel_;
  loops::Phase& whole_;
  Loop& thread_;
  Affine element_;
  Extent elements_;
  std::vector<int> partials_;
};

}  // namespace

bool has_long_sums(const Kernel& kernel) { return threads_with_sum(kernel) != nullptr; }

void split_sums(Kernel& kernel) { SplitSums(kernel).run(); }

}  // namespace tenon::schedule
