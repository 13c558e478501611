#include <algorithm>
#include <limits>
#include <numeric>

#include "partition/cut/by_number.h"

namespace tenon::partition {
namespace {

constexpr int kMostPlaces = 1500;

/// Places between operators where a cut may be: all, or of each stretch of equal length the one that the fewest bytes
/// cross.
std::vector<int> places(const CutGraph& graph, const std::vector<int>& position, int parts) {
  const int n = graph.size();
  std::vector<int> all(static_cast<size_t>(n) + 1);
  std::iota(all.begin(), all.end(), 0);
  const int most = std::max(kMostPlaces, 8 * parts);
  if (n <= most) {
    return all;
  }
  std::vector<int64_t> crossing(static_cast<size_t>(n) + 2, 0);
  for (const CutGraph::Net& net : graph.nets) {
    int last = 0;
    for (const int to : net.to) {
      last = std::max(last, position[static_cast<size_t>(to)]);
    }
    crossing[static_cast<size_t>(position[static_cast<size_t>(net.from)]) + 1] += net.bytes;
    crossing[static_cast<size_t>(last) + 1] -= net.bytes;
  }
  std::partial_sum(crossing.begin(), crossing.end(), crossing.begin());
  std::vector<int> chosen{0};
  for (int i = 0; i < most; ++i) {
    const int begin = static_cast<int>(static_cast<int64_t>(n) * i / most);
    const int end = static_cast<int>(static_cast<int64_t>(n) * (i + 1) / most);
    int best = std::max(begin, 1);
    for (int at = best; at < end; ++at) {
      best = crossing[static_cast<size_t>(at)] < crossing[static_cast<size_t>(best)] ? at : best;
    }
    if (best > chosen.back() && best < n) {
      chosen.push_back(best);
    }
  }
  chosen.push_back(n);
  return chosen;
}

/// Bytes that enter a stretch of the order as it grows towards the front.
class Entering {
 public:
  Entering(const CutGraph& graph, const std::vector<int>& order)
      : graph_(graph), order_(order), seen_(graph.nets.size(), -1) {}

  /// A stretch that ends before `end`, empty at first.
  void begin(int end) {
    stamp_ = end;
    bytes_ = 0;
  }
  int64_t grow(int at) {
    const auto node = static_cast<size_t>(order_[static_cast<size_t>(at)]);
    for (const int net : graph_.out[node]) {
      bytes_ -= seen_[static_cast<size_t>(net)] == stamp_ ? graph_.nets[static_cast<size_t>(net)].bytes : 0;
    }
    for (const int net : graph_.in[node]) {
      int& seen = seen_[static_cast<size_t>(net)];
      if (seen != stamp_) {
        seen = stamp_;
        bytes_ += graph_.nets[static_cast<size_t>(net)].bytes;
      }
    }
    return bytes_;
  }

 private:
  const CutGraph& graph_;
  const std::vector<int>& order_;
  std::vector<int> seen_;
  int stamp_ = -1;
  int64_t bytes_ = 0;
};

}  // namespace

double least_heaviest(const CutGraph& graph, const std::vector<int>& order, int parts) {
  double low = 0;
  double high = 0;
  for (const int node : order) {
    low = std::max(low, graph.weight[static_cast<size_t>(node)]);
    high += graph.weight[static_cast<size_t>(node)];
  }
  for (int step = 0; step < 60 && high - low > 1e-9 * high; ++step) {
    const double middle = (low + high) / 2;
    int used = 1;
    double weight = 0;
    for (const int node : order) {
      const double own = graph.weight[static_cast<size_t>(node)];
      if (weight + own > middle) {
        ++used;
        weight = 0;
      }
      weight += own;
    }
    (used <= parts ? high : low) = middle;
  }
  return high;
}

std::optional<NumberedCut> cut_order(const CutGraph& graph, const std::vector<int>& order, int parts, double limit) {
  const int n = graph.size();
  std::vector<int> position(static_cast<size_t>(n));
  for (int i = 0; i < n; ++i) {
    position[static_cast<size_t>(order[static_cast<size_t>(i)])] = i;
  }
  const std::vector<int> at = places(graph, position, parts);
  const auto count = static_cast<int>(at.size());
  constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  // best[p][j]: least bytes of p parts that end at place j; from[p][j]: where the last of them begins.
  const auto columns = static_cast<size_t>(count);
  std::vector<int64_t> best(static_cast<size_t>(parts + 1) * columns, kNone);
  std::vector<int> from(best.size(), -1);
  best[0] = 0;
  Entering entering(graph, order);
  for (int j = 1; j < count; ++j) {
    entering.begin(at[static_cast<size_t>(j)]);
    double weight = 0;
    int64_t bytes = 0;
    int next = at[static_cast<size_t>(j)];
    for (int i = j - 1; i >= 0; --i) {
      while (next > at[static_cast<size_t>(i)]) {
        --next;
        bytes = entering.grow(next);
        weight += graph.weight[static_cast<size_t>(order[static_cast<size_t>(next)])];
      }
      if (weight > limit) {
        break;
      }
      const int most = std::min(parts, j);
      for (int p = 1; p <= most; ++p) {
        const int64_t before = best[static_cast<size_t>(p - 1) * columns + static_cast<size_t>(i)];
        int64_t& here = best[static_cast<size_t>(p) * columns + static_cast<size_t>(j)];
        if (before != kNone && before + bytes < here) {
          here = before + bytes;
          from[static_cast<size_t>(p) * columns + static_cast<size_t>(j)] = i;
        }
      }
    }
  }
  int j = count - 1;
  if (best[static_cast<size_t>(parts) * columns + static_cast<size_t>(j)] == kNone) {
    return std::nullopt;
  }
  NumberedCut cut{.part_of = std::vector<int>(static_cast<size_t>(n)), .bytes = 0, .heaviest = 0};
  for (int p = parts; p >= 1; --p) {
    const int i = from[static_cast<size_t>(p) * columns + static_cast<size_t>(j)];
    double weight = 0;
    for (int k = at[static_cast<size_t>(i)]; k < at[static_cast<size_t>(j)]; ++k) {
      const auto node = static_cast<size_t>(order[static_cast<size_t>(k)]);
      cut.part_of[node] = p - 1;
      weight += graph.weight[node];
    }
    cut.heaviest = std::max(cut.heaviest, weight);
    j = i;
  }
  cut.bytes = cut_bytes(graph, cut.part_of);
  return cut;
}

}  // namespace tenon::partition
