#include "passes/fold_constants.h"

#include <algorithm>
#include <limits>

#include "ops/make.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/uniform.h"
#include "tenon/interpreter.h"
#include "tenon/ops.h"

namespace tenon::passes {
namespace {

constexpr double kMostBytes = 1 << 20;
constexpr double kSmallBytes = 4096;  // up to here a result may be larger than what it is made of
constexpr double kMostGrowth = 4;
constexpr double kMostWork = 1 << 24;  // elements read and written
constexpr double kEndless = std::numeric_limits<double>::infinity();

double elements(const Shape& shape) {
  double count = 1;
  for (const Axis& axis : shape.axes()) {
    count *= axis.is_static() ? static_cast<double>(*axis.extent().constant()) : kEndless;
  }
  return count;
}

double bytes(const Shape& shape) { return elements(shape) * static_cast<double>(byte_size(shape.dtype())); }

/// How many elements evaluating the node touches, more or less.
double work(const Node& node) {
  double total = 0;
  for (const Value& value : node.inputs) {
    total += elements(value.shape());
  }
  for (const Shape& shape : node.shapes) {
    total += elements(shape);
  }
  if (const auto* contract = node.as<Contract>()) {
    double each = 1;
    for (const int axis : contract->lhs_contract) {
      each *= elements(Shape(Dtype::f32, {node.inputs[0].shape().axis(axis)}));
    }
    total += each * elements(node.shapes[0]);
  } else if (node.as<Conv>() != nullptr) {
    const Shape& w = node.inputs[1].shape();
    total += elements(node.shapes[0]) * elements(w) / std::max(1.0, elements(Shape(Dtype::f32, {w.axis(0)})));
  } else if (const auto* window = node.as<Window>()) {
    for (const int64_t size : window->size) {
      total *= static_cast<double>(size);
    }
  } else if (const auto* call = node.as<Call>()) {
    for (const Node* inner : call->body.nodes()) {
      total += work(*inner);
    }
  } else if (node.as<Loop>() != nullptr || node.as<If>() != nullptr || node.as<Random>() != nullptr ||
             node.as<Barrier>() != nullptr) {
    total = kEndless;
  }
  return total;
}

/// The bytes of the constant that `value` is, or is a rearrangement or repetition of; 0 for a counter; nothing when
/// it is not known.
std::optional<double> known_bytes(const Value& value) {
  const Node* node = &value.node();
  while (node->as<Broadcast>() != nullptr || node->as<Reshape>() != nullptr) {
    node = &node->inputs[0].node();
  }
  if (const auto* known = node->as<Constant>()) {
    return static_cast<double>(known->value.byte_count());
  }
  return node->as<Iota>() != nullptr ? std::optional(0.0) : std::nullopt;
}

bool is_worth_it(const Node& node, const std::vector<Value>& operands) {
  double given = 0;
  for (const Value& operand : operands) {
    const std::optional<double> known = known_bytes(operand);
    if (!known) {
      return false;
    }
    given += *known;
  }
  double made = 0;
  for (const Shape& shape : node.shapes) {
    made += bytes(shape);
  }
  if (node.as<Broadcast>() != nullptr) {
    return made <= given && made <= kMostBytes;  // repeating costs nothing where it is read
  }
  if (node.as<Iota>() != nullptr) {
    return node.shapes[0].rank() == 0 && node.as<Iota>()->start.is_constant();
  }
  return made <= kMostBytes && (made <= kSmallBytes || made <= kMostGrowth * given) && work(node) <= kMostWork;
}

std::optional<std::vector<Value>> evaluated(const Node& node, const std::vector<Value>& operands) {
  std::vector<Output> outputs;
  for (const Value& value : make_all(node.op, operands)) {
    outputs.push_back({.name = std::to_string(outputs.size()), .value = value});
  }
  const std::vector<Array> arrays = interpret(Graph("known", {}, outputs), {});
  std::vector<Value> values;
  for (size_t i = 0; i < arrays.size(); ++i) {
    const auto value = relabelled(constant(arrays[i]), node.shapes[i]);
    if (!value) {
      return std::nullopt;
    }
    values.push_back(*value);
  }
  return values;
}

/// A map of single numbers is one number, however often it is repeated and even if that is not known yet.
std::optional<std::vector<Value>> folded_numbers(const Node& node, const std::vector<Value>& operands) {
  const auto is_constant = [](const Value& value) { return value.node().as<Constant>() != nullptr; };
  if (node.as<Map>() == nullptr || !node.constraints.empty() || std::ranges::all_of(operands, is_constant)) {
    return std::nullopt;
  }
  std::vector<Value> numbers;
  for (const Value& operand : operands) {
    const std::optional<Value> number = uniform_constant(operand);
    if (!number) {
      return std::nullopt;
    }
    numbers.push_back(*number);
  }
  const Value result = make(node.op, numbers);
  const auto number = evaluated(result.node(), numbers);
  return number ? std::optional(std::vector{broadcast(number->front(), node.shapes[0].axes(), {})}) : std::nullopt;
}

std::optional<std::vector<Value>> chosen_body(const If& node, const std::vector<Value>& operands) {
  const std::optional<double> condition = uniform_number(operands[0]);
  if (!condition) {
    return std::nullopt;
  }
  return inline_graph(*condition != 0 ? node.then_body : node.else_body, {operands.begin() + 1, operands.end()});
}

}  // namespace

std::optional<std::vector<Value>> fold_constant_node(const Node& node, const std::vector<Value>& operands) {
  if (node.as<Constant>() != nullptr || node.as<Input>() != nullptr) {
    return std::nullopt;
  }
  if (const auto* branch = node.as<If>()) {
    return chosen_body(*branch, operands);
  }
  try {
    if (auto numbers = folded_numbers(node, operands)) {
      return numbers;
    }
    return is_worth_it(node, operands) ? evaluated(node, operands) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;  // it stays, to be reported where and when it happens
  }
}

Graph fold_constants(Graph graph) { return rewrite(graph, fold_constant_node); }

}  // namespace tenon::passes
