#include "passes/rewriting/dear_constants.h"

#include <algorithm>
#include <unordered_set>

#include "kernel/scalar/prim_cost.h"
#include "kernel/scalar/scalar_fn.h"
#include "kernel/scalar/scalar_program.h"
#include "passes/rewriting/known_work.h"
#include "passes/rewriting/uniform.h"
#include "tenon/error.h"
#include "tenon/ops.h"

namespace tenon::passes {
namespace {

constexpr double kMostBytes = 1 << 24;  // of one value
/// In additions for each element: the least that takes longer than to read it from memory, which other arrays need too.
constexpr double kDear = 10;

bool is_view(const Node& node) { return as_view(node.op).has_value(); }

/// Of the node alone, in additions. Views and counters are computed wherever they are read.
double own_cost(const Node& node) {
  if (is_view(node) || node.as<Iota>() != nullptr) {
    return 0;
  }
  const auto* map = node.as<Map>();
  if (map == nullptr) {
    return work(node);
  }
  std::vector<Dtype> dtypes;
  for (const Value& operand : node.inputs) {
    dtypes.push_back(operand.dtype());
  }
  double each = 0;
  for (const ScalarInstruction& step : flatten({instantiate(*map->fn, dtypes, map->dtype)}).code) {
    each += cost(step.prim, step.operand_dtype);
  }
  return each * known_elements(node.shapes[0]);
}

/// Whether the interpreter can be asked for it, if all of its operands are known. Composites wait until they have
/// become what they are made of.
bool may_be_known(const Node& node) {
  if (const auto* iota = node.as<Iota>(); iota != nullptr && !(iota->start.is_constant() && iota->step.is_constant())) {
    return false;
  }
  return node.as<Input>() == nullptr && node.as<Call>() == nullptr && node.constraints.empty() &&
         work(node) <= kMostKnownWork;
}

/// The work of evaluating these values and all that they are made of, each once.
double whole_work(const std::vector<Value>& values) {
  double total = 0;
  std::vector<const Node*> pending;
  std::unordered_set<const Node*> seen;
  const auto push = [&](const std::vector<Value>& some) {
    for (const Value& value : some) {
      if (value.node().as<Constant>() == nullptr && seen.insert(&value.node()).second) {
        pending.push_back(&value.node());
      }
    }
  };
  push(values);
  while (!pending.empty() && total <= kMostKnownWork) {
    const Node* node = pending.back();
    pending.pop_back();
    total += work(*node);
    push(node->inputs);
  }
  return total;
}

/// A constant under other axes is the same memory.
std::optional<std::vector<Value>> reshaped(const Node& node, const Value& operand) {
  const auto* known = operand.node().as<Constant>();
  if (known == nullptr || known_elements(node.shapes[0]) != known_elements(operand.shape())) {
    return std::nullopt;
  }
  std::vector<int64_t> dims;
  for (const Axis& axis : node.shapes[0].axes()) {
    dims.push_back(*axis.extent().constant());
  }
  const auto value = relabelled(constant(known->value.reshaped(dims)), node.shapes[0]);
  return value && value->node().as<Constant>() != nullptr ? std::optional(std::vector{*value}) : std::nullopt;
}

}  // namespace

/// What computing the value whole costs in every run; nothing where it is not known.
std::optional<double> DearConstants::cost(const Value& value) {
  if (value.node().as<Constant>() != nullptr) {
    return 0;
  }
  if (const auto found = costs_.find(value); found != costs_.end()) {
    return found->second;
  }
  std::optional<double> total;
  if (may_be_known(value.node())) {
    total = own_cost(value.node());
    for (const Value& operand : value.node().inputs) {
      const std::optional<double> each = cost(operand);
      total = total && each ? std::optional(*total + *each) : std::nullopt;
    }
  }
  costs_.emplace(value, total);
  return total;
}

std::optional<std::vector<Value>> DearConstants::fold(const Node& node, const std::vector<Value>& operands) {
  if (node.as<Constant>() != nullptr || !may_be_known(node)) {
    return std::nullopt;
  }
  if (node.as<Reshape>() != nullptr) {
    return reshaped(node, operands[0]);
  }
  if (is_view(node) || node.as<Iota>() != nullptr) {
    return std::nullopt;
  }
  double total = own_cost(node);
  double largest = 0;  // constant that it may take the place of
  for (size_t i = 0; i < operands.size(); ++i) {
    const Value& operand = operands[i];
    const std::optional<double> each = cost(operand);
    if (!each) {
      return std::nullopt;
    }
    total += *each;
    if (operand.node().as<Constant>() != nullptr && users_.is_sole(node.inputs[i].node())) {
      largest = std::max(largest, known_bytes(operand.shape()));
    }
  }
  double made = 0;
  double count = 0;
  for (const Shape& shape : node.shapes) {
    made += known_bytes(shape);
    count += known_elements(shape);
  }
  const bool is_dear = total >= kDear * count || made <= largest;
  if (!is_dear || made > std::min(kMostBytes, bytes_left_) || work(node) + whole_work(operands) > kMostKnownWork) {
    return std::nullopt;
  }
  auto folded = evaluated(node, operands);
  bytes_left_ -= folded ? made : 0;
  return folded;
}

}  // namespace tenon::passes
