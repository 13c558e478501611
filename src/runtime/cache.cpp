#include "runtime/cache.h"

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

SpecializationCache::Pointer SpecializationCache::find_or_make(const Key& key,
                                                               const std::function<Specialization()>& make) {
  std::unique_lock lock(mutex_);
  while (true) {
    const auto found = entries_.find(key);
    if (found == entries_.end()) {
      break;
    }
    if (found->second.value) {
      ++counters_.hits;
      recent_.splice(recent_.begin(), recent_, found->second.place);
      return found->second.value;
    }
    changed_.wait(lock);  // made, failed or even evicted by then
  }
  auto& [own_key, entry] = *entries_.try_emplace(key).first;
  lock.unlock();
  try {
    auto made = std::make_shared<const Specialization>(make());
    lock.lock();
    keep(entry, own_key, made);
    changed_.notify_all();
    return made;
  } catch (...) {
    if (!lock.owns_lock()) {
      lock.lock();
    }
    entries_.erase(key);
    changed_.notify_all();  // the next of those who wait tries itself, for an error of its own
    throw;
  }
}

void SpecializationCache::keep(Entry& entry, const Key& key, Pointer made) {
  recent_.push_front(&key);
  entry.place = recent_.begin();
  entry.bytes = made->byte_count() + kEntryOverhead + 2 * static_cast<int64_t>(key.size() * sizeof(int64_t));
  entry.value = std::move(made);
  ++counters_.made;
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

SpecializationCache::Counters SpecializationCache::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

}  // namespace tenon::runtime
