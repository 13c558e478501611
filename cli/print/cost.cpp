#include "cli/print/cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <limits>
#include <utility>

#include "base/fail.h"
#include "cli/print/units.h"
#include "ir/node.h"
#include "ops/macs.h"
#include "passes/inline_calls.h"
#include "shape/not_representable.h"

namespace tenon::cli {
namespace {

std::vector<Extent> dims_of(const Shape& shape) {
  std::vector<Extent> dims;
  for (const Axis& axis : shape.axes()) {
    dims.push_back(axis.extent());
  }
  return dims;
}

/// 0 of what only data decide.
double size_at(const Extent& extent, const Bindings& bindings) {
  const auto is_bound = [&](const std::string& name) { return bindings.find(name).has_value(); };
  if (!std::ranges::all_of(extent.names(), is_bound)) {
    return 0;
  }
  try {
    return static_cast<double>(evaluate(extent, bindings));
  } catch (const NotRepresentable&) {
    return std::numeric_limits<double>::infinity();
  }
}

}  // namespace

std::vector<CostModel::Counted> CostModel::counted(const Graph& graph) {
  std::vector<Counted> all;
  for (const Node* node : graph.nodes()) {
    Counted each;
    if (const auto* loop = node->as<Loop>()) {
      each.trips = loop->conditional ? Extent(1) : loop->trips;  // nobody knows how many: one is certain
      each.bodies = {counted(loop->body)};
    } else if (const auto* branches = node->as<If>()) {
      each.bodies = {counted(branches->then_body), counted(branches->else_body)};
    } else if (node->as<Contract>() != nullptr || node->as<Conv>() != nullptr) {
      each.elements = {dims_of(node->shapes[0])};
      each.macs = macs(*node);
    } else if (node->as<Input>() != nullptr || node->as<Constant>() != nullptr || node->as<Iota>() != nullptr ||
               as_view(node->op)) {
      continue;  // what reads it counts
    } else if (const auto* window = node->as<Window>()) {
      each.elements = {dims_of(node->shapes[0])};
      for (const int64_t places : window->size) {
        each.elements[0].emplace_back(places);
      }
    } else if (node->as<Reduce>() != nullptr) {
      each.elements = {dims_of(node->inputs[0].shape())};
    } else {
      std::ranges::transform(node->shapes, std::back_inserter(each.elements), dims_of);
    }
    all.push_back(std::move(each));
  }
  return all;
}

Cost CostModel::cost_at(const std::vector<Counted>& all, const Bindings& bindings) {
  Cost sum;
  for (const Counted& each : all) {
    double most = 0;
    for (const std::vector<Extent>& dims : each.elements) {
      double product = 1;
      for (const Extent& extent : dims) {
        product *= size_at(extent, bindings);
      }
      most = std::max(most, product);
    }
    Cost body;
    for (const std::vector<Counted>& one : each.bodies) {
      const Cost cost = cost_at(one, bindings);
      body = body.seconds() < cost.seconds() ? cost : body;
    }
    const double trips = size_at(each.trips, bindings);
    sum.elements += most + trips * body.elements;
    sum.flops += 2 * size_at(each.macs, bindings) + trips * body.flops;
  }
  return sum;
}

CostBound CostModel::bound_of(const std::vector<Counted>& all) {
  CostBound sum;
  for (const Counted& each : all) {
    for (const std::vector<Extent>& dims : each.elements) {
      Extent product = 1;
      for (const Extent& extent : dims) {
        product = product * extent;
      }
      sum.elements = sum.elements + product;
    }
    sum.flops = sum.flops + each.macs * 2;
    for (const std::vector<Counted>& one : each.bodies) {
      const CostBound body = bound_of(one);
      sum.elements = sum.elements + each.trips * body.elements;
      sum.flops = sum.flops + each.trips * body.flops;
    }
  }
  return sum;
}

CostModel::CostModel(const Graph& graph) : all_(counted(passes::inline_calls(graph))) {}

Cost CostModel::at(const Bindings& bindings) const { return cost_at(all_, bindings); }

CostBound CostModel::bound() const { return bound_of(all_); }

void announce_cost(const CostModel& model, const Bindings& bindings, const Arguments& arguments) {
  const Cost cost = model.at(bindings);
  if (!(cost.seconds() >= kLongRun)) {
    return;
  }
  const std::string text = fmt::format("a run{}{} computes {} elements and {} FLOPs of products, some {}",
                                       bindings.empty() ? "" : " at ", bindings.to_string(), count_text(cost.elements),
                                       count_text(cost.flops), time_text(cost.seconds() * 1e6));
  if (cost.seconds() > kLongestRun && !arguments.has(kLongOption.name)) {
    fail("{}; with {} it begins", text, kLongOption.name);
  }
  fmt::print(stderr, "tenon: note: {}\n", text);
}

}  // namespace tenon::cli
