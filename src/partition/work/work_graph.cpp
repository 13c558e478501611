#include <algorithm>

#include "base/fail.h"
#include "partition/work/work_builder.h"

namespace tenon::partition {

std::string_view name(Role role) {
  constexpr std::string_view names[] = {"product", "depthwise", "map", "row", "window", "move", "gather", "other"};
  return names[static_cast<size_t>(role)];
}

int WorkGraph::find(std::string_view name) const {
  const auto at = std::ranges::find(operators, name, &Operator::name);
  if (at == operators.end()) {
    const std::string_view kind = name.substr(0, name.find_last_not_of("0123456789") + 1);
    const auto count = std::ranges::count(operators, kind, &Operator::kind);
    if (count > 0) {
      fail("there is no operator `{}`; there are `{}1` to `{}{}`", name, kind, kind, count);
    }
    fail("there is no operator `{}`; the first one is `{}`", name, operators.empty() ? "none" : operators[0].name);
  }
  return static_cast<int>(at - operators.begin());
}

WorkGraph work_graph(const Graph& graph) {
  const Opened opened = open_products(graph);
  WorkBuilder builder(opened.graph);
  builder.group_by_rules(opened);
  return std::move(builder).finish();
}

WorkGraph work_graph_of(const Graph& graph, std::span<const std::vector<const Node*>> groups) {
  WorkBuilder builder(graph);
  builder.group_as_given(groups);
  return std::move(builder).finish();
}

}  // namespace tenon::partition
