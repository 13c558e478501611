// The forms F(2x2, 3x3) and F(4x4, 3x3) of a convolution, after Winograd and Lavin: what they multiply by.
//
// m x m results y that are neighbours come from a square d of (m + 2) x (m + 2) pixels and 3x3 weights g:
//   y = A^T ((G g G^T) . (B^T d B)) A          with . element by element
// Polynomials whose coefficients are d and g are multiplied by their values at m + 1 points and at infinity. The points
// are 0, 1, -1 for squares of 2, and 0, 3/4, -3/4, 3/2, -3/2 for squares of 4: of those that f32 holds exactly they
// round least, a third of what the usual 0, 1, -1, 2, -2 do (docs/decisions/0017-winograd.md).
#pragma once

#include <array>
#include <cstdint>

namespace tenon::layouts {

/// Squares of so many results a side.
struct WinogradForm {
  int64_t results = 2;

  int64_t pixels() const { return results + 2; }
  /// Products for each channel, where the convolution has 9 for each result.
  int64_t parts() const { return pixels() * pixels(); }
  /// Matrices of weights: one for each product, and the weights in the middle as they are (recovered_weight()).
  int64_t matrices() const { return parts() + 1; }
  int64_t multiplications_of_convolution() const { return 9 * results * results; }

  friend auto operator<=>(const WinogradForm&, const WinogradForm&) = default;
};

inline constexpr WinogradForm kSmallSquares{.results = 2};
inline constexpr WinogradForm kLargeSquares{.results = 4};

/// G times a column of three: as many numbers as the form has pixels.
std::array<double, 6> transformed_weights(WinogradForm form, double a, double b, double c);
/// One of three weights, of what they were transformed into.
struct RecoveredWeight {
  double factor = 1;   // times
  int64_t number = 0;  // this one,
  int64_t less = -1;   // less that one
};
RecoveredWeight recovered_weight(WinogradForm form, int64_t position);

/// The points of large squares are 0, a, -a, b, -b.
struct WinogradPoints {
  static constexpr double a = 0.75;
  static constexpr double b = 1.5;
  static constexpr double a2 = a * a;
  static constexpr double b2 = b * b;
};

}  // namespace tenon::layouts
