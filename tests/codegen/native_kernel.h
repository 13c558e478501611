// Kernels through native code, for tests.
#pragma once

#include <vector>

#include "codegen/compile_kernels.h"
#include "codegen/guarded_array.h"
#include "support/loop_launch.h"

namespace tenon::codegen {

/// The options of kernels' Jit, with nothing kept on disk.
inline JitOptions native_options() {
  JitOptions options = kernel_jit_options();
  options.cache.enabled = false;
  return options;
}

/// One Jit for all tests of the program.
inline Jit& native_jit() {
  static Jit jit(native_options());
  return jit;
}

inline std::vector<KernelFunction> compile_all(const std::vector<loops::Kernel>& kernels, Jit& jit = native_jit()) {
  std::vector<const loops::Kernel*> pointers;
  for (const loops::Kernel& kernel : kernels)
    pointers.push_back(&kernel);
  return compile_kernels(pointers, jit);
}

/// Copies of buffers past whose ends nothing can be read or written.
inline std::vector<Array> guarded(const std::vector<Array>& buffers) {
  std::vector<Array> copies;
  for (const Array& each : buffers)
    copies.push_back(tenon::guarded(each));
  return copies;
}

}  // namespace tenon::codegen
