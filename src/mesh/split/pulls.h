// Where values go in the end, which choices of layouts look ahead to.
#pragma once

#include <optional>
#include <unordered_map>

#include "mesh/parts/placement.h"
#include "tenon/graph.h"

namespace tenon::mesh {

/// How values are wanted by outputs, through elementwise functions and transposes. Several outputs may want the same
/// value (a weight and its moments a gradient), some whole and some in parts.
class Pulls {
 public:
  explicit Pulls(const MeshShape& mesh) : nowhere_(whole_layout(mesh)) {}

  /// An output wants the value so.
  void add(const Value& value, const Layout& layout);
  /// From results to operands, in the whole graph.
  void follow(const Graph& graph);

  /// How the value is wanted along an axis of the mesh, in parts if anybody wants it so; nothing where nobody says.
  std::optional<Placement> at(const Value& value, size_t mesh_axis) const;
  /// How many readers want it whole.
  int whole_readers(const Value& value) const;

 private:
  struct Pull {
    int whole = 0;
    Layout parts;  // whole where nobody wants a split
  };
  void pull(const Value& value, bool whole, const Layout& parts);

  Layout nowhere_;
  std::unordered_map<Value, Pull> pulls_;
};

}  // namespace tenon::mesh
