#include "schedule/blocks/split_sums.h"

#include <algorithm>
#include <iterator>

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

bool is_sum(const Kernel& kernel, const Loop& loop) {
  const loops::Axis& axis = kernel.axes[static_cast<size_t>(loop.axis)];
  const auto adds_up = [](const loops::Statement& each) {
    return std::get_if<loops::Define>(&each.what) != nullptr || std::get_if<loops::Accumulate>(&each.what) != nullptr;
  };
  const auto is_plain = [&](int accumulator) {
    return kernel.accumulators[static_cast<size_t>(accumulator)].position < 0;
  };
  return axis.binding == loops::Binding::serial && axis.tile_of < 0 && loop.unless < 0 && !loop.begins.empty() &&
         axis.extent.constant().value_or(kShortest) >= kShortest && std::ranges::all_of(loop.body, adds_up) &&
         std::ranges::all_of(loop.begins, is_plain);
}

/// Each step of each element reads something that no other does: there is so much to read that writing parts, too, is
/// little beside it.
bool reads_much(const Kernel& kernel, const Loop& thread, const Loop& sum) {
  const auto moves = [&](const loops::Statement& each) {
    const auto* const define = std::get_if<loops::Define>(&each.what);
    if (define == nullptr) return false;
    const auto* const load = std::get_if<loops::Load>(&kernel.values[static_cast<size_t>(define->value)].what);
    const auto moves_along = [&](int axis) {
      return kernel.axes[static_cast<size_t>(axis)].extent == Extent(1) || scale_along(load->at, axis) != Extent(0);
    };
    return load != nullptr && moves_along(thread.axis) && moves_along(sum.axis) &&
           std::ranges::all_of(kernel.phases.front().grid, moves_along);
  };
  return std::ranges::any_of(sum.body, moves);
}

/// The loop bound to threads that has the reduction; null: the kernel has another form.
template <class AnyKernel>
auto threads_with_sum(AnyKernel& kernel) -> decltype(only_loop(kernel.phases.front().body)) {
  if (kernel.phases.size() != 1) return nullptr;
  auto* const thread = only_loop(kernel.phases.front().body);
  if (thread == nullptr || !thread->begins.empty() ||
      kernel.axes[static_cast<size_t>(thread->axis)].binding != loops::Binding::threads) {
    return nullptr;
  }
  auto* const sum = only_loop(thread->body);
  return sum != nullptr && is_sum(kernel, *sum) && reads_much(kernel, *thread, *sum) ? thread : nullptr;
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
    const Extent part = max(Extent(kPart), ceildiv(all, count));
    const int parts = add_axis(kernel_, {.extent = ceildiv(all, part), .name = "part"});
    const int within = add_axis(kernel_, {.extent = part, .name = "within", .tile_of = parts, .total = all});
    const int again = add_axis(kernel_, {.extent = ceildiv(all, part), .name = "part"});
    loops::Phase second = whole_;
    Loop& second_thread = *only_loop(second.body);
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
    const loops::Axis& thread = kernel_.axes[static_cast<size_t>(thread_.axis)];
    const int counter = thread.tile_of;
    element_ = affine_axis(thread_.axis);
    elements_ = counter < 0 ? thread.extent : thread.total;
    if (counter >= 0) element_ = add(element_, scale(affine_axis(counter), thread.extent));
    for (const int each : whole_.grid) {
      if (each == counter) continue;
      element_ = add(element_, scale(affine_axis(each), elements_));
      elements_ = elements_ * kernel_.axes[static_cast<size_t>(each)].extent;
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
