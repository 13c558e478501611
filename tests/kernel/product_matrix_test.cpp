// The driver of matrix units over a unit written in C++, with bytes, whose panels it reads where they lie.
#include "kernel/product/product_matrix.h"

#include <gtest/gtest.h>

#include <memory>

#include "base/aligned.h"
#include "support/product_case.h"

namespace tenon::product_matrix_test {
namespace {

constexpr int kStep = 4;

void nothing() {}

template <int High>
void tile(const void* left, const void* right, void* result, int64_t /*columns*/, const ProductSteps* steps) {
  for (int64_t row = 0; row < High * MatrixKernels::kRows; ++row) {
    auto* const sums = reinterpret_cast<uint32_t*>(at(result, row * steps->tile_row));
    for (int64_t column = 0; column < MatrixKernels::kColumns; ++column) {
      uint32_t sum = steps->accumulate != 0 ? sums[column] : 0;
      for (int64_t k = 0; k < steps->depth * MatrixKernels::kStepBytes; ++k) {
        const auto a = static_cast<uint8_t>(*at(left, row * steps->left_row + k));
        const auto b = static_cast<int8_t>(*at(right, k / kStep * steps->right_depth + column * kStep + k % kStep));
        sum += static_cast<uint32_t>(a * b);
      }
      sums[column] = sum;
    }
  }
}

/// So many neighbours in depth of each column side by side.
template <bool ByRows>
void pack(const void* from, int64_t step, void* to, int64_t columns, int64_t depth) {
  for (int64_t k = 0; k < depth; ++k) {
    for (int64_t column = 0; column < columns; ++column) {
      *at(to, (k / kStep * MatrixKernels::kColumns + column) * kStep + k % kStep) =
          *at(from, ByRows ? k * step + column : column * step + k);
    }
  }
}

TEST(MatrixProduct, MultipliesBytes) {
  const MatrixKernels kernels{.begin = nothing,
                              .end = nothing,
                              .tiles = {nullptr, tile<1>, tile<2>},
                              .pack_rows = pack<true>,
                              .pack_columns = pack<false>,
                              .step = kStep};
  const ProductTypes types{.left = Dtype::u8, .right = Dtype::i8, .tile = Dtype::i32};
  const auto free = [](std::byte* block) { free_aligned(block); };
  const std::unique_ptr<std::byte, decltype(free)> scratch(allocate_aligned(kProductScratchBytes), free);
  const auto multiply = [&](const ProductCall& call) { matrix_product(kernels, types, call, scratch.get()); };
  for (const int64_t depth : {1, 63, 64, 67, 2048, 2049, 2112}) {
    for (const int64_t columns : {1, 32, 70}) {
      for (const int64_t panel : {0, 32, 16}) {
        EXPECT_EQ(difference(types,
                             {.rows = 37,
                              .columns = columns,
                              .depth = depth,
                              .gap = columns % 3,
                              .panel = panel,
                              .accumulate = depth == 67},
                             multiply),
                  "");
      }
    }
  }
}

}  // namespace
}  // namespace tenon::product_matrix_test
