// Writes tenon/elementwise.h, the typed builders of the scalar table, so that a row needs no second list anywhere.
#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "ops/scalar/scalar_table.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: gen_elementwise FILE\n");
    return 1;
  }
  std::ofstream out(argv[1]);
  out << "// Elementwise functions, one for each row of the scalar table. Made by gen_elementwise; do not edit.\n"
         "#pragma once\n\n#include \"tenon/operand.h\"\n\nnamespace tenon {\n";
  for (const tenon::ScalarFn* fn : tenon::scalar_table()) {
    if (fn->result == tenon::ResultRule::given) {
      continue;  // cast takes a dtype and is declared in ops.h
    }
    std::string declared;
    std::string passed;
    for (size_t i = 0; i < static_cast<size_t>(fn->arity); ++i) {
      const char* const comma = i == 0 ? "" : ", ";
      declared += fmt::format("{}const Operand& {}", comma, fn->operands[i]);
      passed += fmt::format("{}{}", comma, fn->operands[i]);
    }
    out << fmt::format("\n/// {}\ninline Value {}({}) {{ return map(\"{}\", {{{}}}); }}\n", fn->doc, fn->name, declared,
                       fn->name, passed);
  }
  out << "\n}  // namespace tenon\n";
  return out.flush() ? 0 : 1;
}
