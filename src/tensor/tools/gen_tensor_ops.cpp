// Writes tenon/tensor_ops.h: functions of tensors, one for each row of the scalar table and each builder, their forms
// that write into given tensors, and the bodies of Tensor's methods.
#include <fstream>
#include <utility>

#include "tensor/tools/signatures.h"

using tenon::tensors::CppFunction;

namespace {

/// The call that does the work.
std::string call(const CppFunction& function) {
  if (function.is_row) {
    return fmt::format("tensors::map(\"{}\", {{{}}})", function.name, function.passed(0));
  }
  const std::string list = fmt::format("tensors::build(\"{}\", {{{}}})", function.name, function.passed(0));
  return function.result == "Tensor" ? fmt::format("{}.front()", list) : list;
}

void write_function(std::ostream& out, const CppFunction& function) {
  out << fmt::format("\n/// {}\ninline {} {}({}) {{ return {}; }}\n", function.doc, function.result, function.name,
                     function.declared(0, true), call(function));
  const bool one = function.result == "Tensor";
  out << fmt::format("inline void {}_out({} out, {}) {{ tensors::write_out(out, {}({})); }}\n", function.name,
                     one ? "Tensor" : "const std::vector<Tensor>&", function.declared(0, true), function.name,
                     function.passed(0));
}

void write_method(std::ostream& out, const CppFunction& function) {
  if (function.is_method) {
    const std::string rest = function.passed(1);
    out << fmt::format("inline {} Tensor::{}({}) const {{ return tenon::{}(*this{}{}); }}\n", function.result,
                       function.name, function.declared(1, false), function.name, rest.empty() ? "" : ", ", rest);
    if (function.may_be_in_place) {
      out << fmt::format("inline Tensor& Tensor::{}_({}) {{ return copy_({}({})); }}\n", function.name,
                         function.declared(1, false), function.name, rest);
    }
  } else if (!function.takes_tensor) {
    out << fmt::format("inline {} Tensor::{}({}) {{ return {}; }}\n", function.result, function.name,
                       function.declared(0, false), call(function));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: gen_tensor_ops FILE\n");
    return 1;
  }
  std::ofstream out(argv[1]);
  out << "// Functions of tensors, one for each row of the scalar table and each builder, and the same with `_out`, "
         "which\n"
         "// write into a given tensor of the result's shape and dtype. Made by gen_tensor_ops; do not edit.\n"
         "#pragma once\n\n#include \"tenon/tensor.h\"\n\nnamespace tenon {\n";
  for (const CppFunction& function : tenon::tensors::tensor_functions()) {
    if (function.takes_tensor) {
      write_function(out, function);
    }
  }
  out << "\n";
  for (const CppFunction& function : tenon::tensors::tensor_functions()) {
    write_method(out, function);
  }
  for (const auto& [symbol, row] : {std::pair("+", "add"), {"-", "sub"}, {"*", "mul"}, {"/", "div"}}) {
    out << fmt::format(
        "inline Tensor operator{}(const TensorOperand& a, const TensorOperand& b) {{ return {}(a, b); }}\n", symbol,
        row);
  }
  out << "inline Tensor operator-(const Tensor& a) { return neg(a); }\n";
  out << "\n}  // namespace tenon\n";
  return out.flush() ? 0 : 1;
}
