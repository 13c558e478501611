// Constant operands of products, laid out once as products read them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernel/constants/winograd_weights.h"
#include "tenon/array.h"

namespace tenon::layouts {

/// A matrix that lies in another array, in panels. Column n of it begins at base + n * column. Its k-th element is
/// found by counting with `depth`, the last digit fastest: each step of a digit moves by its stride. In panels, element
/// (k, n) lies at (n / panel) * whole_steps() * panel + k * panel + n % panel; columns beyond the last are 0. Of bytes
/// so many steps as `together` lie side by side in each column: ProductCall::panel.
struct PanelLayout {
  struct Digit {
    int64_t count = 0, stride = 0;

    friend auto operator<=>(const Digit&, const Digit&) = default;
  };

  int64_t panel = 0;
  int64_t columns = 0;
  int64_t base = 0, column = 0;
  std::vector<Digit> depth;
  int64_t together = 1;
  /// Weights at 3 by 3 positions: in their place lie the matrices of its form one after the other.
  std::optional<WinogradPositions> winograd = {};

  /// How many steps k has.
  int64_t steps() const;
  /// With those that fill up the last ones together.
  int64_t whole_steps() const { return (steps() + together - 1) / together * together; }
  /// Of one matrix, and of all.
  int64_t matrix_elements() const { return (columns + panel - 1) / panel * panel * whole_steps(); }
  int64_t elements() const { return (winograd ? winograd->form.matrices() : 1) * matrix_elements(); }

  friend auto operator<=>(const PanelLayout&, const PanelLayout&) = default;
};

/// The matrix in panels, of the dtype of `x`: f32, f16, bf16, or bytes.
Array in_panels(const Array& x, const PanelLayout& layout);

}  // namespace tenon::layouts
