// What the builders of tenon/selection.h share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/graph.h"

namespace tenon {

/// The name, or a fresh one that begins with `stem`.
std::string name_or_fresh(std::string_view name, std::string_view stem);

/// Row-major positions among these axes as positions along each.
std::vector<Value> unravel(const Value& position, const std::vector<Axis>& axes);

/// The same as columns: i64[rank, position].
Value coordinates(const Value& position, const std::vector<Axis>& axes);

}  // namespace tenon
