// Scalar programs compiled for this machine and run over vectors.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/math/scalar_loop.h"
#include "native/external_symbols.h"

namespace tenon::codegen {

inline JitOptions loop_options(const Target& target = host_target()) {
  return {
      .target = target, .symbols = {external_symbols().begin(), external_symbols().end()}, .cache = {}, .emitter = ""};
}

inline ScalarLoop* compile_loop(Jit& jit, const ScalarProgram& program, const ScalarLoopOptions& options) {
  const Jit::Request request = scalar_loop(program, options);
  return reinterpret_cast<ScalarLoop*>(jit.compile({&request, 1}).front());
}

/// A program that is one primitive over arguments of one dtype.
inline ScalarProgram program_of(Prim prim, Dtype dtype, int arity) {
  std::vector<Expr> arguments;
  for (int i = 0; i < arity; ++i) {
    arguments.push_back(expr::argument(i, dtype));
  }
  return flatten({expr::apply(prim, arguments)});
}

}  // namespace tenon::codegen
