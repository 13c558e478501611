// Multiply-accumulates, by inference alone.
#include "ir/walk.h"
#include "ops/macs.h"
#include "tenon/models.h"

namespace tenon {

Extent count_macs(const Graph& graph) {
  Extent total = 0;
  for (const Node* node : graph.nodes()) {
    Extent inside = 0;
    for (const Graph& body : called_graphs(*node)) {
      inside = inside + count_macs(body);
    }
    const auto* loop = node->as<Loop>();
    total = total + macs(*node) + (loop != nullptr ? inside * loop->trips : inside);
  }
  return total;
}

}  // namespace tenon
