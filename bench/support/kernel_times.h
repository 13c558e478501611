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

/// Every different kernel of the graphs once, compiled alone several times: the median. Two at once share caches and
/// more, and what the machine gives to others for a moment should not decide. Empty in a build without LLVM.
std::vector<KernelTime> kernel_times(std::span<const tenon::Graph> graphs);

}  // namespace bench
