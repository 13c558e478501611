#include "library/library.h"

#include <functional>
#include <new>
#include <numeric>

#include "base/refused.h"

namespace tenon::library {
namespace {

int64_t product(std::span<const int64_t> dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

struct Name {
  std::string_view operator()(const SortRoutine&) const { return "sort"; }
  std::string_view operator()(const ScanRoutine&) const { return "scan"; }
  std::string_view operator()(const ScatterRoutine&) const { return "scatter"; }
  std::string_view operator()(const PositionsRoutine&) const { return "positions"; }
  std::string_view operator()(const FewBitsRoutine&) const { return "product of few bits"; }
};

}  // namespace

int64_t Memory::size() const { return product(dims); }

Lines lines_along(std::span<const int64_t> dims, int axis) {
  const auto at = static_cast<size_t>(axis);
  return {.outer = product(dims.first(at)), .count = dims[at], .inner = product(dims.subspan(at + 1))};
}

std::string_view name(const LibraryRoutine& step) { return std::visit(Name{}, step); }

void run(const LibraryRoutine& step, std::span<const Memory> reads, std::span<const Memory> writes,
         const Workers& workers) {
  try {
    std::visit([&](const auto& kind) { run(kind, reads, writes, workers); }, step);
  } catch (const std::bad_alloc&) {
    refuse("{}: no memory beside {} elements", name(step), reads[0].size());
  }
}

}  // namespace tenon::library
