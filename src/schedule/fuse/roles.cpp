#include "schedule/fuse/roles.h"

#include <algorithm>

#include "base/fail.h"
#include "tenon/unsupported.h"

namespace tenon::schedule {
namespace {

bool is_view(const Node& node) { return as_view(node.op).has_value(); }

bool is_single(const Value& value) { return value.shape().element_count() == Extent(1); }

/// Whether there is a kernel does not depend on the form of convolutions.
ScheduleOptions without_winograd(ScheduleOptions options) {
  options.winograd = false;
  return options;
}

}  // namespace

/// Whether a map is a single number that a kernel can compute from inputs, constants and other such numbers alone: no
/// view between them has to be copied first.
bool Roles::is_number_of_leaves(const Node& node, MapPrograms& programs) const {
  const auto is_leaf = [&](const Value& operand) { return of(operand.node()) == NodeRole::leaf; };
  if (!node.as<Map>() || !is_single(Value(&node, 0)) || !std::ranges::all_of(find_operands(node), is_leaf)) {
    return false;
  }
  const auto is_loaded = [&](const Value& value) {
    return &value.node() != &node && (value.node().as<Input>() || value.node().as<Map>());
  };
  return std::holds_alternative<Nest>(
      build_nest({.outputs = {Value(&node, 0)}, .is_loaded = is_loaded, .options = options_}, programs));
}

NodeRole Roles::first_guess(const Node& node, MapPrograms& programs) const {
  // Numbers made of what is there from the start are cheaper to compute again than to fetch.
  if (is_number_of_leaves(node, programs)) {
    return NodeRole::folded;
  }
  return std::visit([]<class Kind>(const Kind&) { return kind_role<Kind>(); }, node.op);
}

std::vector<Value> Roles::find_operands(const Node& node) const {
  std::vector<Value> found;
  std::vector<Value> pending(node.inputs.rbegin(), node.inputs.rend());
  std::unordered_set<Value> seen;
  while (!pending.empty()) {
    const Value value = pending.back();
    pending.pop_back();
    if (!seen.insert(value).second) {
      continue;
    }
    if (of(value.node()) == NodeRole::folded) {
      pending.insert(pending.end(), value.node().inputs.rbegin(), value.node().inputs.rend());
    } else if (!value.node().as<Constant>()) {
      found.push_back(value);
    }
  }
  return found;
}

/// A folded value that somebody outside of kernels reads.
void Roles::store(const Value& value) {
  if (of(value.node()) != NodeRole::folded || as_strided_view(value)) {
    return;
  }
  if (!is_view(value.node())) {
    if (std::ranges::find(stored_folded_, value) == stored_folded_.end()) {
      stored_folded_.push_back(value);
    }
    return;
  }
  roles_[&value.node()] = NodeRole::loop;  // stored through the view by the kernel that makes its operand
}

/// What a step that is no loop reads is in memory.
void Roles::store_operands(const Node& node) {
  for (const Value& operand : node.inputs) {
    if (of(operand.node()) == NodeRole::folded && is_view(operand.node())) {
      roles_[&operand.node()] = NodeRole::loop;
    } else {
      store(operand);
    }
  }
}

/// What lies in one line can be seen under any other axes: an operand that a reshape cannot see goes to rows, with all
/// that it is a view of. Whether something did not lie so.
bool Roles::lay_in_rows(Value operand) {
  bool moved = storage_.lay_in_rows(operand);
  while (is_view(operand.node())) {
    operand = operand.node().inputs[0];
    moved = storage_.lay_in_rows(operand) || moved;
  }
  return moved;
}

/// Every loop alone must be a kernel. Where an operand that is folded into it is in the way, it goes to memory first.
void Roles::settle(const Node& node, MapPrograms& programs) {
  while (of(node) == NodeRole::loop) {
    const NestRequest request{.outputs = {Value(&node, 0)},
                              .is_loaded =
                                  [&](const Value& value) {
                                    return &value.node() != &node && of(value.node()) != NodeRole::folded &&
                                           !value.node().as<Constant>();
                                  },
                              .options = options_,
                              .storage = &storage_};
    const auto built = build_nest(request, programs);
    const auto* refusal = std::get_if<Refusal>(&built);
    if (!refusal) {
      break;
    }
    const Node* culprit = refusal->culprit ? &refusal->culprit.node() : nullptr;
    if (culprit && lay_in_rows(refusal->culprit)) {
      continue;
    }
    if (culprit && culprit != &node && of(*culprit) == NodeRole::folded) {
      roles_[culprit] = NodeRole::loop;
      reasons_[culprit] = refusal->why;
      settle(*culprit, programs);
      continue;
    }
    // With all of its operands in memory it is as simple as it can be.
    bool has_folded = false;
    for (const Value& operand : node.inputs) {
      if (of(operand.node()) == NodeRole::folded && !operand.node().as<Map>()) {
        has_folded = true;
        roles_[&operand.node()] = NodeRole::loop;
        settle(operand.node(), programs);
      }
    }
    if (!has_folded) {
      Unsupported error(fmt::format("{}: no kernel can be made of it: {}", op_name(node.op), refusal->why));
      if (!node.place.empty()) {
        error.note(fmt::format("at node \"{}\"", node.place));
      }
      throw std::move(error);
    }
  }
}

Roles::Roles(const Graph& graph, MapPrograms& programs, const ScheduleOptions& options)
    : options_(without_winograd(options)), storage_(options.layouts ? StorageOrders(graph) : StorageOrders()) {
  for (const Node* node : graph.nodes()) {
    roles_[node] = first_guess(*node, programs);
  }
  for (const Output& output : graph.outputs()) {
    store(output.value);
  }
  for (const Node* node : graph.nodes()) {
    if (of(*node) == NodeRole::alone) {
      store_operands(*node);
    }
  }
  for (const Node* node : graph.nodes()) {
    settle(*node, programs);
  }
  // A view that became a copy may stand before nodes that were looked at already.
  for (const Node* node : graph.nodes()) {
    operands_[node] = find_operands(*node);
  }
}

std::string Roles::reason(const Node& node) const {
  const auto found = reasons_.find(&node);
  return found == reasons_.end() ? "" : found->second;
}

std::optional<StridedView> as_strided_view(const Value& value) {
  // Walk to the base, then forward: each axis of a view has a stride in the base.
  std::vector<const Node*> views;
  Value base = value;
  while (is_view(base.node())) {
    views.push_back(&base.node());
    base = base.node().inputs[0];
  }
  if (!base.node().as<Input>()) {
    return std::nullopt;
  }
  StridedView result{.base = base, .offset = 0, .strides = {}};
  Extent stride = 1;
  for (int i = base.rank(); i-- > 0;) {
    result.strides.insert(result.strides.begin(), stride);
    stride *= base.extent(i);
  }
  for (size_t k = views.size(); k-- > 0;) {
    const Node& node = *views[k];
    const Shape& from = node.inputs[0].shape();
    const std::vector<Extent> old = result.strides;
    if (const auto* transpose = node.as<Transpose>()) {
      for (size_t i = 0; i < old.size(); ++i) {
        result.strides[i] = old[static_cast<size_t>(transpose->axes[i])];
      }
    } else if (const auto* slice = node.as<Slice>()) {
      for (size_t i = 0; i < old.size(); ++i) {
        result.offset += slice->start[i] * old[i];
        result.strides[i] = old[i] * slice->step[i];
      }
    } else if (node.as<Reshape>()) {
      // Only of what lies in one piece: then the strides are new.
      Extent expected = 1;
      for (size_t i = old.size(); i-- > 0;) {
        if (old[i] != expected && from.extent(static_cast<int>(i)) != Extent(1)) {
          return std::nullopt;
        }
        expected *= from.extent(static_cast<int>(i));
      }
      result.strides.assign(node.shapes[0].axes().size(), 1);
      Extent next = 1;
      for (size_t i = result.strides.size(); i-- > 0;) {
        result.strides[i] = next;
        next *= node.shapes[0].extent(static_cast<int>(i));
      }
    } else if (const auto* broadcast = node.as<Broadcast>()) {
      result.strides.assign(node.shapes[0].axes().size(), 0);
      for (size_t i = 0; i < old.size(); ++i) {
        const auto axis = static_cast<size_t>(broadcast->axes[i]);
        const Extent& size = from.extent(static_cast<int>(i));
        const bool same = size == node.shapes[0].extent(static_cast<int>(axis));
        result.strides[axis] = same ? old[i] : old[i] * min(size - 1, 1);
      }
    } else if (const auto* flip = node.as<Flip>()) {
      for (const int axis : flip->axes) {
        const auto i = static_cast<size_t>(axis);
        result.offset += old[i] * (from.extent(axis) - 1);
        result.strides[i] = -old[i];
      }
    } else {
      return std::nullopt;  // a pad has elements that are nowhere
    }
  }
  return result;
}

}  // namespace tenon::schedule
