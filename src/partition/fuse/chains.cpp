// Strategies that follow one edge: an operator joins the group of what it reads, where nobody else reads that.
#include <fmt/format.h>

#include <algorithm>

#include "partition/fuse/strategies.h"

namespace tenon::partition {
namespace {

const std::string& name_of(const Groups& groups, int op) { return groups.graph().op(op).name; }

/// The rule that all of these share: an edge, one reader, one shape.
std::string refuses_edge(const Groups& groups, int producer, int reader, bool same_shape) {
  const SizedGraph& graph = groups.graph();
  const int tensor = tensor_between(graph, producer, reader);
  if (tensor < 0) {
    return fmt::format("`{}` does not read `{}`", name_of(groups, reader), name_of(groups, producer));
  }
  for (const int written : graph.op(producer).writes) {
    if (graph.tensor(written).output) {
      return fmt::format("the result of `{}` is an output of the model", name_of(groups, producer));
    }
  }
  if (sole_reader(graph, producer) != reader) {
    std::vector<std::string> readers;
    for (const int written : graph.op(producer).writes) {
      for (const int each : graph.tensor(written).readers) {
        readers.push_back(fmt::format("`{}`", name_of(groups, each)));
      }
    }
    return fmt::format("the result of `{}` has {} readers: {}", name_of(groups, producer), readers.size(),
                       fmt::join(readers, ", "));
  }
  const std::vector<int>& written = graph.op(reader).writes;
  if (same_shape && (written.size() != 1 || graph.tensor(tensor).shape != graph.tensor(written[0]).shape)) {
    return fmt::format("`{}` and `{}` give different shapes", name_of(groups, producer), name_of(groups, reader));
  }
  return "";
}

std::string is_not(const Groups& groups, int op, std::string_view wanted) {
  return fmt::format("`{}` is a {}, not a {}", name_of(groups, op), name(groups.graph().op(op).role), wanted);
}

using Refuses = std::string (*)(const Groups&, int, int);

/// Every reader, in order, to the first or the last producer that it may be joined to.
void join_edges(Groups& groups, Refuses refuses, std::string_view rule, bool all) {
  for (int reader = 0; reader < groups.graph().size(); ++reader) {
    std::vector<int> producers = groups.graph().producers(reader);
    std::ranges::sort(producers, std::greater());
    for (const int producer : producers) {
      if (refuses(groups, producer, reader).empty() && groups.join(producer, reader, rule) && !all) {
        break;
      }
    }
  }
}

bool has_role(const Groups& groups, int op, Role role) {
  return std::ranges::any_of(groups.members(op), [&](int each) { return groups.graph().op(each).role == role; });
}

}  // namespace

std::string refuses_chain(const Groups& groups, int producer, int reader) {
  const SizedGraph& graph = groups.graph();
  const Role first = graph.op(producer).role;
  if (graph.op(reader).role != Role::map) {
    return is_not(groups, reader, "map");
  }
  if (first != Role::product && first != Role::depthwise && first != Role::map) {
    return is_not(groups, producer, "product or map");
  }
  if (const size_t count = activations(graph, reader).size(); count != 1) {
    return fmt::format("`{}` reads {} activations; a chain has one (strategy residual joins such)",
                       name_of(groups, reader), count);
  }
  return refuses_edge(groups, producer, reader, true);
}

std::string refuses_residual(const Groups& groups, int producer, int reader) {
  const SizedGraph& graph = groups.graph();
  if (graph.op(reader).role != Role::map) {
    return is_not(groups, reader, "map");
  }
  if (graph.op(producer).role == Role::other) {
    return is_not(groups, producer, "branch whose results are written one by one");
  }
  if (activations(graph, reader).size() < 2) {
    return fmt::format("`{}` reads one activation: there is no second branch", name_of(groups, reader));
  }
  const std::string edge = refuses_edge(groups, producer, reader, true);
  if (!edge.empty()) {
    return edge;
  }
  const std::vector<int> producers = graph.producers(reader);
  for (const int other : producers) {
    if (other > producer && refuses_edge(groups, other, reader, true).empty()) {
      return fmt::format("`{}` is the branch before `{}`: it comes last", name_of(groups, other),
                         name_of(groups, reader));
    }
  }
  return "";
}

std::string refuses_elementwise(const Groups& groups, int producer, int reader) {
  const auto light = [&](int op) {
    const Role role = groups.graph().op(op).role;
    return role == Role::map || role == Role::row || role == Role::move || role == Role::gather;
  };
  for (const int op : {producer, reader}) {
    if (!light(op)) {
      return is_not(groups, op, "map, row, move or gather");
    }
  }
  if (groups.graph().op(producer).role != Role::map && groups.graph().op(reader).role != Role::map) {
    return fmt::format("neither `{}` nor `{}` is a map", name_of(groups, producer), name_of(groups, reader));
  }
  return refuses_edge(groups, producer, reader, true);
}

std::string refuses_depthwise(const Groups& groups, int producer, int reader) {
  if (groups.graph().op(reader).role != Role::product) {
    return is_not(groups, reader, "product");
  }
  if (!has_role(groups, producer, Role::depthwise) || has_role(groups, producer, Role::product)) {
    return fmt::format("the group of `{}` is no depthwise convolution with maps behind it", name_of(groups, producer));
  }
  return refuses_edge(groups, producer, reader, false);
}

std::string reader_is_taken(const Groups& groups, int producer, int reader) {
  const SizedGraph& graph = groups.graph();
  for (const int other : graph.producers(reader)) {
    if (other != producer && groups.same(other, reader)) {
      return fmt::format("`{}` is joined with `{}`, another of its operands", name_of(groups, reader),
                         name_of(groups, other));
    }
  }
  return "a third group stood between them when it tried, and was joined with one of them afterwards";
}

void join_chains(Groups& groups) { join_edges(groups, refuses_chain, "vertical", false); }
void join_residuals(Groups& groups) { join_edges(groups, refuses_residual, "residual", false); }
void join_elementwise(Groups& groups) { join_edges(groups, refuses_elementwise, "elementwise", true); }
void join_depthwise(Groups& groups) { join_edges(groups, refuses_depthwise, "depthwise", false); }

}  // namespace tenon::partition
