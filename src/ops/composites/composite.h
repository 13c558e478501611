// How builders make composites: Calls whose body is built on stand-ins for the operands.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/ops.h"

namespace tenon {

/// An operand, and what the body and errors call it. An empty value is an optional operand that is not there.
struct NamedPart {
  std::string_view name;
  Value value;
};

/// One Value for each part: a stand-in, or empty where the part is.
using Parts = std::vector<Value>;

/// A call of the body that `build` makes. Errors name the composite and its parts.
Value composite_of(std::string_view name, const std::vector<NamedPart>& parts,
                   const std::function<Value(const Parts&)>& build);
/// The same with several results, in the order of the outputs.
std::vector<Value> composites_of(std::string_view name, const std::vector<NamedPart>& parts,
                                 const std::function<std::vector<Output>(const Parts&)>& build);

/// In the dtype that arithmetic is done in, so that a composite on half types rounds once, at its end.
Value widen(const Value& x);

/// `what` must be of a float dtype.
void require_float(const Value& x, std::string_view what);

/// The axes counted from the front, sorted; no axes means all of them.
Axes reduced_axes(const Axes& axes, const Shape& shape);

/// A parameter with one axis for each of `axes` (sorted), with axes of size 1 around them so that it broadcasts against
/// a value of `rank`.
Value along_axes(const Value& parameter, int rank, const Axes& axes, std::string_view what);

}  // namespace tenon
