#include "support/stream.h"

#include <algorithm>
#include <numeric>

#include "base/aligned.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace bench {
namespace {

constexpr int64_t kStreamArrays = 3;

int arrays_of(StreamLoop loop) {
  switch (loop) {
    case StreamLoop::sum: return 3;
    case StreamLoop::copy:
    case StreamLoop::scale:
    case StreamLoop::copy_past: return 2;
    case StreamLoop::add:
    case StreamLoop::triad: return 3;
  }
  return 0;
}

/// Four floats.
void store_past(float* to, const float* from) {
#if defined(__x86_64__)
  _mm_stream_ps(to, _mm_load_ps(from));
#else
  std::copy_n(from, 4, to);
#endif
}

/// Each time again, as far as the compiler knows.
void repeat(int times, int64_t count, float* __restrict a, const float* __restrict b, const float* __restrict c,
            auto f) {
  for (int time = 0; time < times; ++time) {
    for (int64_t i = 0; i < count; ++i)
      a[i] = f(b[i], c[i]);
    asm volatile("" ::: "memory");
  }
}

/// So many times the sum, in sums that do not wait for one another and stay in registers.
float sum(const float* values, int64_t count, int times) {
  alignas(64) std::array<float, Stream::kStep> sums = {};
  for (int time = 0; time < times; ++time) {
    _Pragma("GCC unroll 4") for (int64_t i = 0; i < count; i += Stream::kStep) {
      for (int64_t k = 0; k < Stream::kStep; ++k)
        sums[static_cast<size_t>(k)] += values[i + k];
    }
  }
  return std::accumulate(sums.begin(), sums.end(), 0.0F);  // of all, or half of them would not be read
}

}  // namespace

void Stream::Free::operator()(float* block) const { tenon::free_aligned(reinterpret_cast<std::byte*>(block)); }

Stream::Stream(int64_t bytes)
    : count_(std::max(kStep, bytes / kStreamArrays / 4 / kStep * kStep)),
      memory_(reinterpret_cast<float*>(tenon::allocate_aligned(static_cast<size_t>(kStreamArrays * count_ * 4)))) {
  std::fill_n(memory_.get(), kStreamArrays * count_, 1.0F);
}

int64_t Stream::bytes(StreamLoop loop, int64_t count) { return arrays_of(loop) * 4 * count; }

void Stream::run(StreamLoop loop, int64_t first, int64_t count, int times) {
  float* a = memory_.get() + first;
  const float* b = a + count_;
  const float* c = b + count_;
  switch (loop) {
    case StreamLoop::sum: sum_ = sum(memory_.get() + 3 * first, 3 * count, times); break;  // side by side
    case StreamLoop::copy: repeat(times, count, a, b, c, [](float x, float /*y*/) { return x; }); break;
    case StreamLoop::scale: repeat(times, count, a, b, c, [](float x, float /*y*/) { return 3.0F * x; }); break;
    case StreamLoop::add: repeat(times, count, a, b, c, [](float x, float y) { return x + y; }); break;
    case StreamLoop::triad: repeat(times, count, a, b, c, [](float x, float y) { return x + 3.0F * y; }); break;
    case StreamLoop::copy_past:
      for (int time = 0; time < times; ++time) {
        for (int64_t i = 0; i < count; i += 4)
          store_past(a + i, b + i);
      }
      break;
  }
}

}  // namespace bench
