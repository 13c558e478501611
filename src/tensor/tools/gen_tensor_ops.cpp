// Writes tenon/tensor_ops.h: functions of tensors, one for each row of the scalar table and each builder, and their
// forms that write into given tensors.
#include <fstream>
#include <utility>

#include "tensor/tools/signatures.h"

using tenon::tensors::CppFunction;

namespace {

void declare(std::ostream& out, const CppFunction& function) {
  out << fmt::format("\n/// {}\n{} {}({});\n", function.doc, function.result, function.name,
                     function.declared(0, true));
  out << fmt::format("void {}_out({} out, {});\n", function.name, function.out_type(), function.declared(0, true));
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
      declare(out, function);
    }
  }
  out << "\n";
  for (const auto& [symbol, row] : {std::pair("+", "add"),
                                    {"-", "sub"},
                                    {"*", "mul"},
                                    {"/", "div"},
                                    {"==", "eq"},
                                    {"!=", "ne"},
                                    {"<", "lt"},
                                    {"<=", "le"},
                                    {">", "gt"},
                                    {">=", "ge"},
                                    {"&", "bit_and"},
                                    {"|", "bit_or"},
                                    {"^", "bit_xor"}}) {
    out << fmt::format(
        "inline Tensor operator{}(const TensorOperand& a, const TensorOperand& b) {{ return {}(a, b); }}\n", symbol,
        row);
  }
  out << "inline Tensor operator-(const Tensor& a) { return neg(a); }\n";
  out << "inline Tensor operator~(const Tensor& a) { return bit_not(a); }\n";
  out << "\n}  // namespace tenon\n";
  return out.flush() ? 0 : 1;
}
