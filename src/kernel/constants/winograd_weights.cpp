#include "kernel/constants/winograd_weights.h"

#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "base/fail.h"
#include "base/pool.h"

namespace tenon::layouts {
namespace {

constexpr int64_t kStepsAtOnce = 8;

/// A weight that is recovered as the difference of two numbers is 0 only where it is 0, and has its sign, though they
/// were rounded: infinities become what they are multiplied by.
void tell_apart(WinogradForm form, double weight, float& a, float& b) {
  if (a == b && weight != 0) {
    const bool above = (weight > 0) == (recovered_weight(form, 1).factor > 0);
    a = std::nextafter(b, above ? std::numeric_limits<float>::infinity() : -std::numeric_limits<float>::infinity());
  }
}

}  // namespace

void write_winograd_panels(const Array& x, const WinogradWeights& w, int64_t panel, float* to) {
  TENON_CHECK(x.dtype() == Dtype::f32, "weights of {}", name(x.dtype()));
  const WinogradForm form = w.positions.form;
  const auto pixels = static_cast<size_t>(form.pixels());
  const int64_t whole = (w.columns + panel - 1) / panel * panel;
  const int64_t matrix = whole * w.steps;
  const float* const from = x.values<float>().data() + w.base;
  const auto transform = [&](int64_t k, int64_t n, float* places) {
    const float* const g = from + k * w.step + n * w.column;
    const auto at = [&](int64_t i, int64_t j) { return static_cast<double>(g[i * w.positions.y + j * w.positions.x]); };
    std::array<std::array<double, 6>, 3> columns;  // by x
    for (int64_t i = 0; i < 3; ++i) {
      columns[static_cast<size_t>(i)] = transformed_weights(form, at(0, i), at(1, i), at(2, i));
    }
    const auto part = [&](size_t i, size_t j) -> float& {
      return places[static_cast<int64_t>(i * pixels + j) * matrix];
    };
    for (size_t i = 0; i < pixels; ++i) {
      const auto row = transformed_weights(form, columns[0][i], columns[1][i], columns[2][i]);
      for (size_t j = 0; j < pixels; ++j) {
        part(i, j) = static_cast<float>(row[j]);
      }
    }
    for (const auto& [edge, last] : {std::pair(0, size_t{0}), std::pair(2, pixels - 1)}) {
      tell_apart(form, at(edge, 1), part(last, 1), part(last, 2));
      tell_apart(form, at(1, edge), part(1, last), part(2, last));
    }
    part(pixels, 0) = static_cast<float>(at(1, 1));
  };
  const auto steps = [&](int64_t begin, int64_t end, int /*worker*/) {
    for (int64_t k = begin; k < end; ++k) {
      for (int64_t n = 0; n < whole; ++n) {
        float* const places = to + (n / panel * w.steps + k) * panel + n % panel;
        if (n < w.columns) {
          transform(k, n, places);
          continue;
        }
        for (int64_t each = 0; each < form.matrices(); ++each) {
          places[each * matrix] = 0;
        }
      }
    }
  };
  Pool::shared().parallel_for(w.steps, kStepsAtOnce, steps);
}

}  // namespace tenon::layouts
