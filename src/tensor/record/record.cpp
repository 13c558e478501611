#include "tensor/record/record.h"

#include <algorithm>
#include <unordered_set>

#include "base/fail.h"
#include "base/refused.h"
#include "ir/unify_names.h"
#include "ir/walk.h"
#include "ops/make.h"
#include "shape/constraint_set.h"
#include "tenon/ops.h"
#include "tenon/realizations.h"
#include "tensor/record/leaf.h"
#include "tensor/record/symbols.h"
#include "tensor/record/user_lines.h"

namespace tenon::tensors {
namespace {

/// The value under numbers instead of symbols.
Value pinned(const Value& value) {
  std::vector<Axis> axes;
  for (int i = 0; i < value.rank(); ++i) {
    const auto size = size_of(value.extent(i));
    axes.push_back(size ? Axis(*size) : value.shape().axis(i));
  }
  return reshape(value, axes);
}

/// Whether the sizes are such that what was built between `operands` and `results` means something.
bool sizes_fit(const std::vector<Value>& results, std::span<const Tensor> operands) {
  std::unordered_set<const Node*> seen;
  for (const Tensor& operand : operands) {
    seen.insert(&Access::handle(operand).value().node());
  }
  std::vector<const Node*> work;
  for (const Value& result : results) {
    work.push_back(&result.node());
  }
  while (!work.empty()) {
    const Node* node = work.back();
    work.pop_back();
    if (node->as<Input>() != nullptr || !seen.insert(node).second) {
      continue;
    }
    if (!all_hold(*node)) {
      return false;
    }
    for (const Value& in : node->inputs) {
      work.push_back(&in.node());
    }
  }
  return true;
}

bool has_symbols(const Tensor& tensor) { return Access::handle(tensor).value().shape().is_dynamic(); }

std::vector<Value> build_values(std::span<const Tensor> operands,
                                const std::function<std::vector<Value>(Sizes)>& build) {
  const UnifyNames lenient;
  const bool symbolic = std::ranges::any_of(operands, has_symbols);
  try {
    std::vector<Value> results = build(Sizes::symbols);
    if (!symbolic || sizes_fit(results, operands)) {
      return results;
    }
  } catch (const Refused&) {
    if (!symbolic) {
      throw;
    }
  }
  std::vector<Value> results = build(Sizes::numbers);
  TENON_CHECK(sizes_fit(results, operands), "a builder took sizes that its own constraints refuse");
  return results;
}

int depth_above(std::span<const Tensor> operands) {
  int depth = 0;
  for (const Tensor& operand : operands) {
    depth = std::max(depth, Access::handle(operand).cell->depth);
  }
  return depth + 1;
}

/// The views on the way from `base` to `result`, first to last; nothing where there is no such way.
std::optional<std::vector<View>> views_between(const Value& base, const Value& result) {
  std::vector<View> path;
  const Value* at = &result;
  while (!(*at == base)) {
    std::optional<View> view = as_view(at->node().op);
    if (!view || std::holds_alternative<Pad>(*view)) {
      return {};
    }
    path.push_back(std::move(*view));
    at = &at->node().inputs[0];
  }
  std::ranges::reverse(path);
  return path;
}

}  // namespace

bool all_hold(const Node& node) {
  const auto hold = [](const std::vector<Constraint>& constraints) { return std::ranges::all_of(constraints, holds); };
  if (!hold(node.constraints)) {
    return false;
  }
  return std::ranges::all_of(called_graphs(node), [&](const Graph& body) { return hold(body.constraints().added()); });
}

bool& grad_mode() {
  thread_local bool enabled = true;
  return enabled;
}

Value read(const Tensor& tensor, Sizes sizes) {
  Handle& handle = Access::handle(tensor);
  const bool cut = handle.cell->tracked && (handle.detached || !grad_mode());
  const Value value = cut ? make_stand_in(handle.value()) : handle.value();
  return sizes == Sizes::numbers ? pinned(value) : value;
}

std::vector<Tensor> record(std::span<const Tensor> operands, const std::function<std::vector<Value>(Sizes)>& build) {
  if (depth_above(operands) > kMostPending) {
    limit_pending(operands);
  }
  const RecordingLine line;
  const std::vector<Value> values = build_values(operands, build);
  const bool tracked = grad_mode() && std::ranges::any_of(operands, is_tracked);
  std::vector<Tensor> results;
  for (const Value& value : values) {
    results.push_back(new_tensor(value, tracked && is_float(value.dtype()), depth_above(operands)));
  }
  return results;
}

std::vector<Tensor> record_views(const Tensor& base, const std::function<std::vector<Value>(const Value&)>& build) {
  const Handle& of = Access::handle(base);
  // The value itself, not a stand-in: the views hold for whatever the cell will be.
  const Value start = Access::handle(base).value();
  const RecordingLine line;
  const std::vector<Value> values =
      build_values({&base, 1}, [&](Sizes sizes) { return build(sizes == Sizes::numbers ? pinned(start) : start); });
  std::vector<Tensor> results;
  for (const Value& value : values) {
    const auto views = views_between(start, value);
    TENON_CHECK(views.has_value(), "{} is no view of its operand", op_name(value.node().op));
    auto handle = std::make_shared<Handle>();
    handle->cell = of.cell;
    handle->path = of.path;
    handle->detached = of.detached;
    handle->path.insert(handle->path.end(), views->begin(), views->end());
    Access::set_seen(*handle, value);
    results.emplace_back(std::move(handle));
  }
  return results;
}

void write(const Tensor& to, const Tensor& value) {
  Handle& handle = Access::handle(to);
  Cell& cell = *handle.cell;
  const RecordingLine line;
  const UnifyNames lenient;
  const bool passes_on = grad_mode() && !handle.detached;
  Value next = read(value);
  if (!passes_on && is_tracked(value)) {
    next = make_stand_in(next);
  }
  bool tracked = passes_on && is_tracked(value);
  if (!handle.path.empty()) {
    // What is not written keeps its gradients, whoever writes beside it.
    next = make(Update{handle.path}, {cell.value, next});
    tracked |= cell.tracked;
  }
  if (!passes_on && cell.wants_gradient) {
    // A new beginning: gradients are by what the tensor is from now on.
    next = make_stand_in(next);
    leaf_of(next.node())->wants_gradient = cell.weak_from_this();
    tracked = true;
  }
  if (!cell.written) {
    const Value before = resolve(cell.value);
    cell.origin = leaf_of(before.node()) != nullptr ? before : Value();
  }
  const int depth = std::max(cell.depth, Access::handle(value).cell->depth) + 1;
  set_value(cell, std::move(next));
  cell.tracked = tracked;
  cell.depth = depth;
  const Leaf* leaf = leaf_of(resolve(cell.value).node());
  set_written(cell, leaf == nullptr);  // elements that are there need not be computed
}

}  // namespace tenon::tensors
