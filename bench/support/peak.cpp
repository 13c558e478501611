#include "support/peak.h"

#include <vector>

#include "codegen/compile_kernels.h"
#include "codegen/products/product_library.h"
#include "support/timing.h"

namespace bench {
namespace {

using namespace tenon;  // NOLINT: all of this is about their kernels

constexpr int64_t kDepth = 1000;
constexpr int kTimes = 40;

const ProductKernels& kernels() {
  static codegen::Jit jit(codegen::kernel_jit_options());
  static const ProductKernels all = codegen::make_product_kernels({}, jit);
  return all;
}

}  // namespace

double peak_flops() {
  const ProductKernels& all = kernels();
  std::vector<float> memory(static_cast<size_t>(2 * ProductKernels::kMostRows * all.panel + 16), 1.5F);
  float* const operands = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64) % 64 / sizeof(float);
  float* const result = operands + ProductKernels::kMostRows * all.panel;
  const ProductSteps steps{.tile_row = all.panel * int64_t{sizeof(float)}, .depth = kDepth};
  const auto rows = static_cast<size_t>(all.rows);
  const auto& tile = all.tiles[rows][static_cast<size_t>(all.widths[rows]) - 1];
  std::vector<double> times;
  for (int i = 0; i < kTimes; ++i) {
    times.push_back(seconds_of(1, 1, [&] { tile.full(operands, operands, result, all.panel, &steps); }));
  }
  return 2.0 * all.rows * all.panel * kDepth / median(std::move(times));
}

}  // namespace bench
