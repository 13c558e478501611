#include "onnx/import/size_condition.h"

#include "ir/node.h"

namespace tenon::importer {
namespace {

bool has_one_element(const Value& value) {
  return !value.shape().is_dynamic() && value.shape().element_count() == Extent(1);
}

/// lhs - rhs at these sizes.
std::optional<int64_t> difference(const SizeCondition& condition, const Bindings& sizes) {
  return number_at(condition.lhs - condition.rhs, sizes);
}

}  // namespace

std::optional<SizeCondition> size_condition(KnownValues& known, const Value& flag) {
  if (!has_one_element(flag)) {
    return {};
  }
  const Node& node = flag.node();
  if (node.as<Reshape>() || node.as<Broadcast>()) {
    return size_condition(known, node.inputs[0]);
  }
  const auto* op = node.as<Map>();
  if (op == nullptr) {
    return {};
  }
  std::vector<Judged> operands;
  std::vector<Dtype> dtypes;
  for (const Value& operand : node.inputs) {
    dtypes.push_back(operand.dtype());
    Judged& judged = operands.emplace_back();
    if (const std::optional<Elements>& elements = known.elements(operand); elements && elements->size() == 1) {
      judged.known = elements->front();
    } else {
      judged.condition = size_condition(known, operand);
    }
  }
  return map_condition(*op, dtypes, operands);
}

std::optional<int64_t> number_at(const Extent& extent, const Bindings& sizes) {
  for (const std::string& name : extent.names()) {
    if (!sizes.find(name)) {
      return {};
    }
  }
  return evaluate(extent, sizes);
}

std::optional<bool> evaluate(const SizeCondition& condition, const Bindings& sizes) {
  const std::optional<int64_t> apart = difference(condition, sizes);
  if (!apart) {
    return {};
  }
  const bool plain = condition.kind == SizeCondition::Kind::equal ? *apart == 0 : *apart < 0;
  return plain != condition.negated;
}

Constraint required(const SizeCondition& condition, bool holds, const Bindings& sizes) {
  const bool plain = holds != condition.negated;
  const Extent& a = condition.lhs;
  const Extent& b = condition.rhs;
  if (condition.kind == SizeCondition::Kind::less) {
    return plain ? Constraint{.kind = Constraint::Kind::at_least, .lhs = b, .rhs = a + 1}
                 : Constraint{.kind = Constraint::Kind::at_least, .lhs = a, .rhs = b};
  }
  if (plain) {
    return {.kind = Constraint::Kind::equal, .lhs = a, .rhs = b};
  }
  const bool is_less = difference(condition, sizes).value_or(1) < 0;
  return is_less ? Constraint{.kind = Constraint::Kind::at_least, .lhs = b, .rhs = a + 1}
                 : Constraint{.kind = Constraint::Kind::at_least, .lhs = a, .rhs = b + 1};
}

}  // namespace tenon::importer
