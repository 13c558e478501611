// Multiply-adds on registers. As many sums run side by side as there are registers beside the operands: a unit that
// begins two or four a cycle and takes four cycles for each needs eight or sixteen that do not wait for one another.
#include <array>
#include <cstddef>
#include <utility>

#include "roofs/loops.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tenon::roofs {
namespace {

volatile int64_t kept = 0;  // what a loop comes to, so that none of it can be left out

#if defined(__x86_64__)

/// Sums that begin alike and add the same are one sum to a compiler that knows it: so each begins with what a pointer
/// names that is read again each time, as if it might have changed.
alignas(64) constexpr unsigned char kZeros[64] = {};
const void* volatile unknown_zeros = kZeros;

#define TENON_ARITHMETIC(function, attributes, Sum, Operand, count, operand, step)     \
  template <size_t... Is>                                                              \
  attributes void function##_on(int64_t steps, std::index_sequence<Is...> /*which*/) { \
    const Operand left = operand;                                                      \
    const Operand right = operand;                                                     \
    Sum sums[count] = {((void)Is, *static_cast<const Sum*>(unknown_zeros))...};        \
    for (int64_t i = 0; i < steps; ++i) {                                              \
      ((sums[Is] = step(sums[Is], left, right)), ...);                                 \
    }                                                                                  \
    alignas(64) unsigned char out[sizeof(Sum) * (count)];                              \
    ((*reinterpret_cast<Sum*>(out + sizeof(Sum) * Is) = sums[Is]), ...);               \
    int64_t all = 0;                                                                   \
    for (const unsigned char each : out) {                                             \
      all += each;                                                                     \
    }                                                                                  \
    kept = kept + all;                                                                 \
  }                                                                                    \
  attributes void function(int64_t steps) { function##_on(steps, std::make_index_sequence<(count)>()); }

#define TENON_BASELINE
#define TENON_AVX2 __attribute__((target("avx2,fma")))
#define TENON_AVX512 __attribute__((target("avx512f")))
#define TENON_VNNI __attribute__((target("avx512f,avx512vnni")))
#define TENON_AVXVNNI __attribute__((target("avx2,avxvnni")))

// Each multiplies the sum: a product of what stays the same would be computed once, before the loop.
__m128 sse_step(__m128 sum, __m128 a, __m128 b) { return _mm_add_ps(_mm_mul_ps(sum, a), b); }
__m128d sse_step(__m128d sum, __m128d a, __m128d b) { return _mm_add_pd(_mm_mul_pd(sum, a), b); }
__m128i sse_bytes(__m128i sum, __m128i a, __m128i b) {
  return _mm_add_epi32(sum, _mm_madd_epi16(_mm_xor_si128(a, sum), b));
}
TENON_AVX2 __m256 avx2_step(__m256 sum, __m256 a, __m256 b) { return _mm256_fmadd_ps(a, b, sum); }
TENON_AVX2 __m256d avx2_step(__m256d sum, __m256d a, __m256d b) { return _mm256_fmadd_pd(a, b, sum); }
/// Three instructions, as if none were needed against overflow.
TENON_AVX2 __m256i avx2_bytes(__m256i sum, __m256i a, __m256i b) {
  return _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_xor_si256(a, sum), b), b));
}
TENON_AVX512 __m512 avx512_step(__m512 sum, __m512 a, __m512 b) { return _mm512_fmadd_ps(a, b, sum); }
TENON_AVX512 __m512d avx512_step(__m512d sum, __m512d a, __m512d b) { return _mm512_fmadd_pd(a, b, sum); }
TENON_VNNI __m512i vnni_step(__m512i sum, __m512i a, __m512i b) { return _mm512_dpbusd_epi32(sum, a, b); }
TENON_AVXVNNI __m256i avxvnni_step(__m256i sum, __m256i a, __m256i b) { return _mm256_dpbusd_avx_epi32(sum, a, b); }

TENON_ARITHMETIC(f32_sse, TENON_BASELINE, __m128, __m128, 12, _mm_set1_ps(0.5F), sse_step)
TENON_ARITHMETIC(f64_sse, TENON_BASELINE, __m128d, __m128d, 12, _mm_set1_pd(0.5), sse_step)
TENON_ARITHMETIC(i8_sse, TENON_BASELINE, __m128i, __m128i, 12, _mm_set1_epi8(3), sse_bytes)
TENON_ARITHMETIC(f32_avx2, TENON_AVX2, __m256, __m256, 12, _mm256_set1_ps(0.5F), avx2_step)
TENON_ARITHMETIC(f64_avx2, TENON_AVX2, __m256d, __m256d, 12, _mm256_set1_pd(0.5), avx2_step)
TENON_ARITHMETIC(i8_avx2, TENON_AVX2, __m256i, __m256i, 12, _mm256_set1_epi8(3), avx2_bytes)
TENON_ARITHMETIC(f32_avx512, TENON_AVX512, __m512, __m512, 24, _mm512_set1_ps(0.5F), avx512_step)
TENON_ARITHMETIC(f64_avx512, TENON_AVX512, __m512d, __m512d, 24, _mm512_set1_pd(0.5), avx512_step)
TENON_ARITHMETIC(i8_vnni, TENON_VNNI, __m512i, __m512i, 24, _mm512_set1_epi8(3), vnni_step)
TENON_ARITHMETIC(i8_avxvnni, TENON_AVXVNNI, __m256i, __m256i, 12, _mm256_set1_epi8(3), avxvnni_step)

