// Scalar functions on known elements.
#pragma once

#include <optional>

#include "onnx/import/known.h"

namespace tenon::importer {

/// Element `i` of an array; nothing for a float that is no fraction of whole numbers.
std::optional<Element> to_element(const Array& array, int64_t i);

/// What the row gives for these operands; nothing when that is not known for all sizes alike. The row is
/// evaluated in its primitives, so a new row needs nothing here.
std::optional<Element> map_elements(const Map& op, const std::vector<Dtype>& dtypes, const Elements& x);

/// One step of a reduction.
std::optional<Element> reduce_elements(ReduceOp op, const Element& a, const Element& b);

}  // namespace tenon::importer
