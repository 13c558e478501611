#include "ops/builders/close_over.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/fail.h"
#include "base/refused.h"
#include "ir/node.h"
#include "ir/walk.h"

namespace tenon {
namespace {

/// Where a node belongs: to the body, to the outside, or (a constant) to both.
enum class Side : uint8_t { constant, outside, inside };

using Sides = std::unordered_map<const Node*, Side>;

Sides sides_of(const OpenBody& body, const std::vector<const Node*>& order) {
  Sides sides;
  for (const Value& parameter : body.parameters) {
    sides.emplace(&parameter.node(), Side::inside);
  }
  for (const Node* node : order) {
    Side side = node->as<Input>() != nullptr ? Side::outside : Side::constant;
    for (const Value& operand : node->inputs) {
      side = std::max(side, sides.at(&operand.node()));
    }
    sides.emplace(node, side);  // parameters keep theirs
  }
  return sides;
}

/// The values outside that the body uses, in order, without those known already.
void collect_captures(const OpenBody& body, const std::vector<const Node*>& order, std::vector<Value>& captures) {
  const Sides sides = sides_of(body, order);
  std::unordered_set<Value> known(captures.begin(), captures.end());
  const auto use = [&](const Value& value) {
    if (sides.at(&value.node()) == Side::outside && known.insert(value).second) {
      captures.push_back(value);
    }
  };
  for (const Node* node : order) {
    if (sides.at(node) == Side::inside) {
      std::ranges::for_each(node->inputs, use);
    }
  }
  std::ranges::for_each(body.outputs, use);
}

/// The body's outputs with `captures` replaced by inputs, which become further parameters.
Graph close(const OpenBody& body, const std::vector<const Node*>& order, const std::vector<Value>& captures) {
  std::vector<Value> inputs;
  std::unordered_map<Value, Value> replaced;
  for (const Value& parameter : body.parameters) {
    const auto* in = parameter.node().as<Input>();
    TENON_CHECK(in != nullptr, "a parameter of `{}` is no input", body.name);
    inputs.push_back(in->attached ? input(in->name, in->shape) : parameter);
    if (in->attached) {  // what it carries is not the graph's
      replaced.emplace(parameter, inputs.back());
    }
  }
  for (size_t i = 0; i < captures.size(); ++i) {
    inputs.push_back(input(fmt::format("capture{}", i), captures[i].shape()));
    replaced.emplace(captures[i], inputs.back());
  }
  const auto current = [&](const Value& value) {
    const auto found = replaced.find(value);
    return found == replaced.end() ? value : found->second;
  };
  for (const Node* node : order) {
    if (replaced.contains(Value(node, 0)) ||
        std::ranges::all_of(node->inputs, [&](const Value& value) { return current(value) == value; })) {
      continue;
    }
    std::vector<Value> operands;
    std::ranges::transform(node->inputs, std::back_inserter(operands), current);
    // Captures keep their shapes, so the node's own shapes and constraints are still what inference would give.
    const Place place(node->place);
    const Value copy = intern(node->op, std::move(operands), node->shapes, node->constraints);
    for (size_t i = 0; i < node->shapes.size(); ++i) {
      const int output = static_cast<int>(i);
      replaced.emplace(Value(node, output), Value(&copy.node(), output));
    }
  }
  std::vector<Output> outputs;
  for (size_t i = 0; i < body.outputs.size(); ++i) {
    outputs.push_back({fmt::format("y{}", i), current(body.outputs[i])});
  }
  return {body.name, std::move(inputs), std::move(outputs)};
}

}  // namespace

ClosedBodies close_over(const std::vector<OpenBody>& bodies) {
  ClosedBodies closed;
  std::vector<std::vector<const Node*>> orders;
  for (const OpenBody& body : bodies) {
    for (const Value& output : body.outputs) {
      if (!output) {
        refuse("body `{}` gives an empty Value", body.name);
      }
    }
    orders.push_back(topological_order(body.outputs));
    collect_captures(body, orders.back(), closed.captures);
  }
  for (size_t i = 0; i < bodies.size(); ++i) {
    closed.graphs.push_back(close(bodies[i], orders[i], closed.captures));
  }
  return closed;
}

}  // namespace tenon
