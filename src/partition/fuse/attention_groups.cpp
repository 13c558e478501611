// A row operator between two products: scores, their softmax, and the weighted sum.
#include <fmt/format.h>

#include <algorithm>

#include "partition/fuse/strategies.h"

namespace tenon::partition {
namespace {

struct Between {
  std::vector<int> operators;  // both products, the row operator and the maps between; empty: it is not that
  std::string why;             // ... and why not
};

bool passes_on(Role role) { return role == Role::map || role == Role::row; }

/// From a row operator to the products on both of its sides, over maps that nobody else reads.
Between around(const SizedGraph& graph, int row) {
  Between found{.operators = {row}, .why = {}};
  for (int at = row;;) {
    int before = -1;
    for (const int producer : graph.producers(at)) {
      const int tensor = tensor_between(graph, producer, at);
      const bool same = graph.tensor(tensor).shape == graph.tensor(graph.op(row).writes[0]).shape;
      if (same && sole_reader(graph, producer) == at) {
        before = producer;
      }
    }
    if (before < 0) {
      return {{},
              fmt::format("nothing before `{}` is read by it alone and has the shape of the rows", graph.op(at).name)};
    }
    found.operators.push_back(before);
    if (graph.op(before).role == Role::product) {
      break;
    }
    if (!passes_on(graph.op(before).role)) {
      return {{}, fmt::format("`{}` before the rows is a {}", graph.op(before).name, name(graph.op(before).role))};
    }
    at = before;
  }
  for (int at = row;;) {
    const int next = sole_reader(graph, at);
    if (next < 0) {
      return {{}, fmt::format("the result of `{}` is not read by one operator alone", graph.op(at).name)};
    }
    found.operators.push_back(next);
    if (graph.op(next).role == Role::product) {
      return found;
    }
    if (!passes_on(graph.op(next).role)) {
      return {{}, fmt::format("`{}` behind the rows is a {}", graph.op(next).name, name(graph.op(next).role))};
    }
    at = next;
  }
}

}  // namespace

std::string refuses_attention(const Groups& groups, int producer, int reader) {
  const SizedGraph& graph = groups.graph();
  std::string why = fmt::format("neither `{}` nor `{}` is between two products with rows", graph.op(producer).name,
                                graph.op(reader).name);
  for (int row = 0; row < graph.size(); ++row) {
    if (graph.op(row).role != Role::row || graph.op(row).writes.size() != 1) {
      continue;
    }
    const Between found = around(graph, row);
    const auto lies = [&](int op) { return std::ranges::find(found.operators, op) != found.operators.end(); };
    if (lies(producer) && lies(reader)) {
      return "";
    }
    if (lies(producer) || lies(reader)) {
      why = fmt::format("`{}` lies between the products around `{}`, and `{}` does not",
                        graph.op(lies(producer) ? producer : reader).name, graph.op(row).name,
                        graph.op(lies(producer) ? reader : producer).name);
    } else if (row == producer || row == reader) {
      why = found.why;
    }
  }
  return why;
}

void join_attention(Groups& groups) {
  const SizedGraph& graph = groups.graph();
  for (int i = 0; i < graph.size(); ++i) {
    if (graph.op(i).role != Role::row || graph.op(i).writes.size() != 1) {
      continue;
    }
    for (const int op : around(graph, i).operators) {
      groups.join(i, op, "attention");
    }
  }
}

}  // namespace tenon::partition
