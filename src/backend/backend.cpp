#include "backend/backend.h"

#include "backend/interpreted.h"
#include "base/fail.h"

#ifdef TENON_WITH_LLVM
#include "backend/gpu.h"
#include "backend/native.h"
#endif

namespace tenon::backend {

#ifdef TENON_WITH_LLVM

bool has_native_code() { return true; }

const Backend& backend_for(const Machine& machine, bool native) {
  static const Native compiled;
  static const Gpu gpu;
  static const Interpreted interpreted;
  if (native && machine.is_gpu()) return gpu;
  return native ? static_cast<const Backend&>(compiled) : interpreted;
}

#else

namespace {

/// Of GPUs, kernels can be interpreted, and no code is made.
[[noreturn]] void refuse_code(const Machine& machine) {
  fail(
      "machine `{}` is a GPU ({}), and this build makes no code for GPUs; interpreted (CompileOptions::native off), "
      "its kernels run here",
      machine.name, machine.gpu().architecture);
}

}  // namespace

bool has_native_code() { return false; }

const Backend& backend_for(const Machine& machine, bool native) {
  if (native && machine.is_gpu()) refuse_code(machine);
  static const Interpreted interpreted;
  return interpreted;
}

#endif

}  // namespace tenon::backend
