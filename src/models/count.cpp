// Multiply-accumulates, by inference alone.
#include "ir/walk.h"
#include "tenon/models.h"

namespace tenon {
namespace {

Extent macs(const Node& node);

Extent macs_of(const Graph& graph) {
  Extent total = 0;
  for (const Node* node : graph.nodes()) {
    total = total + macs(*node);
  }
  return total;
}

Extent macs(const Node& node) {
  if (const auto* contract = node.as<Contract>()) {
    Extent count = node.shapes[0].element_count();
    for (const int axis : contract->lhs_contract) {
      count = count * node.inputs[0].extent(axis);
    }
    return count;
  }
  if (node.as<Conv>() != nullptr) {
    Extent count = node.shapes[0].element_count();
    const Shape& weight = node.inputs[1].shape();
    for (int axis = 1; axis < weight.rank(); ++axis) {
      count = count * weight.extent(axis);
    }
    return count;
  }
  Extent total = 0;
  for (const Graph& body : called_graphs(node)) {
    total = total + macs_of(body);
  }
  const auto* loop = node.as<Loop>();
  return loop != nullptr ? total * loop->trips : total;
}

}  // namespace

Extent count_macs(const Graph& graph) { return macs_of(graph); }

}  // namespace tenon
