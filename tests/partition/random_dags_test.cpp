// Every strategy and partitioner on random graphs, verified; and plans that are not right, refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "partition/cut/by_number.h"
#include "partition/partition.h"
#include "partition/plan/verify.h"
#include "support/error_text.h"
#include "support/random_dag.h"

namespace tenon::partition::random_dags_test {
namespace {

SizedGraph nth_dag(uint64_t seed) {
  return random_dag(seed, 2 + static_cast<int>(seed * 7 % 29), static_cast<DagShape>(seed % 4));
}

/// make_plan() verifies what it returns: an Error is a failure, but for limits that cannot be kept.
void make_all_plans(const SizedGraph& graph) {
  const Profile profile = roomy_profile();
  for (const auto& [name, doc] : strategy_table()) {
    make_plan(graph, {}, profile, {.fuse = {std::string(name)}});
  }
  const std::vector<std::string> all{"vertical", "depthwise", "residual", "horizontal", "elementwise", "attention"};
  const size_t groups = make_plan(graph, {}, profile, {.fuse = all}).parts.size();
  const auto few = static_cast<int64_t>(std::min<size_t>(groups, 3));
  make_plan(graph, {}, profile, {.fuse = all, .by = "parts", .parts = few, .imbalance = 1e6});
  make_plan(graph, {}, profile, {.fuse = all, .by = "pipeline", .parts = few, .micro_batches = 4});
  make_plan(graph, {}, profile, {.fuse = {"none"}, .by = "blocks"});
  make_plan(graph, {}, profile, {.fuse = {"none"}, .by = "resources"});
}

TEST(RandomDags, AllStrategiesAndPartitionersGivePlansThatVerify) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    ASSERT_EQ(error_text([&] { make_all_plans(nth_dag(seed)); }), "no error") << seed;
  }
}

TEST(SlowRandomDags, AllStrategiesAndPartitionersGivePlansThatVerify) {
  for (uint64_t seed = 0; seed < 10'000; ++seed) {
    ASSERT_EQ(error_text([&] { make_all_plans(nth_dag(seed)); }), "no error") << seed;
  }
}

TEST(RandomDags, APlanWithAnOperatorMovedIsRefused) {
  const Profile profile = roomy_profile();
  int tried = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const SizedGraph graph = nth_dag(seed);
    const Plan plan = make_plan(graph, {}, profile, {.fuse = {"vertical"}});
    for (size_t from = 0; from < plan.parts.size(); ++from) {
      for (size_t to = 0; to < plan.parts.size(); ++to) {
        if (from == to) {
          continue;
        }
        Plan moved = plan;
        const int op = moved.parts[from].operators.back();
        moved.parts[from].operators.pop_back();
        std::vector<int>& target = moved.parts[to].operators;
        target.insert(std::ranges::upper_bound(target, op), op);
        ASSERT_NE(error_text([&] { verify(moved, graph, profile); }), "no error") << seed << " " << from << " " << to;
        ++tried;
      }
    }
  }
  EXPECT_GT(tried, 1000);
}

TEST(RandomDags, APlanWithAnEdgeDroppedIsRefused) {
  const Profile profile = roomy_profile();
  int tried = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const SizedGraph graph = nth_dag(seed);
    const Plan plan = make_plan(graph, {}, profile, {.fuse = {"none"}});
    for (size_t i = 0; i < plan.transfers.size(); ++i) {
      Plan without = plan;
      ++without.transfers[i].to;
      ASSERT_NE(error_text([&] { verify(without, graph, profile); }), "no error") << seed;
      without.transfers.erase(without.transfers.begin() + static_cast<std::ptrdiff_t>(i));
      ASSERT_NE(error_text([&] { verify(without, graph, profile); }), "no error") << seed;
      ++tried;
    }
  }
  EXPECT_GT(tried, 1000);
}

