// Fusion strategies: rules over roles that say which operators share a part, and why others do not.
#pragma once

#include <string>

#include "partition/fuse/groups.h"

namespace tenon::partition {

/// One strategy.
struct Strategy {
  std::string_view name;
  std::string_view doc;
  /// Joins what it may.
  void (*run)(Groups& groups);
  /// Why it does not join `reader` to `producer`; empty where it would.
  std::string (*refuses)(const Groups& groups, int producer, int reader);
  /// Why it has left them apart, although it does not refuse them and no circle is in the way.
  std::string (*passes_over)(const Groups& groups, int producer, int reader);
};

std::span<const Strategy> strategies();
/// Error: it lists those there are.
const Strategy& find_strategy(std::string_view name);

// The rules, one file for each family.
void join_chains(Groups& groups);  // fuse/chains.cpp
void join_residuals(Groups& groups);
void join_elementwise(Groups& groups);
void join_depthwise(Groups& groups);
std::string refuses_chain(const Groups& groups, int producer, int reader);
std::string refuses_residual(const Groups& groups, int producer, int reader);
std::string refuses_elementwise(const Groups& groups, int producer, int reader);
std::string refuses_depthwise(const Groups& groups, int producer, int reader);
std::string reader_is_taken(const Groups& groups, int producer, int reader);
void join_siblings(Groups& groups);  // fuse/siblings.cpp
std::string refuses_siblings(const Groups& groups, int a, int b);
std::string sibling_is_not_first(const Groups& groups, int a, int b);
void join_attention(Groups& groups);  // fuse/attention_groups.cpp
std::string refuses_attention(const Groups& groups, int producer, int reader);

}  // namespace tenon::partition
