// A scalar expression as a flat list of instructions, each writing its own register.
#pragma once

#include <vector>

#include "kernel/scalar/scalar.h"

namespace tenon {

struct ScalarInstruction {
  Prim prim = Prim::constant;
  Dtype dtype = Dtype::f32;          // of the result
  Dtype operand_dtype = Dtype::f32;  // of the operands, past a select's condition
  int a = -1, b = -1, c = -1;        // registers; a is the index of an argument
  double literal = 0;
};

struct ScalarProgram {
  std::vector<ScalarInstruction> code;  // register i is written by code[i]; operands precede their users
  std::vector<int> results;             // registers of the roots
};

/// Shared subexpressions become one instruction each.
ScalarProgram flatten(const std::vector<Expr>& roots);

}  // namespace tenon
