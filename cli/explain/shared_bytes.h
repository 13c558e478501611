// Bytes that two groups of nodes hand on or both read: what one kernel in their place would save.
#pragma once

#include <unordered_set>
#include <vector>

#include "cli/explain/explain_why.h"

namespace tenon::cli {

using Nodes = std::unordered_set<const Node*>;

/// Concats that take no step, because their operands are written in their places.
Nodes placed_concats(const std::vector<schedule::FusionAttempt>& attempts);

/// What one of `from` makes and one of `to` reads: stored once and loaded once. Views and placed concats are looked
/// through; `through` gets these concats.
Extent bytes_between(const Nodes& from, const Nodes& to, const Nodes& placed, Nodes& through);

/// What both read: loaded once instead of twice.
Extent bytes_shared(const Nodes& first, const Nodes& second);

}  // namespace tenon::cli
