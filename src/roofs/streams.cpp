// Loops that only move bytes: reading, copying, adding two arrays. Vectors of 64 bytes are whatever registers the
// processor has, one or several.
#include <array>

#include "roofs/loops.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tenon::roofs {
namespace {

using LineVector = float __attribute__((vector_size(64), may_alias));
constexpr int64_t kLines = 8;  // in a step: enough loads that do not wait for one another

#define TENON_UNROLL _Pragma("GCC unroll 8")  // sums stay in registers

// The same text for each set of instructions.
#define TENON_STREAMS(suffix, attributes)                                                                      \
  attributes void read_##suffix(float* a, const float* b, const float* /*c*/, int64_t count, int64_t passes) { \
    LineVector sums[kLines] = {};                                                                              \
    const auto* const from = reinterpret_cast<const LineVector*>(b);                                           \
    for (; passes > 0; --passes) {                                                                             \
      for (int64_t i = 0; i < count / kLineFloats; i += kLines) {                                              \
        TENON_UNROLL for (int64_t k = 0; k < kLines; ++k) { sums[k] += from[i + k]; }                          \
      }                                                                                                        \
    }                                                                                                          \
    for (int64_t k = 1; k < kLines; ++k) {                                                                     \
      sums[0] += sums[k];                                                                                      \
    }                                                                                                          \
    if (sums[0][0] == -1) { /* which never is, and nobody knows */                                             \
      a[0] = sums[0][1];                                                                                       \
    }                                                                                                          \
  }                                                                                                            \
  attributes void copy_##suffix(float* a, const float* b, const float* /*c*/, int64_t count, int64_t passes) { \
    auto* const to = reinterpret_cast<LineVector*>(a);                                                         \
    const auto* const from = reinterpret_cast<const LineVector*>(b);                                           \
    for (; passes > 0; --passes) {                                                                             \
      for (int64_t i = 0; i < count / kLineFloats; i += kLines) {                                              \
        TENON_UNROLL for (int64_t k = 0; k < kLines; ++k) {                                                    \
          to[i + k] = from[i + k] + 1.0F; /* or it is a call of memcpy */                                      \
        }                                                                                                      \
      }                                                                                                        \
    }                                                                                                          \
  }                                                                                                            \
  attributes void add_##suffix(float* a, const float* b, const float* c, int64_t count, int64_t passes) {      \
    auto* const to = reinterpret_cast<LineVector*>(a);                                                         \
    const auto* const left = reinterpret_cast<const LineVector*>(b);                                           \
    const auto* const right = reinterpret_cast<const LineVector*>(c);                                          \
    for (; passes > 0; --passes) {                                                                             \
      for (int64_t i = 0; i < count / kLineFloats; i += kLines) {                                              \
        TENON_UNROLL for (int64_t k = 0; k < kLines; ++k) { to[i + k] = left[i + k] + right[i + k]; }          \
      }                                                                                                        \
    }                                                                                                          \
  }                                                                                                            \
  constexpr std::array kStreams_##suffix = {StreamLoop{.run = read_##suffix, .arrays = 1},                     \
                                            StreamLoop{.run = copy_##suffix, .arrays = 2},                     \
                                            StreamLoop{.run = add_##suffix, .arrays = 3}}

TENON_STREAMS(baseline, );
#if defined(__x86_64__)
TENON_STREAMS(avx2, __attribute__((target("avx2"))));
TENON_STREAMS(avx512, __attribute__((target("avx512f"))));

/// Writes that pass caches by: what is overwritten is not read first.
void copy_past_caches(float* a, const float* b, const float* /*c*/, int64_t count, int64_t passes) {
  constexpr int64_t kFloats = 4;
  for (; passes > 0; --passes) {
    for (int64_t i = 0; i < count; i += kLineFloats) {
      for (int64_t k = 0; k < kLineFloats; k += kFloats) {
        _mm_stream_ps(a + i + k, _mm_load_ps(b + i + k));
      }
    }
  }
  _mm_sfence();
}
#endif

}  // namespace

std::vector<StreamLoop> stream_loops(const CpuMachine& machine) {
#if defined(__x86_64__)
  std::vector<StreamLoop> loops(kStreams_baseline.begin(), kStreams_baseline.end());
  if (machine.instructions == InstructionSet::x86_64_v4) {
    loops.assign(kStreams_avx512.begin(), kStreams_avx512.end());
  } else if (machine.has(CpuFeature::avx2)) {
    loops.assign(kStreams_avx2.begin(), kStreams_avx2.end());
  }
  loops.push_back({.run = copy_past_caches, .arrays = 2, .past_caches = true});
  return loops;
#else
  (void)machine;
  return {kStreams_baseline.begin(), kStreams_baseline.end()};
#endif
}

}  // namespace tenon::roofs
