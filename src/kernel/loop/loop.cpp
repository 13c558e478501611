#include "kernel/loop/loop.h"

#include <unordered_set>

#include "kernel/loop/loop_threads.h"
#include "kernel/loop/loop_walk.h"

namespace tenon::loops {

std::vector<Extent> runtime_sizes(const Kernel& kernel) {
  std::vector<Extent> sizes;
  std::unordered_set<Extent> seen;
  for_each_extent(kernel, [&](const Extent& extent) {
    if (!extent.is_constant() && seen.insert(extent).second) {
      sizes.push_back(extent);
    }
  });
  return sizes;
}

Extent grid_size(const Kernel& kernel, const Phase& phase) {
  Extent size = 1;
  for (const int axis : phase.grid) {
    size *= kernel.axes.at(static_cast<size_t>(axis)).extent;
  }
  return size;
}

ProductTypes types_of(const Kernel& kernel, const Product& product) {
  const auto dtype = [&](const Matrix& matrix) { return kernel.buffers.at(static_cast<size_t>(matrix.buffer)).dtype; };
  return {.left = dtype(product.left), .right = dtype(product.right), .tile = dtype(product.tile)};
}

Extent scratch_bytes(const Kernel& kernel) {
  Extent bytes = 0;
  const int64_t threads = most_threads(kernel);
  for (const Buffer& buffer : kernel.buffers) {
    if (buffer.role == Role::scratch) {
      const int64_t copies = is_private_scratch(buffer) ? threads : 1;
      bytes += 64 * ceildiv(buffer.elements * (copies * static_cast<int64_t>(byte_size(buffer.dtype))), 64);
    }
  }
  return bytes;
}

}  // namespace tenon::loops
