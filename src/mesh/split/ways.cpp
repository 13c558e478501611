#include "mesh/split/ways.h"

#include <algorithm>
#include <optional>

#include "mesh/split/body_ways.h"
#include "mesh/split/local_node.h"
#include "mesh/split/reshape_ways.h"
#include "ops/axes.h"

namespace tenon::mesh {
namespace {

constexpr int kWhole = -1;

/// Whether every one of several ranks has an element of what is cut so.
bool gives_to_all(const Cut& cut, int ranks) {
  const auto parts = cut.parts.constant();
  const auto unit = cut.unit.constant();
  return ranks > 1 && parts && *parts >= ranks && unit && *unit > 0;
}

/// Whether elements along axis `i` are those of the operand, one by one.
bool keeps_axis(const Slice& op, const Shape& x, size_t i) {
  return op.start[i] == Extent(0) && op.step[i] == 1 && op.size[i] == x.axes()[i].extent();
}

/// Whether the function only adds or subtracts its operands, so that sums of parts may be made afterwards.
bool is_sum(const Map& map, const std::vector<Value>& operands) {
  std::vector<Dtype> dtypes;
  for (const Value& operand : operands) {
    dtypes.push_back(operand.dtype());
  }
  const Expr value = instantiate(*map.fn, dtypes, map.dtype);
  return (value->prim == Prim::add || value->prim == Prim::sub || value->prim == Prim::neg) &&
         std::ranges::all_of(value->operands, [](const Expr& each) { return each->prim == Prim::argument; });
}

class Finder {
 public:
  Finder(const Node& node, const std::vector<Placement>& now, int ranks) : node_(node), now_(now), ranks_(ranks) {}

  std::vector<Way> find() {
    std::visit([&](const auto& op) { visit(op); }, node_.op);
    return std::move(found_);
  }

 private:
  int rank_of(size_t operand) const { return node_.inputs[operand].rank(); }

  /// The cut that an operand has along the axis that the way needs of it, else the plain one.
  Cut cut_of(const std::vector<int>& axes) const {
    std::optional<Cut> plain;
    for (size_t i = 0; i < axes.size(); ++i) {
      if (axes[i] == kWhole) continue;
      if (now_[i].is_split() && now_[i].axis == axes[i]) return now_[i].cut;
      if (!plain) plain = Cut::of(node_.inputs[i].extent(axes[i]), 1, ranks_);
    }
    return *plain;
  }

  std::vector<Placement> placed(const std::vector<int>& axes, const Cut& cut) const {
    std::vector<Placement> result;
    for (const int axis : axes) {
      result.push_back(axis == kWhole ? Placement{} : Placement::split(axis, cut));
    }
    return result;
  }

  /// Operands split along these axes (or whole) give all results split along `result`.
  void add(const std::vector<int>& axes, int result) {
    const Cut cut = cut_of(axes);
    found_.push_back({placed(axes, cut), placed(std::vector<int>(node_.shapes.size(), result), cut)});
  }

  void add_partial(const std::vector<int>& axes, ReduceOp op) {
    found_.push_back({placed(axes, cut_of(axes)), {Placement::partial(op)}});
  }

  /// All operands along the same axis, which the results have too.
  void add_along(int axis) { add(std::vector<int>(node_.inputs.size(), axis), axis); }

  void add_all_but(int axis) {
    for (int i = 0; i < rank_of(0); ++i) {
      if (i != axis) add_along(i);
    }
  }

  // Kinds that have no ways: leaves, whose parts are cut from the whole; what depends on every position.
  void visit(const Input&) {}
  void visit(const Constant&) {}
  void visit(const Iota&) {}
  void visit(const Random&) {}
  void visit(const Call&) {}
  void visit(const If&) { found_ = body_ways(node_, now_, ranks_); }
  void visit(const Loop&) { found_ = body_ways(node_, now_, ranks_); }
  void visit(const Positions&) {}

