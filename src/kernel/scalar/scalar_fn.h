// The record of one scalar function: everything about it in one place.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "kernel/scalar/scalar.h"

namespace tenon {

/// Which dtypes a function takes; operands must agree, except the condition of a select.
enum class Domain : uint8_t {
  floats,   // f16 bf16 f32 f64
  numbers,  // floats and integers
  integers,
  bits,     // integers and bool
  logical,  // bool
  words,    // f32 f64 i32 i64
  any,
};

enum class ResultRule : uint8_t {
  same,     // the dtype of the operands
  logical,  // bool
  given,    // chosen by the user: cast alone
  bits,     // what reinterpreted() says
};

struct OnnxName {
  std::string_view name = {};  // empty: no ONNX operator is exactly this function
  int since = 0;               // the first opset with this meaning
};

/// A row of the scalar table. `value` and `gradient` see operands in their compute dtype (f32 for the half types).
struct ScalarFn {
  std::string_view name;
  std::string_view doc;
  int arity = 1;
  std::array<std::string_view, 3> operands = {"x", "y", "z"};  // what they are called
  Domain domain = Domain::floats;
  ResultRule result = ResultRule::same;
  /// The function in primitives.
  Expr (*value)(Args x) = nullptr;
  /// The gradients of the operands, given operands, result and the result's gradient; written to stay finite wherever
  /// the exact derivative is. An empty Expr is "none" (a condition); a null pointer is "not differentiable".
  std::vector<Expr> (*gradient)(Args x, Expr y, Expr g) = nullptr;
  OnnxName onnx = {};
  std::string_view numpy = {};  // NumPy's name, where it has one
};

/// Whether an operand of `dtype` lies in `domain`.
bool contains(Domain domain, Dtype dtype);
std::string_view describe(Domain domain);

/// The function's value over operands of the given dtypes, computed in their compute dtypes, with the result in its
/// compute dtype. `given` is the result dtype of a cast.
Expr instantiate(const ScalarFn& fn, const std::vector<Dtype>& operands, Dtype given);

}  // namespace tenon
