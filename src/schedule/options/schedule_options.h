// What decides, beside the graph, which kernels are made.
#pragma once

#include "kernel/program/program.h"
#include "schedule/options/product_tiles.h"

namespace tenon::schedule {

/// Up to so many, tiles are made for caches first.
inline constexpr int64_t kFewCores = 2;

/// All that the schedule is told of a compile's options and of a machine; it asks for nothing else. The same graph and
/// options are the same kernels on any host.
struct ScheduleOptions {
  bool fuse = true;            // off: every operation is a kernel of its own
  bool layouts = true;         // StorageOrders, else all lies row by row
  int64_t panel = 0;           // columns of the panels that constant right operands of products are laid out in; 0: not
  int64_t bytes_together = 0;  // those of products of bytes, too, with so many steps of a column side by side; 0: not
  ProductTiles tiles = product_tiles(kUsualSecondCache);
  int64_t cores = 2;                       // that kernels are cut for
  int64_t vector_bytes = 64;               // of the machine's vectors: forms that compute more cost less with long ones
  bool blocks = false;                     // kernels are for blocks of threads: map_to_blocks.h
  bool winograd = true;                    // convolutions may have the form of winograd.h
  bool upper_bits = false;                 // of f32 that products for blocks multiply are enough, as many as tf32 has
  int64_t most_row_bytes = kMostRowBytes;  // Program::most_row_bytes
  int64_t least_shared_work = kLeastSharedWork;  // Program::least_shared_work
  Pipelines pipelines = {};                      // Program::pipelines

  friend bool operator==(const ScheduleOptions&, const ScheduleOptions&) = default;
};

}  // namespace tenon::schedule
