#include "report/graph_json.h"

#include <optional>
#include <set>
#include <vector>

#include "ir/node.h"
#include "report/drawn_graph.h"

namespace tenon::report {
namespace {

Json node_json(const DrawnNode& drawn) {
  const Node& node = *drawn.node;
  const auto* in = node.as<Input>();
  const bool is_constant = node.as<Constant>() != nullptr;
  Json json = Json::object();
  json.set("kind", in != nullptr ? "input" : is_constant ? "constant" : "operator");
  json.set("label", in != nullptr ? std::string_view(in->name) : is_constant ? "constant" : op_name(node.op));
  if (drawn.step) {
    json.set("step", *drawn.step + 1);
  }
  if (!node.place.empty()) {
    json.set("place", node.place);
  }
  return json.set("shape", node.shapes[0].to_string());
}

/// Of each node the one that is shown for it. A broadcast only repeats what it reads, and a layer has many: arrows lead
/// past it, but where it is an output.
std::vector<size_t> shown_for(const DrawnGraph& graph) {
  std::vector<bool> is_output(graph.nodes.size());
  for (const std::optional<DrawnValue>& output : graph.outputs) {
    if (output) {
      is_output[output->from] = true;
    }
  }
  std::vector<size_t> shown;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const DrawnNode& node = graph.nodes[i];
    const bool passes = node.node->as<Broadcast>() != nullptr && node.operands.size() == 1 && !is_output[i];
    shown.push_back(passes ? shown[node.operands[0].from] : i);
  }
  return shown;
}

}  // namespace

Json graph_json(const compiler::Lowered& lowered, const Executable& executable) {
  const DrawnGraph graph = drawn_graph(lowered);
  const std::vector<size_t> shown = shown_for(graph);
  std::vector<size_t> place(graph.nodes.size());  // among those that are shown
  Json nodes = Json::array();
  Json edges = Json::array();
  size_t count = 0;
  for (size_t to = 0; to < graph.nodes.size(); ++to) {
    if (shown[to] != to) {
      continue;
    }
    place[to] = count++;
    nodes.push(node_json(graph.nodes[to]));
    std::set<size_t> seen;
    for (const DrawnValue& operand : graph.nodes[to].operands) {
      if (seen.insert(shown[operand.from]).second) {
        edges.push(Json::array().push(place[shown[operand.from]]).push(place[to]));
      }
    }
  }
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    nodes.push(Json::object()
                   .set("kind", "output")
                   .set("label", executable.outputs()[i].name)
                   .set("shape", executable.outputs()[i].shape.to_string()));
    if (graph.outputs[i]) {
      edges.push(Json::array().push(place[graph.outputs[i]->from]).push(count + i));
    }
  }
  return Json::object().set("nodes", nodes).set("edges", edges);
}

}  // namespace tenon::report
