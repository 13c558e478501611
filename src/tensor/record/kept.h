// Elements of operations that a look stored along, because others still refer to them.
#pragma once

#include <cstdint>

#include "tenon/array.h"
#include "tenon/graph.h"

namespace tenon::tensors {

/// From now on the value's elements are known, for as long as anything else refers to its node. `shape` is theirs, of
/// the leaf that takes the value's place: sizes that change from look to look are symbols. Thread-safe, as all of this.
void keep_elements(const Value& value, const Array& array, const Shape& shape);
/// Null for a value that is not kept. The pointer holds while something refers to the value's node.
const Array* kept_elements(const Value& value);

/// The value as it follows from leaves instead of values that are kept: what those were computed from is not held any
/// more. The same value where nothing below it is kept.
Value upon_kept(const Value& value);
/// Moves on when something is kept.
uint64_t kept_generation();

/// Drop what nothing else refers to any more.
void drop_unused_elements();
/// The same for one value, to which the caller holds the only reference beside that of the table.
void drop_if_unused(const Value& value);

}  // namespace tenon::tensors
