#include "mesh/split/local_node.h"

#include <algorithm>
#include <utility>

#include "base/fail.h"
#include "mesh/split/body_ways.h"
#include "ops/make.h"
#include "tenon/elementwise.h"
#include "tenon/ops.h"

namespace tenon::mesh {
namespace {

/// The sizes of a rank, of axes that are split.
std::vector<Extent> local_sizes(const std::vector<Extent>& sizes, const Layout& result, const MeshShape& mesh,
                                const std::vector<int>& coordinates) {
  std::vector<Extent> local = sizes;
  for (size_t m = 0; m < result.size(); ++m) {
    if (result[m].is_split()) {
      local[static_cast<size_t>(result[m].axis)] = result[m].cut.size(coordinates[m], mesh.axes[m].size);
    }
  }
  return local;
}

/// Whether the extent is known to be at least 1.
bool is_positive(const Extent& extent) { return extent.is_constant() && *extent.constant() > 0; }

/// The first elements along an axis.
Value first_of(const Value& x, int axis, const Extent& size) {
  Slice slice{.start = std::vector<Extent>(static_cast<size_t>(x.rank()), 0),
              .size = {},
              .step = std::vector<int64_t>(static_cast<size_t>(x.rank()), 1)};
  for (int i = 0; i < x.rank(); ++i) {
    slice.size.push_back(i == axis ? size : x.extent(i));
  }
  return make(std::move(slice), {x});
}

class LocalMaker {
 public:
  LocalMaker(const Node& node, std::vector<Value> operands, const std::vector<Layout>& wanted,
             const std::vector<Layout>& results, const MeshShape& mesh, const std::vector<int>& coordinates)
      : node_(node),
        operands_(std::move(operands)),
        wanted_(wanted),
        results_(results),
        result_(results[0]),
        mesh_(mesh),
        coordinates_(coordinates) {}

  std::vector<Value> run() {
    return std::visit([&](const auto& op) { return make_it(op); }, node_.op);
  }

 private:
  template <class Kind>
  std::vector<Value> make_it(const Kind& op) {
    return make_all(op, operands_);
  }

  std::vector<Value> make_it(Reshape op) {
    op.to = local_axes(op.to, result_, mesh_, coordinates_);
    return make_all(std::move(op), operands_);
  }
  std::vector<Value> make_it(Broadcast op) {
    op.to = local_axes(op.to, result_, mesh_, coordinates_);
    return make_all(std::move(op), operands_);
  }
  std::vector<Value> make_it(Slice op) {
    op.size = local_sizes(op.size, result_, mesh_, coordinates_);
    return make_all(std::move(op), operands_);
  }
  std::vector<Value> make_it(Update op) {
    for (View& view : op.path) {
      if (auto* path = std::get_if<Slice>(&view)) {
        path->size = local_sizes(path->size, result_, mesh_, coordinates_);
      }
    }
    return make_all(std::move(op), operands_);
  }
  std::vector<Value> make_it(Loop op) {
    op.body = bodies_here()[0];
    return make_all(std::move(op), operands_);
  }
  std::vector<Value> make_it(If op) {
    std::vector<Graph> bodies = bodies_here();
    op.then_body = std::move(bodies[0]);
    op.else_body = std::move(bodies[1]);
    return make_all(std::move(op), operands_);
  }
  std::vector<Value> make_it(Window op) { return slide_all(std::move(op), 0); }
  std::vector<Value> make_it(Conv op) { return slide_all(std::move(op), 2); }

  /// Of a loop or a branch.
  std::vector<Graph> bodies_here() const {
    std::vector<Graph> bodies = local_bodies(node_, wanted_, results_, mesh_, coordinates_);
    TENON_CHECK(!bodies.empty(), "a body of {} needs an exchange", op_name(node_.op));
    return bodies;
  }

  /// `first` is the axis of the first entry of the operation's lists.
  template <class Kind>
  std::vector<Value> slide_all(Kind op, int first) {
    std::vector<std::pair<int, Extent>> too_many;  // axes, and the positions that there should be
    for (size_t m = 0; m < result_.size(); ++m) {
      const Placement& from = wanted_[0][m];
      if (!from.is_split() || !from.cut.reach) continue;
      const auto entry = static_cast<size_t>(from.axis - first);
      const int ranks = mesh_.axes[m].size;
      const Extent own = result_[m].cut.size(coordinates_[m], ranks);
      const Extent begin = result_[m].cut.begin(coordinates_[m], ranks);
      const Reach& reach = *from.cut.reach;
      // A rank without positions computes the one behind them, as a window needs elements, and drops it.
      const Extent positions = is_positive(own) ? own : max(own, 1);
      const Extent length = (positions - 1) * reach.stride + reach.span;
      const Extent before = begin * reach.stride - reach.low;
      op.low[entry] = min(max(-before, 0), length);
      op.high[entry] = length - op.low[entry] - from.cut.size(coordinates_[m], ranks);
      if (positions != own) too_many.emplace_back(from.axis, own);
    }
    std::vector<Value> made = make_all(std::move(op), operands_);
    for (const auto& [axis, own] : too_many) {
      made[0] = first_of(made[0], axis, own);
    }
    return made;
  }

  /// A table that is split along axes that are picked from: which positions are in this rank's part.
  struct Own {
    Value positions;  // along the part; another one is outside of it if it is outside of the whole, else `otherwise`
    Value is_inside;
  };

