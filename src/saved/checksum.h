// Checksums of what lies in files: against damage, not against people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tenon::saved {

struct Checksum {
  uint64_t first = 0;
  uint64_t second = 0;

  friend auto operator<=>(const Checksum&, const Checksum&) = default;
};

/// A change of one word of eight bytes, counted from the first, gives another checksum, and other changes all but
/// certainly do.
Checksum checksum(std::span<const std::byte> bytes);

/// Those of many spans, cut up for the threads of Pool::shared().
std::vector<Checksum> checksums(std::span<const std::span<const std::byte>> all);

/// That of all bytes of a file, some mebibytes of which are in memory at a time. Error: the file cannot be read.
Checksum checksum_of_file(const std::string& path);

/// 32 hexadecimal digits.
std::string to_hex(const Checksum& checksum);

}  // namespace tenon::saved
