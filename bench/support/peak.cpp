#include "support/peak.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "support/timing.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace bench {
namespace {

constexpr int kSteps = 20'000;
constexpr int kTimes = 10;

/// A loop over accumulators that never leave registers: what it adds up, so that nothing of it can be left out, and the
/// additions and multiplications of a step.
struct Loop {
  float (*run)(float factor);
  double flops;
};

// Accumulators: as many as registers hold beside two operands, since a unit that begins two or four multiply-adds a
// cycle and takes four cycles for each needs eight or sixteen that do not wait for one another.
#define TENON_PEAK_LOOP(name, attributes, Vector, lanes, count, splat, add_product)               \
  template <size_t... Is>                                                                         \
  attributes float name##_over(float factor, std::index_sequence<Is...> /*which*/) {              \
    const Vector left = splat(factor);                                                            \
    const Vector right = splat(factor + 1);                                                       \
    Vector sums[] = {splat(factor * static_cast<float>(Is))...};                                  \
    for (int step = 0; step < kSteps; ++step) {                                                   \
      ((sums[Is] = add_product(sums[Is], left, right)), ...);                                     \
    }                                                                                             \
    alignas(64) float out[(lanes) * (count)];                                                     \
    ((*reinterpret_cast<Vector*>(out + (lanes) * Is) = sums[Is]), ...);                           \
    float sum = 0;                                                                                \
    for (const float each : out) {                                                                \
      sum += each;                                                                                \
    }                                                                                             \
    return sum;                                                                                   \
  }                                                                                               \
  constexpr Loop name {                                                                           \
    .run = [](float factor) { return name##_over(factor, std::make_index_sequence<(count)>()); }, \
    .flops = 2.0 * (lanes) * (count)                                                              \
  }

#if defined(__x86_64__)
#define TENON_AVX512 __attribute__((target("avx512f")))
#define TENON_AVX2 __attribute__((target("avx2,fma")))
TENON_AVX512 __m512 add_product(__m512 sum, __m512 a, __m512 b) { return _mm512_fmadd_ps(a, b, sum); }
TENON_AVX2 __m256 add_product(__m256 sum, __m256 a, __m256 b) { return _mm256_fmadd_ps(a, b, sum); }
// The product is of the sum: one of what stays the same would be computed once, before the loop.
__m128 add_product(__m128 sum, __m128 a, __m128 b) { return _mm_add_ps(_mm_mul_ps(sum, a), b); }
TENON_PEAK_LOOP(kAvx512, TENON_AVX512, __m512, 16, 24, _mm512_set1_ps, add_product);
TENON_PEAK_LOOP(kAvx2, TENON_AVX2, __m256, 8, 12, _mm256_set1_ps, add_product);
TENON_PEAK_LOOP(kSse, , __m128, 4, 12, _mm_set1_ps, add_product);

Loop widest() {
  if (__builtin_cpu_supports("avx512f")) return kAvx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return kAvx2;
  return kSse;
}
#elif defined(__aarch64__)
TENON_PEAK_LOOP(kNeon, , float32x4_t, 4, 24, vdupq_n_f32, vfmaq_f32);

// Cores with longer vectors have fewer units for them: as many elements begin in a cycle either way.
Loop widest() { return kNeon; }
#else
float splat(float x) { return x; }
float add_product(float sum, float a, float b) { return sum + a * b; }
TENON_PEAK_LOOP(kScalar, , float, 1, 12, splat, add_product);

Loop widest() { return kScalar; }
#endif

}  // namespace

double peak_flops() {
  const Loop loop = widest();
  volatile float factor = 0.5F;  // nobody knows it beforehand
  volatile float kept = 0;
  std::vector<double> times;
  for (int i = 0; i < kTimes; ++i) {
    times.push_back(seconds_of(1, 1, [&] { kept = loop.run(factor); }));
  }
  return loop.flops * kSteps / median(std::move(times));
}

}  // namespace bench
