#include "partition/fuse/strategies.h"

#include <algorithm>

#include "base/fail.h"

namespace tenon::partition {
namespace {

void join_nothing(Groups&) {}
std::string refuses_all(const Groups&, int, int) { return "each operator is a part"; }
std::string refuses_given(const Groups& groups, int producer, int reader) {
  return fmt::format("the compiler makes `{}` and `{}` in different kernels; `tenon explain` says why each ends",
                     groups.graph().op(producer).name, groups.graph().op(reader).name);
}

constexpr Strategy kStrategies[] = {
    {"none", "each operator by itself", join_nothing, refuses_all, reader_is_taken},
    {"vertical", "a product with the maps that follow it, and maps that follow each other, one reader each",
     join_chains, refuses_chain, reader_is_taken},
    {"depthwise", "a depthwise convolution and its maps with the product that alone reads them", join_depthwise,
     refuses_depthwise, reader_is_taken},
    {"residual", "a map of two branches into the one that comes last", join_residuals, refuses_residual,
     reader_is_taken},
    {"horizontal", "products of one input whose results are used together", join_siblings, refuses_siblings,
     sibling_is_not_first},
    {"elementwise", "maps with maps, rows, moves and gathers of one shape", join_elementwise, refuses_elementwise,
     reader_is_taken},
    {"attention", "rows with the products on both of their sides", join_attention, refuses_attention, reader_is_taken},
    {"compiler", "the kernels that Tenon itself makes", join_nothing, refuses_given, reader_is_taken},
};

}  // namespace

std::span<const Strategy> strategies() { return kStrategies; }

const Strategy& find_strategy(std::string_view name) {
  const auto at = std::ranges::find(kStrategies, name, &Strategy::name);
  if (at == std::end(kStrategies)) {
    std::vector<std::string_view> names;
    std::ranges::transform(kStrategies, std::back_inserter(names), &Strategy::name);
    fail("there is no strategy `{}`; there is: {}", name, fmt::join(names, ", "));
  }
  return *at;
}

std::span<const std::pair<std::string_view, std::string_view>> strategy_table() {
  static const std::vector<std::pair<std::string_view, std::string_view>> table = [] {
    std::vector<std::pair<std::string_view, std::string_view>> rows;
    for (const Strategy& each : kStrategies) {
      rows.emplace_back(each.name, each.doc);
    }
    return rows;
  }();
  return table;
}

}  // namespace tenon::partition