/// What the matrix unit is told of its tiles: all of 16 rows of 64 bytes.
struct alignas(64) TileShapes {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  std::array<uint8_t, 14> reserved = {};
  std::array<uint16_t, 16> row_bytes = {64, 64, 64, 64, 64, 64, 64, 64};
  std::array<uint8_t, 16> rows = {16, 16, 16, 16, 16, 16, 16, 16};
};

constexpr TileShapes kTileShapes;  // in memory, all of it: the instruction reads what compilers do not see

// Four sums: what eight tiles leave beside operands.
#define TENON_TILES(function, attributes, product) \
  attributes void function(int64_t steps) {        \
    _tile_loadconfig(&kTileShapes);                \
    _tile_zero(0);                                 \
    _tile_zero(1);                                 \
    _tile_zero(2);                                 \
    _tile_zero(3);                                 \
    _tile_zero(4);                                 \
    _tile_zero(5);                                 \
    _tile_zero(6);                                 \
    _tile_zero(7);                                 \
    for (int64_t i = 0; i < steps; ++i) {          \
      product(0, 4, 6);                            \
      product(1, 4, 7);                            \
      product(2, 5, 6);                            \
      product(3, 5, 7);                            \
    }                                              \
    _tile_release();                               \
  }
TENON_TILES(i8_tiles, __attribute__((target("amx-tile,amx-int8"))), _tile_dpbusd)
TENON_TILES(bf16_tiles, __attribute__((target("amx-tile,amx-bf16"))), _tile_dpbf16ps)

std::vector<ArithmeticLoop> widest_floats(bool doubles, const CpuMachine& machine) {
  const double lanes = doubles ? 8 : 16;  // of 64 bytes
  if (machine.instructions == InstructionSet::x86_64_v4) {
    return {{.run = doubles ? f64_avx512 : f32_avx512, .operations = 2 * 24 * lanes}};
  }
  if (machine.has(CpuFeature::avx2) && machine.has(CpuFeature::fma)) {
    return {{.run = doubles ? f64_avx2 : f32_avx2, .operations = 12 * lanes}};
  }
  return {{.run = doubles ? f64_sse : f32_sse, .operations = 6 * lanes}};
}

std::vector<ArithmeticLoop> widest_bytes(const CpuMachine& machine) {
  std::vector<ArithmeticLoop> loops;
  if (machine.has(CpuFeature::amx_int8)) {
    loops.push_back({.run = i8_tiles, .operations = 4 * 2.0 * 16 * 16 * 64});
  }
  if (machine.has(CpuFeature::avx512vnni)) {
    loops.push_back({.run = i8_vnni, .operations = 2 * 24 * 64});
  } else if (machine.has(CpuFeature::avxvnni)) {
    loops.push_back({.run = i8_avxvnni, .operations = 2 * 12 * 32});
  } else if (machine.has(CpuFeature::avx2)) {
    loops.push_back({.run = i8_avx2, .operations = 2 * 12 * 32});
  } else {
    loops.push_back({.run = i8_sse, .operations = 2 * 12 * 8});
  }
  return loops;
}

#elif defined(__aarch64__)

// In assembly, where each instruction may be one that the compiler was not told of.
#define TENON_24(one)                                                                                           \
  one(0) one(1) one(2) one(3) one(4) one(5) one(6) one(7) one(8) one(9) one(10) one(11) one(12) one(13) one(14) \
      one(15) one(16) one(17) one(18) one(19) one(20) one(21) one(22) one(23)
#define TENON_ARITHMETIC(function, extension, prepare, one)                                                       \
  void function(int64_t steps) {                                                                                  \
    __asm__ volatile(extension prepare "1:\n" TENON_24(one) "subs %0, %0, #1\n b.ne 1b\n"                         \
                     : "+r"(steps)                                                                                \
                     :                                                                                            \
                     : "cc", "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11",  \
                       "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v30", \
                       "v31");                                                                                    \
  }
