// The calls between the drivers of products and the kernels that are made for the machine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon {

/// Where something lies so many bytes behind `base`.
inline const std::byte* at(const void* base, int64_t bytes) { return static_cast<const std::byte*>(base) + bytes; }
inline std::byte* at(void* base, int64_t bytes) { return static_cast<std::byte*>(base) + bytes; }

/// What a register tile does with what is there: nothing; goes on from it; or adds its own sums to it at the end.
enum class Accumulate : int64_t { no = 0, go_on = 1, add = 2 };

/// How a register tile walks through memory. Strides are in bytes.
struct ProductSteps {
  int64_t left_row = 0;
  int64_t left_depth = 0;
  int64_t right_depth = 0;  // of dot products: from column to column
  int64_t tile_row = 0;
  int64_t depth = 0;
  int64_t accumulate = 0;   // Accumulate; tiles of integers and dot products have no more than the first two
  int64_t right_panel = 0;  // from panel to panel, for kernels that read several
};

/// A register tile: as many rows as the kernel is for, `columns` side by side, which end in the kernel's last vector.
using ProductMicro = void (*)(const void* left, const void* right, void* tile, int64_t columns,
                              const ProductSteps* steps);

/// Copies `depth` by `columns` of the right operand into one panel. `step` is the distance in bytes of neighbours along
/// the axis that is not contiguous. Columns of the panel beyond `columns` hold anything.
using ProductPack = void (*)(const void* from, int64_t step, void* to, int64_t columns, int64_t depth);

}  // namespace tenon
