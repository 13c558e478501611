#include "runtime/plan/cache.h"

#include <algorithm>
#include <iterator>

#include "base/hash.h"

namespace tenon::runtime {
namespace {

/// The map's node, the list's and the control block, about.
constexpr int64_t kEntryOverhead = 256;

/// Evicted entries that are remembered by their bindings.
constexpr size_t kMostPast = 256;

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
      ++found->second.uses.hits;
      recent_.splice(recent_.begin(), recent_, found->second.place);
      return found->second.value;
    }
    changed_.wait(lock);  // made, failed or even evicted by then
  }
}

SpecializationCache::Pointer SpecializationCache::fulfil(const Key& key, Pointer made, int64_t nanoseconds) {
  const std::lock_guard lock(mutex_);
  auto& [own_key, entry] = *entries_.find(key);
  count_made(own_key, entry, nanoseconds);
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

void SpecializationCache::insert(const Key& key, Pointer made, int64_t nanoseconds) {
  const std::lock_guard lock(mutex_);
  const auto [found, fresh] = entries_.try_emplace(key);
  if (fresh) {
    count_made(found->first, found->second, nanoseconds);
    keep(found->first, found->second, std::move(made));
    return;
  }
  count_time(key, nanoseconds);
  if (found->second.value && found->second.value->lacks_choices) {
    exchange(found->first, found->second, std::move(made));
  }  // else it is there, or its maker will keep it
}

void SpecializationCache::replace(const Key& key, Pointer made, int64_t nanoseconds) {
  const std::lock_guard lock(mutex_);
  count_time(key, nanoseconds);
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

SpecializationCache::Uses& SpecializationCache::Uses::operator+=(const Uses& other) {
  hits += other.hits;
  made += other.made;
  evictions += other.evictions;
  nanoseconds += other.nanoseconds;
  return *this;
}

void SpecializationCache::count_made(const Key& key, Entry& entry, int64_t nanoseconds) {
  if (const auto past = past_.find(key); past != past_.end()) {
    entry.uses = past->second.uses;
    past_order_.erase(past->second.place);
    past_.erase(past);
  }
  ++counters_.made;
  counters_.nanoseconds += nanoseconds;
  entry.uses += {.made = 1, .nanoseconds = nanoseconds};
  const auto* const bucket = std::ranges::lower_bound(SizeCounts::kTimesUpTo, static_cast<double>(nanoseconds) / 1e9);
  ++times_[static_cast<size_t>(bucket - SizeCounts::kTimesUpTo.begin())];
}

/// Of one that was made beside what is kept, which may have been evicted meanwhile.
void SpecializationCache::count_time(const Key& key, int64_t nanoseconds) {
  const auto entry = entries_.find(key);
  const auto past = past_.find(key);
  Uses& uses = entry != entries_.end() ? entry->second.uses : past != past_.end() ? past->second.uses : forgotten_;
  uses.nanoseconds += nanoseconds;
  counters_.nanoseconds += nanoseconds;
}

void SpecializationCache::remember(Key&& key, const Entry& entry) {
  const auto [past, fresh] =
      past_.try_emplace(std::move(key), Past{.bindings = entry.value->bindings, .uses = entry.uses, .place = {}});
  ++counters_.evictions;
  ++past->second.uses.evictions;
  past->second.place = past_order_.insert(past_order_.end(), &past->first);
  if (past_.size() > kMostPast) {
    const auto oldest = past_.find(*past_order_.front());
    forgotten_ += oldest->second.uses;
    ++forgotten_sizes_;
    past_order_.pop_front();
    past_.erase(oldest);
  }
}

void SpecializationCache::evict() {
  while (counters_.bytes > byte_limit_ && recent_.size() > 1) {
    auto oldest = entries_.extract(*recent_.back());
    recent_.pop_back();
    counters_.bytes -= oldest.mapped().bytes;
    remember(std::move(oldest.key()), oldest.mapped());
  }
}

void SpecializationCache::set_byte_limit(int64_t bytes) {
  const std::lock_guard lock(mutex_);
  byte_limit_ = bytes;
  evict();
}

int64_t SpecializationCache::bytes() const {
  const std::lock_guard lock(mutex_);
  return counters_.bytes;
}

SpecializationCache::Counters SpecializationCache::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

SizeCounts SpecializationCache::size_counts(size_t most) const {
  SizeCounts result;
  const auto count = [](const Bindings& bindings, const Uses& uses, int64_t bytes) {
    return SizeCount{.bindings = bindings,
                     .hits = uses.hits,
                     .specializations = uses.made,
                     .evictions = uses.evictions,
                     .bytes = bytes,
                     .specialize_ms = static_cast<double>(uses.nanoseconds) / 1e6};
  };
  {
    const std::lock_guard lock(mutex_);
    for (const Key* const key : recent_) {
      const Entry& entry = entries_.find(*key)->second;
      result.sizes.push_back(count(entry.value->bindings, entry.uses, entry.bytes));
    }
    std::ranges::transform(past_order_, std::back_inserter(result.sizes), [&](const Key* key) {
      const Past& past = past_.find(*key)->second;
      return count(past.bindings, past.uses, 0);
    });
    result.others = count({}, forgotten_, 0);
    result.other_sizes = forgotten_sizes_;
    result.times = times_;
  }
  result.keep_most_used(most);
  return result;
}

}  // namespace tenon::runtime