#define TENON_ZERO(n) "movi v" #n ".4s, #0\n"
#define TENON_HALVES TENON_24(TENON_ZERO) "fmov v30.4s, #0.5\n fmov v31.4s, #0.5\n"
#define TENON_HALVES64 TENON_24(TENON_ZERO) "fmov v30.2d, #0.5\n fmov v31.2d, #0.5\n"
#define TENON_THREES TENON_24(TENON_ZERO) "movi v30.16b, #3\n movi v31.16b, #3\n"
#define TENON_F32(n) "fmla v" #n ".4s, v30.4s, v31.4s\n"
#define TENON_F64(n) "fmla v" #n ".2d, v30.2d, v31.2d\n"
#define TENON_DOT(n) "sdot v" #n ".4s, v30.16b, v31.16b\n"
#define TENON_SQUARE(n) "smmla v" #n ".4s, v30.16b, v31.16b\n"
#define TENON_BF16(n) "bfmmla v" #n ".4s, v30.8h, v31.8h\n"
#define TENON_BYTES(n) "smlal v" #n ".4s, v30.4h, v31.4h\n"
TENON_ARITHMETIC(f32_neon, "", TENON_HALVES, TENON_F32)
TENON_ARITHMETIC(f64_neon, "", TENON_HALVES64, TENON_F64)
TENON_ARITHMETIC(i8_neon, "", TENON_THREES, TENON_BYTES)
TENON_ARITHMETIC(i8_dot, ".arch_extension dotprod\n", TENON_THREES, TENON_DOT)
TENON_ARITHMETIC(i8_squares, ".arch_extension i8mm\n", TENON_THREES, TENON_SQUARE)
TENON_ARITHMETIC(bf16_squares, ".arch_extension bf16\n", TENON_THREES, TENON_BF16)

#define TENON_SVE_HALVES TENON_24(TENON_SVE_ZERO) "ptrue p0.b\n fmov z30.s, #0.5\n fmov z31.s, #0.5\n"
#define TENON_SVE_HALVES64 TENON_24(TENON_SVE_ZERO) "ptrue p0.b\n fmov z30.d, #0.5\n fmov z31.d, #0.5\n"
#define TENON_SVE_ZERO(n) "dup z" #n ".s, #0\n"
#define TENON_SVE_F32(n) "fmla z" #n ".s, p0/m, z30.s, z31.s\n"
#define TENON_SVE_F64(n) "fmla z" #n ".d, p0/m, z30.d, z31.d\n"
TENON_ARITHMETIC(f32_sve, ".arch_extension sve\n", TENON_SVE_HALVES, TENON_SVE_F32)
TENON_ARITHMETIC(f64_sve, ".arch_extension sve\n", TENON_SVE_HALVES64, TENON_SVE_F64)

std::vector<ArithmeticLoop> widest_floats(bool doubles, const CpuMachine& machine) {
  const double lanes = doubles ? 2 : 4;
  std::vector<ArithmeticLoop> loops = {{.run = doubles ? f64_neon : f32_neon, .operations = 2 * 24 * lanes}};
  if (machine.sve_bits > 0) {
    const double scale = static_cast<double>(machine.sve_bits) / 128;
    loops.push_back({.run = doubles ? f64_sve : f32_sve, .operations = 2 * 24 * lanes * scale});
  }
  return loops;
}

std::vector<ArithmeticLoop> widest_bytes(const CpuMachine& machine) {
  std::vector<ArithmeticLoop> loops = {{.run = i8_neon, .operations = 2 * 24 * 4}};
  if (machine.has(CpuFeature::dotprod)) {
    loops.push_back({.run = i8_dot, .operations = 2 * 24 * 16});
  }
  if (machine.has(CpuFeature::i8mm)) {
    loops.push_back({.run = i8_squares, .operations = 2 * 24 * 32});
  }
  return loops;
}

#else

template <class T>
void scalar_loop(int64_t steps) {
  std::array<T, 8> sums = {};
  const T factor = static_cast<T>(kept + 2);
  for (int64_t i = 0; i < steps; ++i) {
    for (T& sum : sums) {
      sum = static_cast<T>(sum + factor * factor);
    }
  }
  for (const T sum : sums) {
    kept = kept + (sum > T{1} ? 1 : 0);
  }
}

std::vector<ArithmeticLoop> widest_floats(bool doubles, const CpuMachine& /*machine*/) {
  return {{.run = doubles ? scalar_loop<double> : scalar_loop<float>, .operations = 16}};
}

std::vector<ArithmeticLoop> widest_bytes(const CpuMachine& /*machine*/) {
  return {{.run = scalar_loop<uint32_t>, .operations = 16}};
}

#endif

std::vector<ArithmeticLoop> narrow_floats(const CpuMachine& machine) {
  std::vector<ArithmeticLoop> loops = widest_floats(false, machine);
#if defined(__x86_64__)
  if (machine.has(CpuFeature::amx_bf16)) {
    loops.push_back({.run = bf16_tiles, .operations = 4 * 2.0 * 16 * 16 * 32});
  }
#elif defined(__aarch64__)
  if (machine.has(CpuFeature::bf16)) {
    loops.push_back({.run = bf16_squares, .operations = 2 * 24 * 16});
  }
#endif
  return loops;
}

}  // namespace

std::vector<ArithmeticLoop> arithmetic_loops(Unit unit, const CpuMachine& machine) {
  switch (unit) {
    case Unit::f32: return widest_floats(false, machine);
    case Unit::f64: return widest_floats(true, machine);
    case Unit::bf16: return narrow_floats(machine);
    case Unit::i8: return widest_bytes(machine);
  }
  return {};
}

}  // namespace tenon::roofs
