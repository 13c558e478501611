#include "report/drawn_graph.h"

#include <algorithm>
#include <ranges>
#include <unordered_set>

#include "ir/node.h"

namespace tenon::report {

using compiler::LoweredSegment;

bool is_number(const Node& node) {
  if (const auto* constant = node.as<Constant>()) {
    return constant->value.size() <= 1;
  }
  return as_view(node.op) && is_number(node.inputs[0].node());
}

std::vector<const Node*> DrawnGraph::nodes() const {
  std::vector<const Node*> result;
  std::unordered_set<const Node*> seen;
  for (const LoweredSegment& segment : lowered_.segments) {
    std::ranges::copy_if(segment.graph.nodes(), std::back_inserter(result),
                         [&](const Node* node) { return seen.insert(node).second; });
  }
  return result;
}

const Value& DrawnGraph::output_of(const runtime::SegmentSource& from) const {
  const Graph& graph = lowered_.segments[static_cast<size_t>(from.segment)].graph;
  return graph.outputs()[static_cast<size_t>(from.index)].value;
}

Value DrawnGraph::source(const Value& value) const {
  if (value.node().as<Input>() == nullptr) {
    return value;
  }
  for (const LoweredSegment& segment : lowered_.segments) {
    const auto at = std::ranges::find(segment.graph.inputs(), value);
    if (at == segment.graph.inputs().end()) {
      continue;
    }
    const runtime::SegmentSource from = segment.inputs[static_cast<size_t>(at - segment.graph.inputs().begin())];
    return from.segment < 0 ? value : source(output_of(from));
  }
  return value;
}

std::vector<Value> DrawnGraph::outputs() const {
  std::vector<Value> result;
  std::ranges::transform(lowered_.outputs, std::back_inserter(result),
                         [&](const runtime::SegmentSource& from) { return source(output_of(from)); });
  return result;
}

std::unordered_map<const Node*, size_t> DrawnGraph::step_of() const {
  std::unordered_map<const Node*, size_t> result;
  const std::vector<compiler::LoweredStep> steps = lowered_.steps();
  for (size_t i = 0; i < steps.size(); ++i) {
    for (const Node* node : steps[i].nodes) {
      result.emplace(node, i);
    }
  }
  const std::unordered_map<const Node*, size_t> computed = result;
  const std::vector<const Node*> all = nodes();
  for (const Node* node : std::views::reverse(all)) {
    const auto user = result.find(node);
    if (user == result.end()) {
      continue;
    }
    const size_t step = user->second;
    for (const Value& operand : node->inputs) {
      const Node* const read = &operand.node();
      if (read->as<Input>() == nullptr && read->as<Constant>() == nullptr && !computed.contains(read)) {
        const auto [at, fresh] = result.emplace(read, step);
        at->second = std::min(at->second, step);
      }
    }
  }
  return result;
}

}  // namespace tenon::report
