#include "cli/explain/shared_bytes.h"

#include <algorithm>

#include "ir/node.h"

namespace tenon::cli {
namespace {

Extent bytes_of(const Value& value) {
  return value.shape().element_count() * static_cast<int64_t>(byte_size(value.dtype()));
}

/// What a view of all elements of an array is of: arrays that are broadcast, reshaped or transposed are loaded as they
/// are stored.
const Value& stored(const Value& value) {
  const Op& op = value.node().op;
  const bool is_of_all = std::holds_alternative<Broadcast>(op) || std::holds_alternative<Reshape>(op) ||
                         std::holds_alternative<Transpose>(op) || std::holds_alternative<Flip>(op);
  return is_of_all ? stored(value.node().inputs[0]) : value;
}

/// What the nodes load but do not make, each once; no numbers.
std::vector<Value> stored_operands(const Nodes& nodes) {
  std::vector<Value> result;
  for (const Node* node : nodes) {
    for (const Value& operand : node->inputs) {
      const Value& value = stored(operand);
      const auto* const constant = value.node().as<Constant>();
      const bool is_number = constant != nullptr && constant->value.size() <= 1;
      if (!nodes.contains(&value.node()) && !is_number && std::ranges::find(result, value) == result.end()) {
        result.push_back(value);
      }
    }
  }
  return result;
}

}  // namespace

Nodes placed_concats(const std::vector<schedule::FusionAttempt>& attempts) {
  Nodes placed;
  for (const schedule::FusionAttempt& attempt : attempts) {
    if (attempt.rule == schedule::kConcatRule && attempt.joined) {
      placed.insert(attempt.second[0]);
    }
  }
  return placed;
}

Extent bytes_between(const Nodes& from, const Nodes& to, const Nodes& placed, Nodes& through) {
  std::vector<Value> counted;
  Extent bytes = 0;
  for (const Node* reader : to) {
    std::vector<Value> pending(reader->inputs.begin(), reader->inputs.end());
    while (!pending.empty()) {
      const Value value = pending.back();
      pending.pop_back();
      if (from.contains(&value.node()) && std::ranges::find(counted, value) == counted.end()) {
        counted.push_back(value);
        bytes += 2 * bytes_of(value);
      } else if (as_view(value.node().op)) {
        pending.push_back(value.node().inputs[0]);
      } else if (placed.contains(&value.node())) {
        const std::vector<Value>& parts = value.node().inputs;
        pending.insert(pending.end(), parts.begin(), parts.end());
        if (std::ranges::any_of(parts, [&](const Value& part) { return from.contains(&part.node()); })) {
          through.insert(&value.node());
        }
      }
    }
  }
  return bytes;
}

Extent bytes_shared(const Nodes& first, const Nodes& second) {
  const std::vector<Value> of_first = stored_operands(first);
  Extent bytes = 0;
  for (const Value& value : stored_operands(second)) {
    if (std::ranges::find(of_first, value) != of_first.end()) {
      bytes += bytes_of(value);
    }
  }
  return bytes;
}

}  // namespace tenon::cli
