// Compiled for the machine that builds it (bench/CMakeLists.txt).
#include "support/sleef.h"

#if defined(TENON_SLEEF)
#include <sleef.h>
#endif

namespace bench {

#if defined(TENON_SLEEF)
namespace {

#if defined(__AVX512F__)
#define TENON_SLEEF_NAME(name, accuracy) Sleef_##name##16##accuracy##avx512f
using Vector = __m512;
Vector load(const float* x) { return _mm512_loadu_ps(x); }
void store(float* x, Vector y) { _mm512_storeu_ps(x, y); }
#elif defined(__AVX2__)
#define TENON_SLEEF_NAME(name, accuracy) Sleef_##name##8##accuracy##avx2
using Vector = __m256;
Vector load(const float* x) { return _mm256_loadu_ps(x); }
void store(float* x, Vector y) { _mm256_storeu_ps(x, y); }
#elif defined(__x86_64__)
#define TENON_SLEEF_NAME(name, accuracy) Sleef_##name##4##accuracy##sse4
using Vector = __m128;
Vector load(const float* x) { return _mm_loadu_ps(x); }
void store(float* x, Vector y) { _mm_storeu_ps(x, y); }
#else
#define TENON_SLEEF_NAME(name, accuracy) Sleef_##name##4##accuracy##advsimd
using Vector = float32x4_t;
Vector load(const float* x) { return vld1q_f32(x); }
void store(float* x, Vector y) { vst1q_f32(x, y); }
#endif

constexpr int64_t kLanes = sizeof(Vector) / sizeof(float);

template <auto F>
void unary(const float* x, const float* /*y*/, float* result, int64_t count) {
  for (int64_t i = 0; i < count; i += kLanes) {
    store(result + i, F(load(x + i)));
  }
}

template <auto F>
void binary(const float* x, const float* y, float* result, int64_t count) {
  for (int64_t i = 0; i < count; i += kLanes) {
    store(result + i, F(load(x + i), load(y + i)));
  }
}

}  // namespace

ArrayFunction* sleef_function(tenon::Prim prim) {
  switch (prim) {
    case tenon::Prim::exp: return unary<TENON_SLEEF_NAME(expf, _u10)>;
    case tenon::Prim::expm1: return unary<TENON_SLEEF_NAME(expm1f, _u10)>;
    case tenon::Prim::log: return unary<TENON_SLEEF_NAME(logf, _u10)>;
    case tenon::Prim::log1p: return unary<TENON_SLEEF_NAME(log1pf, _u10)>;
    case tenon::Prim::sin: return unary<TENON_SLEEF_NAME(sinf, _u10)>;
    case tenon::Prim::cos: return unary<TENON_SLEEF_NAME(cosf, _u10)>;
    case tenon::Prim::tanh: return unary<TENON_SLEEF_NAME(tanhf, _u10)>;
    case tenon::Prim::erf: return unary<TENON_SLEEF_NAME(erff, _u10)>;
    case tenon::Prim::pow: return binary<TENON_SLEEF_NAME(powf, _u10)>;
    case tenon::Prim::atan2: return binary<TENON_SLEEF_NAME(atan2f, _u10)>;
    case tenon::Prim::rem: return binary<TENON_SLEEF_NAME(fmodf, _)>;
    default: return nullptr;
  }
}
#else
ArrayFunction* sleef_function(tenon::Prim /*prim*/) { return nullptr; }
#endif

}  // namespace bench
