#include "cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <limits>

#include "base/fail.h"
#include "ir/node.h"
#include "ops/macs.h"
#include "passes/inline_calls.h"
#include "shape/not_representable.h"
#include "units.h"

namespace tenon::cli {
namespace {

class Counter {
 public:
  explicit Counter(const Bindings& bindings) : bindings_(bindings) {}

  Cost of(const Graph& graph) const {
    Cost sum;
    for (const Node* node : graph.nodes()) {
      const Cost each = of(*node);
      sum.elements += each.elements;
      sum.flops += each.flops;
    }
    return sum;
  }

 private:
  Cost of(const Node& node) const {
    if (const auto* loop = node.as<Loop>()) {
      const Cost trip = of(loop->body);
      const double trips = loop->conditional ? 1 : size(loop->trips);  // nobody knows how many: one is certain
      return {.elements = trips * trip.elements, .flops = trips * trip.flops};
    }
    if (const auto* branches = node.as<If>()) {
      const Cost yes = of(branches->then_body);
      const Cost no = of(branches->else_body);
      return yes.seconds() < no.seconds() ? no : yes;
    }
    if (node.as<Contract>() != nullptr || node.as<Conv>() != nullptr) {
      return {.elements = count(node.shapes[0]), .flops = 2 * size(macs(node))};
    }
    const bool is_leaf = node.as<Input>() != nullptr || node.as<Constant>() != nullptr || node.as<Iota>() != nullptr;
    if (is_leaf || as_view(node.op)) {  // what reads it counts
      return {};
    }
    double most = 0;
    if (const auto* window = node.as<Window>()) {
      most = count(node.shapes[0]);
      for (const int64_t places : window->size) {
        most *= static_cast<double>(places);
      }
    } else if (node.as<Reduce>() != nullptr) {
      most = count(node.inputs[0].shape());
    } else {
      std::ranges::for_each(node.shapes, [&](const Shape& shape) { most = std::max(most, count(shape)); });
    }
    return {.elements = most};
  }

  double count(const Shape& shape) const {
    double product = 1;
    for (const Axis& axis : shape.axes()) {
      product *= size(axis.extent());
    }
    return product;
  }

  /// 0 of what only data decide.
  double size(const Extent& extent) const {
    const auto is_bound = [&](const std::string& name) { return bindings_.find(name).has_value(); };
    if (!std::ranges::all_of(extent.names(), is_bound)) {
      return 0;
    }
    try {
      return static_cast<double>(evaluate(extent, bindings_));
    } catch (const NotRepresentable&) {
      return std::numeric_limits<double>::infinity();
    }
  }

  const Bindings& bindings_;
};

/// Adds up what nodes cost, each as often as it runs.
void add_cost(const Graph& graph, const Extent& times, CostBound& sum) {
  for (const Node* node : graph.nodes()) {
    if (const auto* loop = node->as<Loop>()) {
      add_cost(loop->body, times * loop->trips, sum);
    } else if (const auto* branches = node->as<If>()) {
      add_cost(branches->then_body, times, sum);
      add_cost(branches->else_body, times, sum);
    } else if (node->as<Constant>() == nullptr && node->as<Input>() == nullptr && node->as<Iota>() == nullptr &&
               !as_view(node->op)) {
      Extent places = 1;
      if (const auto* window = node->as<Window>()) {
        for (const int64_t each : window->size)
          places = places * each;
      }
      for (const Shape& shape : node->shapes)
        sum.elements = sum.elements + times * shape.element_count() * places;
      if (node->as<Reduce>() != nullptr) {
        sum.elements = sum.elements + times * node->inputs[0].shape().element_count();
      }
      if (node->as<Contract>() != nullptr || node->as<Conv>() != nullptr) {
        sum.flops = sum.flops + times * macs(*node) * 2;
      }
    }
  }
}

}  // namespace

CostBound cost_bound(const Graph& graph) {
  CostBound sum;
  add_cost(passes::inline_calls(graph), 1, sum);
  return sum;
}

Cost cost_of(const Graph& graph, const Bindings& bindings) { return Counter(bindings).of(passes::inline_calls(graph)); }

void announce_cost(const Graph& graph, const Bindings& bindings, const Arguments& arguments) {
  const Cost cost = cost_of(graph, bindings);
  if (!(cost.seconds() >= kLongRun)) {
    return;
  }
  const std::string text =
      fmt::format("a run at these sizes computes {} elements and {} FLOPs of products, some {}",
                  count_text(cost.elements), count_text(cost.flops), time_text(cost.seconds() * 1e6));
  if (cost.seconds() > kLongestRun && !arguments.has(kLongOption.name)) {
    fail("{}; with {} it begins", text, kLongOption.name);
  }
  fmt::print(stderr, "tenon: note: {}\n", text);
}

}  // namespace tenon::cli
