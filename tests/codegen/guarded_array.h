// Arrays that end where memory ends: code that reads or writes past them dies.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <memory>

#include "base/fail.h"
#include "tenon/array.h"

namespace tenon {

/// A copy of `array` between two pages that cannot be touched, its last element right in front of the second one.
inline Array guarded(const Array& array) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t bytes = array.byte_count();
  const size_t inner = (bytes + page - 1) / page * page;
  const size_t all = inner + 2 * page;
  void* const mapped = mmap(nullptr, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  TENON_CHECK(mapped != MAP_FAILED);
  auto* const begin = static_cast<std::byte*>(mapped);
  TENON_CHECK(inner == 0 || mprotect(begin + page, inner, PROT_READ | PROT_WRITE) == 0);
  std::byte* const elements = begin + page + inner - bytes;
  if (bytes != 0) std::memcpy(elements, array.data(), bytes);
  std::shared_ptr<std::byte[]> memory(elements, [begin, all](std::byte*) { munmap(begin, all); });
  return Array::adopt(array.dtype(), array.dims(), std::move(memory));
}

}  // namespace tenon
