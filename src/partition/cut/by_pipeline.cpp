#include <algorithm>
#include <limits>

#include "base/fail.h"
#include "partition/cut/by_profile.h"
#include "partition/cut/cut_graph.h"
#include "partition/plan/estimate.h"

namespace tenon::partition {
namespace {

/// Seconds of each group by itself on its best unit, launches left out: what stages add up.
std::vector<double> group_seconds(const SizedGraph& graph, const std::vector<std::vector<int>>& groups,
                                  const Profile& profile) {
  Plan alone;
  for (const std::vector<int>& group : groups) {
    Part part;
    part.operators = group;
    alone.parts.push_back(std::move(part));
  }
  place(alone, graph, profile);
  std::vector<double> seconds;
  for (const Part& part : alone.parts) {
    seconds.push_back(part.figures.seconds - profile.launch);
  }
  return seconds;
}

}  // namespace

std::vector<std::vector<int>> cut_for_pipeline(const SizedGraph& graph, const std::vector<std::vector<int>>& groups,
                                               const Profile& profile, int devices) {
  const auto n = static_cast<int>(groups.size());
  if (devices > n) {
    fail(
        "there are {} devices and {} groups of operators to deal to them, the first with `{}`; fewer devices, or less "
        "fusion",
        devices, n, graph.op(groups[0][0]).name);
  }
  const std::vector<double> seconds = group_seconds(graph, groups, profile);
  const CutGraph nets = cut_graph(graph, groups);
  const double none = std::numeric_limits<double>::infinity();
  // best[d][j]: the slowest of d stages that end before group j.
  const auto columns = static_cast<size_t>(n) + 1;
  std::vector<double> best(static_cast<size_t>(devices + 1) * columns, none);
  std::vector<int> from(best.size(), -1);
  best[0] = 0;
  std::vector<int> seen(nets.nets.size(), -1);
  for (int j = 1; j <= n; ++j) {
    double work = profile.launch;
    int64_t entering = 0;
    for (int i = j - 1; i >= 0; --i) {
      work += seconds[static_cast<size_t>(i)];
      for (const int net : nets.out[static_cast<size_t>(i)]) {
        entering -= seen[static_cast<size_t>(net)] == j ? nets.nets[static_cast<size_t>(net)].bytes : 0;
      }
      for (const int net : nets.in[static_cast<size_t>(i)]) {
        if (seen[static_cast<size_t>(net)] != j) {
          seen[static_cast<size_t>(net)] = j;
          entering += nets.nets[static_cast<size_t>(net)].bytes;
        }
      }
      const double link =
          entering > 0 ? profile.link_latency + static_cast<double>(entering) / profile.link_bandwidth : 0;
      for (int d = 1; d <= devices; ++d) {
        const double slowest =
            std::max(best[static_cast<size_t>(d - 1) * columns + static_cast<size_t>(i)], work + link);
        double& here = best[static_cast<size_t>(d) * columns + static_cast<size_t>(j)];
        if (slowest < here) {
          here = slowest;
          from[static_cast<size_t>(d) * columns + static_cast<size_t>(j)] = i;
        }
      }
      if (n > 4000 && work > 4 * best[static_cast<size_t>(devices) * columns + static_cast<size_t>(j)]) {
        break;
      }
    }
  }
  std::vector<std::vector<int>> parts;
  int j = n;
  for (int d = devices; d >= 1; --d) {
    const int i = from[static_cast<size_t>(d) * columns + static_cast<size_t>(j)];
    std::vector<int> part;
    for (int g = i; g < j; ++g) {
      part.insert(part.end(), groups[static_cast<size_t>(g)].begin(), groups[static_cast<size_t>(g)].end());
    }
    parts.push_back(std::move(part));
    j = i;
  }
  std::ranges::reverse(parts);
  return parts;
}

}  // namespace tenon::partition
