// The sizes that a benchmark goes through.
#pragma once

#include <string>
#include <vector>

#include "tenon/bindings.h"

namespace tenon::cli {

struct Sweep {
  std::string axis;
  std::vector<int64_t> sizes;
};

/// `batch=1,2,4,8`, or `seq=16:512:16` from, to (included) and step. Errors say what is wrong with which word.
std::vector<Sweep> parse_sweeps(const std::vector<std::string>& words);

/// Every combination, the last sweep fastest; one empty binding without sweeps. At most 10,000: an Error beyond.
std::vector<Bindings> combinations(const std::vector<Sweep>& sweeps);

}  // namespace tenon::cli
