// A number of parts, few bytes between them, arithmetic in balance.
#pragma once

#include <optional>

#include "partition/cut/cut_graph.h"

namespace tenon::partition {

/// The part of each node, numbered so that edges lead to the same or a later part: the quotient is acyclic.
struct NumberedCut {
  std::vector<int> part_of;
  int64_t bytes = 0;
  double heaviest = 0;  // weight of the heaviest part
};

/// The best cut of one order into `parts` stretches of at most `limit` weight, by dynamic programming over the places
/// of cuts; nothing where none keeps the limit. Beyond some thousand nodes not every place is tried.
std::optional<NumberedCut> cut_order(const CutGraph& graph, const std::vector<int>& order, int parts, double limit);

/// The least weight that the heaviest part can have, of stretches of one order.
double least_heaviest(const CutGraph& graph, const std::vector<int>& order, int parts);

/// Move nodes between parts while bytes are saved, edges still lead forward, and the limit is kept.
void refine(const CutGraph& graph, NumberedCut& cut, int parts, double limit);

/// What a search over all acyclic cuts found.
struct ExactCut {
  bool complete = false;           // false: there are too many, and nothing is known
  std::optional<NumberedCut> cut;  // with the fewest bytes of all, where any keeps the limit and has fewer than asked
};
/// The best acyclic cut of all into `parts` parts of at most `limit` weight with fewer bytes than `below`.
ExactCut cut_exactly(const CutGraph& graph, int parts, double limit, std::optional<int64_t> below);

/// The best cut: of all there are where a search comes to an end; otherwise of all orders, refined and cut again until
/// nothing is gained. Nothing where none of these keeps the limit.
std::optional<NumberedCut> cut_by_number(const CutGraph& graph, int parts, double limit);

}  // namespace tenon::partition
