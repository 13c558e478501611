#include "disk/content_hash.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "base/hash.h"

namespace tenon::disk {

ContentHash content_hash(std::string_view text) {
  // Two chains over the same words that combine them differently: a collision has to happen in both.
  uint64_t high = text.size();
  uint64_t low = ~text.size();
  while (!text.empty()) {
    uint64_t word = 0;  // the last word is filled with zeros; the length above tells such texts apart
    const std::size_t bytes = text.size() < sizeof word ? text.size() : sizeof word;
    std::memcpy(&word, text.data(), bytes);
    text.remove_prefix(bytes);
    high = combine_hash(high, word);
    low = mix_hash(std::rotl(low, 23) ^ (word * 0x9fb21c651e98df25ULL));
  }
  return {mix_hash(high), mix_hash(low)};
}

std::string to_hex(const ContentHash& hash) { return fmt::format("{:016x}{:016x}", hash.high, hash.low); }

}  // namespace tenon::disk
