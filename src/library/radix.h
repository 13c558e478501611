// Sorting by the digits of unsigned keys.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>

namespace tenon::library {

/// A key with where it comes from. Both kinds of entry compare by key, then by position: a total order.
struct WideEntry {
  uint64_t key = 0;
  uint64_t index = 0;

  friend auto operator<=>(const WideEntry&, const WideEntry&) = default;
};
inline uint64_t key_of(const WideEntry& entry) { return entry.key; }
inline uint64_t index_of(const WideEntry& entry) { return entry.index; }

/// A key of at most 32 bits above a position of at most 32.
struct NarrowEntry {
  uint64_t bits = 0;

  friend auto operator<=>(const NarrowEntry&, const NarrowEntry&) = default;
};
inline uint64_t key_of(const NarrowEntry& entry) { return entry.bits >> 32; }
inline uint64_t index_of(const NarrowEntry& entry) { return entry.bits & UINT32_MAX; }

/// Below this many, comparing is faster than counting.
inline constexpr size_t kFewEntries = 256;

/// Sort `entries`, which are in the order of their positions; keys have `bytes` bytes. `spare` is as long.
template <class Entry>
void sort_entries(std::span<Entry> entries, std::span<Entry> spare, size_t bytes) {
  if (entries.size() < kFewEntries) {
    std::sort(entries.begin(), entries.end());
    return;
  }
  std::array<std::array<uint64_t, 256>, 8> counts{};
  for (const Entry& entry : entries) {
    for (size_t digit = 0; digit < bytes; ++digit) {
      ++counts[digit][(key_of(entry) >> (8 * digit)) & 255];
    }
  }
  std::span<Entry> from = entries;
  std::span<Entry> to = spare;
  for (size_t digit = 0; digit < bytes; ++digit) {
    std::array<uint64_t, 256>& count = counts[digit];
    if (count[(key_of(from[0]) >> (8 * digit)) & 255] == from.size()) {
      continue;  // all have the same
    }
    uint64_t sum = 0;
    for (uint64_t& c : count) {
      sum += std::exchange(c, sum);
    }
    for (const Entry& entry : from) {
      to[count[(key_of(entry) >> (8 * digit)) & 255]++] = entry;
    }
    std::swap(from, to);
  }
  if (from.data() != entries.data()) {
    std::copy(from.begin(), from.end(), entries.begin());
  }
}

}  // namespace tenon::library
