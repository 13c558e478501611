// Evaluating what is known when the graph is made, and what that takes.
#pragma once

#include <optional>
#include <vector>

#include "ir/node.h"

namespace tenon::passes {

/// What a pass may spend on one value, in elements read and written.
inline constexpr double kMostKnownWork = 1 << 24;

/// How many elements, and bytes, a shape has; infinitely many where sizes are not known.
double known_elements(const Shape& shape);
double known_bytes(const Shape& shape);

/// How many elements evaluating the node touches, more or less; infinitely many where it is not to be evaluated.
double work(const Node& node);

/// What the node on these operands gives, by the interpreter: constants of its shapes. All that the operands are made
/// of is known. Nothing where it has no value, which is an error where and when it happens: a position that is out of
/// range, sizes that do not fit or that no array can have.
std::optional<std::vector<Value>> evaluated(const Node& node, const std::vector<Value>& operands);

}  // namespace tenon::passes
