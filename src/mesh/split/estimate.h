// What a way to run a node costs.
#pragma once

#include "mesh/split/shard.h"

namespace tenon::mesh {

class Estimate {
 public:
  Estimate(const Graph& graph, const ShardOptions& options);

  /// Elements of the tensor at the typical sizes.
  double elements(const Shape& shape) const;
  /// Seconds to bring a tensor from one placement to another; cutting a part from the whole is free.
  double seconds_to_move(const Shape& shape, const Placement& from, const Placement& to, const MeshAxis& axis) const;
  /// Seconds to have a result of the node lie in another way after all.
  double seconds_to_bring_back(const Node& node, size_t output, const Placement& from, const Placement& to,
                               const MeshAxis& axis) const;
  /// Seconds to compute the whole node on one rank.
  double seconds_to_compute(const Node& node) const;

  /// At the typical sizes.
  double value(const Extent& extent) const;

 private:
  MeshCosts costs_;
  Bindings typical_;
};

}  // namespace tenon::mesh
