// What constants alone decide that are repeated along axes whose sizes are not known yet.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ir/node.h"

namespace tenon::passes {

/// Whether evaluating a node on operands that are known is worth it.
using IsWorthIt = std::function<bool(const Node& node, const std::vector<Value>& operands)>;

/// What a node on constants, and on constants that are repeated, becomes: the same of the constants alone, repeated.
/// Nothing where it does not do the same thing at every place along such an axis, or where sizes are not known
/// otherwise.
///   before: exp(broadcast({1, 2}, [n, 2]))        after: broadcast({2.7, 7.4}, [n, 2])
std::optional<std::vector<Value>> fold_repeated(const Node& node, const std::vector<Value>& operands,
                                                const IsWorthIt& is_worth_it);

}  // namespace tenon::passes
