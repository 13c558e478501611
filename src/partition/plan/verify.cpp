#include "partition/plan/verify.h"

#include <algorithm>
#include <cmath>
#include <queue>

#include "base/fail.h"
#include "partition/plan/estimate.h"

namespace tenon::partition {
namespace {

/// Which part computes each operator first.
std::vector<int> first_parts(const Plan& plan, const SizedGraph& graph) {
  std::vector<int> first(graph.operators.size(), -1);
  for (int p = 0; p < static_cast<int>(plan.parts.size()); ++p) {
    const Part& part = plan.parts[static_cast<size_t>(p)];
    if (part.operators.empty()) {
      fail("part {} of the plan has no operators", p + 1);
    }
    for (const int index : part.operators) {
      if (index < 0 || index >= graph.size()) {
        fail("part {} of the plan names operator number {}, and the model has {}", p + 1, index, graph.size());
      }
      const bool again = std::ranges::find(part.again, index) != part.again.end();
      int& of = first[static_cast<size_t>(index)];
      if (of >= 0 && (!again || of == p)) {
        fail("operator `{}` is in part {} and again in part {}, which does not say that it computes it again",
             graph.op(index).name, of + 1, p + 1);
      }
      if (of < 0 && again) {
        fail("part {} computes operator `{}` again, and no part before it has", p + 1, graph.op(index).name);
      }
      of = of < 0 ? p : of;
    }
    for (const int index : part.again) {
      if (std::ranges::find(part.operators, index) == part.operators.end()) {
        fail("part {} says that it computes operator number {} again, and does not have it", p + 1, index);
      }
    }
  }
  for (int i = 0; i < graph.size(); ++i) {
    if (first[static_cast<size_t>(i)] < 0) {
      fail("operator `{}` is in no part of the plan", graph.op(i).name);
    }
  }
  return first;
}

void check_identity(const Plan& plan, const SizedGraph& graph, const Profile& profile) {
  if (plan.hash != hash_of(graph)) {
    fail("the plan is of model `{}` with other operators than `{}` has, of which the first is `{}`", plan.model,
         graph.model, graph.operators.empty() ? "none" : graph.op(0).name);
  }
  if (plan.profile != profile.name) {
    fail("the plan is for profile `{}`, and this is `{}`", plan.profile, profile.name);
  }
}

void check_units(const Plan& plan, const SizedGraph& graph, const Profile& profile) {
  for (size_t p = 0; p < plan.parts.size(); ++p) {
    const Part& part = plan.parts[p];
    if (std::ranges::find(profile.units, part.unit, &Unit::name) == profile.units.end()) {
      fail("part {}, which begins with operator `{}`, is placed on unit `{}`, which profile `{}` does not have", p + 1,
           graph.op(part.operators[0]).name, part.unit, profile.name);
    }
  }
}

void check_order(const Plan& plan, const SizedGraph& graph, const std::vector<int>& first) {
  std::vector<int> done(graph.operators.size(), -1);  // the part that has computed it last
  for (int p = 0; p < static_cast<int>(plan.parts.size()); ++p) {
    for (const int index : plan.parts[static_cast<size_t>(p)].operators) {
      for (const int producer : graph.producers(index)) {
        if (done[static_cast<size_t>(producer)] >= 0) {
          continue;
        }
        const int of = first[static_cast<size_t>(producer)];
        if (of == p) {
          fail("part {} computes operator `{}` before `{}`, which it reads", p + 1, graph.op(index).name,
               graph.op(producer).name);
        }
        std::vector<std::vector<int>> parts(plan.parts.size());
        for (int i = 0; i < graph.size(); ++i) {
          parts[static_cast<size_t>(first[static_cast<size_t>(i)])].push_back(i);
        }
        in_order(graph, parts);  // says so where there is a circle
        fail("operator `{}` of part {} reads `{}`, which is in a later part, {}", graph.op(index).name, p + 1,
             graph.op(producer).name, of + 1);
      }
      done[static_cast<size_t>(index)] = p;
    }
  }
}

/// What is computed again has been read before: otherwise it was computed for nothing.
void check_read(const Plan& plan, const SizedGraph& graph) {
  const std::vector<std::vector<int>> dead = unread(graph, plan.parts);
  for (size_t p = 0; p < dead.size(); ++p) {
    if (!dead[p].empty()) {
      fail("part {} computes operator `{}`, and nobody reads that before a later part computes it again", p + 1,
           graph.op(dead[p].front()).name);
    }
  }
}

void check_capacity(const Plan& plan, const SizedGraph& graph, const Profile& profile) {
  for (size_t p = 0; p < plan.parts.size(); ++p) {
    const Part& part = plan.parts[p];
    const Memory& memory = profile.memory(profile.unit(part.unit).memory);
    const int64_t piece = part.tiles < 1 ? memory.bytes + 1 : (part.figures.working_set - 1) / part.tiles + 1;
    if (part.figures.working_set > 0 && piece > memory.bytes && !memory.cache) {
      fail("part {}, which begins with operator `{}`, works on {} bytes in {} pieces, and memory `{}` has {}", p + 1,
           graph.op(part.operators[0]).name, part.figures.working_set, part.tiles, memory.name, memory.bytes);
    }
    const double flops = part.figures.flops / static_cast<double>(std::max<int64_t>(part.tiles, 1));
    if (plan.limits.flops > 0 && flops > plan.limits.flops * (1 + 1e-9)) {
      fail("part {}, which begins with operator `{}`, has {} FLOPs in a piece, and the plan promises {}", p + 1,
           graph.op(part.operators[0]).name, flops, plan.limits.flops);
    }
  }
  const Memory& main = profile.memories.front();
  if (plan.totals.peak_bytes > main.bytes - std::min(main.bytes, weight_bytes(graph) / plan.devices)) {
    fail(
        "the model takes {} bytes of activations and {} of weights, and memory `{}` of `{}` has {}; its first "
        "operator is `{}`",
        plan.totals.peak_bytes, weight_bytes(graph), main.name, profile.name, main.bytes, graph.op(0).name);
  }
  if (plan.memory_limit > 0 && plan.totals.peak_bytes > plan.memory_limit) {
    fail("activations take {} bytes at once, and the plan promises {}; its first operator is `{}`",
         plan.totals.peak_bytes, plan.memory_limit, graph.op(0).name);
  }
}

bool is_near(double a, double b) { return std::fabs(a - b) <= 1e-9 * std::max({std::fabs(a), std::fabs(b), 1e-30}); }

bool agree(const Figures& a, const Figures& b) {
  return is_near(a.flops, b.flops) && a.bytes_read == b.bytes_read && a.bytes_written == b.bytes_written &&
         a.weight_bytes == b.weight_bytes && a.bytes_again == b.bytes_again && a.working_set == b.working_set &&
         a.parallelism == b.parallelism && is_near(a.seconds, b.seconds) && is_near(a.joules, b.joules);
}

void check_figures(const Plan& plan, const SizedGraph& graph, const Profile& profile) {
  Plan right = plan;
  estimate(right, graph, profile);
  for (size_t p = 0; p < plan.parts.size(); ++p) {
    if (!agree(plan.parts[p].figures, right.parts[p].figures)) {
      fail("the figures of part {}, which begins with operator `{}`, are not what its operators give", p + 1,
           graph.op(plan.parts[p].operators[0]).name);
    }
  }
  if (plan.transfers != right.transfers) {
    for (const Transfer& transfer : right.transfers) {
      if (std::ranges::find(plan.transfers, transfer) == plan.transfers.end()) {
        fail("the result of operator `{}` leaves part {}, and the plan's transfers do not have that",
             graph.op(graph.tensor(transfer.tensor).producer).name, transfer.from + 1);
      }
    }
    fail("the plan has {} transfers, and its parts make {}; its first operator is `{}`", plan.transfers.size(),
         right.transfers.size(), graph.op(0).name);
  }
  const Totals& a = plan.totals;
  const Totals& b = right.totals;
  if (!is_near(a.flops, b.flops) || a.bytes_moved != b.bytes_moved || a.transfer_bytes != b.transfer_bytes ||
      a.weight_bytes != b.weight_bytes || a.peak_bytes != b.peak_bytes || !is_near(a.latency, b.latency) ||
      !is_near(a.interval, b.interval) || !is_near(a.joules, b.joules)) {
    fail("the plan's totals are not the sum of its parts; its first operator is `{}`", graph.op(0).name);
  }
}

}  // namespace

std::vector<std::vector<int>> in_order(const SizedGraph& graph, std::vector<std::vector<int>> parts) {
  std::vector<int> part_of(graph.operators.size(), -1);
  std::vector<int> earliest(parts.size(), graph.size());
  for (int p = 0; p < static_cast<int>(parts.size()); ++p) {
    std::ranges::sort(parts[static_cast<size_t>(p)]);
    for (const int index : parts[static_cast<size_t>(p)]) {
      part_of[static_cast<size_t>(index)] = p;
      earliest[static_cast<size_t>(p)] = std::min(earliest[static_cast<size_t>(p)], index);
    }
  }
  std::vector<std::vector<int>> users(parts.size());
  std::vector<int> waits(parts.size(), 0);
  for (int i = 0; i < graph.size(); ++i) {
    for (const int producer : graph.producers(i)) {
      const int from = part_of[static_cast<size_t>(producer)];
      const int to = part_of[static_cast<size_t>(i)];
      if (from >= 0 && to >= 0 && from != to) {
        users[static_cast<size_t>(from)].push_back(to);
        ++waits[static_cast<size_t>(to)];
      }
    }
  }
  using Entry = std::pair<int, int>;  // of parts that wait for nothing, the one that begins first
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  for (size_t p = 0; p < parts.size(); ++p) {
    if (waits[p] == 0) {
      ready.emplace(earliest[p], static_cast<int>(p));
    }
  }
  std::vector<std::vector<int>> result;
  while (!ready.empty()) {
    const auto p = static_cast<size_t>(ready.top().second);
    ready.pop();
    for (const int user : users[p]) {
      if (--waits[static_cast<size_t>(user)] == 0) {
        ready.emplace(earliest[static_cast<size_t>(user)], user);
      }
    }
    result.push_back(std::move(parts[p]));
  }
  if (result.size() < parts.size()) {
    for (int i = 0; i < graph.size(); ++i) {
      const int to = part_of[static_cast<size_t>(i)];
      for (const int producer : graph.producers(i)) {
        const int from = part_of[static_cast<size_t>(producer)];
        if (from != to && from >= 0 && to >= 0 && waits[static_cast<size_t>(from)] > 0 &&
            waits[static_cast<size_t>(to)] > 0) {
          fail(
              "parts depend on each other in a circle: operator `{}` of part {} reads `{}` of part {}, which waits for "
              "the other",
              graph.op(i).name, to + 1, graph.op(producer).name, from + 1);
        }
      }
    }
  }
  return result;
}

void verify(const Plan& plan, const SizedGraph& graph, const Profile& profile) {
  check_identity(plan, graph, profile);
  if (plan.parts.empty()) {
    fail("the plan has no parts");
  }
  if (plan.devices < 1 || plan.micro_batches < 1) {
    fail("the plan says {} devices and {} micro-batches; each is at least 1", plan.devices, plan.micro_batches);
  }
  check_order(plan, graph, first_parts(plan, graph));
  check_read(plan, graph);
  check_units(plan, graph, profile);
  check_figures(plan, graph, profile);
  check_capacity(plan, graph, profile);
}

}  // namespace tenon::partition
