// Writes tenon/tensor_methods.inc: what class Tensor has for every row of the scalar table and every builder.
#include <fstream>

#include "tensor/tools/signatures.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: gen_tensor_methods FILE\n");
    return 1;
  }
  std::ofstream out(argv[1]);
  out << "// Methods of Tensor, one for each row of the scalar table and each builder. Made by gen_tensor_methods; do "
         "not\n"
         "// edit.\n";
  for (const tenon::tensors::CppFunction& function : tenon::tensors::tensor_functions()) {
    if (function.is_method) {
      out << fmt::format("\n/// {}\n{} {}({}) const;\n", function.doc, function.result, function.name,
                         function.declared(1, true));
    } else if (!function.takes_tensor) {
      out << fmt::format("\n/// {}\nstatic {} {}({});\n", function.doc, function.result, function.name,
                         function.declared(0, true));
    }
    if (function.may_be_in_place) {
      out << fmt::format("Tensor& {}_({});\n", function.name, function.declared(1, true));
    }
  }
  return out.flush() ? 0 : 1;
}
