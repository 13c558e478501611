#include "compiler/segments.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "base/fail.h"
#include "ir/data_axes.h"
#include "ir/unify_names.h"
#include "ops/make.h"
#include "tenon/ops.h"

namespace tenon::compiler {
namespace {

/// Read wherever it is needed: the inputs and constants of the whole.
bool is_leaf(const Node& node) { return node.as<Input>() != nullptr || node.as<Constant>() != nullptr; }

/// Cheaper to make again than to keep.
bool is_remade(const Node& node) { return as_view(node.op).has_value() || node.as<Iota>() != nullptr; }

/// What no model calls its inputs.
std::string between(size_t number) { return fmt::format("value {} between segments", number); }

/// Which segment each node is in. Of what is remade: the first in which it could be.
class SegmentOfNode {
 public:
  explicit SegmentOfNode(const Graph& graph) : graph_(graph), bound_(binders(graph.nodes())) {
    for (const Node* node : graph.nodes()) {
      place(*node);
    }
    for (int segment = 0; segment < last_; ++segment) {
      move_down(segment);
    }
  }

  int of(const Node& node) const { return at_.at(&node); }
  int count() const { return last_ + 1; }

 private:
  /// Behind what binds its names, not before what it reads.
  void place(const Node& node) {
    int first = 0;
    for (const Value& operand : node.inputs) {
      first = std::max(first, of(operand.node()));
    }
    for (const std::string& name : needed_axes(node)) {
      if (const auto binder = bound_.find(name); binder != bound_.end()) {
        first = std::max(first, of(*binder->second) + 1);
      }
    }
    at_[&node] = first;
    last_ = std::max(last_, first);
  }

  /// Nodes that nothing in this segment waits for, and that wait for nothing in it, go to the next: there they fuse
  /// with what reads them, and nothing is kept between the two.
  void move_down(int segment) {
    std::unordered_set<const Node*> stays;
    for (const Node* node : graph_.nodes()) {
      if (of(*node) == segment && !bound_axis(*node).empty()) {
        stays.insert(node);
      }
    }
    for (const Output& output : graph_.outputs()) {
      if (of(output.value.node()) == segment) {
        stays.insert(&output.value.node());
      }
    }
    for (size_t before = 0; before != stays.size();) {
      before = stays.size();
      add_operands(segment, stays);
      add_readers(segment, stays);
    }
    for (const Node* node : graph_.nodes()) {
      if (of(*node) == segment && !is_leaf(*node) && !stays.contains(node)) {
        at_[node] = segment + 1;
      }
    }
  }

  void add_operands(int segment, std::unordered_set<const Node*>& stays) const {
    for (auto node = graph_.nodes().rbegin(); node != graph_.nodes().rend(); ++node) {
      if (!stays.contains(*node)) {
        continue;
      }
      for (const Value& operand : (*node)->inputs) {
        if (of(operand.node()) == segment && !is_leaf(operand.node())) {
          stays.insert(&operand.node());
        }
      }
    }
  }

  void add_readers(int segment, std::unordered_set<const Node*>& stays) const {
    for (const Node* node : graph_.nodes()) {
      const auto is_here = [&](const Value& operand) { return stays.contains(&operand.node()); };
      if (of(*node) == segment && std::ranges::any_of(node->inputs, is_here)) {
        stays.insert(node);
      }
    }
  }

  const Graph& graph_;
  std::map<std::string, const Node*, std::less<>> bound_;
  std::unordered_map<const Node*, int> at_;
  int last_ = 0;
};

class Cutter {
 public:
  explicit Cutter(const Graph& graph) : graph_(graph), placement_(graph) {
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      input_numbers_.emplace(&graph.inputs()[i].node(), static_cast<int>(i));
    }
    drafts_.resize(static_cast<size_t>(placement_.count()));
  }

  SegmentedGraph run() {
    const UnifyNames lenient;
    SegmentedGraph result;
    // The last first: what it reads of earlier ones they must give.
    for (const Output& output : graph_.outputs()) {
      result.outputs.push_back(give(output.value, output.name));
    }
    for (int segment = placement_.count(); segment-- > 0;) {
      find_needed(segment);
    }
    for (int segment = 0; segment < placement_.count(); ++segment) {
      result.segments.push_back(build(segment));
    }
    return result;
  }

 private:
  struct Draft {
    std::vector<Value> outputs;  // of the whole graph
    std::vector<std::string> names;
    std::unordered_map<Value, int> numbers;
    std::unordered_set<const Node*> needed;
  };

  Draft& draft(int segment) { return drafts_[static_cast<size_t>(segment)]; }

