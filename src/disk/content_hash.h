// Names for contents: hashes of 128 bits, so that no two texts of a cache are expected to share one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tenon::disk {

struct ContentHash {
  uint64_t high = 0;
  uint64_t low = 0;
  friend auto operator<=>(const ContentHash&, const ContentHash&) = default;
};

/// The hash of a text; the same on every run of machines of one byte order. Not meant to withstand an adversary.
ContentHash content_hash(std::string_view text);

/// 32 hexadecimal digits.
std::string to_hex(const ContentHash& hash);

}  // namespace tenon::disk
