#include "passes/autodiff/autodiff.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <ranges>
#include <unordered_map>

#include "base/fail.h"
#include "ir/unify_names.h"
#include "ir/walk.h"
#include "ops/axes.h"
#include "ops/make.h"
#include "ops/scalar/scalar_table.h"
#include "passes/merge_loops.h"
#include "tenon/autodiff.h"
#include "tenon/ops.h"

namespace tenon::passes {
namespace {

template <class Kind>
concept CarriesBody = std::is_same_v<Kind, Call> || std::is_same_v<Kind, If> || std::is_same_v<Kind, Loop>;

Gradients node_gradient(const Node& node, const std::vector<Value>& outputs, const std::vector<bool>& wanted) {
  const Place place(node.place);
  try {
    return std::visit(
        [&]<class Kind>(const Kind& kind) {
          if constexpr (CarriesBody<Kind>) {
            return gradient(kind, node, outputs, wanted);
          } else {
            return gradient(kind, node, outputs);
          }
        },
        node.op);
  } catch (const Error& error) {
    rethrow_with_context(error, fmt::format("gradient of {}", op_name(node.op)), {}, node.inputs);
  }
}

/// Gradients as they add up, by value.
class Sums {
 public:
  void add(const Value& x, const Value& g) {
    const Value fitted = conform(g, x.shape());
    const auto [at, fresh] = sums_.try_emplace(x, fitted);
    if (!fresh) {
      at->second = make(Map{.fn = &scalar_fn("add"), .dtype = x.dtype()}, {at->second, fitted});
    }
  }

  /// Empty when nothing was added.
  Value of(const Value& x) const {
    const auto found = sums_.find(x);
    return found == sums_.end() ? Value() : found->second;
  }

 private:
  std::unordered_map<Value, Value> sums_;
};

void check_seed(const Value& y, const Value& seed) {
  if (!y || !is_float(y.dtype())) {
    fail("gradients: the result is {}, must be a float", y ? y.shape().to_string() : "an empty Value");
  }
  if (!seed) {
    if (y.rank() != 0) {
      fail("gradients: the result is {}; without a seed it must be a scalar", y.shape().to_string());
    }
    return;
  }
  bool same = seed.dtype() == y.dtype() && seed.rank() == y.rank();
  for (int i = 0; same && i < y.rank(); ++i) {
    same = compare(seed.extent(i), y.extent(i)) == Comparison::equal;
  }
  if (!same) {
    fail("gradients: the seed is {}, must be {} as the result", seed.shape().to_string(), y.shape().to_string());
  }
}

const Output& find_output(const Graph& graph, const std::string& name) {
  std::vector<std::string> names;
  for (const Output& out : graph.outputs()) {
    if (name.empty() || out.name == name) {
      return out;
    }
    names.push_back(out.name);
  }
  fail("differentiate: graph `{}` has no output `{}`; there is: {}", graph.name(), name, fmt::join(names, ", "));
}

std::vector<Value> find_inputs(const Graph& graph, const std::vector<std::string>& wanted) {
  std::vector<Value> found;
  for (const std::string& name : wanted) {
    const auto at = std::ranges::find(graph.inputs(), name, name_of);
    if (at == graph.inputs().end()) {
      fail("differentiate: graph `{}` has no input `{}`", graph.name(), name);
    }
    found.push_back(*at);
  }
  if (wanted.empty()) {
    std::ranges::copy_if(graph.inputs(), std::back_inserter(found), [](const Value& x) { return is_float(x.dtype()); });
  }
  return found;
}

}  // namespace

Reach::Reach(std::span<const Node* const> order, std::span<const Value> xs) : xs_(xs.begin(), xs.end()) {
  for (const Node* node : order) {
    if (std::ranges::any_of(node->inputs, [&](const Value& value) { return contains(value); })) {
      nodes_.insert(node);
    }
  }
}

bool Reach::contains(const Value& value) const {
  return is_float(value.dtype()) && (nodes_.contains(&value.node()) || xs_.contains(value));
}

std::string FreshNames::make(std::string name) {
  while (!taken_.insert(name).second) {
    name += '_';
  }
  return name;
}

const std::string& name_of(const Value& in) { return in.node().as<Input>()->name; }

Value conform(const Value& g, const Shape& shape) {
  TENON_CHECK(g.dtype() == shape.dtype() && g.rank() == shape.rank(), "a gradient is {} for {}", g.shape().to_string(),
              shape.to_string());
  return g.shape() == shape ? g : reshape(g, shape.axes());
}

Gradients pull_back(std::span<const Value> ys, std::span<const Value> y_gradients, std::span<const Value> xs) {
  const UnifyNames lenient;  // names that were allowed to meet when the values were built meet again
  const std::vector<const Node*> order = topological_order(ys);
  const Reach reach(order, xs);
  Sums sums;
  for (size_t i = 0; i < ys.size(); ++i) {
    if (y_gradients[i] && reach.contains(ys[i])) {
      sums.add(ys[i], y_gradients[i]);
    }
  }
  for (const Node* node : order | std::views::reverse) {
    if (!reach.contains(*node)) {
      continue;
    }
    std::vector<Value> outputs;
    for (size_t i = 0; i < node->shapes.size(); ++i) {
      outputs.push_back(sums.of(Value(node, static_cast<int>(i))));
    }
    if (std::ranges::none_of(outputs, [](const Value& g) { return static_cast<bool>(g); })) {
      continue;
    }
    std::vector<bool> wanted;
    for (const Value& in : node->inputs) {
      wanted.push_back(reach.contains(in));
    }
    const Gradients found = node_gradient(*node, outputs, wanted);
    TENON_CHECK(found.size() == node->inputs.size(), "gradient of {}", op_name(node->op));
    for (size_t i = 0; i < found.size(); ++i) {
      if (wanted[i] && found[i]) {
        sums.add(node->inputs[i], found[i]);
      }
    }
  }
  Gradients result;
  for (const Value& x : xs) {
    result.push_back(sums.of(x));
  }
  return result;
}

}  // namespace tenon::passes

