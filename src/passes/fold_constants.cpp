#include "passes/fold_constants.h"

#include <algorithm>

#include "base/refused.h"
#include "ops/make.h"
#include "passes/rewriting/dear_constants.h"
#include "passes/rewriting/known_work.h"
#include "passes/rewriting/repeated_constants.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/uniform.h"
#include "tenon/ops.h"

namespace tenon::passes {
namespace {

constexpr double kMostBytes = 1 << 20;
constexpr double kSmallBytes = 4096;  // up to here a result may be larger than what it is made of
constexpr double kMostGrowth = 4;

/// The bytes of the constant that `value` is, or is a rearrangement or repetition of; 0 for a counter; nothing when
/// it is not known.
std::optional<double> given_bytes(const Value& value) {
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
    const std::optional<double> known = given_bytes(operand);
    if (!known) {
      return false;
    }
    given += *known;
  }
  double made = 0;
  for (const Shape& shape : node.shapes) {
    made += known_bytes(shape);
  }
  if (node.as<Broadcast>() != nullptr) {
    return made <= given && made <= kMostBytes;  // repeating costs nothing where it is read
  }
  if (node.as<Iota>() != nullptr) {
    return node.shapes[0].rank() == 0 && node.as<Iota>()->start.is_constant();
  }
  return made <= kMostBytes && (made <= kSmallBytes || made <= kMostGrowth * given) && work(node) <= kMostKnownWork;
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
    return is_worth_it(node, operands) ? evaluated(node, operands) : fold_repeated(node, operands, is_worth_it);
  } catch (const Refused&) {
    return std::nullopt;  // it stays, to be reported where and when it happens
  }
}

Graph fold_constants(Graph graph) {
  DearConstants dear(graph);
  return rewrite(graph, [&](const Node& node, const std::vector<Value>& operands) {
    auto folded = fold_constant_node(node, operands);
    return folded ? std::move(folded) : dear.fold(node, operands);
  });
}

}  // namespace tenon::passes
