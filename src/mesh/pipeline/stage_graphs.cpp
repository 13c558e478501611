#include "mesh/pipeline/stage_graphs.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "base/fail.h"
#include "ir/node.h"
#include "ir/unify_names.h"
#include "ir/walk.h"
#include "mesh/split/ways.h"
#include "ops/make.h"
#include "ops/scalar/scalar_table.h"
#include "passes/autodiff/autodiff.h"
#include "passes/rewriting/rewrite.h"

namespace tenon::mesh {
namespace {

std::vector<Value> inputs_at(const Graph& graph, const std::vector<size_t>& places) {
  std::vector<Value> result;
  for (const size_t place : places) {
    result.push_back(graph.inputs()[place]);
  }
  return result;
}

Value sum_of(const Value& a, const Value& b) {
  return make(Map{.fn = &scalar_fn("add"), .dtype = a.dtype()}, {a, passes::conform(b, a.shape())});
}

/// Which values of forward backward takes as arrays.
class Keeper {
 public:
  explicit Keeper(const Graph& stage) : forward_(stage.nodes().begin(), stage.nodes().end()) {
    for (const Node* node : stage.nodes()) {
      if (is_leaf(*node) || (is_elementwise(*node) && costs_nothing(*node, 0))) at_hand_.insert(node);
    }
  }

  /// Goes from values of backward to those that it takes.
  void follow(const std::vector<Value>& roots) {
    std::vector<Value> open = roots;
    while (!open.empty()) {
      const Value value = std::move(open.back());
      open.pop_back();
      if (!seen_.insert(value).second || is_leaf(value.node())) continue;
      const bool is_kept =
          forward_.contains(&value.node()) && !(is_elementwise(value.node()) && costs_nothing(value.node(), 1));
      if (is_kept) {
        kept.push_back(value);
        continue;
      }
      for (const Value& operand : value.node().inputs) {
        open.push_back(operand);
      }
    }
  }

  std::vector<Value> kept;

 private:
  /// There in both directions, or made anew.
  static bool is_leaf(const Node& node) {
    return node.as<Input>() != nullptr || node.as<Constant>() != nullptr || node.as<Iota>() != nullptr;
  }

  /// At most so many operands are arrays that would have to be kept.
  bool costs_nothing(const Node& node, int most) const {
    return std::ranges::count_if(node.inputs, [&](const Value& operand) {
             return operand.rank() > 0 && !at_hand_.contains(&operand.node());
           }) <= most;
  }

  std::unordered_set<const Node*> forward_;
  std::unordered_set<const Node*> at_hand_;
  std::unordered_set<Value> seen_;
};

/// What is computed back from gradients of outputs.
struct Backward {
  std::vector<Value> gradients;  // inputs
  std::vector<Value> sums;       // inputs
  std::vector<Output> outputs;   // aliases count from the first of `sums`
};

}  // namespace

std::vector<bool> reached_outputs(const Graph& stage, const std::vector<size_t>& inputs) {
  const passes::Reach reach(stage.nodes(), inputs_at(stage, inputs));
  std::vector<bool> result;
  for (const Output& output : stage.outputs()) {
    result.push_back(reach.contains(output.value));
  }
  return result;
}

StageGraphs stage_graphs(const Graph& stage, const std::vector<OutputGradient>& from,
                         const std::vector<size_t>& trained, const std::vector<size_t>& passed) {
  const UnifyNames lenient;  // names that were allowed to meet when the graph was built may meet again
  StageGraphs result;
  passes::FreshNames names;
  for (const Value& input : stage.inputs()) {
    names.take(passes::name_of(input));
  }
  Backward back;
  std::vector<Value> ys, y_gradients;
  for (const OutputGradient& each : from) {
    const Output& output = stage.outputs()[each.output];
    back.gradients.push_back(
        input(names.make(fmt::format("gradient.{}.{}", output.name, each.reader)), output.value.shape()));
    const auto found = std::ranges::find(ys, output.value);
    if (found == ys.end()) {
      ys.push_back(output.value);
      y_gradients.push_back(back.gradients.back());
    } else {
      Value& sum = y_gradients[static_cast<size_t>(found - ys.begin())];
      sum = sum_of(sum, back.gradients.back());
    }
  }
  std::vector<size_t> places = trained;
  places.insert(places.end(), passed.begin(), passed.end());
  const std::vector<Value> xs = inputs_at(stage, places);
  const Gradients found = passes::pull_back(ys, y_gradients, xs);
  for (size_t i = 0; i < trained.size(); ++i) {
    if (!found[i]) continue;
    result.sums.push_back(trained[i]);
    back.sums.push_back(input(names.make("sum." + std::string(xs[i].name())), xs[i].shape()));
    back.outputs.push_back({.name = fmt::format("new_sum.{}", i),
                            .value = sum_of(back.sums.back(), found[i]),
                            .aliases = static_cast<int>(back.sums.size()) - 1});
  }
  for (size_t i = trained.size(); i < places.size(); ++i) {
    if (!found[i]) continue;
    result.gives.push_back(places[i]);
    back.outputs.push_back({.name = fmt::format("given.{}", i), .value = passes::conform(found[i], xs[i].shape())});
  }

  std::vector<Value> roots;
  std::ranges::transform(back.outputs, std::back_inserter(roots), &Output::value);
  Keeper keeper(stage);
  keeper.follow(roots);
  std::vector<Output> forward = stage.outputs();
  passes::FreshNames output_names;
  for (const Output& output : forward) {
    output_names.take(output.name);
  }
  std::unordered_map<Value, Value> known;
  std::vector<Value> inputs;
  for (size_t i = 0; i < keeper.kept.size(); ++i) {
    const Value& value = keeper.kept[i];
    forward.push_back({.name = output_names.make(fmt::format("kept.{}", i)), .value = value});
    inputs.push_back(input(names.make(fmt::format("kept.{}", i)), value.shape()));
    known.insert_or_assign(value, inputs.back());
  }
  for (const Value& value : keeper.kept) {
    // A node whose first output is known is not made again; nobody reads those of its outputs that are not kept.
    for (int i = 0; i < static_cast<int>(value.node().shapes.size()); ++i) {
      known.try_emplace(Value(&value.node(), i), known.at(value));
    }
  }
  result.forward = Graph(stage.name() + ".forward", stage.inputs(), std::move(forward), stage.relations());
  if (back.outputs.empty()) return result;

  const std::vector<Value> made = passes::rewrite_values(
      roots, std::move(known), [](const Node&, const auto&) -> std::optional<std::vector<Value>> { return {}; });
  std::unordered_set<const Node*> reached;
  for (const Node* node : topological_order(made)) {
    reached.insert(node);
  }
  std::vector<Value> taken;
  for (size_t i = 0; i < stage.inputs().size(); ++i) {
    if (!reached.contains(&stage.inputs()[i].node())) continue;
    result.reads.push_back(i);
    taken.push_back(stage.inputs()[i]);
  }
  taken.insert(taken.end(), inputs.begin(), inputs.end());
  taken.insert(taken.end(), back.gradients.begin(), back.gradients.end());
  const auto first_sum = static_cast<int>(taken.size());
  taken.insert(taken.end(), back.sums.begin(), back.sums.end());
  result.gets = from;
  for (size_t i = 0; i < made.size(); ++i) {
    back.outputs[i].value = made[i];
    if (back.outputs[i].aliases >= 0) back.outputs[i].aliases += first_sum;
  }
  result.backward = Graph(stage.name() + ".backward", std::move(taken), std::move(back.outputs));
  return result;
}

}  // namespace tenon::mesh
