// Tiles for any processor, in the compiler's own vectors.
#include <array>

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

template <int kBits>
TENON_INLINE Ints dot(Ints sums, Words words, int32_t left) {
  sums += reinterpret_cast<Ints>(words & 255) * (left << 24 >> 24);
  sums += reinterpret_cast<Ints>(words >> 8 & 255) * (left << 16 >> 24);
  sums += reinterpret_cast<Ints>(words >> 16 & 255) * (left << 8 >> 24);
  return sums + reinterpret_cast<Ints>(words >> 24) * (left >> 24);
}

TENON_INLINE Floats add_product(Floats sum, Floats a, Floats b) { return sum + a * b; }

template <int kBits, int kPart>
TENON_INLINE Floats numbers(Words words) {
  constexpr uint32_t mask = (1U << kBits) - 1;
  return __builtin_convertvector(reinterpret_cast<Ints>(words >> (kBits * kPart) & mask) - (1 << (kBits - 1)), Floats);
}

#include "library/few_bits/tile_code.inc"

#undef TENON_TARGET
#undef TENON_INLINE

}  // namespace plain
}  // namespace

Kernels plain_kernels(int64_t bits) {
  return bits == 2   ? plain::kernels_of<2>("plain")
         : bits == 4 ? plain::kernels_of<4>("plain")
                     : plain::kernels_of<8>("plain");
}

#if !defined(__x86_64__) && !defined(__aarch64__)
std::span<const Kernels> kernels_for(int64_t bits) {
  static const std::array<Kernels, 3> all = {plain_kernels(2), plain_kernels(4), plain_kernels(8)};
  return std::span(all).subspan(bits == 2 ? 0 : bits == 4 ? 1 : 2, 1);
}
#endif

}  // namespace tenon::library::few_bits
