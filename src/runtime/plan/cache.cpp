#include "runtime/plan/cache.h"

#include "base/hash.h"

namespace tenon::runtime {
namespace {

/// The map's node, the list's and the control block, about.
constexpr int64_t kEntryOverhead = 256;

}  // namespace

size_t SpecializationCache::KeyHash::operator()(const Key& key) const noexcept {
  uint64_t hash = key.size();
  for (const int64_t value : key) {
    hash = combine_hash(hash, static_cast<uint64_t>(value));
  }
  return static_cast<size_t>(hash);
}

SpecializationCache::Pointer SpecializationCache::find_or_claim(const Key& key) {
  std::unique_lock lock(mutex_);
  while (true) {
    const auto found = entries_.find(key);
    if (found == entries_.end()) {
      entries_.try_emplace(key);
      return nullptr;
    }
    if (found->second.value) {
      ++counters_.hits;
      recent_.splice(recent_.begin(), recent_, found->second.place);
      return found->second.value;
    }
    changed_.wait(lock);  // made, failed or even evicted by then
  }
}

SpecializationCache::Pointer SpecializationCache::fulfil(const Key& key, Pointer made) {
  const std::lock_guard lock(mutex_);
  auto& [own_key, entry] = *entries_.find(key);
  ++counters_.made;
  keep(own_key, entry, made);
  changed_.notify_all();
  return made;
}

void SpecializationCache::abandon(const Key& key) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  if (found != entries_.end() && !found->second.value) {
    entries_.erase(found);
  }
  changed_.notify_all();  // the next of those who wait tries itself, for an error of its own
}

SpecializationCache::Pointer SpecializationCache::peek(const Key& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  return found == entries_.end() ? nullptr : found->second.value;
}

void SpecializationCache::insert(const Key& key, Pointer made) {
  const std::lock_guard lock(mutex_);
  const auto [found, fresh] = entries_.try_emplace(key);
  if (fresh) {
    ++counters_.made;
    keep(found->first, found->second, std::move(made));
  } else if (found->second.value && found->second.value->lacks_choices) {
    exchange(found->first, found->second, std::move(made));
  }  // else it is there, or its maker will keep it
}

void SpecializationCache::replace(const Key& key, Pointer made) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end() || !found->second.value) {
    return;  // evicted, or somebody makes it anew
  }
  exchange(found->first, found->second, std::move(made));
}

void SpecializationCache::exchange(const Key& key, Entry& entry, Pointer made) {
  recent_.erase(entry.place);
  counters_.bytes -= entry.bytes;
  keep(key, entry, std::move(made));
}

void SpecializationCache::keep(const Key& key, Entry& entry, Pointer made) {
  recent_.push_front(&key);
  entry.place = recent_.begin();
  entry.bytes = made->byte_count() + kEntryOverhead + 2 * static_cast<int64_t>(key.size() * sizeof(int64_t));
  entry.value = std::move(made);
  counters_.bytes += entry.bytes;
  evict();
}

void SpecializationCache::evict() {
  while (counters_.bytes > byte_limit_ && recent_.size() > 1) {
    const auto oldest = entries_.find(*recent_.back());
    recent_.pop_back();
    counters_.bytes -= oldest->second.bytes;
    ++counters_.evictions;
    entries_.erase(oldest);
  }
}

void SpecializationCache::set_byte_limit(int64_t bytes) {
  const std::lock_guard lock(mutex_);
  byte_limit_ = bytes;
  evict();
}

SpecializationCache::Counters SpecializationCache::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

}  // namespace tenon::runtime
