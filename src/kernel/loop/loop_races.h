// Races between threads of a block and between blocks, found while a kernel is interpreted.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernel/abi.h"
#include "kernel/loop/loop_code.h"
#include "kernel/loop/loop_threads.h"

namespace tenon::loops {

/// It is told of each element that the iterations of one call touch; each iteration of the grid is a block of threads.
/// An InternalError names the kernel, the element and both threads where
///   - two threads of a block touch an element with no barrier between, and one of them writes;
///   - two blocks touch an element, and one of them writes;
///   - an element of scratch is read that nothing has written since the block began, or lies past the end.
/// Buffers at one address are one buffer. It keeps 128 bytes for each element of scratch, and of an output up to the
/// last one that is touched.
class RaceFinder {
 public:
  /// `elements`: of each buffer that is scratch.
  RaceFinder(const Code& code, const KernelArgs& args, std::vector<int64_t> elements);

  void begin_block(int64_t block);
  void barrier() { ++stretch_; }
  void read(int buffer, int64_t element, ThreadGroup by);
  void write(int buffer, int64_t element, ThreadGroup by);
  /// Where its matrices begin in their buffers.
  struct Begins {
    int64_t left = 0, right = 0, tile = 0;
  };
  void multiply(const ProductCode& product, const ProductCall& call, const Begins& begins, ThreadGroup by);

 private:
  /// Who touched an element when. Barriers cut a block into stretches.
  struct Touch {
    int64_t block = -1;  // -1: nobody
    int64_t stretch = 0;
    ThreadGroup by;
  };

  /// The last one that wrote an element, and who has read it since: the last one, one beside it in its stretch, and one
  /// of another block.
  struct Element {
    Touch writer, reader, beside, elsewhere;
  };

  /// Null: of an input, which nobody writes.
  Element* find(int buffer, int64_t element, ThreadGroup by, const char* does);
  void check_race(int buffer, int64_t element, const Touch& before, const char* did, const Touch& now,
                  const char* does) const;
  std::string who(const Touch& touch) const;

  const Code& code_;
  std::vector<int64_t> elements_;  // by buffer
  std::vector<int> place_;         // by buffer: the one at the same address whose elements are kept; -1: none
  std::vector<std::vector<Element>> kept_;
  int64_t block_ = -1;
  int64_t stretch_ = 0;
};

}  // namespace tenon::loops
