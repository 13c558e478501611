#include "ir/data_axes.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <queue>
#include <type_traits>
#include <unordered_map>

#include "base/fail.h"
#include "base/refused.h"
#include "ir/walk.h"
#include "shape/constraint_logic.h"

namespace tenon {
namespace {

template <class T>
constexpr bool is_list = false;
template <class T>
constexpr bool is_list<std::vector<T>> = true;

void add_field_names(AxisNames& to, const Op& op);

/// The names in a field of whatever type; most have none. One template: overloads would convert numbers to extents.
template <class T>
void add_names(AxisNames& to, const T& field) {
  if constexpr (std::is_same_v<T, Extent>) {
    if (!field.is_constant()) {
      std::ranges::move(field.names(), std::inserter(to, to.end()));
    }
  } else if constexpr (std::is_same_v<T, Axis>) {
    if (!field.is_anonymous()) {
      add_names(to, field.extent());
    }
  } else if constexpr (std::is_same_v<T, Shape>) {
    add_names(to, field.axes());
  } else if constexpr (std::is_same_v<T, View>) {
    add_field_names(to, as_op(field));
  } else if constexpr (std::is_same_v<T, Graph>) {
    for (const Node* node : field.nodes()) {
      to.merge(needed_axes(*node));
    }
  } else if constexpr (is_list<T>) {
    for (const auto& item : field) {
      add_names(to, item);
    }
  }
}

void add_field_names(AxisNames& to, const Op& op) {
  std::visit([&](const auto& kind) { for_each_field(kind, [&](auto, const auto& field) { add_names(to, field); }); },
             op);
}

}  // namespace

std::string bound_axis(const Node& node) {
  const auto* positions = node.as<Positions>();
  return positions == nullptr || positions->axis.is_anonymous() ? "" : positions->axis.name();
}

AxisNames needed_axes(const Node& node) {
  AxisNames names;
  add_field_names(names, node.op);
  add_names(names, node.shapes);
  if (const std::string bound = bound_axis(node); !bound.empty()) {
    names.erase(bound);
  }
  for (const Value& operand : node.inputs) {
    add_names(names, operand.shape());
  }
  return names;
}

std::map<std::string, const Node*, std::less<>> binders(const std::vector<const Node*>& nodes) {
  std::map<std::string, const Node*, std::less<>> found;
  for (const Node* node : nodes) {
    const std::string name = bound_axis(*node);
    if (name.empty()) {
      continue;
    }
    if (!found.emplace(name, node).second) {
      Error error(fmt::format("two nodes decide the size of axis `{}`: names of such axes must differ", name));
      for (const Node* each : {found.at(name), node}) {
        if (!each->place.empty()) {
          error.note(fmt::format("at node \"{}\"", each->place));
        }
      }
      throw Error(std::move(error));
    }
  }
  return found;
}

AxisNames data_axes(const Graph& graph) {
  AxisNames names;
  for (const auto& [name, node] : binders(graph.nodes())) {
    names.insert(name);
  }
  return names;
}

bool mentions_any(const Constraint& constraint, const AxisNames& names) {
  return std::ranges::any_of(names, [&](const std::string& name) { return mentions(constraint, name); });
}

std::vector<const Node*> order_by_binding(std::vector<const Node*> nodes) {
  const auto bound = binders(nodes);
  if (bound.empty()) {
    return nodes;
  }
  std::unordered_map<const Node*, size_t> numbers;
  for (size_t i = 0; i < nodes.size(); ++i) {
    numbers.emplace(nodes[i], i);
  }
  std::vector<std::vector<size_t>> followers(nodes.size());
  std::vector<size_t> waits_for(nodes.size(), 0);
  const auto follows = [&](size_t node, const Node* before) {
    followers[numbers.at(before)].push_back(node);
    ++waits_for[node];
  };
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const Value& operand : nodes[i]->inputs) {
      follows(i, &operand.node());
    }
    for (const std::string& name : needed_axes(*nodes[i])) {
      if (const auto binder = bound.find(name); binder != bound.end()) {
        follows(i, binder->second);
      }
    }
  }
  // The first that is ready in the given order comes next, so that nothing moves without need.
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (waits_for[i] == 0) {
      ready.push(i);
    }
  }
  std::vector<const Node*> order;
  while (!ready.empty()) {
    const size_t next = ready.top();
    ready.pop();
    order.push_back(nodes[next]);
    for (const size_t follower : followers[next]) {
      if (--waits_for[follower] == 0) {
        ready.push(follower);
      }
    }
  }
  if (order.size() < nodes.size()) {
    for (const auto& [name, node] : bound) {
      if (waits_for[numbers.at(node)] > 0) {
        refuse("the size of axis `{}` depends on itself: what decides it needs it", name);
      }
    }
  }
  return order;
}

}  // namespace tenon
