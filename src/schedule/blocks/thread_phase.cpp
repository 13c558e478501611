#include "schedule/blocks/thread_phase.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <set>

#include "kernel/loop/loop_walk.h"
#include "schedule/blocks/phase_edit.h"
#include "schedule/draft/affine.h"

namespace tenon::schedule {
namespace {

using loops::Affine;
using loops::Binding;
using loops::Block;
using loops::Kernel;
using loops::Loop;

constexpr int64_t kRowsThreads = 128;  // where that axis is shorter, or each thread has rows
constexpr int64_t kAlone = 16;         // reductions of so many a thread may as well run alone

class ThreadPhase {
 public:
  ThreadPhase(Kernel& kernel, int64_t most_threads)
      : kernel_(kernel), phase_(kernel.phases.front()), most_threads_(most_threads) {}

  bool run() {
    look();
    if (has_products_ || uses_scratch_) return false;
    while (hoist_loop()) {
    }
    Loop* const lanes = only_lanes();
    if (lanes != nullptr) {
      if (!share(*lanes)) return false;
    } else if (!lanes_.empty()) {
      return false;
    }
    if (threads_ < kRowsThreads) share_grid();
    if (threads_ == 1 && lanes == nullptr && is_long_) return false;
    for (loops::Axis& axis : kernel_.axes) {
      axis.binding = axis.binding == Binding::lanes ? Binding::serial : axis.binding;
    }
    for (const int axis : phase_.grid) {
      axis_at(axis).binding = Binding::blocks;
    }
    return true;
  }

 private:
  loops::Axis& axis_at(int i) { return kernel_.axes[static_cast<size_t>(i)]; }
  bool is_scratch(int buffer) const {
    return kernel_.buffers[static_cast<size_t>(buffer)].role == loops::Role::scratch;
  }

  void look() {
    for_each_statement(phase_.body, [&](const loops::Statement& statement) {
      if (const auto* define = std::get_if<loops::Define>(&statement.what)) {
        const auto* load = std::get_if<loops::Load>(&kernel_.values[static_cast<size_t>(define->value)].what);
        if (load != nullptr) {
          uses_scratch_ = uses_scratch_ || is_scratch(load->buffer);
          loaded_.insert(load->buffer);
        }
      } else if (const auto* store = std::get_if<loops::Store>(&statement.what)) {
        uses_scratch_ = uses_scratch_ || is_scratch(store->buffer);
      } else if (std::get_if<loops::Product>(&statement.what) != nullptr) {
        has_products_ = true;
      } else if (const auto* loop = std::get_if<Loop>(&statement.what)) {
        const loops::Axis& axis = axis_at(loop->axis);
        const int64_t known = axis.extent.constant().value_or(most_threads_);
        is_long_ = is_long_ || (!loop->begins.empty() && known > kAlone);
        if (axis.binding == Binding::lanes) lanes_.insert(loop->axis);
      }
    });
  }

  /// The loop that all of the body but definitions stands in.
  static Loop* only_loop(Block& block) {
    Loop* found = nullptr;
    for (loops::Statement& statement : block) {
      if (auto* const loop = std::get_if<Loop>(&statement.what)) {
        if (found != nullptr) return nullptr;
        found = loop;
      } else if (std::get_if<loops::Define>(&statement.what) == nullptr || found != nullptr) {
        return nullptr;
      }
    }
    return found != nullptr && found->begins.empty() && found->unless < 0 ? found : nullptr;
  }

  /// An outer loop whose iterations write elements of their own becomes an axis of the grid.
  bool hoist_loop() {
    Loop* const loop = only_loop(phase_.body);
    if (loop == nullptr || axis_at(loop->axis).binding != Binding::serial || axis_at(loop->axis).tile_of >= 0) {
      return false;
    }
    bool is_free = true;
    for_each_statement(loop->body, [&](const loops::Statement& statement) {
      const auto* const store = std::get_if<loops::Store>(&statement.what);
      is_free = is_free && (store == nullptr ||
                            (!loaded_.contains(store->buffer) && scale_along(store->at, loop->axis) != Extent(0)));
    });
    if (!is_free) return false;
    phase_.grid.push_back(loop->axis);
    Block body = std::move(loop->body);
    std::erase_if(phase_.body, [](const loops::Statement& each) { return std::get_if<Loop>(&each.what) != nullptr; });
    phase_.body.insert(phase_.body.end(), body.begin(), body.end());
    return true;
  }

