#include "report/drawn_graph.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "ir/node.h"

namespace tenon::report {
namespace {

using compiler::LoweredSegment;

class Drawing {
 public:
  explicit Drawing(const compiler::Lowered& lowered) : lowered_(lowered), steps_(lowered.steps()) {
    for (size_t i = 0; i < steps_.size(); ++i) {
      for (const Node* node : steps_[i].nodes) {
        first_.emplace(node, i);
      }
    }
    for (const LoweredSegment& segment : lowered_.segments) {
      for (const Node* node : segment.graph.nodes()) {
        order_.emplace(node, order_.size());
      }
    }
  }

  DrawnGraph draw() {
    for (const LoweredSegment& segment : lowered_.segments) {
      for (const Value& input : segment.graph.inputs()) {
        // What a segment reads of an earlier one is drawn there.
        if (source(input) == input) {
          place(input.node(), {});
        }
      }
    }
    for (size_t i = 0; i < steps_.size(); ++i) {
      std::vector<const Node*> nodes = steps_[i].nodes;
      std::ranges::sort(nodes, {}, [&](const Node* node) { return order_.at(node); });
      for (const Node* node : nodes) {
        place(*node, i);
      }
    }
    for (const runtime::SegmentSource& from : lowered_.outputs) {
      result_.outputs.push_back(read(output_of(from), {}));
    }
    return std::move(result_);
  }

 private:
  const Value& output_of(const runtime::SegmentSource& from) const {
    const Graph& graph = lowered_.segments[static_cast<size_t>(from.segment)].graph;
    return graph.outputs()[static_cast<size_t>(from.index)].value;
  }

  /// The value that an input of a segment stands for: what an earlier segment computes. Others are themselves.
  Value source(const Value& value) const {
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

  bool computes(size_t step, const Node& node) const {
    return std::ranges::find(steps_[step].nodes, &node) != steps_[step].nodes.end();
  }

  /// A value where it is read: in a step, or by an output.
  std::optional<DrawnValue> read(const Value& value, std::optional<size_t> reader) {
    const Value from = source(value);
    const Node& node = from.node();
    if (is_number(node)) {
      return std::nullopt;
    }
    std::optional<size_t> step = reader;
    if (node.as<Input>() != nullptr || node.as<Constant>() != nullptr) {
      step.reset();
    } else if (const auto first = first_.find(&node); first != first_.end()) {
      step = reader && computes(*reader, node) ? *reader : first->second;
    }
    return DrawnValue{.from = place(node, step), .value = value};
  }

  size_t place(const Node& node, std::optional<size_t> step) {
    const std::pair key(&node, step);
    if (const auto known = places_.find(key); known != places_.end()) {
      return known->second;
    }
    DrawnNode drawn{.node = &node, .step = step};
    for (const Value& operand : node.inputs) {
      if (std::optional<DrawnValue> value = read(operand, step)) {
        drawn.operands.push_back(*std::move(value));
      }
    }
    places_.emplace(key, result_.nodes.size());
    result_.nodes.push_back(std::move(drawn));
    return result_.nodes.size() - 1;
  }

  const compiler::Lowered& lowered_;
  std::vector<compiler::LoweredStep> steps_;
  std::unordered_map<const Node*, size_t> first_;  // of the steps that compute it
  std::unordered_map<const Node*, size_t> order_;
  std::map<std::pair<const Node*, std::optional<size_t>>, size_t> places_;
  DrawnGraph result_;
};

}  // namespace

bool is_number(const Node& node) {
  if (const auto* constant = node.as<Constant>()) {
    return constant->value.size() <= 1;
  }
  return as_view(node.op) && is_number(node.inputs[0].node());
}

DrawnGraph drawn_graph(const compiler::Lowered& lowered) { return Drawing(lowered).draw(); }

}  // namespace tenon::report
