#include "partition/cut/closed_sets.h"

#include <algorithm>
#include <unordered_map>

#include "base/hash.h"

namespace tenon::partition {
namespace {

bool all_in(const ClosedSet& set, const std::vector<int>& nodes) {
  return std::ranges::all_of(nodes, [&](int node) { return set.has(node); });
}

/// The set with one node more.
ClosedSet with_node(const CutGraph& graph, const ClosedSet& set, int node, const std::vector<uint64_t>& bits) {
  ClosedSet result{
      .bits = bits, .weight = set.weight + graph.weight[static_cast<size_t>(node)], .leaving = set.leaving, .next = {}};
  for (const int net : graph.out[static_cast<size_t>(node)]) {
    result.leaving += graph.nets[static_cast<size_t>(net)].bytes;
  }
  for (const int net : graph.in[static_cast<size_t>(node)]) {
    const CutGraph::Net& each = graph.nets[static_cast<size_t>(net)];
    result.leaving -= all_in(result, each.to) ? each.bytes : 0;
  }
  return result;
}

struct HashOfBits {
  size_t operator()(const std::vector<uint64_t>& bits) const {
    uint64_t hash = 0;
    for (const uint64_t word : bits) {
      hash = combine_hash(hash, word);
    }
    return hash;
  }
};

/// A closed set stays one with any of the nodes that can follow it, so there are at least 2^following sets.
bool has_more_than(size_t most, size_t following) { return following >= 63 || (size_t{1} << following) > most; }

}  // namespace

std::optional<std::vector<ClosedSet>> closed_sets(const CutGraph& graph, size_t most) {
  const size_t words = (static_cast<size_t>(graph.size()) + 63) / 64;
  std::vector<std::vector<int>> needs(graph.weight.size());
  for (const CutGraph::Net& net : graph.nets) {
    for (const int to : net.to) {
      needs[static_cast<size_t>(to)].push_back(net.from);
    }
  }
  std::vector<ClosedSet> sets(1);
  sets[0].bits.assign(words, 0);
  std::vector<std::vector<int>> ready(1);  // of each set, the nodes that can follow
  for (int node = 0; node < graph.size(); ++node) {
    if (needs[static_cast<size_t>(node)].empty()) {
      ready[0].push_back(node);
    }
  }
  size_t begin = 0;
  while (begin < sets.size()) {  // sets of one size after the other
    const size_t end = sets.size();
    std::unordered_map<std::vector<uint64_t>, int, HashOfBits> found;
    for (size_t i = begin; i < end; ++i) {
      const std::vector<int> following = std::move(ready[i]);
      if (has_more_than(most, following.size())) {
        return std::nullopt;
      }
      for (const int node : following) {
        std::vector<uint64_t> bits = sets[i].bits;
        bits[static_cast<size_t>(node) / 64] |= uint64_t{1} << (static_cast<size_t>(node) % 64);
        const auto [at, is_new] = found.try_emplace(std::move(bits), static_cast<int>(sets.size()));
        sets[i].next.emplace_back(node, at->second);
        if (!is_new) {
          continue;
        }
        if (sets.size() == most) {
          return std::nullopt;
        }
        sets.push_back(with_node(graph, sets[i], node, at->first));
        std::vector<int> after = following;
        std::erase(after, node);
        for (const int net : graph.out[static_cast<size_t>(node)]) {
          for (const int user : graph.nets[static_cast<size_t>(net)].to) {
            const bool waits = std::ranges::find(after, user) == after.end();
            if (waits && all_in(sets.back(), needs[static_cast<size_t>(user)])) {
              after.push_back(user);
            }
          }
        }
        ready.push_back(std::move(after));
      }
    }
    begin = end;
  }
  return sets;
}

}  // namespace tenon::partition
