#include "partition/cut/recompute.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "base/fail.h"
#include "partition/plan/flow.h"

namespace tenon::partition {
namespace {

/// A tensor that is only waiting at the worst place, and what computes it again.
struct Candidate {
  int next = -1;  // the part that reads it next
  std::vector<int> operators;
  double price = 0;  // arithmetic for each byte
};

/// The operators of a part that a tensor needs, in order.
std::vector<int> needed_for(const SizedGraph& graph, const Part& part, int tensor) {
  std::unordered_set<int> needed{graph.tensor(tensor).producer};
  for (auto op = part.operators.rbegin(); op != part.operators.rend(); ++op) {
    if (needed.contains(*op)) {
      for (const int producer : graph.producers(*op)) {
        needed.insert(producer);
      }
    }
  }
  std::vector<int> result;
  std::ranges::copy_if(part.operators, std::back_inserter(result), [&](int op) { return needed.contains(op); });
  return result;
}

std::vector<Candidate> candidates(const SizedGraph& graph, const std::vector<Part>& parts,
                                  const std::vector<PartFlow>& flow, int worst) {
  std::vector<Candidate> found;
  for (int from = 0; from < worst; ++from) {
    for (const int tensor : flow[static_cast<size_t>(from)].out) {
      int next = -1;
      bool used_here = false;
      for (int p = worst; p < static_cast<int>(parts.size()) && next < 0; ++p) {
        const auto& in = flow[static_cast<size_t>(p)].in;
        const auto at = std::ranges::lower_bound(in, tensor, {}, &PartFlow::In::tensor);
        if (at != in.end() && at->tensor == tensor && at->from == from) {
          used_here = p == worst;
          next = p;
        }
      }
      if (next < 0 || used_here || graph.tensor(tensor).output || graph.tensor(tensor).bytes == 0) {
        continue;
      }
      Candidate each{
          .next = next, .operators = needed_for(graph, parts[static_cast<size_t>(from)], tensor), .price = 0};
      bool changes_state = false;  // that would be changed twice
      for (const int op : each.operators) {
        each.price += graph.op(op).flops;
        changes_state |= std::ranges::any_of(graph.op(op).writes, [&](int t) { return graph.tensor(t).in_place; });
      }
      if (changes_state) {
        continue;
      }
      each.price /= static_cast<double>(graph.tensor(tensor).bytes);
      found.push_back(std::move(each));
    }
  }
  std::ranges::stable_sort(found, {}, &Candidate::price);
  return found;
}

/// The parts without operators that are computed again before anybody has read them: those are done later, not twice.
std::vector<Part> without_unread(const SizedGraph& graph, std::vector<Part> parts) {
  const std::vector<std::vector<int>> dead = unread(graph, parts);
  std::vector<bool> computed(graph.operators.size(), false);
  for (size_t p = 0; p < parts.size(); ++p) {
    std::erase_if(parts[p].operators, [&](int op) { return std::ranges::find(dead[p], op) != dead[p].end(); });
    parts[p].again.clear();
    for (const int op : parts[p].operators) {
      if (computed[static_cast<size_t>(op)]) {
        parts[p].again.push_back(op);
      }
      computed[static_cast<size_t>(op)] = true;
    }
  }
  std::erase_if(parts, [](const Part& part) { return part.operators.empty(); });
  return parts;
}

struct Peak {
  int64_t bytes = 0;
  int64_t excess = 0;  // over the limit, of all parts together
  int part = 0;
};

Peak peak_of(const SizedGraph& graph, const std::vector<PartFlow>& flow, int64_t limit) {
  const std::vector<int64_t> live = live_bytes(graph, flow);
  const auto worst = std::ranges::max_element(live);
  Peak peak{.bytes = *worst, .excess = 0, .part = static_cast<int>(worst - live.begin())};
  for (const int64_t bytes : live) {
    peak.excess += std::max<int64_t>(0, bytes - limit);
  }
  return peak;
}

}  // namespace

std::vector<Part> keep_within(const SizedGraph& graph, std::vector<Part> parts, int64_t limit) {
  constexpr size_t most_tries = 24;
  const size_t most_parts = 4 * parts.size() + 16;
  while (true) {
    const std::vector<PartFlow> flow = flow_of(graph, parts);
    const Peak peak = peak_of(graph, flow, limit);
    if (peak.bytes <= limit) {
      return parts;
    }
    std::vector<Part> better;
    std::vector<Candidate> open = candidates(graph, parts, flow, peak.part);
    for (size_t i = 0; i < std::min(open.size(), most_tries) && better.empty() && parts.size() < most_parts; ++i) {
      std::vector<Part> tried = parts;
      Part again;
      again.operators = open[i].operators;
      tried.insert(tried.begin() + open[i].next, std::move(again));
      tried = without_unread(graph, std::move(tried));
      const Peak after = peak_of(graph, flow_of(graph, tried), limit);
      if (after.excess < peak.excess && after.bytes <= peak.bytes) {
        better = std::move(tried);
      }
    }
    if (better.empty()) {
      fail(
          "activations of {} bytes cannot be kept: when operator `{}` runs, {} bytes are alive, and nothing that waits "
          "there is worth computing again",
          limit, graph.op(parts[static_cast<size_t>(peak.part)].operators[0]).name, peak.bytes);
    }
    parts = std::move(better);
  }
}

}  // namespace tenon::partition