namespace tenon {

using namespace passes;

std::vector<Value> gradients(const Value& y, const std::vector<Value>& xs, const Value& seed) {
  check_seed(y, seed);
  for (const Value& x : xs) {
    if (!x || !is_float(x.dtype())) {
      fail("gradients: {} is {}; only floats have gradients", x ? describe(x) : "a value",
           x ? x.shape().to_string() : "empty");
    }
  }
  const std::vector<Value> ys{y};
  const std::vector<Value> seeds{seed ? seed : full(y.shape(), 1)};
  std::vector<Value> result = pull_back(ys, seeds, xs);
  for (size_t i = 0; i < xs.size(); ++i) {
    result[i] = result[i] ? result[i] : full(xs[i].shape(), 0);
  }
  return result;
}

Graph differentiate(const Graph& graph, const DifferentiateOptions& options) {
  const Output& output = find_output(graph, options.output);
  const std::vector<Value> xs = find_inputs(graph, options.inputs);
  FreshNames input_names;
  FreshNames output_names;
  std::vector<Value> inputs = graph.inputs();
  std::ranges::for_each(inputs, [&](const Value& in) { input_names.take(name_of(in)); });
  Value seed;
  if (options.seed_input) {
    seed = input(input_names.make("d_" + output.name), output.value.shape());
    inputs.push_back(seed);
  }
  std::vector<Output> outputs;
  if (options.keep_outputs) {
    outputs = graph.outputs();
    std::ranges::for_each(outputs, [&](const Output& out) { output_names.take(out.name); });
  }
  const std::vector<Value> found = gradients(output.value, xs, seed);
  for (size_t i = 0; i < xs.size(); ++i) {
    outputs.push_back({.name = output_names.make("d_" + name_of(xs[i])), .value = found[i]});
  }
  return merge_loops({graph.name(), std::move(inputs), std::move(outputs), graph.relations()});
}

}  // namespace tenon
