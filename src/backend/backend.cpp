#include "backend/backend.h"

#include "backend/interpreted.h"
#include "base/fail.h"

#ifdef TENON_WITH_LLVM
#include "backend/native.h"
#endif

namespace tenon::backend {
namespace {

void require_cpu(const Machine& machine) {
  if (machine.is_gpu()) {
    fail("machine `{}` is a GPU ({}), and this build has no back end for GPUs: it compiles for CPUs", machine.name,
         machine.gpu().architecture);
  }
}

}  // namespace

#ifdef TENON_WITH_LLVM

bool has_native_code() { return true; }

const Backend& backend_for(const Machine& machine, bool native) {
  require_cpu(machine);
  static const Native compiled;
  static const Interpreted interpreted;
  return native ? static_cast<const Backend&>(compiled) : interpreted;
}

#else

bool has_native_code() { return false; }

const Backend& backend_for(const Machine& machine, bool /*native*/) {
  require_cpu(machine);
  static const Interpreted interpreted;
  return interpreted;
}

#endif

}  // namespace tenon::backend
