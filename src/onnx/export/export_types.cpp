#include "onnx/export/export_types.h"

#include <algorithm>
#include <vector>

namespace tenon::exporter {
namespace {

/// Sets of dtypes, as bits.
using Types = unsigned;
constexpr Types bit(Dtype dtype) { return 1u << static_cast<unsigned>(dtype); }
constexpr Types kFloats = bit(f16) | bit(f32) | bit(f64);
constexpr Types kBf16 = bit(bf16);
constexpr Types kWideInts = bit(i32) | bit(i64) | bit(u32) | bit(u64);
constexpr Types kSigned = bit(i8) | bit(i16) | bit(i32) | bit(i64);
constexpr Types kUnsigned = bit(u8) | bit(u16) | bit(u32) | bit(u64);
constexpr Types kNumbers = kFloats | kSigned | kUnsigned;
constexpr Types kBool = bit(boolean);

struct Row {
  std::string_view op;
  Types types;
  int since = kOldestOpset;
};

// By ONNX's own definitions; tests/onnx/export_types_test.cpp holds this against the library's. Newer opsets take more
// types here and there, never fewer.
constexpr Row kRows[] = {
    {"Abs", kNumbers | kBf16},
    {"Acos", kFloats},
    {"Acosh", kFloats},
    {"Add", kNumbers | kBf16},
    {"And", kBool},
    {"ArgMax", kNumbers | kBf16},
    {"ArgMin", kNumbers | kBf16},
    {"Asin", kFloats},
    {"Asinh", kFloats},
    {"Atan", kFloats},
    {"Atanh", kFloats},
    {"AveragePool", kFloats},
    {"BitShift", kUnsigned},
    {"BitwiseAnd", kSigned | kUnsigned, 18},
    {"BitwiseNot", kSigned | kUnsigned, 18},
    {"BitwiseOr", kSigned | kUnsigned, 18},
    {"BitwiseXor", kSigned | kUnsigned, 18},
    {"Ceil", kFloats | kBf16},
    {"Conv", kFloats},
    {"Cos", kFloats},
    {"Cosh", kFloats},
    {"CumSum", kFloats | kWideInts | kBf16},
    {"Div", kNumbers | kBf16},
    {"Einsum", kNumbers},
    {"Equal", kNumbers | kBf16 | kBool},
    {"Erf", kNumbers | kBf16},
    {"Exp", kFloats | kBf16},
    {"Floor", kFloats | kBf16},
    {"Greater", kNumbers | kBf16},
    {"GreaterOrEqual", kNumbers | kBf16},
    {"HardSwish", kFloats},
    {"IsInf", bit(f32) | bit(f64)},
    {"IsNaN", kFloats | kBf16},
    {"Less", kNumbers | kBf16},
    {"LessOrEqual", kNumbers | kBf16},
    {"Log", kFloats | kBf16},
    {"MatMul", kFloats | kWideInts | kBf16},
    {"Max", kNumbers | kBf16},
    {"MaxPool", kFloats | bit(i8) | bit(u8)},
    {"Min", kNumbers | kBf16},
    {"Mish", kFloats, 18},
    {"Mod", kNumbers | kBf16},
    {"Mul", kNumbers | kBf16},
    {"Neg", kFloats | kSigned | kBf16},
    {"Not", kBool},
    {"Or", kBool},
    {"PRelu", kFloats | kWideInts | kBf16},
    {"Pow", kFloats | bit(i32) | bit(i64) | kBf16},
    {"Reciprocal", kFloats | kBf16},
    {"ReduceMax", kFloats | kWideInts | bit(i8) | bit(u8) | kBf16},
    {"ReduceMin", kFloats | kWideInts | bit(i8) | bit(u8) | kBf16},
    {"ReduceProd", kFloats | kWideInts | kBf16},
    {"ReduceSum", kFloats | kWideInts | kBf16},
    {"Relu", kFloats | kSigned | kBf16},
    {"Round", kFloats},
    {"Selu", kFloats},
    {"Sigmoid", kFloats | kBf16},
    {"Sign", kNumbers | kBf16},
    {"Sin", kFloats},
    {"Sinh", kFloats},
    {"Softplus", kFloats},
    {"Softsign", kFloats},
    {"Sqrt", kFloats | kBf16},
    {"Sub", kNumbers | kBf16},
    {"Tan", kFloats},
    {"Tanh", kFloats | kBf16},
    {"TopK", kNumbers},
    {"Xor", kBool},
};

}  // namespace

std::vector<std::string_view> onnx_typed_operators(int opset) {
  std::vector<std::string_view> names;
  for (const Row& row : kRows) {
    if (row.since <= opset) {
      names.push_back(row.op);
    }
  }
  return names;
}

std::optional<Dtype> find_onnx_carrier(std::string_view op, Dtype dtype) {
  const auto* row = std::ranges::find(kRows, op, &Row::op);
  if (row == std::end(kRows) || (row->types & bit(dtype)) != 0) {
    return dtype;
  }
  // Types that hold every value of this one; results come back by their low bits.
  std::vector<Dtype> wider;
  if (dtype == f16 || dtype == bf16) {
    wider = {f32};
  } else if (dtype == boolean || dtype == i8 || dtype == u8 || dtype == i16 || dtype == u16) {
    wider = {i32, i64};
  } else if (dtype == i32 || dtype == u32) {
    wider = {i64};
  }
  for (const Dtype candidate : wider) {
    if ((row->types & bit(candidate)) != 0) {
      return candidate;
    }
  }
  return std::nullopt;
}

}  // namespace tenon::exporter
