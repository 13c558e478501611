// Meshes: processes with named axes, as tensors have them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tenon::mesh {

struct MeshAxis {
  std::string name;
  int size = 1;

  friend bool operator==(const MeshAxis&, const MeshAxis&) = default;
};

/// Ranks in row order: the last axis changes fastest. A mesh without axes has one rank.
struct MeshShape {
  std::vector<MeshAxis> axes;

  /// `data=2,model=4`. Error: no name, a size below 1, a name twice, more than 4096 ranks.
  static MeshShape parse(std::string_view text);
  std::string to_string() const;

  int rank_count() const;
  /// The position of a rank along each axis.
  std::vector<int> coordinates(int rank) const;
  /// The axis of that name; Error, naming those there are.
  int find(std::string_view name) const;

  friend bool operator==(const MeshShape&, const MeshShape&) = default;
};

}  // namespace tenon::mesh
