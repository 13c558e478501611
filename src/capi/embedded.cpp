#include <atomic>
#include <mutex>

#include "capi/handles.h"
#include "capi/status.h"

namespace {

/// Loading is rare: one lock serves all embedded programs.
std::mutex& loading() {
  static std::mutex* const mutex = new std::mutex;
  return *mutex;
}

}  // namespace

tenon_status tenon_embedded_model(tenon_embedded* program, const tenon_model** model) {
  using tenon::capi::require;
  const tenon_status status = tenon::capi::guard(TENON_INVALID_ARGUMENT, [&] {
    require(static_cast<const void*>(model), "model");
    *model = nullptr;
    require(program, "program");
  });
  if (status != TENON_OK) {
    return status;
  }
  const std::atomic_ref<tenon_model*> held(program->model);
  if (tenon_model* const loaded = held.load(std::memory_order_acquire)) {
    *model = loaded;
    return TENON_OK;
  }
  const std::scoped_lock lock(loading());
  tenon_model* loaded = held.load(std::memory_order_relaxed);
  if (loaded == nullptr) {
    if (const tenon_status failed = tenon_load_memory(program->bytes, program->size, TENON_LOAD_UNVERIFIED, &loaded);
        failed != TENON_OK) {
      return failed;
    }
    held.store(loaded, std::memory_order_release);
  }
  *model = loaded;
  return TENON_OK;
}

void tenon_embedded_unload(tenon_embedded* program) {
  if (program != nullptr) {
    const std::scoped_lock lock(loading());
    tenon_free(program->model);
    program->model = nullptr;
  }
}
