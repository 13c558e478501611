// Horizontal fusion: products of one input whose results are used together, as those of queries, keys and values, or
// the branches of an Inception block.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "partition/fuse/strategies.h"

namespace tenon::partition {
namespace {

/// Operators between branches and the place where they meet.
constexpr int kMostSteps = 8;
constexpr size_t kMostMet = 256;

/// What comes of an operator within a few steps.
std::unordered_set<int> after(const SizedGraph& graph, int op) {
  std::unordered_set<int> met;
  std::vector<int> now{op};
  for (int step = 0; step < kMostSteps && met.size() < kMostMet; ++step) {
    std::vector<int> next;
    for (const int each : now) {
      for (const int tensor : graph.op(each).writes) {
        for (const int reader : graph.tensor(tensor).readers) {
          if (met.insert(reader).second) {
            next.push_back(reader);
          }
        }
      }
    }
    now = std::move(next);
  }
  return met;
}

bool is_product_role(Role role) { return role == Role::product || role == Role::depthwise; }

bool meet(const SizedGraph& graph, int a, int b) {
  const std::unordered_set<int> x = after(graph, a);
  const std::unordered_set<int> y = after(graph, b);
  return std::ranges::any_of(x, [&](int op) { return y.contains(op); });
}

}  // namespace

std::string refuses_siblings(const Groups& groups, int a, int b) {
  const SizedGraph& graph = groups.graph();
  for (const int op : {a, b}) {
    if (!is_product_role(graph.op(op).role)) {
      return fmt::format("`{}` is a {}, not a product", graph.op(op).name, name(graph.op(op).role));
    }
  }
  const std::vector<int> of_a = activations(graph, a);
  const std::vector<int> of_b = activations(graph, b);
  if (std::ranges::find_first_of(of_a, of_b) == of_a.end()) {
    return fmt::format("`{}` and `{}` read no activation in common", graph.op(a).name, graph.op(b).name);
  }
  if (!meet(graph, a, b)) {
    return fmt::format("the results of `{}` and `{}` are not used together within {} steps", graph.op(a).name,
                       graph.op(b).name, kMostSteps);
  }
  if (!groups.same(a, b) && groups.would_circle(a, b)) {
    return fmt::format("`{}` and `{}` depend on each other through a third group", graph.op(a).name, graph.op(b).name);
  }
  return "";
}

std::string sibling_is_not_first(const Groups& groups, int a, int b) {
  const SizedGraph& graph = groups.graph();
  for (const int tensor : activations(graph, a)) {
    const std::vector<int>& readers = graph.tensor(tensor).readers;
    const auto first =
        std::ranges::find_if(readers, [&](int reader) { return is_product_role(graph.op(reader).role); });
    if (std::ranges::find(readers, b) == readers.end() || first == readers.end()) {
      continue;
    }
    for (const int op : {a, b}) {
      if (op == *first || groups.same(op, *first)) {
        continue;
      }
      const std::string why = refuses_siblings(groups, *first, op);
      return fmt::format(
          "products are joined with the first that reads what they share, which is `{}`, and `{}` is not: {}",
          graph.op(*first).name, graph.op(op).name, why.empty() ? "they would lie in a circle" : why);
    }
  }
  return fmt::format("`{}` and `{}` read no activation in common", graph.op(a).name, graph.op(b).name);
}

void join_siblings(Groups& groups) {
  const SizedGraph& graph = groups.graph();
  for (const SizedTensor& tensor : graph.tensors) {
    if (tensor.weight) {
      continue;
    }
    int first = -1;
    for (const int reader : tensor.readers) {
      if (!is_product_role(graph.op(reader).role)) {
        continue;
      }
      if (first < 0) {
        first = reader;
      } else if (refuses_siblings(groups, first, reader).empty()) {
        groups.join(first, reader, "horizontal");
      }
    }
  }
}

}  // namespace tenon::partition
