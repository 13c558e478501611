// Everything about a program that depends on sizes, for one binding of its names.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/plan.h"
#include "tenon/bindings.h"
#include "tenon/executable.h"

namespace tenon::runtime {

/// The grid of one part in one phase, cut into chunks.
struct Range {
  int part = 0;
  int64_t count = 0;        // iterations
  int64_t grain = 1;        // iterations of a chunk
  int64_t first_chunk = 0;  // counted over the ranges of the launch
};

/// One phase of one step: all of its parts side by side.
struct Launch {
  int64_t phase = 0;
  std::vector<Range> ranges;
  int64_t chunks = 0;  // 1: too little work for a second thread
};

/// Immutable after specialize(); any number of threads may run it at once.
struct Specialization {
  Bindings bindings;
  std::vector<int64_t> values;                     // of Plan::extents
  std::vector<int64_t> bytes;                      // of each slot
  std::vector<int64_t> offsets;                    // of each intermediate slot: in the arena
  std::vector<std::vector<int64_t>> kernel_sizes;  // what each kernel is called with
  std::vector<std::vector<Launch>> launches;       // of each step
  MemoryReport memory;

  int64_t value(ExtentId id) const { return values[static_cast<size_t>(id)]; }
  std::vector<int64_t> values_of(const std::vector<ExtentId>& ids) const;
  /// What it takes itself, about.
  int64_t byte_count() const;
};

/// `threads` are those that chunks are made for; it does not change results.
/// Errors: an unbound name, a negative size, sizes beyond 64 bits or beyond the machine's memory.
Specialization specialize(const Program& program, const Plan& plan, const Bindings& bindings, int threads);

}  // namespace tenon::runtime
