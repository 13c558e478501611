#include "tenon/graph.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/fail.h"
#include "base/hash.h"
#include "base/refused.h"
#include "ir/data_axes.h"
#include "ir/node.h"
#include "ir/walk.h"
#include "shape/constraint_set.h"

namespace tenon {

struct Graph::Data {
  std::string name;
  std::vector<Value> inputs;
  std::vector<Output> outputs;
  std::vector<Constraint> relations;
  std::vector<const Node*> nodes;
  ConstraintSet constraints;
  uint64_t hash = 0;
};

namespace {

using Numbering = std::unordered_map<const Node*, size_t>;

Numbering number(const std::vector<const Node*>& nodes) {
  Numbering numbers;
  for (size_t i = 0; i < nodes.size(); ++i) {
    numbers.emplace(nodes[i], i);
  }
  return numbers;
}

void check_inputs(const std::string& graph, const std::vector<Value>& inputs, const std::vector<const Node*>& nodes) {
  std::unordered_set<std::string> names;
  std::unordered_set<const Node*> listed;
  for (const Value& value : inputs) {
    const auto* in = value ? value.node().as<Input>() : nullptr;
    if (in == nullptr) {
      fail("graph `{}`: an input must be made by input()", graph);
    }
    if (!names.insert(in->name).second) {
      fail("graph `{}`: two inputs are called `{}`", graph, in->name);
    }
    listed.insert(&value.node());
  }
  for (const Node* node : nodes) {
    const auto* in = node->as<Input>();
    if (in != nullptr && !listed.contains(node)) {
      fail("graph `{}`: the outputs need input `{}`: {}, which is not among the graph's inputs", graph, in->name,
           in->shape.to_string());
    }
  }
}

void check_outputs(const std::string& graph, const std::vector<Value>& inputs, const std::vector<Output>& outputs) {
  std::unordered_set<std::string> names;
  std::unordered_set<int> aliased;
  for (const Output& out : outputs) {
    if (!out.value) {
      fail("graph `{}`: output `{}` is an empty Value", graph, out.name);
    }
    if (out.name.empty() || !names.insert(out.name).second) {
      fail("graph `{}`: outputs need names that differ; `{}` does not", graph, out.name);
    }
    if (out.aliases == -1) {
      continue;
    }
    if (out.aliases < 0 || static_cast<size_t>(out.aliases) >= inputs.size()) {
      fail("graph `{}`: output `{}` aliases input {}, and there are {} inputs", graph, out.name, out.aliases,
           inputs.size());
    }
    const Value& in = inputs[static_cast<size_t>(out.aliases)];
    if (!aliased.insert(out.aliases).second) {
      fail("graph `{}`: two outputs alias input `{}`", graph, in.node().as<Input>()->name);
    }
    const Shape& from = in.shape();
    const Shape& to = out.value.shape();
    bool same = from.dtype() == to.dtype() && from.rank() == to.rank();
    for (int i = 0; same && i < from.rank(); ++i) {
      same = compare(from.extent(i), to.extent(i)) == Comparison::equal;
    }
    if (!same) {
      fail("graph `{}`: output `{}` is {} and cannot take over the memory of input `{}`, which is {}", graph, out.name,
           to.to_string(), in.node().as<Input>()->name, from.to_string());
    }
  }
}

/// Names that nodes bind are not names of inputs: those are bound before anything runs.
void check_data_axes(const std::string& graph, const std::vector<Value>& inputs,
                     const std::vector<const Node*>& nodes) {
  const auto bound = binders(nodes);
  if (bound.empty()) {
    return;
  }
  for (const Value& value : inputs) {
    for (const std::string& name : needed_axes(value.node())) {
      if (bound.contains(name)) {
        refuse("graph `{}`: the size of axis `{}` is decided by data, so input `{}` ({}) cannot have it", graph, name,
               value.node().as<Input>()->name, value.shape().to_string());
      }
    }
  }
}

/// What speaks of names that data decide comes last: what must hold before anything runs stands without it.
ConstraintSet solve(const std::vector<Constraint>& constraints, const std::vector<const Node*>& nodes) {
  AxisNames late;
  for (const auto& [name, node] : binders(nodes)) {
    late.insert(name);
  }
  ConstraintSet set;
  for (const bool is_late : {false, true}) {
    for (const Constraint& constraint : constraints) {
      if ((!late.empty() && mentions_any(constraint, late)) == is_late) {
        set.add(constraint);
      }
    }
  }
  return set;
}

ConstraintSet collect_constraints(const std::vector<Constraint>& relations, const std::vector<const Node*>& nodes) {
  std::vector<Constraint> all = relations;
  for (const Node* node : nodes) {
    // A static axis with a name fixes the name everywhere: `hidden=768` here and `hidden` there are one axis.
    if (const auto* in = node->as<Input>()) {
      for (const Axis& axis : in->shape.axes()) {
        if (!axis.name().empty() && Extent::name(axis.name()) != axis.extent()) {
          all.push_back({.kind = Constraint::Kind::equal,
                         .lhs = Extent::name(axis.name()),
                         .rhs = axis.extent(),
                         .needed_by = fmt::format("input `{}`", in->name),
                         .place = {}});
        }
      }
    }
    all.insert(all.end(), node->constraints.begin(), node->constraints.end());
    for (const Graph& body : called_graphs(*node)) {
      const std::vector<Constraint>& inside = body.constraints().added();
      all.insert(all.end(), inside.begin(), inside.end());
    }
  }
  return solve(all, nodes);
}

uint64_t hash_graph(const std::string& name, const std::vector<Value>& inputs, const std::vector<Output>& outputs,
                    const std::vector<Constraint>& relations, const std::vector<const Node*>& nodes) {
  const Numbering numbers = number(nodes);
  uint64_t hash = hash_bytes(name);
  const auto add = [&](uint64_t part) { hash = combine_hash(hash, part); };
  const auto add_value = [&](const Value& value) {
    add(numbers.at(&value.node()));
    add(static_cast<uint64_t>(value.output()));
  };
  for (const Node* node : nodes) {
    add(hash_structure(node->op));
    std::ranges::for_each(node->inputs, add_value);
    std::ranges::for_each(node->shapes, [&](const Shape& shape) { add(shape.hash()); });
  }
  std::ranges::for_each(inputs, add_value);
  for (const Output& out : outputs) {
    add(hash_bytes(out.name));
    add_value(out.value);
    add(static_cast<uint64_t>(out.aliases));
  }
  std::ranges::for_each(relations, [&](const Constraint& relation) { add(relation.hash()); });
  return hash;
}

}  // namespace

Graph::Graph(std::string name, std::vector<Value> inputs, std::vector<Output> outputs,
             std::vector<Constraint> relations) {
  auto data = std::make_shared<Data>();
  check_outputs(name, inputs, outputs);
  // Inputs first, in their order, whether or not they are used: they are part of the graph.
  std::vector<Value> roots = inputs;
  for (const Output& out : outputs) {
    roots.push_back(out.value);
  }
  data->nodes = topological_order(roots);
  check_inputs(name, inputs, data->nodes);
  check_data_axes(name, inputs, data->nodes);
  data->nodes = order_by_binding(std::move(data->nodes));
  try {
    data->constraints = collect_constraints(relations, data->nodes);
  } catch (Error& error) {
    error.note(fmt::format("in graph `{}`", name));
    throw;
  }
  data->hash = hash_graph(name, inputs, outputs, relations, data->nodes);
  data->name = std::move(name);
  data->inputs = std::move(inputs);
  data->outputs = std::move(outputs);
  data->relations = std::move(relations);
  data_ = std::move(data);
}

namespace {

/// What a graph holds; an Error for one that was never made.
template <class Data>
const Data& content(const std::shared_ptr<const Data>& data) {
  if (!data) {
    fail("an empty Graph has nothing in it");
  }
  return *data;
}

}  // namespace

const std::string& Graph::name() const { return content(data_).name; }
const std::vector<Value>& Graph::inputs() const { return content(data_).inputs; }
const std::vector<Output>& Graph::outputs() const { return content(data_).outputs; }
const std::vector<Constraint>& Graph::relations() const { return content(data_).relations; }
const std::vector<const Node*>& Graph::nodes() const { return content(data_).nodes; }
const ConstraintSet& Graph::constraints() const { return content(data_).constraints; }
uint64_t Graph::hash() const { return data_ ? data_->hash : 0; }

bool operator==(const Graph& a, const Graph& b) {
  if (a.data_ == b.data_) {
    return true;
  }
  if (!a.data_ || !b.data_ || a.hash() != b.hash() || a.name() != b.name() || a.nodes().size() != b.nodes().size() ||
      a.relations() != b.relations()) {
    return false;
  }
  const Numbering left = number(a.nodes());
  const Numbering right = number(b.nodes());
  const auto same_value = [&](const Value& x, const Value& y) {
    return x.output() == y.output() && left.at(&x.node()) == right.at(&y.node());
  };
  const auto same_output = [&](const Output& x, const Output& y) {
    return x.name == y.name && x.aliases == y.aliases && same_value(x.value, y.value);
  };
  for (size_t i = 0; i < a.nodes().size(); ++i) {
    const Node& x = *a.nodes()[i];
    const Node& y = *b.nodes()[i];
    if (&x != &y &&
        (x.shapes != y.shapes || !std::ranges::equal(x.inputs, y.inputs, same_value) || !same_structure(x.op, y.op))) {
      return false;
    }
  }
  return std::ranges::equal(a.inputs(), b.inputs(), same_value) &&
         std::ranges::equal(a.outputs(), b.outputs(), same_output);
}

const Value& Graph::input(std::string_view name) const {
  std::vector<std::string_view> names;
  for (const Value& value : inputs()) {
    if (value.name() == name) {
      return value;
    }
    names.push_back(value.name());
  }
  fail("graph `{}` has no input `{}`; there is: {}", this->name(), name, fmt::join(names, ", "));
}

const Value& Graph::output(std::string_view name) const {
  std::vector<std::string_view> names;
  for (const Output& output : outputs()) {
    if (output.name == name) {
      return output.value;
    }
    names.push_back(output.name);
  }
  fail("graph `{}` has no output `{}`; there is: {}", this->name(), name, fmt::join(names, ", "));
}

const Graph& GraphSet::at(std::string_view name) const {
  std::vector<std::string> names;
  for (const Graph& graph : graphs) {
    if (graph.name() == name) {
      return graph;
    }
    names.push_back(graph.name());
  }
  fail("no graph is called `{}`; there is: {}", name, fmt::join(names, ", "));
}

}  // namespace tenon
