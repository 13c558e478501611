// The loops of STREAM, and a sum, over plain arrays.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace bench {

/// `copy_past` stores past the caches, as compilers do for long copies where the processor can.
enum class StreamLoop : uint8_t { sum, copy, scale, add, triad, copy_past };
inline constexpr std::array kStreamLoops = {StreamLoop::sum, StreamLoop::copy,  StreamLoop::scale,
                                            StreamLoop::add, StreamLoop::triad, StreamLoop::copy_past};

/// Arrays of f32 for one thread.
class Stream {
 public:
  static constexpr int64_t kStep = 128;
  /// Of so many bytes together.
  explicit Stream(int64_t bytes);

  /// Of an array.
  int64_t count() const { return count_; }
  /// That the loop reads and writes of so many elements.
  static int64_t bytes(StreamLoop loop, int64_t count);
  /// Elements `first` to `first + count` of each array, so many times; `sum` takes as many of all three together; both
  /// are multiples of kStep.
  void run(StreamLoop loop, int64_t first, int64_t count, int times);

 private:
  struct Free {
    void operator()(float* block) const;
  };
  int64_t count_;
  std::unique_ptr<float[], Free> memory_;
  volatile float sum_ = 0;
};

}  // namespace bench
