// Hash values are 64 bits, mixed so that order and position matter.
#pragma once

#include <cstdint>
#include <string_view>

namespace tenon {

/// Finalizer with full avalanche: every input bit reaches every output bit.
constexpr uint64_t mix_hash(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// Fold `value` into the running hash `seed`; combine(combine(s, a), b) differs from combine(combine(s, b), a).
constexpr uint64_t combine_hash(uint64_t seed, uint64_t value) {
  return mix_hash(seed + 0x9e3779b97f4a7c15ULL + mix_hash(value));
}

constexpr uint64_t hash_bytes(std::string_view bytes, uint64_t seed = 0) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : bytes) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  }
  return combine_hash(combine_hash(seed, bytes.size()), hash);
}

}  // namespace tenon
