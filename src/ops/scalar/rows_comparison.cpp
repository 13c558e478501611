// Comparisons, logic, bits and tests of floats.
#include <limits>

#include "ops/scalar/scalar_table.h"

namespace tenon {
namespace {

using namespace expr;

constexpr auto kInfinity = std::numeric_limits<double>::infinity();

// clang-format off
constexpr ScalarFn kRows[] = {
    {.name = "eq", .doc = "x == y", .arity = 2, .domain = Domain::any, .result = ResultRule::logical,
     .value = [](Args x) { return eq(x[0], x[1]); }, .onnx = {"Equal", 7}, .numpy = "equal"},
    {.name = "ne", .doc = "x != y", .arity = 2, .domain = Domain::any, .result = ResultRule::logical,
     .value = [](Args x) { return invert(eq(x[0], x[1])); }, .numpy = "not_equal"},
    {.name = "lt", .doc = "x < y", .arity = 2, .domain = Domain::numbers, .result = ResultRule::logical,
     .value = [](Args x) { return lt(x[0], x[1]); }, .onnx = {"Less", 7}, .numpy = "less"},
    {.name = "le", .doc = "x <= y", .arity = 2, .domain = Domain::numbers, .result = ResultRule::logical,
     .value = [](Args x) { return le(x[0], x[1]); }, .onnx = {"LessOrEqual", 12}, .numpy = "less_equal"},
    {.name = "gt", .doc = "x > y", .arity = 2, .domain = Domain::numbers, .result = ResultRule::logical,
     .value = [](Args x) { return lt(x[1], x[0]); }, .onnx = {"Greater", 7}, .numpy = "greater"},
    {.name = "ge", .doc = "x >= y", .arity = 2, .domain = Domain::numbers, .result = ResultRule::logical,
     .value = [](Args x) { return le(x[1], x[0]); }, .onnx = {"GreaterOrEqual", 12}, .numpy = "greater_equal"},
    {.name = "logical_and", .doc = "both", .arity = 2, .domain = Domain::logical,
     .value = [](Args x) { return both(x[0], x[1]); }, .onnx = {"And", 7}, .numpy = "logical_and"},
    {.name = "logical_or", .doc = "either", .arity = 2, .domain = Domain::logical,
     .value = [](Args x) { return either(x[0], x[1]); }, .onnx = {"Or", 7}, .numpy = "logical_or"},
    {.name = "logical_xor", .doc = "one and not the other", .arity = 2, .domain = Domain::logical,
     .value = [](Args x) { return apply(Prim::bit_xor, {x[0], x[1]}); }, .onnx = {"Xor", 7}, .numpy = "logical_xor"},
    {.name = "logical_not", .doc = "not x", .domain = Domain::logical,
     .value = [](Args x) { return invert(x[0]); }, .onnx = {"Not", 1}, .numpy = "logical_not"},
    {.name = "bit_and", .doc = "bits set in both", .arity = 2, .domain = Domain::bits,
     .value = [](Args x) { return both(x[0], x[1]); }, .onnx = {"BitwiseAnd", 18}, .numpy = "bitwise_and"},
    {.name = "bit_or", .doc = "bits set in either", .arity = 2, .domain = Domain::bits,
     .value = [](Args x) { return either(x[0], x[1]); }, .onnx = {"BitwiseOr", 18}, .numpy = "bitwise_or"},
    {.name = "bit_xor", .doc = "bits set in one", .arity = 2, .domain = Domain::bits,
     .value = [](Args x) { return apply(Prim::bit_xor, {x[0], x[1]}); }, .onnx = {"BitwiseXor", 18},
     .numpy = "bitwise_xor"},
    {.name = "bit_not", .doc = "bits flipped", .domain = Domain::bits,
     .value = [](Args x) { return invert(x[0]); }, .onnx = {"BitwiseNot", 18}, .numpy = "invert"},
    {.name = "shl", .doc = "x shifted left by y bits; all shifted out gives 0", .arity = 2, .domain = Domain::integers,
     .value = [](Args x) { return apply(Prim::shl, {x[0], x[1]}); }, .numpy = "left_shift"},
    {.name = "shr", .doc = "x shifted right by y bits, keeping the sign; all shifted out gives 0 or -1", .arity = 2,
     .domain = Domain::integers,
     .value = [](Args x) { return apply(Prim::shr, {x[0], x[1]}); }, .numpy = "right_shift"},
    {.name = "isnan", .doc = "x is not a number", .result = ResultRule::logical,
     .value = [](Args x) { return invert(eq(x[0], x[0])); }, .onnx = {"IsNaN", 9}, .numpy = "isnan"},
    {.name = "isinf", .doc = "x is an infinity of either sign", .result = ResultRule::logical,
     .value = [](Args x) { return eq(abs(x[0]), kInfinity); }, .onnx = {"IsInf", 10}, .numpy = "isinf"},
    {.name = "isfinite", .doc = "x is neither infinite nor NaN", .result = ResultRule::logical,
     .value = [](Args x) { return lt(abs(x[0]), kInfinity); }, .numpy = "isfinite"},
    {.name = "signbit", .doc = "x is negative, -0 included", .result = ResultRule::logical,
     .value = [](Args x) { return either(lt(x[0], 0), lt(1 / x[0], 0)); }},
};
// clang-format on

}  // namespace

std::span<const ScalarFn> comparison_rows() { return kRows; }

}  // namespace tenon
