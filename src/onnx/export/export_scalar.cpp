#include "onnx/export/export_scalar.h"

#include <functional>
#include <numbers>

#include "base/fail.h"
#include "kernel/scalar/scalar_program.h"

namespace tenon::exporter {
namespace {

/// One instruction: operators over tensors in its operands' dtype.
class PrimWriter {
 public:
  PrimWriter(OnnxWriter& to, Dtype dtype) : to_(to), dtype_(dtype) {}

  std::string write(Prim prim, const std::vector<std::string>& x) {
    switch (prim) {
      case Prim::neg: return is_unsigned_integer(dtype_) ? call("Sub", {number(0), x[0]}) : call("Neg", x);
      case Prim::abs: return call("Abs", x);
      case Prim::add: return call("Add", x);
      case Prim::sub: return call("Sub", x);
      case Prim::mul: return call("Mul", x);
      case Prim::div: return is_float(dtype_) ? call("Div", x) : guarded("Div", x, {});
      case Prim::rem:
        return is_float(dtype_) ? call("Mod", x, {{"fmod", int64_t{1}}}) : guarded("Mod", x, {{"fmod", int64_t{1}}});
      case Prim::min: return call("Min", x);
      case Prim::max: return call("Max", x);
      case Prim::sqrt: return call("Sqrt", x);
      case Prim::exp:
      case Prim::exp_normal: return call("Exp", x);  // where it is 0 here, it is below exp(-80) there
      case Prim::expm1: return expm1(x[0]);
      case Prim::log: return call("Log", x);
      case Prim::log1p: return log1p(x[0]);
      case Prim::sin: return call("Sin", x);
      case Prim::cos: return call("Cos", x);
      case Prim::atan2: return atan2(x[0], x[1]);
      case Prim::tanh: return call("Tanh", x);
      case Prim::erf: return call("Erf", x);
      case Prim::pow: return call("Pow", x);
      case Prim::floor: return call("Floor", x);
      case Prim::round: return call("Round", x);
      case Prim::eq: return test("Equal", x);
      case Prim::lt: return test("Less", x);
      case Prim::le: return test("LessOrEqual", x);
      case Prim::bit_and: return bits("And", prim, x);
      case Prim::bit_or: return bits("Or", prim, x);
      case Prim::bit_xor: return bits("Xor", prim, x);
      case Prim::shl: return shift("LEFT", prim, x);
      case Prim::shr: return shift("RIGHT", prim, x);
      case Prim::select: return to_.node("Where", x);
      case Prim::reinterpret: to_.refuse(fmt::format("`{}`", name(prim)), 26);
      case Prim::argument:
      case Prim::constant:
      case Prim::cast: break;
    }
    TENON_CHECK(false, "primitive {} has no operands to write", name(prim));
  }

 private:
  std::string number(double value) { return to_.scalar(dtype_, value); }
  std::string call(std::string_view op, const std::vector<std::string>& x, const OnnxAttributes& attributes = {}) {
    return to_.typed(op, x, dtype_, attributes);
  }
  std::string test(std::string_view op, const std::vector<std::string>& x) {
    return to_.typed(op, x, dtype_, {}, true);
  }
  std::string where(const std::string& condition, const std::string& a, const std::string& b) {
    return to_.node("Where", {condition, a, b});
  }

  /// By something that is not 0, and 0 where the divisor is: what ONNX leaves open.
  std::string guarded(std::string_view op, const std::vector<std::string>& x, const OnnxAttributes& attributes) {
    const std::string zero = test("Equal", {x[1], number(0)});
    return where(zero, number(0), call(op, {x[0], where(zero, number(1), x[1])}, attributes));
  }

  /// exp(x) - 1 is tanh(x / 2) * (exp(x) + 1), which loses nothing near 0.
  std::string expm1(const std::string& x) {
    const std::string half = call("Tanh", {call("Mul", {x, number(0.5)})});
    return call("Mul", {half, call("Add", {call("Exp", {x}), number(1)})});
  }

  /// log(u) * x / (u - 1) with u = 1 + x rounded: the errors of both factors cancel near 0. Far away it is log(u).
  std::string log1p(const std::string& x) {
    const std::string u = call("Add", {x, number(1)});
    const std::string plain = call("Log", {u});
    const std::string step = call("Sub", {u, number(1)});
    const std::string flat = test("Equal", {step, number(0)});
    const std::string ratio = call("Div", {x, where(flat, number(1), step)});
    const std::string near = where(flat, x, call("Mul", {plain, ratio}));
    return where(test("Less", {x, number(1)}), near, plain);
  }

  std::string atan2(const std::string& y, const std::string& x) {
    using std::numbers::pi;
    const std::string zero = number(0);
    const std::string on_axis = test("Equal", {x, zero});
    const std::string slope = call("Atan", {call("Div", {y, where(on_axis, number(1), x)})});
    const std::string below = test("Less", {y, zero});
    const std::string half_turn = where(below, number(-pi), number(pi));
    const std::string left = test("Less", {x, zero});
    const std::string off_axis = call("Add", {slope, where(left, half_turn, zero)});
    const std::string quarter = where(below, number(-pi / 2), number(pi / 2));
    const std::string vertical = where(test("Equal", {y, zero}), y, quarter);
    // A quotient of infinities is no number: the result is then a diagonal.
    return where(on_axis, vertical, off_axis);
  }

  std::string bits(std::string_view op, Prim prim, const std::vector<std::string>& x) {
    if (dtype_ == boolean) {
      return to_.node(op, x);
    }
    constexpr int since = 18;
    if (to_.opset() < since) {
      to_.refuse(fmt::format("`{}` of {}", name(prim), name(dtype_)), since);
    }
    return to_.node(fmt::format("Bitwise{}", op), x);
  }

  std::string shift(const char* direction, Prim prim, const std::vector<std::string>& x) {
    if (!is_unsigned_integer(dtype_)) {
      to_.refuse(fmt::format("`{}` of {}", name(prim), name(dtype_)));
    }
    // Shifting out everything is 0 here and left open there.
    const auto width = static_cast<double>(8 * byte_size(dtype_));
    const std::string inside = test("Less", {x[1], number(width)});
    const std::string by = where(inside, x[1], number(0));
    return where(inside, call("BitShift", {x[0], by}, {{"direction", std::string(direction)}}), number(0));
  }

  OnnxWriter& to_;
  Dtype dtype_;
};

}  // namespace

std::string write_expression(const Expr& expression, const std::vector<std::string>& arguments, OnnxWriter& to) {
  const ScalarProgram program = flatten({expression});
  std::vector<std::string> registers;
  for (const ScalarInstruction& instruction : program.code) {
    std::vector<std::string> operands;
    const auto number = static_cast<size_t>(instruction.prim == Prim::argument ? 0 : arity(instruction.prim));
    for (const int operand : {instruction.a, instruction.b, instruction.c}) {
      if (operands.size() < number) {
        operands.push_back(registers[static_cast<size_t>(operand)]);
      }
    }
    switch (instruction.prim) {
      case Prim::argument: registers.push_back(arguments[static_cast<size_t>(instruction.a)]); break;
      case Prim::constant: registers.push_back(to.scalar(instruction.dtype, instruction.literal)); break;
      case Prim::cast: registers.push_back(to.cast(operands[0], instruction.operand_dtype, instruction.dtype)); break;
      default: registers.push_back(PrimWriter(to, instruction.operand_dtype).write(instruction.prim, operands));
    }
  }
  return registers[static_cast<size_t>(program.results[0])];
}

}  // namespace tenon::exporter
