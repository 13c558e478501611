// Arithmetic: sums, products, quotients, remainders, extrema, powers, casts.
#include <limits>

#include "ops/scalar/scalar_table.h"

namespace tenon {
namespace {

using namespace expr;
using Grads = std::vector<Expr>;

constexpr auto kInfinity = std::numeric_limits<double>::infinity();

/// Where a wins, all of g; on a tie, half: the two operands share it.
Expr share(const Expr& a_wins, const Expr& tie, const Expr& g) { return select(a_wins, g, select(tie, g * 0.5, 0.0)); }

Expr is_nan(const Expr& x) { return invert(eq(x, x)); }

/// `chosen` between two numbers, else the one that is a number.
Expr prefer_numbers(Args x, const Expr& chosen) {
  return select(is_nan(x[0]), x[1], select(is_nan(x[1]), x[0], chosen));
}

Expr floor_quotient(Args x) {
  const Expr r = rem(x[0], x[1]);
  const Expr signs_differ = apply(Prim::bit_xor, {lt(r, 0), lt(x[1], 0)});
  const Expr correction = select(both(invert(eq(r, 0)), signs_differ), like(r, 1), 0);
  if (is_float(x[0].dtype())) {
    // By the remainder, which is exact: x / y may round up to a whole number that it is below.
    return select(eq(x[1], 0), x[0] / x[1], round((x[0] - r) / x[1] - correction));
  }
  return x[0] / x[1] - correction;
}

Expr sign(const Expr& x) { return select(lt(0, x), like(x, 1), select(lt(x, 0), like(x, -1), x * 0)); }

/// Largest magnitude first, so that squares neither overflow nor vanish.
Expr hypotenuse(Args x) {
  const Expr a = abs(x[0]);
  const Expr b = abs(x[1]);
  const Expr large = max(a, b);
  const Expr ratio = min(a, b) / large;
  const Expr plain = large * sqrt(1 + ratio * ratio);
  const Expr infinity = like(large, kInfinity);
  const Expr has_infinity = either(eq(a, infinity), eq(b, infinity));
  return select(has_infinity, infinity, select(eq(large, 0), large, plain));
}

/// By a power, whose exponent is a third only nearly, and a step of Newton's method.
Expr cube_root(const Expr& x) {
  const Expr a = abs(x);
  const Expr near = pow(a, like(x, 1.0 / 3.0));
  const Expr root = near - (near - a / (near * near)) * (1.0 / 3.0);
  const Expr is_fixed = either(eq(a, 0), eq(a, like(a, kInfinity)));
  return select(is_fixed, x, select(lt(x, 0), -root, root));
}

// clang-format off
constexpr ScalarFn kRows[] = {
    {.name = "add", .doc = "x + y", .arity = 2, .domain = Domain::numbers,
     .value = [](Args x) { return x[0] + x[1]; },
     .gradient = [](Args, Expr, Expr g) -> Grads { return {g, g}; },
     .onnx = {"Add", 7}, .numpy = "add"},
    {.name = "sub", .doc = "x - y", .arity = 2, .domain = Domain::numbers,
     .value = [](Args x) { return x[0] - x[1]; },
     .gradient = [](Args, Expr, Expr g) -> Grads { return {g, -g}; },
     .onnx = {"Sub", 7}, .numpy = "subtract"},
    {.name = "mul", .doc = "x * y", .arity = 2, .domain = Domain::numbers,
     .value = [](Args x) { return x[0] * x[1]; },
     .gradient = [](Args x, Expr, Expr g) -> Grads { return {g * x[1], g * x[0]}; },
     .onnx = {"Mul", 7}, .numpy = "multiply"},
    {.name = "div", .doc = "x / y; integers round toward zero and x / 0 is 0", .arity = 2, .domain = Domain::numbers,
     .value = [](Args x) { return x[0] / x[1]; },
     .gradient = [](Args x, Expr y, Expr g) -> Grads { return {g / x[1], -(g * y) / x[1]}; },
     .onnx = {"Div", 7}},
    {.name = "floor_div", .doc = "x / y rounded toward minus infinity; integers give 0 for y = 0", .arity = 2,
     .domain = Domain::numbers, .value = floor_quotient,
     .gradient = [](Args, Expr, Expr g) -> Grads { return {like(g, 0), like(g, 0)}; },
     .numpy = "floor_divide"},
    {.name = "rem", .doc = "remainder with the sign of x, as C's fmod", .arity = 2, .domain = Domain::numbers,
     .value = [](Args x) { return rem(x[0], x[1]); },
     .gradient = [](Args x, Expr y, Expr g) -> Grads { return {g, -g * round((x[0] - y) / x[1])}; },
     .numpy = "fmod"},
    {.name = "mod", .doc = "remainder with the sign of y, as Python's %", .arity = 2, .domain = Domain::numbers,
     .value = [](Args x) {
       const Expr r = rem(x[0], x[1]);
       const Expr signs_differ = apply(Prim::bit_xor, {lt(r, 0), lt(x[1], 0)});
       return select(both(invert(eq(r, 0)), signs_differ), r + x[1], r);
     },
     .gradient = [](Args x, Expr y, Expr g) -> Grads { return {g, -g * round((x[0] - y) / x[1])}; },
     .numpy = "mod"},
    {.name = "neg", .doc = "-x", .domain = Domain::numbers,
     .value = [](Args x) { return -x[0]; },
     .gradient = [](Args, Expr, Expr g) -> Grads { return {-g}; },
     .onnx = {"Neg", 6}, .numpy = "negative"},
    {.name = "abs", .doc = "magnitude of x", .domain = Domain::numbers,
     .value = [](Args x) { return abs(x[0]); },
     .gradient = [](Args x, Expr, Expr g) -> Grads {
       return {select(lt(0, x[0]), g, select(lt(x[0], 0), -g, like(g, 0)))};
     },
     .onnx = {"Abs", 6}, .numpy = "absolute"},
    {.name = "sign", .doc = "-1, 0 or 1; NaN stays", .domain = Domain::numbers,
     .value = [](Args x) { return sign(x[0]); },
     .gradient = [](Args, Expr, Expr g) -> Grads { return {like(g, 0)}; },
     .onnx = {"Sign", 9}, .numpy = "sign"},
    {.name = "stop_gradient", .doc = "x, which counts as a constant when gradients are taken", .domain = Domain::any,
     .value = [](Args x) { return x[0]; },
     .gradient = [](Args, Expr, Expr) -> Grads { return {Expr()}; }},
    {.name = "min", .doc = "the smaller; NaN if either is", .arity = 2, .domain = Domain::numbers,
     .value = [](Args x) { return min(x[0], x[1]); },
     .gradient = [](Args x, Expr, Expr g) -> Grads {
       const Expr tie = eq(x[0], x[1]);
       return {share(lt(x[0], x[1]), tie, g), share(lt(x[1], x[0]), tie, g)};
     },
     .onnx = {"Min", 8}, .numpy = "minimum"},
    {.name = "max", .doc = "the larger; NaN if either is", .arity = 2, .domain = Domain::numbers,
     .value = [](Args x) { return max(x[0], x[1]); },
     .gradient = [](Args x, Expr, Expr g) -> Grads {
       const Expr tie = eq(x[0], x[1]);
       return {share(lt(x[1], x[0]), tie, g), share(lt(x[0], x[1]), tie, g)};
     },
     .onnx = {"Max", 8}, .numpy = "maximum"},
    {.name = "fmin", .doc = "the smaller; a NaN gives way to a number", .arity = 2,
     .value = [](Args x) { return prefer_numbers(x, min(x[0], x[1])); },
     .gradient = [](Args x, Expr, Expr g) -> Grads {
       const Expr tie = eq(x[0], x[1]);
       return {share(either(lt(x[0], x[1]), is_nan(x[1])), tie, g), share(either(lt(x[1], x[0]), is_nan(x[0])), tie, g)};
     },
     .numpy = "fmin"},
    {.name = "fmax", .doc = "the larger; a NaN gives way to a number", .arity = 2,
     .value = [](Args x) { return prefer_numbers(x, max(x[0], x[1])); },
     .gradient = [](Args x, Expr, Expr g) -> Grads {
       const Expr tie = eq(x[0], x[1]);
       return {share(either(lt(x[1], x[0]), is_nan(x[1])), tie, g), share(either(lt(x[0], x[1]), is_nan(x[0])), tie, g)};
     },
     .numpy = "fmax"},
    {.name = "clamp", .doc = "min(max(x, low), high)", .arity = 3, .operands = {"x", "low", "high"}, .domain = Domain::numbers,
     .value = [](Args x) { return min(max(x[0], x[1]), x[2]); },
     .gradient = [](Args x, Expr, Expr g) -> Grads {
       const Expr above = lt(x[2], max(x[0], x[1]));
       const Expr below = lt(x[0], x[1]);
       return {select(either(above, below), like(g, 0), g), select(both(below, invert(above)), g, 0.0),
               select(above, g, 0.0)};
     },
     .onnx = {"Clip", 11}},
    {.name = "reciprocal", .doc = "1 / x",
     .value = [](Args x) { return 1 / x[0]; },
     .gradient = [](Args, Expr y, Expr g) -> Grads { return {-(g * y) * y}; },
     .onnx = {"Reciprocal", 6}, .numpy = "reciprocal"},
    {.name = "square", .doc = "x * x", .domain = Domain::numbers,
     .value = [](Args x) { return x[0] * x[0]; },
     .gradient = [](Args x, Expr, Expr g) -> Grads { return {2.0 * x[0] * g}; },
     .numpy = "square"},
    {.name = "sqrt", .doc = "square root",
     .value = [](Args x) { return sqrt(x[0]); },
     .gradient = [](Args, Expr y, Expr g) -> Grads { return {g / (2.0 * y)}; },
     .onnx = {"Sqrt", 6}, .numpy = "sqrt"},
    {.name = "rsqrt", .doc = "1 / sqrt(x)",
     .value = [](Args x) { return 1 / sqrt(x[0]); },
     .gradient = [](Args x, Expr y, Expr g) -> Grads { return {-0.5 * g * y / x[0]}; }},
    {.name = "cbrt", .doc = "cube root, real for negative x",
     .value = [](Args x) { return cube_root(x[0]); },
     .gradient = [](Args, Expr y, Expr g) -> Grads { return {g / (3.0 * y * y)}; },
     .numpy = "cbrt"},
    {.name = "pow", .doc = "x to the power y; integers wrap, and negative powers round toward zero", .arity = 2,
     .domain = Domain::numbers,
     .value = [](Args x) { return pow(x[0], x[1]); },
     .gradient = [](Args x, Expr y, Expr g) -> Grads {
       const Expr zero = eq(x[0], 0);
       const Expr base = select(zero, like(x[0], 1), x[0]);  // also keeps the derivative of this finite at 0
       const Expr power = pow(x[0], x[1] - 1);
       const Expr overflows = both(eq(abs(power), kInfinity), invert(zero));  // a small x[1] may make up for it
       const Expr by_base = select(overflows, g * (x[1] * y / base), g * x[1] * power);
       return {select(eq(x[1], 0), like(g, 0), by_base), select(zero, like(g, 0), g * y * log(base))};
     },
     .onnx = {"Pow", 7}, .numpy = "power"},
    {.name = "hypot", .doc = "sqrt(x*x + y*y) without overflow on the way", .arity = 2, .value = hypotenuse,
     .gradient = [](Args x, Expr y, Expr g) -> Grads {
       const Expr zero = eq(y, 0);
       return {select(zero, like(g, 0), g * (x[0] / y)), select(zero, like(g, 0), g * (x[1] / y))};
     },
     .numpy = "hypot"},
    {.name = "copysign", .doc = "magnitude of x with the sign of y, signed zeros included", .arity = 2,
     .value = [](Args x) {
       const Expr negative = either(lt(x[1], 0), lt(1 / x[1], 0));
       return select(negative, -abs(x[0]), abs(x[0]));
     },
     .gradient = [](Args x, Expr y, Expr g) -> Grads { return {g * sign(x[0]) * sign(y), like(g, 0)}; },
     .numpy = "copysign"},
    {.name = "select", .doc = "x where the condition holds, else y", .arity = 3, .operands = {"condition", "x", "y"}, .domain = Domain::any,
     .value = [](Args x) { return select(x[0], x[1], x[2]); },
     .gradient = [](Args x, Expr, Expr g) -> Grads {
       return {Expr(), select(x[0], g, 0.0), select(x[0], 0.0, g)};
     },
     .onnx = {"Where", 9}, .numpy = "where"},
    {.name = "cast", .doc = "another dtype: floats to integers truncating and saturating with NaN to 0, integers to integers by their low bits, to floats rounding",
     .domain = Domain::any, .result = ResultRule::given,
     .value = [](Args x) { return x[0]; },
     .gradient = [](Args x, Expr, Expr g) -> Grads { return {is_float(x[0].dtype()) ? cast(g, x[0].dtype()) : Expr()}; },
     .onnx = {"Cast", 6}},
    {.name = "reinterpret", .doc = "the bits of f32 as i32, of f64 as i64, and back; no gradient passes",
     .domain = Domain::words, .result = ResultRule::bits,
     .value = [](Args x) { return reinterpret(x[0]); }},
};
// clang-format on

}  // namespace

std::span<const ScalarFn> arithmetic_rows() { return kRows; }

}  // namespace tenon
