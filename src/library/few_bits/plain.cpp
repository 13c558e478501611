// Tiles for any processor, in the compiler's own vectors.
#include <vector>

#include "library/few_bits/tile.h"

namespace tenon::library::few_bits {
namespace {
namespace plain {

#define TENON_TARGET
#define TENON_INLINE __attribute__((always_inline)) inline

constexpr int kLanes = 4;
constexpr int kVectors = 1;
constexpr int kIntegerRows = 2;
constexpr int kFloatRows = 2;
constexpr bool kIsSigned = false;
constexpr bool kIsFused = false;
using Ints = int32_t __attribute__((vector_size(kLanes * 4)));
using Words = uint32_t __attribute__((vector_size(kLanes * 4)));
using Floats = float __attribute__((vector_size(kLanes * 4)));
using Bytes = uint8_t __attribute__((vector_size(kLanes)));

template <int Bits>
TENON_INLINE Ints dot(Ints sums, Words words, int32_t left) {
  sums += reinterpret_cast<Ints>(words & 255) * (left << 24 >> 24);
  sums += reinterpret_cast<Ints>(words >> 8 & 255) * (left << 16 >> 24);
  sums += reinterpret_cast<Ints>(words >> 16 & 255) * (left << 8 >> 24);
  return sums + reinterpret_cast<Ints>(words >> 24) * (left >> 24);
}

TENON_INLINE Floats add_product(Floats sum, Floats a, Floats b) { return sum + a * b; }

template <int Bits, int Part>
TENON_INLINE Floats numbers(Words words) {
  constexpr uint32_t mask = (1U << Bits) - 1;
  return __builtin_convertvector(reinterpret_cast<Ints>(words >> (Bits * Part) & mask) - (1 << (Bits - 1)), Floats);
}

#include "library/few_bits/tile_code.inc"

#undef TENON_TARGET
#undef TENON_INLINE

}  // namespace plain
}  // namespace

Kernels plain_kernels(const Numbers& numbers) {
  return for_numbers(numbers, []<int Bits, NumberCode Code>() { return plain::kernels_of<Bits, Code>("plain"); });
}

#if !defined(__x86_64__) && !defined(__aarch64__)
std::span<const Kernels> kernels_for(const Numbers& numbers) {
  return for_numbers(numbers, []<int Bits, NumberCode Code>() -> std::span<const Kernels> {
    static const std::vector<Kernels> one = {plain::kernels_of<Bits, Code>("plain")};
    return one;
  });
}
#endif

}  // namespace tenon::library::few_bits
