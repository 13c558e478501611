#include "backend/describe_gpu.h"

#include <algorithm>

namespace tenon::backend {
namespace {

constexpr int64_t kLane = 128;  // bytes that the threads of a warp meet side by side

constexpr int64_t kPanel = 64;  // columns of constants that a block copies as they lie

}  // namespace

void describe_gpu(const Machine& machine, schedule::ScheduleOptions& options) {
  const GpuMachine& gpu = machine.gpu();
  options.blocks = true;
  // Tiles have a quarter of what is called a cache there, and are to leave room for a second block.
  options.tiles = schedule::product_tiles(2 * gpu.block_shared_memory);
  // Of 64 by 128 a thread has 32 sums.
  options.tiles.rows = options.tiles.rows_of_stored = options.tiles.rows_of_many = 64;
  options.tiles.columns = 128;
  // Operands are computed where they are needed, so a sum is not cut for them.
  options.tiles.depth = options.tiles.depth_of_packed = options.tiles.stored_elements = int64_t{1} << 30;
  options.panel = kPanel;
  options.bytes_together = 0;
  options.cores = gpu.multiprocessors;
  options.vector_bytes = kLane;
  options.winograd = false;
  options.most_row_bytes = std::min(options.most_row_bytes, gpu.block_shared_memory);
  options.pipelines = {.on = false};
}

}  // namespace tenon::backend
