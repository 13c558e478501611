// How elements combine: what reductions, windows, scans and accumulators share.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tenon {

/// argmax and argmin give the first position of the extreme; a NaN is more extreme than any number.
enum class ReduceOp : uint8_t { sum, product, max, min, any, all, argmax, argmin };

/// The spellings of an enumeration that is a field, in the order of its values.
constexpr std::array<std::string_view, 8> spellings(ReduceOp) {
  return {"sum", "product", "max", "min", "any", "all", "argmax", "argmin"};
}

constexpr std::string_view name(ReduceOp op) { return spellings(op)[static_cast<size_t>(op)]; }

/// The result is a position.
constexpr bool is_arg(ReduceOp op) { return op == ReduceOp::argmax || op == ReduceOp::argmin; }

}  // namespace tenon
