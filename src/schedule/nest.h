// Builds one loop kernel: stores of some values, computed from others that are in memory.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "schedule/element.h"
#include "schedule/panels.h"

namespace tenon {

/// Where a value lies in a larger one: from `start` along `axis`.
struct Placement {
  Value whole;
  int axis = 0;
  Extent start = 0;
};

struct NestRequest {
  std::vector<Value> outputs;                         // what is stored
  std::function<bool(const Value& value)> is_loaded;  // what is in memory
  /// Values that are dear to compute and needed again in a later loop of the same row stay in scratch memory. Without
  /// it they are computed again: for rows that do not fit.
  bool keep_rows = true;
  /// Sizes that are constants are given when the kernel is called, so that kernels that differ in them share code.
  bool shared_code = false;
  int64_t panel = 0;  // columns of the panels that constant right operands of products are laid out in; 0: not
  /// Outputs that are stored as a part of another value, which has a buffer.
  std::function<std::optional<Placement>(const Value& value)> placement = {};
};

struct Nest {
  loops::Kernel kernel;
  std::vector<Value> buffers;  // what each input and output buffer of the kernel holds, in order; scratch comes last
  size_t loads = 0;            // different loads
  size_t cost = 0;             // of compiling it: values, with functions counted several times
  bool reduces = false;
  std::map<int, PanelLayout> panels;  // buffers that hold constants in panels
  size_t product_loops = 0;           // that the grid of a kernel with products runs over
  std::string repeats;                // a value that is dear and computed more often than it has elements; or empty
};

/// The kernel, or why there is none. A pure function of the request.
std::variant<Nest, Refusal> build_nest(const NestRequest& request, MapPrograms& programs);

}  // namespace tenon
