// How a tensor lies on the ranks of a mesh.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernel/scalar/reduce_op.h"
#include "mesh/parts/mesh_shape.h"
#include "tenon/bindings.h"
#include "tenon/shape.h"

namespace tenon::mesh {

/// A window that slides along an axis of `size` elements: position i reads elements i * stride - low and span - 1
/// behind it, as far as they are there.
struct Reach {
  int64_t stride = 1;
  Extent low, span, size;

  friend bool operator==(const Reach&, const Reach&) = default;
};

/// How a tensor axis is shared out: it is `parts` groups of `unit` elements, and each rank has whole groups, in the
/// order of ranks; the first ones have one more where the number of groups does not divide. Comparable: two cuts that
/// give every rank the same elements are equal wherever that is known without sizes.
///
/// With a reach, these are positions of a window, and a rank has all elements that its positions read, or that the one
/// behind them would where it has none: neighbours have some in common.
struct Cut {
  Extent parts, unit;
  std::optional<Reach> reach = {};

  /// Of an axis of parts * unit elements over `ranks`. Where the ranks divide the groups, there are `ranks` groups.
  static Cut of(const Extent& parts, const Extent& unit, int ranks);
  Extent size(int rank, int ranks) const;   // elements of a rank
  Extent begin(int rank, int ranks) const;  // the first of them

  friend bool operator==(const Cut&, const Cut&) = default;
};

/// Elements that a rank needs and does not have.
Extent missing(const Cut& have, const Cut& need, int rank, int ranks);

/// How one axis of the mesh holds a tensor: every rank along it has the whole; or a part of one tensor axis; or a
/// tensor of the full shape, and the whole is what `op` makes of those of all ranks.
struct Placement {
  enum class Kind : uint8_t { whole, split, partial };
  Kind kind = Kind::whole;
  int axis = -1;                // split
  Cut cut = {};                 // split
  ReduceOp op = ReduceOp::sum;  // partial

  static Placement split(int axis, Cut cut) { return {.kind = Kind::split, .axis = axis, .cut = std::move(cut)}; }
  static Placement partial(ReduceOp op) { return {.kind = Kind::partial, .op = op}; }
  bool is_whole() const { return kind == Kind::whole; }
  bool is_split() const { return kind == Kind::split; }
  bool is_partial() const { return kind == Kind::partial; }

  friend bool operator==(const Placement&, const Placement&) = default;
};

/// One placement for each axis of the mesh. Two axes of the mesh never split the same tensor axis.
using Layout = std::vector<Placement>;

Layout whole_layout(const MeshShape& mesh);
/// Whether an axis of the mesh other than `but` splits tensor axis `axis`.
bool is_split_elsewhere(const Layout& layout, int axis, size_t but);

/// The axes of what a rank holds. A split axis loses its name: the name stays the size of the whole.
std::vector<Axis> local_axes(const std::vector<Axis>& axes, const Layout& layout, const MeshShape& mesh,
                             const std::vector<int>& coordinates);
/// `axis 0 over data`, `sums over model`, `whole`.
std::string describe(const Layout& layout, const Shape& shape, const MeshShape& mesh);

}  // namespace tenon::mesh
