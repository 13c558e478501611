#include <string_view>

#include "mesh/split/shard.h"

namespace tenon::mesh {

uint64_t fingerprint(const ShardedGraph& graph) {
  uint64_t hash = graph.whole.hash();
  const auto add = [&](uint64_t more) { hash = hash * 0x9e3779b97f4a7c15 + more; };
  const auto add_text = [&](std::string_view text) {
    for (const char c : text) {
      add(static_cast<unsigned char>(c));
    }
  };
  add_text(graph.mesh.to_string());
  for (const Collective& each : graph.collectives) {
    add_text(name(each.kind));
    add(each.mesh_axis);
    add(each.level);
    add_text(each.whole.to_string());
    add_text(name(each.from.op));
    add(static_cast<uint64_t>(each.from.axis));
    add(static_cast<uint64_t>(each.to.axis));
  }
  return hash;
}

}  // namespace tenon::mesh
