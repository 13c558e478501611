// Tiles for x86: dot products of bytes by VNNI, else by products of 16 bits.
#include "library/few_bits/tile.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <array>
#include <vector>

#include "tenon/machine.h"

namespace tenon::library::few_bits {
namespace {

// Vectors are handed over inside of one source alone, whatever they are in the ABI.
#pragma GCC diagnostic ignored "-Wpsabi"
#if !defined(__clang__)  // g++ 12 takes what its own header leaves open for a mistake (GCC bug 105593)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

constexpr int half_of(int bits) { return 1 << (bits - 1); }

#define TENON_INLINE TENON_TARGET __attribute__((always_inline)) inline

/// Sixteen places of a table, looked up by the low four bits of a number that is `bits` of these.
template <int Bits>
constexpr auto lookup_table() {
  std::array<float, 16> table{};
  for (int i = 0; i < 16; ++i) {
    table[static_cast<size_t>(i)] = static_cast<float>(i % (1 << Bits) - half_of(Bits));
  }
  return table;
}

namespace vnni512 {
#define TENON_LOOK_UP
#define TENON_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,fma")))
constexpr int kLanes = 16;
constexpr int kVectors = 2;
constexpr int kIntegerRows = 6;
constexpr int kFloatRows = 6;
constexpr bool kIsSigned = false;
constexpr bool kIsFused = true;

using Ints = int32_t __attribute__((vector_size(kLanes * 4)));
using Words = uint32_t __attribute__((vector_size(kLanes * 4)));
using Floats = float __attribute__((vector_size(kLanes * 4)));
using Bytes = uint8_t __attribute__((vector_size(kLanes)));

template <int Bits>
TENON_INLINE Ints dot(Ints sums, Words words, int32_t left) {
  return reinterpret_cast<Ints>(
      _mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sums), reinterpret_cast<__m512i>(words), _mm512_set1_epi32(left)));
}
TENON_INLINE Floats add_product(Floats sum, Floats a, Floats b) { return _mm512_fmadd_ps(a, b, sum); }
TENON_INLINE Floats look_up(Words words, const float* table) {
  return _mm512_permutexvar_ps(reinterpret_cast<__m512i>(words), _mm512_loadu_ps(table));
}
template <int Bits, int Part>
TENON_INLINE Floats numbers(Words words) {
  if constexpr (Bits == 8) {
    return __builtin_convertvector(reinterpret_cast<Ints>(words >> (8 * Part) & 255) - 128, Floats);
  } else {
    static constexpr auto table = lookup_table<Bits>();
    return look_up(words >> (Bits * Part), table.data());
  }
}
#include "library/few_bits/tile_code.inc"
#undef TENON_LOOK_UP
#undef TENON_TARGET
}  // namespace vnni512

namespace vnni256 {
#define TENON_TARGET __attribute__((target("avx2,fma,avxvnni")))
constexpr int kLanes = 8;
constexpr int kVectors = 2;
constexpr int kIntegerRows = 2;
constexpr int kFloatRows = 2;
constexpr bool kIsSigned = false;
constexpr bool kIsFused = true;
using Ints = int32_t __attribute__((vector_size(kLanes * 4)));
using Words = uint32_t __attribute__((vector_size(kLanes * 4)));
using Floats = float __attribute__((vector_size(kLanes * 4)));
using Bytes = uint8_t __attribute__((vector_size(kLanes)));

template <int Bits>
TENON_INLINE Ints dot(Ints sums, Words words, int32_t left) {
  return reinterpret_cast<Ints>(_mm256_dpbusd_avx_epi32(reinterpret_cast<__m256i>(sums),
                                                        reinterpret_cast<__m256i>(words), _mm256_set1_epi32(left)));
}
TENON_INLINE Floats add_product(Floats sum, Floats a, Floats b) { return _mm256_fmadd_ps(a, b, sum); }
template <int Bits, int Part>
TENON_INLINE Floats numbers(Words words) {
  constexpr uint32_t mask = (1U << Bits) - 1;
  return __builtin_convertvector(reinterpret_cast<Ints>((words >> (Bits * Part)) & mask) - half_of(Bits), Floats);
}

#include "library/few_bits/tile_code.inc"
#undef TENON_TARGET
}  // namespace vnni256

namespace avx2 {
#define TENON_TARGET __attribute__((target("avx2,fma")))
constexpr int kLanes = 8;
constexpr int kVectors = 2;
constexpr int kIntegerRows = 2;
constexpr int kFloatRows = 2;
constexpr bool kIsSigned = false;
constexpr bool kIsFused = true;
using Ints = int32_t __attribute__((vector_size(kLanes * 4)));
using Words = uint32_t __attribute__((vector_size(kLanes * 4)));
using Floats = float __attribute__((vector_size(kLanes * 4)));
using Bytes = uint8_t __attribute__((vector_size(kLanes)));

template <int Bits>
TENON_INLINE Ints dot(Ints sums, Words words, int32_t left) {
  const __m256i x = _mm256_set1_epi32(left);
  if constexpr (Bits < 8) {
    const __m256i pairs = _mm256_maddubs_epi16(reinterpret_cast<__m256i>(words), x);
    return sums + reinterpret_cast<Ints>(_mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  } else {  // two products of bytes may have no room in 16 bits: even and odd bytes apart
    const __m256i even = _mm256_and_si256(reinterpret_cast<__m256i>(words), _mm256_set1_epi16(255));
    const __m256i odd = _mm256_srli_epi16(reinterpret_cast<__m256i>(words), 8);
    const __m256i even_x = _mm256_srai_epi16(_mm256_slli_epi16(x, 8), 8);
    const __m256i all =
        _mm256_add_epi32(_mm256_madd_epi16(even, even_x), _mm256_madd_epi16(odd, _mm256_srai_epi16(x, 8)));
    return sums + reinterpret_cast<Ints>(all);
  }
}
TENON_INLINE Floats add_product(Floats sum, Floats a, Floats b) { return _mm256_fmadd_ps(a, b, sum); }
template <int Bits, int Part>
TENON_INLINE Floats numbers(Words words) {
  constexpr uint32_t mask = (1U << Bits) - 1;
  return __builtin_convertvector(reinterpret_cast<Ints>((words >> (Bits * Part)) & mask) - half_of(Bits), Floats);
}

#include "library/few_bits/tile_code.inc"
#undef TENON_TARGET
}  // namespace avx2

/// What this processor has of them, the fastest first.
template <int Bits, NumberCode Code>
std::vector<Kernels> made() {
  const CpuMachine& cpu = this_machine().cpu();
  std::vector<Kernels> result;
  if (cpu.has(CpuFeature::avx512vnni)) result.push_back(vnni512::kernels_of<Bits, Code>("avx512vnni"));
  if (cpu.has(CpuFeature::avxvnni)) result.push_back(vnni256::kernels_of<Bits, Code>("avxvnni"));
  if (cpu.has(CpuFeature::avx2) && cpu.has(CpuFeature::fma)) result.push_back(avx2::kernels_of<Bits, Code>("avx2"));
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
