#include "partition/cut/by_number.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace tenon::partition {
namespace {

/// Nodes of each part and readers of each net in it, kept up to date while nodes move.
class Refinement {
 public:
  Refinement(const CutGraph& graph, NumberedCut& cut, int parts, double limit)
      : graph_(graph),
        cut_(cut),
        parts_(static_cast<size_t>(parts)),
        limit_(limit),
        weight_(parts_, 0),
        nodes_(parts_, 0),
        readers_(graph.nets.size() * parts_, 0) {
    for (int node = 0; node < graph.size(); ++node) {
      weight_[part(node)] += graph.weight[static_cast<size_t>(node)];
      ++nodes_[part(node)];
    }
    for (size_t net = 0; net < graph.nets.size(); ++net) {
      for (const int to : graph.nets[net].to) {
        ++readers_[net * parts_ + part(to)];
      }
    }
  }

  /// One go over all nodes; whether anything moved that saves bytes.
  bool pass() {
    bool gained = false;
    for (int node = 0; node < graph_.size(); ++node) {
      const size_t from = part(node);
      if (nodes_[from] == 1) {
        continue;
      }
      const auto [low, high] = allowed(node);
      int64_t best = 0;
      size_t to = from;
      bool balances = false;
      for (size_t q = low; q <= high; ++q) {
        const double own = graph_.weight[static_cast<size_t>(node)];
        if (q == from || weight_[q] + own > limit_) {
          continue;
        }
        const int64_t gain = gain_of(node, q);
        const bool lighter = gain == best && to == from && weight_[q] + own < weight_[from] && gain >= 0;
        if (gain > best || lighter) {
          best = gain;
          to = q;
          balances = lighter;
        }
      }
      if (to != from) {
        move(node, to);
        gained |= best > 0 && !balances;
      }
    }
    return gained;
  }

  /// Nodes of parts beyond the limit go where there is room, those that cost least first.
  void shed() {
    for (int tries = 0; tries < 4 * graph_.size(); ++tries) {
      const auto heavy = static_cast<size_t>(std::ranges::max_element(weight_) - weight_.begin());
      if (weight_[heavy] <= limit_) {
        return;
      }
      int best = -1;
      size_t to = heavy;
      int64_t gain = 0;
      for (int node = 0; node < graph_.size(); ++node) {
        if (part(node) != heavy || nodes_[heavy] == 1) {
          continue;
        }
        const auto [low, high] = allowed(node);
        for (size_t q = low; q <= high; ++q) {
          const bool fits = q != heavy && weight_[q] + graph_.weight[static_cast<size_t>(node)] < weight_[heavy];
          if (fits && (best < 0 || gain_of(node, q) > gain)) {
            best = node;
            to = q;
            gain = gain_of(node, q);
          }
        }
      }
      if (best < 0) {
        return;
      }
      move(best, to);
    }
  }

  /// Moves a node as far as edges and the limit allow, whatever it costs.
  void kick(int node, uint64_t random) {
    const auto [low, high] = allowed(node);
    const size_t to = low + random % (high - low + 1);
    if (to != part(node) && nodes_[part(node)] > 1 &&
        weight_[to] + graph_.weight[static_cast<size_t>(node)] <= limit_) {
      move(node, to);
    }
  }

  void finish() {
    cut_.bytes = cut_bytes(graph_, cut_.part_of);
    cut_.heaviest = *std::ranges::max_element(weight_);
  }

 private:
  size_t part(int node) const { return static_cast<size_t>(cut_.part_of[static_cast<size_t>(node)]); }

  std::pair<size_t, size_t> allowed(int node) const {
    size_t low = 0;
    size_t high = parts_ - 1;
    for (const int net : graph_.in[static_cast<size_t>(node)]) {
      low = std::max(low, part(graph_.nets[static_cast<size_t>(net)].from));
    }
    for (const int net : graph_.out[static_cast<size_t>(node)]) {
      for (const int to : graph_.nets[static_cast<size_t>(net)].to) {
        high = std::min(high, part(to));
      }
    }
    return {low, high};
  }

  int64_t gain_of(int node, size_t to) const {
    const size_t from = part(node);
    int64_t gain = 0;
    for (const int net : graph_.in[static_cast<size_t>(node)]) {
      const CutGraph::Net& each = graph_.nets[static_cast<size_t>(net)];
      const int* readers = &readers_[static_cast<size_t>(net) * parts_];
      const size_t producer = part(each.from);
      gain += from != producer && readers[from] == 1 ? each.bytes : 0;
      gain -= to != producer && readers[to] == 0 ? each.bytes : 0;
    }
    for (const int net : graph_.out[static_cast<size_t>(node)]) {
      const int* readers = &readers_[static_cast<size_t>(net) * parts_];
      gain += graph_.nets[static_cast<size_t>(net)].bytes * ((readers[to] > 0 ? 1 : 0) - (readers[from] > 0 ? 1 : 0));
    }
    return gain;
  }

