// Activations of neural networks. Parameters are operands, so that one row serves every setting.
#include <numbers>

#include "ops/scalar/scalar_table.h"

namespace tenon {
namespace {

using namespace expr;
using Grads = std::vector<Expr>;

constexpr double kSeluAlpha = 1.6732632423543772848170429916717;
constexpr double kSeluGamma = 1.0507009873554804934193349852946;
constexpr double kGeluCubic = 0.044715;
constexpr double kGeluSigmoid = 1.702;
constexpr double kSqrt2OverPi = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;

Expr sigmoid(const Expr& x) { return 1 / (1 + exp(-x)); }
/// The same with exponentials of negative numbers only, so that derivatives of it stay finite too.
Expr smooth_sigmoid(const Expr& x) { return exp(min(x, like(x, 0))) / (1 + exp(-abs(x))); }
/// x * sigmoid(x), whose exponential vanishes before the product does: half of it at a time.
Expr silu(const Expr& x) {
  const Expr half = exp(abs(x) * -0.5);
  return select(lt(x, 0), x * half * half, x) / (1 + half * half);
}
Expr softplus(const Expr& x) { return max(x, like(x, 0)) + log1p(exp(-abs(x))); }
Expr normal_cdf(const Expr& x) { return 0.5 * (1 + erf(x * (1 / std::numbers::sqrt2))); }

// clang-format off
constexpr ScalarFn kRows[] = {
    {.name = "sigmoid", .doc = "1 / (1 + exp(-x))",
     .value = [](Args x) { return sigmoid(x[0]); },
     // By the result: the quotient rule is NaN in f32 below -89.
     .gradient = [](Args, Expr y, Expr g) -> Grads { return {g * (y * (1 - y))}; },
     .onnx = {"Sigmoid", 6}},
    {.name = "relu", .doc = "max(x, 0)", .domain = Domain::numbers,
     .value = [](Args x) { return max(x[0], like(x[0], 0)); },
     .gradient = [](Args x, Expr, Expr g) -> Grads { return {select(lt(0, x[0]), g, 0.0)}; },
     .onnx = {"Relu", 6}},
    {.name = "leaky_relu", .doc = "x, or alpha * x below 0", .arity = 2, .operands = {"x", "alpha"},
     .value = [](Args x) { return select(lt(x[0], 0), x[1] * x[0], x[0]); },
     .gradient = [](Args x, Expr, Expr g) -> Grads {
       const Expr below = lt(x[0], 0);
       return {select(below, x[1] * g, g), select(below, x[0] * g, 0.0)};
     },
     .onnx = {"PRelu", 9}},
    {.name = "thresholded_relu", .doc = "x above alpha, else 0", .arity = 2, .operands = {"x", "alpha"},
     .value = [](Args x) { return select(lt(x[1], x[0]), x[0], 0.0); },
     .gradient = [](Args x, Expr, Expr g) -> Grads { return {select(lt(x[1], x[0]), g, 0.0), like(g, 0)}; }},
    {.name = "elu", .doc = "x, or alpha * (exp(x) - 1) below 0", .arity = 2, .operands = {"x", "alpha"},
     .value = [](Args x) { return select(lt(x[0], 0), x[1] * expm1(x[0]), x[0]); },
     .gradient = [](Args x, Expr, Expr g) -> Grads {
       const Expr below = lt(x[0], 0);
       return {select(below, g * x[1] * exp(min(x[0], like(x[0], 0))), g), select(below, g * expm1(x[0]), 0.0)};
     }},
    {.name = "celu", .doc = "x, or alpha * (exp(x / alpha) - 1) below 0", .arity = 2, .operands = {"x", "alpha"},
     .value = [](Args x) { return select(lt(x[0], 0), x[1] * expm1(x[0] / x[1]), x[0]); },
     .gradient = [](Args x, Expr, Expr g) -> Grads {
       const Expr below = lt(x[0], 0);
       const Expr ratio = min(x[0], like(x[0], 0)) / x[1];
       return {select(below, g * exp(ratio), g), select(below, g * (expm1(ratio) - ratio * exp(ratio)), 0.0)};
     }},
    {.name = "selu", .doc = "elu with the constants that keep mean and variance",
     .value = [](Args x) { return kSeluGamma * select(lt(x[0], 0), kSeluAlpha * expm1(x[0]), x[0]); },
     .gradient = [](Args x, Expr, Expr g) -> Grads {
       return {kSeluGamma * select(lt(x[0], 0), g * kSeluAlpha * exp(min(x[0], like(x[0], 0))), g)};
     },
     .onnx = {"Selu", 6}},
    {.name = "softplus", .doc = "log(1 + exp(x)) without overflow on the way",
     .value = [](Args x) { return softplus(x[0]); },
     .gradient = [](Args x, Expr, Expr g) -> Grads { return {g * smooth_sigmoid(x[0])}; },
     .onnx = {"Softplus", 1}},
    {.name = "softsign", .doc = "x / (1 + |x|)",
     .value = [](Args x) { return x[0] / (1 + abs(x[0])); },
     .gradient = [](Args x, Expr, Expr g) -> Grads {
       const Expr d = 1 + abs(x[0]);
       return {g / d / d};
     },
     .onnx = {"Softsign", 1}},
    {.name = "hard_sigmoid", .doc = "alpha * x + beta, clamped to [0, 1]", .arity = 3, .operands = {"x", "alpha", "beta"},
     .value = [](Args x) { return min(max(x[1] * x[0] + x[2], like(x[0], 0)), like(x[0], 1)); },
     .gradient = [](Args x, Expr, Expr g) -> Grads {
       const Expr line = x[1] * x[0] + x[2];
       const Expr inside = both(lt(0, line), lt(line, 1));
       return {select(inside, x[1] * g, 0.0), select(inside, x[0] * g, 0.0), select(inside, g, 0.0)};
     }},
    {.name = "hard_swish", .doc = "x * clamp(x / 6 + 1/2, 0, 1)",
     .value = [](Args x) { return x[0] * min(max(x[0] / 6 + 0.5, like(x[0], 0)), like(x[0], 1)); },
     .gradient = [](Args x, Expr, Expr g) -> Grads {
       return {select(le(x[0], -3), like(g, 0), select(le(3, x[0]), g, g * (x[0] / 3 + 0.5)))};
     },
     .onnx = {"HardSwish", 14}},
    {.name = "silu", .doc = "x * sigmoid(x)",
     .value = [](Args x) { return silu(x[0]); },
     .gradient = [](Args x, Expr, Expr g) -> Grads {
       const Expr s = smooth_sigmoid(x[0]);
       return {g * (s * (1 + x[0] * (1 - s)))};
     }},
    {.name = "gelu", .doc = "x times the normal distribution function of x, by erf",
     .value = [](Args x) { return x[0] * normal_cdf(x[0]); },
     .gradient = [](Args x, Expr, Expr g) -> Grads {
       const Expr density = exp(-0.5 * (x[0] * x[0])) * (kSqrt2OverPi / 2);
       return {g * (normal_cdf(x[0]) + x[0] * density)};
     }},
    {.name = "gelu_tanh", .doc = "gelu by the usual tanh approximation",
     .value = [](Args x) {
       const Expr inner = kSqrt2OverPi * (x[0] + kGeluCubic * x[0] * x[0] * x[0]);
       return 0.5 * x[0] * (1 + tanh(inner));
     },
     .gradient = [](Args x, Expr, Expr g) -> Grads {
       const Expr square = x[0] * x[0];
       const Expr t = tanh(kSqrt2OverPi * (x[0] + kGeluCubic * x[0] * square));
       // Factors are ordered so that the vanishing one comes before the cubic one can overflow.
       const Expr slope = (1 - t) * (1 + t) * x[0] * (kSqrt2OverPi * (1 + 3 * kGeluCubic * square));
       return {g * 0.5 * ((1 + t) + slope)};
     }},
    {.name = "gelu_sigmoid", .doc = "gelu by the sigmoid approximation: x * sigmoid(1.702 * x)",
     .value = [](Args x) { return x[0] * sigmoid(kGeluSigmoid * x[0]); },
     .gradient = [](Args x, Expr, Expr g) -> Grads {
       const Expr s = smooth_sigmoid(kGeluSigmoid * x[0]);
       return {g * (s * (1 + kGeluSigmoid * x[0] * (1 - s)))};
     }},
    {.name = "mish", .doc = "x * tanh(softplus(x))",
     .value = [](Args x) { return x[0] * tanh(softplus(x[0])); },
     .gradient = [](Args x, Expr, Expr g) -> Grads {
       const Expr t = tanh(softplus(x[0]));
       return {g * (t + x[0] * smooth_sigmoid(x[0]) * ((1 - t) * (1 + t)))};
     },
     .onnx = {"Mish", 18}},
    {.name = "shrink", .doc = "x moved toward 0 by bias outside [-limit, limit], 0 inside",
     .arity = 3, .operands = {"x", "limit", "bias"},
     .value = [](Args x) {
       return select(lt(x[0], -x[1]), x[0] + x[2], select(lt(x[1], x[0]), x[0] - x[2], x[0] * 0));
     },
     .gradient = [](Args x, Expr, Expr g) -> Grads {
       const Expr below = lt(x[0], -x[1]);
       const Expr above = lt(x[1], x[0]);
       return {select(either(below, above), g, 0.0), like(g, 0), select(below, g, select(above, -g, like(g, 0)))};
     }},
};
// clang-format on

}  // namespace

std::span<const ScalarFn> activation_rows() { return kRows; }

}  // namespace tenon
