#include <algorithm>
#include <limits>

#include "partition/cut/by_number.h"
#include "partition/cut/closed_sets.h"

namespace tenon::partition {
namespace {

constexpr int64_t kUnreached = std::numeric_limits<int64_t>::max();

/// A dynamic program: the least bytes with which some parts compute exactly a closed set. Parts are differences of
/// closed sets, and every acyclic cut is a chain of such.
class ExactCuts {
 public:
  ExactCuts(const CutGraph& graph, const std::vector<ClosedSet>& sets, int parts, double limit, int64_t below)
      : graph_(graph),
        sets_(sets),
        parts_(static_cast<size_t>(parts)),
        limit_(limit),
        below_(below),
        best_((parts_ + 1) * sets.size(), kUnreached),
        from_(best_.size(), -1),
        seen_(sets.size(), -1),
        entering_(sets.size(), 0) {}

  /// False where it would take more than `most` pairs of sets.
  bool run(int64_t most) {
    best_[0] = 0;
    for (size_t begin = 0; begin + 1 < sets_.size(); ++begin) {
      if (!grow(begin, most)) {
        return false;
      }
    }
    return true;
  }

  std::optional<NumberedCut> cut() const {
    size_t at = sets_.size() - 1;
    if (best_[index(parts_, at)] == kUnreached) {
      return std::nullopt;
    }
    NumberedCut result{
        .part_of = std::vector<int>(graph_.weight.size()), .bytes = best_[index(parts_, at)], .heaviest = 0};
    for (size_t p = parts_; p > 0; --p) {
      const auto before = static_cast<size_t>(from_[index(p, at)]);
      for (int node = 0; node < graph_.size(); ++node) {
        if (sets_[at].has(node) && !sets_[before].has(node)) {
          result.part_of[static_cast<size_t>(node)] = static_cast<int>(p) - 1;
        }
      }
      result.heaviest = std::max(result.heaviest, sets_[at].weight - sets_[before].weight);
      at = before;
    }
    return result;
  }

 private:
  size_t index(size_t parts, size_t set) const { return parts * sets_.size() + set; }

  /// Whether so many parts that end with the set may come to something better: what leaves is read by some part yet,
  /// and the rest must fit the other parts.
  bool is_hopeful(size_t parts, size_t set) const {
    const int64_t bytes = best_[index(parts, set)];
    return bytes != kUnreached && bytes + sets_[set].leaving < below_ &&
           sets_.back().weight - sets_[set].weight <= static_cast<double>(parts_ - parts) * limit_ * (1 + 1e-12);
  }

  /// All parts that begin after the set.
  bool grow(size_t begin, int64_t most) {
    std::vector<size_t> counts;
    int64_t least = kUnreached;
    for (size_t p = 0; p < parts_; ++p) {
      if (is_hopeful(p, begin)) {
        counts.push_back(p);
        least = std::min(least, best_[index(p, begin)]);
      }
    }
    if (counts.empty()) {
      return true;
    }
    const ClosedSet& before = sets_[begin];
    entering_[begin] = 0;
    std::vector<size_t> open{begin};
    while (!open.empty()) {
      const size_t at = open.back();
      open.pop_back();
      if (at != begin) {
        offer(begin, at, counts);
      }
      for (const auto& [node, next] : sets_[at].next) {
        const auto to = static_cast<size_t>(next);
        if (seen_[to] == static_cast<int>(begin) || sets_[to].weight - before.weight > limit_) {
          continue;
        }
        const int64_t bytes = entering_[at] + entering_with(node, sets_[at], before);
        if (least + bytes >= below_) {
          continue;  // more nodes only bring more bytes
        }
        if (++pairs_ > most) {
          return false;
        }
        seen_[to] = static_cast<int>(begin);
        entering_[to] = bytes;
        open.push_back(to);
      }
    }
    return true;
  }

  /// A part from `begin` to `end`, as the next one of so many.
  void offer(size_t begin, size_t end, const std::vector<size_t>& counts) {
    const bool whole = end + 1 == sets_.size();
    for (const size_t p : counts) {
      const int64_t bytes = best_[index(p, begin)] + entering_[end];
      int64_t& best = best_[index(p + 1, end)];
      if (whole == (p + 1 == parts_) && bytes < best && bytes < below_) {
        best = bytes;
        from_[index(p + 1, end)] = static_cast<int>(begin);
      }
    }
  }

  /// Bytes that come into the part of `now` without `before` when the node joins it.
  int64_t entering_with(int node, const ClosedSet& now, const ClosedSet& before) const {
    int64_t bytes = 0;
    for (const int net : graph_.in[static_cast<size_t>(node)]) {
      const CutGraph::Net& each = graph_.nets[static_cast<size_t>(net)];
      const bool has_it = std::ranges::any_of(each.to, [&](int to) { return now.has(to) && !before.has(to); });
      bytes += before.has(each.from) && !has_it ? each.bytes : 0;
    }
    return bytes;
  }

  const CutGraph& graph_;
  const std::vector<ClosedSet>& sets_;
  const size_t parts_;
  const double limit_;
  const int64_t below_;
  std::vector<int64_t> best_;  // by parts and set
  std::vector<int> from_;      // where the last part begins
  std::vector<int> seen_;      // the set from which a set was reached last
  std::vector<int64_t> entering_;
  int64_t pairs_ = 0;
};

}  // namespace

ExactCut cut_exactly(const CutGraph& graph, int parts, double limit, std::optional<int64_t> below) {
  constexpr size_t most_sets = 20'000;
  constexpr int64_t most_pairs = 20'000'000;
  const std::optional<std::vector<ClosedSet>> sets = closed_sets(graph, most_sets);
  if (!sets) {
    return {};
  }
  ExactCuts cuts(graph, *sets, parts, limit, below.value_or(kUnreached));
  if (!cuts.run(most_pairs)) {
    return {};
  }
  return {.complete = true, .cut = cuts.cut()};
}

}  // namespace tenon::partition
