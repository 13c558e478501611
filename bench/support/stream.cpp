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
    case StreamLoop::sum: return 1;
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

}  // namespace

void Stream::Free::operator()(float* block) const { tenon::free_aligned(reinterpret_cast<std::byte*>(block)); }

Stream::Stream(int64_t bytes)
    : count_(std::max<int64_t>(64, bytes / kStreamArrays / 4 / 64 * 64)),
      memory_(reinterpret_cast<float*>(tenon::allocate_aligned(static_cast<size_t>(kStreamArrays * count_ * 4)))) {
  std::fill_n(memory_.get(), kStreamArrays * count_, 1.0F);
}

int64_t Stream::bytes(StreamLoop loop, int64_t count) { return arrays_of(loop) * 4 * count; }

void Stream::run(StreamLoop loop, int64_t first, int64_t count) {
  float* __restrict a = memory_.get() + first;
  const float* __restrict b = a + count_;
  const float* __restrict c = b + count_;
  constexpr int64_t kSums = 64;  // which do not wait for one another
  std::array<float, kSums> sums = {};
  switch (loop) {
    case StreamLoop::sum:
      for (int64_t i = 0; i < count; i += 64) {
        for (int64_t k = 0; k < 64; ++k)
          sums[static_cast<size_t>(k)] += b[i + k];
      }
      sum_ = std::accumulate(sums.begin(), sums.end(), 0.0F);  // of all, or half of them would not be read
      break;
    case StreamLoop::copy:
    case StreamLoop::scale:
      for (int64_t i = 0; i < count; ++i)
        a[i] = (loop == StreamLoop::copy ? 1.0F : 3.0F) * b[i];
      break;
    case StreamLoop::add:
      for (int64_t i = 0; i < count; ++i)
        a[i] = b[i] + c[i];
      break;
    case StreamLoop::triad:
      for (int64_t i = 0; i < count; ++i)
        a[i] = b[i] + 3.0F * c[i];
      break;
    case StreamLoop::copy_past:
      for (int64_t i = 0; i < count; i += 4)
        store_past(a + i, b + i);
      break;
  }
}

}  // namespace bench
