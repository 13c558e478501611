#include "schedule/blocks/flat_nest.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "kernel/loop/loop_walk.h"
#include "schedule/blocks/phase_edit.h"
#include "schedule/draft/affine.h"

namespace tenon::schedule {
namespace {

using loops::Affine;
using loops::Block;
using loops::Kernel;
using loops::Loop;

struct FlatNest {
  std::vector<int> axes;
  Block body;  // definitions of all loops, then stores
  bool has_lanes = false;
};

std::optional<FlatNest> flat_nest_of(const Kernel& kernel, const Loop& outermost) {
  FlatNest nest;
  for (const Loop* loop = &outermost; loop != nullptr;) {
    const loops::Axis& axis = kernel.axes[static_cast<size_t>(loop->axis)];
    if (!loop->begins.empty() || loop->unless >= 0 || loop->digit) return std::nullopt;
    if (axis.binding != loops::Binding::serial && axis.binding != loops::Binding::lanes) return std::nullopt;
    if (std::ranges::find(nest.axes, axis.tile_of) != nest.axes.end()) return std::nullopt;
    nest.has_lanes = nest.has_lanes || axis.binding == loops::Binding::lanes;
    nest.axes.push_back(loop->axis);
    const Loop* inner = nullptr;
    for (const loops::Statement& statement : loop->body) {
      const auto* const next = std::get_if<Loop>(&statement.what);
      const bool is_plain = std::get_if<loops::Define>(&statement.what) != nullptr ||
                            std::get_if<loops::Store>(&statement.what) != nullptr;
      if (inner != nullptr || (next == nullptr && !is_plain)) return std::nullopt;
      next != nullptr ? static_cast<void>(inner = next) : nest.body.push_back(statement);
    }
    const bool stores = std::ranges::any_of(
        nest.body, [](const loops::Statement& each) { return std::get_if<loops::Store>(&each.what) != nullptr; });
    if (inner != nullptr && stores) return std::nullopt;
    loop = inner;
  }
  return nest;
}

/// What each iteration stores is its own, and no other one reads it.
bool is_free_nest(const Kernel& kernel, const FlatNest& nest) {
  const auto is_own = [&](const loops::Store& store) {
    const auto moves = [&](int axis) {
      return kernel.axes[static_cast<size_t>(axis)].extent == Extent(1) || scale_along(store.at, axis) != Extent(0);
    };
    const auto is_read_by_others = [&](const loops::Statement& each) {
      const auto* const define = std::get_if<loops::Define>(&each.what);
      if (define == nullptr) return false;
      const auto* const load = std::get_if<loops::Load>(&kernel.values[static_cast<size_t>(define->value)].what);
      return load != nullptr && load->buffer == store.buffer && load->at != store.at;
    };
    return std::ranges::all_of(nest.axes, moves) && std::ranges::none_of(nest.body, is_read_by_others);
  };
  return std::ranges::all_of(nest.body, [&](const loops::Statement& each) {
    const auto* const store = std::get_if<loops::Store>(&each.what);
    return store == nullptr || is_own(*store);
  });
}

void add_bounds(Kernel& kernel, Block& body, const std::vector<loops::Bound>& bounds) {
  const auto add_to = [&](std::vector<loops::Bound>& inside) {
    for (const loops::Bound& each : bounds) {
      if (std::ranges::find(inside, each) == inside.end()) inside.push_back(each);
    }
  };
  for (loops::Statement& statement : body) {
    if (auto* const store = std::get_if<loops::Store>(&statement.what)) {
      add_to(store->inside);
      continue;
    }
    auto& what = kernel.values[static_cast<size_t>(std::get<loops::Define>(statement.what).value)].what;
    if (auto* const load = std::get_if<loops::Load>(&what)) add_to(load->inside);
  }
}

/// Of loops inside of each other, the outermost.
struct Candidate {
  Loop* loop = nullptr;
  FlatNest nest;
};

void find_nests(const Kernel& kernel, Block& block, std::vector<Candidate>& found) {
  for (loops::Statement& statement : block) {
    auto* const loop = std::get_if<Loop>(&statement.what);
    if (loop == nullptr) continue;
    std::optional<FlatNest> nest = flat_nest_of(kernel, *loop);
    if (nest && nest->has_lanes && is_free_nest(kernel, *nest)) {
      found.push_back({.loop = loop, .nest = std::move(*nest)});
    } else {
      find_nests(kernel, loop->body, found);
    }
  }
}

/// How many loops run over an axis.
int64_t loops_over(const Block& body, int axis) {
  int64_t count = 0;
  for_each_statement(body, [&](const loops::Statement& statement) {
    const auto* const loop = std::get_if<Loop>(&statement.what);
    count += loop != nullptr && loop->axis == axis ? 1 : 0;
  });
  return count;
}

/// Leaves out nests of axes that other loops run over, too.
void keep_own_axes(const Block& body, std::vector<Candidate>& nests) {
  const auto is_shared = [&](const Candidate& each) {
    return std::ranges::any_of(each.nest.axes, [&](int axis) {
      const auto has_axis = [&](const Candidate& other) {
        return std::ranges::find(other.nest.axes, axis) != other.nest.axes.end();
      };
      return std::ranges::count_if(nests, has_axis) != loops_over(body, axis);
    });
  };
  for (size_t before = nests.size() + 1; before != nests.size();) {
    before = nests.size();
    const auto left = std::ranges::find_if(nests, is_shared);
    if (left != nests.end()) nests.erase(left);
  }
}

void share(Kernel& kernel, Candidate& candidate, int64_t threads, std::set<int>& steps) {
  const std::vector<int>& axes = candidate.nest.axes;
  Block body = std::move(candidate.nest.body);
  std::vector<Extent> apart(axes.size());
  std::vector<loops::Bound> bounds;  // of tiles that are shorter
  Extent all = 1;
  for (size_t i = axes.size(); i-- > 0;) {
    const loops::Axis& axis = kernel.axes[static_cast<size_t>(axes[i])];
    apart[i] = all;
    all = all * axis.extent;
    if (is_whole(axis)) continue;
    bounds.push_back(
        {.index = add(affine_axis(axes[i]), scale(affine_axis(axis.tile_of), axis.extent)), .size = axis.total});
  }
  add_bounds(kernel, body, bounds);
  const int step = add_axis(kernel, {.extent = ceildiv(all, threads), .name = "turn"});
  const int thread = add_axis(
      kernel,
      {.extent = threads, .name = "element", .tile_of = step, .total = all, .binding = loops::Binding::threads});
  steps.insert(step);
  const Affine element = add(scale(affine_axis(step), threads), affine_axis(thread));
  for (size_t i = axes.size(); i-- > 0;) {
    steps.insert(axes[i]);
    Block around;
    around.push_back({Loop{.axis = axes[i],
                           .begins = {},
                           .body = std::move(body),
                           .unless = -1,
                           .digit = loops::Digit{.of = element, .apart = apart[i], .is_first = i == 0}}});
    body = std::move(around);
  }
  Block of_thread;
  of_thread.push_back({Loop{.axis = thread, .begins = {}, .body = std::move(body), .unless = -1}});
  *candidate.loop = {.axis = step, .begins = {}, .body = std::move(of_thread), .unless = -1};
}

/// Products count along axes of their own in the place of these, which lose what they are tiles of.
void rename_in_products(Block& block, const std::map<int, int>& copies) {
  for (loops::Statement& statement : block) {
    if (auto* const loop = std::get_if<Loop>(&statement.what)) rename_in_products(loop->body, copies);
    auto* const product = std::get_if<loops::Product>(&statement.what);
    if (product == nullptr) continue;
    for (std::vector<int>* const axes : {&product->rows, &product->columns, &product->depth}) {
      for (int& axis : *axes) {
        if (const auto copy = copies.find(axis); copy != copies.end()) axis = copy->second;
      }
    }
  }
}

}  // namespace

void share_flat_nests(Kernel& kernel, Block& body, int64_t threads, std::set<int>& steps) {
  std::vector<Candidate> nests;
  find_nests(kernel, body, nests);
  keep_own_axes(body, nests);
  for (Candidate& each : nests)
    share(kernel, each, threads, steps);
  std::map<int, int> copies;
  for (const Candidate& each : nests) {
    for (const int axis : each.nest.axes) {
      if (!copies.contains(axis)) copies[axis] = add_axis(kernel, kernel.axes[static_cast<size_t>(axis)]);
    }
  }
  rename_in_products(body, copies);
  for (const Candidate& each : nests) {
    for (const int axis : each.nest.axes) {
      loops::Axis& digit = kernel.axes[static_cast<size_t>(axis)];
      digit.tile_of = -1;
      digit.total = 0;
      digit.binding = loops::Binding::serial;
    }
  }
}

}  // namespace tenon::schedule
