// What LLVM takes for kernels.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tenon/graph.h"

namespace bench {

struct KernelTime {
  std::string name;  // its operations
  bool has_products = false;
  double milliseconds = 0;  // of one processor
};

/// Every different kernel of the graphs once, compiled alone several times: the least, since the work is the same each
/// time and whatever else happens on the machine adds to it. Empty in a build without LLVM.
std::vector<KernelTime> kernel_times(std::span<const tenon::Graph> graphs);

}  // namespace bench
