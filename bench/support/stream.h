// The loops of STREAM, and a sum, over plain arrays.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace bench {

enum class StreamLoop : uint8_t { sum, copy, scale, add, triad };
inline constexpr std::array kStreamLoops = {StreamLoop::sum, StreamLoop::copy, StreamLoop::scale, StreamLoop::add,
                                            StreamLoop::triad};

/// Arrays of f32 for one thread.
class Stream {
 public:
  /// Of so many bytes together.
  explicit Stream(int64_t bytes);

  /// That one pass of the loop reads and writes.
  int64_t bytes(StreamLoop loop) const;
  void run(StreamLoop loop);

 private:
  struct Free {
    void operator()(float* block) const;
  };
  int64_t count_;
  std::unique_ptr<float[], Free> memory_;
  volatile float sum_ = 0;
};

}  // namespace bench
