// Exponentials, logarithms and the error function.
#include <numbers>

#include "ops/scalar/scalar_table.h"

namespace tenon {
namespace {

using namespace expr;
using Grads = std::vector<Expr>;

// clang-format off
constexpr ScalarFn kRows[] = {
    {.name = "exp", .doc = "e to the x",
     .value = [](Args x) { return exp(x[0]); },
     .gradient = [](Args, Expr y, Expr g) -> Grads { return {g * y}; },
     .onnx = {"Exp", 6}, .numpy = "exp"},
    {.name = "exp_normal", .doc = "e to the x; 0 below -80 (f64: -700): never near the denormals",
     .value = [](Args x) { return exp_normal(x[0]); },
     .gradient = [](Args, Expr y, Expr g) -> Grads { return {g * y}; }},
    {.name = "exp2", .doc = "2 to the x",
     .value = [](Args x) { return pow(like(x[0], 2), x[0]); },
     .gradient = [](Args, Expr y, Expr g) -> Grads { return {g * y * std::numbers::ln2}; },
     .numpy = "exp2"},
    {.name = "expm1", .doc = "exp(x) - 1, exact near 0",
     .value = [](Args x) { return expm1(x[0]); },
     .gradient = [](Args x, Expr, Expr g) -> Grads { return {g * exp(x[0])}; },
     .numpy = "expm1"},
    {.name = "log", .doc = "natural logarithm",
     .value = [](Args x) { return log(x[0]); },
     .gradient = [](Args x, Expr, Expr g) -> Grads { return {g / x[0]}; },
     .onnx = {"Log", 6}, .numpy = "log"},
    {.name = "log2", .doc = "logarithm to base 2",
     .value = [](Args x) { return log(x[0]) / std::numbers::ln2; },
     .gradient = [](Args x, Expr, Expr g) -> Grads { return {g / std::numbers::ln2 / x[0]}; },
     .numpy = "log2"},
    {.name = "log10", .doc = "logarithm to base 10",
     .value = [](Args x) { return log(x[0]) / std::numbers::ln10; },
     .gradient = [](Args x, Expr, Expr g) -> Grads { return {g / std::numbers::ln10 / x[0]}; },
     .numpy = "log10"},
    {.name = "log1p", .doc = "log(1 + x), exact near 0",
     .value = [](Args x) { return log1p(x[0]); },
     .gradient = [](Args x, Expr, Expr g) -> Grads { return {g / (1 + x[0])}; },
     .numpy = "log1p"},
    {.name = "logaddexp", .doc = "log(exp(x) + exp(y)) without overflow on the way", .arity = 2,
     .value = [](Args x) {
       // Equal operands, two infinities among them, have no difference to take.
       const Expr equal = x[0] + std::numbers::ln2;
       return select(eq(x[0], x[1]), equal, max(x[0], x[1]) + log1p(exp(-abs(x[0] - x[1]))));
     },
     .gradient = [](Args x, Expr, Expr g) -> Grads {
       // Exponentials of negative numbers only, so that derivatives of this stay finite too.
       const Expr difference = x[0] - x[1];
       const Expr zero = like(difference, 0);
       const Expr sum = 1 + exp(-abs(difference));
       return {g * (exp(min(difference, zero)) / sum), g * (exp(min(-difference, zero)) / sum)};
     },
     .numpy = "logaddexp"},
    {.name = "erf", .doc = "error function",
     .value = [](Args x) { return erf(x[0]); },
     .gradient = [](Args x, Expr, Expr g) -> Grads {
       return {g * (2 * std::numbers::inv_sqrtpi) * exp(-(x[0] * x[0]))};
     },
     .onnx = {"Erf", 9}},
};
// clang-format on

}  // namespace

std::span<const ScalarFn> exponential_rows() { return kRows; }

}  // namespace tenon