  /// Have the segment that computes a value give it.
  runtime::SegmentSource give(const Value& value, const std::string& name = {}) {
    const int segment = placement_.of(value.node());
    Draft& from = draft(segment);
    const auto [known, is_new] = from.numbers.try_emplace(value, static_cast<int>(from.outputs.size()));
    if (is_new) {
      from.outputs.push_back(value);
      from.names.push_back(name);
    } else if (from.names[static_cast<size_t>(known->second)].empty()) {
      from.names[static_cast<size_t>(known->second)] = name;
    }
    return {.segment = segment, .index = known->second};
  }

  bool is_read_here(const Node& node, int segment) const {
    return !is_leaf(node) && !is_remade(node) && placement_.of(node) < segment;
  }

  /// The nodes that are made in a segment; what they read of earlier ones is given there.
  void find_needed(int segment) {
    Draft& here = draft(segment);
    for (const Value& output : here.outputs) {
      here.needed.insert(&output.node());
    }
    for (auto at = graph_.nodes().rbegin(); at != graph_.nodes().rend(); ++at) {
      const Node& node = **at;
      const bool binds = !bound_axis(node).empty() && placement_.of(node) == segment;
      if (binds) {
        give(Value(&node, 0));
        give(Value(&node, 1));
        here.needed.insert(&node);
      }
      if (!here.needed.contains(&node)) {
        continue;
      }
      for (const Value& operand : node.inputs) {
        if (is_read_here(operand.node(), segment)) {
          give(operand);
        } else {
          here.needed.insert(&operand.node());
        }
      }
    }
  }

  GraphSegment build(int segment) {
    const Draft& from = draft(segment);
    GraphSegment result;
    std::unordered_map<Value, Value> made;
    std::vector<Value> inputs;
    std::unordered_map<int, int> places;  // of inputs of the whole among those of the segment
    const auto add_input = [&](const Value& value, runtime::SegmentSource source, std::string name) {
      inputs.push_back(source.segment < 0 ? value : input(std::move(name), value.shape()));
      made.emplace(value, inputs.back());
      result.inputs.push_back(source);
    };
    const auto operand_of = [&](const Value& value) {
      if (!made.contains(value)) {
        TENON_CHECK(placement_.of(value.node()) < segment, "a segment reads what a later one computes");
        add_input(value, give(value), between(inputs.size()));
      }
      return made.at(value);
    };
    for (const Node* node : graph_.nodes()) {
      if (!from.needed.contains(node)) {
        continue;
      }
      if (const auto number = input_numbers_.find(node); number != input_numbers_.end()) {
        places.emplace(number->second, static_cast<int>(inputs.size()));
        add_input(Value(node, 0), {.segment = -1, .index = number->second}, {});
        continue;
      }
      std::vector<Value> operands;
      std::ranges::transform(node->inputs, std::back_inserter(operands), operand_of);
      const Place place(node->place);
      const std::vector<Value> values = make_all(bound_axis(*node).empty() ? node->op : Op(Positions{}), operands);
      for (size_t i = 0; i < values.size(); ++i) {
        made.emplace(Value(node, static_cast<int>(i)), values[i]);
      }
      if (const std::string name = bound_axis(*node); !name.empty()) {
        result.binds.push_back({.name = name,
                                .at_most = node->inputs[0].shape().element_count(),
                                .positions = from.numbers.at(Value(node, 0)),
                                .count = from.numbers.at(Value(node, 1)),
                                .place = node->place});
      }
    }
    std::vector<Output> outputs;
    for (size_t i = 0; i < from.outputs.size(); ++i) {
      const std::string& name = from.names[i];
      outputs.push_back({.name = name.empty() ? between(i) : name,
                         .value = made.at(from.outputs[i]),
                         .aliases = alias(name, places)});
    }
    result.graph = Graph(graph_.name(), std::move(inputs), std::move(outputs));
    return result;
  }

  /// The segment's number of the input whose memory an output of the whole takes over.
  int alias(const std::string& output, const std::unordered_map<int, int>& places) const {
    const auto declared = std::ranges::find(graph_.outputs(), output, &Output::name);
    const auto place = declared == graph_.outputs().end() ? places.end() : places.find(declared->aliases);
    return place == places.end() ? -1 : place->second;
  }

  const Graph& graph_;
  const SegmentOfNode placement_;
  std::unordered_map<const Node*, int> input_numbers_;
  std::vector<Draft> drafts_;
};

}  // namespace

SegmentedGraph cut(const Graph& graph) {
  if (!data_axes(graph).empty()) {
    return Cutter(graph).run();
  }
  SegmentedGraph whole{.segments = {{.graph = graph, .inputs = {}, .binds = {}}}, .outputs = {}};
  for (int i = 0; i < static_cast<int>(graph.inputs().size()); ++i) {
    whole.segments[0].inputs.push_back({.segment = -1, .index = i});
  }
  for (int i = 0; i < static_cast<int>(graph.outputs().size()); ++i) {
    whole.outputs.push_back({.segment = 0, .index = i});
  }
  return whole;
}

}  // namespace tenon::compiler
