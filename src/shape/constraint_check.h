// One constraint against actual sizes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "tenon/constraint.h"

namespace tenon {

/// The size of a name; nothing when it is not bound.
using SizeLookup = std::function<std::optional<int64_t>(std::string_view)>;

/// Whether the relation holds between two numbers.
bool holds(Constraint::Kind kind, int64_t lhs, int64_t rhs);

/// Throw unless the constraint holds:
///   axis `hidden` is 512, must be 768: needed by matmul
///     at node "/layers.0/attn/MatMul_1"
void require(const Constraint& constraint, const SizeLookup& lookup);

/// ` (needed by matmul at node "/MatMul_1")`, or nothing when the constraint says neither.
std::string describe_need(const Constraint& constraint);

}  // namespace tenon
