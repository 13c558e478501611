// A model on a mesh as a page: its ranks, what they compute, send and keep, each exchange and each tensor.
#pragma once

#include <string>
#include <vector>

#include "mesh/split/rank_estimate.h"
#include "mesh/split/shard.h"
#include "tenon/bindings.h"

namespace tenon::cli {

/// One of several meshes that were compared.
struct MeshRow {
  std::string mesh;
  mesh::RankEstimate estimate;
};

struct MeshPage {
  const mesh::ShardedGraph& graph;
  const mesh::Sharding& sharding;
  const mesh::ShardOptions& options;  // whose sizes are those of the page
  std::vector<MeshRow> others = {};   // best first; none where one mesh was asked for
};

std::string mesh_page(const MeshPage& page);

/// An operation or an input, as tables call it.
std::string label_of(const mesh::ShardedValue& value);

}  // namespace tenon::cli
