#include "scheduled.h"

#include <algorithm>
#include <ranges>
#include <unordered_set>

#include "compiler/pipeline.h"
#include "ir/walk.h"
#include "schedule/fuse/group.h"
#include "tenon/models.h"

namespace tenon::cli {
namespace {

/// Multiply-accumulates of one node: those of a graph that is this node over inputs.
Extent flops_of(const Node& node) {
  if (node.as<Contract>() == nullptr && node.as<Conv>() == nullptr && called_graphs(node).empty()) {
    return 0;
  }
  std::vector<Value> inputs;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    inputs.push_back(input("x" + std::to_string(i), node.inputs[i].shape()));
  }
  const Value alone = intern(node.op, inputs, node.shapes, node.constraints);
  return 2 * count_macs(Graph("alone", inputs, {{"y", alone}}));
}

void add_steps(const Graph& graph, const CompileOptions& options, std::vector<ScheduledStep>& to) {
  schedule::MapPrograms programs;
  const schedule::Roles roles(graph, programs);
  for (const schedule::GroupedStep& grouped : schedule::group(graph, roles, programs, {.fuse = options.fuse})) {
    ScheduledStep& step = to.emplace_back();
    if (grouped.alone != nullptr) {
      step.nodes.push_back(grouped.alone);
    }
    for (const schedule::Group& part : grouped.groups) {
      step.nodes.insert(step.nodes.end(), part.nodes.begin(), part.nodes.end());
    }
    for (const Node* node : step.nodes) {
      step.flops += flops_of(*node);
    }
  }
}

}  // namespace

std::vector<const Node*> ScheduledGraph::nodes() const {
  std::vector<const Node*> result;
  std::unordered_set<const Node*> seen;
  for (const GraphSegment& segment : parts.segments) {
    std::ranges::copy_if(segment.graph.nodes(), std::back_inserter(result),
                         [&](const Node* node) { return seen.insert(node).second; });
  }
  return result;
}

Value ScheduledGraph::source(const Value& value) const {
  if (value.node().as<Input>() == nullptr) {
    return value;
  }
  for (const GraphSegment& segment : parts.segments) {
    const auto at = std::ranges::find(segment.graph.inputs(), value);
    if (at == segment.graph.inputs().end()) {
      continue;
    }
    const SegmentSource from = segment.inputs[static_cast<size_t>(at - segment.graph.inputs().begin())];
    const auto& outputs = parts.segments[static_cast<size_t>(std::max(from.segment, 0))].graph.outputs();
    return from.segment < 0 ? value : source(outputs[static_cast<size_t>(from.index)].value);
  }
  return value;
}

std::vector<Value> ScheduledGraph::outputs() const {
  std::vector<Value> result;
  for (const SegmentSource& from : parts.outputs) {
    const auto& outputs = parts.segments[static_cast<size_t>(from.segment)].graph.outputs();
    result.push_back(source(outputs[static_cast<size_t>(from.index)].value));
  }
  return result;
}

std::unordered_map<const Node*, size_t> ScheduledGraph::step_of() const {
  std::unordered_map<const Node*, size_t> result;
  for (size_t i = 0; i < steps.size(); ++i) {
    for (const Node* node : steps[i].nodes) {
      result.emplace(node, i);
    }
  }
  const std::vector<const Node*> all = nodes();
  for (const Node* node : std::views::reverse(all)) {
    const auto user = result.find(node);
    if (user == result.end()) {
      continue;
    }
    const size_t step = user->second;
    for (const Value& operand : node->inputs) {
      if (operand.node().as<Input>() == nullptr && operand.node().as<Constant>() == nullptr) {
        result.emplace(&operand.node(), step);
      }
    }
  }
  return result;
}

ScheduledGraph scheduled(const Graph& graph, const CompileOptions& options) {
  std::vector<PassRun> runs;
  ScheduledGraph result{.parts = cut(optimize(graph, options, runs)), .steps = {}};
  for (const GraphSegment& segment : result.parts.segments) {
    add_steps(segment.graph, options, result.steps);
  }
  return result;
}

}  // namespace tenon::cli
