#include "capi/status.h"

#include <string>

#include "base/fail.h"

namespace tenon::capi {
namespace {

std::string& message_of_thread() {
  thread_local std::string message;
  return message;
}

}  // namespace

tenon_status failed(tenon_status status, std::string_view message) noexcept {
  try {
    message_of_thread() = message;
  } catch (...) {
    message_of_thread().clear();
  }
  return status;
}

void require(const void* pointer, std::string_view what) {
  if (pointer == nullptr) {
    fail("`{}` is NULL", what);
  }
}

}  // namespace tenon::capi

const char* tenon_error() { return tenon::capi::message_of_thread().c_str(); }
const char* tenon_version() { return TENON_VERSION; }
