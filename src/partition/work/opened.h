// A graph whose composites with products are opened, so that each product is an operator of its own.
#pragma once

#include <unordered_map>

#include "ir/node.h"

namespace tenon::partition {

struct Opened {
  Graph graph;
  /// The name of the composite that a node stood in, and a number that its nodes share.
  struct Origin {
    std::string composite;
    int call = -1;
    int products = 0;  // of that composite
  };
  std::unordered_map<const Node*, Origin> origin;
};

/// Names that must be equal become one, constants are folded, composites that exporters wrote out are found, then those
/// that have products at their top level are inlined.
///   before: call(x, w, b, body=dense)        after: gelu(add(contract(x, w), b)), all from one call of `dense`
Opened open_products(const Graph& graph);

}  // namespace tenon::partition
