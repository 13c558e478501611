#include "passes/rewriting/known_work.h"

#include <algorithm>
#include <limits>

#include "base/refused.h"
#include "ops/make.h"
#include "passes/rewriting/uniform.h"
#include "tenon/interpreter.h"
#include "tenon/ops.h"
#include "tenon/position_error.h"

namespace tenon::passes {
namespace {

constexpr double kEndless = std::numeric_limits<double>::infinity();

}  // namespace

double known_elements(const Shape& shape) {
  double count = 1;
  for (const Axis& axis : shape.axes()) {
    count *= axis.is_static() ? static_cast<double>(*axis.extent().constant()) : kEndless;
  }
  return count;
}

double known_bytes(const Shape& shape) { return known_elements(shape) * static_cast<double>(byte_size(shape.dtype())); }

double work(const Node& node) {
  double total = 0;
  for (const Value& value : node.inputs) {
    total += known_elements(value.shape());
  }
  for (const Shape& shape : node.shapes) {
    total += known_elements(shape);
  }
  if (const auto* contract = node.as<Contract>()) {
    double each = 1;
    for (const int axis : contract->lhs_contract) {
      each *= known_elements(Shape(Dtype::f32, {node.inputs[0].shape().axis(axis)}));
    }
    total += each * known_elements(node.shapes[0]);
  } else if (node.as<Conv>() != nullptr) {
    const Shape& w = node.inputs[1].shape();
    total += known_elements(node.shapes[0]) * known_elements(w) /
             std::max(1.0, known_elements(Shape(Dtype::f32, {w.axis(0)})));
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

namespace {

std::optional<std::vector<Array>> interpreted(const Node& node, const std::vector<Value>& operands) {
  try {
    std::vector<Output> outputs;
    for (const Value& value : make_all(node.op, operands)) {
      outputs.push_back({.name = std::to_string(outputs.size()), .value = value});
    }
    return interpret(Graph("known", {}, outputs), {});
  } catch (const Refused&) {
    return std::nullopt;
  } catch (const PositionError&) {
    return std::nullopt;
  }
}

}  // namespace

std::optional<std::vector<Value>> evaluated(const Node& node, const std::vector<Value>& operands) {
  const std::optional<std::vector<Array>> arrays = interpreted(node, operands);
  std::vector<Value> values;
  for (size_t i = 0; arrays && i < arrays->size(); ++i) {
    const auto value = relabelled(constant((*arrays)[i]), node.shapes[i]);
    if (!value) {
      return std::nullopt;
    }
    values.push_back(*value);
  }
  return arrays ? std::optional(std::move(values)) : std::nullopt;
}

}  // namespace tenon::passes
