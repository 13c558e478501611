// Cutting arrays and putting them together again.
#pragma once

#include <vector>

#include "mesh/exchange/communicator.h"
#include "mesh/parts/placement.h"
#include "tenon/array.h"

namespace tenon::mesh {

/// Elements [begin, begin + size) along an axis.
Array slice_along(const Array& array, int axis, int64_t begin, int64_t size);
/// One behind the other along an axis; at least one.
Array join_along(const std::vector<Array>& pieces, int axis);

/// What the rank at `coordinates` has of a whole tensor that lies so.
Array part_of(const Array& whole, const Layout& layout, const MeshShape& mesh, const std::vector<int>& coordinates,
              const Bindings& bindings);

/// How many elements along the cut axis each rank has.
std::vector<int64_t> sizes_of(const Cut& cut, int ranks, const Bindings& bindings);

/// What combines two arrays of partial results element by element. Error: argmax and argmin, which do not combine.
Combine combine_function(ReduceOp op, Dtype dtype);

}  // namespace tenon::mesh