TEST(RandomDags, MemoryLimitsAreKeptByComputingAgain) {
  const Profile profile = roomy_profile();
  int kept = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const SizedGraph graph = random_dag(seed, 20, DagShape::diamonds);
    const Plan plan = make_plan(graph, {}, profile, {.fuse = {"none"}});
    const int64_t limit = plan.totals.peak_bytes * 9 / 10;
    if (limit < 1) {
      continue;
    }
    const std::string text = error_text([&] {
      const Plan less = make_plan(graph, {}, profile, {.fuse = {"none"}, .memory_limit = limit});
      EXPECT_LE(less.totals.peak_bytes, limit);
      EXPECT_GE(less.totals.flops, plan.totals.flops * (1 - 1e-12));
      kept += less.totals.flops > plan.totals.flops + 0.5 ? 1 : 0;  // others are computed later instead
    });
    if (text != "no error") {
      EXPECT_NE(text.find("cannot be kept: when operator `op"), std::string::npos) << text;
    }
  }
  EXPECT_GT(kept, 20);
}

/// The least bytes that cross parts, over all ways to cut: parts one after the other, each a set that is closed
/// downwards together with those before it.
int64_t exhaustive(const CutGraph& graph, int parts, double limit) {
  const auto n = static_cast<size_t>(graph.size());
  std::vector<uint32_t> needs(n, 0);
  for (const CutGraph::Net& net : graph.nets) {
    for (const int to : net.to) {
      needs[static_cast<size_t>(to)] |= 1U << net.from;
    }
  }
  std::vector<uint32_t> closed;
  std::vector<double> weight;
  for (uint32_t set = 0; set < 1U << n; ++set) {
    bool whole = true;
    double sum = 0;
    for (size_t i = 0; i < n; ++i) {
      if ((set >> i & 1U) != 0) {
        whole &= (needs[i] & ~set) == 0;
        sum += graph.weight[i];
      }
    }
    if (whole) {
      closed.push_back(set);
      weight.push_back(sum);
    }
  }
  constexpr int64_t none = std::numeric_limits<int64_t>::max();
  std::vector<int64_t> best(closed.size(), none);
  best[0] = 0;
  for (int part = 0; part < parts; ++part) {
    std::vector<int64_t> next(closed.size(), none);
    for (size_t b = 0; b < closed.size(); ++b) {
      for (size_t a = 0; a < b; ++a) {
        if (best[a] == none || (closed[a] & ~closed[b]) != 0 || weight[b] - weight[a] > limit) {
          continue;
        }
        int64_t bytes = 0;
        for (const CutGraph::Net& net : graph.nets) {
          const bool before = (closed[a] >> net.from & 1U) != 0;
          const bool read =
              std::ranges::any_of(net.to, [&](int to) { return ((closed[b] & ~closed[a]) >> to & 1U) != 0; });
          bytes += before && read ? net.bytes : 0;
        }
        next[b] = std::min(next[b], best[a] + bytes);
      }
    }
    best = std::move(next);
  }
  return best.back();
}

TEST(CutByNumber, IsNearTheOptimumOfSmallGraphs) {
  double ours = 0;
  double optimum = 0;
  int cases = 0;
  int complete = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const SizedGraph graph = random_dag(seed, 8 + static_cast<int>(seed % 9), static_cast<DagShape>(seed % 4));
    std::vector<std::vector<int>> alone;
    for (int i = 0; i < graph.size(); ++i) {
      alone.push_back({i});
    }
    const CutGraph cuts = cut_graph(graph, alone);
    double total = 0;
    for (const double each : cuts.weight) {
      total += each;
    }
    const int parts = 2 + static_cast<int>(seed % 3);
    const double limit = 1.3 * total / parts;
    const int64_t least = exhaustive(cuts, parts, limit);
    const auto cut = cut_by_number(cuts, parts, limit);
    if (least == std::numeric_limits<int64_t>::max()) {
      EXPECT_FALSE(cut.has_value());
      continue;
    }
    if (const ExactCut exact = cut_exactly(cuts, parts, limit, {}); exact.complete) {
      EXPECT_EQ(exact.cut.value().bytes, least) << seed;
      EXPECT_EQ(cut_bytes(cuts, exact.cut->part_of), least) << seed;
      ++complete;
    }
    if (cut) {
      EXPECT_LE(cut->heaviest, limit * (1 + 1e-12));
      EXPECT_GE(cut->bytes, least);
      ours += static_cast<double>(cut->bytes);
      optimum += static_cast<double>(least);
      ++cases;
    }
  }
  EXPECT_GT(cases, 30);
  EXPECT_EQ(complete, cases);
  EXPECT_LE(ours, 1.02 * optimum);
}

}  // namespace
}  // namespace tenon::partition::random_dags_test
