// Numbers that stand for symbols: a front end whose users see sizes as numbers gets the names back.
#pragma once

#include <cstdint>
#include <vector>

#include "tenon/shape.h"

namespace tenon::tensors {

/// The axes of a reshape of `from` to these sizes, of which none is -1 and whose product is from's: where an axis of
/// `from` with a name, or a product of some, stays together or is split by numbers, the name goes along.
/// `f32[batch, seq, 768]` to [64, 12, 64] at batch 8, seq 8 is `[batch*seq, 12, 64]`.
std::vector<Axis> match_reshape(const Shape& from, const std::vector<int64_t>& to);

/// The axes of a broadcast of `from` to these sizes: those of `from` where they have them, else numbers.
std::vector<Axis> match_broadcast(const Shape& from, const std::vector<int64_t>& to);

}  // namespace tenon::tensors