  void visit(const Map& op) {
    // What is whole counts as a term that one rank has.
    const Placement sum = Placement::partial(ReduceOp::sum);
    const auto is_term = [&](const Placement& each) { return each == sum || each.is_whole(); };
    if (std::ranges::find(now_, sum) != now_.end() && std::ranges::all_of(now_, is_term) && is_sum(op, node_.inputs)) {
      found_.push_back({std::vector<Placement>(now_.size(), sum), {sum}});
    }
    for (int i = 0; i < node_.shapes[0].rank(); ++i) {
      add_along(i);
    }
  }

  void visit(const Barrier&) {
    if (std::ranges::none_of(now_, &Placement::is_partial)) found_.push_back({now_, now_});
  }

  void visit(const Broadcast& op) {
    for (size_t i = 0; i < op.axes.size(); ++i) {
      const auto to = static_cast<size_t>(op.axes[i]);
      if (node_.inputs[0].shape().axes()[i].extent() == op.to[to].extent()) add({static_cast<int>(i)}, op.axes[i]);
    }
  }

  void visit(const Transpose& op) {
    for (size_t i = 0; i < op.axes.size(); ++i) {
      add({op.axes[i]}, static_cast<int>(i));
    }
  }

  void visit(const Reshape&) { reshape_ways(node_.inputs[0].shape(), node_.shapes[0], now_[0], ranks_, found_); }

  void visit(const Slice& op) {
    for (size_t i = 0; i < op.size.size(); ++i) {
      if (keeps_axis(op, node_.inputs[0].shape(), i)) add_along(static_cast<int>(i));
    }
  }

  void visit(const Pad& op) {
    for (size_t i = 0; i < op.low.size(); ++i) {
      if (op.low[i] == Extent(0) && op.high[i] == Extent(0)) add_along(static_cast<int>(i));
    }
  }

  void visit(const Flip& op) {
    for (const int i : other_axes(rank_of(0), op.axes)) {
      add_along(i);
    }
  }

  void visit(const Concat& op) { add_all_but(op.axis); }
  void visit(const Sort& op) { add_all_but(op.axis); }
  void visit(const Scan& op) { add_all_but(op.axis); }

  void visit(const Reduce& op) {
    const std::vector<int> kept = other_axes(rank_of(0), op.axes);
    for (size_t i = 0; i < kept.size(); ++i) {
      add({kept[i]}, static_cast<int>(i));
    }
    for (const int axis : op.axes) {
      if (!is_arg(op.op)) add_partial({axis}, op.op);
    }
  }

  /// Positions of a window are shared out; neighbours send what those at the edges read.
  void add_sliding(int axis, const Sliding& window) {
    const Cut cut = Cut::of(node_.shapes[0].extent(axis), 1, ranks_);
    Cut read = cut;
    read.reach =
        Reach{.stride = window.stride, .low = window.low, .span = window.span, .size = node_.inputs[0].extent(axis)};
    std::vector<Placement> operands(now_.size());
    operands[0] = Placement::split(axis, read);
    found_.push_back({operands, {Placement::split(axis, cut)}});
  }

  void visit(const Window& op) {
    for (size_t i = 0; i < op.size.size(); ++i) {
      const bool is_plain = op.size[i] == 1 && op.stride[i] == 1 && op.low[i] == Extent(0) && op.high[i] == Extent(0);
      const auto axis = static_cast<int>(i);
      is_plain ? add_along(axis) : add_sliding(axis, sliding(node_, axis));
    }
  }

  void visit(const Contract& op) {
    for (size_t k = 0; k < op.lhs_batch.size(); ++k) {
      add({op.lhs_batch[k], op.rhs_batch[k]}, static_cast<int>(k));
    }
    auto next = static_cast<int>(op.lhs_batch.size());
    for (const int i : other_axes(rank_of(0), op.lhs_batch, op.lhs_contract)) {
      add({i, kWhole}, next++);
    }
    for (const int j : other_axes(rank_of(1), op.rhs_batch, op.rhs_contract)) {
      add({kWhole, j}, next++);
    }
    for (size_t k = 0; k < op.lhs_contract.size(); ++k) {
      add_partial({op.lhs_contract[k], op.rhs_contract[k]}, ReduceOp::sum);
    }
  }

