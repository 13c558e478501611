// Tiles for ARM: dot products of bytes where there are such, else widening products.
#include "library/few_bits/tile.h"

#if defined(__aarch64__)
#include <arm_neon.h>

#include <vector>

#include "tenon/machine.h"

namespace tenon::library::few_bits {
namespace {

#define TENON_INLINE TENON_TARGET __attribute__((always_inline)) inline

namespace dotprod {
#define TENON_TARGET __attribute__((target("arch=armv8.2-a+dotprod")))
constexpr int kLanes = 4;
constexpr int kVectors = 4;
constexpr int kIntegerRows = 3;
constexpr int kFloatRows = 3;
constexpr bool kIsSigned = true;
constexpr bool kIsFused = true;
using Ints = int32_t __attribute__((vector_size(kLanes * 4)));
using Words = uint32_t __attribute__((vector_size(kLanes * 4)));
using Floats = float __attribute__((vector_size(kLanes * 4)));
using Bytes = uint8_t __attribute__((vector_size(kLanes)));

template <int Bits>
TENON_INLINE Ints dot(Ints sums, Words words, int32_t left) {
  return reinterpret_cast<Ints>(vdotq_s32(reinterpret_cast<int32x4_t>(sums), reinterpret_cast<int8x16_t>(words),
                                          vreinterpretq_s8_s32(vdupq_n_s32(left))));
}
TENON_INLINE Floats add_product(Floats sum, Floats a, Floats b) {
  return reinterpret_cast<Floats>(vfmaq_f32(reinterpret_cast<float32x4_t>(sum), reinterpret_cast<float32x4_t>(a),
                                            reinterpret_cast<float32x4_t>(b)));
}
template <int Bits, int Part>
TENON_INLINE Floats numbers(Words words) {
  constexpr uint32_t mask = (1U << Bits) - 1;
  return __builtin_convertvector(reinterpret_cast<Ints>(words >> (Bits * Part) & mask) - (1 << (Bits - 1)), Floats);
}
#include "library/few_bits/tile_code.inc"
#undef TENON_TARGET
}  // namespace dotprod

namespace neon {
#define TENON_TARGET
constexpr int kLanes = 4;
constexpr int kVectors = 2;
constexpr int kIntegerRows = 4;
constexpr int kFloatRows = 4;
constexpr bool kIsSigned = true;
constexpr bool kIsFused = true;
using Ints = int32_t __attribute__((vector_size(kLanes * 4)));
using Words = uint32_t __attribute__((vector_size(kLanes * 4)));
using Floats = float __attribute__((vector_size(kLanes * 4)));
using Bytes = uint8_t __attribute__((vector_size(kLanes)));

template <int Bits>
TENON_INLINE Ints dot(Ints sums, Words words, int32_t left) {
  const int8x16_t w = reinterpret_cast<int8x16_t>(words);
  const int8x16_t x = vreinterpretq_s8_s32(vdupq_n_s32(left));
  const int32x4_t low = vpaddlq_s16(vmull_s8(vget_low_s8(w), vget_low_s8(x)));
  const int32x4_t high = vpaddlq_s16(vmull_high_s8(w, x));
  return sums + reinterpret_cast<Ints>(vpaddq_s32(low, high));
}
TENON_INLINE Floats add_product(Floats sum, Floats a, Floats b) {
  return reinterpret_cast<Floats>(vfmaq_f32(reinterpret_cast<float32x4_t>(sum), reinterpret_cast<float32x4_t>(a),
                                            reinterpret_cast<float32x4_t>(b)));
}
template <int Bits, int Part>
TENON_INLINE Floats numbers(Words words) {
  constexpr uint32_t mask = (1U << Bits) - 1;
  return __builtin_convertvector(reinterpret_cast<Ints>(words >> (Bits * Part) & mask) - (1 << (Bits - 1)), Floats);
}
#include "library/few_bits/tile_code.inc"
#undef TENON_TARGET
}  // namespace neon

/// What this processor has of them, the fastest first.
template <int Bits, NumberCode Code>
std::vector<Kernels> made() {
  std::vector<Kernels> result;
  if (this_machine().cpu().has(CpuFeature::dotprod)) result.push_back(dotprod::kernels_of<Bits, Code>("dotprod"));
  result.push_back(neon::kernels_of<Bits, Code>("neon"));
  result.push_back(plain_kernels({Bits, Code}));
  return result;
}

}  // namespace

std::span<const Kernels> kernels_for(const Numbers& numbers) {
  return for_numbers(numbers, []<int Bits, NumberCode Code>() -> std::span<const Kernels> {
    static const std::vector<Kernels> all = made<Bits, Code>();
    return all;
  });
}

}  // namespace tenon::library::few_bits

#undef TENON_INLINE
#endif
