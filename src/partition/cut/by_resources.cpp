#include <algorithm>
#include <limits>

#include "partition/cut/by_profile.h"
#include "partition/plan/estimate.h"

namespace tenon::partition {
namespace {

/// Groups that a part may have: beyond, a plan says nothing any more.
constexpr int kMostGroups = 48;

std::vector<int> operators_of(const std::vector<std::vector<int>>& groups, int begin, int end) {
  std::vector<int> result;
  for (int g = begin; g < end; ++g) {
    const std::vector<int>& group = groups[static_cast<size_t>(g)];
    result.insert(result.end(), group.begin(), group.end());
  }
  return result;
}

int64_t moved_bytes(const SizedGraph& graph, const PartFlow& flow) {
  int64_t sum = 0;
  for (const PartFlow::In& in : flow.in) {
    sum += in.bytes;
  }
  for (const int tensor : flow.out) {
    sum += graph.tensor(tensor).written();
  }
  return sum;
}

/// Whether both groups have the parallelism that is asked for, or neither: a narrow product keeps those beside it from
/// using all units.
bool same_side(int64_t a, int64_t b, int64_t limit) { return (a >= limit) == (b >= limit); }

}  // namespace

const Unit& main_unit(const Profile& profile) {
  return *std::ranges::max_element(profile.units, {}, [](const Unit& unit) {
    return static_cast<double>(unit.count) * rate_of(unit.flops, "f32", rate_of(unit.flops, "any", 1)) *
           rate_of(unit.efficiency, name(Role::product), 1);
  });
}

std::vector<std::vector<int>> cut_by_resources(const SizedGraph& graph, const std::vector<std::vector<int>>& groups,
                                               const Profile& profile, const PartLimits& limits) {
  const Unit& unit = main_unit(profile);
  const int64_t capacity = profile.memory(unit.memory).bytes;
  const auto n = static_cast<int>(groups.size());
  constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  std::vector<int64_t> best(groups.size() + 1, kNone);
  std::vector<int> from(groups.size() + 1, -1);
  std::vector<int64_t> wide;
  for (const std::vector<int>& group : groups) {
    wide.push_back(parallelism_of(graph, group));
  }
  best[0] = 0;
  const int most = n > 20'000 ? 8 : kMostGroups;
  for (int i = 0; i < n; ++i) {
    for (int j = i + 1; j <= std::min(n, i + most); ++j) {
      const std::vector<int> operators = operators_of(groups, i, j);
      const PartFlow flow = flow_alone(graph, operators);
      const int64_t bytes = working_set(graph, operators, flow);
      if (j == i + 1) {
        tiles_for(graph, operators, bytes, profile, unit);  // the smallest pieces fit
      } else if (bytes > capacity || tiles_of_flops(graph, operators, limits.flops) > 1 ||
                 !same_side(wide[static_cast<size_t>(i)], wide[static_cast<size_t>(j) - 1], limits.parallelism)) {
        break;
      }
      const int64_t cost = best[static_cast<size_t>(i)] + moved_bytes(graph, flow);
      if (cost < best[static_cast<size_t>(j)]) {
        best[static_cast<size_t>(j)] = cost;
        from[static_cast<size_t>(j)] = i;
      }
    }
  }
  std::vector<std::vector<int>> parts;
  for (int j = n; j > 0; j = from[static_cast<size_t>(j)]) {
    parts.push_back(operators_of(groups, from[static_cast<size_t>(j)], j));
  }
  std::ranges::reverse(parts);
  return parts;
}

}  // namespace tenon::partition
