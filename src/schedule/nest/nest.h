// Builds one loop kernel: stores of some values, computed from others that are in memory.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "kernel/constants/panels.h"
#include "schedule/nest/element.h"
#include "schedule/options/schedule_options.h"

namespace tenon::schedule {

/// Where a value lies in a larger one: from `start` along `axis`.
struct Placement {
  Value whole;
  int axis = 0;
  Extent start = 0;
};

/// What becomes of the values of a row that a later loop of the same row needs again.
enum class RowForm : uint8_t {
  keep,       // those that are dear to compute stay in scratch, others are computed again from what lies in cache
  stream,     // rows are read in tiles, whose reductions combine in phases: stream.h
  recompute,  // all are computed again, each time from memory
};

struct NestRequest {
  std::vector<Value> outputs;                         // what is stored
  std::function<bool(const Value& value)> is_loaded;  // what is in memory
  const ScheduleOptions& options;
  RowForm rows = RowForm::keep;
  bool epilogue_reductions = false;  // what products leave may be reduced tile by tile: epilogue_reductions.h
  /// Sizes that are constants are given when the kernel is called, so that kernels that differ in them share code.
  bool shared_code = false;
  const StorageOrders* storage = nullptr;  // null: all lies row by row
  /// Outputs that are stored as a part of another value, which has a buffer.
  std::function<std::optional<Placement>(const Value& value)> placement = {};
  /// Outputs that are updates of what is in their buffer already: of these the new slice is stored there, and no more.
  std::function<bool(const Value& value)> in_place = {};
};

struct Nest {
  loops::Kernel kernel;
  std::vector<Value> buffers;  // what each input and output buffer of the kernel holds, in order; scratch comes last
  size_t loads = 0;            // different loads
  size_t cost = 0;             // of compiling it: values, with functions counted several times
  bool reduces = false;
  size_t streamed = 0;                         // reductions that share the pass of the one they need
  Extent streamed_row = 0;                     // elements of a row that products are run over in blocks
  std::map<int, layouts::PanelLayout> panels;  // buffers that hold constants in panels
  bool has_products = false;
  int64_t winograd = 0;      // a convolution in a form of winograd.h: results a side of a square
  size_t product_loops = 0;  // that the grid of a kernel with products runs over
  std::string repeats;       // a value that is dear and computed more often than it has elements; or empty
};

/// The kernel, or why there is none. A pure function of the request.
std::variant<Nest, Refusal> build_nest(const NestRequest& request, MapPrograms& programs);

}  // namespace tenon::schedule
