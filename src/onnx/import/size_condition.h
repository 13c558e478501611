// Conditions that sizes decide: at some bindings one way, at others the other.
#pragma once

#include <optional>
#include <string_view>

#include "onnx/import/known.h"
#include "onnx/import/known_map.h"
#include "tenon/bindings.h"
#include "tenon/constraint.h"

namespace tenon::importer {

/// The comparison of sizes that a flag of one element is, followed through logic, casts and views; nothing when it is
/// known for all sizes, or depends on values.
std::optional<SizeCondition> size_condition(KnownValues& known, const Value& flag);

/// The extent at these sizes; nothing when one of its names is not bound.
std::optional<int64_t> number_at(const Extent& extent, const Bindings& sizes);

/// Whether it holds at these sizes; nothing when one of its names is not bound.
std::optional<bool> evaluate(const SizeCondition& condition, const Bindings& sizes);

/// What must hold for the comparison to come out as `holds`. Two sizes that are to differ are to do so as they do at
/// `sizes`; where those do not tell, the left one is to be larger.
Constraint required(const SizeCondition& condition, bool holds, const Bindings& sizes);

}  // namespace tenon::importer
