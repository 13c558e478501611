#include "base/fail.h"
#include "capi/handles.h"
#include "capi/status.h"

namespace {

using tenon::fail;
using tenon::capi::guard;
using tenon::capi::require;

/// What is set in options that are there.
template <class Set>
tenon_status change(tenon_options* options, const Set& set) {
  return guard(TENON_INVALID_ARGUMENT, [&] {
    require(options, "options");
    set(*options);
  });
}

}  // namespace

tenon_status tenon_options_new(tenon_options** options) {
  return guard(TENON_INVALID_ARGUMENT, [&] {
    require(static_cast<const void*>(options), "options");
    *options = nullptr;
    *options = new tenon_options();
  });
}

void tenon_options_free(tenon_options* options) { delete options; }

tenon_status tenon_options_set_threads(tenon_options* options, int32_t threads) {
  return change(options, [&](tenon_options& to) {
    if (threads < 0) {
      fail("a run may use {} threads; 0 stands for all of the machine's", threads);
    }
    to.threads = threads;
  });
}

tenon_status tenon_options_set_size(tenon_options* options, const char* axis, int64_t size) {
  return change(options, [&](tenon_options& to) {
    require(axis, "axis");
    if (size < 0) {
      fail("axis `{}` cannot be {}", axis, size);
    }
    to.sizes[axis] = size;
  });
}

tenon_status tenon_options_set_flush_denormals(tenon_options* options, int32_t flush) {
  return change(options, [&](tenon_options& to) { to.flush_denormals = flush != 0; });
}

tenon_status tenon_options_cancel(tenon_options* options) {
  return change(options, [](tenon_options& to) { to.cancel.cancel(); });
}

tenon_status tenon_options_resume(tenon_options* options) {
  return change(options, [](tenon_options& to) { to.cancel.reset(); });
}