  Own own_positions(const Value& index, const Placement& table, size_t m, const Extent& whole,
                    const Extent& otherwise) const {
    const int ranks = mesh_.axes[m].size;
    const auto number = [](const Extent& extent) { return static_cast<double>(*extent.constant()); };
    const Extent begin = table.cut.begin(coordinates_[m], ranks), size = table.cut.size(coordinates_[m], ranks);
    const Value given = cast(index, i64);
    const Value position = select(lt(given, 0), add(given, number(whole)), given);
    const Value local = sub(position, number(begin));
    const Value is_inside = logical_and(ge(local, 0), lt(local, number(size)));
    const Value is_valid = logical_and(ge(position, 0), lt(position, number(whole)));
    return {select(is_inside, local, select(is_valid, number(otherwise), given)), is_inside};
  }

  /// `mask`, over positions, along those axes of `to` that come of positions: batch axes, which are the first in both,
  /// and those behind.
  static Value over_positions(const Value& mask, const std::vector<int>& index_batch, const Shape& to) {
    std::vector<int> order = index_batch;
    for (int i = 0; i < mask.rank(); ++i) {
      if (std::ranges::find(index_batch, i) == index_batch.end()) order.push_back(i);
    }
    std::vector<int> axes;
    for (int i = 0; i < mask.rank(); ++i) {
      axes.push_back(i);
    }
    const Value first = make(Transpose{.axes = order}, {mask});
    return make(Broadcast{.to = to.axes(), .axes = axes}, {first});
  }

  /// Calls `f` with each axis of the mesh along which the table is split where it is picked from, and the number of its
  /// operand with positions, of which `first_index` is the first.
  template <class F>
  void for_own(const std::vector<int>& axes, size_t first_index, const F& f) const {
    for (size_t m = 0; m < mesh_.axes.size(); ++m) {
      const Placement& table = wanted_[0][m];
      if (!table.is_split()) continue;
      const auto found = std::ranges::find(axes, table.axis);
      if (found != axes.end()) f(m, table, first_index + static_cast<size_t>(found - axes.begin()));
    }
  }

  std::vector<Value> make_it(const Gather& op) {
    std::vector<Value> masks;
    for_own(op.axes, 1, [&](size_t m, const Placement& table, size_t index) {
      const Own own = own_positions(operands_[index], table, m, node_.inputs[0].extent(table.axis), 0);
      operands_[index] = own.positions;
      masks.push_back(own.is_inside);
    });
    Value picked = make(op, operands_);
    for (const Value& mask : masks) {
      picked = select(over_positions(mask, op.index_batch, picked.shape()), picked, 0);
    }
    return {picked};
  }

  std::vector<Value> make_it(const Scatter& op) {
    // What other ranks write goes to a place behind the table, which is dropped, or, where it is added, is 0.
    std::vector<int> padded;
    const bool adds = op.op == ScatterOp::add && operands_[1].dtype() != Dtype::boolean;
    for_own(op.axes, 2, [&](size_t m, const Placement& table, size_t index) {
      const Extent size = table.cut.size(coordinates_[m], mesh_.axes[m].size);
      const Own own =
          own_positions(operands_[index], table, m, node_.inputs[0].extent(table.axis), adds ? Extent(0) : size);
      operands_[index] = own.positions;
      if (adds) {
        operands_[1] = select(over_positions(own.is_inside, op.index_batch, operands_[1].shape()), operands_[1], 0);
      } else {
        padded.push_back(table.axis);
      }
    });
    const Shape own = operands_[0].shape();
    for (const int axis : padded) {
      std::vector<Extent> low(static_cast<size_t>(own.rank()), 0), high = low;
      high[static_cast<size_t>(axis)] = 1;
      operands_[0] = pad(operands_[0], low, high);
    }
    Value written = make(op, operands_);
    for (const int axis : padded) {
      written = first_of(written, axis, own.extent(axis));
    }
    return {written};
  }

  const Node& node_;
  std::vector<Value> operands_;
  const std::vector<Layout>& wanted_;
  const std::vector<Layout>& results_;
  const Layout& result_;  // of the first
  const MeshShape& mesh_;
  const std::vector<int>& coordinates_;
};

}  // namespace

std::vector<Value> make_local(const Node& node, std::vector<Value> operands, const std::vector<Layout>& wanted,
                              const std::vector<Layout>& results, const MeshShape& mesh,
                              const std::vector<int>& coordinates) {
  return LocalMaker(node, std::move(operands), wanted, results, mesh, coordinates).run();
}

Sliding sliding(const Node& node, int axis) {
  if (const auto* window = node.as<Window>()) {
    const auto i = static_cast<size_t>(axis);
    return {.span = dilated(window->size[i], window->dilation[i]),
            .stride = window->stride[i],
            .low = window->low[i],
            .high = window->high[i]};
  }
  const auto* conv = node.as<Conv>();
  TENON_CHECK(conv != nullptr && axis >= 2, "nothing slides along axis {}", axis);
  const auto i = static_cast<size_t>(axis - 2);
  return {.span = dilated(node.inputs[1].extent(axis), conv->w_dilation[i]),
          .stride = conv->stride[i],
          .low = conv->low[i],
          .high = conv->high[i],
          .x_dilation = conv->x_dilation[i]};
}

}  // namespace tenon::mesh
