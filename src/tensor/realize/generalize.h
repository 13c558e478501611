// One program for sizes that differ from recording to recording, though each time they were numbers.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "tensor/realize/pending.h"

namespace tenon::tensors {

/// The sizes that the names of `general` have where it is the same as `now`; nothing where it is for no sizes. Names
/// that data decide have none.
std::optional<std::map<std::string, int64_t, std::less<>>> sizes_as(const Pending& now, const Pending& general);

/// `now` with symbols for numbers that were others in `before`, which are of the same structure but for sizes. Numbers
/// that follow from others in all of them (`2*n`, `n+1`, `n*m`) stay so; the others get symbols of their own, and so do
/// offsets. Nothing where there is none, where one was negative, or where operations refuse the symbols.
///   before: x: f32[4, 8], y = x[1:3]; x: f32[6, 8], y = x[1:5]
///   now:    x: f32[9, 8], y = x[1:8]          result: x: f32[n0, 8], y = x[1:n0-1]
std::optional<Pending> generalized(const Pending& now, std::span<const std::shared_ptr<const Pending>> before);

}  // namespace tenon::tensors
