#include "backend/backend.h"

#include "backend/interpreted.h"

#ifdef TENON_WITH_LLVM
#include "backend/native.h"
#endif

namespace tenon::backend {

#ifdef TENON_WITH_LLVM

bool has_native_code() { return true; }

const Backend& backend_for(const Machine& /*machine*/, bool native) {
  static const Native compiled;
  static const Interpreted interpreted;
  return native ? static_cast<const Backend&>(compiled) : interpreted;
}

#else

bool has_native_code() { return false; }

const Backend& backend_for(const Machine& /*machine*/, bool /*native*/) {
  static const Interpreted interpreted;
  return interpreted;
}

#endif

}  // namespace tenon::backend
