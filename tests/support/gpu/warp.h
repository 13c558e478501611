// What runs: instructions as functions over the 32 threads of a warp, and the state of a warp and its block.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "device_memory.h"
#include "fault.h"

namespace tenon::emulated_gpu {

inline constexpr int kWarp = 32;
using Lanes = uint32_t;  // a bit for each thread of a warp
inline constexpr Lanes kAllLanes = 0xffffffff;
using Word = uint64_t;  // a register, of whatever type: what it has no bits for is zero

/// Generic addresses of shared and local memory; those of global memory are addresses of the process.
inline constexpr uint64_t kSharedWindow = uint64_t{1} << 60;
inline constexpr uint64_t kLocalWindow = uint64_t{2} << 60;
inline constexpr uint64_t kWindow = uint64_t{1} << 32;  // bytes of each

enum class Space : uint8_t { generic, global, shared, local, parameter };

struct Warp;

/// A decoded instruction. Registers are rows of 32 words; those below 0 are rows of constants.
struct Step {
  enum class Kind : uint8_t {
    plain,
    branch,
    leave,
    barrier,  // of all threads of the block
    warp,     // of several threads of the warp: all of them have to come here first
  };
  using Run = void (*)(Warp& warp, const Step& step, Lanes lanes);

  Run run = nullptr;
  Kind kind = Kind::plain;
  Space space = Space::generic;
  uint8_t bytes = 0;  // of each element
  uint8_t count = 1;  // elements of an access
  bool is_cached = false;
  bool has_guard = false;
  bool is_guard_negated = false;
  int guard = 0;
  int line = 0;
  int64_t offset = 0;  // of an address
  size_t target = 0;   // of a branch
  std::array<int, 4> to{};
  std::array<int, 12> from{};
};

struct Code {
  std::string name;
  bool is_entry = true;
  std::vector<Step> steps;
  std::vector<std::array<Word, kWarp>> constants;  // row -1 - i
  int registers = 0;
  uint64_t parameter_bytes = 0;
  std::vector<std::pair<uint64_t, uint64_t>> parameters;  // offset, bytes
  uint64_t shared_bytes = 0;                              // that the code itself asks for
  uint64_t local_bytes = 0;
  unsigned most_threads = 1024;
  uint64_t most_dynamic = 0;  // bytes of shared memory that a launch may ask for
};

/// Rows of special registers come first.
enum SpecialRow : int {
  kThreadX,
  kThreadY,
  kThreadZ,
  kThreadsX,
  kThreadsY,
  kThreadsZ,
  kBlockX,
  kBlockY,
  kBlockZ,
  kBlocksX,
  kBlocksY,
  kBlocksZ,
  kLane,
  kWarpNumber,
  kSpecialRows
};

struct Shape {
  unsigned x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t{x} * y * z; }
};

struct Launch {
  std::shared_ptr<Code> code;
  Shape grid, block;
  uint64_t dynamic_bytes = 0;
  std::vector<uint8_t> parameters;
};

/// What all threads of a block have.
struct Block {
  const Launch& launch;
  DeviceMemory& memory;
  Now now;
  std::vector<uint8_t> shared{};
  std::vector<Touched> shared_touched{};
};

/// Threads of a warp that are at the same instruction.
struct Group {
  Lanes lanes = 0;
  size_t at = 0;
  bool waits = false;  // for the other threads of the warp
};

struct Warp {
  Block& block;
  const Code& code;
  unsigned first = 0;  // thread
  std::vector<std::array<Word, kWarp>> rows{};
  std::vector<uint8_t> local{};  // of all threads, one after the other
  std::vector<Group> groups{};
  bool at_barrier = false;
  uint64_t executed = 0;      // instructions, times threads
  DeviceMemory::Part last{};  // allocation that was accessed

  const Word* row(int i) const {
    return i >= 0 ? rows[static_cast<size_t>(i)].data() : code.constants[static_cast<size_t>(-1 - i)].data();
  }
  Word* out(int i) { return rows[static_cast<size_t>(i)].data(); }
  Lanes living() const;

  /// The memory behind an address, checked and noted. Throws Fault.
  uint8_t* access(Space space, uint64_t address, uint64_t bytes, Access access, int lane);
};

template <class T>
T get(Word word) {
  T value;
  static_assert(sizeof(T) <= sizeof(Word));
  std::memcpy(&value, &word, sizeof(T));
  return value;
}

template <class T>
Word put(T value) {
  Word word = 0;
  std::memcpy(&word, &value, sizeof(T));
  return word;
}

/// f(lane) for each lane.
template <class F>
void each_lane(Lanes lanes, const F& f) {
  if (lanes == kAllLanes) {
    for (int i = 0; i < kWarp; ++i)
      f(i);
    return;
  }
  for (; lanes != 0; lanes &= lanes - 1)
    f(std::countr_zero(lanes));
}

/// Until all threads wait at a barrier or are done. Throws Fault.
void run_warp(Warp& warp);

/// All of a launch. Throws Fault, whose text names the function and the line. The number of instructions, times
/// threads.
uint64_t run_launch(const Launch& launch, DeviceMemory& memory, uint32_t& interval);

}  // namespace tenon::emulated_gpu
