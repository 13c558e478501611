// Writes tensor/record/tensor_bodies.inc: the bodies of what tenon/tensor_ops.h and tenon/tensor_methods.inc declare.
#include <fstream>

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

void define_function(std::ostream& out, const CppFunction& function) {
  out << fmt::format("\n{} {}({}) {{ return {}; }}\n", function.result, function.name, function.declared(0, false),
                     call(function));
  out << fmt::format("void {}_out({} out, {}) {{ tensors::write_out(out, {}({})); }}\n", function.name,
                     function.out_type(), function.declared(0, false), function.name, function.passed(0));
}

void define_method(std::ostream& out, const CppFunction& function) {
  if (function.is_method) {
    const std::string rest = function.passed(1);
    out << fmt::format("{} Tensor::{}({}) const {{ return tenon::{}(*this{}{}); }}\n", function.result, function.name,
                       function.declared(1, false), function.name, rest.empty() ? "" : ", ", rest);
    if (function.may_be_in_place) {
      out << fmt::format("Tensor& Tensor::{}_({}) {{ return copy_({}({})); }}\n", function.name,
                         function.declared(1, false), function.name, rest);
    }
  } else if (!function.takes_tensor) {
    out << fmt::format("{} Tensor::{}({}) {{ return {}; }}\n", function.result, function.name,
                       function.declared(0, false), call(function));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: gen_tensor_bodies FILE\n");
    return 1;
  }
  std::ofstream out(argv[1]);
  out << "// Made by gen_tensor_bodies; do not edit.\nnamespace tenon {\n";
  for (const CppFunction& function : tenon::tensors::tensor_functions()) {
    if (function.takes_tensor) {
      define_function(out, function);
    }
    define_method(out, function);
  }
  out << "\n}  // namespace tenon\n";
  return out.flush() ? 0 : 1;
}