  void visit(const Conv& op) {
    add({0, kWhole}, 0);
    for (size_t i = 0; i < op.stride.size(); ++i) {
      const int axis = static_cast<int>(i) + 2;
      const bool has_gaps = op.x_dilation[i] != 1 || !node_.inputs[1].extent(axis).is_constant();
      if (!has_gaps) add_sliding(axis, sliding(node_, axis));
    }
    if (op.groups != 1) return;
    add({kWhole, 0}, 1);
    add_partial({1, 1}, ReduceOp::sum);
  }

  /// x, `between` (the update of a scatter), then positions: which axes go together. `paired` is the axis of what is
  /// picked.
  template <class Add>
  void picking(const std::vector<int>& axes, const std::vector<int>& x_batch, const std::vector<int>& index_batch,
               size_t first_index, Add&& add_way) {
    const size_t indices = node_.inputs.size() - first_index;
    const auto operands = [&](int x, int index) {
      std::vector<int> result(first_index, x);
      result.insert(result.end(), indices, index);
      return result;
    };
    auto next = static_cast<int>(x_batch.size());
    for (size_t k = 0; k < x_batch.size(); ++k) {
      add_way(operands(x_batch[k], index_batch[k]), static_cast<int>(k));
    }
    for (const int i : other_axes(rank_of(first_index), index_batch)) {
      add_way(operands(kWhole, i), next++);
    }
    for (const int i : other_axes(rank_of(0), x_batch, axes)) {
      add_way(operands(i, kWhole), next++);
    }
  }

  /// Calls add_way with operands of which x is split along an axis that is picked from: each rank picks what it has.
  template <class Add>
  void picking_own(const std::vector<int>& axes, const std::vector<int>& index_batch, Add&& add_way) {
    if (!std::ranges::is_sorted(index_batch)) return;
    for (const int axis : axes) {
      std::vector<int> operands(now_.size(), kWhole);
      operands[0] = axis;
      if (gives_to_all(cut_of(operands), ranks_)) add_way(operands, axis);
    }
  }

  void visit(const Gather& op) {
    picking(op.axes, op.x_batch, op.index_batch, 1,
            [&](const std::vector<int>& operands, int picked) { add(operands, picked); });
    picking_own(op.axes, op.index_batch,
                [&](const std::vector<int>& operands, int) { add_partial(operands, ReduceOp::sum); });
  }

  void visit(const Scatter& op) {
    picking(op.axes, op.x_batch, op.index_batch, 2, [&](std::vector<int> operands, int picked) {
      operands[1] = picked;
      if (operands[0] != kWhole) {
        add(operands, operands[0]);
      } else if (op.op == ScatterOp::add && node_.inputs[0].dtype() != Dtype::boolean) {
        // Updates that are shared out meet in one place of x: each rank adds its own, and x is a term as they are.
        Way way{placed(operands, cut_of(operands)), {Placement::partial(ReduceOp::sum)}};
        way.operands[0] = Placement::partial(ReduceOp::sum);
        found_.push_back(std::move(way));
      }
    });
    picking_own(op.axes, op.index_batch, [&](const std::vector<int>& operands, int axis) { add(operands, axis); });
  }

  void visit(const Update& op) {
    for (int i = 0; i < rank_of(0); ++i) {
      Shape seen = node_.inputs[0].shape();
      const bool is_kept = std::ranges::all_of(op.path, [&](const View& view) {
        const auto* slice = std::get_if<Slice>(&view);
        if (slice == nullptr || !keeps_axis(*slice, seen, static_cast<size_t>(i))) return false;
        seen = infer_view(view, seen).shapes[0];
        return true;
      });
      if (is_kept) add_along(i);
    }
  }

  const Node& node_;
  const std::vector<Placement>& now_;
  int ranks_;
  std::vector<Way> found_;
};

}  // namespace

std::vector<Way> ways(const Node& node, const std::vector<Placement>& now, int ranks) {
  return Finder(node, now, ranks).find();
}

bool is_elementwise(const Node& node) {
  return node.as<Map>() != nullptr || node.as<Reshape>() != nullptr || node.as<Transpose>() != nullptr ||
         node.as<Broadcast>() != nullptr || node.as<Slice>() != nullptr || node.as<Pad>() != nullptr ||
         node.as<Flip>() != nullptr;
}

}  // namespace tenon::mesh
