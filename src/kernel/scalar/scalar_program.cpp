#include "kernel/scalar/scalar_program.h"

#include <unordered_map>

namespace tenon {
namespace {

/// Depth is bounded by the rows of the scalar table, so recursion is fine here.
int emit(const Expr& expr, ScalarProgram& program, std::unordered_map<const ScalarNode*, int>& registers) {
  if (const auto found = registers.find(expr.get()); found != registers.end()) {
    return found->second;
  }
  ScalarInstruction instruction{.prim = expr->prim, .dtype = expr->dtype, .literal = expr->literal};
  if (expr->prim == Prim::argument) {
    instruction.a = expr->index;
  }
  int* const slots[] = {&instruction.a, &instruction.b, &instruction.c};
  for (size_t i = 0; i < expr->operands.size(); ++i) {
    *slots[i] = emit(expr->operands[i], program, registers);
    instruction.operand_dtype = expr->operands[i].dtype();
  }
  program.code.push_back(instruction);
  const int result = static_cast<int>(program.code.size()) - 1;
  registers.emplace(expr.get(), result);
  return result;
}

}  // namespace

ScalarProgram flatten(const std::vector<Expr>& roots) {
  ScalarProgram program;
  std::unordered_map<const ScalarNode*, int> registers;
  for (const Expr& root : roots) {
    program.results.push_back(emit(root, program, registers));
  }
  return program;
}

}  // namespace tenon
