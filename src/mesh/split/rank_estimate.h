// What one rank of a mesh takes, without running it.
#pragma once

#include <map>
#include <string>

#include "mesh/split/shard.h"

namespace tenon::mesh {

struct RankEstimate {
  double compute_seconds = 0;
  double send_seconds = 0;  // one after the other, beside nothing
  struct Traffic {
    double bytes = 0;  // that the rank sends
    int collectives = 0;
  };
  std::map<std::string, Traffic> along;  // by the name of the axis of the mesh
  double input_bytes = 0;                // its parts of all inputs, weights among them
  double most_bytes = 0;                 // of values between nodes at once, as if nothing were fused
};

/// Of rank 0, which has at least as much as any other, at these sizes.
RankEstimate estimate_rank(const ShardedGraph& graph, const ShardOptions& options);

/// The bytes of this rank's parts of all inputs. Names without a size count as in costs.
double input_bytes(const ShardedGraph& graph, const Bindings& typical);

}  // namespace tenon::mesh
