#include "schedule/products/winograd_weights.h"

#include <array>

#include "base/fail.h"
#include "base/pool.h"

namespace tenon::schedule {
namespace {

constexpr int64_t kStepsAtOnce = 8;

/// G times a column of three.
std::array<double, 4> transformed(double a, double b, double c) { return {a, (a + b + c) / 2, (a - b + c) / 2, c}; }

}  // namespace

Array winograd_weights(const Array& x, const WinogradWeights& w) {
  TENON_CHECK(x.dtype() == Dtype::f32, "weights of {}", name(x.dtype()));
  Array result = Array::uninitialized(Dtype::f32, {kWinogradParts, w.steps, w.columns});
  const float* const from = x.values<float>().data() + w.base;
  float* const to = result.mutable_values<float>().data();
  const auto transform = [&](int64_t begin, int64_t end, int /*worker*/) {
    for (int64_t k = begin; k < end; ++k) {
      for (int64_t n = 0; n < w.columns; ++n) {
        const float* const g = from + k * w.step + n * w.column;
        const auto at = [&](int64_t i, int64_t j) { return double{g[i * w.positions.y + j * w.positions.x]}; };
        std::array<std::array<double, 4>, 3> columns;  // by x
        for (int64_t i = 0; i < 3; ++i) {
          columns[static_cast<size_t>(i)] = transformed(at(0, i), at(1, i), at(2, i));
        }
        for (size_t i = 0; i < 4; ++i) {
          const std::array<double, 4> row = transformed(columns[0][i], columns[1][i], columns[2][i]);
          for (size_t j = 0; j < 4; ++j) {
            const auto part = static_cast<int64_t>(4 * i + j);
            to[(part * w.steps + k) * w.columns + n] = static_cast<float>(row[j]);
          }
        }
      }
    }
  };
  Pool::shared().parallel_for(w.steps, kStepsAtOnce, transform);
  return result;
}

}  // namespace tenon::schedule
