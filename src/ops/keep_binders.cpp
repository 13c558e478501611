#include "ops/keep_binders.h"

#include <algorithm>

#include "ir/data_axes.h"
#include "ir/walk.h"
#include "tenon/ops.h"

namespace tenon {
namespace {

/// The values among `made` that bind a name which is needed and which nothing binds.
std::vector<Value> missing(const std::vector<Output>& outputs, const std::vector<Constraint>& relations,
                           const std::vector<Value>& made) {
  std::vector<Value> roots;
  for (const Output& output : outputs) {
    roots.push_back(output.value);
  }
  const std::vector<const Node*> nodes = topological_order(roots);
  const auto bound = binders(nodes);
  AxisNames needed;
  for (const Node* node : nodes) {
    needed.merge(needed_axes(*node));
  }
  std::vector<Value> result;
  for (const Value& value : made) {
    const std::string name = bound_axis(value.node());
    const auto speaks_of_it = [&](const Constraint& relation) { return mentions_any(relation, {name}); };
    if (!bound.contains(name) && (needed.contains(name) || std::ranges::any_of(relations, speaks_of_it))) {
      result.push_back(value);
    }
  }
  return result;
}

}  // namespace

void keep_binders(std::vector<Output>& outputs, const std::vector<Constraint>& relations,
                  const std::vector<Value>& made) {
  if (made.empty() || outputs.empty()) {
    return;
  }
  // What decides a size may itself need sizes.
  while (true) {
    std::vector<Value> tied = missing(outputs, relations, made);
    if (tied.empty()) {
      return;
    }
    tied.insert(tied.begin(), outputs[0].value);
    outputs[0].value = barrier(tied)[0];
  }
}

}  // namespace tenon