  Loop* only_lanes() {
    Loop* const loop = only_loop(phase_.body);
    const bool is_lanes = loop != nullptr && axis_at(loop->axis).binding == Binding::lanes;
    return is_lanes && lanes_.size() == 1 ? loop : nullptr;
  }

  int64_t threads_for(const Extent& extent) const {
    const int64_t known = std::clamp<int64_t>(extent.constant().value_or(most_threads_), 1, most_threads_);
    return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(known)));
  }

  /// Its iterations go to threads.
  bool share(Loop& loop) {
    const int lane = loop.axis;
    const loops::Axis given = axis_at(lane);
    if (given.tile_of >= 0 && !is_one_with(lane, given)) return false;
    const Extent& all = given.tile_of >= 0 ? given.total : given.extent;
    threads_ = threads_for(all);
    const int step = add_axis(kernel_, {.extent = ceildiv(all, threads_), .name = given.name + "_block"});
    loop.axis = add_axis(
        kernel_, {.extent = threads_, .name = given.name, .tile_of = step, .total = all, .binding = Binding::threads});
    substitute_axis(kernel_, lane, add(scale(affine_axis(step), threads_), affine_axis(loop.axis)));
    if (given.tile_of < 0) {
      phase_.grid.push_back(step);
      return true;
    }
    substitute_axis(kernel_, given.tile_of, {});
    axis_at(lane).tile_of = -1;
    std::ranges::replace(phase_.grid, given.tile_of, step);
    return true;
  }

  /// The axis that counts its tiles is one of the grid, and stands beside it as if both were one axis.
  bool is_one_with(int lane, const loops::Axis& given) {
    if (std::ranges::find(phase_.grid, given.tile_of) == phase_.grid.end()) return false;
    bool is_one = std::ranges::count(kernel_.axes, given.tile_of, &loops::Axis::tile_of) == 1;
    for_each_position(kernel_, [&](Affine& at) {
      is_one = is_one && scale_along(at, given.tile_of) == scale_along(at, lane) * given.extent;
    });
    return is_one;
  }

  /// Some iterations of the grid share a block.
  void share_grid() {
    const auto is_free = [&](int axis) {
      const bool is_shared =
          std::ranges::any_of(kernel_.axes, [&](const loops::Axis& each) { return each.tile_of == axis; });
      return !is_shared && axis_at(axis).extent != Extent(1);
    };
    for (size_t i = phase_.grid.size(); i-- > 0;) {
      const int axis = phase_.grid[i];
      if (!is_free(axis)) continue;
      const loops::Axis given = axis_at(axis);
      const int64_t count = std::min(kRowsThreads / threads_, threads_for(given.extent));
      const int step = add_axis(kernel_, {.extent = ceildiv(given.extent, count), .name = given.name + "_block"});
      const int thread = add_axis(
          kernel_,
          {.extent = count, .name = given.name, .tile_of = step, .total = given.extent, .binding = Binding::threads});
      substitute_axis(kernel_, axis, add(scale(affine_axis(step), count), affine_axis(thread)));
      phase_.grid[i] = step;
      Block body = std::move(phase_.body);
      phase_.body.clear();
      phase_.body.push_back({Loop{.axis = thread, .begins = {}, .body = std::move(body), .unless = -1}});
      threads_ *= count;
      return;
    }
  }

  Kernel& kernel_;
  loops::Phase& phase_;
  int64_t most_threads_;  // along the axis that lies in memory side by side
  bool has_products_ = false;
  bool uses_scratch_ = false;
  bool is_long_ = false;  // it has reductions that one thread should not run alone
  int64_t threads_ = 1;
  std::set<int> loaded_, lanes_;
};

}  // namespace

bool map_to_threads(Kernel& kernel, int64_t most_threads) {
  Kernel mapped = kernel;
  if (!ThreadPhase(mapped, most_threads).run()) return false;
  kernel = std::move(mapped);
  return true;
}

}  // namespace tenon::schedule
