// What constants alone decide and is dear to compute.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/node.h"
#include "passes/rewriting/users.h"

namespace tenon::passes {

/// Values that constants and counters decide, of one graph, operands before users. Such a value is computed once where
/// that costs more in every run than to read it, or where it is no larger than a constant that it takes the place of:
/// one that nothing else reads, or there would be two. All together they stay within a budget of bytes.
///   before: mul(x, sin(iota(f32[4096, 64])))          after: mul(x, {0, 0.84, 0.91, ...})
///   before: mul(x, add(iota(f32[4096, 64]), {1}))     after: the same
class DearConstants {
 public:
  explicit DearConstants(const Graph& graph) : users_(graph) {}

  /// What one node of the graph becomes on these operands; nothing where it stays.
  std::optional<std::vector<Value>> fold(const Node& node, const std::vector<Value>& operands);

 private:
  std::optional<double> cost(const Value& value);

  Users users_;
  std::unordered_map<Value, std::optional<double>> costs_;  // in additions; none: it is not known
  double bytes_left_ = 1 << 26;
};

}  // namespace tenon::passes
