#include "runtime/run/result_cache.h"

#include <cstring>

#include "base/hash.h"
#include "runtime/memory/copy_elements.h"

namespace tenon::runtime {
namespace {

/// Two sums of the words with multipliers of their own, mixed at each word: a word elsewhere gives another hash.
void hash_bytes_into(std::array<uint64_t, 2>& hash, const std::byte* bytes, size_t count) {
  uint64_t a = hash[0];
  uint64_t b = hash[1];
  size_t at = 0;
  for (; at + sizeof(uint64_t) <= count; at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes + at, sizeof(word));
    a = (a ^ word) * 0x9fb21c651e98df25ULL;
    a ^= a >> 35;
    b = (b + word) * 0xd6e8feb86659fd93ULL;
    b ^= b >> 32;
  }
  uint64_t rest = 0;
  std::memcpy(&rest, bytes + at, count - at);
  hash = {combine_hash(combine_hash(a, rest), count), combine_hash(combine_hash(b, ~rest), count)};
}

void hash_elements(std::array<uint64_t, 2>& hash, const Operand& input) {
  const size_t bytes = static_cast<size_t>(input.size()) * byte_size(input.dtype);
  if (bytes == 0) {
    return;
  }
  if (input.is_plain()) {
    hash_bytes_into(hash, input.data, bytes);
    return;
  }
  Array copy = Array::uninitialized(input.dtype, {input.dims.begin(), input.dims.end()});
  copy.mutable_data();
  copy_elements(input, operand_of(copy));
  hash_bytes_into(hash, copy.data(), bytes);
}

}  // namespace

ResultKey result_key(std::span<const int64_t> sizes, std::span<const Operand> inputs, bool flushed) {
  ResultKey key{.sizes = {sizes.begin(), sizes.end()}, .flushed = flushed, .contents = {1, 2}};
  for (const Operand& input : inputs) {
    hash_elements(key.contents, input);
  }
  return key;
}

std::optional<std::vector<Array>> ResultCache::find(const ResultKey& key) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) {
    return std::nullopt;
  }
  ++counters_.hits;
  recent_.splice(recent_.begin(), recent_, found->second.place);
  return found->second.results;
}

void ResultCache::keep(ResultKey key, const std::vector<Array>& results) {
  auto bytes = static_cast<int64_t>(sizeof(Entry) + sizeof(ResultKey) + key.sizes.size() * sizeof(int64_t));
  for (const Array& array : results) {
    bytes += static_cast<int64_t>(array.byte_count() + sizeof(Array));
  }
  const std::lock_guard lock(mutex_);
  if (bytes > byte_limit_) {
    return;
  }
  const auto [entry, fresh] = entries_.try_emplace(std::move(key));
  if (fresh) {
    recent_.push_front(&entry->first);
    entry->second = {.results = results, .bytes = bytes, .place = recent_.begin()};
    counters_.bytes += bytes;
    evict();
  }
}

void ResultCache::evict() {
  while (counters_.bytes > byte_limit_) {
    const auto oldest = entries_.find(*recent_.back());
    recent_.pop_back();
    counters_.bytes -= oldest->second.bytes;
    entries_.erase(oldest);
  }
}

void ResultCache::set_byte_limit(int64_t bytes) {
  const std::lock_guard lock(mutex_);
  byte_limit_ = bytes;
  evict();
}

ResultCache::Counters ResultCache::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

}  // namespace tenon::runtime
