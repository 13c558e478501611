#include "cli/explain/picture.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/node.h"
#include "report/drawn_graph.h"

namespace tenon::cli {
namespace {

constexpr const char* kHullColours[] = {"#e8f0fe", "#e6f4ea", "#fef7e0", "#fce8e6", "#f3e8fd", "#e4f7fb"};

std::string dot_escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    result += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
  }
  return result;
}

class DotWriter {
 public:
  DotWriter(const compiler::Lowered& lowered, const std::vector<PipelineReport>& pipelines)
      : graph_(lowered), pipelines_(pipelines), step_of_(graph_.step_of()) {
    for (const Node* node : graph_.nodes()) {
      // What a segment reads of an earlier one is drawn there.
      if (&graph_.source(Value(node, 0)).node() == node) {
        nodes_.push_back(node);
        ids_.emplace(node, ids_.size());
      }
    }
  }

  std::string write(const Executable& executable) {
    text_ = fmt::format(
        "digraph \"{}\" {{\n"
        "  node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=\"Helvetica\", fontsize=11, "
        "margin=\"0.08,0.04\", height=0.3];\n"
        "  edge [fontname=\"Helvetica\", fontsize=9, color=\"#5f6368\", arrowsize=0.6];\n"
        "  graph [fontname=\"Helvetica\", fontsize=11];\n",
        dot_escaped(executable.name()));
    for (const Node* node : nodes_) {
      if (!step_of_.contains(node)) {
        text_ += "  " + box(*node);
      }
    }
    for (size_t i = 0; i < executable.steps().size(); ++i) {
      hull(i, executable.steps()[i]);
    }
    for (const Node* node : nodes_) {
      edges(*node);
    }
    const std::vector<Value> outputs = graph_.outputs();
    for (size_t i = 0; i < outputs.size(); ++i) {
      text_ += fmt::format("  out{} [label=\"{}\", shape=ellipse, fillcolor=\"#d2e3fc\"];\n  n{} -> out{}{};\n", i,
                           dot_escaped(executable.outputs()[i].name), ids_.at(&outputs[i].node()), i,
                           edge_label(outputs[i]));
    }
    return text_ + "}\n";
  }

 private:
  static std::string edge_label(const Value& value) {
    return fmt::format(" [label=\"{}\"]", dot_escaped(value.shape().to_string()));
  }

  std::string box(const Node& node) {
    const size_t id = ids_.at(&node);
    if (report::is_number(node)) {
      return "";
    }
    if (const auto* in = node.as<Input>()) {
      return fmt::format("n{} [label=\"{}\", shape=ellipse, fillcolor=\"#d2e3fc\"];\n", id, dot_escaped(in->name));
    }
    if (node.as<Constant>() != nullptr) {
      return fmt::format("n{} [label=\"{}\", shape=cylinder, fillcolor=\"#f1f3f4\"];\n", id,
                         dot_escaped(node.shapes[0].to_string()));
    }
    const auto step = step_of_.find(&node);
    const std::string in_step = step == step_of_.end() ? "" : fmt::format(", class=\"step{}\"", step->second + 1);
    return fmt::format("n{} [label=\"{}\", tooltip=\"{}\"{}];\n", id, dot_escaped(op_name(node.op)),
                       dot_escaped(node.place), in_step);
  }

  /// A cluster around the steps of a region is more than Graphviz can lay out, so each says it for itself.
  std::string region_of(size_t i, const StepReport& report) const {
    if (pipelines_.empty()) {
      return report.region_steps <= 1 ? ""
                                      : fmt::format(" (may run tile by tile in {} to {})", report.region_first + 1,
                                                    report.region_first + report.region_steps);
    }
    const PipelineReport* const tiles = tiles_of(pipelines_, i);
    return tiles == nullptr ? ""
                            : fmt::format(" ({} tiles of steps {} to {})", tiles->tiles, tiles->first_step + 1,
                                          tiles->first_step + tiles->steps);
  }

  void hull(size_t i, const StepReport& report) {
    const std::string region = region_of(i, report);
    text_ += fmt::format(
        "  subgraph cluster_{} {{\n    label=\"{}. {}{}\"; style=\"rounded,filled\"; color=\"{}\"; "
        "fillcolor=\"{}\"; "
        "URL=\"#step{}\"; class=\"step{}\"; tooltip=\"{}\";\n",
        i + 1, i + 1, name(report.kind), region, region.empty() ? "#9aa0a6" : "#1a73e8",
        kHullColours[i % std::size(kHullColours)], i + 1, i + 1, dot_escaped(report.boundary));
    for (const Node* node : nodes_) {
      const auto at = step_of_.find(node);
      if (at != step_of_.end() && at->second == i) {
        text_ += "    " + box(*node);
      }
    }
    text_ += "  }\n";
  }

  void edges(const Node& node) {
    if (report::is_number(node)) {
      return;
    }
    for (const Value& operand : node.inputs) {
      if (report::is_number(operand.node())) {
        continue;
      }
      const Node& producer = graph_.source(operand).node();
      // Shapes stand where memory is read and written; inside of a hull nothing is.
      const auto from = step_of_.find(&producer);
      const auto to = step_of_.find(&node);
      const bool inside = from != step_of_.end() && to != step_of_.end() && from->second == to->second;
      text_ += fmt::format("  n{} -> n{}{};\n", ids_.at(&producer), ids_.at(&node), inside ? "" : edge_label(operand));
    }
  }

  const report::DrawnGraph graph_;
  const std::vector<PipelineReport>& pipelines_;
  std::vector<const Node*> nodes_;
  std::unordered_map<const Node*, size_t> step_of_;
  std::unordered_map<const Node*, size_t> ids_;
  std::string text_;
};

}  // namespace

std::string picture_dot(const compiler::Lowered& lowered, const Executable& executable,
                        const std::vector<PipelineReport>& pipelines) {
  return DotWriter(lowered, pipelines).write(executable);
}

}  // namespace tenon::cli
