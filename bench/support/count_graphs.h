// The graphs of the kernel-count table, by name.
#pragma once

#include <string>
#include <vector>

#include "tenon/graph.h"

namespace bench {

struct CountGraph {
  std::string name;
  tenon::Graph graph;
  /// At most this many times inputs plus outputs are moved; 0: not checked.
  double traffic = 1.1;
};

/// Every row without products, for symbolic sizes.
std::vector<CountGraph> count_graphs();
/// The rows with products, convolutions and attention.
std::vector<CountGraph> product_graphs();
/// Those that are whole models, with their weights.
std::vector<CountGraph> model_graphs();

/// The rows that are recorded by lazy tensors, as the programs that they become; and those that are whole models.
std::vector<CountGraph> tensor_graphs();
std::vector<CountGraph> tensor_models();

}  // namespace bench
