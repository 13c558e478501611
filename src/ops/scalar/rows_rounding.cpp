// Rounding to whole numbers. Their derivative is 0 wherever they have one.
#include "ops/scalar/scalar_table.h"

namespace tenon {
namespace {

using namespace expr;

std::vector<Expr> flat(Args, Expr, Expr g) { return {like(g, 0)}; }

Expr ceiling(const Expr& x) { return -floor(-x); }

// clang-format off
constexpr ScalarFn kRows[] = {
    {.name = "floor", .doc = "toward minus infinity",
     .value = [](Args x) { return floor(x[0]); }, .gradient = flat, .onnx = {"Floor", 6}, .numpy = "floor"},
    {.name = "ceil", .doc = "toward plus infinity",
     .value = [](Args x) { return ceiling(x[0]); }, .gradient = flat, .onnx = {"Ceil", 6}, .numpy = "ceil"},
    {.name = "trunc", .doc = "toward zero",
     .value = [](Args x) { return select(lt(x[0], 0), ceiling(x[0]), floor(x[0])); }, .gradient = flat,
     .numpy = "trunc"},
    {.name = "round", .doc = "to nearest, halves to even",
     .value = [](Args x) { return round(x[0]); }, .gradient = flat, .onnx = {"Round", 11}, .numpy = "rint"},
};
// clang-format on

}  // namespace

std::span<const ScalarFn> rounding_rows() { return kRows; }

}  // namespace tenon
