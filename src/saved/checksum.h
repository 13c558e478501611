// Checksums of what lies in files: against damage, not against people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tenon::saved {

struct Checksum {
  uint64_t first = 0;
  uint64_t second = 0;

  friend auto operator<=>(const Checksum&, const Checksum&) = default;
};

/// Any change of up to eight neighbouring bytes gives another checksum, and other changes all but certainly. With
/// `threads` above 1 large spans are cut up for as many threads of Pool::shared(); the result is the same.
Checksum checksum(std::span<const std::byte> bytes, int threads = 1);

/// 32 hexadecimal digits.
std::string to_hex(const Checksum& checksum);

}  // namespace tenon::saved
