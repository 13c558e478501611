#include "cli/explain/shared_bytes.h"

#include <algorithm>

#include "ir/node.h"

namespace tenon::cli {
namespace {

Extent bytes_of(const Value& value) {
  return value.shape().element_count() * static_cast<int64_t>(byte_size(value.dtype()));
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
  std::vector<Value> counted;
  Extent bytes = 0;
  for (const Node* one : first) {
    for (const Value& value : one->inputs) {
      const bool in_both = std::ranges::any_of(
          second, [&](const Node* other) { return std::ranges::find(other->inputs, value) != other->inputs.end(); });
      if (in_both && !value.node().as<Constant>() && std::ranges::find(counted, value) == counted.end()) {
        counted.push_back(value);
        bytes += bytes_of(value);
      }
    }
  }
  return bytes;
}

}  // namespace tenon::cli
