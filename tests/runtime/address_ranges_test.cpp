#include "runtime/memory/address_ranges.h"

#include <gtest/gtest.h>

#include <random>

namespace tenon::runtime::address_ranges_test {
namespace {

std::byte memory[64];

TEST(AddressRanges, CountAsComparingEachDoes) {
  std::mt19937 rng(5);
  AddressRanges ranges;
  for (int round = 0; round < 500; ++round) {
    std::vector<std::vector<int64_t>> dims(rng() % 9);
    std::vector<Operand> operands;
    for (std::vector<int64_t>& each : dims) {
      each = {static_cast<int64_t>(rng() % 9)};
      operands.push_back({.dtype = Dtype::u8, .dims = each, .data = memory + rng() % 50});
    }
    ranges.assign(operands, AddressRanges::Which::all);
    const auto begin = reinterpret_cast<uintptr_t>(memory + rng() % 50);
    const AddressRange asked{begin, begin + rng() % 9};
    size_t expected = 0;
    bool any = false;
    for (size_t i = 0; i < operands.size(); ++i) {
      const AddressRange mine = address_range(operands[i]);
      expected += mine.begin < mine.end && mine.overlaps(asked) ? 1U : 0U;
      for (size_t k = 0; k < i; ++k) {
        const AddressRange other = address_range(operands[k]);
        any = any || (mine.begin < mine.end && other.begin < other.end && mine.overlaps(other));
      }
    }
    EXPECT_EQ(ranges.count_overlaps(asked), expected);
    const auto [first, second] = ranges.overlapping();
    ASSERT_EQ(first != second, any);
    if (any) {
      EXPECT_TRUE(address_range(operands[first]).overlaps(address_range(operands[second])));
    }
  }
}

}  // namespace
}  // namespace tenon::runtime::address_ranges_test
