// The sections of one machine's program as bytes: segments without the elements of constants, and reasons.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/run/segments.h"
#include "tenon/array.h"

namespace tenon::saved {

/// What the section `program` holds. Constants are numbers in the file's list of constants, with dtype and sizes.
struct SegmentsBytes {
  std::vector<std::byte> program;
  std::vector<std::byte> reasons;
};

/// `number_of` gives the number of a constant in the file's list.
SegmentsBytes to_bytes(const runtime::Segments& segments, const std::vector<std::string>& names,
                       const std::function<uint32_t(const Array&)>& number_of);

/// Where a constant's elements come from.
struct ConstantReference {
  uint32_t number = 0;
  Dtype dtype = Dtype::f32;
  std::vector<int64_t> dims;
};

struct ReadSegments {
  runtime::Segments segments;  // without code
  std::vector<std::string> names;
};

/// What to_bytes() wrote; `constant` makes the constants. `reasons` may be empty. Other bytes are an Error; whether
/// what they say holds together is for verify_segments() to say.
ReadSegments segments_from_bytes(std::span<const std::byte> program, std::span<const std::byte> reasons,
                                 const std::function<Array(const ConstantReference&)>& constant);

}  // namespace tenon::saved
