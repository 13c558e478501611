// Many ranges of addresses, and which of them another meets.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/memory/operand.h"

namespace tenon::runtime {

/// Keeps its memory from one use to the next.
class AddressRanges {
 public:
  void reserve(size_t count) { sorted_.reserve(count); }

  enum class Which { all, plain };
  /// The ranges of these operands, or of those among them that have no gaps, in place of those before.
  void assign(const std::vector<Operand>& operands, Which which);

  /// How many share an address with `range`.
  size_t count_overlaps(const AddressRange& range) const;

  /// Two ranges that share an address, as places in what was assigned; the same place twice when there are none.
  struct Pair {
    size_t first = 0;
    size_t second = 0;
  };
  Pair overlapping() const;

 private:
  struct Entry {
    AddressRange range;
    uintptr_t reach = 0;  // the end of the farthest range up to this one
    size_t place = 0;
  };
  std::vector<Entry> sorted_;  // by where they begin; without the empty ones
};

}  // namespace tenon::runtime
