// What those that run a kernel need to know of it, so that none of them looks into its loops: made once, when the
// kernel is finished. Plain data in the names of the program.
#pragma once

#include <string>
#include <vector>

#include "kernel/facts/footprint.h"
#include "kernel/loop/loop.h"

namespace tenon::loops {

/// Work is counted in units of one cheap operation on one element of 4 bytes: a vector holds twice as many of 2 bytes.
/// This is a part of a unit.
inline constexpr double kByteOperation = 0.25;
/// On a core with vectors of 512 bits 60 to 100 units take a nanosecond.
inline constexpr double kWorkOfANanosecond = 80;

struct PhaseFacts {
  Extent grid;                     // iterations
  Extent items, rows;              // rows of an item: row_axes(); 1 where there is no axis
  Extent work;                     // of one iteration of the grid, in operations on a byte
  std::vector<BufferUse> buffers;  // by buffer, for ranges of rows; scratch is not looked at

  friend bool operator==(const PhaseFacts&, const PhaseFacts&) = default;
};

struct KernelFacts {
  std::string name;
  std::vector<Buffer> arguments;    // KernelArgs::buffers
  std::vector<MayShare> may_share;  // of them
  std::vector<Extent> sizes;        // KernelArgs::sizes
  Extent scratch_bytes;             // that a call needs
  std::vector<PhaseFacts> phases;
  bool is_copy = false;            // it computes nothing
  bool integer_products = false;   // it has some of eight-bit integers
  std::vector<std::string> sites;  // Kernel::sites: what a status that says that it failed means

  /// It looks positions up that data decides.
  bool may_fail() const { return !sites.empty(); }

  friend bool operator==(const KernelFacts&, const KernelFacts&) = default;
};

KernelFacts facts_of(const Kernel& kernel);

}  // namespace tenon::loops
