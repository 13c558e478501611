#include "passes/merge_loops.h"

#include <algorithm>
#include <memory>

#include "ops/make.h"
#include "passes/rewriting/rewrite.h"

namespace tenon::passes {
namespace {

/// Loops that run as one, and where the outputs of each are among the outputs of that one.
struct Group {
  Loop loop;
  std::vector<Value> inputs;
  std::unordered_map<const Node*, std::vector<size_t>> places = {};
};

/// The body without what it stacks.
Graph carried_part(const Loop& loop) {
  const auto& outputs = loop.body.outputs();
  std::vector<Output> kept;
  for (int i = 0; i < loop.carried; ++i) {
    kept.push_back({.name = std::to_string(i), .value = outputs[static_cast<size_t>(i)].value});
  }
  return {"body", loop.body.inputs(), kept, loop.body.relations()};
}

bool run_alike(const Group& group, const Node& node) {
  const Loop& a = group.loop;
  const Loop& b = *node.as<Loop>();
  return group.inputs == node.inputs && a.trips == b.trips && a.carried == b.carried && a.scanned == b.scanned &&
         carried_part(a) == carried_part(b);
}

void join(Group& group, const Node& node) {
  const Loop& loop = *node.as<Loop>();
  // Over the same inputs, equal values are the same nodes.
  const std::vector<Value> values = inline_graph(loop.body, group.loop.body.inputs());
  std::vector<Output> outputs = group.loop.body.outputs();
  std::vector<size_t>& places = group.places[&node];
  for (size_t i = 0; i < values.size(); ++i) {
    const auto stacks = outputs.begin() + group.loop.carried;
    const auto at =
        i < static_cast<size_t>(loop.carried)
            ? outputs.begin() + static_cast<std::ptrdiff_t>(i)
            : std::find_if(stacks, outputs.end(), [&](const Output& out) { return out.value == values[i]; });
    places.push_back(static_cast<size_t>(at - outputs.begin()));
    if (at == outputs.end()) {
      std::string name = loop.body.outputs()[i].name;
      while (std::ranges::find(outputs, name, &Output::name) != outputs.end()) {
        name += '_';
      }
      outputs.push_back({.name = name, .value = values[i]});
    }
  }
  const Graph& body = group.loop.body;
  group.loop.body = Graph(body.name(), body.inputs(), outputs, body.relations());
}

/// The group of each loop that is not alone.
std::unordered_map<const Node*, std::shared_ptr<const Group>> find_groups(const Graph& graph) {
  std::vector<std::shared_ptr<Group>> groups;
  for (const Node* node : graph.nodes()) {
    const auto* loop = node->as<Loop>();
    if (loop == nullptr || loop->conditional) {
      continue;
    }
    auto at = std::ranges::find_if(groups, [&](const auto& group) { return run_alike(*group, *node); });
    if (at == groups.end()) {
      groups.push_back(std::make_shared<Group>(Group{.loop = *loop, .inputs = node->inputs}));
      at = groups.end() - 1;
    }
    join(**at, *node);
  }
  std::unordered_map<const Node*, std::shared_ptr<const Group>> result;
  for (const auto& group : groups) {
    for (const auto& [node, places] : group->places) {
      if (group->places.size() > 1) {
        result.emplace(node, group);
      }
    }
  }
  return result;
}

}  // namespace

Graph merge_loops(Graph graph) {
  const auto groups = find_groups(graph);
  if (groups.empty()) {
    return graph;
  }
  return rewrite(graph, [&](const Node& node, const std::vector<Value>& operands) -> std::optional<std::vector<Value>> {
    const auto found = groups.find(&node);
    if (found == groups.end()) {
      return std::nullopt;
    }
    const std::vector<Value> merged = make_all(found->second->loop, operands);
    std::vector<Value> values;
    for (const size_t place : found->second->places.at(&node)) {
      values.push_back(merged[place]);
    }
    return values;
  });
}

}  // namespace tenon::passes
