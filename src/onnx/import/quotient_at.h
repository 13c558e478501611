// Floats that are a size over a size, as factors between sizes are.
#pragma once

#include <optional>

#include "onnx/import/known.h"

namespace tenon::importer {

struct Quotient {
  Extent top;
  Extent bottom = 1;
};

/// Element `i`, in row-major order, of a list that is computed from sizes:
///   concat([1, 1], 64 / cast(shape(x)[2:]), 0), at 2 -> 64 / height
/// Nothing when it is not known.
std::optional<Quotient> quotient_at(KnownValues& known, const Value& list, int64_t i);

}  // namespace tenon::importer
