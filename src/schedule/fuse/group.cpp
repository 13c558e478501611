#include "schedule/fuse/group.h"

#include <algorithm>
#include <numeric>

#include "base/fail.h"
#include "kernel/program/program.h"
#include "schedule/fuse/attempts.h"
#include "schedule/fuse/fusion.h"
#include "schedule/fuse/repeated_bytes.h"
#include "schedule/fuse/row_time.h"

namespace tenon::schedule {
namespace {

/// Beyond so many steps none are joined: what waits for what takes a bit for each pair.
constexpr size_t kMostJoined = size_t{1} << 15;

/// A form for long rows that reads them once is the better one as soon as rows leave the first cache, not the second:
/// their bytes count so many times.
constexpr int64_t kOnePass = 32;

/// What a form for long rows may take more than the other one before it counts as slower: neither is known exactly.
constexpr double kMuchSlower = 1.1;

class StepSet {
 public:
  explicit StepSet(size_t count) : words_((count + 63) / 64, 0) {}

  bool contains(size_t step) const { return (words_[step / 64] >> (step % 64) & 1) != 0; }
  void insert(size_t step) { words_[step / 64] |= uint64_t{1} << (step % 64); }
  void insert(const StepSet& other) {
    for (size_t i = 0; i < words_.size(); ++i) {
      words_[i] |= other.words_[i];
    }
  }

 private:
  std::vector<uint64_t> words_;
};

/// Steps and what must run before each, while equal kernels are moved side by side.
class StepOrder {
 public:
  explicit StepOrder(size_t count) : before_(count), joined_(count) { std::iota(joined_.begin(), joined_.end(), 0); }

  void add_edge(size_t from, size_t to) { before_[to].insert(from); }

  /// Run a step that runs alone with `into` and those that were joined to it, unless one has to wait for the other. All
  /// edges have been added.
  bool try_join(size_t into, size_t step) {
    if (before_.size() > kMostJoined) {
      return false;
    }
    if (waits_for_.empty()) {
      find_waits();
    }
    if (waits_for_[into].contains(step) || waits_for_[step].contains(into)) {
      return false;
    }
    joined_[step] = into;
    StepSet ours = waits_for_[into];
    ours.insert(waits_for_[step]);
    StepSet with_us = ours;
    for (size_t i = 0; i < joined_.size(); ++i) {
      if (joined_[i] == into) {
        with_us.insert(i);
      }
    }
    for (size_t i = 0; i < joined_.size(); ++i) {
      if (joined_[i] == into) {
        waits_for_[i] = ours;
      } else if (waits_for_[i].contains(into) || waits_for_[i].contains(step)) {
        waits_for_[i].insert(with_us);
      }
    }
    return true;
  }

  size_t leader(size_t step) const { return joined_[step]; }

  /// All steps, those that run as one behind each other; fewer when the order has a cycle.
  std::vector<size_t> order() const {
    const size_t count = before_.size();
    std::vector<std::set<size_t>> waits(count);
    std::vector<std::vector<size_t>> members(count);
    for (size_t i = 0; i < count; ++i) {
      members[joined_[i]].push_back(i);
      for (const size_t from : before_[i]) {
        if (joined_[from] == joined_[i]) {
          return {};
        }
        waits[joined_[i]].insert(joined_[from]);
      }
    }
    std::set<size_t> ready;
    std::vector<std::vector<size_t>> after(count);
    for (size_t i = 0; i < count; ++i) {
      for (const size_t from : waits[i]) {
        after[from].push_back(i);
      }
      if (joined_[i] == i && waits[i].empty()) {
        ready.insert(i);
      }
    }
    std::vector<size_t> result;
    while (!ready.empty()) {
      const size_t next = *ready.begin();
      ready.erase(ready.begin());
      result.insert(result.end(), members[next].begin(), members[next].end());
      for (const size_t later : after[next]) {
        waits[later].erase(next);
        if (waits[later].empty()) {
          ready.insert(later);
        }
      }
    }
    return result;
  }

 private:
  void find_waits() {
    waits_for_.assign(before_.size(), StepSet(before_.size()));
    const std::vector<size_t> all = order();
    TENON_CHECK(all.size() == before_.size(), "steps that wait for each other");
    for (const size_t step : all) {
      for (const size_t from : before_[step]) {
        waits_for_[step].insert(waits_for_[from]);
        waits_for_[step].insert(from);
      }
    }
  }

