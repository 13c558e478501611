// Circular and hyperbolic functions and their inverses.
#include <numbers>

#include "ops/scalar/scalar_table.h"

namespace tenon {
namespace {

using namespace expr;
using Grads = std::vector<Expr>;

/// Beyond this, x and its square root of squares agree to the last bit in every dtype.
constexpr double kLarge = 1e9;

/// An odd function from its values for x >= 0; a zero keeps its sign.
Expr odd(const Expr& x, const Expr& at_magnitude) {
  return select(lt(x, 0), -at_magnitude, select(eq(x, 0), x, at_magnitude));
}

Expr sinh(const Expr& x) {
  const Expr a = abs(x);
  const Expr t = expm1(a);
  const Expr half = exp(a * 0.5);  // two factors of exp(a / 2) overflow only where the result does
  return odd(x, select(lt(a, 20), (t + t / (t + 1)) * 0.5, (half * 0.5) * half));
}

Expr cosh(const Expr& x) {
  const Expr half = exp(abs(x) * 0.5);
  return (half * 0.5) * half + (0.5 / half) / half;
}

Expr asinh(const Expr& x) {
  const Expr a = abs(x);
  const Expr small = log1p(a + a * a / (1 + sqrt(a * a + 1)));
  return odd(x, select(lt(kLarge, a), log(a) + std::numbers::ln2, small));
}

Expr acosh(const Expr& x) {
  const Expr t = x - 1;
  // Two roots: the root of the product is real below -1 too, where there is no result.
  return select(lt(kLarge, x), log(x) + std::numbers::ln2, log1p(t + sqrt(t) * sqrt(t + 2)));
}

Expr atanh(const Expr& x) {
  const Expr a = abs(x);
  return odd(x, log1p(a * 2 / (1 - a)) * 0.5);
}

Expr cosine_of_asin(const Expr& x) { return sqrt((1 - x) * (1 + x)); }

// clang-format off
constexpr ScalarFn kRows[] = {
    {.name = "radians", .doc = "an angle from degrees",
     .value = [](Args x) { return x[0] * (std::numbers::pi / 180); },
     .gradient = [](Args, Expr, Expr g) -> Grads { return {g * (std::numbers::pi / 180)}; },
     .numpy = "radians"},
    {.name = "degrees", .doc = "an angle from radians",
     .value = [](Args x) { return x[0] * (180 / std::numbers::pi); },
     .gradient = [](Args, Expr, Expr g) -> Grads { return {g * (180 / std::numbers::pi)}; },
     .numpy = "degrees"},
    {.name = "sin", .doc = "sine of an angle in radians",
     .value = [](Args x) { return sin(x[0]); },
     .gradient = [](Args x, Expr, Expr g) -> Grads { return {g * cos(x[0])}; },
     .onnx = {"Sin", 7}, .numpy = "sin"},
    {.name = "cos", .doc = "cosine of an angle in radians",
     .value = [](Args x) { return cos(x[0]); },
     .gradient = [](Args x, Expr, Expr g) -> Grads { return {-g * sin(x[0])}; },
     .onnx = {"Cos", 7}, .numpy = "cos"},
    {.name = "tan", .doc = "tangent of an angle in radians",
     .value = [](Args x) { return sin(x[0]) / cos(x[0]); },
     .gradient = [](Args, Expr y, Expr g) -> Grads { return {g * (1 + y * y)}; },
     .onnx = {"Tan", 7}, .numpy = "tan"},
    {.name = "asin", .doc = "inverse sine",
     .value = [](Args x) { return atan2(x[0], cosine_of_asin(x[0])); },
     .gradient = [](Args x, Expr, Expr g) -> Grads { return {g / cosine_of_asin(x[0])}; },
     .onnx = {"Asin", 7}, .numpy = "arcsin"},
    {.name = "acos", .doc = "inverse cosine",
     .value = [](Args x) { return atan2(cosine_of_asin(x[0]), x[0]); },
     .gradient = [](Args x, Expr, Expr g) -> Grads { return {-g / cosine_of_asin(x[0])}; },
     .onnx = {"Acos", 7}, .numpy = "arccos"},
    {.name = "atan", .doc = "inverse tangent",
     .value = [](Args x) { return atan2(x[0], like(x[0], 1)); },
     .gradient = [](Args x, Expr, Expr g) -> Grads { return {g / (1 + x[0] * x[0])}; },
     .onnx = {"Atan", 7}, .numpy = "arctan"},
    {.name = "atan2", .doc = "angle of the point (y, x), in [-pi, pi]", .arity = 2,
     .value = [](Args x) { return atan2(x[0], x[1]); },
     .gradient = [](Args x, Expr, Expr g) -> Grads {
       const Expr scale = max(abs(x[0]), abs(x[1]));  // squares of tiny or huge operands would vanish or overflow
       const Expr a = x[0] / scale;
       const Expr b = x[1] / scale;
       const Expr factor = g / (a * a + b * b) / scale;
       return {factor * b, -factor * a};
     },
     .numpy = "arctan2"},
    {.name = "sinh", .doc = "hyperbolic sine",
     .value = [](Args x) { return sinh(x[0]); },
     .gradient = [](Args x, Expr, Expr g) -> Grads { return {g * cosh(x[0])}; },
     .onnx = {"Sinh", 9}, .numpy = "sinh"},
    {.name = "cosh", .doc = "hyperbolic cosine",
     .value = [](Args x) { return cosh(x[0]); },
     .gradient = [](Args x, Expr, Expr g) -> Grads { return {g * sinh(x[0])}; },
     .onnx = {"Cosh", 9}, .numpy = "cosh"},
    {.name = "tanh", .doc = "hyperbolic tangent",
     .value = [](Args x) { return tanh(x[0]); },
     .gradient = [](Args, Expr y, Expr g) -> Grads { return {g * ((1 - y) * (1 + y))}; },
     .onnx = {"Tanh", 6}, .numpy = "tanh"},
    {.name = "asinh", .doc = "inverse hyperbolic sine",
     .value = [](Args x) { return asinh(x[0]); },
     .gradient = [](Args x, Expr, Expr g) -> Grads { return {g / sqrt(x[0] * x[0] + 1)}; },
     .onnx = {"Asinh", 9}, .numpy = "arcsinh"},
    {.name = "acosh", .doc = "inverse hyperbolic cosine",
     .value = [](Args x) { return acosh(x[0]); },
     .gradient = [](Args x, Expr, Expr g) -> Grads { return {g / (sqrt(x[0] - 1) * sqrt(x[0] + 1))}; },
     .onnx = {"Acosh", 9}, .numpy = "arccosh"},
    {.name = "atanh", .doc = "inverse hyperbolic tangent",
     .value = [](Args x) { return atanh(x[0]); },
     .gradient = [](Args x, Expr, Expr g) -> Grads { return {g / ((1 - x[0]) * (1 + x[0]))}; },
     .onnx = {"Atanh", 9}, .numpy = "arctanh"},
};
// clang-format on

}  // namespace

std::span<const ScalarFn> trigonometric_rows() { return kRows; }

}  // namespace tenon
