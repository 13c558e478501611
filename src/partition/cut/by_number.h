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

/// The best of all orders, refined and cut again until nothing is gained. Nothing where no order keeps the limit.
std::optional<NumberedCut> cut_by_number(const CutGraph& graph, int parts, double limit);

}  // namespace tenon::partition
