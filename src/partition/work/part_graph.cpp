// A part of a plan as a graph of its own.
#include <algorithm>
#include <set>

#include "base/fail.h"
#include "ir/unify_names.h"
#include "partition/work/node_costs.h"
#include "passes/rewriting/rewrite.h"

namespace tenon::partition {
namespace {

/// What is in memory of a value.
Value seen_through(Value value) {
  while (is_free_view(value.node())) {
    value = value.node().inputs[0];
  }
  return value;
}

/// Tensors that a part reads of others and of the caller, and those of its own that others or the caller read.
struct Boundary {
  std::set<int> in, out;
};

Boundary boundary_of(const WorkGraph& work, const Plan& plan, size_t index) {
  const std::vector<int>& own = plan.parts[index].operators;
  const std::set<int> inside(own.begin(), own.end());
  Boundary boundary;
  for (const int op : own) {
    for (const Read& read : work.operators[static_cast<size_t>(op)].reads) {
      const WorkTensor& tensor = work.tensors[static_cast<size_t>(read.tensor)];
      const bool input = work.values[static_cast<size_t>(read.tensor)].node().as<Input>() != nullptr;
      if (input || (tensor.producer >= 0 && !inside.contains(tensor.producer))) {
        boundary.in.insert(read.tensor);
      }
    }
    for (const int tensor : work.operators[static_cast<size_t>(op)].writes) {
      if (work.tensors[static_cast<size_t>(tensor)].output) {
        boundary.out.insert(tensor);
      }
    }
  }
  for (const Transfer& transfer : plan.transfers) {
    if (transfer.from == static_cast<int>(index)) {
      boundary.out.insert(transfer.tensor);
    }
  }
  return boundary;
}

}  // namespace

Graph part_graph(const WorkGraph& work, const Plan& plan, size_t index) {
  const Boundary boundary = boundary_of(work, plan, index);
  const UnifyNames unify;  // operations are made again whose builder may have had it
  std::vector<Value> inputs;
  std::unordered_map<Value, Value> known;
  for (const int tensor : boundary.in) {
    const Value& value = work.values[static_cast<size_t>(tensor)];
    inputs.push_back(value.node().as<Input>() != nullptr
                         ? value
                         : input(work.tensors[static_cast<size_t>(tensor)].name, value.shape()));
    known.insert_or_assign(value, inputs.back());
    // The walk skips a node whose first output is known.
    for (int i = 0; i < static_cast<int>(value.node().shapes.size()); ++i) {
      known.try_emplace(Value(&value.node(), i), inputs.back());
    }
  }
  std::vector<Output> outputs;
  for (const int tensor : boundary.out) {
    outputs.push_back(
        {.name = work.tensors[static_cast<size_t>(tensor)].name, .value = work.values[static_cast<size_t>(tensor)]});
  }
  for (const Output& output : work.graph.outputs()) {
    const auto base = std::ranges::find(work.values, seen_through(output.value));
    const auto tensor = static_cast<int>(base - work.values.begin());
    if (boundary.out.contains(tensor) && work.tensors[static_cast<size_t>(tensor)].output &&
        std::ranges::find(outputs, output.name, &Output::name) == outputs.end()) {
      outputs.push_back({.name = output.name, .value = output.value});
    }
  }
  std::vector<Value> roots;
  std::ranges::transform(outputs, std::back_inserter(roots), &Output::value);
  const std::vector<Value> made = passes::rewrite_values(
      roots, std::move(known), [](const Node&, const auto&) -> std::optional<std::vector<Value>> { return {}; });
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputs[i].value = made[i];
  }
  return {fmt::format("{}_part{}", work.graph.name(), index + 1), std::move(inputs), std::move(outputs)};
}

}  // namespace tenon::partition
