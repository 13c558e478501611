#include "disk/build_id.h"

#include <fmt/format.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace tenon::disk {
namespace {

/// Finds the object that `address` lies in, and the build id among its notes.
struct BuildIdSearch {
  uintptr_t address = 0;
  std::string id;
};

std::string build_id_of(std::span<const std::byte> notes) {
  constexpr uint32_t kBuildId = 3;  // NT_GNU_BUILD_ID
  const auto padded = [](size_t bytes) { return (bytes + 3) / 4 * 4; };
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    const auto& header = *reinterpret_cast<const ElfW(Nhdr)*>(notes.data());
    const size_t begin = sizeof(header) + padded(header.n_namesz);
    const size_t size = begin + padded(header.n_descsz);
    if (size > notes.size()) return {};
    if (header.n_type == kBuildId) {
      std::string id;
      for (const std::byte each : notes.subspan(begin, header.n_descsz)) {
        id += fmt::format("{:02x}", static_cast<unsigned>(each));
      }
      return id;
    }
    notes = notes.subspan(size);
  }
  return {};
}

int visit_object(dl_phdr_info* info, size_t /*size*/, void* data) {
  auto& search = *static_cast<BuildIdSearch*>(data);
  const std::span headers(info->dlpi_phdr, info->dlpi_phnum);
  bool ours = false;
  for (const auto& header : headers) {
    const uintptr_t begin = info->dlpi_addr + header.p_vaddr;
    ours |= header.p_type == PT_LOAD && search.address >= begin && search.address < begin + header.p_memsz;
  }
  if (!ours) return 0;
  for (const auto& header : headers) {
    if (header.p_type == PT_NOTE && search.id.empty()) {
      // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader gives addresses as numbers.
      const auto* const begin = reinterpret_cast<const std::byte*>(info->dlpi_addr + header.p_vaddr);
      search.id = build_id_of({begin, header.p_memsz});
    }
  }
  return 1;
}

}  // namespace

std::string build_id() {
  static const std::string version = [] {
    BuildIdSearch search{.address = reinterpret_cast<uintptr_t>(&visit_object), .id = {}};
    dl_iterate_phdr(visit_object, &search);
    return search.id;
  }();
  return version;
}

}  // namespace tenon::disk
