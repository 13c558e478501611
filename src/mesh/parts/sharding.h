// What the user says: which axis of a tensor lies along which axis of the mesh.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "mesh/parts/placement.h"
#include "tenon/graph.h"

namespace tenon::mesh {

/// From the name of an axis (`batch`), or an input and one of its axes by name or number (`w.0`, `w.hidden`), to an
/// axis of the mesh. In the latter, `*` stands for any characters: `*.query.weight.1`. What is not named stays whole.
struct Sharding {
  std::map<std::string, std::string> along;

  /// `batch=data,w.1=model`; empty text shards nothing. Error: a word that is no NAME=AXIS, a name twice.
  static Sharding parse(std::string_view text);
  std::string to_string() const;
};

/// The layout of each input. Errors: a key that no input has, an unknown axis of the mesh, two axes of the mesh for one
/// tensor axis, two axes of one input along the same axis of the mesh.
std::vector<Layout> input_layouts(const Graph& graph, const MeshShape& mesh, const Sharding& sharding);

}  // namespace tenon::mesh
