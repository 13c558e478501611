// The partitioner by number of parts against METIS on the built-in models, and how long large graphs take.
#include "partition/partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "partition/cut/by_number.h"
#include "partition/plan/verify.h"
#include "support/report.h"
#include "tenon/error.h"
#include "tenon/models.h"

#ifdef TENON_METIS
#include <metis.h>
#endif

namespace {

using namespace tenon;
using namespace tenon::partition;

std::vector<std::vector<int>> each_alone(const SizedGraph& graph) {
  std::vector<std::vector<int>> groups;
  for (int i = 0; i < graph.size(); ++i) {
    groups.push_back({i});
  }
  return groups;
}

double heaviest(const CutGraph& graph, const std::vector<int>& part_of, int parts) {
  std::vector<double> weight(static_cast<size_t>(parts), 0);
  for (size_t i = 0; i < part_of.size(); ++i) {
    weight[static_cast<size_t>(part_of[i])] += graph.weight[i];
  }
  return *std::max_element(weight.begin(), weight.end());
}

bool is_cyclic(const SizedGraph& graph, const std::vector<int>& part_of, int parts) {
  std::vector<std::vector<int>> lists(static_cast<size_t>(parts));
  for (int i = 0; i < graph.size(); ++i) {
    lists[static_cast<size_t>(part_of[static_cast<size_t>(i)])].push_back(i);
  }
  try {
    in_order(graph, lists);
    return false;
  } catch (const Error&) {
    return true;
  }
}

#ifdef TENON_METIS
/// K-way partitioning of the undirected graph: vertices weigh their arithmetic, edges their bytes.
std::optional<std::vector<int>> metis_cut(const CutGraph& graph, int parts, double imbalance) {
  std::vector<std::map<int, int64_t>> edges(graph.weight.size());
  for (const CutGraph::Net& net : graph.nets) {
    for (const int to : net.to) {
      edges[static_cast<size_t>(net.from)][to] += net.bytes;
      edges[static_cast<size_t>(to)][net.from] += net.bytes;
    }
  }
  const double heavy = *std::max_element(graph.weight.begin(), graph.weight.end());
  double total = 0;
  for (const CutGraph::Net& net : graph.nets) {
    total += static_cast<double>(net.bytes) * static_cast<double>(net.to.size());
  }
  const double unit = std::max(1.0, total / 5e8);  // bytes: sums fit METIS's numbers, which have 32 bits
  std::vector<idx_t> offsets{0};
  std::vector<idx_t> neighbours;
  std::vector<idx_t> bytes;
  std::vector<idx_t> weights;
  for (size_t i = 0; i < edges.size(); ++i) {
    for (const auto& [to, size] : edges[i]) {
      neighbours.push_back(to);
      bytes.push_back(static_cast<idx_t>(std::max(1.0, static_cast<double>(size) / unit)));
    }
    offsets.push_back(static_cast<idx_t>(neighbours.size()));
    weights.push_back(static_cast<idx_t>(std::max(1.0, graph.weight[i] / heavy * 1e6)));
  }
  auto vertices = static_cast<idx_t>(graph.size());
  idx_t constraints = 1;
  auto count = static_cast<idx_t>(parts);
  real_t allowed = static_cast<real_t>(1 + imbalance);
  idx_t objective = 0;
  std::vector<idx_t> result(graph.weight.size());
  if (METIS_PartGraphKway(&vertices, &constraints, offsets.data(), neighbours.data(), weights.data(), nullptr,
                          bytes.data(), &count, nullptr, &allowed, nullptr, &objective, result.data()) != METIS_OK) {
    return std::nullopt;
  }
  return std::vector<int>(result.begin(), result.end());
}
#else
std::optional<std::vector<int>> metis_cut(const CutGraph&, int, double) { return std::nullopt; }
#endif

/// METIS's parts in the order of their mean place, and each operator moved on to the part of what it reads where that
/// is later: the cut made acyclic, so that it can be run. It is left as it is where it can be already.
std::vector<int> made_acyclic(const SizedGraph& graph, const std::vector<int>& part_of, int parts) {
  std::vector<double> place(static_cast<size_t>(parts), 0);
  std::vector<int> members(static_cast<size_t>(parts), 0);
  for (size_t i = 0; i < part_of.size(); ++i) {
    place[static_cast<size_t>(part_of[i])] += static_cast<double>(i);
    ++members[static_cast<size_t>(part_of[i])];
  }
  std::vector<int> order(static_cast<size_t>(parts));
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return place[static_cast<size_t>(a)] / std::max(1, members[static_cast<size_t>(a)]) <
           place[static_cast<size_t>(b)] / std::max(1, members[static_cast<size_t>(b)]);
  });
  std::vector<int> rank(static_cast<size_t>(parts));
  for (int i = 0; i < parts; ++i) {
    rank[static_cast<size_t>(order[static_cast<size_t>(i)])] = i;
  }
  std::vector<int> result(part_of.size());
  for (int i = 0; i < graph.size(); ++i) {
    int part = rank[static_cast<size_t>(part_of[static_cast<size_t>(i)])];
    for (const int producer : graph.producers(i)) {
      part = std::max(part, result[static_cast<size_t>(producer)]);
    }
    result[static_cast<size_t>(i)] = part;
  }
  return result;
}

