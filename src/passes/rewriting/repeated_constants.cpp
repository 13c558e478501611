#include "passes/rewriting/repeated_constants.h"

#include <algorithm>

#include "ops/make.h"
#include "passes/rewriting/known_work.h"
#include "tenon/ops.h"

namespace tenon::passes {
namespace {

/// A value that is `core` repeated: along these axes every element is the same, and the core has one.
struct Repeated {
  Value core;
  std::vector<bool> along;
};

/// A node on cores: what it gives is repeated along these axes.
struct OnCores {
  Op op;
  std::vector<Value> cores;
  std::vector<bool> along;
};
using Made = std::optional<OnCores>;

std::optional<Repeated> repeated(const Value& value) {
  const auto rank = static_cast<size_t>(value.rank());
  if (value.node().as<Constant>() != nullptr) {
    return Repeated{.core = value, .along = std::vector<bool>(rank, false)};
  }
  const auto* broadcast = value.node().as<Broadcast>();
  const auto* known = broadcast == nullptr ? nullptr : value.node().inputs[0].node().as<Constant>();
  if (known == nullptr || !std::ranges::is_sorted(broadcast->axes)) {
    return std::nullopt;
  }
  std::vector<int64_t> dims(rank, 1);
  std::vector<bool> along(rank, true);
  for (size_t i = 0; i < broadcast->axes.size(); ++i) {
    const auto axis = static_cast<size_t>(broadcast->axes[i]);
    const int64_t size = known->value.dims()[i];
    along[axis] = value.extent(broadcast->axes[i]) != Extent(size);
    dims[axis] = size;
  }
  return Repeated{.core = constant(known->value.reshaped(dims)), .along = std::move(along)};
}

/// The core with the full size along some axes that it is repeated along; empty where that is not known.
Value spread(const Repeated& of, const Shape& shape, const std::vector<bool>& keep) {
  std::vector<Axis> axes;
  Axes places;
  bool changes = false;
  for (size_t i = 0; i < of.along.size(); ++i) {
    const int axis = static_cast<int>(i);
    const bool whole = of.along[i] && !keep[i];
    if (whole && !shape.extent(axis).is_constant()) {
      return {};
    }
    axes.emplace_back(whole ? shape.extent(axis) : of.core.extent(axis));
    places.push_back(axis);
    changes |= whole;
  }
  return changes ? broadcast(of.core, axes, places) : of.core;
}

bool has_sizes(const Shape& shape, const std::vector<bool>& along) {
  for (size_t i = 0; i < along.size(); ++i) {
    if (!along[i] && !shape.extent(static_cast<int>(i)).is_constant()) {
      return false;
    }
  }
  return true;
}

/// Operands of one shape, each spread along the axes that not all are repeated along but for `whole`, which all need.
Made elementwise(const Node& node, const std::vector<Repeated>& in, const std::vector<int>& whole) {
  std::vector<bool> along(in[0].along.size(), true);
  for (const Repeated& each : in) {
    for (size_t i = 0; i < along.size(); ++i) {
      along[i] = along[i] && each.along[i];
    }
  }
  for (const int axis : whole) {
    along[static_cast<size_t>(axis)] = false;
  }
  OnCores made{.op = node.op, .cores = {}, .along = along};
  for (size_t i = 0; i < in.size(); ++i) {
    made.cores.push_back(spread(in[i], node.inputs[i].shape(), along));
    if (!made.cores.back()) {
      return std::nullopt;
    }
  }
  return made;
}

Made on_cores(const Map&, const Node& node, const std::vector<Repeated>& in) { return elementwise(node, in, {}); }
Made on_cores(const Concat& op, const Node& node, const std::vector<Repeated>& in) {
  return elementwise(node, in, {op.axis});
}

Made on_cores(const Reduce& op, const Node& node, const std::vector<Repeated>& in) {
  Made made = elementwise(node, in, op.axes);
  if (made) {
    std::vector<bool> left;
    for (int axis = 0; axis < static_cast<int>(made->along.size()); ++axis) {
      if (std::ranges::find(op.axes, axis) == op.axes.end()) {
        left.push_back(made->along[static_cast<size_t>(axis)]);
      }
    }
    made->along = std::move(left);
  }
  return made;
}

Made on_cores(const Transpose& op, const Node& node, const std::vector<Repeated>& in) {
  OnCores made{.op = node.op, .cores = {in[0].core}, .along = {}};
  for (const int axis : op.axes) {
    made.along.push_back(in[0].along[static_cast<size_t>(axis)]);
  }
  return made;
}

/// Of what is repeated already: both at once.
Made on_cores(const Broadcast& op, const Node& node, const std::vector<Repeated>& in) {
  if (node.inputs[0].node().as<Constant>() != nullptr) {
    return std::nullopt;
  }
  OnCores made{.op = {}, .cores = {in[0].core}, .along = std::vector<bool>(op.to.size(), true)};
  std::vector<Axis> to(op.to.size(), Axis(1));
  for (size_t i = 0; i < op.axes.size(); ++i) {
    const auto axis = static_cast<size_t>(op.axes[i]);
    const Axis& from = node.inputs[0].shape().axis(static_cast<int>(i));
    made.along[axis] = in[0].along[i] || from.extent() != op.to[axis].extent();
    to[axis] = Axis(in[0].core.extent(static_cast<int>(i)));
  }
  made.op = Broadcast{.to = std::move(to), .axes = op.axes};
  return made;
}

/// Axes of unknown size that are repeated along stay by themselves; those between them have as many elements before as
/// behind.
Made on_cores(const Reshape& op, const Node& node, const std::vector<Repeated>& in) {
  const Shape& from = node.inputs[0].shape();
  std::vector<bool> along = in[0].along;
  for (size_t i = 0; i < along.size(); ++i) {
    along[i] = along[i] && !from.extent(static_cast<int>(i)).is_constant();
  }
  std::vector<Axis> to;
  OnCores made{.op = {}, .cores = {spread(in[0], from, along)}, .along = {}};
  Extent before = 1;  // elements of the axes that are open on both sides
  Extent behind = 1;
  size_t next = 0;
  const auto take = [&](const Axis& axis) {
    behind = behind * axis.extent();
    to.push_back(axis);
    made.along.push_back(false);
  };
  for (size_t i = 0; i < along.size(); ++i) {
    const Extent& size = from.extent(static_cast<int>(i));
    if (!along[i]) {
      before = before * size;
      continue;
    }
    while (next < op.to.size() && !(before == behind && op.to[next].extent() == size)) {
      take(op.to[next++]);
    }
    if (next == op.to.size()) {
      return std::nullopt;
    }
    to.emplace_back(1);
    made.along.push_back(true);
    ++next;
    before = 1;
    behind = 1;
  }
  while (next < op.to.size()) {
    take(op.to[next++]);
  }
  made.op = Reshape{.to = std::move(to)};
  return before == behind ? Made(std::move(made)) : std::nullopt;
}

Made on_cores(const Slice& op, const Node& /*node*/, const std::vector<Repeated>& in) {
  Slice slice = op;
  for (size_t i = 0; i < in[0].along.size(); ++i) {
    if (in[0].along[i]) {
      slice.start[i] = 0;
      slice.size[i] = 1;
      slice.step[i] = 1;
    }
  }
  return OnCores{.op = std::move(slice), .cores = {in[0].core}, .along = in[0].along};
}

Made on_cores(const Contract& op, const Node& node, const std::vector<Repeated>& in) {
  std::vector<bool> keep_lhs = in[0].along;
  std::vector<bool> keep_rhs = in[1].along;
  for (size_t i = 0; i < op.lhs_contract.size(); ++i) {  // sums need all of it
    keep_lhs[static_cast<size_t>(op.lhs_contract[i])] = false;
    keep_rhs[static_cast<size_t>(op.rhs_contract[i])] = false;
  }
  OnCores made{.op = node.op, .cores = {}, .along = {}};
  for (size_t i = 0; i < op.lhs_batch.size(); ++i) {
    const auto lhs = static_cast<size_t>(op.lhs_batch[i]);
    const auto rhs = static_cast<size_t>(op.rhs_batch[i]);
    const bool both = keep_lhs[lhs] && keep_rhs[rhs];
    keep_lhs[lhs] = both;
    keep_rhs[rhs] = both;
    made.along.push_back(both);
  }
  const auto add_free = [&](const std::vector<bool>& along, const std::vector<int>& a, const std::vector<int>& b) {
    for (int axis = 0; axis < static_cast<int>(along.size()); ++axis) {
      if (std::ranges::find(a, axis) == a.end() && std::ranges::find(b, axis) == b.end()) {
        made.along.push_back(along[static_cast<size_t>(axis)]);
      }
    }
  };
  add_free(keep_lhs, op.lhs_batch, op.lhs_contract);
  add_free(keep_rhs, op.rhs_batch, op.rhs_contract);
  made.cores = {spread(in[0], node.inputs[0].shape(), keep_lhs), spread(in[1], node.inputs[1].shape(), keep_rhs)};
  return made.cores[0] && made.cores[1] ? Made(std::move(made)) : std::nullopt;
}

template <class Kind>
Made on_cores(const Kind&, const Node&, const std::vector<Repeated>&) {
  return std::nullopt;
}

}  // namespace

std::optional<std::vector<Value>> fold_repeated(const Node& node, const std::vector<Value>& operands,
                                                const IsWorthIt& is_worth_it) {
  if (operands.empty() || node.shapes.size() != 1 || !node.constraints.empty() ||
      has_sizes(node.shapes[0], std::vector<bool>(static_cast<size_t>(node.shapes[0].rank()), false))) {
    return std::nullopt;
  }
  std::vector<Repeated> in;
  for (const Value& operand : operands) {
    auto each = repeated(operand);
    if (!each) {
      return std::nullopt;
    }
    in.push_back(std::move(*each));
  }
  const Made made = std::visit([&](const auto& kind) { return on_cores(kind, node, in); }, node.op);
  if (!made || !has_sizes(node.shapes[0], made->along)) {
    return std::nullopt;
  }
  const Value core = make(made->op, made->cores);
  if (!is_worth_it(core.node(), made->cores)) {
    return std::nullopt;
  }
  const auto folded = evaluated(core.node(), made->cores);
  const auto* known = folded ? folded->front().node().as<Constant>() : nullptr;
  if (known == nullptr) {
    return std::nullopt;
  }
  std::vector<int64_t> dims;
  Axes places;
  for (int axis = 0; axis < core.rank(); ++axis) {
    if (!made->along[static_cast<size_t>(axis)]) {
      dims.push_back(known->value.dims()[static_cast<size_t>(axis)]);
      places.push_back(axis);
    }
  }
  return std::vector{broadcast(constant(known->value.reshaped(std::move(dims))), node.shapes[0].axes(), places)};
}

}  // namespace tenon::passes
