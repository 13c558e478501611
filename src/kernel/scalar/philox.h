// Philox-4x32-10: a counter-based random generator (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as
// 1, 2, 3", 2011). Every block of words is a pure function of a counter and a key, so any position can be computed
// alone.
#pragma once

#include <array>
#include <cstdint>

namespace tenon {

using PhiloxCounter = std::array<uint32_t, 4>;
using PhiloxKey = std::array<uint32_t, 2>;

/// The 128 bits of one block.
constexpr PhiloxCounter philox4x32(PhiloxCounter counter, PhiloxKey key) {
  constexpr int kRounds = 10;
  constexpr std::array<uint64_t, 2> kMultipliers = {0xD2511F53, 0xCD9E8D57};
  constexpr PhiloxKey kWeyl = {0x9E3779B9, 0xBB67AE85};  // what the key grows by each round
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t a = kMultipliers[0] * counter[0];
    const uint64_t b = kMultipliers[1] * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(a)};
    key = {key[0] + kWeyl[0], key[1] + kWeyl[1]};
  }
  return counter;
}

/// Word `position` of the stream of (key, counter): what tenon/random.h promises for element `position` of u32 bits.
constexpr uint32_t random_word(uint64_t key, uint64_t counter, uint64_t position) {
  const uint64_t block = position / 4;
  const auto low = [](uint64_t x) { return static_cast<uint32_t>(x); };
  const auto high = [](uint64_t x) { return static_cast<uint32_t>(x >> 32); };
  return philox4x32({low(block), high(block), low(counter), high(counter)}, {low(key), high(key)})[position % 4];
}

}  // namespace tenon
