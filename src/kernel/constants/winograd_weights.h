// Weights of a 3x3 convolution as Winograd's form of it multiplies by them: winograd.h.
#pragma once

#include <cstdint>

#include "kernel/constants/winograd_form.h"
#include "tenon/array.h"

namespace tenon::layouts {

/// How far apart the 3 by 3 positions lie, and the form that they are for.
struct WinogradPositions {
  int64_t y = 0, x = 0;
  WinogradForm form = kSmallSquares;

  friend auto operator<=>(const WinogradPositions&, const WinogradPositions&) = default;
};

/// Matrices of weights, [steps, columns] for each position.
struct WinogradWeights {
  WinogradPositions positions;
  int64_t base = 0;
  int64_t steps = 0, step = 0;  // how many, and how far apart
  int64_t columns = 0, column = 0;
};

/// G g G^T of each 3x3 matrix g, and the weight in its middle, summed in f64: matrices one after the other at `to`,
/// each in panels of so many columns (PanelLayout) with zeros in columns beyond the last. The weights are f32.
void write_winograd_panels(const Array& x, const WinogradWeights& weights, int64_t panel, float* to);

}  // namespace tenon::layouts
