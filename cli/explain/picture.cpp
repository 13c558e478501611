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
      : graph_(report::drawn_graph(lowered)), pipelines_(pipelines) {}

  std::string write(const Executable& executable) {
    text_ = fmt::format(
        "digraph \"{}\" {{\n"
        "  node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=\"Helvetica\", fontsize=11, "
        "margin=\"0.08,0.04\", height=0.3];\n"
        "  edge [fontname=\"Helvetica\", fontsize=9, color=\"#5f6368\", arrowsize=0.6];\n"
        "  graph [fontname=\"Helvetica\", fontsize=11];\n",
        dot_escaped(executable.name()));
    for (size_t id = 0; id < graph_.nodes.size(); ++id) {
      if (!graph_.nodes[id].step) {
        text_ += "  " + box(id);
      }
    }
    for (size_t i = 0; i < executable.steps().size(); ++i) {
      hull(i, executable.steps()[i]);
    }
    for (size_t id = 0; id < graph_.nodes.size(); ++id) {
      edges(id);
    }
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      text_ += fmt::format("  out{} [label=\"{}\", shape=ellipse, fillcolor=\"#d2e3fc\"];\n", i,
                           dot_escaped(executable.outputs()[i].name));
      if (const auto& output = graph_.outputs[i]) {
        text_ += fmt::format("  n{} -> out{}{};\n", output->from, i, edge_label(output->value));
      }
    }
    return text_ + "}\n";
  }

 private:
  static std::string edge_label(const Value& value) {
    return fmt::format(" [label=\"{}\"]", dot_escaped(value.shape().to_string()));
  }

  std::string box(size_t id) const {
    const Node& node = *graph_.nodes[id].node;
    if (const auto* in = node.as<Input>()) {
      return fmt::format("n{} [label=\"{}\", shape=ellipse, fillcolor=\"#d2e3fc\"];\n", id, dot_escaped(in->name));
    }
    if (node.as<Constant>() != nullptr) {
      return fmt::format("n{} [label=\"{}\", shape=cylinder, fillcolor=\"#f1f3f4\"];\n", id,
                         dot_escaped(node.shapes[0].to_string()));
    }
    const std::optional<size_t> step = graph_.nodes[id].step;
    const std::string in_step = step ? fmt::format(", class=\"step{}\"", *step + 1) : "";
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
    for (size_t id = 0; id < graph_.nodes.size(); ++id) {
      if (graph_.nodes[id].step == i) {
        text_ += "    " + box(id);
      }
    }
    text_ += "  }\n";
  }

  void edges(size_t to) {
    for (const report::DrawnValue& operand : graph_.nodes[to].operands) {
      // Shapes stand where memory is read and written; inside of a hull nothing is.
      const std::optional<size_t> from = graph_.nodes[operand.from].step;
      const bool inside = from && from == graph_.nodes[to].step;
      text_ += fmt::format("  n{} -> n{}{};\n", operand.from, to, inside ? "" : edge_label(operand.value));
    }
  }

  const report::DrawnGraph graph_;
  const std::vector<PipelineReport>& pipelines_;
  std::string text_;
};

}  // namespace

std::string picture_dot(const compiler::Lowered& lowered, const Executable& executable,
                        const std::vector<PipelineReport>& pipelines) {
  return DotWriter(lowered, pipelines).write(executable);
}

}  // namespace tenon::cli
