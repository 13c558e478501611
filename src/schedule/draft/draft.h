// A kernel before its loops are put into order: values, stores and reductions over sets of axes.
#pragma once

#include <vector>

#include "schedule/draft/values.h"

namespace tenon::schedule {

struct DraftStore {
  int buffer = 0;
  loops::Affine at;
  int value = 0;
  AxisSet axes = 0;                       // the loops it runs in
  std::vector<loops::Bound> inside = {};  // elsewhere nothing is stored
};

/// An accumulator of the kernel, the loops it runs over, and the loops that its result depends on.
struct DraftReduction {
  int accumulator = 0;
  int result = 0;
  AxisSet axes = 0;
  AxisSet level = 0;
};

struct Draft {
  loops::Kernel kernel;
  KernelValues values{kernel};
  std::vector<DraftStore> stores;
  std::vector<DraftReduction> reductions;

  Draft() = default;
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  loops::Axis& axis(int id) { return kernel.axes[static_cast<size_t>(id)]; }
  const loops::Value& value(int id) const { return kernel.values[static_cast<size_t>(id)]; }
  loops::Accumulator& accumulator(const DraftReduction& r) {
    return kernel.accumulators[static_cast<size_t>(r.accumulator)];
  }
  const loops::Accumulator& accumulator(const DraftReduction& r) const {
    return kernel.accumulators[static_cast<size_t>(r.accumulator)];
  }
  /// The reduction that a value is the result of, or null.
  const DraftReduction* reduction_of(int value) const;
};

/// The operands of a value, lookups included.
std::vector<int> operands_of(const loops::Value& value);

/// All that values are computed from, themselves included, each once: through operands, and through reductions into
/// what they reduce.
std::vector<int> ingredients_of(const Draft& draft, const std::vector<int>& values);

/// The value with others in the place of some of its operands; `by` remembers.
int replaced(Draft& draft, int value, std::unordered_map<int, int>& by);

/// The loops that everything the stores need has around it.
AxisSet common_axes(const Draft& draft, const std::vector<size_t>& stores);

/// Join loops that always run together over consecutive elements: [batch, seq, 768] of whole arrays is one loop.
void join_axes(Draft& draft);

/// Give constant extents of loops names of the kernel's own.
void name_sizes(Draft& draft);

/// A size under a name of the kernel's own, where it is no constant.
Extent named_size(Draft& draft, const Extent& size);

/// Cut an axis into tiles of `size` elements: the axis now runs within a tile. Gives the new axis, which counts tiles.
int tile_axis(Draft& draft, int axis, const Extent& size);

/// Mark the axes that vector lanes run along. Loops in `grid` run around everything; one of them is cut into tiles when
/// lanes run along it, unless only what is inside may have lanes.
void choose_vector_axes(Draft& draft, AxisSet grid, bool inside_only = false);

}  // namespace tenon::schedule