  void move(int node, size_t to) {
    const size_t from = part(node);
    for (const int net : graph_.in[static_cast<size_t>(node)]) {
      --readers_[static_cast<size_t>(net) * parts_ + from];
      ++readers_[static_cast<size_t>(net) * parts_ + to];
    }
    weight_[from] -= graph_.weight[static_cast<size_t>(node)];
    weight_[to] += graph_.weight[static_cast<size_t>(node)];
    --nodes_[from];
    ++nodes_[to];
    cut_.part_of[static_cast<size_t>(node)] = static_cast<int>(to);
  }

  const CutGraph& graph_;
  NumberedCut& cut_;
  const size_t parts_;
  const double limit_;
  std::vector<double> weight_;
  std::vector<int> nodes_;
  std::vector<int> readers_;  // of each net in each part
};

/// Whether moves bring all parts within the limit. Nodes leave parts that are too heavy for their neighbours, and those
/// theirs, whatever bytes that costs.
bool balance(const CutGraph& graph, NumberedCut& cut, int parts, double limit) {
  constexpr int rounds = 60;
  for (int round = 0; round < rounds && cut.heaviest > limit; ++round) {
    // The limit falls to the one that is asked for, so that what is too heavy flows on from part to part.
    const double now = std::max(limit, limit + (cut.heaviest - limit) * 0.7);
    Refinement refinement(graph, cut, parts, now);
    refinement.shed();
    refinement.finish();
  }
  return cut.heaviest <= limit;
}

/// The order in which nodes stand in parts one after the other.
std::vector<int> order_of(const NumberedCut& cut, const std::vector<int>& before) {
  std::vector<int> order = before;
  std::ranges::stable_sort(order, {}, [&](int node) { return cut.part_of[static_cast<size_t>(node)]; });
  return order;
}

/// Local optima are left by moving some nodes at random and refining again; what is better is kept.
void search(const CutGraph& graph, NumberedCut& best, int parts, double limit) {
  const int tries = std::min(400, 400'000 / (graph.size() + 1));
  std::mt19937_64 generator(1);
  for (int i = 0; i < tries; ++i) {
    NumberedCut cut = best;
    Refinement refinement(graph, cut, parts, limit);
    // Some nodes that follow each other: what lies between two cuts moves together.
    const auto first = static_cast<int>(generator() % static_cast<uint64_t>(graph.size()));
    const int count = 1 + static_cast<int>(generator() % 12);
    const bool forward = generator() % 2 == 0;
    const uint64_t where = generator();
    for (int k = 0; k < count; ++k) {
      const int node = forward ? first + count - 1 - k : first + k;
      if (node < graph.size()) {
        refinement.kick(node, where);
      }
    }
    for (int pass = 0; pass < 8 && refinement.pass(); ++pass) {
    }
    refinement.finish();
    if (cut.bytes <= best.bytes) {
      best = std::move(cut);
    }
  }
}

}  // namespace

void refine(const CutGraph& graph, NumberedCut& cut, int parts, double limit) {
  constexpr int most_passes = 16;
  Refinement refinement(graph, cut, parts, limit);
  for (int i = 0; i < most_passes && refinement.pass(); ++i) {
  }
  refinement.finish();
}

std::optional<NumberedCut> cut_by_number(const CutGraph& graph, int parts, double limit) {
  constexpr int few = 2000;  // nodes beyond which orders are dear
  constexpr int most_rounds = 6;
  std::optional<NumberedCut> best;
  for (std::vector<int> order : topological_orders(graph, graph.size() <= few ? 24 : 0)) {
    std::optional<NumberedCut> cut = cut_order(graph, order, parts, limit);
    if (!cut && graph.size() <= few) {
      cut = cut_order(graph, order, parts, least_heaviest(graph, order, parts) * (1 + 1e-9));
      cut = cut && balance(graph, *cut, parts, limit) ? cut : std::nullopt;
    }
    for (int round = 0; cut && round < most_rounds; ++round) {
      const int64_t before = cut->bytes;
      refine(graph, *cut, parts, limit);
      if (!best || cut->bytes < best->bytes) {
        best = cut;
      }
      order = order_of(*cut, order);
      cut = graph.size() <= few ? cut_order(graph, order, parts, limit) : std::nullopt;
      if (cut && cut->bytes >= before) {
        break;
      }
    }
  }
  if (graph.size() > few) {
    return best;
  }
  const ExactCut exact = cut_exactly(graph, parts, limit, best ? std::optional(best->bytes) : std::nullopt);
  if (exact.complete) {
    return exact.cut ? exact.cut : best;
  }
  if (best) {
    search(graph, *best, parts, limit);
  }
  return best;
}

}  // namespace tenon::partition
