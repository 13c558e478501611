// A batch in pieces, which stages work on one after the other.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "mesh/parts/mesh_shape.h"
#include "tenon/array.h"
#include "tenon/bindings.h"
#include "tenon/graph.h"

namespace tenon::mesh {

/// The axis that inputs are cut along into pieces: `name`, or the first named one of the inputs where it is empty.
/// Error: there is none, or results of one element depend on others along it, and the name of what does.
std::string piece_axis(const Graph& graph, std::string name = "");

/// Elements [begin, begin + size) of a batch.
struct PieceRange {
  int64_t begin = 0, size = 0;
};
/// Piece `piece` of `pieces`, of a batch of `size` elements: the first ones have one more where it does not divide.
PieceRange piece_range(int64_t piece, int64_t pieces, int64_t size);

/// The first axis that is called so.
std::optional<int> axis_named(const Shape& shape, const std::string& name);

/// What `piece` has of a whole input, which is all of an input without the axis.
Array piece_of(const Array& whole, const Shape& shape, const std::string& axis, const PieceRange& piece);

/// The sizes of a piece of these inputs of the graph, the first ones. `known` are sizes that no input determines.
Bindings bindings_of_piece(const Graph& graph, std::span<const Array> inputs, const std::string& axis,
                           const PieceRange& piece, const Bindings& known);

/// The mesh without one of its axes: that of each stage.
MeshShape without_axis(const MeshShape& mesh, size_t axis);

}  // namespace tenon::mesh
