// Steps that are no loops over elements: descriptions that schedule/ makes and library/ runs.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kernel/scalar/reduce_op.h"

namespace tenon {

enum class ScatterOp : uint8_t { set, add, mul, max, min };

/// The spellings of an enumeration that is a field, in the order of its values.
constexpr std::array<std::string_view, 5> spellings(ScatterOp) { return {"set", "add", "mul", "max", "min"}; }

/// Reads arrays of one shape and writes as many, all ordered along `axis` by the first one; stable; NaN comes last in
/// ascending order, first in descending.
struct SortRoutine {
  int axis = 0;
  bool descending = false;

  friend bool operator==(const SortRoutine&, const SortRoutine&) = default;
};

/// Reads one array and writes one of the same shape: running sums, products, maxima or minima along `axis`.
struct ScanRoutine {
  ReduceOp op = ReduceOp::sum;
  int axis = 0;
  bool exclusive = false;  // without the element itself
  bool reverse = false;    // from the end

  friend bool operator==(const ScanRoutine&, const ScanRoutine&) = default;
};

/// Reads x, an update and positions along each of `axes`, as many of one shape; writes x with the update applied in
/// row-major order. The update has the batch axes, then the other axes of the positions, then the other axes of x.
struct ScatterRoutine {
  ScatterOp op = ScatterOp::set;
  std::vector<int> axes;
  std::vector<int> x_batch, index_batch;  // paired
  std::string place;                      // in the model, for errors; may be empty

  friend bool operator==(const ScatterRoutine&, const ScatterRoutine&) = default;
};

/// Reads a mask; writes the row-major positions of its true elements, in order, to an array with room for all of them,
/// and their number. What lies behind them is not written.
struct PositionsRoutine {
  friend bool operator==(const PositionsRoutine&, const PositionsRoutine&) = default;
};

using Routine = std::variant<SortRoutine, ScanRoutine, ScatterRoutine, PositionsRoutine>;

}  // namespace tenon
