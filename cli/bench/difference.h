// How far computed outputs are from what they should be.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/bench/rounding.h"
#include "tenon/array.h"
#include "tenon/bindings.h"

namespace tenon::cli {

/// How far an output is from what it should be.
struct Difference {
  std::string output, against;
  double largest = 0;      // of |a - b|
  double relative = 0;     // that, by the largest |b|
  double mean = 0;         // of |a - b|
  int64_t mismatched = 0;  // elements where one is NaN or infinite and the other is not the same
  int64_t overflowed = 0;  // elements that overflow on the way in the model's own types, as they should
  int64_t both_nan = 0;    // elements that are NaN on both sides, which compares nothing
  double tolerance = 0;
  bool is_rounding = false;  // every error is one that roundings on the way explain, where that was asked for
  int64_t lost = 0;          // elements beyond the tolerance of which roundings leave nothing
  std::string misfit = {};   // type or sizes that do not agree

  bool is_comparable() const { return misfit.empty() && mismatched == 0; }
  bool is_near() const { return relative <= tolerance; }
  bool ok() const { return is_comparable() && (is_near() || is_rounding); }
};

/// `wanted` may be of a wider type, in which nothing overflows on the way; `narrow` is the same in the model's types.
Difference compare(const std::string& output, const std::string& against, const Array& got, const Array& wanted,
                   double tolerance, const Array* narrow = nullptr);

/// `allowed` is what tolerances allow for.
void print_text(const std::string& model, const Bindings& bindings, const ProductRounding& allowed,
                const std::vector<Difference>& differences);
void print_json(const std::string& model, const Bindings& bindings, const ProductRounding& products,
                const std::vector<Difference>& differences, bool ok);

}  // namespace tenon::cli