int count_parts(const std::vector<int>& part_of) {
  return static_cast<int>(std::set<int>(part_of.begin(), part_of.end()).size());
}

struct Tally {
  int runs = 0, unbalanced = 0, infeasible = 0;
  int cyclic = 0, worse_than_cyclic = 0, acyclic = 0, worse = 0;
  double log_ratio = 0, acyclic_log_ratio = 0;
  int runnable = 0, worse_than_runnable = 0, not_found = 0;
  double runnable_log_ratio = 0;
};

/// Against METIS's cut made acyclic, with the balance that this has.
void compare_runnable(const SizedGraph& graph, const CutGraph& cuts, const std::vector<int>& metis, int asked,
                      double least_limit, Tally& tally) {
  const std::vector<int> theirs = is_cyclic(graph, metis, asked) ? made_acyclic(graph, metis, asked) : metis;
  const int parts = count_parts(theirs);
  if (parts < 2) {
    return;
  }
  const auto ours = cut_by_number(cuts, parts, std::max(least_limit, heaviest(cuts, theirs, asked)));
  if (!ours) {
    ++tally.not_found;
    return;
  }
  ++tally.runnable;
  tally.worse_than_runnable += ours->bytes > cut_bytes(cuts, theirs) ? 1 : 0;
  tally.runnable_log_ratio +=
      std::log(static_cast<double>(ours->bytes + 1) / static_cast<double>(cut_bytes(cuts, theirs) + 1));
}

void compare(const SizedGraph& graph, const std::string& model, Tally& tally, bool show) {
  const CutGraph cuts = cut_graph(graph, each_alone(graph));
  const double total = std::accumulate(cuts.weight.begin(), cuts.weight.end(), 0.0);
  for (int asked = 2; asked <= std::min(16, graph.size()); ++asked) {
    constexpr double imbalance = 0.1;
    const auto metis = metis_cut(cuts, asked, imbalance);
    // METIS leaves parts empty where operators are few: both make as many as it did.
    const int parts = metis ? count_parts(*metis) : asked;
    if (parts < 2) {
      continue;
    }
    const double mean = total / parts;
    // METIS does not always keep what it is told: both get what it took.
    const double limit = std::max((1 + imbalance) * mean, metis ? heaviest(cuts, *metis, asked) : 0);
    if (metis) {
      compare_runnable(graph, cuts, *metis, asked, (1 + imbalance) * mean, tally);
    }
    const auto ours = cut_by_number(cuts, parts, limit);
    ++tally.runs;
    if (!ours) {
      ++tally.infeasible;
      continue;
    }
    tally.unbalanced += heaviest(cuts, ours->part_of, parts) > limit * (1 + 1e-9) ? 1 : 0;
    if (!metis) {
      continue;
    }
    const int64_t theirs = cut_bytes(cuts, *metis);
    const bool cyclic = is_cyclic(graph, *metis, asked);
    ++(cyclic ? tally.cyclic : tally.acyclic);
    (cyclic ? tally.worse_than_cyclic : tally.worse) += ours->bytes > theirs ? 1 : 0;
    const double ratio = std::log(static_cast<double>(ours->bytes + 1) / static_cast<double>(theirs + 1));
    tally.log_ratio += ratio;
    tally.acyclic_log_ratio += cyclic ? 0 : ratio;
    if (show) {
      fmt::print(stderr, "{} {}: ours {} METIS {}{} imbalance {:.2f}\n", model, parts, ours->bytes, theirs,
                 cyclic ? " (cyclic)" : "", limit / mean - 1);
    }
  }
}