  std::vector<std::set<size_t>> before_;
  std::vector<StepSet> waits_for_;  // through any number of others; all or none of those that run as one
  std::vector<size_t> joined_;      // the step that each runs with: itself, or an earlier one
};

/// Kernels with equal signatures do the same to different arrays.
std::string signature(const Cluster& cluster) {
  std::string text;
  for (const Node* node : cluster.nodes) {
    text += op_name(node->op);
    text += name(node->shapes[0].dtype());
    text += ' ';
  }
  return text;
}

}  // namespace

/// 1 where a form for long rows is to be used as soon as they leave the cache. One that computes more may take longer
/// than the memory that it saves, where vectors are short. Then threads that share rows are all that it is good for: 0
/// with a row for every core. What the other form keeps of rows is no more than what it writes of them.
Extent Fusion::one_if_profitable(const loops::Kernel& long_rows, const loops::Kernel& kernel) const {
  if (options_.most_row_bytes == 0) return 1;  // whatever it costs
  const double here = row_time(kernel, options_.vector_bytes);
  if (row_time(long_rows, options_.vector_bytes) <= kMuchSlower * here) return 1;
  const Extent rows = loops::grid_size(kernel, kernel.phases.front()).substitute(kernel.arguments);
  return min(1, floordiv(options_.cores - 1, max(1, rows)));
}

/// The kernel for rows that do not stay in cache, where there may be some and it reads less or needs less scratch.
std::optional<LongRows> Fusion::long_rows(const Cluster& cluster) const {
  const loops::Kernel& kernel = cluster.nest.kernel;
  const Extent row_bytes = repeated_bytes(kernel);
  const auto is_short = [&](const Extent& bytes) {
    const auto known = bytes.constant();
    return known && *known <= options_.most_row_bytes;
  };
  const bool stays = is_short(row_bytes * kOnePass);
  if (stays && !cluster.nest.has_products) {
    return std::nullopt;
  }
  const std::vector<Value> outputs = outputs_of(cluster.owned, {});
  const Extent scratch = loops::scratch_bytes(kernel).substitute(kernel.arguments);
  auto streamed = build(cluster.members, outputs, {.rows = RowForm::stream, .shared_code = false});
  if (auto* nest = std::get_if<Nest>(&streamed); nest && nest->has_products) {
    // In blocks as soon as rows are longer than one, or too wide to be stored.
    const int64_t block = options_.tiles.streamed_block;
    Extent weighted = nest->streamed_row * std::max<int64_t>(1, options_.most_row_bytes / block);
    if (!is_short(scratch)) {
      weighted = max(weighted, scratch);
    }
    return is_short(weighted) ? std::nullopt : std::optional(LongRows{std::move(*nest), weighted});
  }
  if (stays) {
    return std::nullopt;
  }
  const bool fits = is_short(scratch);
  if (auto* nest = std::get_if<Nest>(&streamed); nest && (!fits || nest->streamed > cluster.nest.streamed)) {
    const Extent counted = reads_once(nest->kernel) ? row_bytes * kOnePass : row_bytes;
    const Extent weighted = counted * one_if_profitable(nest->kernel, kernel);
    return is_short(weighted) ? std::nullopt : std::optional(LongRows{std::move(*nest), weighted});
  }
  if (fits) {
    return std::nullopt;
  }
  auto built = build(cluster.members, outputs, {.rows = RowForm::recompute, .shared_code = false});
  TENON_CHECK(std::holds_alternative<Nest>(built), "{}", std::get<Refusal>(built).why);
  Nest& nest = std::get<Nest>(built);
  if (loops::scratch_bytes(nest.kernel).substitute(nest.kernel.arguments) == scratch) {
    return std::nullopt;  // it keeps no rows
  }
  return LongRows{std::move(nest), scratch};
}

/// The nodes that the outputs need: others may have been left to the clusters that read them.
std::vector<const Node*> Fusion::computed(const Cluster& cluster, const std::vector<Value>& outputs) const {
  std::unordered_set<const Node*> needed;
  std::vector<const Node*> pending;
  for (const Value& output : outputs) {
    pending.push_back(&output.node());
  }
  while (!pending.empty()) {
    const Node* node = pending.back();
    pending.pop_back();
    if (!cluster.members.contains(node) || !needed.insert(node).second) {
      continue;
    }
    for (const Value& operand : roles_.operands(*node)) {
      pending.push_back(&operand.node());
    }
  }
  std::vector<const Node*> nodes(needed.begin(), needed.end());
  std::ranges::sort(nodes, {}, [&](const Node* node) { return order_.at(node); });
  return nodes;
}

std::vector<GroupedStep> Fusion::steps(bool side_by_side) const {
  std::vector<const Cluster*> clusters;
  for (const auto& [id, cluster] : clusters_) {
    clusters.push_back(&cluster);
  }
  std::ranges::sort(clusters, {}, [&](const Cluster* cluster) { return order_.at(cluster->nodes.front()); });
  std::unordered_map<int, size_t> index;
  for (size_t i = 0; i < clusters.size(); ++i) {
    index[clusters[i]->id] = i;
  }
  StepOrder order(clusters.size());
  for (size_t i = 0; i < clusters.size(); ++i) {
    for (const Node* node : clusters[i]->owned) {
      for (size_t k = 0; k < node->shapes.size(); ++k) {
        for (const int reader : clusters_reading(Value(node, static_cast<int>(k)))) {
          if (reader != clusters[i]->id) {
            order.add_edge(i, index.at(reader));
          }
        }
        if (const auto placed = placements_.find(Value(node, static_cast<int>(k))); placed != placements_.end()) {
          for (const int reader : clusters_reading(placed->second.whole)) {
            order.add_edge(i, index.at(reader));
          }
        }
      }
    }
  }
  for (size_t i = 0; i < clusters.size(); ++i) {
    for (const int writer : clusters_overwriting(*clusters[i])) {
      order.add_edge(i, index.at(writer));
    }
  }
  const auto is_alone = [&](size_t i) { return roles_.of(*clusters[i]->nodes[0]) == NodeRole::alone; };
  if (side_by_side) {
    std::unordered_map<std::string, std::vector<size_t>> alike;
    for (size_t i = 0; i < clusters.size(); ++i) {
      if (is_alone(i) || clusters[i]->nest.reduces) {
        continue;
      }
      std::vector<size_t>& candidates = alike[signature(*clusters[i])];
      const bool joined = std::ranges::any_of(candidates, [&](size_t into) {
        const bool can = order.try_join(into, i);
        AttemptLog::record([&] {
          return FusionAttempt{.rule = kSideBySideRule,
                               .first = clusters[into]->nodes,
                               .second = clusters[i]->nodes,
                               .joined = can,
                               .finding = can ? "" : "one of them waits for what runs with the other, or after it"};
        });
        return can;
      });
      if (!joined) {
        candidates.push_back(i);
      }
    }
  }
  std::vector<size_t> side(clusters.size(), 0);  // how many run as one with each
  for (size_t i = 0; i < clusters.size(); ++i) {
    ++side[order.leader(i)];
  }
  std::vector<GroupedStep> steps;
  size_t leader = clusters.size();
  const std::vector<size_t> in_order = order.order();
  TENON_CHECK(in_order.size() == clusters.size(), "{} of {} steps wait for each other",
              clusters.size() - in_order.size(), clusters.size());
  for (const size_t i : in_order) {
    const Cluster& cluster = *clusters[i];
    if (is_alone(i)) {
      const std::string why = roles_.reason(*cluster.nodes[0]);
      steps.push_back(
          {.groups = {}, .alone = cluster.nodes[0], .boundary = why.empty() ? "it is a step of its own" : why});
      leader = clusters.size();
      continue;
    }
    if (order.leader(i) != leader) {
      leader = order.leader(i);
      steps.push_back({.groups = {}, .alone = nullptr, .boundary = boundary(cluster)});
    }
    std::vector<Value> outputs = outputs_of(cluster.owned, {});
    Group group{.nodes = computed(cluster, outputs),
                .outputs = outputs,
                .boundary = boundary(cluster),
                .nest = cluster.nest,
                .long_rows = long_rows(cluster)};
    if (side[leader] > 1) {
      auto built = build(cluster.members, group.outputs, {.rows = RowForm::keep, .shared_code = true});
      TENON_CHECK(std::holds_alternative<Nest>(built), "{}", std::get<Refusal>(built).why);
      group.nest = std::get<Nest>(std::move(built));
    }
    steps.back().groups.push_back(std::move(group));
  }
  return steps;
}

std::vector<GroupedStep> group(const Graph& graph, const Roles& roles, MapPrograms& programs,
                               const ScheduleOptions& options, const StateUpdates& state) {
  Fusion fusion(graph, roles, programs, options, state);
  if (options.fuse) {
    fusion.recompute_free();
    fusion.fuse_producers();
    fusion.reduce_in_tiles();
    fusion.recompute_cheap();
    fusion.recompute_of_shared();
    fusion.fuse_siblings();
    fusion.settle_boundaries();
    fusion.place_concats();
    fusion.confirm_boundaries();
  }
  std::vector<GroupedStep> steps = fusion.steps(options.fuse);
  // Numbers that are only stored: nothing in the program waits for them but steps that are no loops, and they wait for
  // nothing.
  std::vector<Group> numbers;
  for (const Value& value : roles.stored_folded()) {
    auto built = build_nest({.outputs = {value},
                             .is_loaded = [](const Value& v) { return v.node().as<Input>() != nullptr; },
                             .options = options},
                            programs);
    TENON_CHECK(std::holds_alternative<Nest>(built), "{}", std::get<Refusal>(built).why);
    numbers.push_back(
        {.nodes = {&value.node()}, .outputs = {value}, .boundary = {}, .nest = std::get<Nest>(built), .long_rows = {}});
  }
  if (numbers.empty()) {
    return steps;
  }
  if (steps.empty() || steps.front().alone || !options.fuse) {
    steps.insert(steps.begin(), GroupedStep{});
  }
  std::ranges::move(numbers, std::back_inserter(steps.front().groups));
  return steps;
}

}  // namespace tenon::schedule
