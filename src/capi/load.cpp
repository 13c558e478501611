#include <cstdint>
#include <cstring>
#include <utility>

#include "base/aligned.h"
#include "base/fail.h"
#include "capi/handles.h"
#include "capi/status.h"
#include "tenon/program_file.h"

namespace tenon::capi {
namespace {

ProgramFileOptions file_options(uint32_t flags) { return {.verify = (flags & TENON_LOAD_UNVERIFIED) == 0}; }

/// A copy of bytes that do not lie as a program must.
std::shared_ptr<void> aligned_copy(std::span<const std::byte>& bytes) {
  std::byte* const copy = allocate_aligned(bytes.size());
  std::shared_ptr<void> owner(copy, [](void* memory) { free_aligned(static_cast<std::byte*>(memory)); });
  std::memcpy(copy, bytes.data(), bytes.size());
  bytes = {copy, bytes.size()};
  return owner;
}

}  // namespace

tenon_status load_into(const void* source, const char* what, uint32_t flags, tenon_model** model,
                       const std::function<std::unique_ptr<tenon_model>()>& load) noexcept {
  const tenon_status status = guard(TENON_INVALID_ARGUMENT, [&] {
    require(static_cast<const void*>(model), "model");
    *model = nullptr;
    require(source, what);
    if ((flags & ~uint32_t{TENON_LOAD_UNVERIFIED}) != 0) {
      fail("`flags` is {:#x}, and not all of these are flags of loading", flags);
    }
  });
  return status != TENON_OK ? status : guard(TENON_INVALID_FILE, [&] { *model = load().release(); });
}

std::unique_ptr<tenon_model> load_file(const std::string& path, uint32_t flags) {
  return std::make_unique<tenon_model>(load_program(path, file_options(flags)));
}

}  // namespace tenon::capi

tenon_status tenon_load_memory(const void* bytes, size_t size, uint32_t flags, tenon_model** model) {
  using namespace tenon;
  return capi::load_into(bytes, "bytes", flags, model, [&] {
    if (size > static_cast<size_t>(PTRDIFF_MAX)) {
      fail("`size` is {}, more than memory can hold", size);
    }
    std::span<const std::byte> all(static_cast<const std::byte*>(bytes), size);
    const bool lies_well = reinterpret_cast<uintptr_t>(bytes) % static_cast<size_t>(kElementAlignment) == 0;
    std::shared_ptr<void> owner = lies_well ? nullptr : capi::aligned_copy(all);
    return std::make_unique<tenon_model>(load_program(all, std::move(owner), capi::file_options(flags)));
  });
}

void tenon_free(tenon_model* model) { delete model; }