/// Diamonds one after the other, as residual networks have them.
SizedGraph large_graph(int operators) {
  SizedGraph graph{.model = "large", .operators = {}, .tensors = {}};
  graph.tensors.push_back({.bytes = 4096});
  for (int i = 0; i < operators; ++i) {
    SizedOperator op{.name = "op" + std::to_string(i + 1), .role = i % 4 == 0 ? Role::product : Role::map};
    op.reads.push_back({i, 4096});
    if (i % 4 == 3) {
      op.reads.insert(op.reads.begin(), {i - 3, 4096});
    }
    op.writes = {i + 1};
    op.flops = 1000 + i % 97;
    graph.operators.push_back(std::move(op));
    graph.tensors.push_back({.bytes = 4096 + i % 13 * 256});
  }
  link(graph);
  graph.tensors.back().output = true;
  return graph;
}

double seconds_for(const SizedGraph& graph, const PlanOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  make_plan(graph, {}, profile_named("cpu64"), options);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report(argc, argv);
  Tally tally;
  for (const ModelEntry& entry : model_table()) {
    if (report.wants(fmt::format("metis/{}", entry.name))) {
      compare(sized(work_graph(with_weights(entry.build())), Bindings::parse(entry.typical)), std::string(entry.name),
              tally, !report.json());
    }
  }
  if (const int compared = tally.cyclic + tally.acyclic; compared > 0) {
    report.add("metis/runs", tally.runs, "");
    report.add("metis/limits of ours not kept", tally.unbalanced, "", 0);
    report.add("metis/limits that no cut of ours keeps", tally.infeasible, "");
    report.add("metis/cyclic cuts of METIS, which nothing can run", tally.cyclic, "");
    report.add("metis/cuts with more bytes than cyclic ones of METIS", tally.worse_than_cyclic, "");
    report.add("metis/cuts with more bytes than acyclic ones of METIS", tally.worse, "", 0);
    report.add("metis/bytes by METIS's, geometric mean", std::exp(tally.log_ratio / compared), "x", 0.75);
    const int runnable = std::max(1, tally.runnable);
    report.add("metis/cuts with more bytes than METIS's made acyclic", tally.worse_than_runnable, "", 0);
    report.add("metis/not found within the balance of METIS's made acyclic", tally.not_found, "", 0);
    report.add("metis/bytes by METIS's made acyclic, geometric mean", std::exp(tally.runnable_log_ratio / runnable),
               "x", 0.75);
    report.add("metis/bytes by METIS's where that is acyclic, geometric mean",
               std::exp(tally.acyclic_log_ratio / std::max(1, tally.acyclic)), "x");
  }
  if (report.wants("large")) {
    const SizedGraph graph = large_graph(100'000);
    report.add("large/100,000 operators by fusion", seconds_for(graph, {}), "s", 10);
    report.add("large/100,000 operators in 16 parts",
               seconds_for(graph, {.fuse = {"vertical", "residual"}, .by = "parts", .parts = 16}), "s", 10);
    report.add("large/100,000 operators by blocks", seconds_for(graph, {.fuse = {"none"}, .by = "blocks"}), "s", 10);
    report.add("large/100,000 operators by resources", seconds_for(graph, {.by = "resources"}), "s", 10);
  }
  return report.finish();
}
