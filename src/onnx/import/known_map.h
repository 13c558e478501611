// Scalar functions on known elements.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "onnx/import/known.h"

namespace tenon::importer {

/// Element `i` of an array; nothing for a float that is no fraction of whole numbers.
std::optional<Element> to_element(const Array& array, int64_t i);

/// What the row gives for these operands; nothing when that is not known for all sizes alike, unless `decide` says how
/// comparisons come out. The row is evaluated in its primitives, so a new row needs nothing here.
std::optional<Element> map_elements(const Map& op, const std::vector<Dtype>& dtypes, const Elements& x,
                                    const Decide& decide = {});

/// Whether a comparison of two sizes holds, where that is so at some bindings only.
struct SizeCondition {
  enum class Kind : uint8_t { equal, less };

  Kind kind = Kind::equal;
  Extent lhs = {};
  Extent rhs = {};
  bool negated = false;

  friend bool operator==(const SizeCondition&, const SizeCondition&) = default;
};

/// An operand of a row: an element, or a flag that is such a comparison.
struct Judged {
  std::optional<Element> known = {};
  std::optional<SizeCondition> condition = {};
};

/// The comparison that the row's result is; nothing when it is none, or known anyway.
std::optional<SizeCondition> map_condition(const Map& op, const std::vector<Dtype>& dtypes,
                                           const std::vector<Judged>& x);

/// One step of a reduction.
std::optional<Element> reduce_elements(ReduceOp op, const Element& a, const Element& b);

}  // namespace tenon::importer
