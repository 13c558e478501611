#include "native/external_symbols.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "native/lane_functions.h"

namespace tenon::codegen {
namespace {

template <class F>
void* address(F* function) {
  return reinterpret_cast<void*>(function);
}

std::vector<ExternalSymbol> make_symbols() {
  std::vector<ExternalSymbol> symbols = {
      // Where the target has no rounding instruction (SSE2).
      {"floorf", address<float(float)>(::floorf)},
      {"floor", address<double(double)>(::floor)},
      {"truncf", address<float(float)>(::truncf)},
      {"trunc", address<double(double)>(::trunc)},
      {"roundevenf", address<float(float)>(::roundevenf)},
      {"roundeven", address<double(double)>(::roundeven)},
      // Spilled vectors and arrays of lanes.
      {"memcpy", address<void*(void*, const void*, size_t)>(::memcpy)},
      {"memmove", address<void*(void*, const void*, size_t)>(::memmove)},
      {"memset", address<void*(void*, int, size_t)>(::memset)},
  };
  for (const LaneFunction& function : lane_functions()) {
    symbols.push_back({function.symbol, function.address});
  }
  std::ranges::sort(symbols, {}, &ExternalSymbol::name);
  return symbols;
}

}  // namespace

std::span<const ExternalSymbol> external_symbols() {
  static const std::vector<ExternalSymbol> symbols = make_symbols();
  return symbols;
}

}  // namespace tenon::codegen
